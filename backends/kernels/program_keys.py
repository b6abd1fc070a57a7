"""Keys of nodes whose programs differ only in choices, sizes and weight values.

:mod:`.work` lowers one node of each key. The operator's part of a key belongs to the kernel family
(:attr:`.family.Family.program_key`), because families treat sizes differently: a convolution loops
over channels, a loop nest splits its loops into texels.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from ...ir.graph import Constant
from ...ir.nests import nest_of
from ...ir.ops.convolution import is_depthwise
from ...ir.text import op_text
from ...ir.types import LANES, MAP_RANK
from ...passes.kernel_ops import parts

if TYPE_CHECKING:
    from collections.abc import Hashable

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
    return reduced(op_text(node.op)), trips


def convolution_key(node: Node) -> Hashable:
    """Return the key of a kernel with weights: its operator, without the groups if depthwise."""
    return re.sub(r"groups=(\d+)", partial(_groups, node), op_text(node.op))


def operands_key(node: Node) -> Hashable:
    """Return the part of every node's key: its operands and its result."""
    order = tuple(node.inputs.index(v) for v in node.inputs)
    return order, tuple(map(_operand, node.inputs)), _type(node.result.type)


def reduced(text: str) -> str:
    """Replace each number above a texel's lanes by its remainder modulo the lanes."""
    return re.sub(r"\d+", _remainder, text)


def _remainder(number: re.Match[str]) -> str:
    size = int(number[0])
    return str(size) if size <= LANES else f"large{size % LANES}"


def _groups(node: Node, groups: re.Match[str]) -> str:
    """Return the groups of a convolution, as text; those of a depthwise one are a size."""
    weights = [v.shape for v in node.inputs[1:] if v.type.rank == MAP_RANK]
    return "depthwise" if is_depthwise(weights[0], int(groups[1])) else groups[0]


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
