"""Replace every operator that has a decomposition by simpler ones.

Batch normalisation becomes x * scale + shift; transposed convolution becomes a convolution and a
pixel shuffle. What remains has a kernel.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.graph import Result
from .rule import Rule, always, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
    from .rule import Context, Site


def _match(site: Site) -> Value | None:
    node = site.node
    value = node.op.decompose(*node.inputs)
    return None if value is None else _named(value, node.layers)


def _named(value: Value, layers: tuple[str, ...]) -> Value:
    """Give the new nodes, which name no layer, the layers of the node they stand for."""
    if not isinstance(value, Result) or value.node.layers:
        return value
    inputs = tuple(_named(v, layers) for v in value.node.inputs)
    return replace(value.node, inputs=inputs, layers=layers).results[value.index]


DECOMPOSE = Rule("decompose", _match, always, lambda value: value)


def canonicalise(graph: Graph, context: Context) -> Graph:
    """Decompose until nothing decomposes."""
    return apply_rules(graph, context, DECOMPOSE)
