"""One ONNX node as its handler sees it: operands, typed attributes, and how to emit.

Handlers (``table``) never touch protobuf. Attributes and inputs that a handler does not read are
refused by :meth:`OnnxNode.finish`, so that none is dropped silently.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError
from .....ir.dimensions import DynamicDimensionError, has_dynamic, is_dynamic
from .....ir.graph import Constant, Input, Value, apply, constant
from .....ir.types import TensorType
from ...constant_folding import fold_op
from ...request import ValueNeededError
from ..operands import (
    Item,
    Known,
    Narrow,
    Tensor,
    TensorList,
    check_shape,
    inputs_behind,
    is_computed_from_sizes,
)
from ..read.types import STRING, type_name
from ..read.weights import read_sparse, read_tensor
from ..shapes.discontinuities import refuse_discontinuities

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from onnx.onnx_ml_pb2 import AttributeProto, GraphProto, NodeProto

    from .....ir.ops import Op
    from ..folding.budget import Budget
    from ..importing.scope import Subgraph

LONGEST_LIST = 1 << 10


class DataDependentError(ValueNeededError):
    """The size of a result depends on data: the model must be cut here."""

    def __init__(self, what: str, why: str, inputs: Sequence[Input] = ()) -> None:
        super().__init__(what, inputs, "SG0201", why)


@dataclass
class OnnxNode:
    """A node with its operands resolved.

    Attributes:
        proto: the node.
        layer: what people call it.
        version: of its operator set.
        inputs: None where the model leaves an optional one out.
        used: which of its results are read.
        folder: the model's, if it has one.
        budget: shared by all nodes.
        enter: makes a graph in an attribute one that can be carried out.
        find: returns what a name stands for where the node is.
        user_shader: of the request.
    """

    proto: NodeProto
    layer: str
    version: int
    inputs: tuple[Item | None, ...]
    used: tuple[bool, ...]
    folder: Path | None
    budget: Budget
    enter: Callable[[GraphProto], Subgraph]
    find: Callable[[str], Item | None]
    user_shader: bool = False
    attributes: dict[str, AttributeProto] = field(init=False)
    unread: set[str | int] = field(init=False)  # names of attributes, positions of inputs

    def __post_init__(self) -> None:
        self.attributes = {a.name: a for a in self.proto.attribute}
        given = (i for i, item in enumerate(self.inputs) if item is not None)
        self.unread = {*self.attributes, *given}
        if len(self.attributes) != len(self.proto.attribute):
            raise ShadergenError("SG0105", "an attribute is given twice")
        for name, a in self.attributes.items():
            if a.ref_attr_name:
                raise ShadergenError(
                    "SG0105",
                    f"attribute '{name}' refers to the function attribute '{a.ref_attr_name}', "
                    "which is not defined here",
                )

    @property
    def op(self) -> str:
        return self.proto.op_type

    def finish(self) -> None:
        """Refuse attributes and inputs that the handler did not read.

        Raises:
            ShadergenError: SG0202 naming the attribute or the input.
        """
        for name in sorted(self.unread, key=str):
            what = shown = f"attribute '{name}'"
            if isinstance(name, int):
                what, shown = f"input {name}", f"input {name} ('{self.proto.input[name]}')"
            raise ShadergenError(
                "SG0202",
                f"{shown} of {self.op} is not implemented",
                why=f"shadergen reads no {what} for {self.op} of operator set {self.version}",
            )

    # Attributes

    def has(self, name: str) -> bool:
        return name in self.attributes

    def ignore(self, *names: str | int) -> None:
        """Declare attributes and inputs, by position, that make no difference here."""
        self.unread.difference_update(names)

    def _read(self, name: str, kind: str, number: int, get: Callable[[AttributeProto], Any]) -> Any:
        if name not in self.attributes:
            raise ShadergenError("SG0105", f"attribute '{name}' of {self.op} is missing")
        self.unread.discard(name)
        proto = self.attributes[name]
        if proto.type not in (number, 0):  # 0: written before attributes had types
            raise ShadergenError("SG0105", f"attribute '{name}' of {self.op} is not {kind}")
        return get(proto)

    def integer(self, name: str, default: int | None = None) -> int:
        if default is not None and name not in self.attributes:
            return default
        return int(self._read(name, "an integer", 2, lambda a: a.i))

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        if default is not None and name not in self.attributes:
            return default
        return tuple(map(int, self._read(name, "a list of integers", 7, lambda a: a.ints)))

    def number(self, name: str, default: float | None = None, finite: bool = True) -> float:
        """Return a float as the shortest decimal that is the same in float32."""
        if default is not None and name not in self.attributes:
            return default
        stored = np.float32(self._read(name, "a number", 1, lambda a: a.f))
        if finite and not np.isfinite(stored):
            raise ShadergenError("SG0105", f"attribute '{name}' of {self.op} is {stored}")
        return float(str(stored))

    def numbers(self, name: str) -> tuple[float, ...]:
        return tuple(map(float, self._read(name, "a list of numbers", 6, lambda a: a.floats)))

    def text(self, name: str, default: str | None = None) -> str:
        if default is not None and name not in self.attributes:
            return default
        data: bytes = self._read(name, "a text", 3, lambda a: a.s)
        return data.decode("utf-8", "replace")

    def tensor(self, name: str) -> NDArray[Any]:
        proto = self._read(name, "a tensor", 4, lambda a: a.t)
        return read_tensor(proto, self.folder, f"{name} of {self.layer}")

    def texts(self, name: str) -> tuple[str, ...]:
        data = self._read(name, "a list of strings", 8, lambda a: a.strings)
        return tuple(text.decode("utf-8", "replace") for text in data)

    def sparse(self, name: str) -> NDArray[Any]:
        """Return a sparse tensor with all its elements."""
        proto = self._read(name, "a sparse tensor", 11, lambda a: a.sparse_tensor)
        self.budget.take(max(prod(proto.dims), 0))
        return read_sparse(proto, self.folder, f"{name} of {self.layer}")

    def graph(self, name: str) -> Subgraph:
        """Return a graph that can be carried out."""
        return self.enter(self._read(name, "a graph", 5, lambda a: a.g))

    def choice(self, name: str, supported: tuple[Any, ...], default: Any = None) -> Any:
        """Return a text or an integer out of ``supported``, the first of which is the default.

        Raises:
            ShadergenError: SG0202 naming the attribute, its value and what is supported.
        """
        default = supported[0] if default is None else default
        read = self.integer if isinstance(default, int) else self.text
        value = read(name, default)
        if value not in supported:
            raise self.refusal(name, value, supported)
        return value

    def refusal(self, name: str, value: object, supported: tuple[Any, ...]) -> ShadergenError:
        """Return the error for an attribute's value that is not implemented."""
        return ShadergenError(
            "SG0202",
            f"attribute {name}={value} of {self.op} is not implemented",
            supported=", ".join(f"{name}={s}" for s in supported),
        )

    # Operands

    def given(self, index: int) -> bool:
        """Return whether an optional input is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def item(self, index: int) -> Tensor:
        return self.plain(self.entry(index), f"input {index}")

    def plain(self, item: Item, role: str) -> Tensor:
        """Return what must be a tensor of an element type that all operators take."""
        if isinstance(item, TensorList):
            raise ShadergenError("SG0105", f"{role} of {self.op} is not a tensor")
        if isinstance(item, Narrow):
            numbers = item.data_type != STRING
            raise ShadergenError(
                "SG0206",
                f"{self.op} of {type_name(item.data_type)} is not implemented",
                help="cast or dequantise it first" if numbers else "",
            )
        return item

    def stored(self, index: int) -> Tensor | Narrow:
        """Return an input of any numeric type, narrow types included."""
        item = self.entry(index)
        if isinstance(item, Narrow) and item.data_type != STRING:
            return item
        return self.plain(item, f"input {index}")

    def entry(self, index: int) -> Item:
        """Return an input that may be a sequence or an optional."""
        self.unread.discard(index)
        item = self.inputs[index] if index < len(self.inputs) else None
        if item is None:
            raise ShadergenError("SG0105", f"input {index} of {self.op} is missing")
        return item

    def shape(self, index: int) -> tuple[int, ...]:
        item = self.entry(index)
        return item.shape if isinstance(item, Narrow) else self.item(index).shape

    def operand(self, index: int) -> Value:
        """Return an input as a tensor of the IR, of whichever element type it has."""
        item = self.item(index)
        return item.operand if isinstance(item, Known) else item

    def real(self, index: int) -> Value:
        """Return an input that must be of a floating-point type."""
        return self._typed(index, self.item(index).type.dtype == "float32", "of floats")

    def numeric(self, index: int) -> Value:
        """Return an input that must be of a floating-point or an integer type."""
        return self._typed(index, self.item(index).type.dtype != "bool", "of numbers")

    def truth(self, index: int) -> Value:
        """Return an input that must be of type bool: zeros and ones."""
        return self._typed(index, self.item(index).type.dtype == "bool", "of type bool")

    def _typed(self, index: int, fits: bool, kind: str) -> Value:
        if not fits:
            raise ShadergenError(
                "SG0105",
                f"input {index} of {self.op} is a tensor of {self.item(index).type.dtype}",
                supported=f"a tensor {kind}",
            )
        return self.operand(index)

    def known(self, index: int, role: str) -> NDArray[Any]:
        """Return an input that must be known at compile time.

        Raises:
            ValueNeededError: SG0202 naming its role, and the inputs behind it, when it is not.
        """
        item = self.item(index)
        if not isinstance(item, Known):
            if is_computed_from_sizes(item):
                role = role.removeprefix("the ")
                raise DynamicDimensionError(f"{self.op} with {role} computed from sizes")
            what = f"{role} given to {self.op} must be known at compile time"
            raise ValueNeededError(what, inputs_behind(item))
        return item.array

    def unknown(self, what: str) -> ValueNeededError:
        """Return an error that says so of all operands that are not known at compile time."""
        behind = {i: None for item in self.inputs if item for i in inputs_behind(item)}
        return ValueNeededError(what, tuple(behind), "SG0201")

    def known_integers(self, index: int, role: str) -> tuple[int, ...]:
        array = self.known(index, role)
        if array.dtype.kind not in "iuO" or array.ndim > 1 or array.size > LONGEST_LIST:
            raise ShadergenError(
                "SG0105",
                f"{role} of {self.op} must be a list of integers",
                why=f"it is a tensor of shape {list(array.shape)} and type {array.dtype}",
            )
        return tuple(array.reshape(-1).tolist())

    def known_integer(self, index: int, role: str) -> int:
        values = self.known_integers(index, role)
        if len(values) != 1:
            raise ShadergenError("SG0105", f"{role} of {self.op} must be one integer")
        return values[0]

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from the left; negative ones count from the right."""
        if not -rank <= axis < rank:
            raise ShadergenError("SG0105", f"axis {axis} is out of range for rank {rank}")
        return axis % rank

    def axes(self, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        result = tuple(self.axis(a, rank) for a in axes)
        if len(set(result)) != len(result):
            raise ShadergenError("SG0105", f"an axis is repeated in {list(axes)}")
        return result

    # Results

    def apply(self, op: Op, *operands: Value) -> Value:
        """Apply an operator of the IR; compute it now if all is constant and not dynamic."""
        value = apply(op, *operands, layer=self.layer)
        check_shape(self.layer, value.shape)
        if value.type.is_empty:  # known, whatever it is computed from
            return constant(np.zeros(value.shape, value.type.dtype), self.layer)
        if any(v.type.is_empty for v in operands):
            raise ShadergenError("SG0206", f"an operand of {self.op} is empty")
        arrays = [v.data for v in operands if isinstance(v, Constant)]
        if len(arrays) < len(operands) or has_dynamic(op):
            refuse_discontinuities(op, operands)
            return value
        if value.type.size > self.budget.left:
            return value
        self.budget.take(value.type.size)
        return constant(fold_op(op, arrays, self.op), self.layer)

    def move(self, op: Op, *indices: int) -> Tensor:
        """Apply an operator that moves elements and makes no new ones; they may be of any type."""
        items = [self.item(index) for index in indices]
        op.infer(*(item.type for item in items))  # raises what numpy would broadcast
        return self.moved(op, *items)

    def _shape(self, op: Op, items: Sequence[Tensor]) -> tuple[int, ...]:
        """Return the shape of a result, as far as one can tell before there is one."""
        try:
            inferred = op.infer(*(item.type for item in items))
        except ShadergenError:  # of no elements, which graphs do not have and shapes may
            return (0,)
        return inferred.shape if isinstance(inferred, TensorType) else inferred[0].shape

    def moved(self, op: Op, *items: Tensor) -> Tensor:
        """Apply an operator that moves elements to tensors that need not be the node's inputs."""
        arrays = [item.array for item in items if isinstance(item, Known)]
        shape = self._shape(op, items)
        if len(arrays) < len(items) or any(map(is_dynamic, shape)):
            values = (item.operand if isinstance(item, Known) else item for item in items)
            return self.apply(op, *values)
        self.budget.allow(prod(shape))
        result = fold_op(op, arrays, self.op)
        if result.base is None:  # not a view of what is there anyway
            self.budget.take(result.size)
        return Known(self.layer, result)
