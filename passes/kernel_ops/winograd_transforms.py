"""Winograd's minimal filtering F(m x m, 3 x 3): the transforms of weights, tiles and products.

A tile of m x m results of a 3x3 convolution of stride 1 reads a patch of k x k elements, k = m + 2.
With d the patch and g the kernel, y = A' [(G g G') * (B' d B)] A, where * multiplies element by
element: k*k products for each pair of channels in place of 9*m*m. Source: Lavin and Gray, Fast
Algorithms for Convolutional Neural Networks (2015); points 0, 1, -1, infinity, and 2, -2 for m = 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

TAPS = 3  # of the kernels, along each axis
PIECE = 1024  # kernels in one product: more would start threads, which takes six times as long
TILES = (2, 4)  # sizes of tiles there are transforms for
ONE = 1  # the row and column of A' [.] A that all results are the sum of: the point 1

_PATCH = {
    2: ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    4: (
        (4, 0, -5, 0, 1, 0),
        (0, -4, -4, 1, 1, 0),
        (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0),
        (0, 2, -1, -2, 1, 0),
        (0, 4, 0, -5, 0, 1),
    ),
}
_KERNEL = {
    2: ((2, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 2)),  # halves
    4: ((6, 0, 0), (-4, -4, -4), (-4, 4, -4), (1, 2, 4), (1, -2, 4), (0, 0, 24)),  # of 24
}
_KERNEL_SCALE = {2: 2.0, 4: 24.0}
_RESULT = {
    2: ((1, 1, 1, 0), (0, 1, -1, -1)),
    4: ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1)),
}


def of_patch(tile: int) -> NDArray[np.float64]:
    """Return B', (k, k)."""
    return np.array(_PATCH[tile], np.float64)


def of_kernel(tile: int) -> NDArray[np.float64]:
    """Return G, (k, 3)."""
    return np.array(_KERNEL[tile], np.float64) / _KERNEL_SCALE[tile]


def of_result(tile: int) -> NDArray[np.float64]:
    """Return A', (m, k)."""
    return np.array(_RESULT[tile], np.float64)


def transformed(w: NDArray[np.floating], tile: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return G w G' of 3x3 weights OIHW, (O, I, k, k), computed in float64.

    In memory the elements (k, k) come first, as backends take them one by one.
    """
    g = of_kernel(tile)
    k = len(g)
    matrix = np.kron(g, g)
    flat = w.reshape(-1, TAPS * TAPS)
    result = np.empty((k, k, *w.shape[:2]), dtype)
    elements = result.reshape(k * k, -1)
    for start in range(0, len(flat), PIECE):
        piece = flat[start : start + PIECE].astype(np.float64)
        elements[:, start : start + PIECE] = matrix @ piece.T
    return np.moveaxis(result, (0, 1), (2, 3))
