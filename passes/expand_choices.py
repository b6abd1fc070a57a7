"""Replace each node whose choice makes several nodes of it: convolutions in Winograd's tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node
    from .rule import Context


def expand_choices(graph: Graph, context: Context) -> Graph:
    """Put what the kernel families make of a node in its place."""

    def rewrite(now: Node, was: Node) -> Node | None:
        return context.kernels.expand(now)

    return graph.rewrite(rewrite)
