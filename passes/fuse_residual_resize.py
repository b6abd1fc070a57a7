"""Add an enlarged input before the pixel shuffle after which it was added.

    shuffle(a) + resize(x) = shuffle(a) + shuffle(conv(x)) = shuffle(a + conv(x))

where the resize is linear and enlarges x as much as the shuffle enlarges a. A pixel of x becomes a
block of pixels: :func:`..ir.resampling.enlarged_blocks`. Cubic resizes are imported as shuffles.
The weights are computed at compile time, and the sum is fused into the convolution that computes a.
Only for user shaders: their textures hold the padding, and they store shuffled maps at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.dimensions import same_shape
from ..ir.expr import Call, Var
from ..ir.graph import Node, Result, apply
from ..ir.ops import DepthToSpace, Pointwise, ResizeLinear
from ..ir.resampling import LINEAR, enlarged_blocks
from ..records import dataclass
from .rule import Rule, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
    from .rule import Context, Site

SUM = Call("add", (Var("x0"), Var("x1")))


@dataclass(frozen=True, eq=False)
class _Sum:
    """``node`` adds what ``shuffle`` and ``other``, a shuffle or a resize, give."""

    node: Node
    shuffle: Node
    other: Node


def _match(site: Site) -> _Sum | None:
    node = site.node
    if not isinstance(node.op, Pointwise) or node.op.expr != SUM or any(u > 1 for u in site.uses):
        return None
    made = [v.node for v in node.inputs if isinstance(v, Result)]
    shuffles = [n for n in made if isinstance(n.op, DepthToSpace)]
    resizes = [n for n in made if isinstance(n.op, ResizeLinear)]
    found = shuffles + resizes
    return _Sum(node, found[0], found[1]) if shuffles and len(found) == 2 else None


def _check(found: _Sum, context: Context) -> str:
    if not context.target.stores_halos:
        return "textures have no halo for padding"
    op, other = found.shuffle.op, found.other.op
    same = same_shape(found.other.result.shape, found.shuffle.result.shape)
    if isinstance(other, DepthToSpace):
        return "" if same and op == other else "the pixel shuffles differ"
    assert isinstance(op, DepthToSpace)
    assert isinstance(other, ResizeLinear)
    unmoved = ((1, 0, 1), (1, 0, 1))  # batch entries and channels
    if not same or other.steps[:2] != unmoved:
        return "the resize's factors differ from the pixel shuffle's"
    if any(p * b != r for (p, _, r), b in zip(other.steps[2:], op.block, strict=True)):
        return "the resize's factors differ from the pixel shuffle's"
    return ""


def _rewrite(found: _Sum) -> Value:
    (blocks,) = found.other.inputs
    shuffle, other = found.shuffle.op, found.other.op
    assert isinstance(shuffle, DepthToSpace)
    if isinstance(other, ResizeLinear):
        _, _, rows, columns = other.steps
        steps, layers = (rows, columns), found.other.layers
        blocks = enlarged_blocks(blocks, steps, LINEAR, shuffle.order, layers)
    total = apply(found.node.op, found.shuffle.inputs[0], blocks, layer=found.node.layers)
    layers = (*found.shuffle.layers, *found.node.layers)
    return apply(shuffle, total, layer=layers)


RESIDUAL = Rule("fuse residual resize", _match, _check, _rewrite)


def fuse_residual_resize(graph: Graph, context: Context) -> Graph:
    """Add enlarged inputs before pixel shuffles."""
    return apply_rules(graph, context, RESIDUAL)
