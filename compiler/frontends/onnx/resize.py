"""Resize and Upsample to the nearest element.

Which element is nearest is settled here, for every position, with the float32 arithmetic that
ONNX Runtime uses; then the exact integer step function that gives the same table is found. As
there, an axis whose scale is 1 stays as it is, and so do all when no size changes.
Sources: ONNX Resize-10, -11, -19 and Upsample-7, -9; ONNX Runtime for what these leave open:
scales given as sizes, and rounding before operator set 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ShadergenError
from ....ir.indexing import step_function
from ....ir.ops import ResizeNearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ....ir.graph import Value
    from .node import OnnxNode

Step = tuple[int, int, int]

LARGEST_SIDE = 1 << 16
LONGEST_SEARCH = 1 << 12
TIE = 1e-6  # how far from half-way counts as half-way
HALF = np.float32(0.5)
ONE = np.float32(1)


@dataclass(frozen=True)
class _Axis:
    """One axis: its sizes before and after, and the scale between them as stated."""

    size: int
    resized: int
    scale: np.float32


def _half_pixel(i: NDArray[np.float32], a: _Axis) -> Any:
    return (i + HALF) / a.scale - HALF


def _pytorch_half_pixel(i: NDArray[np.float32], a: _Axis) -> Any:
    return _half_pixel(i, a) if a.resized > 1 else i * 0


def _half_pixel_symmetric(i: NDArray[np.float32], a: _Axis) -> Any:
    adjustment = np.float32(a.resized) / (a.scale * np.float32(a.size))
    offset = np.float32(a.size) / np.float32(2) * (ONE - adjustment)
    centred = np.float64(offset) + (i.astype(np.float64) + 0.5) / np.float64(a.scale) - 0.5
    return centred.astype(np.float32)


def _asymmetric(i: NDArray[np.float32], a: _Axis) -> Any:
    return i / a.scale


def _align_corners(i: NDArray[np.float32], a: _Axis) -> Any:
    if a.resized == 1:
        return i * 0
    return i * np.float32(a.size - 1) / np.float32(a.resized - 1)


def _tf_half_pixel_for_nn(i: NDArray[np.float32], a: _Axis) -> Any:
    return (i + HALF) / a.scale


def _round_prefer_floor(x: NDArray[np.float32]) -> Any:
    return np.ceil(x.astype(np.float64) - (0.5 + TIE))


def _round_prefer_ceil(x: NDArray[np.float32]) -> Any:
    return np.floor(x.astype(np.float64) + (0.5 + TIE))


COORDINATES: dict[str, Callable[[NDArray[np.float32], _Axis], Any]] = {
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


def resize(node: OnnxNode) -> Value:
    """Resize and Upsample, mode nearest."""
    x = node.operand(0)
    node.choice("mode", ("nearest",))
    node.choice("antialias", (0,))
    node.ignore("cubic_coeff_a", "exclude_outside", "extrapolation_value")
    coordinates, rounding = "asymmetric", ""
    if node.version >= 11:
        coordinates = node.choice("coordinate_transformation_mode", tuple(COORDINATES))
        rounding = node.choice("nearest_mode", tuple(ROUNDINGS))
    axes = _axes(node, x.shape)
    if all(axis.resized == axis.size for axis in axes):  # then ONNX Runtime ignores the mode
        return x
    steps = tuple(_step(axis, coordinates, rounding) for axis in axes)
    sizes = tuple(axis.resized for axis in axes)
    return node.apply(ResizeNearest(sizes, steps), x)


def _axes(node: OnnxNode, shape: tuple[int, ...]) -> list[_Axis]:
    """Return the sizes and scales of every axis, however the node states them."""
    rank = len(shape)
    chosen = tuple(range(rank))
    if node.has("axes"):
        chosen = node.axes(node.integers("axes"), rank)
    scales_at, sizes_at = (2, 3) if node.version >= 11 else (1, 9)
    if node.version < 9:
        scales = np.array(node.numbers("scales"), np.float32)
    elif node.given(scales_at):
        scales = node.known(scales_at, "scales").astype(np.float32).reshape(-1)
    else:
        scales = np.zeros(0, np.float32)
    policy = node.choice("keep_aspect_ratio_policy", ("stretch", "not_larger", "not_smaller"))
    result = [_Axis(size, size, ONE) for size in shape]
    if node.given(sizes_at) and not scales.size:
        sizes = node.known_integers(sizes_at, "sizes")
        _check_count(node, len(sizes), chosen)
        scales = np.array(
            [np.float32(s) / np.float32(shape[a]) for a, s in zip(chosen, sizes, strict=True)],
            np.float32,
        )
        if policy != "stretch" and scales.size:
            scales[:] = scales.min() if policy == "not_larger" else scales.max()
            sizes = tuple(
                _nearest(s * np.float32(shape[a])) for a, s in zip(chosen, scales, strict=True)
            )
    else:
        _check_count(node, scales.size, chosen)
        if not ((scales > 0) & (scales < LARGEST_SIDE)).all():
            raise ShadergenError("SG0105", f"scales of {scales.tolist()}")
        sizes = tuple(int(s * np.float32(shape[a])) for a, s in zip(chosen, scales, strict=True))
    for axis, size, scale in zip(chosen, sizes, scales, strict=True):
        if not 1 <= size <= LARGEST_SIDE:
            raise ShadergenError(
                "SG0401",
                f"{node.op} to a size of {size}",
                supported=f"1 to {LARGEST_SIDE}",
            )
        result[axis] = _Axis(shape[axis], size, scale)
    return result


def _nearest(x: np.float32) -> int:
    return int(np.floor(np.float64(x) + 0.5))


def _check_count(node: OnnxNode, count: int, axes: tuple[int, ...]) -> None:
    if count != len(axes):
        raise ShadergenError(
            "SG0105", f"{node.op} with {count} sizes or scales for {len(axes)} axes"
        )


def _table(axis: _Axis, coordinates: str, rounding: str) -> list[int]:
    """Return which element each position reads."""
    i = np.arange(axis.resized, dtype=np.float32)
    position = np.asarray(COORDINATES[coordinates](i, axis), np.float32)
    if rounding:
        index = ROUNDINGS[rounding](position)
    else:  # before operator set 11: truncation, but up where the axis shrinks
        index = np.ceil(position) if axis.scale < 1 else np.trunc(position)
    return [int(k) for k in np.clip(index, 0, axis.size - 1)]


def _step(axis: _Axis, coordinates: str, rounding: str) -> Step:
    """Return (p, q, r) of the step function that is the axis's table.

    Raises:
        ShadergenError: SG0202 when there is none, because rounding errors show in the table.
    """
    table = _table(axis, coordinates, rounding)
    if axis.scale == ONE or table == list(range(axis.size)):
        return 1, 0, 1
    inverse = 1 / Fraction(float(axis.scale))
    slopes = [Fraction(0), Fraction(axis.size, axis.resized)]
    slopes += [inverse.limit_denominator(d) for d in (16, 256, 4096)]
    if axis.resized > 1:
        slopes.append(Fraction(axis.size - 1, axis.resized - 1))
    for slope in (*slopes, _slope(table, axis.size)):
        if slope is None:
            continue
        found = step_function(table, axis.size, slope.numerator, slope.denominator)
        if found and slope.numerator * axis.resized + abs(found[1]) < 1 << 30:
            return found
    raise ShadergenError(
        "SG0202",
        f"resizing an axis from {axis.size} to {axis.resized} elements by {axis.scale!s} in mode "
        f"{coordinates} is not implemented",
        why="in float32 the elements it picks follow no regular step",
        help="state the sizes instead of the scales, or a scale that is a simple fraction",
    )


def _slope(table: list[int], size: int) -> Fraction | None:
    """Return the simplest slope of a line that passes through every step of the table.

    The line a*i + b lies in [t, t + 1) at every position, except that at the ends of the axis
    it may lie lower or higher. So any two positions bound a, and if the bounds leave room, some b
    fits as well.
    """
    t = np.array(table)
    first = int(np.argmax(t > 0))  # from here on the line is at least t
    last = len(t) - 1 - int(np.argmax(t[::-1] < size - 1))  # up to here it is less than t + 1
    low, high = Fraction(0), Fraction(size)
    for d in range(1, min(len(t), LONGEST_SEARCH)):
        falling = t[first + d : last + 1] - t[first : max(last + 1 - d, first)]
        if falling.size:
            high = min(high, Fraction(int(falling.min()) + 1, d))
        start = max(first, d)
        rising = t[start : last + d + 1] - t[start - d : last + 1][: len(t) - start]
        if rising.size:
            low = max(low, Fraction(int(rising.max()) - 1, d))
    return _simplest(low, high) if low < high else None


def _simplest(low: Fraction, high: Fraction | None) -> Fraction:
    """Return the fraction of smallest denominator between two numbers; None is infinity."""
    whole = low.numerator // low.denominator
    if high is None or whole + 1 < high:
        return Fraction(whole + 1)
    rest = None if low == whole else 1 / (low - whole)
    return whole + 1 / _simplest(1 / (high - whole), rest)
