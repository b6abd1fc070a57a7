"""Which memory barriers each GPU pass needs: image stores are not ordered with what follows.

What a compute pass stores is seen by a later pass only after a barrier of the kind that the later
one reads or writes by: ``texture`` for samplers, ``image``, ``framebuffer``. And it may store into
a texture only after an ``image`` barrier behind all that used it before. Accesses are tracked by
what they share: layers of the slot, or the tensor where it has none.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from .gpu import Blob, ComputePass

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence, Set

    from ..ir.graph import Value
    from .gpu import GpuPass

Barrier = Literal["texture", "image", "framebuffer"]


def barriers(passes: Sequence[GpuPass]) -> list[list[Barrier]]:
    """Return for each pass the barriers to issue before it, in alphabetical order."""
    unseen: dict[Barrier, set[Hashable]] = {"texture": set(), "image": set(), "framebuffer": set()}
    result = []
    places_of = cache(_places)
    for p in passes:
        in_compute = isinstance(p, ComputePass)
        written = places_of(p.node.result)
        images = {a for r in p.reads if isinstance(r.place, int) for a in places_of(r.source)}
        samplers = {a for r in p.reads if isinstance(r.place, str) for a in places_of(r.source)}
        uses: dict[Barrier, Set[Hashable]] = {
            "framebuffer": set() if in_compute else written,
            "image": images | (written if in_compute else set()),
            "texture": samplers,
        }
        needed = sorted(kind for kind, places in uses.items() if places & unseen[kind])
        for kind in needed:
            unseen[kind].clear()
        result.append(needed)
        if in_compute:
            for places in unseen.values():
                places |= written
        # Stores that follow wait for these; draws are in order with all but image loads.
        unseen["image"] |= samplers | images | written
        unseen["framebuffer"] |= images
    return result


def _places(source: Value | Blob) -> Set[Hashable]:
    """Return the layers of a tensor, each by what identifies it."""
    if isinstance(source, Blob) or source.type.layout is None or source.type.layout.slot is None:
        return frozenset((source,))
    first = source.type.first_layer
    return {(source.type.layout.slot, layer) for layer in range(first, first + source.type.layers)}
