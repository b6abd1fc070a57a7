"""Tensors as contact sheets: the maps of all channels, side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_MAPS = 1024  # of a sheet
SIDE = 2048  # pixels of a sheet, unless one map is larger
GAP = 1  # pixels between maps


def as_maps(array: NDArray[Any]) -> NDArray[Any]:
    """Return a tensor as maps (count, height, width): its last two axes are a map.

    A tensor of fewer axes is one map of one row.
    """
    shape = (1,) * max(0, 2 - array.ndim) + array.shape
    return array.reshape(-1, *shape[-2:])


def columns_of(count: int, height: int, width: int, aspect: float = 1.0) -> int:
    """Return how many maps stand side by side, so that a sheet is about so wide for its height."""
    across = math.sqrt(count * aspect * (height + GAP) / (width + GAP))
    return min(count, max(1, round(across)))


def most_maps(height: int, width: int) -> int:
    """Return how many maps of a size a sheet holds."""
    fitting = max(1, SIDE // (height + GAP)) * max(1, SIDE // (width + GAP))
    return min(MOST_MAPS, fitting)


def enlargement(height: int, width: int, least: int) -> int:
    """Return the whole factor that makes the shorter side of a sheet at least so many pixels."""
    return max(1, math.ceil(least / max(1, min(height, width))))


def sheet(maps: NDArray[Any], gap: Any, columns: int) -> NDArray[Any]:
    """Return maps as one image.

    Args:
        maps: (count, height, width, ...).
        gap: what stands between them, as a pixel of a map.
        columns: maps side by side.
    """
    count, height, width = maps.shape[:3]
    rows = -(-count // columns)
    image = np.empty(
        (rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, *maps.shape[3:]), maps.dtype
    )
    image[:] = gap
    for k, one in enumerate(maps):
        y, x = (k // columns) * (height + GAP), (k % columns) * (width + GAP)
        image[y : y + height, x : x + width] = one
    return image


def enlarged(image: NDArray[Any], factor: int) -> NDArray[Any]:
    """Return an image whose pixels are squares of ``factor`` pixels."""
    return image.repeat(factor, axis=0).repeat(factor, axis=1)
