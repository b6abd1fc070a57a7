"""Aliases: tensors that are stored in some planes of another tensor's texture.

A node whose choice is ``alias`` computes nothing. The operands of a Concat are aliases of its
result's texture; the result of a Slice is an alias of its operand's. Each texture has one owner;
an alias of an alias has the same owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.ops import Slice
from ...ir.types import LANES
from ...records import dataclass

if TYPE_CHECKING:
    from ...ir.graph import Graph, Node, Value


@dataclass(frozen=True)
class Place:
    """The tensor that owns the texture of an alias, and the alias's first layer in it."""

    owner: Value
    first: int


def places_of(graph: Graph) -> dict[Value, Place]:
    """Return the place of each value that is an alias."""
    found: dict[Value, Place] = {}
    aliases = [n for n in graph.nodes if n.choice.alias]
    for node in widest_first([n for n in aliases if not isinstance(n.op, Slice)]):
        if node.inputs[0] in found:  # a wider concatenation has written its operands in this order
            found[node.result] = found[node.inputs[0]]
            continue
        own = found.get(node.result, Place(node.result, 0))
        first = own.first
        for value in node.inputs:
            found[value] = Place(own.owner, first)
            first += value.type.planes
    for node in aliases:  # operands before users
        if isinstance(node.op, Slice):
            (x,) = node.inputs
            own = found.get(x, Place(x, 0))
            found[node.result] = Place(own.owner, own.first + node.op.starts[1] // LANES)
    return found


def widest_first(joins: list[Node]) -> list[Node]:
    """Return concatenations in the order of assignment: wholes before parts."""
    return sorted(joins, key=lambda node: -node.result.type.planes)
