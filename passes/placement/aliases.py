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
class Alias:
    """Where an alias is stored: the tensor that owns the texture, and its first layer there."""

    owner: Value
    first: int


def aliases_of(graph: Graph) -> dict[Value, Alias]:
    """Return the values that are aliases."""
    found: dict[Value, Alias] = {}
    aliases = [n for n in graph.nodes if n.choice.alias]
    for node in widest_first([n for n in aliases if not isinstance(n.op, Slice)]):
        if node.inputs[0] in found:  # a wider concatenation has written its operands in this order
            found[node.result] = found[node.inputs[0]]
            continue
        own = found.get(node.result, Alias(node.result, 0))
        first = own.first
        for value in node.inputs:
            found[value] = Alias(own.owner, first)
            first += value.type.planes
    for node in aliases:  # operands before users
        if isinstance(node.op, Slice):
            (x,) = node.inputs
            own = found.get(x, Alias(x, 0))
            found[node.result] = Alias(own.owner, own.first + node.op.starts[1] // LANES)
    return found


def widest_first(joins: list[Node]) -> list[Node]:
    """Return concatenations in the order of assignment: wholes before parts."""
    return sorted(joins, key=lambda node: -node.result.type.planes)
