"""Keys of nodes whose programs differ only in choices, sizes and weight values.

:mod:`.work` lowers one node of each key. The operator's part of a key belongs to the kernel family
(:attr:`.family.Family.program_key`), because families treat sizes differently: a convolution loops
over channels, a loop nest splits its loops into texels.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from ...ir.graph import Constant
from ...ir.nests import nest_of
from ...ir.ops import Conv, Op
from ...ir.ops.convolution import is_depthwise
from ...ir.types import LANES, MAP_RANK
from ...passes.kernel_ops import Fused, SeparableConv, parts
from ...records import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from ...ir.graph import Node, Value
    from ...ir.types import TensorType

MANY_PLANES = 8  # maps with more planes share a key with those of 8


def loop_nest_key(node: Node) -> Hashable:
    """Return the key of a loop nest: its operator with sizes reduced, and its trip counts.

    The trip counts belong to the key because the kernel splits loops into texels.
    """
    p = parts(node)
    nest = nest_of(p.kernel, *(v.type.without_slot() for v in p.operands))
    trips = () if nest is None else tuple(loop.trips for loop in nest.loops)
    return reduced(node.op), trips


def convolution_key(node: Node) -> Hashable:
    """Return the key of a kernel with weights: its operator, without the groups if depthwise."""
    weights = node.inputs[1].shape

    def without_groups(conv: Conv) -> Conv:
        # The groups of a depthwise convolution are a size. No convolution has 0 groups.
        return replace(conv, groups=0) if is_depthwise(weights, conv.groups) else conv

    return with_kernel(node.op, without_groups)


def operands_key(node: Node) -> Hashable:
    """Return the part of every node's key: its operands and its result."""
    order = tuple(node.inputs.index(v) for v in node.inputs)
    return order, tuple(map(_operand, node.inputs)), _type(node.result.type)


def with_kernel(op: Op, change: Callable[[Any], Op]) -> Op:
    """Return an operator with its kernel changed; of a fused separable one, the first kernel."""
    if isinstance(op, Fused):
        return replace(op, kernel=with_kernel(op.kernel, change))
    if isinstance(op, SeparableConv):
        return replace(op, first=with_kernel(op.first, change))
    return change(op)


def reduced(part: Any) -> Any:
    """Return an operator, or a part of its fields, with smaller integers.

    Each integer above a texel's lanes becomes the least one above the lanes with the same
    remainder: sizes, pads and strides. Formulas and floats stay whole, because constants decide
    what they lower to: pow(x0, 0.5) is a square root.
    """
    if is_dataclass(part) and isinstance(part, Op):
        return replace(part, **{f.name: reduced(getattr(part, f.name)) for f in fields(part)})
    if isinstance(part, tuple):
        return tuple(map(reduced, part))
    if isinstance(part, int) and part > LANES:
        return LANES + 1 + (part - 1) % LANES
    return part


def _operand(value: Value) -> Hashable:
    if not isinstance(value, Constant) or value.type.layout is not None:
        return type(value), _type(value.type)
    shape = value.shape
    if len(shape) < MAP_RANK:  # a parameter
        return value.type.size == 1, value.type.size > LANES
    return shape[2:], min(shape[1], LANES), min(shape[0], LANES)


def _type(t: TensorType) -> Hashable:
    """Return what a program depends on in a tensor's type: last lanes, sizes of 1, layout."""
    ones = tuple(size == 1 for size in t.shape)
    rest = t.channels % LANES
    # The incomplete plane may be in the first invocation.
    planes = min(t.planes, MANY_PLANES if rest else 2)
    layout = t.layout and (t.layout.kind, t.layout.format, t.layout.rows is None)
    if t.layout is not None and t.layout.kind == "2d":
        planes = t.layers  # each is a texture
    return ones, rest, planes, layout
