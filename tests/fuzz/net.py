"""An ONNX graph that grows node by node, each tried on onnxruntime as it is added.

So every value of the graph is known for one set of inputs: what a node needs of its operands can be
looked up, what onnxruntime refuses never gets into the graph, and numbers can be kept moderate.

Attributes and operands are given by the names that the specification has for them. Whether
``axes`` is an attribute or an input, or is not there yet, is what the schema in the graph's
operator set says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from .draw import Draw
from .reference import Failed, session

MOST = 20_000  # elements in a value
MOST_WHOLE = 2000  # in size, of integers: float16 counts as far
LARGEST = 40.0  # of the numbers in a value: larger ones are scaled
IR_VERSION = 10
FORMAL_TYPES = {"tensor(int64)": np.int64, "tensor(bool)": np.bool_, "tensor(float)": np.float32}

Array = NDArray[Any]


class Rejected(Exception):
    """There is no such node: by the specification, by onnxruntime, or for want of operands."""


class Net:
    """A graph in the making.

    Attributes:
        draw: where its choices come from.
        opset: version of the operator set.
        dynamic: whether heights and widths are dynamic, so that nothing may build them in.
        values: every tensor's value, by name, constants and inputs included.
        pool: names of the tensors that nodes may read, in the order of their making.
    """

    def __init__(self, draw: Draw, opset: int, dynamic: bool = False) -> None:
        self.draw = draw
        self.opset = opset
        self.dynamic = dynamic
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.inputs: list[str] = []
        self.values: dict[str, Array] = {}
        self.pool: list[str] = []
        self._count = 0

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem.lower()}_{self._count}"

    def input(self, array: Array) -> str:
        name = self._name("in")
        self.values[name] = array
        self.inputs.append(name)
        self.pool.append(name)
        return name

    def constant(self, array: Any, dtype: Any = None) -> str:
        name = self._name("c")
        self.constants[name] = self.values[name] = np.asarray(array, dtype)
        return name

    def weight(self, *shape: int, fan: int | None = None) -> str:
        """Return constant weights that keep a sum over ``fan`` products moderate."""
        return self.constant(self.draw.normal(*shape, scale=1 / np.sqrt(max(1, fan or 1))))

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(map(int, self.values[name].shape))

    def rank(self, name: str) -> int:
        return self.values[name].ndim

    def pick(
        self,
        kinds: str = "f",
        rank: int | tuple[int, ...] = (),
        fits: Callable[[Array], bool] = lambda array: True,
    ) -> str:
        """Return a tensor of the pool, most often a new one.

        Args:
            kinds: kinds of numpy's element types: "f", "i", "u", "b".
            rank: of the tensor; () takes any but scalars.
            fits: what else its value has to be.
        """
        ranks = (rank,) if isinstance(rank, int) else rank or (1, 2, 3, 4, 5)
        found = [
            name
            for name in self.pool
            if (v := self.values[name]).dtype.kind in kinds and v.ndim in ranks and fits(v)
        ]
        if not found:
            raise Rejected("no operand")
        return found[-1] if self.draw.chance(0.6) else self.draw.one(*found)

    def __call__(
        self, op: str, *operands: str, outputs: int = 1, domain: str = "", **named: Any
    ) -> Any:
        """Add a node, and return the name of its output or a tuple of names.

        ``named`` are attributes, or operands that are constants; None and what the operator set
        does not have yet is left out.
        """
        inputs, attributes = self._arguments(op, operands, domain, named)
        names = [self._name(op) for _ in range(outputs)]
        name = f"{op}_{self._count}"  # as messages have it
        node = helper.make_node(op, inputs, names, name, domain=domain, **attributes)
        for name, value in zip(names, self._run(node), strict=True):
            if not 0 < value.size <= MOST or value.ndim > 6:
                raise Rejected(f"{value.shape} elements")
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                raise Rejected("not finite")
            if value.dtype.kind in "iu" and np.abs(value.astype(np.float64)).max() > MOST_WHOLE:
                raise Rejected("integers too large")
            self.values[name] = value
        self.nodes.append(node)
        return names[0] if outputs == 1 else tuple(names)

    def _arguments(
        self, op: str, operands: tuple[str, ...], domain: str, named: dict[str, Any]
    ) -> tuple[list[str], dict[str, Any]]:
        if domain:  # onnx has no schemas of other domains
            return list(operands), {k: v for k, v in named.items() if v is not None}
        try:
            schema = onnx.defs.get_schema(op, self.opset)
        except onnx.defs.SchemaError:
            raise Rejected(f"no {op} in {self.opset}") from None
        if schema.deprecated:
            raise Rejected(f"{op} is deprecated in {self.opset}")
        inputs, attributes = list(operands), {}
        places = {formal.name: k for k, formal in enumerate(schema.inputs)}
        for key, value in named.items():
            if value is None:
                continue
            if key in schema.attributes:
                attributes[key] = value
            elif key in places:
                inputs += [""] * (places[key] + 1 - len(inputs))
                kind = FORMAL_TYPES.get(schema.inputs[places[key]].type_str)
                alike = schema.inputs[places[key]].type_str == schema.inputs[0].type_str
                if alike:
                    kind = self.values[inputs[0]].dtype.type
                inputs[places[key]] = (
                    value if isinstance(value, str) else self.constant(value, kind)
                )
        return inputs, attributes

    def _run(self, node: onnx.NodeProto) -> list[Array]:
        operands = dict.fromkeys(n for n in reads(node) if n in self.values)
        given = {n: self.values[n] for n in operands if n not in self.constants}
        known = {n: self.constants[n] for n in operands if n in self.constants}
        outputs = [onnx.ValueInfoProto(name=n) for n in node.output]
        try:
            model = model_of([node], given, known, outputs, self.opset)
            return list(session(model).run(None, given))
        except Failed as error:
            raise Rejected(str(error)) from None
        except Exception as error:  # onnxruntime's errors have no class of their own
            raise Rejected(f"{node.op_type}: {error}") from None

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Leave the graph as it was when what is within is rejected."""
        before = (len(self.nodes), set(self.values), len(self.pool))
        try:
            yield
        except Rejected:
            del self.nodes[before[0] :]
            for name in self.values.keys() - before[1]:
                del self.values[name]
                self.constants.pop(name, None)
            del self.pool[before[2] :]
            raise

    def offer(self, *names: str) -> None:
        """Let nodes to come read some values, once their numbers are moderate."""
        for name in names:
            value = self.values[name]
            if value.dtype == np.float32 and (most := np.abs(value).max()) > LARGEST:
                name = self("Mul", name, self.constant(np.float32(4 / most)))
            self.pool.append(name)

    def between(self, name: str, low: float | None, high: float | None) -> str:
        """Return a value cut to a range, whatever the inputs."""
        return str(self("Clip", name, min=low, max=high))

    def model(self, outputs: list[str]) -> onnx.ModelProto:
        """Return the model of what the outputs need."""
        needed, nodes = set(outputs), []
        for node in reversed(self.nodes):
            if needed & set(node.output):
                nodes.append(node)
                needed.update(reads(node))
        given = {n: self.values[n] for n in self.inputs if n in needed}
        known = {n: self.constants[n] for n in self.constants if n in needed}
        types = [
            helper.make_tensor_value_info(n, _type(self.values[n]), self._declared(n))
            for n in outputs
        ]
        return model_of(nodes[::-1], given, known, types, self.opset, self.dynamic)

    def _declared(self, name: str) -> tuple[int, ...] | None:
        return None if self.dynamic else self.values[name].shape


def reads(node: onnx.NodeProto) -> list[str]:
    """Return what a node reads, the graphs within it included."""
    found = [name for name in node.input if name]
    for attribute in node.attribute:
        graph = attribute.g
        made = {i.name for i in graph.input} | {t.name for t in graph.initializer}
        for inner in graph.node:
            found += [name for name in reads(inner) if name not in made]
            made.update(inner.output)
    return found


def model_of(
    nodes: list[onnx.NodeProto],
    given: dict[str, Array],
    known: dict[str, Array],
    outputs: list[onnx.ValueInfoProto],
    opset: int,
    dynamic: bool = False,
) -> onnx.ModelProto:
    """Return a model; the inputs of a dynamic one have the height "h" and the width "w"."""
    inputs = [
        helper.make_tensor_value_info(
            name, _type(array), [*array.shape[:2], "h", "w"] if dynamic else array.shape
        )
        for name, array in given.items()
    ]
    weights = [numpy_helper.from_array(array, name) for name, array in known.items()]
    graph = helper.make_graph(nodes, "fuzz", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def _type(array: Array) -> int:
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))
