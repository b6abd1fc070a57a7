"""The smallest files that can be written as a build."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shadergen.backends.build_files import BuildFiles
from shadergen.backends.weights import WeightFile


def weighing(content: bytes) -> WeightFile:
    weights = WeightFile()
    if content:
        weights.add([np.frombuffer(content, np.uint8)])
    return weights


def files_of(shader: str, weights: bytes = b"", **more: str) -> BuildFiles:
    """Return a build of a single shader."""
    schedule = {
        "format": "shadergen",
        "version": "5.2",
        "weights": {"file": "weights.bin"},
        "passes": [{"shader": shader}],
        **more,
    }
    return BuildFiles(schedule, {shader: f"// {shader}\n"}, weighing(weights))


FILES = files_of("shaders/a.frag", b"\1\2")


def nothing(folder: Path) -> None:
    """Check nothing."""
