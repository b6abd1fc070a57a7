"""Tensors that are planes of another tensor's texture.

A node whose choice is ``view`` computes nothing. What joins maps on whole planes (a Concat) has its
operands written into its own texture, each from its first plane on; what takes whole planes out of
a map (a Slice) has a result that is read where it lies. So a texture has one owner, and others are
some of its planes, parts of parts too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...ir.ops import Slice
from ...ir.types import LANES

if TYPE_CHECKING:
    from ...ir.graph import Graph, Node, Value


@dataclass(frozen=True)
class Place:
    """The tensor whose texture a tensor lies in, and its first layer there."""

    owner: Value
    first: int


def places_of(graph: Graph) -> dict[Value, Place]:
    """Return the place of each value that lies in another's texture."""
    found: dict[Value, Place] = {}
    views = [n for n in graph.nodes if n.choice.view]
    for node in widest_first([n for n in views if not isinstance(n.op, Slice)]):
        if node.inputs[0] in found:  # a wider concatenation has written its operands in this order
            found[node.result] = found[node.inputs[0]]
            continue
        own = found.get(node.result, Place(node.result, 0))
        first = own.first
        for value in node.inputs:
            found[value] = Place(own.owner, first)
            first += value.type.planes
    for node in views:  # operands before users
        if isinstance(node.op, Slice):
            (x,) = node.inputs
            own = found.get(x, Place(x, 0))
            found[node.result] = Place(own.owner, own.first + node.op.starts[1] // LANES)
    return found


def widest_first(joins: list[Node]) -> list[Node]:
    """Return concatenations in the order in which they are given places: wholes before parts."""
    return sorted(joins, key=lambda node: -node.result.type.planes)
