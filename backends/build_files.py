"""A build in memory, before it is written."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..records import dataclass

if TYPE_CHECKING:
    from .gpu import GpuPass
    from .weights import WeightFile

WEIGHTS = "weights.bin"


@dataclass(frozen=True)
class BuildFiles:
    """A whole build in memory: the schedule as plain data, and the files beside it.

    ``passes`` are what the schedule's passes were written from, in the same order. ``tensors`` are
    the schedule's names of what each writes, and ``store_lines`` the lines of its shader that store
    results (:attr:`.shader_files.ShaderFiles.store_lines`). ``variants`` are builds for other
    devices in the same folder, by the files of their schedules.
    """

    schedule: dict[str, Any]
    shaders: dict[str, str]
    weights: WeightFile = field(compare=False)  # the schedule has its digest
    weights_path: str = WEIGHTS
    variants: dict[str, BuildFiles] = field(default_factory=dict)
    passes: tuple[GpuPass, ...] = field(default=(), compare=False, repr=False)
    tensors: tuple[str, ...] = field(default=(), compare=False, repr=False)
    store_lines: tuple[tuple[int, ...], ...] = field(default=(), compare=False, repr=False)

    def all_shaders(self) -> dict[str, str]:
        """Return the shaders of this build and its variants, by path."""
        shaders = dict(self.shaders)
        for variant in self.variants.values():
            shaders |= variant.shaders
        return shaders
