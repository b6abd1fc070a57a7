"""A 3x3 convolution by Winograd's minimal filtering F(m x m, 3 x 3): its transforms and steps.

A tile of m x m results of stride 1 reads a patch of k x k elements, k = m + 2. With d the patch and
g the kernel, y = A' [(G g G') * (B' d B)] A, where * multiplies element by element: k*k products
for each pair of channels in place of 9*m*m. Source: Lavin and Gray, Fast Algorithms for
Convolutional Neural Networks (2015). The points are 0, 1, -1 and infinity for m = 2; for m = 4 see
``NEAR``.

Tiles of a map are numbered in row order. Their transforms are stored as a map again: tile t is in
column t % columns of tile row t / columns, and each tile row is k*k rows of the map, one for every
position in a patch. The products are then a 1x1 convolution whose weights depend on the row. If an
invocation can write all pixels of a tile, one operator does all three steps.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.ops.base import Op, require
from ...ir.ops.convolution import Conv
from ...ir.types import TensorType
from ...records import dataclass
from .blocks import apart_shape, pixels_apart

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from ...ir.indexing import PadMode
    from ...ir.nest import Nest
    from ...ir.ops.base import Mask
    from ...ir.ops.window import Sizes

TAPS = 3  # of the kernels, along each axis
PIECE = 1024  # kernels in one product: more would start threads, which takes six times as long
TILES = (2, 4)  # sizes of tiles there are transforms for
# The points of 4x4 tiles are 0, both signs of these, and infinity. Results are then about a quarter
# as far off as with the points 1 and 2, and every factor of B' and A' is exact in 16 bits or more.
NEAR, FAR = 0.75, 1.5
_N2, _F2 = NEAR**2, FAR**2

_PATCH = {
    2: ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    4: (
        (_N2 * _F2, 0, -_N2 - _F2, 0, 1, 0),
        (0, -NEAR * _F2, -_F2, NEAR, 1, 0),
        (0, NEAR * _F2, -_F2, -NEAR, 1, 0),
        (0, -FAR * _N2, -_N2, FAR, 1, 0),
        (0, FAR * _N2, -_N2, -FAR, 1, 0),
        (0, _N2 * _F2, 0, -_N2 - _F2, 0, 1),
    ),
}
_KERNEL = {
    2: ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1)),
    4: (
        (1 / (_N2 * _F2), 0, 0),
        *(
            tuple(p**i / (2 * p**2 * (p**2 - other**2)) for i in range(TAPS))
            for point, other in ((NEAR, FAR), (FAR, NEAR))
            for p in (point, -point)
        ),
        (0, 0, 1),
    ),
}
_RESULT = {
    2: ((1, 1, 1, 0), (0, 1, -1, -1)),
    4: (
        (1, 1, 1, 1, 1, 0),
        (0, NEAR, -NEAR, FAR, -FAR, 0),
        (0, _N2, _N2, _F2, _F2, 0),
        (0, NEAR**3, -(NEAR**3), FAR**3, -(FAR**3), 1),
    ),
}


def of_patch(tile: int) -> NDArray[np.float64]:
    """Return B', (k, k)."""
    return np.array(_PATCH[tile], np.float64)


def of_kernel(tile: int) -> NDArray[np.float64]:
    """Return G, (k, 3)."""
    return np.array(_KERNEL[tile], np.float64)


@cache
def _of_taps(tile: int) -> NDArray[np.floating]:
    """Return the matrix (k*k, 9) of G w G' as a function of the taps in w."""
    g = of_kernel(tile)
    return np.kron(g, g)


def of_result(tile: int) -> NDArray[np.float64]:
    """Return A', (m, k)."""
    return np.array(_RESULT[tile], np.float64)


@cache
def bias_shares(tile: int) -> tuple[float, ...]:
    """Return v with A' v = 1.

    If position (i, j) takes a bias times v[i] v[j], every result has the bias.
    """
    if tile == 2:
        return 0.0, 1.0, 0.0, 0.0  # the point 1
    shares = np.zeros(tile + TAPS - 1)
    read = [0, 1, 3, 5]  # as few as there can be
    shares[read] = np.linalg.solve(of_result(tile)[:, read], np.ones(tile))
    return tuple(map(float, shares))


def transformed(w: NDArray[np.floating], tile: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return G w G' of 3x3 weights OIHW, (O, I, k, k), computed in float64."""
    taps = np.moveaxis(w.reshape(*w.shape[:2], TAPS * TAPS), 2, 0)
    k = len(of_kernel(tile))
    return np.moveaxis(transformed_taps(taps, tile, dtype), 0, 2).reshape(*w.shape[:2], k, k)


def transformed_taps(taps: NDArray[np.floating], tile: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return G w G' of 3x3 weights (9, ...), (k*k, ...), computed in float64."""
    matrix = _of_taps(tile)
    result = np.empty((len(matrix), *taps.shape[1:]), dtype)
    flat, elements = taps.reshape(len(taps), -1), result.reshape(len(matrix), -1)
    for start in range(0, flat.shape[1], PIECE):
        piece = flat[:, start : start + PIECE].astype(np.float64)
        elements[:, start : start + PIECE] = matrix @ piece
    return result


def sums_of_known(known: Mask, factors: NDArray[np.floating]) -> Mask:
    """Return which sums of terms have determined terms only.

    Args:
        known: which terms are determined, (..., terms).
        factors: of the terms in each sum, (sums, terms); a term with the factor 0 does not count.
    """
    found: Mask = ~(~known @ (factors != 0).T)
    return found


class Tiled:
    """Base of operators on Winograd tiles of ``tile`` x ``tile`` results."""

    for_kernels = True

    tile: int

    @property
    def patch(self) -> int:
        """k, the elements of a patch along an axis."""
        return self.tile + TAPS - 1


@dataclass(frozen=True)
class TiledConv(Tiled, Conv, abstract=True):
    """Base of operators that have the weights of the convolution, which are stored transformed."""

    tile: int = 2

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:2], self.patch, self.patch)

    def packed(self, taps: np.ndarray) -> np.ndarray:
        return transformed_taps(taps, self.tile, np.float32)

    def nest(self, x: TensorType, w: TensorType, *bias: TensorType) -> Nest | None:
        return None


class Cut(Tiled):
    """Base of operators that cut a map into patches, padded as the convolution pads it."""

    pads: Sizes
    pad_mode: PadMode
    pad_value: float
    enlarged: Sizes

    @property
    def conv(self) -> Conv:
        """The attributes of the convolution that determine its windows."""
        return Conv(
            pads=self.pads,
            pad_mode=self.pad_mode,
            pad_value=self.pad_value,
            enlarged=self.enlarged,
        )

    def padded(self, x: TensorType) -> tuple[int, int]:
        """Return the height and width of the padded map."""
        top, left, bottom, right = self.pads
        _, _, height, width = self.conv.seen(x).shape
        return height + top + bottom, width + left + right

    def tiles(self, x: TensorType) -> tuple[int, int]:
        """Return how many tiles there are down and across the convolution's result."""
        height, width = self.padded(x)
        return -(-(height - TAPS + 1) // self.tile), -(-(width - TAPS + 1) // self.tile)

    def known_lines(self, tiles: int, size: int) -> Mask:
        """Return which lines of transformed patches read the padded map alone, (tiles, k).

        Args:
            tiles: along an axis.
            size: of the padded map along this axis.
        """
        read = np.arange(tiles)[:, None] * self.tile + np.arange(self.patch)
        return sums_of_known(read < size, of_patch(self.tile))


@dataclass(frozen=True)
class WinogradPatches(Cut, Op):
    """Cut a padded map into overlapping patches and transform each: B' d B.

    Patch (i, j) begins at (i*tile - top, j*tile - left). Padding and enlargement are the
    convolution's (``ops.Conv``). Elements that the last patches read beyond the padded map are
    arbitrary, but finite; so are patches beyond the last tile.

    x: (N, C, H, W) -> (N, C, rows*k*k, columns), as many rows and columns as there are tiles, or
    more.
    """

    tile: int
    rows: int
    columns: int
    pads: Sizes = (0, 0, 0, 0)
    pad_mode: PadMode = "constant"
    pad_value: float = 0.0
    enlarged: Sizes = (1, 1)

    def infer(self, x: TensorType) -> TensorType:
        require(x.rank == 4, f"patches of a tensor of rank {x.rank}")
        require(self.tile in TILES, f"there is no transform for tiles of {self.tile}")
        down, across = self.tiles(x)
        require(down >= 1 and across >= 1, "the kernel is larger than the padded input")
        require(self.rows * self.columns >= down * across, "no room for all patches")
        n, c, _, _ = x.shape
        return TensorType((n, c, self.rows * self.patch**2, self.columns))

    def reference(self, x: Any) -> Any:
        down, across = self.tiles(TensorType(x.shape))
        x = x.repeat(self.enlarged[0], 2).repeat(self.enlarged[1], 3)
        top, left, bottom, right = self.pads
        widths = ((0, 0), (0, 0), (top, bottom), (left, right))
        if self.pad_mode == "constant":
            x = np.pad(x, widths, constant_values=self.pad_value)
        else:
            x = np.pad(x, widths, mode=self.pad_mode)
        m, k = self.tile, self.patch
        x = np.pad(x, ((0, 0), (0, 0), (0, down * m + 2), (0, across * m + 2)))
        b = of_patch(m).astype(x.dtype)
        patches = np.lib.stride_tricks.sliding_window_view(x, (k, k), (2, 3))
        patches = patches[:, :, : down * m : m, : across * m : m]
        return self._placed(b @ patches @ b.T)

    def determined(self, *known: Mask) -> Any:
        x = TensorType(known[0].shape)
        down, across = map(self.known_lines, self.tiles(x), self.padded(x))
        lines = down[:, None, :, None] & across[:, None, :]
        return self._placed(np.broadcast_to(lines, (*x.shape[:2], *lines.shape)))

    def _placed(self, patches: Any) -> Any:
        """Return a map of patches (N, C, down, across, k, k), with 0 beyond the last tile."""
        n, c, down, across, k, _ = patches.shape
        whole = np.zeros((n, c, self.rows * self.columns, k * k), patches.dtype)
        whole[:, :, : down * across] = patches.reshape(n, c, down * across, k * k)
        whole = whole.reshape(n, c, self.rows, self.columns, k * k).transpose(0, 1, 2, 4, 3)
        return whole.reshape(n, c, self.rows * k * k, self.columns)


@dataclass(frozen=True)
class WinogradProducts(TiledConv):
    """Multiply transformed patches by transformed weights, position by position.

    y[n, o, i, j] = sum over c of u[o, c, p] x[n, c, i, j] + b[o] s[p], where p = i % (k*k),
    u = G w G' and s[p] is the position's share of the bias (:func:`bias_shares`).

    x: (N, C, rows*k*k, columns), w: (O, C, 3, 3), b: (O,), optional -> (N, O, rows*k*k, columns).
    """

    @property
    def positions(self) -> int:
        return self.patch**2

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        require(w.shape[2:] == (TAPS, TAPS), "Winograd products need 3x3 weights")
        require(
            self == WinogradProducts(tile=self.tile), "WinogradProducts takes no attribute but tile"
        )
        require(self.tile in TILES, f"there is no transform for tiles of {self.tile}")
        require(
            x.rank == 4 and x.shape[2] % self.positions == 0,
            f"a map of patches needs rank 4 and a height divisible by {self.positions}, not {x}",
        )
        one = TensorType((*w.shape[:2], 1, 1))
        return Conv().infer(x, one, *bias)

    def reference(self, x: Any, w: Any, *bias: Any) -> Any:
        u = transformed(w, self.tile, np.result_type(x, w))
        k2 = self.positions
        n, c, height, width = x.shape
        split = x.reshape(n, c, height // k2, k2, width)
        y = np.einsum("ncrpj,ocp->norpj", split, u.reshape(*u.shape[:2], k2))
        if bias:
            shares = bias_shares(self.tile)
            y += bias[0].reshape(-1, 1, 1, 1) * np.outer(shares, shares).reshape(k2, 1)
        return y.reshape(n, len(w), height, width)

    def determined(self, *known: Mask) -> Any:
        x, w, *_ = known
        return x.all(1, keepdims=True).repeat(len(w), 1)


@dataclass(frozen=True)
class WinogradTiles(TiledConv):
    """All three Winograd steps in one; each pixel of a tile is stored in separate maps.

    y[n, (i*tile + j)*P + o, r, c] = conv(x)[n, o, r*tile + i, c*tile + j], where P is O in whole
    planes. Pixels and channels beyond the convolution's result are arbitrary, but finite.

    x: (N, C, H, W), w: (O, C, 3, 3), b: (O,), optional -> (N, tile*tile*P, rows, columns) of tiles.
    """

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        require(w.shape[2:] == (TAPS, TAPS), "Winograd tiles need 3x3 weights")
        require(self.tile in TILES, f"there is no transform for tiles of {self.tile}")
        return TensorType(apart_shape(super().infer(x, w, *bias).shape, (self.tile, self.tile)))

    def reference(self, x: Any, w: Any, *bias: Any) -> Any:
        return pixels_apart(super().reference(x, w, *bias), (self.tile, self.tile))

    def determined(self, *known: Mask) -> Any:
        shape = super().infer(*(TensorType(k.shape) for k in known)).shape
        return pixels_apart(np.ones(shape, bool), (self.tile, self.tile))


@dataclass(frozen=True)
class WinogradConv(TiledConv):
    """All three Winograd steps in one, as a compute shader can store all pixels of a tile.

    y = conv(x; w, b).

    x: (N, C, H, W), w: (O, C, 3, 3), b: (O,), optional -> (N, O, H', W').
    """

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        require(w.shape[2:] == (TAPS, TAPS), "Winograd tiles need 3x3 weights")
        require(self.tile in TILES, f"there is no transform for tiles of {self.tile}")
        return super().infer(x, w, *bias)


@dataclass(frozen=True)
class WinogradRow(WinogradConv):
    """All steps of F(tile, 3) along rows: a tile is ``tile`` results of a row.

    y = conv(x; w, b). Each row of the kernel is a kernel of its own, and their products are added
    up before the transform of the result: 3k products for a tile, k = tile + 2.

    x: (N, C, H, W), w: (O, C, 3, 3), b: (O,), optional -> (N, O, H', W').
    """

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:2], TAPS, self.patch)

    def packed(self, taps: np.ndarray) -> np.ndarray:
        """Return the weights (3*3, ...) with each row transformed, (3*k, ...)."""
        rows = taps.reshape(TAPS, TAPS, -1).astype(np.float64)
        transformed = of_kernel(self.tile) @ rows  # (3, k, ...)
        return transformed.reshape(-1, *taps.shape[1:]).astype(np.float32)


@dataclass(frozen=True)
class WinogradResult(Tiled, Op):
    """Transform each patch of products into a tile of the convolution's result: A' d A.

    x: (N, O, rows*k*k, columns) -> (N, O, height, width).
    """

    tile: int
    height: int
    width: int

    @property
    def across(self) -> int:
        """The number of tiles in a row."""
        return -(-self.width // self.tile)

    def infer(self, x: TensorType) -> TensorType:
        require(self.tile in TILES, f"there is no transform for tiles of {self.tile}")
        k2 = self.patch**2
        down = -(-self.height // self.tile)
        enough = x.rank == 4 and x.shape[2] // k2 * x.shape[3] >= down * self.across
        require(
            enough and x.shape[2] % k2 == 0,
            f"{x} does not hold {down}x{self.across} patches of {k2} positions",
        )
        return TensorType((*x.shape[:2], self.height, self.width))

    def reference(self, x: Any) -> Any:
        n, o, height, columns = x.shape
        m, k = self.tile, self.patch
        down = -(-self.height // m)
        patches = x.reshape(n, o, height // (k * k), k * k, columns).transpose(0, 1, 2, 4, 3)
        patches = patches.reshape(n, o, -1, k, k)[:, :, : down * self.across]
        a = of_result(m).astype(x.dtype)
        tiles = (a @ patches @ a.T).reshape(n, o, down, self.across, m, m)
        whole = tiles.transpose(0, 1, 2, 4, 3, 5).reshape(n, o, down * m, self.across * m)
        return whole[:, :, : self.height, : self.width]
