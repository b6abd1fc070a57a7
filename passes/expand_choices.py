"""Replace each node whose choice expands to several nodes.

These are convolutions in Winograd tiles, in slices of input planes, and in blocks of pixels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node
    from .rule import Context


def expand_choices(graph: Graph, context: Context) -> Graph:
    """Replace nodes with the expansions of their kernel families."""

    def rewrite(now: Node, was: Node) -> Node | None:
        return context.kernels.expand(now)

    return graph.rewrite(rewrite)
