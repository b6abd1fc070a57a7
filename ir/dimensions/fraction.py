"""Fractions of dynamic dimensions, from which exported models compute other sizes in float32.

A :class:`SymbolicFraction` is an exact fraction; its numerator may be dynamic. float32 may round.
Operations are allowed only where exact and float32 arithmetic give the same result:

- If the denominator is a power of 2 and the numerator has at most 24 bits, float32 holds the
  fraction, and arithmetic is allowed.
- float32 rounds any other fraction, so only floor, ceil and truncation are allowed. Their results
  are the same: a fraction of denominator n that is not an integer differs from every integer by at
  least 1 / n. If its numerator has at most 24 bits, rounding changes the fraction by less.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING, NoReturn, cast

from ..types import EXACT_INTEGERS
from .errors import DynamicDimensionError
from .symbolic_int import is_dynamic

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST_DIVISOR = 1 << 126  # below, a float32 has fewer than 24 digits
LARGEST_FACTOR = 1 << 12  # of constants; the numerator or denominator of float32(1.7) is larger


class SymbolicFraction:
    """``numerator / denominator``, where the numerator may be dynamic.

    Raises:
        DynamicDimensionError: if float32 cannot hold the value, or for an unsupported operand.
    """

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: int, denominator: int = 1) -> None:
        common = 1 if is_dynamic(numerator) else gcd(numerator, denominator)
        self.numerator, self.denominator = numerator // common, denominator // common
        if denominator > LARGEST_DIVISOR or not -EXACT_INTEGERS < self.numerator < EXACT_INTEGERS:
            raise DynamicDimensionError("a size computation that float32 cannot hold exactly")

    @property
    def is_exact(self) -> bool:
        """Whether floats hold it."""
        return self.denominator & (self.denominator - 1) == 0

    def __add__(self, other: object) -> SymbolicFraction:
        return self._with(other, lambda a, b, c, d: SymbolicFraction(a * d + c * b, b * d))

    def __sub__(self, other: object) -> SymbolicFraction:
        return self._with(other, lambda a, b, c, d: SymbolicFraction(a * d - c * b, b * d))

    def __rsub__(self, other: object) -> SymbolicFraction:
        return as_fraction(other) - self

    def __mul__(self, other: object) -> SymbolicFraction:
        return self._with(other, lambda a, b, c, d: SymbolicFraction(a * c, b * d))

    def __truediv__(self, other: object) -> SymbolicFraction:
        return self._with(other, _quotient)

    def __rtruediv__(self, other: object) -> SymbolicFraction:
        return as_fraction(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def _with(
        self, other: object, function: Callable[[int, int, int, int], SymbolicFraction]
    ) -> SymbolicFraction:
        second = as_fraction(other)
        if not (self.is_exact and second.is_exact):
            what = "floating-point arithmetic on sizes that float32 would round"
            raise DynamicDimensionError(what)
        return function(self.numerator, self.denominator, second.numerator, second.denominator)

    def __neg__(self) -> SymbolicFraction:
        return SymbolicFraction(-self.numerator, self.denominator)

    def __floor__(self) -> SymbolicFraction:
        return SymbolicFraction(self.numerator // self.denominator)

    def __ceil__(self) -> SymbolicFraction:
        return SymbolicFraction(-(-self.numerator // self.denominator))

    def __trunc__(self) -> int:
        down = self.numerator // self.denominator
        return down if self.numerator >= 0 else -(-self.numerator // self.denominator)

    def __eq__(self, other: object) -> bool:
        return (self - other).numerator == 0

    def __lt__(self, other: object) -> bool:
        return (self - other).numerator < 0

    def __gt__(self, other: object) -> bool:
        return (self - other).numerator > 0

    def __le__(self, other: object) -> bool:
        return (self - other).numerator <= 0

    def __ge__(self, other: object) -> bool:
        return (self - other).numerator >= 0

    def __hash__(self) -> int:
        return hash((self.numerator, self.denominator))

    def __float__(self) -> NoReturn:
        raise DynamicDimensionError("converting a size to a float")

    def __abs__(self) -> SymbolicFraction:
        return self if self.numerator >= 0 else -self

    def _refused(self, *_: object) -> NoReturn:
        raise DynamicDimensionError("this floating-point operation on a size")

    # what numpy calls for arrays of objects, and what would drop it
    __bool__ = __int__ = __index__ = __round__ = __mod__ = __rmod__ = __pow__ = _refused
    sqrt = rint = _refused


def _quotient(a: int, b: int, c: int, d: int) -> SymbolicFraction:
    """Return (a / b) / (c / d), by a positive number only."""
    if is_dynamic(c):
        raise DynamicDimensionError("floating-point division by a size")
    if c <= 0:
        raise DynamicDimensionError(
            f"dividing a size by {c}", "dynamic sizes are divided only by positive numbers"
        )
    return SymbolicFraction(a * d, b * c)


def as_fraction(value: object) -> SymbolicFraction:
    """Return a number of any kind, dynamic or not, as a fraction.

    Raises:
        DynamicDimensionError: for a float that is no simple fraction, and what floats do not hold.
    """
    if isinstance(value, SymbolicFraction):
        return value
    if isinstance(value, int) or is_dynamic(value):
        return SymbolicFraction(cast("int", value))
    exact = Fraction(float(value))  # type: ignore[arg-type]
    if abs(exact.numerator) > LARGEST_FACTOR or exact.denominator > LARGEST_FACTOR:
        raise DynamicDimensionError(f"arithmetic on a size and the float {float(exact):.6g}")
    return SymbolicFraction(exact.numerator, exact.denominator)
