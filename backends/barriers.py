"""Which memory barriers each GPU pass needs: image stores are not ordered with what follows.

What a compute pass stores is seen by a later pass only after a barrier of the kind that the later
one reads or writes by: ``texture`` for samplers, ``image``, ``framebuffer``. And it may store into
a texture only after an ``image`` barrier behind all that used it before. Accesses are tracked by
what they share: the slot, or the tensor where it has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .gpu import Blob, ComputePass

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from ..ir.graph import Value
    from .gpu import GpuPass

Barrier = Literal["texture", "image", "framebuffer"]


def barriers(passes: Sequence[GpuPass]) -> list[list[Barrier]]:
    """Return for each pass the barriers to issue before it, in alphabetical order."""
    unseen: dict[Barrier, set[Hashable]] = {"texture": set(), "image": set(), "framebuffer": set()}
    result = []
    for p in passes:
        in_compute = isinstance(p, ComputePass)
        written = _place(p.node.result)
        images = {_place(r.source) for r in p.reads if isinstance(r.place, int)}
        samplers = {_place(r.source) for r in p.reads if isinstance(r.place, str)}
        uses: dict[Barrier, set[Hashable]] = {
            "framebuffer": set() if in_compute else {written},
            "image": images | ({written} if in_compute else set()),
            "texture": samplers,
        }
        needed = sorted(kind for kind, places in uses.items() if places & unseen[kind])
        for kind in needed:
            unseen[kind].clear()
        result.append(needed)
        if in_compute:
            for places in unseen.values():
                places.add(written)
        # Stores that follow wait for these; draws are in order with all but image loads.
        unseen["image"] |= samplers | images | {written}
        unseen["framebuffer"] |= images
    return result


def _place(source: Value | Blob) -> Hashable:
    if isinstance(source, Blob):
        return source
    layout = source.type.layout
    return source if layout is None or layout.slot is None else layout.slot
