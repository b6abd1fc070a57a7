"""Memory barriers of each GPU pass: image stores are unordered with later accesses.

A later pass sees the stores of a compute pass only after a barrier of the kind of its own access:
``texture`` for samplers, ``image``, ``framebuffer``. A compute pass may store into a texture only
after an ``image`` barrier that follows all earlier uses. Accesses are tracked by layers of the
slot, or by tensor if it has no slot.
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
    accessed = cache(_accessed)
    for p in passes:
        in_compute = isinstance(p, ComputePass)
        written = accessed(p.node.result)
        images = {a for r in p.reads if isinstance(r.place, int) for a in accessed(r.source)}
        samplers = {a for r in p.reads if isinstance(r.place, str) for a in accessed(r.source)}
        uses: dict[Barrier, Set[Hashable]] = {
            "framebuffer": set() if in_compute else written,
            "image": images | (written if in_compute else set()),
            "texture": samplers,
        }
        needed = sorted(kind for kind, layers in uses.items() if layers & unseen[kind])
        for kind in needed:
            unseen[kind].clear()
        result.append(needed)
        if in_compute:
            for layers in unseen.values():
                layers |= written
        # Stores that follow wait for these; draws are in order with all but image loads.
        unseen["image"] |= samplers | images | written
        unseen["framebuffer"] |= images
    return result


def _accessed(source: Value | Blob) -> Set[Hashable]:
    """Return the layers of a tensor, each by what identifies it."""
    if isinstance(source, Blob) or source.type.layout is None or source.type.layout.slot is None:
        return frozenset((source,))
    first = source.type.first_layer
    return {(source.type.layout.slot, layer) for layer in range(first, first + source.type.layers)}
