"""Tensors as texels: how many bytes they take, and constants arranged in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.types import FORMATS, INT8_ZERO, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..ir.types import TextureFormat

PIECE = 1 << 20  # elements that are rearranged at a time


def tensor_bytes(t: TensorType) -> int:
    """Bytes of a placed tensor's texture."""
    assert t.layout is not None
    width, height, layers = t.extent
    return width * height * layers * FORMATS[t.layout.format].bytes


def components(numbers: np.ndarray, texel: TextureFormat) -> np.ndarray:
    """Return numbers as the components of texels of a format."""
    bits = FORMATS[texel].bits
    if bits == 8:
        return (numbers + INT8_ZERO).astype(np.uint8)
    return numbers.astype(np.float32 if bits == 32 else np.float16, copy=False)


def pack(data: np.ndarray, t: TensorType) -> Iterator[np.ndarray]:
    """Yield a constant tensor's texels in pieces: layers, or rows."""
    assert t.layout is not None
    width, height, layers = t.extent
    lanes_of_texel, texel = t.channels_per_texel, t.layout.format

    def padded(rows: np.ndarray) -> np.ndarray:
        result = np.zeros((*rows.shape[:-1], t.planes * lanes_of_texel), np.float32)
        result[..., : t.channels] = rows
        return components(result, texel)

    if t.in_planes:
        for entry in data:  # C, H, W -> planes, H, W, lanes
            lanes = padded(entry.transpose(1, 2, 0))
            lanes = lanes.reshape(height, width, t.planes, lanes_of_texel)
            yield lanes.transpose(2, 0, 1, 3)
        return
    rows = data.reshape(-1, t.channels)
    step = max(1, PIECE // t.channels)
    for start in range(0, len(rows), step):
        yield padded(rows[start : start + step])
    rest = np.zeros((layers * height * width - t.texels, lanes_of_texel), np.float32)
    yield components(rest, texel)
