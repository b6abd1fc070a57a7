"""Sampling a map at computed positions."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ...records import dataclass
from ..algebra import fold
from ..expr import Expr, Num, Var, literal, substitute
from ..formula_parser import parse
from ..indexing import add, border, clamp, coordinates, inside
from ..nest_builder import NestBuilder
from ..types import TensorType, shape_text
from .base import Op, require

SampleMode = Literal["nearest", "linear", "cubic"]
SamplePadding = Literal["zeros", "border", "reflection"]
TAPS: dict[SampleMode, int] = {"nearest": 1, "linear": 2, "cubic": 4}
FIRST_TAP: dict[SampleMode, int] = {"nearest": 0, "linear": 0, "cubic": -1}  # from the one below
LARGEST_GRID_RANK = 3
# Of the four elements around a position, by increasing row and column.
CORNERS = ("value_top_left", "value_top_right", "value_bottom_left", "value_bottom_right")

# The weight of tap k where the position lies f beyond the element below; Keys's kernel, a = -0.75.
WEIGHTS: dict[SampleMode, Expr] = {
    "nearest": Num(1.0),
    "linear": parse("abs(1 - k - f)"),
    "cubic": substitute(
        parse("where(d < 1, (1.25 * d - 2.25) * d * d + 1, ((3.75 - 0.75 * d) * d - 6) * d + 3)"),
        {"d": parse("abs(f + 1 - k)")},
    ),
}

if TYPE_CHECKING:
    from ..nest import Nest


@dataclass(frozen=True)
class GridSample(Op):
    """Sample a map at the positions in a grid.

    The last axis of ``grid`` holds a position: first the coordinate along the last axis of the map.
    Coordinates -1 and 1 are the centres of the first and last element with ``align_corners``,
    otherwise the borders of the map. Modes use 1, 2 or 4 neighbours along each axis. A neighbour
    outside the map is 0 ("zeros"), the nearest element ("border"), or the mirrored element
    ("reflection", at the centres of the outermost elements with ``align_corners``, otherwise at the
    borders).

    x: (N, C, S1, ..., Sr), grid: (N, O1, ..., Or, r) -> y: (N, C, O1, ..., Or), r from 1 to 3.
    Source: ONNX GridSample-22; PyTorch and ONNX Runtime for cubic positions outside the map.
    """

    mode: SampleMode = "linear"
    padding: SamplePadding = "zeros"
    align_corners: bool = False

    @property
    def discontinuous_in(self) -> slice:
        return slice(1, 2) if self.mode == "nearest" else slice(0)

    def infer(self, x: TensorType, grid: TensorType) -> TensorType:
        rank = x.rank - 2
        require(
            1 <= rank <= LARGEST_GRID_RANK,
            f"sampling at a grid is not supported for inputs of rank {x.rank}",
            supported=f"rank 3 to {LARGEST_GRID_RANK + 2}",
        )
        require(
            grid.rank == x.rank and grid.shape[0] == x.shape[0] and grid.shape[-1] == rank,
            f"an input of rank {x.rank} needs a grid of shape {x.shape[0]} x ... x {rank}",
        )
        require(self.mode in TAPS, f"unknown mode '{self.mode}'")
        require(self.padding in get_args(SamplePadding), f"unknown padding '{self.padding}'")
        return x.of((*x.shape[:2], *grid.shape[1:-1]))

    def _limits(self, size: int) -> tuple[float, float]:
        return (0.0, size - 1.0) if self.align_corners else (-0.5, size - 0.5)

    def reference(self, x: Any, grid: Any) -> Any:
        rank = x.ndim - 2
        n = np.arange(x.shape[0]).reshape(-1, *(1,) * rank)
        taps: list[list[tuple[Any, Any]]] = []  # for each axis, of each tap: element and weight
        for axis in range(rank):
            size = x.shape[2 + axis]
            p = self._positions(grid[..., rank - 1 - axis], size)
            below = np.floor(p)
            f = p - below
            taps.append([])
            for k in range(TAPS[self.mode]):
                i = below.astype(int) + FIRST_TAP[self.mode] + k
                if self.mode == "cubic":
                    d = np.abs(f + 1 - k)
                    near, far = 1.25 * d**3 - 2.25 * d**2 + 1, -0.75 * (d**3 - 5 * d**2 + 8 * d - 4)
                    weight = np.where(d <= 1, near, far)
                else:
                    weight = np.ones_like(f) if self.mode == "nearest" else np.abs(1 - k - f)
                if self.padding == "zeros":
                    weight = weight * ((i >= 0) & (i < size))
                elif self.padding == "reflection":
                    i = np.floor(_mirrored(i, *self._limits(size))).astype(int)
                taps[-1].append((np.clip(i, 0, size - 1), weight))
        channels = np.moveaxis(x, 1, -1)
        y: Any = 0
        for corner in product(*taps):
            weight = np.prod([w for _, w in corner], 0)
            at = (n, *(i for i, _ in corner))
            y = y + channels[at] * weight[..., np.newaxis]
        return np.moveaxis(y, -1, 1).astype(x.dtype)

    def _positions(self, g: Any, size: int) -> Any:
        p = (g + 1) / 2 * (size - 1) if self.align_corners else ((g + 1) * size - 1) / 2
        if self.mode == "nearest":
            p = np.rint(p)
        if self.padding == "reflection":
            return _mirrored(p, *self._limits(size))
        return np.clip(p, -4, size + 4)

    def nest(self, x: TensorType, grid: TensorType) -> Nest:
        """Bind for each axis the element below a position and the rest; loop over the taps."""
        batch, channel, *axes = coordinates(x.rank)
        nest = NestBuilder()
        index: list[Expr] = [batch, channel]
        valid: list[Expr] = []
        weights = ""
        taps = TAPS[self.mode]
        sizes = x.shape[2:]
        for k, (o, size) in enumerate(zip(axes, sizes, strict=True)):
            at: tuple[Expr, ...] = (batch, *axes, Num(float(len(axes) - 1 - k)))
            grid_place = nest.load(f"grid_{o}", 1, at)
            nest.bind(f"place_{o}", self._position(grid_place, size))
            nest.bind(f"below_{o}", f"floor(place_{o})")
        counters = nest.loops([f"tap_{o}" for o in axes], (taps,) * len(axes))
        for o, size, tap in zip(axes, sizes, counters, strict=True):
            i = add(add(Var(f"below_{o}"), FIRST_TAP[self.mode]), tap)
            if taps > 1:
                beyond = parse(f"place_{o} - below_{o}")
                nest.bind(f"weight_{o}", substitute(WEIGHTS[self.mode], {"k": tap, "f": beyond}))
                weights += f" * weight_{o}"
            if self.padding == "zeros":
                valid += inside(i, size, 1, 1)
                index.append(i)
            elif self.padding == "border":
                index.append(clamp(i, 0, size - 1))
            else:
                mode: Any = "reflect" if self.align_corners else "symmetric"
                index.append(border(mode, i, size, 2, 2))
        nest.load("value", 0, index, valid)
        nest.add_up("total", f"value{weights}")
        return nest.give("total")

    def _position(self, g: Expr, size: int) -> Expr:
        """Return the position, in elements, of a number in the grid.

        Positions far outside the map are clamped to a range that integers hold, where the result
        is the same. Positions that are mirrored are reduced to the map.
        """
        span = size - 1 if self.align_corners else size
        p = "g * (span / 2) + (size - 1) / 2"
        if self.mode == "nearest":
            p = f"round_even({p})"
        if self.padding != "reflection":
            text = "clamp(p, -4, size + 4)"
        elif span > 0:
            text = "clamp(low + span - abs(mod(p - low, 2 * span) - span), low, low + span)"
        else:
            text = "low"
        low = Num(0.0 if self.align_corners else -0.5)
        values = {"g": g, "low": low, "span": literal(span), "size": literal(size)}
        return fold(substitute(substitute(parse(text), {"p": parse(p)}), values))


def _mirrored(p: Any, low: float, high: float) -> Any:
    """Reflect positions at ``low`` and ``high`` until they are between both."""
    if high == low:
        return p * 0 + low
    away = np.mod(p - low, 2 * (high - low))
    return low + np.minimum(away, 2 * (high - low) - away)


@dataclass(frozen=True)
class AffineGrid(Op):
    """Compute the grid of an affine map, for ``GridSample``.

    y[n, i1, ..., ir, j] = sum over k < r of theta[n, j, k] * p_k + theta[n, j, r], where p_0 is the
    position along the last axis, p_1 along the axis before, and so on. Positions -1 and 1 are the
    first and the last element with ``align_corners``, otherwise the borders.

    theta: (N, r, r + 1) -> y: (N, *sizes, r).
    Source: ONNX AffineGrid-20; an axis of one element lies at 0, as in PyTorch.
    """

    sizes: tuple[int, ...]
    align_corners: bool = False

    def infer(self, theta: TensorType) -> TensorType:
        r = len(self.sizes)
        require(r in (2, 3), f"an affine grid has 2 or 3 axes, not {r}")
        require(
            theta.rank == 3 and theta.shape[1:] == (r, r + 1),
            f"an affine grid of {r} axes needs matrices of shape Nx{r}x{r + 1}, not "
            f"{shape_text(theta.shape)}",
        )
        require(min(self.sizes) >= 1, "the grid has no elements")
        return theta.of((theta.shape[0], *self.sizes, r))

    def _line(self, size: int) -> tuple[float, float]:
        """Return slope and offset of the positions along an axis."""
        if self.align_corners:
            return (2 / (size - 1), -1.0) if size > 1 else (0.0, 0.0)
        return 2 / size, 1 / size - 1

    def reference(self, theta: Any) -> Any:
        lines = [np.arange(s) * a + b for s in self.sizes for a, b in [self._line(s)]]
        axes = np.meshgrid(*lines, indexing="ij")
        base = np.stack([*reversed(axes), np.ones(self.sizes)], -1)
        return np.einsum("...k,njk->n...j", base, theta).astype(theta.dtype)

    def nest(self, theta: TensorType) -> Nest:
        r = len(self.sizes)
        entry, *axes, number = coordinates(r + 2)
        nest = NestBuilder()
        terms = []
        for k, o in enumerate(reversed(axes)):
            slope, offset = self._line(self.sizes[r - 1 - k])
            nest.load(f"slope_{o}", 0, (entry, number, Num(float(k))))
            terms.append(f"slope_{o} * ({o} * {slope!r} + {offset!r})")
        nest.load("offset", 0, (entry, number, Num(float(r))))
        return nest.give(" + ".join([*terms, "offset"]))
