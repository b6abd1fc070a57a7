"""Writing PNG files row by row: 8 or 16 bits, of which Pillow writes colours in 8 bits only.

Source: PNG (Portable Network Graphics) Specification, third edition, W3C 2025.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .picture import Metadata

    Bytes = NDArray[np.uint8]

COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # by channels
LEVEL = 6  # of zlib: higher ones take long for a few percent
METRE = 0.0254  # inches


class PngWriter:
    """Writes a PNG file from the top.

    Args:
        file: to write to.
        size: height and width.
        channels: 1 to 4: grey, grey and alpha, RGB, RGBA.
        bits: 8 or 16.
        metadata: profile, EXIF and resolution.
    """

    def __init__(
        self, file: BinaryIO, size: tuple[int, int], channels: int, bits: int, metadata: Metadata
    ) -> None:
        self._file = file
        self._pixel = channels * bits // 8
        self._above: Bytes = np.zeros((1, size[1] * self._pixel), np.uint8)
        self._packer = zlib.compressobj(LEVEL)
        file.write(b"\x89PNG\r\n\x1a\n")
        header = struct.pack(">IIBBBBB", size[1], size[0], bits, COLOUR_TYPES[channels], 0, 0, 0)
        self._chunk(b"IHDR", header)
        if metadata.profile:
            self._chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(metadata.profile))
        if metadata.dpi:
            across, down = (round(d / METRE) for d in metadata.dpi)
            self._chunk(b"pHYs", struct.pack(">IIB", across, down, 1))
        if metadata.exif:
            self._chunk(b"eXIf", metadata.exif.removeprefix(b"Exif\0\0"))

    def write(self, pixels: NDArray[Any]) -> None:
        """Add rows of pixels, (h, W, channels), uint8 or uint16."""
        whole = np.ascontiguousarray(pixels.astype(pixels.dtype.newbyteorder(">"), copy=False))
        rows = whole.view(np.uint8).reshape(len(pixels), -1)
        step = max(1, (1 << 22) // rows.shape[1])  # filtering takes many times as much memory
        for first in range(0, len(rows), step):
            part = rows[first : first + step]
            self._data(self._packer.compress(_filtered(part, self._above, self._pixel).tobytes()))
            self._above = part[-1:].copy()

    def close(self) -> None:
        """End the picture; the file stays open."""
        self._data(self._packer.flush())
        self._chunk(b"IEND", b"")

    def _data(self, data: bytes) -> None:
        if data:
            self._chunk(b"IDAT", data)

    def _chunk(self, kind: bytes, data: bytes) -> None:
        self._file.write(struct.pack(">I", len(data)) + kind + data)
        self._file.write(struct.pack(">I", zlib.crc32(kind + data)))


def _filtered(rows: Bytes, above: Bytes, pixel: int) -> Bytes:
    """Return each row behind its filter: the one with the smallest sum of absolute differences."""
    up = np.concatenate([above, rows[:-1]])
    blank = np.zeros((len(rows), pixel), np.uint8)
    left = np.concatenate([blank, rows[:, :-pixel]], axis=1)
    corner = np.concatenate([blank, up[:, :-pixel]], axis=1)
    a, b, c = (x.astype(np.int16) for x in (left, up, corner))
    near = np.abs(b - c), np.abs(a - c), np.abs(a + b - 2 * c)
    paeth = np.where(
        (near[0] <= near[1]) & (near[0] <= near[2]), left, np.where(near[1] <= near[2], up, corner)
    )
    choices = {1: rows - left, 2: rows - up, 4: rows - paeth}
    kinds = np.array(list(choices), np.uint8)
    signed = [choice.view(np.int8).astype(np.int16) for choice in choices.values()]
    costs = [np.abs(differences).sum(1, dtype=np.int64) for differences in signed]
    best = np.argmin(costs, axis=0)
    chosen = np.choose(best[:, np.newaxis], list(choices.values()))
    return np.concatenate([kinds[best][:, np.newaxis], chosen], axis=1)
