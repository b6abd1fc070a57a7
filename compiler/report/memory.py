"""Texture memory over the GPU passes of a frame."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ...records import dataclass
from ..inspection import texture_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

HEIGHT = 100  # of the drawing; each pass is 1 wide


@dataclass(frozen=True)
class MemoryBar:
    """A pass: the bytes of textures that hold something then, and the drawn height."""

    live: int
    y: float
    height: float


def memory_bars(schedule: Mapping[str, Any], top: int) -> tuple[MemoryBar, ...]:
    """Return a bar for each pass of a schedule at fixed sizes.

    Inputs count in every pass, other textures from their first pass to their last, weights nowhere.

    Args:
        schedule: of the build.
        top: bytes that are drawn ``HEIGHT`` high.
    """
    passes = len(schedule["passes"])
    changes = [0] * (passes + 1)  # of the bytes, before each pass
    for t in schedule["textures"]:
        if t["data"] is not None:
            continue
        kept = t["slot"] is None
        first, last = (0, passes - 1) if kept else (t["first"], t["last"])
        changes[first] += texture_bytes(t)
        changes[min(last, passes - 1) + 1] -= texture_bytes(t)
    heights = ((live, round(HEIGHT * live / max(top, 1), 2)) for live in accumulate(changes[:-1]))
    return tuple(MemoryBar(live, round(HEIGHT - height, 2), height) for live, height in heights)


def weight_texture_bytes(schedule: Mapping[str, Any]) -> int:
    """Return the bytes of textures that hold weights."""
    return sum(texture_bytes(t) for t in schedule["textures"] if t["data"] is not None)
