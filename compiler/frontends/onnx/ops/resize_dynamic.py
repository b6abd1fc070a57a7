"""Resize and Upsample of dynamic dimensions: positions as exact lines, never as tables.

Position i of a result lies at (p*i + q) / r between the operand's elements, for every size that the
build takes. What needs a table, or where float32 rounding may decide, as ONNX Runtime would have
it, is refused.

The nearest elements are those of a scale that is whole, or 1 over a whole number. If only the
hints say so, that becomes a guard. Where it is not, as the sizes are one element off, the elements
floor(i * size / resized) are those that float32 gives: see :meth:`DynamicAxis.nearest`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from .....ir.dimensions import DynamicDimensionError, hint, is_dynamic, is_one, statically_equal
from .....ir.types import EXACT_INTEGERS
from .....records import dataclass, replace
from .resize_nearest import Axis, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PLAIN = 64  # the largest numerator and denominator of a scale: no rounding reaches a whole number


@dataclass(frozen=True)
class DynamicAxis:
    """One axis with a dynamic size.

    Attributes:
        size: before.
        resized: after.
        exact: the scale between them, or None where it varies with the sizes.
    """

    size: int
    resized: int
    exact: Fraction | None

    @property
    def stays(self) -> bool:
        """Whether nothing is to be done."""
        return self.exact == 1

    @property
    def growth(self) -> float:
        """By about how much it grows."""
        return hint(self.resized) / hint(self.size)

    def line(self, coordinates: str) -> Step:
        """Return (p, q, r) of the positions.

        Raises:
            DynamicDimensionError: for a mode whose positions are no such line.
        """
        if coordinates == "align_corners":
            if self.exact is not None and self.exact.numerator * self.size != (
                self.exact.denominator * self.resized
            ):
                raise DynamicDimensionError("a resize of mode align_corners by a scale")
            if not self.resized > 1:
                raise DynamicDimensionError("a resize of mode align_corners to one element")
            return self.size - 1, 0, self.resized - 1
        out, size = self._ratio
        if coordinates == "asymmetric":
            return size, 0, out
        if coordinates == "tf_half_pixel_for_nn":
            return 2 * size, size, 2 * out
        whole = statically_equal(self.resized * size, self.size * out)
        one = coordinates == "pytorch_half_pixel" and not self.resized > 1
        if one or coordinates not in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"):
            raise DynamicDimensionError(f"a resize of mode {coordinates}")
        if coordinates == "half_pixel_symmetric" and not whole:
            raise DynamicDimensionError(f"a resize of mode {coordinates}")
        return 2 * size, size - out, 2 * out

    @property
    def _ratio(self) -> tuple[int, int]:
        """Return two numbers that are to each other as the sizes after and before."""
        if self.exact is None:
            return self.resized, self.size
        return self.exact.numerator, self.exact.denominator

    def nearest(self, coordinates: str, rounding: str) -> Step:
        """Return the step function of the elements that are nearest to the positions.

        Raises:
            DynamicDimensionError: where the scale is not plain.
        """
        if is_one(self.size):
            return 0, 0, 1
        if coordinates == "align_corners":
            raise DynamicDimensionError("nearest-neighbour resizing with align_corners")
        exact = self._decided()
        if exact is not None and not _rounds_back(exact.denominator):
            raise DynamicDimensionError(f"nearest-neighbour resizing by {exact}")
        if exact is None:
            if (coordinates, rounding) == ("asymmetric", "floor") and self._one_off():
                return self.size, 0, self.resized
            raise DynamicDimensionError("nearest-neighbour resizing by a dynamic ratio")
        if exact == 1:
            return 1, 0, 1
        p, q, r = replace(self, exact=exact).line(coordinates)
        if not rounding:  # before operator set 11: truncation, but up where the axis shrinks
            rounding = "ceil" if exact < 1 else "floor"
            if q < 0:
                raise DynamicDimensionError("nearest-neighbour resizing before operator set 11")
        if rounding == "floor":
            return p, q, r
        if rounding == "ceil":
            return p, q + r - 1, r
        if rounding == "round_prefer_ceil":
            return 2 * p, 2 * q + r, 2 * r
        return 2 * p, 2 * q + r - 1, 2 * r

    def _decided(self) -> Fraction | None:
        """Return the scale, decided at the default sizes where it is whole, or 1 over that, there.

        None where it is not, or where one size is fixed, which would fix the other.
        """
        if self.exact is not None or not (is_dynamic(self.size) and is_dynamic(self.resized)):
            return self.exact
        ratio = _plain(self.size, self.resized)
        if ratio is None or self.resized * ratio.denominator != self.size * ratio.numerator:
            return None
        return ratio

    def _one_off(self) -> bool:
        """Whether one size is a multiple of the other, give or take one element.

        Neighbours of a multiple have no factor in common with the number. So i * size / resized is
        whole for i = 0 alone, where float32 has it exactly, and elsewhere 1 / resized or more from
        any whole number. Two roundings move it by less than size / 2**23. Multiples are exact.
        """
        if not (is_dynamic(self.size) and is_dynamic(self.resized)):
            return False
        small, large = self.size, self.resized
        if hint(small) > hint(large):
            small, large = large, small
        factor = round(hint(large) / hint(small))
        off = large - factor * small
        if factor > PLAIN or abs(hint(off)) > 1:
            return False
        if small is self.resized and not _rounds_back(factor):
            return False
        return -1 <= off <= 1 and self.size * self.resized < EXACT_INTEGERS // 2


AnyAxis = Axis | DynamicAxis


def scaled_axes(
    shape: Sequence[int],
    chosen: Sequence[int],
    exact: Sequence[Fraction],
    scales: NDArray[np.float32],
) -> list[AnyAxis]:
    """Return the axes of a shape, some of them dynamic, with scales.

    Raises:
        DynamicDimensionError: for the scale of a dynamic axis whose multiples float32 rounds.
    """
    axes: list[AnyAxis] = [Axis(s, s, np.float32(1), Fraction(1)) for s in shape]
    for axis, fraction, scale in zip(chosen, exact, scales, strict=True):
        size = shape[axis]
        if not is_dynamic(size):
            resized = int(scale * np.float32(size))
            axes[axis] = Axis(size, resized, scale, fraction)
            continue
        if Fraction(float(scale)) != fraction or max(fraction.as_integer_ratio()) > PLAIN:
            raise DynamicDimensionError(f"a resize by {scale}")
        resized = size * fraction.numerator // fraction.denominator
        axes[axis] = DynamicAxis(size, resized, fraction)
    return axes


def dynamic_axes(
    shape: Sequence[int], chosen: Sequence[int], sizes: Sequence[int]
) -> list[AnyAxis]:
    """Return the axes of a shape resized to sizes, some of either dynamic."""
    axes: list[AnyAxis] = [Axis(s, s, np.float32(1), Fraction(1)) for s in shape]
    for axis, resized in zip(chosen, sizes, strict=True):
        size = shape[axis]
        if not is_dynamic(size) and not is_dynamic(resized):
            exact = Fraction(resized, size)
            scale = np.float32(exact.numerator) / np.float32(exact.denominator)
            axes[axis] = Axis(size, resized, scale, exact)
            continue
        ratio = _plain(size, resized)
        if ratio and not statically_equal(resized * ratio.denominator, size * ratio.numerator):
            ratio = None
        axes[axis] = DynamicAxis(size, resized, ratio)
    return axes


def _plain(size: int, resized: int) -> Fraction | None:
    """Return the scale at the default sizes where it, or its inverse, is a small whole number."""
    ratio = Fraction(hint(resized), hint(size))
    numbers = ratio.as_integer_ratio()
    return ratio if 1 in numbers and max(numbers) <= PLAIN else None


def _rounds_back(factor: int) -> bool:
    """Whether dividing any number by float32's 1 / factor comes to what factor times it is.

    Half of the spacing of floats is more than 2**-25 of the number, and a smaller error is undone.
    """
    inverse = Fraction(float(np.float32(1) / np.float32(factor)))
    return abs(inverse * factor - 1) <= Fraction(1, 1 << 25)
