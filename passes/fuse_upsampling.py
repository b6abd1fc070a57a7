"""Fuse nearest-neighbour upsampling by whole factors into the convolution after it.

conv(enlarge(x)) reads x[..., i // u, j // v] instead of enlarge(x)[..., i, j]. Padding, strides and
dilations still count pixels of the enlarged map, which is not stored. Refused if channels or batch
entries are repeated, or if elements are not all repeated equally often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.dimensions import statically_equal
from ..ir.ops import Conv, ResizeNearest
from ..records import replace
from .rule import Reading, Rule, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from .rule import Context, Site


def _match(site: Site) -> Reading | None:
    return Reading.match(site, ResizeNearest) if site.node.result.type.rank == 4 else None


def _factors(resize: Node) -> list[int] | None:
    """Return how often each element is repeated along each axis; None where that differs."""
    op, found = resize.op, []
    assert isinstance(op, ResizeNearest)
    for (p, q, r), before, after in zip(op.steps, resize.inputs[0].shape, op.sizes, strict=True):
        # (p*i + q) // r is i // (r/p) for all i where p divides r and 0 <= q < p
        factor = r // p if p else 0  # 0 where all is one element
        if (
            not factor
            or factor * p != r
            or not 0 <= q < p
            or not statically_equal(after, before * factor)
        ):
            return None
        found.append(factor)
    return found


def _check(found: Reading, context: Context) -> str:
    factors = _factors(found.before)
    if factors is None:
        return "elements are not all repeated equally often"
    return "channels or batch entries are repeated" if factors[:2] != [1, 1] else ""


def _rewrite(found: Reading) -> Value:
    conv, factors = found.conv.op, _factors(found.before)
    assert isinstance(conv, Conv)
    assert factors is not None
    down, across = conv.enlarged
    op = replace(conv, enlarged=(down * factors[2], across * factors[3]))
    return found.merged(op)


FUSE = Rule("fuse upsampling", _match, _check, _rewrite)


def fuse_upsampling(graph: Graph, context: Context) -> Graph:
    """Read through enlargements until none precedes a convolution that can do so."""
    return apply_rules(graph, context, FUSE)
