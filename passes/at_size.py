"""A graph of one size in place of one with dynamic dimensions, or of smaller images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.dimensions import same_shape, with_hints
from ..ir.graph import Graph, Input, Node
from ..ir.types import MAP_RANK
from ..records import replace

if TYPE_CHECKING:
    from ..ir.graph import Value


def at_size(graph: Graph, side: int | None = None) -> Graph:
    """Return a graph with the default sizes, and images of at most ``side`` x ``side``.

    The nodes are in the same order. Layouts stay if ``side`` is None.

    Operator and operands of a node are replaced together. If operands of fixed sizes met an
    operator with dynamic dimensions, type inference would record a guard for the compilation.

    Raises:
        ShadergenError: when an operator does not accept images of this size.
    """

    def sized(i: Input) -> Input:
        if side is None:
            return replace(i, type=with_hints(i.type))
        shape = with_hints(i.shape)
        if len(shape) == MAP_RANK:
            shape = (*shape[:2], *(min(size, side) for size in shape[2:]))
        return i if same_shape(shape, i.shape) else replace(i, type=i.type.of(shape))

    inputs = tuple(map(sized, graph.inputs))
    new: dict[Value, Value] = dict(zip(graph.inputs, inputs, strict=True))
    new |= {c: c for c in graph.constants}
    for node in graph.nodes:
        operands = tuple(new[v] for v in node.inputs)
        types = with_hints(node.types) if side is None else None
        now = Node(with_hints(node.op), operands, node.layers, node.choice, types, node)
        new |= zip(node.results, now.results, strict=True)
    return Graph(graph.name, inputs, tuple(replace(o, value=new[o.value]) for o in graph.outputs))


def originals(sized: Graph, graph: Graph) -> dict[Value, Value]:
    """Map the results of a graph from :func:`at_size` to those of the graph it was made of."""
    pairs = zip(sized.nodes, graph.nodes, strict=True)
    return {
        now: was for new, old in pairs for now, was in zip(new.results, old.results, strict=True)
    }
