"""Share textures between tensors with disjoint lifetimes.

A tensor's lifetime is from the node that writes it to the last node that reads it, inclusive.
Tensors with disjoint lifetimes and textures of equal kind, format, width and height share a slot. A
slot has as many layers as its deepest tensor. Outputs have slots of their own, inputs and constants
have none. A texture with aliases lives as long as any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..records import replace
from .placement.aliases import Alias, aliases_of
from .placement.kinds import tensor_operands

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from ..ir.types import TensorType
    from .rule import Context


def intervals(graph: Graph) -> dict[Value, tuple[int, int]]:
    """Return for each texture that nodes write the positions of its writer and its last reader."""
    alive: dict[Value, tuple[int, int]] = {}
    aliases = aliases_of(graph)

    def owner(value: Value) -> Value:
        return aliases[value].owner if value in aliases else value

    for position, node in enumerate(graph.nodes):
        if node.choice.alias:
            continue
        for value in map(owner, tensor_operands(node)):
            if value in alive:
                alive[value] = (alive[value][0], position)
        for value in map(owner, node.results):
            alive[value] = (alive.get(value, (position,))[0], position)
    return alive


def allocate_textures(graph: Graph, context: Context) -> Graph:
    """Assign slots in order of writing: among the free ones, the nearest in depth."""
    return _allocated(graph, shared=True)


def separate_textures(graph: Graph) -> Graph:
    """Assign a slot of its own to each texture."""
    return _allocated(graph, shared=False)


def _allocated(graph: Graph, shared: bool) -> Graph:
    alive, aliases = intervals(graph), aliases_of(graph)
    outputs = {o.value for o in graph.outputs}
    free: dict[tuple[object, ...], list[tuple[int, int]]] = {}  # texture -> (slot, last reader)
    slots: dict[Value, int] = {}
    depth: dict[int, int] = {}
    for value, (first, last) in alive.items():
        key = _texture(value.type)
        pool = free.setdefault(key, [])
        fitting = [] if value in outputs else [entry for entry in pool if entry[1] < first]
        if fitting:
            entry = min(fitting, key=lambda e: abs(depth[e[0]] - value.type.layers))
            pool.remove(entry)
            slot = entry[0]
        else:
            slot = len(depth)
        slots[value] = slot
        depth[slot] = max(depth.get(slot, 0), value.type.layers)
        if shared and value not in outputs:
            pool.append((slot, last))

    def placed(t: TensorType, alias: Alias) -> TensorType:
        assert t.layout is not None
        slot = slots.get(alias.owner)  # none where that is an input or a constant
        return t.placed(replace(t.layout, slot=slot, first=alias.first))

    def assign(now: Node, was: Node) -> Node | None:
        types = tuple(
            placed(r.type, aliases.get(old, Alias(old, 0)))
            for r, old in zip(now.results, was.results, strict=True)
        )
        return None if types == now.types else replace(now, types=types)

    return graph.rewrite(assign)


def _texture(t: TensorType) -> tuple[object, ...]:
    assert t.layout is not None
    width, height, _ = t.extent
    return t.layout.kind, t.layout.format, width, height
