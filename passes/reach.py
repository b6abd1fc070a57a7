"""How far an element of a value reaches: the elements of the input that it depends on.

Two facts must hold of a value for a picture to be cut into tiles:

    reach           element i of the value's axis depends only on the elements of the input's axis
                    from scale * i + low to scale * i + high
    equivariance    an input that is shifted by a multiple of the period gives the shifted result
"""

from __future__ import annotations

import math
from fractions import Fraction

from ..records import dataclass, replace


@dataclass(frozen=True)
class Reach:
    """Element i along ``axis`` depends on scale * i + low to scale * i + high of the input's axis.

    ``period`` counts elements of the input: shifts by its multiples shift the value.
    """

    axis: int
    scale: Fraction
    low: Fraction
    high: Fraction
    period: Fraction


@dataclass(frozen=True)
class Unbounded:
    """No finite reach, because of a layer."""

    layer: str


State = Reach | Unbounded | None  # None: the value does not depend on the input


def hull(a: Reach, b: Reach) -> Reach | None:
    """Return the reach of what depends on both; None where they move at different speeds."""
    if (a.axis, a.scale) != (b.axis, b.scale):
        return None
    low, high = min(a.low, b.low), max(a.high, b.high)
    return Reach(a.axis, a.scale, low, high, common_multiple(a.period, b.period))


def widened(reach: Reach, ends: tuple[int, int], sizes: tuple[int, int], period: int) -> Reach:
    """Return a reach that leaves the picture at the first and last positions, as many as given.

    ``sizes`` are those of the value's axis and of the picture's.
    """
    low, high = reach.low, reach.high
    if ends[0] > 0:
        low = min(low, Fraction(-1 - math.floor(reach.scale * (ends[0] - 1))))
    if ends[1] > 0:
        high = max(high, sizes[1] - Fraction(math.floor(reach.scale * (sizes[0] - ends[1]))))
    return replace(
        reach, low=low, high=high, period=common_multiple(reach.period, period * reach.scale)
    )


def common_multiple(a: Fraction, b: Fraction) -> Fraction:
    """Return the least common multiple."""
    return Fraction(
        math.lcm(a.numerator * b.denominator, b.numerator * a.denominator),
        a.denominator * b.denominator,
    )
