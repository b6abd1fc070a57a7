"""Maps of numbers as one picture of indexed colours.

Numbers of both signs are blue below 0, black at 0 and orange above; others go from black to white.
The picture keeps one byte for each number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import pillow
from ..own_folders import as_png

if TYPE_CHECKING:
    from numpy.typing import NDArray

GAP, NOT_FINITE, FIRST, LAST = 0, 1, 2, 255  # indices: others are numbers, from FIRST to LAST
GAP_COLOUR = (88, 96, 105)
NOT_FINITE_COLOUR = (255, 0, 255)
NEGATIVE, POSITIVE = (80, 160, 255), (255, 160, 60)


def indices(maps: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the colours' indices of maps.

    Args:
        maps: (count, height, width).
        low: the number of the first colour, of each map.
        high: that of the last; a map of ``low`` alone is of the first.
    """
    finite = np.isfinite(maps)
    span = np.where(high > low, high - low, 1.0)[:, None, None]
    share = (np.where(finite, maps, 0.0) - low[:, None, None]) / span
    found = FIRST + np.rint(share.clip(0, 1) * (LAST - FIRST))
    result: NDArray[np.uint8] = np.where(finite, found, NOT_FINITE).astype(np.uint8)
    return result


def palette(signed: bool) -> bytes:
    """Return the colours of all indices: red, green and blue of each."""
    share = np.linspace(0, 1, LAST - FIRST + 1)[:, None]
    if signed:
        below = np.maximum(0, 1 - 2 * share) * np.array(NEGATIVE)
        above = np.maximum(0, 2 * share - 1) * np.array(POSITIVE)
        colours = below + above
    else:
        colours = share * np.full(3, 255)
    others = np.array((GAP_COLOUR, NOT_FINITE_COLOUR))
    return bytes(np.concatenate((others, np.rint(colours))).astype(np.uint8))


def png(image: NDArray[np.uint8], colours: bytes) -> bytes:
    """Return indices (rows, columns) as a PNG.

    Raises:
        ShadergenError: SG0606 without Pillow.
    """
    picture = pillow().fromarray(image, "L")
    picture.putpalette(colours)
    return as_png(picture, optimize=False, compress_level=9)


def colour_png(channels: NDArray[Any], side: int) -> bytes:
    """Return red, green and blue (3, height, width) as a PNG of at most so many pixels a side.

    The numbers of white are 1, or 255 if some number is above 2.

    Raises:
        ShadergenError: SG0606 without Pillow.
    """
    small, _ = shrunk(channels.astype(np.float64), side, 3 * side * side)
    white = 255.0 if channels.max() > 2 else 1.0
    pixels = np.rint((small / white).clip(0, 1) * 255).astype(np.uint8).transpose(1, 2, 0)
    return as_png(pillow().fromarray(pixels, "RGB"), optimize=False, compress_level=9)


def shrunk(maps: NDArray[Any], side: int, pixels: int) -> tuple[NDArray[Any], int]:
    """Return maps of at most so many pixels a side, and about so many pixels of all maps together.

    Also returns the side of the squares that are averaged. The last row and column average what is
    left. One number that is not finite makes a pixel so.
    """
    height, width = maps.shape[1:]
    factor = max(1, -(-max(height, width) // side), math.ceil(math.sqrt(maps.size / pixels)))
    if factor == 1:
        return maps, 1
    rows, columns = np.arange(0, height, factor), np.arange(0, width, factor)
    with np.errstate(invalid="ignore"):
        sums = np.add.reduceat(np.add.reduceat(maps, rows, axis=1), columns, axis=2)
    counts = np.multiply.outer(np.diff(np.append(rows, height)), np.diff(np.append(columns, width)))
    return sums / counts, factor
