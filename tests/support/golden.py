"""Compare with a golden file, or write it: REGENERATE_GOLDEN=1 pytest tests/golden."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from shadergen.ir.graph import Value, apply, constant
from shadergen.ir.ops import Conv

if TYPE_CHECKING:
    from pathlib import Path


def compare(path: Path, got: str) -> None:
    if os.environ.get("REGENERATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(got, "utf-8")
    wanted = path.read_text("utf-8")
    assert got == wanted, "if this was meant to change: REGENERATE_GOLDEN=1 pytest tests/golden"


def conv(
    x: Value, channels: int, size: int | tuple[int, int], layer: str, **attributes: object
) -> Value:
    """Return a convolution whose weights are quarters: they print alike everywhere."""
    kernel = (size, size) if isinstance(size, int) else size
    per_group = x.shape[1] // attributes.get("groups", 1)
    w = np.arange(channels * per_group * kernel[0] * kernel[1]) % 7 - 3
    b = np.arange(channels) / 2
    weights = constant(w.reshape(channels, per_group, *kernel) / 4, f"{layer}.kernel")
    inputs = (x, weights, constant(b, f"{layer}.bias"))
    return apply(Conv(**attributes), *inputs, layer=layer)
