"""Resize and Upsample to the nearest element: which one is nearest to every position.

This is settled with the float32 arithmetic that ONNX Runtime uses; then an exact integer step
function that gives the same table is looked for. Where rounding errors show in it there is none.
Sources: ONNX Resize-10, -11, -19 and Upsample-7, -9; ONNX Runtime for what these leave open:
scales given as sizes, and rounding before operator set 11.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .....ir.indexing import step_function
from .....records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Step = tuple[int, int, int]

TIE = 1e-6  # how far from half-way counts as half-way
HALF = np.float32(0.5)
ONE = np.float32(1)


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        size: before.
        resized: after.
        scale: between them, as stated.
        exact: the number that the scale was rounded from.
        start: of the region of interest, in parts of the axis.
        end: of that region.
    """

    size: int
    resized: int
    scale: np.float32
    exact: Fraction
    start: float = 0.0
    end: float = 1.0

    @property
    def stays(self) -> bool:
        """Whether nothing is to be done."""
        return self.exact == 1 and (self.start, self.end) == (0, 1)

    @property
    def growth(self) -> float:
        """By about how much it grows."""
        return float(self.exact)

    def cropped(self, start: float, end: float) -> Axis:
        return replace(self, start=start, end=end)


def _half_pixel(i: NDArray[np.float32], a: Axis) -> Any:
    return (i + HALF) / a.scale - HALF


def _pytorch_half_pixel(i: NDArray[np.float32], a: Axis) -> Any:
    return _half_pixel(i, a) if a.resized > 1 else i * 0


def _half_pixel_symmetric(i: NDArray[np.float32], a: Axis) -> Any:
    adjustment = np.float32(a.resized) / (a.scale * np.float32(a.size))
    offset = np.float32(a.size) / np.float32(2) * (ONE - adjustment)
    centred = np.float64(offset) + (i.astype(np.float64) + 0.5) / np.float64(a.scale) - 0.5
    return centred.astype(np.float32)


def _asymmetric(i: NDArray[np.float32], a: Axis) -> Any:
    return i / a.scale


def _align_corners(i: NDArray[np.float32], a: Axis) -> Any:
    if a.resized == 1:
        return i * 0
    return i * np.float32(a.size - 1) / np.float32(a.resized - 1)


def _tf_half_pixel_for_nn(i: NDArray[np.float32], a: Axis) -> Any:
    return (i + HALF) / a.scale


def _round_prefer_floor(x: NDArray[np.float32]) -> Any:
    return np.ceil(x.astype(np.float64) - (0.5 + TIE))


def _round_prefer_ceil(x: NDArray[np.float32]) -> Any:
    return np.floor(x.astype(np.float64) + (0.5 + TIE))


COORDINATES: dict[str, Callable[[NDArray[np.float32], Axis], Any]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "asymmetric": _asymmetric,
    "align_corners": _align_corners,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
}
ROUNDINGS: dict[str, Callable[[NDArray[np.float32]], Any]] = {
    "round_prefer_floor": _round_prefer_floor,
    "round_prefer_ceil": _round_prefer_ceil,
    "floor": np.floor,
    "ceil": np.ceil,
}


def nearest_table(axis: Axis, coordinates: str, rounding: str) -> list[int]:
    """Return which element each position reads."""
    i = np.arange(axis.resized, dtype=np.float32)
    position = np.asarray(COORDINATES[coordinates](i, axis), np.float32)
    if rounding:
        index = ROUNDINGS[rounding](position)
    else:  # before operator set 11: truncation, but up where the axis shrinks
        index = np.ceil(position) if axis.scale < 1 else np.trunc(position)
    return [int(k) for k in np.clip(index, 0, axis.size - 1)]


def nearest_step(axis: Axis, table: list[int]) -> Step | None:
    """Return (p, q, r) of the step function that is a table, or None when there is none."""
    if table == list(range(axis.size)):
        return 1, 0, 1
    inverse = 1 / Fraction(float(axis.scale))
    slopes = [Fraction(0), Fraction(axis.size, axis.resized)]
    slopes += [inverse.limit_denominator(d) for d in (16, 256, 4096)]
    if axis.resized > 1:
        slopes.append(Fraction(axis.size - 1, axis.resized - 1))
    for slope in slopes:
        found = step_function(table, axis.size, slope.numerator, slope.denominator)
        if found and slope.numerator * axis.resized + abs(found[1]) < 1 << 30:
            return found
    return None
