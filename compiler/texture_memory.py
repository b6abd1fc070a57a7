"""The bytes of a build's textures, by its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backends.texels import texel_bytes
from ..ir.types import Layout

if TYPE_CHECKING:
    from collections.abc import Mapping


def peak_bytes(schedule: Mapping[str, Any]) -> int:
    """Return the bytes of a build's textures, inputs and constants included."""
    slots: dict[int, int] = {}
    loose = 0
    for t in schedule["textures"]:
        if t["slot"] is None:
            loose += texture_bytes(t)
        else:
            slots[t["slot"]] = max(slots.get(t["slot"], 0), texture_bytes(t))
    return loose + sum(slots.values())


def texture_bytes(t: Mapping[str, Any]) -> int:
    """Return the bytes of a texture of a schedule, at fixed sizes."""
    size = texel_bytes(Layout(t["kind"], t["format"]))
    return int(t["width"]) * int(t["height"]) * int(t["layers"]) * size
