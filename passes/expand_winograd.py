"""Make three nodes of each convolution that is to be computed in tiles (``ir.winograd``).

conv(x; W, b) = result(products(patches(x); W, b)). A prologue goes with the patches, where elements
are loaded, and an epilogue with the result. :mod:`.choose_kernels` decided on it, and the choice
stays with the products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InternalError
from .winograd import steps

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node
    from .rule import Context


def expand_winograd(graph: Graph, context: Context) -> Graph:
    """Replace every node whose choice names tiles."""

    def rewrite(now: Node, was: Node) -> Node | None:
        if not now.choice.winograd:
            return None
        found = steps(now, now.choice, context.target)
        if found is None:
            raise InternalError(f"{now.name}: no room for patches, candidates() was to see to that")
        return found[-1]

    return graph.rewrite(rewrite)
