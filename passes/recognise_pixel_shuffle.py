"""Recognise pixel shuffle, and its like, where it is spelled with reshapes and a transpose.

reshape(transpose(reshape(x))) over six axes = depth_to_space(x), for the three spellings that
exporters and hand-written models use; the NHWC one stays between two transposes of four axes.
Any other such chain over more than four axes = rearrange(x): channel shuffle, pixel unshuffle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..ir.graph import Result, apply
from ..ir.ops import DepthToSpace, Rearrange, Reshape, Transpose
from ..ir.types import MAP_RANK
from .rule import Rule, always, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
    from .rule import Context, Site

TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def _match(site: Site) -> Value | None:
    node = site.node
    if not isinstance(node.op, Reshape) or node.result.type.rank > MAP_RANK:
        return None
    permuted = node.inputs[0]
    if not isinstance(permuted, Result) or not isinstance(permuted.node.op, Transpose):
        return None
    split = permuted.node.inputs[0]
    if not isinstance(split, Result) or not isinstance(split.node.op, Reshape):
        return None
    x = split.node.inputs[0]
    if x.type.rank > MAP_RANK or split.type.rank <= MAP_RANK:
        return None
    axes, six, final = permuted.node.op.axes, split.shape, node.result.shape
    layers = tuple(dict.fromkeys((*split.node.layers, *permuted.node.layers, *node.layers)))
    rearranged = apply(Rearrange(six, axes, final), x, layer=layers)
    if len(six) != 6:
        return rearranged
    n, d1, d2, d3, d4, d5 = six

    def shuffled(value: Value, by: int, bx: int, order: Literal["crd", "dcr"]) -> Value:
        return apply(DepthToSpace((by, bx), order), value, layer=layers)

    def spelled(source: tuple[int, ...], permutation: tuple[int, ...], to: tuple[int, ...]) -> bool:
        return x.shape == source and axes == permutation and final == to

    if spelled((n, d1 * d2 * d3, d4, d5), (0, 1, 4, 2, 5, 3), (n, d1, d4 * d2, d5 * d3)):
        return shuffled(x, d2, d3, "crd")
    if spelled((n, d1 * d2 * d3, d4, d5), (0, 3, 4, 1, 5, 2), (n, d3, d4 * d1, d5 * d2)):
        return shuffled(x, d1, d2, "dcr")
    if spelled((n, d1, d2, d3 * d4 * d5), (0, 1, 3, 2, 4, 5), (n, d1 * d3, d2 * d4, d5)):
        nchw = apply(Transpose(TO_NCHW), x, layer=layers)
        return apply(Transpose(TO_NHWC), shuffled(nchw, d3, d4, "dcr"), layer=layers)
    return rearranged


SHUFFLE = Rule("recognise pixel shuffle", _match, always, lambda value: value)


def recognise_pixel_shuffle(graph: Graph, context: Context) -> Graph:
    """Replace every spelled-out pixel shuffle."""
    return apply_rules(graph, context, SHUFFLE)
