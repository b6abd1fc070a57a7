"""A build in memory, before it is written."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..records import dataclass

if TYPE_CHECKING:
    from .gpu import GpuPass
    from .shader.program import Program
    from .weights import WeightFile

WEIGHTS = "weights.bin"


@dataclass(frozen=True)
class BuildFiles:
    """A whole build in memory: the schedule as plain data, and the files beside it.

    ``passes`` are what the schedule's passes were written from, in the same order. ``variants`` are
    builds for other devices in the same folder, by the files of their schedules.
    """

    schedule: dict[str, Any]
    shaders: dict[str, str]
    weights: WeightFile = field(compare=False)  # the schedule has its digest
    layers: dict[str, str] = field(default_factory=dict)  # shader path -> model layers
    weights_path: str = WEIGHTS
    variants: dict[str, BuildFiles] = field(default_factory=dict)
    passes: tuple[GpuPass, ...] = field(default=(), compare=False, repr=False)

    def programs(self) -> dict[str, Program]:
        """Return the program of each shader, by its path; of equal ones, the first."""
        entries = zip(self.schedule["passes"], self.passes, strict=True)
        return {entry["shader"]: p.program for entry, p in reversed([*entries])}

    def all_shaders(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the shaders, and whose layers they are, of this build and its variants."""
        shaders, layers = dict(self.shaders), dict(self.layers)
        for variant in self.variants.values():
            shaders |= variant.shaders
            layers |= variant.layers
        return shaders, layers
