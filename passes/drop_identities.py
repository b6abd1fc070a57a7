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
    from ..ir.graph import Graph, Node, Value
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


def _transposes(site: Site) -> Value | None:
    node, inner = site.node, _inner(site.node)
    if inner is None or not isinstance(node.op, Transpose) or not isinstance(inner.op, Transpose):
        return None
    axes = tuple(inner.op.axes[a] for a in node.op.axes)
    return apply(Transpose(axes), inner.inputs[0], layer=_layers(inner, node))


def _reshapes(site: Site) -> Value | None:
    node, inner = site.node, _inner(site.node)
    if inner is None or not isinstance(node.op, Reshape) or not isinstance(inner.op, Reshape):
        return None
    return apply(Reshape(node.op.shape), inner.inputs[0], layer=_layers(inner, node))


def _inner(node: Node) -> Node | None:
    """Return the node that computes the first operand."""
    x = node.inputs[0] if node.inputs else None
    return x.node if isinstance(x, Result) else None


def _layers(*nodes: Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys(layer for node in nodes for layer in node.layers))


IDENTITY = Rule("drop identity", _identity, always, lambda value: value)
TRANSPOSES = Rule("merge transposes", _transposes, always, lambda value: value)
RESHAPES = Rule("merge reshapes", _reshapes, always, lambda value: value)


def drop_identities(graph: Graph, context: Context) -> Graph:
    """Drop identities and merge pairs until none is left."""
    return apply_rules(graph, context, IDENTITY, TRANSPOSES, RESHAPES)
