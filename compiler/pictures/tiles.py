"""Cutting a picture into tiles that overlap, and joining the results.

Both axes are planned apart. A tile's result is kept where all that it depends on lies in the tile,
or beyond the picture's own border: there it is the result on the whole picture, so nothing needs to
be blended. If an overlap is given instead, neighbours are blended linearly over it.
"""

from __future__ import annotations

from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ...runtime_glue.python.schedule import Reach

    Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Span:
    """One tile along an axis.

    Attributes:
        origin: its first element in the picture.
        first: the first element of its result that counts, in the whole result.
        kept: where this lies in the tile's own result.
        weights: of these elements; all 1 where tiles are not blended.
    """

    origin: int
    first: int
    kept: slice
    weights: Floats = field(repr=False)

    @property
    def last(self) -> int:
        """The last element that counts, plus 1."""
        return self.first + len(self.weights)


@dataclass(frozen=True)
class AxisPlan:
    """The tiles along one axis.

    Attributes:
        size: of the picture.
        tile: of each tile.
        result: of the whole result.
        spans: in order; each begins before or where the last one ended.
        extended: by how many elements the picture is continued with its last one.
    """

    size: int
    tile: int
    result: int
    spans: tuple[Span, ...]
    extended: int


def single(size: int, tile: int, result: int, scale: tuple[int, int] | None = None) -> AxisPlan:
    """Return the plan of one tile that holds all of the picture.

    ``scale`` is that of the network's reach; by default it follows from the sizes.

    Raises:
        ShadergenError: SG0605 for a picture of which the network leaves nothing.
    """
    extended = tile - size
    p, q = scale or (tile, result)
    cut = extended * q // p
    if cut >= result:
        least = next(n for n in range(size, tile + 1) if (tile - n) * q // p < result)
        raise ShadergenError(
            "SG0605",
            f"a picture with a side of {size} pixels is too small for the network",
            why=f"a side of {tile} pixels gives {result} pixels, a side of {size} gives none",
            supported=f"a side of at least {least} pixels",
        )
    kept = slice(0, result - cut)
    ones = np.ones(result - cut, np.float32)
    return AxisPlan(size, tile, result - cut, (Span(0, 0, kept, ones),), extended)


def exact(size: int, tile: int, result: int, reach: Reach) -> AxisPlan | None:
    """Return tiles whose joined results are the result on the whole picture.

    Args:
        size: of the picture, larger than the tile.
        tile: what the build takes.
        result: what it gives.
        reach: of the network.

    Returns:
        The plan, or None if a tile has too few elements that depend on the tile alone.
    """
    p, q = reach.scale
    inner = range(result)
    starts = [i for i in inner if i * p // q >= reach.before]
    ends = [i for i in inner if i * p // q + reach.after < tile]
    if not starts or not ends:
        return None
    first, last = starts[0], ends[-1] + 1
    step = ((last - first) * p // q) // reach.period * reach.period
    if step <= 0:
        return None
    extended = -(size - tile) % reach.period
    end = size + extended - tile
    origins = [*range(0, end, step), end]
    shifts = [origin * q // p for origin in origins]
    # Neighbours share elements; each gets one half of them.
    cuts = [(b + first + a + last) // 2 for a, b in pairwise(shifts)]
    total = shifts[-1] + result - extended * q // p
    bounds = [0, *cuts, total]
    spans = []
    for k, (origin, shift) in enumerate(zip(origins, shifts, strict=True)):
        kept = slice(bounds[k] - shift, bounds[k + 1] - shift)
        ones = np.ones(kept.stop - kept.start, np.float32)
        spans.append(Span(origin, bounds[k], kept, ones))
    return AxisPlan(size, tile, total, tuple(spans), extended)


def blended(
    size: int, tile: int, result: int, overlap: int, period: int, nearest: bool = False
) -> AxisPlan:
    """Return tiles that overlap by a number of elements, over which they are blended.

    With ``nearest``, each element is the nearer tile's: for numbers that cannot be blended.

    Raises:
        ShadergenError: SG0301 when the overlap leaves no step.
    """
    step = (tile - overlap) // period * period
    if overlap < 0 or step <= 0:
        raise ShadergenError(
            "SG0301",
            f"--overlap {overlap} does not fit tiles of {tile} pixels",
            supported=f"0 to {tile - period}",
        )
    extended = -(size - tile) % period
    end = size + extended - tile
    origins = [*range(0, end, step), end]
    shifts = [origin * result // tile for origin in origins]
    total = shifts[-1] + result - extended * result // tile
    weights = [np.ones(result, np.float32) for _ in origins]
    for k in range(len(origins) - 1):
        shared = shifts[k] + result - shifts[k + 1]
        rising = ((np.arange(shared) + 0.5) / max(shared, 1)).astype(np.float32)
        if nearest:
            rising = np.round(rising)
        weights[k][result - shared :] *= 1 - rising
        weights[k + 1][:shared] *= rising
    # Three tiles may share elements: weights add up to 1 all the same.
    sums = np.zeros(shifts[-1] + result, np.float32)
    for shift, w in zip(shifts, weights, strict=True):
        sums[shift : shift + result] += w
    spans = []
    for origin, shift, w in zip(origins, shifts, weights, strict=True):
        count = min(result, total - shift)
        share = (w / sums[shift : shift + result]).astype(np.float32)
        spans.append(Span(origin, shift, slice(0, count), share[:count]))
    return AxisPlan(size, tile, total, tuple(spans), extended)


@dataclass(frozen=True)
class Plan:
    """The tiles of a picture: rows and columns of them."""

    rows: AxisPlan
    columns: AxisPlan

    @property
    def count(self) -> int:
        return len(self.rows.spans) * len(self.columns.spans)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the result."""
        return self.rows.result, self.columns.result

    def run(
        self,
        read: Callable[[slice, slice], NDArray[Any]],
        network: Callable[[NDArray[Any]], NDArray[Any]],
        done: Callable[[int], None] = lambda tiles: None,
    ) -> Iterator[tuple[int, Floats]]:
        """Yield the joined result from the top, some rows at a time, with the first one's number.

        Args:
            read: gives the pixels at rows and columns of the picture, (h, w, C).
            network: gives the result of a tile, (h, w, C).
            done: told how many tiles are done.
        """
        kept: Floats | None = None  # rows that the next tiles add to
        finished = count = 0
        spans = self.rows.spans
        for k, row in enumerate(spans):
            band: Floats | None = None
            for column in self.columns.spans:
                tile = network(self._tile(read, row.origin, column.origin))
                part = tile[row.kept, column.kept] * (
                    row.weights[:, np.newaxis, np.newaxis] * column.weights[:, np.newaxis]
                )
                if band is None:
                    shape = (row.last - row.first, self.columns.result, part.shape[2])
                    band = np.zeros(shape, np.float32)
                band[:, column.first : column.last] += part
                count += 1
                done(count)
            assert band is not None
            if kept is not None and len(kept):
                band[: len(kept)] += kept[: len(band)]
            end = spans[k + 1].first if k + 1 < len(spans) else self.rows.result
            yield finished, band[: end - finished]
            kept = band[end - finished :]
            finished = end

    def _tile(
        self, read: Callable[[slice, slice], NDArray[Any]], top: int, left: int
    ) -> NDArray[Any]:
        """Return the pixels of a tile; beyond the picture the last ones are repeated."""
        bottom, right = top + self.rows.tile, left + self.columns.tile
        height, width = self.rows.size, self.columns.size
        pixels = read(slice(top, min(bottom, height)), slice(left, min(right, width)))
        missing = max(0, bottom - height), max(0, right - width)
        if any(missing):
            pixels = np.pad(pixels, ((0, missing[0]), (0, missing[1]), (0, 0)), mode="edge")
        return pixels
