"""Remove what does nothing.

pointwise(x0) = x; a movement whose index map is the identity on the same shape = x; two
transposes or two reshapes in a row are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.dimensions import is_one, same_shape
from ..ir.expr import Var
from ..ir.graph import Result, apply
from ..ir.indexing import coordinates
from ..ir.ops import Movement, Pointwise, Reshape, Transpose
from .rule import Rule, always, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
    from .rule import Context, Site


def _identity(site: Site) -> Value | None:
    node = site.node
    if len(node.inputs) != 1 or not same_shape(node.result.shape, node.inputs[0].shape):
        return None
    (x,) = node.inputs
    if isinstance(node.op, Pointwise):
        same = node.result.type.dtype == x.type.dtype  # a cast is no identity
        return x if node.op.expr == Var("x0") and same else None
    if isinstance(node.op, Reshape):
        return x
    if not isinstance(node.op, Movement):
        return None
    load = node.op.load(x.type)
    own = coordinates(x.type.rank)
    trivial = len(load.sources) == 1 and not load.sources[0].valid
    for size, i, o in zip(x.shape, load.sources[0].index, own, strict=True):
        trivial = trivial and (i == o or is_one(size))
    return x if trivial else None


def _pair(site: Site) -> Value | None:
    node = site.node
    if not node.inputs or not isinstance(node.inputs[0], Result):
        return None
    inner = node.inputs[0].node
    if not isinstance(node.op, (Transpose, Reshape)) or not inner.inputs:
        return None
    x = inner.inputs[0]
    layers = tuple(dict.fromkeys((*inner.layers, *node.layers)))
    if isinstance(node.op, Transpose) and isinstance(inner.op, Transpose):
        axes = tuple(inner.op.axes[a] for a in node.op.axes)
        return apply(Transpose(axes), x, layer=layers)
    if isinstance(node.op, Reshape) and isinstance(inner.op, Reshape):
        return apply(Reshape(node.op.shape), x, layer=layers)
    return None


IDENTITY = Rule("drop identity", _identity, always, lambda value: value)
PAIR = Rule("merge pair", _pair, always, lambda value: value)


def drop_identities(graph: Graph, context: Context) -> Graph:
    """Drop identities and merge pairs until none is left."""
    return apply_rules(graph, context, IDENTITY, PAIR)
