"""The steps of Winograd's minimal filtering where draws do them.

An invocation of a draw writes one texel of each render target, so the values of a tile that it
computes go to different layers. Within each layer, all planes of the map lie side by side (a
*strip*); in each plane, the tiles lie as in the map. One or two draws thus compute a whole step. An
invocation of the products computes two neighbouring tiles.

``winograd`` has the transforms and their names. P is the number of planes of C channels, P' of O
channels; ``columns`` is the number of tiles in a row of one plane, rounded up to an even number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.ops.base import Op, require
from ...ir.types import LANES, TensorType
from ...records import dataclass
from .winograd import (
    TAPS,
    TILES,
    Cut,
    Tiled,
    TiledConv,
    WinogradPatches,
    bias_shares,
    of_result,
    sums_of_known,
    transformed,
)

if TYPE_CHECKING:
    from ...ir.indexing import PadMode
    from ...ir.ops.base import Mask
    from ...ir.ops.window import Sizes

PAIR = 2  # tiles in a row that an invocation multiplies


def in_strip(values: Any, columns: int) -> Any:
    """Return values of tiles (N, C, rows, tiles across, V) as a strip (N, V*4, rows, P*columns)."""
    n, c, rows, across, count = values.shape
    padded = np.pad(
        values, ((0, 0), (0, -c % LANES), (0, 0), (0, columns - across), (0, 0))
    ).reshape(n, -1, LANES, rows, columns, count)
    return padded.transpose(0, 5, 2, 3, 1, 4).reshape(n, count * LANES, rows, -1)


def out_of_strip(strip: Any, columns: int) -> Any:
    """Return the values (N, P*4, rows, columns, V) of a strip (N, V*4, rows, P*columns)."""
    n, channels, rows, width = strip.shape
    apart = strip.reshape(n, channels // LANES, LANES, rows, width // columns, columns)
    return apart.transpose(0, 4, 2, 3, 5, 1).reshape(n, -1, rows, columns, channels // LANES)


@dataclass(frozen=True)
class StripPatches(Cut, Op):
    """Cut a padded map into patches and transform each, as ``WinogradPatches`` does.

    Position (i, j) of the patch of tile (r, c) is y[n, j*4 + lane, r*k + i, plane*columns + c].
    Columns beyond the last tile and lanes beyond the last channel are arbitrary, but finite.

    x: (N, C, H, W) -> (N, k*4, rows*k, P*columns).
    """

    tile: int
    columns: int
    pads: Sizes = (0, 0, 0, 0)
    pad_mode: PadMode = "constant"
    pad_value: float = 0.0
    enlarged: Sizes = (1, 1)

    def _cut(self, x: TensorType) -> tuple[int, WinogradPatches]:
        """Return how many tiles there are down the map, and what cuts the same patches."""
        padding = (self.pads, self.pad_mode, self.pad_value, self.enlarged)
        down, across = WinogradPatches(self.tile, 1, 1, *padding).tiles(x)
        return down, WinogradPatches(self.tile, down, across, *padding)

    def infer(self, x: TensorType) -> TensorType:
        down, whole = self._cut(x)
        across = whole.infer(x).shape[3]
        require(
            self.columns >= across and self.columns % PAIR == 0,
            f"{self.columns} columns cannot hold {across} tiles in pairs",
        )
        k, (n, c, _, _) = self.patch, x.shape
        return TensorType((n, k * LANES, down * k, -(-c // LANES) * self.columns))

    def reference(self, x: Any) -> Any:
        down, whole = self._cut(TensorType(x.shape))
        return self._placed(whole.reference(x), down, whole.columns)

    def determined(self, *known: Mask) -> Any:
        down, whole = self._cut(TensorType(known[0].shape))
        return self._placed(whole.determined(*known), down, whole.columns)

    def _placed(self, patches: Any, down: int, across: int) -> Any:
        """Return a map of patches, as WinogradPatches gives it, as a strip."""
        k = self.patch
        n, c = patches.shape[:2]
        split = patches.reshape(n, c, down, k, k, across)
        values = split.transpose(0, 1, 2, 3, 5, 4).reshape(n, c, down * k, across, k)
        return in_strip(values, self.columns)


@dataclass(frozen=True)
class StripProducts(TiledConv):
    """Multiply transformed patches by transformed weights, position by position.

    An invocation computes ``planes`` planes q of a pair of tiles h. Position (i, j) of tile (r, c)
    is y[n, (h*planes + q)*4 + lane, r*k + i, (g*k + j)*columns/2 + c div 2] where h = c mod 2, and
    g*planes + q is the plane.

    x: (N, k*4, rows*k, P*columns), w: (O, C, 3, 3), b: (O,), optional
    -> (N, 2*planes*4, rows*k, P'/planes*k*columns/2).
    """

    columns: int = PAIR
    planes: int = 1

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        require(w.shape[2:] == (TAPS, TAPS), "Winograd products need 3x3 weights")
        plain = StripProducts(tile=self.tile, columns=self.columns, planes=self.planes)
        require(self == plain, "products of strips have no padding, strides or groups")
        require(self.tile in TILES, f"there is no transform for tiles of {self.tile}")
        o, c = w.shape[:2]
        k, planes = self.patch, -(-o // LANES)
        require(
            x.rank == 4
            and x.shape[1] == k * LANES
            and x.shape[2] % k == 0
            and x.shape[3] == -(-c // LANES) * self.columns,
            f"{x} does not hold patches of {c} channels, {self.columns} in a row",
        )
        require(self.columns % PAIR == 0, f"{self.columns} columns do not divide into pairs")
        groups = f"groups of {self.planes}"
        require(planes % self.planes == 0, f"{planes} planes do not divide into {groups}")
        require(not bias or bias[0].shape == (o,), f"a bias of {bias} for {o} channels")
        width = planes // self.planes * k * self.columns // PAIR
        return TensorType((x.shape[0], PAIR * self.planes * LANES, x.shape[2], width))

    def reference(self, x: Any, w: Any, *bias: Any) -> Any:
        u = transformed(w, self.tile, np.result_type(x, w))
        y = np.einsum("ncriqj,ocij->noriqj", self._split(x, w), u)
        if bias:
            shares = np.array(bias_shares(self.tile))
            y += bias[0].reshape(-1, 1, 1, 1, 1) * shares.reshape(-1, 1, 1) * shares
        return self._placed(y)

    def determined(self, *known: Mask) -> Any:
        x, w, *_ = known
        return self._placed(self._split(x, w).all(1, keepdims=True).repeat(len(w), 1))

    def _split(self, x: Any, w: Any) -> Any:
        """Return the patches in a strip, (N, C, tile rows, k, columns, k)."""
        k, c = self.patch, w.shape[1]
        strip = out_of_strip(x, self.columns)[:, :c]
        return strip.reshape(len(x), c, -1, k, self.columns, k)

    def _placed(self, y: Any) -> Any:
        """Return products (N, O, tile rows, k, columns, k) in their places, 0 beyond O."""
        n, o, tile_rows, k, _, _ = y.shape
        groups, rows = -(-o // LANES) // self.planes, tile_rows * k
        y = np.pad(y, ((0, 0), (0, -o % LANES), *[(0, 0)] * 4))
        # n, g, q, lane, row, pair, h, j -> n, h, q, lane, row, g, j, pair
        apart = y.reshape(n, groups, self.planes, LANES, rows, self.columns // PAIR, PAIR, k)
        apart = apart.transpose(0, 6, 2, 3, 4, 1, 7, 5)
        return apart.reshape(n, PAIR * self.planes * LANES, rows, -1)


@dataclass(frozen=True)
class StripRows(Tiled, Op):
    """Transform each row of a patch of products: d A.

    Pixel b of row i of tile (r, c) is y[n, b*4 + lane, r*k + i, plane*columns + c].

    x: what ``StripProducts`` gives, of ``channels`` channels
    -> (N, tile*4, rows*k, P'*columns).
    """

    tile: int
    columns: int
    channels: int

    @property
    def planes(self) -> int:
        return -(-self.channels // LANES)

    def infer(self, x: TensorType) -> TensorType:
        k, planes = self.patch, self.planes
        require(self.tile in TILES, f"there is no transform for tiles of {self.tile}")
        require(x.rank == 4 and x.shape[1] % (PAIR * LANES) == 0, f"{x} does not hold pairs")
        each = x.shape[1] // (PAIR * LANES)
        require(
            planes % each == x.shape[2] % k == 0
            and x.shape[3] == planes // each * k * self.columns // PAIR,
            f"{x} does not hold products of {self.channels} channels, {self.columns} in a row",
        )
        return TensorType((x.shape[0], self.tile * LANES, x.shape[2], planes * self.columns))

    def reference(self, x: Any) -> Any:
        values = self._split(x) @ of_result(self.tile).astype(x.dtype).T
        return in_strip(values, self.columns)

    def determined(self, *known: Mask) -> Any:
        return in_strip(sums_of_known(self._split(*known), of_result(self.tile)), self.columns)

    def _split(self, x: Any) -> Any:
        """Return the rows of products, (N, P'*4, rows*k, columns, k)."""
        k = self.patch
        n, channels, rows, _ = x.shape
        each = channels // (PAIR * LANES)
        apart = x.reshape(n, PAIR, each, LANES, rows, -1, k, self.columns // PAIR)
        apart = apart.transpose(0, 5, 2, 3, 4, 7, 1, 6)
        return apart.reshape(n, self.planes * LANES, rows, self.columns, k)


@dataclass(frozen=True)
class StripColumns(Tiled, Op):
    """Transform each column of what ``StripRows`` gives, A' d, and put the pixels in their places.

    x: (N, tile*4, rows*k, P'*columns) -> (N, O, height, width).
    """

    tile: int
    columns: int
    channels: int
    height: int
    width: int

    def infer(self, x: TensorType) -> TensorType:
        m, k = self.tile, self.patch
        planes = -(-self.channels // LANES)
        require(m in TILES, f"there is no transform for tiles of {m}")
        require(
            x.rank == 4
            and x.shape[1] == m * LANES
            and x.shape[2] == -(-self.height // m) * k
            and x.shape[3] == planes * self.columns
            and self.columns * m >= self.width,
            f"{x} does not hold {self.height}x{self.width} pixels of {self.channels} channels",
        )
        return TensorType((x.shape[0], self.channels, self.height, self.width))

    def reference(self, x: Any) -> Any:
        m, k = self.tile, self.patch
        values = out_of_strip(x, self.columns)[:, : self.channels]  # n, o, r*k + i, c, b
        n, o, rows, columns, _ = values.shape
        split = values.reshape(n, o, rows // k, k, columns, m)
        pixels = np.einsum("ai,noricb->noracb", of_result(m).astype(x.dtype), split)
        whole = pixels.reshape(n, o, rows // k * m, columns * m)
        return whole[:, :, : self.height, : self.width]
