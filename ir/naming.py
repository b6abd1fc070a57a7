"""Names of nodes for people: a layer may be several nodes, and two layers may have one name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .ops import Viewed, parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .graph import Node


def told_apart(nodes: Iterable[Node]) -> dict[Node, str]:
    """Return a name of its own for each node.

    That of its layer, behind it the operator where others have that name, too, and a number where
    that is not enough: ``scores (PairReduce) #2``.
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
    return type(kernel.kernel if isinstance(kernel, Viewed) else kernel).__name__
