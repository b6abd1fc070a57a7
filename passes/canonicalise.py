"""Replace every operator that has a decomposition by simpler ones.

Batch normalisation becomes x * scale + shift; transposed convolution becomes a convolution and a
pixel shuffle. What remains has a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.graph import Result, Value
from ..records import replace
from .rule import Rule, always, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node
    from .rule import Context, Site


def _match(site: Site) -> tuple[Value, ...] | None:
    node = site.node
    values = node.op.decompose(*node.inputs)
    if values is None:
        return None
    return _named((values,) if isinstance(values, Value) else values, node)


def _named(values: tuple[Value, ...], old: Node) -> tuple[Value, ...]:
    """Give the new nodes, which name no layer, the layers of the node they stand for."""
    before = {v.node for v in old.inputs if isinstance(v, Result)}
    new: dict[Node, Node] = {}

    def named(value: Value) -> Value:
        if not isinstance(value, Result) or value.node not in new:
            return value
        return new[value.node].results[value.index]

    stack = [v.node for v in reversed(values) if isinstance(v, Result)]
    while stack:
        node = stack[-1]
        if node in new or node in before or node.layers:
            stack.pop()
            continue
        inputs = [v.node for v in node.inputs if isinstance(v, Result)]
        todo = [n for n in inputs if n not in new and n not in before and not n.layers]
        stack.extend(todo)
        if not todo:
            new[node] = replace(node, inputs=tuple(map(named, node.inputs)), layers=old.layers)
    return tuple(map(named, values))


DECOMPOSE: Rule[tuple[Value, ...]] = Rule("decompose", _match, always, lambda values: values)


def canonicalise(graph: Graph, context: Context) -> Graph:
    """Decompose until nothing decomposes."""
    return apply_rules(graph, context, DECOMPOSE)
