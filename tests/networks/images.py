"""Pictures to calibrate and test with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def scenes(count: int, shape: tuple[int, ...], seed: int) -> NDArray[np.float32]:
    """Return arrays, values about normal, that differ from one another as photographs do.

    White noise will not do: averaged over an image all of it looks alike, and a classifier would
    answer the same whatever it sees. Each scene is a sum of random blocks of several sizes, with
    its own strength for every size and its own base colour.

    Args:
        count: how many.
        shape: (C, H, W), or a vector's (N,).
        seed: of the pictures.
    """
    rng = np.random.default_rng(seed)
    if len(shape) == 1:
        return rng.normal(size=(count, *shape)).astype(np.float32)
    channels, height, width = shape
    result = rng.normal(size=(count, channels, 1, 1)) * np.ones((height, width))
    for block in (max(height, width) // 3, 8, 3, 1):
        block = max(1, block)
        rows, columns = -(-height // block), -(-width // block)
        coarse = rng.normal(size=(count, channels, rows, columns))
        fine = coarse.repeat(block, 2).repeat(block, 3)[:, :, :height, :width]
        result += fine * rng.uniform(0.1, 1, size=(count, 1, 1, 1))
    scale = np.sqrt(np.square(result).mean())
    return (result / scale).astype(np.float32)
