"""Unique names of nodes for people: a layer may be several nodes, two layers may share a name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..kernel_ops import IndexMapped, parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...ir.graph import Node


def unique_names(nodes: Iterable[Node]) -> dict[Node, str]:
    """Return a unique name for each node.

    The name is the layer's. Nodes of equal names add their operator, then a number:
    ``scores (OnlineStatistics) #2``.
    """
    names = {node: node.name for node in nodes}
    shared = Counter(names.values())
    names = {n: f"{s} ({_operator(n)})" if shared[s] > 1 else s for n, s in names.items()}
    shared, seen = Counter(names.values()), Counter[str]()
    for node, name in names.items():
        seen[name] += 1
        if shared[name] > 1:
            names[node] = f"{name} #{seen[name]}"
    return names


def _operator(node: Node) -> str:
    kernel = parts(node).kernel
    return type(kernel.kernel if isinstance(kernel, IndexMapped) else kernel).__name__
