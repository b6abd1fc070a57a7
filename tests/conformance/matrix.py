"""The suite with each kernel choice forced on all layers: which, and what became of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .suite import Case, Outcome

FILE = Path(__file__).with_name("matrix.json")
CHOICES = (
    "stage=fragment,weights=constants",
    "stage=fragment,weights=texture",
    "stage=fragment,weights=ubo",
    "stage=fragment,weights=ubo,device=adreno-6xx",
    "stage=fragment,device=mali-valhall",
    "stage=fragment,weights=ssbo,device=gles32-desktop",
    "stage=fragment,fetch=sample",
    "stage=fragment,fetch=image,device=gles32-desktop",
    "stage=fragment,mrt=1,textures=2d",
    "textures=stacked,device=gles30",
    "stage=compute,fetch=texel,device=gles31-min",
    "stage=compute,fetch=image,device=llvmpipe",
    "stage=compute,fetch=image-zero,device=llvmpipe",
    "stage=compute,weights=ubo,device=gles32-desktop",
    "stage=fragment,winograd=2x2",
    "winograd=2x2,device=gles31-min",
    "winograd=4x4,device=llvmpipe",
    "fuse_separable=on,device=gles31-min",
    "stage=auto,device=llvmpipe",
    "device=webgpu",
    "stage=fragment,device=webgpu",
    "stage=compute,device=webgpu",
)


@dataclass(frozen=True)
class Matrix:
    """How many cases came to each status, by choice."""

    counts: Mapping[str, Mapping[str, int]]

    @staticmethod
    def load() -> Matrix:
        return Matrix(json.loads(FILE.read_text("utf-8")) if FILE.exists() else {})

    def with_choice(self, choice: str, results: Mapping[Case, Outcome]) -> Matrix:
        """Return the matrix with a choice tried anew; choices that are no more are left out."""
        counts = {**self.counts, choice: Counter(o.status for o in results.values())}
        return Matrix({c: counts[c] for c in CHOICES if c in counts})

    def save(self) -> None:
        FILE.write_text(json.dumps(self.counts, indent=1) + "\n", "utf-8")
