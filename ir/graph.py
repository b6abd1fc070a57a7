"""The graph: typed, in SSA form, immutable. Values and nodes are identified by object, not by name.

A :class:`Graph` is its inputs and outputs; its nodes are those that the outputs reach, so dead code
does not exist. Rewriting builds new nodes (:meth:`Graph.rewrite`). Names are for people: every
node keeps the names of the source layers it computes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import InitVar, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import ShadergenError
from ..records import dataclass, replace
from .dimensions import at_layer, is_dynamic
from .types import DTYPES, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .ops.base import Op

Precision = Literal["highp", "mediump"]
Stage = Literal["fragment", "compute"]
WeightStorage = Literal["constants", "ubo", "texture", "ssbo"]


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor in the graph."""

    type: TensorType
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape


@dataclass(frozen=True)
class Port:
    """The outer form of a graph input or output.

    ``axes`` is the permutation that turns the logical tensor (NCHW) into the model's own axis
    order: ``host = logical.transpose(axes)``; an NHWC model has (0, 2, 3, 1). ``encoding`` says
    how values are held in the texture: "float" as they are; "unorm8" as an 8-bit image whose
    values 0..255 read as 0..1; "y2rg" and "y2rg_half" as in ``passes.apply_options``. An
    ``external`` input is a frame that the application's camera or decoder holds, of any size.
    """

    axes: tuple[int, ...]
    encoding: Literal["float", "unorm8", "y2rg", "y2rg_half"] = "float"
    external: bool = False

    @property
    def is_signed(self) -> bool:
        """Whether red and green hold the positive and the negative part of one channel."""
        return self.encoding in ("y2rg", "y2rg_half")

    @staticmethod
    def plain(rank: int) -> Port:
        return Port(tuple(range(rank)))


@dataclass(frozen=True, eq=False)
class Input(Value):
    """A tensor the application supplies."""

    port: Port


@dataclass(frozen=True, eq=False)
class Constant(Value):
    """A tensor known at compile time. ``data`` may be memory-mapped; it is never written to."""

    data: np.ndarray

    @cached_property
    def is_whole(self) -> bool:
        """Whether all numbers are integers."""
        return bool((self.data == np.round(self.data)).all())

    @cached_property
    def magnitudes(self) -> tuple[float, float]:
        """The least and the largest absolute value, NaN if any is; infinity and 0 of nothing."""
        sizes = np.abs(self.data)
        return float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Result(Value):
    """One result of a node."""

    node: Node
    index: int = 0


@dataclass(frozen=True)
class Choice:
    """The variable parts of a node's kernel. A part that is None is not chosen yet.

    Attributes:
        stage: the shader stage.
        block: columns and rows of pixels that one invocation computes; not chosen while ``planes``
            is None.
        planes: planes that one invocation computes; in fragment shaders, the planes of a GPU pass.
        weights: the storage of a convolution's weights.
        precision: of arithmetic and storage.
        partial_terms: length of the blocks of products that a 16-bit convolution adds up in 16
            bits; each block is then added to a 32-bit accumulator. A block has at least the
            products of one texel. 0: each product is added in 32 bits
            (``passes.placement.summation``).
        alias: the node computes nothing. Its operands are planes of its result's texture, or its
            result is planes of its operand's texture (``passes.placement.aliases``).
        winograd: side of the tiles in pixels, for a convolution by Winograd's minimal filtering; 0
            for a direct convolution. With a ``block`` of one row and constant weights, tiles have
            one row, too. ``passes.expand_choices`` replaces the node by the nodes of the tiles.
    """

    stage: Stage | None = None
    block: tuple[int, int] = (1, 1)
    planes: int | None = None
    weights: WeightStorage | None = None
    precision: Precision | None = None
    partial_terms: int = 0
    alias: bool = False
    winograd: int = 0

    @property
    def undecided(self) -> Choice:
        """The choice before kernels are chosen: only the arithmetic is decided."""
        return Choice(precision=self.precision, partial_terms=self.partial_terms)

    @property
    def loops(self) -> bool:
        """Whether a convolution loops over its weights."""
        return self.weights not in (None, "constants")

    def __str__(self) -> str:
        return self.text(str(self.stage))

    def text(self, stage: str) -> str:
        """Return the choice as text, with ``stage`` in place of its own."""
        pixels = "" if self.block == (1, 1) else f"{self.block[1]}x{self.block[0]} pixels of "
        planes = f"{self.planes} plane{'s' * (self.planes != 1)}"
        weights = f", weights in {self.weights}" if self.weights else ""
        in_rows = self.block == (self.winograd, 1) and self.weights == "constants"
        rows = 1 if in_rows else self.winograd
        tiles = f", {rows}x{self.winograd} Winograd tiles" if self.winograd else ""
        return f"{stage}, {pixels}{planes}{weights}{tiles}"


@dataclass(frozen=True, eq=False)
class Node:
    """An operator applied to values."""

    op: Op
    inputs: tuple[Value, ...]
    layers: tuple[str, ...]
    choice: Choice = Choice()
    types: tuple[TensorType, ...] | None = None
    results: tuple[Result, ...] = field(init=False, repr=False)
    like: InitVar[Node | None] = None  # one whose types are inferred, which may be the same

    def __post_init__(self, like: Node | None) -> None:
        types = self.types
        if types is None and like is not None and self._infers_as(like):
            types = tuple(r.type for r in like.results)
        types = types or infer(self.op, self.inputs, self.name)
        results = tuple(
            Result(t, self.name if len(types) == 1 else f"{self.name}.{i}", self, i)
            for i, t in enumerate(types)
        )
        object.__setattr__(self, "results", results)

    def _infers_as(self, other: Node) -> bool:
        """Whether inference sees the same as it saw for another node."""
        return (
            other.types is None
            and other.op is self.op
            and len(other.inputs) == len(self.inputs)
            and all(map(_same_type, self.inputs, other.inputs))
        )

    def reading(self, inputs: tuple[Value, ...]) -> Node:
        """Return the node with other operands."""
        return Node(self.op, inputs, self.layers, self.choice, self.types, self)

    @property
    def name(self) -> str:
        """The last source layer's name: the one whose result this node gives."""
        return self.layers[-1] if self.layers else type(self.op).__name__.lower()

    @property
    def result(self) -> Result:
        """The only result."""
        (value,) = self.results
        return value


@dataclass(frozen=True)
class Output:
    """A tensor the application receives."""

    name: str
    value: Value
    port: Port


@dataclass(frozen=True, eq=False)
class Graph:
    """Inputs, outputs, and everything between."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node once, operands before users; depth first from the outputs, so stable."""
        order: dict[Node, None] = {}
        stack = [o.value for o in reversed(self.outputs)]
        while stack:
            value = stack[-1]
            if not isinstance(value, Result) or value.node in order:
                stack.pop()
                continue
            todo = [v for v in value.node.inputs if isinstance(v, Result) and v.node not in order]
            if todo:
                stack.extend(reversed(todo))
            else:
                order[value.node] = None
                stack.pop()
        return tuple(order)

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """Every constant once, in order of first use."""
        found = {v: None for n in self.nodes for v in n.inputs if isinstance(v, Constant)}
        found |= {o.value: None for o in self.outputs if isinstance(o.value, Constant)}
        return tuple(found)

    @cached_property
    def uses(self) -> Counter[Value]:
        """The number of reads of each value, by nodes and as an output."""
        return Counter(self._reads())

    def _reads(self) -> Iterator[Value]:
        for node in self.nodes:
            yield from node.inputs
        for output in self.outputs:
            yield output.value

    def rewrite(
        self,
        rule: Callable[[Node, Node], Value | tuple[Value, ...] | Node | None],
        leaf: Callable[[Value], Value] = lambda v: v,
    ) -> Graph:
        """Rebuild the graph, operands first; return ``self`` when nothing changed.

        Args:
            rule: sees a node whose operands are already rewritten, and the node as it was; it
                returns a value for the only result, values or a node for all results, or None to
                keep it.
            leaf: applied to inputs and constants; inputs stay inputs.
        """
        new: dict[Value, Value] = {}

        def mapped(value: Value) -> Value:
            if value not in new:
                new[value] = leaf(value)
            return new[value]

        for node in self.nodes:
            inputs = tuple(map(mapped, node.inputs))
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            now = node if same else node.reading(inputs)
            with at_layer(node.name):
                replacement = rule(now, node)
            if isinstance(replacement, Value):
                replacement = (replacement,)
            if not isinstance(replacement, tuple):
                replacement = (replacement or now).results
            new.update(zip(node.results, replacement, strict=True))
        if all(old is value for old, value in new.items()):
            return self
        inputs_now = []
        for i in self.inputs:
            value = mapped(i)
            if not isinstance(value, Input):
                raise TypeError(f"input {i.name} was rewritten to a {type(value).__name__}")
            inputs_now.append(value)
        outputs = tuple(replace(o, value=mapped(o.value)) for o in self.outputs)
        return Graph(self.name, tuple(inputs_now), outputs)


def _same_type(a: Value, b: Value) -> bool:
    """Whether two values are alike to inference, as far as that is known without a decision."""
    one, other = a.type, b.type
    return one is other or (
        one.dtype == other.dtype
        and len(one.shape) == len(other.shape)
        and all(
            x is y or (not is_dynamic(x) and not is_dynamic(y) and x == y)
            for x, y in zip(one.shape, other.shape, strict=True)
        )
    )


class OperandError(ShadergenError):
    """Operands do not fit an operator; ``where`` names the IR's, which the user may not know."""

    def of_source(self, place: str) -> ShadergenError:
        """Return the error as one of the model's own operator, described by ``place``.

        An error to which further places were added is returned unchanged. For example, a
        ``--define`` definition adds its own place, and itself names IR operators.
        """
        if len(self.where) > 1:
            return self
        return ShadergenError(
            self.code,
            self.what,
            where=place,
            why=self.why,
            supported=self.supported,
            help=self.help,
        )


def infer(op: Op, inputs: tuple[Value, ...], name: str) -> tuple[TensorType, ...]:
    """Return the types of an operator's results.

    Raises:
        OperandError: as raised by the operator, with the node and its operand types added.
    """
    try:
        with at_layer(name):
            types = op.infer(*(v.type.placed(None) for v in inputs))
    except ShadergenError as error:
        operands = ", ".join(str(v.type) for v in inputs)
        raise OperandError(
            error.code,
            error.what,
            where=(f"{name} ({type(op).__name__}) of {operands}", *error.where),
            why=error.why,
            supported=error.supported,
            help=error.help,
        ) from None
    return types if isinstance(types, tuple) else (types,)


def apply(op: Op, *inputs: Value, layer: str | tuple[str, ...] = ()) -> Value:
    """Apply a single-result operator and return the result; ``layer`` names the source layer."""
    layers = (layer,) if isinstance(layer, str) else layer
    return Node(op, inputs, layers).result


def constant(data: np.ndarray | float, name: str = "constant") -> Constant:
    """Wrap an array. float16, float64 and numbers become float32; other types stay.

    Raises:
        ShadergenError: SG0206 for an element type the IR does not know.
    """
    array = np.asarray(data)
    if array.dtype.kind == "f" and array.dtype != np.float32:
        array = array.astype(np.float32)
    if array.dtype.name not in DTYPES:
        raise ShadergenError(
            "SG0206",
            f"constant '{name}' has element type {array.dtype}",
            supported=f"float16, float64, {', '.join(DTYPES)}",
        )
    return Constant(TensorType(array.shape, array.dtype.name), name, array)
