"""Fractions of open sizes, by which exporters find out other sizes in floating point.

A :class:`Ratio` is an open size over a number, exactly. Models compute it in floats, and where they
round, what is exact would not be what they do. So it is taken no further than both agree:

- with a power of 2 below, a fraction is a float itself while it has no more than 24 digits;
- any other is rounded, and may only be rounded down, up or towards 0 next. That gives what the
  exact one gives: it is at least 1 / n from any other whole number, and with fewer than 24 digits
  above, rounding moves it by less.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING, NoReturn, cast

from ..types import EXACT_INTEGERS
from .size import OpenSizeError, is_open

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST_DIVISOR = 1 << 126  # below, a float32 has fewer than 24 digits
LARGEST_FACTOR = 1 << 12  # of constants: what is above or below in 1.7, as float32 has it, is more


class Ratio:
    """``above / below``, where ``above`` may be open.

    Raises:
        OpenSizeError: where a float would not hold it, or by what it cannot be combined with.
    """

    __slots__ = ("above", "below")

    def __init__(self, above: int, below: int = 1) -> None:
        common = 1 if is_open(above) else gcd(above, below)
        self.above, self.below = above // common, below // common
        if below > LARGEST_DIVISOR or not -EXACT_INTEGERS < self.above < EXACT_INTEGERS:
            raise OpenSizeError("a number of floating point")

    @property
    def is_exact(self) -> bool:
        """Whether floats hold it."""
        return self.below & (self.below - 1) == 0

    def __add__(self, other: object) -> Ratio:
        return self._with(other, lambda a, b, c, d: Ratio(a * d + c * b, b * d))

    def __sub__(self, other: object) -> Ratio:
        return self._with(other, lambda a, b, c, d: Ratio(a * d - c * b, b * d))

    def __rsub__(self, other: object) -> Ratio:
        return as_ratio(other) - self

    def __mul__(self, other: object) -> Ratio:
        return self._with(other, lambda a, b, c, d: Ratio(a * c, b * d))

    def __truediv__(self, other: object) -> Ratio:
        return self._with(other, _quotient)

    def __rtruediv__(self, other: object) -> Ratio:
        return as_ratio(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def _with(self, other: object, function: Callable[[int, int, int, int], Ratio]) -> Ratio:
        second = as_ratio(other)
        if not (self.is_exact and second.is_exact):
            raise OpenSizeError("a rounded number of floating point")
        return function(self.above, self.below, second.above, second.below)

    def __neg__(self) -> Ratio:
        return Ratio(-self.above, self.below)

    def __floor__(self) -> Ratio:
        return Ratio(self.above // self.below)

    def __ceil__(self) -> Ratio:
        return Ratio(-(-self.above // self.below))

    def __trunc__(self) -> int:
        down = self.above // self.below
        return down if self.above >= 0 else -(-self.above // self.below)

    def __eq__(self, other: object) -> bool:
        return (self - other).above == 0

    def __lt__(self, other: object) -> bool:
        return (self - other).above < 0

    def __gt__(self, other: object) -> bool:
        return (self - other).above > 0

    def __le__(self, other: object) -> bool:
        return (self - other).above <= 0

    def __ge__(self, other: object) -> bool:
        return (self - other).above >= 0

    def __hash__(self) -> int:
        return hash((self.above, self.below))

    def __float__(self) -> NoReturn:
        raise OpenSizeError("a fraction")

    def __abs__(self) -> Ratio:
        return self if self.above >= 0 else -self

    def _refused(self, *_: object) -> NoReturn:
        raise OpenSizeError("a number of floating point")

    # what numpy calls for arrays of objects, and what would drop it
    __bool__ = __int__ = __index__ = __round__ = __mod__ = __rmod__ = __pow__ = _refused
    sqrt = rint = _refused


def _quotient(a: int, b: int, c: int, d: int) -> Ratio:
    """Return (a / b) / (c / d), by a positive number only."""
    if is_open(c) or c <= 0:
        raise OpenSizeError("a ratio")
    return Ratio(a * d, b * c)


def as_ratio(value: object) -> Ratio:
    """Return a number of any kind, open or not, as a ratio.

    Raises:
        OpenSizeError: for a float that is no simple fraction, and what floats do not hold.
    """
    if isinstance(value, Ratio):
        return value
    if isinstance(value, int) or is_open(value):
        return Ratio(cast("int", value))
    exact = Fraction(float(value))  # type: ignore[arg-type]
    if abs(exact.numerator) > LARGEST_FACTOR or exact.denominator > LARGEST_FACTOR:
        raise OpenSizeError("a number of floating point")
    return Ratio(exact.numerator, exact.denominator)
