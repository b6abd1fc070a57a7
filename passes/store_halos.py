"""Store the padding of convolutions in their input's texture, as a halo of texels around the map.

A convolution that pads tests each tap against the borders. With a halo, the pass that writes the
map writes the padding, too, once for all taps, planes and readers, and convolutions fetch without
tests: conv(x, pads) = conv(halo(x)). A map has one halo. If its readers pad with several contents,
the halo has the content of most readers, and the largest width among these. The other readers test
as before.

Only for targets whose passes may write textures of any size (user shaders), and not for outputs.
Aliases have the halo of the texture that they lie in.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..ir.dimensions import is_one
from ..ir.types import Halo
from ..records import replace
from .kernel_ops import parts
from .placement.aliases import aliases_of
from .placement.halos import halo_for
from .placement.kinds import is_direct

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from .placement.target import Target
    from .rule import Context


def store_halos(graph: Graph, context: Context) -> Graph:
    """Give maps that convolutions pad the halo of their padding."""
    if not context.target.stores_halos:
        return graph
    aliases = aliases_of(graph)

    def owner(value: Value) -> Value:
        return aliases[value].owner if value in aliases else value

    wanted: dict[Value, list[Halo]] = {}  # by the tensor that owns the texture
    fixed: set[Value] = {*graph.inputs, *(o.value for o in graph.outputs)}
    for node in graph.nodes:
        p = parts(node)
        halo = halo_for(p) if is_direct(node) else None
        if halo is not None:
            wanted.setdefault(owner(p.operands[0]), []).append(halo)
        if p.store:
            fixed.update(map(owner, node.results))
    halos = {value: _of_most(found) for value, found in wanted.items() if value not in fixed}

    def place(now: Node, was: Node) -> Node | None:
        types = list(now.types or ())
        for k, old in enumerate(was.results):
            layout, halo = old.type.layout, halos.get(owner(old))
            if halo is not None and layout is not None and _has_room(old, halo, context.target):
                types[k] = now.results[k].type.placed(replace(layout, halo=halo))
        return replace(now, types=tuple(types)) if tuple(types) != now.types else None

    return graph.rewrite(place)


def _of_most(halos: list[Halo]) -> Halo:
    """Return a halo for most of the readers."""
    ((content, _),) = Counter(halo.content for halo in halos).most_common(1)
    return Halo(content, max(halo.width for halo in halos if halo.content == content))


def _has_room(value: Value, halo: Halo, target: Target) -> bool:
    """Whether a texture has room for a halo: each plane must be a texture of its own."""
    t, most = value.type, target.limits.texture_size
    separate = t.in_planes and t.layout is not None and t.layout.kind == "2d"
    if not separate or not is_one(t.shape[0]):
        return False
    return all(size + 2 * halo.width <= most for size in t.extent[:2])
