"""Integers that grow with a position: lines with a remainder, and their arithmetic.

A :class:`Line` is what is known of an index in a loop nest: ``slope * i + [low, high]`` at position
i. The remainder repeats after ``period`` positions. Rules return None for what they do not know.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from ..records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

INFINITY = math.inf
Real = Fraction | float


@dataclass(frozen=True)
class Line:
    """``slope * i + [low, high]``; the remainder repeats after ``period`` positions.

    ``sized``: the bounds are those at the default sizes. ``ended``: the line does not hold at the
    first or the last positions.
    """

    slope: Fraction
    low: Real
    high: Real
    period: int = 1
    sized: bool = False
    ended: bool = False

    @property
    def is_number(self) -> bool:
        return not self.slope and self.low == self.high and not self.sized


DATA = Line(Fraction(0), -INFINITY, INFINITY)


class PositionError(Exception):
    """A number depends on the position in a way that is no line."""


def _add(a: Line, b: Line) -> Line:
    return Line(a.slope + b.slope, a.low + b.low, a.high + b.high)


def difference(a: Line, b: Line) -> Line:
    """Return a - b."""
    return Line(a.slope - b.slope, a.low - b.high, a.high - b.low)


def _mul(a: Line, b: Line) -> Line | None:
    if a.is_number:
        a, b = b, a
    if b.is_number and math.isfinite(b.low) and (not a.sized or b.low == 1):
        ends = sorted((_times(a.low, b.low), _times(a.high, b.low)))
        return Line(a.slope * cast("Fraction", b.low), ends[0], ends[1])
    return None


def _times(a: Real, b: Real) -> Real:
    return Fraction(0) if 0 in (a, b) else a * b


def _div(a: Line, b: Line) -> Line | None:
    if not b.is_number or not b.low or not math.isfinite(b.low):
        return None
    inverse = 1 / cast("Fraction", b.low)
    return _mul(a, Line(Fraction(0), inverse, inverse))


def _floor(a: Line) -> Line | None:
    """Floor a line: the remainder repeats once the slope's multiples are whole."""
    if a.sized:
        return None
    if not a.slope:
        low, high = (
            x if not math.isfinite(x) else Fraction(math.floor(x)) for x in (a.low, a.high)
        )
        return Line(a.slope, low, high)
    lost = Fraction(1)
    if a.low == a.high and math.isfinite(a.low):  # multiples of 1/n lose at most 1 - 1/n
        lost -= Fraction(1, math.lcm(a.slope.denominator, Fraction(a.low).denominator))
    return Line(a.slope, a.low - lost, a.high, a.slope.denominator)


def _idiv(a: Line, b: Line) -> Line | None:
    quotient = _div(a, b)
    if quotient is None or a.sized or b.low < 1:
        return None
    if not a.slope:
        return _floor(quotient)
    most = Fraction(b.low) - 1  # of the remainder of integers
    slope = quotient.slope
    return Line(slope, (a.low - most) / Fraction(b.low), quotient.high, slope.denominator)


def _imod(a: Line, b: Line) -> Line | None:
    if not b.is_number or b.low < 1 or a.sized:
        return None
    n = Fraction(b.low)
    if not a.slope and math.isfinite(a.low) and math.isfinite(a.high):
        first, last = math.floor(a.low / n), math.floor(a.high / n)
        if first == last:
            return Line(a.slope, a.low - first * n, a.high - first * n)
    return Line(Fraction(0), Fraction(0), n - 1, (a.slope / n).denominator)


def _minimum(a: Line, b: Line) -> Line | None:
    return None if a.slope != b.slope else Line(a.slope, min(a.low, b.low), min(a.high, b.high))


def _maximum(a: Line, b: Line) -> Line | None:
    return None if a.slope != b.slope else Line(a.slope, max(a.low, b.low), max(a.high, b.high))


def _less(a: Line, b: Line) -> Line | None:
    gap = difference(a, b)
    if gap.slope or gap.sized or gap.low < 0 <= gap.high:
        return None
    truth = Fraction(int(gap.low < 0))
    return Line(Fraction(0), truth, truth)


RULES: dict[str, Callable[..., Line | None]] = {
    "add": _add,
    "sub": difference,
    "neg": lambda a: Line(-a.slope, -a.high, -a.low),
    "mul": _mul,
    "div": _div,
    "floor": _floor,
    "idiv": _idiv,
    "imod": _imod,
    "min": _minimum,
    "max": _maximum,
    "lt": _less,
}
