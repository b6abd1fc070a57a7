"""The sizes for which several guards hold together, by branch and bound.

A box is a range of each parameter. Boxes are halved until interval arithmetic shows that all guards
hold at every point of a box, or that one fails at every point. A point is a box without doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.dimensions.polynomial import Polynomial, Symbol
from ..records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ..ir.dimensions.environment import Guard
    from ..ir.dimensions.polynomial import Atom
    from .grid import Grid

    Values = NDArray[np.int64]
    Interval = tuple[Values, Values]

MOST_WORK = 2**22  # terms of guards times boxes
CALL = 1024  # boxes whose arithmetic takes as long as calling numpy for a term
AT_ONCE = 1024  # boxes, the last first: points are found soon where there are many
MOST_POINTS = 2**20  # rows of boxes that are put together to rectangles


@dataclass(frozen=True)
class Rectangle:
    """A range of each parameter, both ends included."""

    first: tuple[int, ...]
    last: tuple[int, ...]

    def text(self, names: Sequence[str]) -> str:
        """Return ``height 61 to 68 with width 93``."""
        ends = zip(names, self.first, self.last, strict=True)
        return " with ".join(f"{n} {a}" + (f" to {b}" if b > a else "") for n, a, b in ends)


class Solutions:
    """Points of the parameters' grids at which all guards hold.

    Args:
        guards: about polynomials whose values numpy's integers hold.
        grids: of the parameters.
        enough: how many points may be found before the search stops.

    Attributes:
        count: of the points found; all of them if ``complete``.
        complete: whether the search came to its end.
    """

    def __init__(
        self,
        guards: Mapping[Polynomial, Guard],
        grids: Mapping[str, Grid],
        enough: int | None = None,
    ) -> None:
        self._grids = grids
        self.count, self.complete = 0, False
        terms = sum(p.count for p in guards)
        found: list[Values] = []
        boxes = np.array([[0] * len(grids) + [g.count - 1 for g in grids.values()]], np.int64)
        work = 0
        while len(boxes) and (enough is None or self.count < enough):
            boxes, now = boxes[:-AT_ONCE], boxes[-AT_ONCE:]
            work += terms * (CALL + len(now))
            if work > MOST_WORK:
                return
            some, every = _hold(guards, grids, now)
            found.append(now[every])
            self.count += sum(map(int, _points(now[every])))
            boxes = np.concatenate((boxes, _halved(now[some & ~every])))
        self.complete = not len(boxes)
        self._boxes = np.concatenate(found)

    def rectangles(self) -> list[Rectangle]:
        """Return the points of two parameters as rectangles; none if too many."""
        boxes = (
            self._boxes if self.complete and len(self._grids) == 2 else np.empty((0, 4), np.int64)
        )
        rows: Values = boxes[:, 2] - boxes[:, 0] + 1
        if not 0 < rows.sum() <= MOST_POINTS:
            return []
        start = np.repeat(np.cumsum(rows) - rows, rows)
        row = np.repeat(boxes[:, 0], rows) + np.arange(rows.sum()) - start
        low, high = np.repeat(boxes[:, 1], rows), np.repeat(boxes[:, 3], rows)
        order = np.lexsort((low, row))  # runs within a row
        row, low, high = row[order], low[order], high[order]
        new = np.r_[True, (row[1:] != row[:-1]) | (low[1:] != high[:-1] + 1)]
        last = np.r_[new[1:], True]
        row, low, high = row[new], low[new], high[last]
        order = np.lexsort((row, high, low))  # equal runs of rows
        row, low, high = row[order], low[order], high[order]
        same = (low[1:] == low[:-1]) & (high[1:] == high[:-1]) & (row[1:] == row[:-1] + 1)
        new, last = np.r_[True, ~same], np.r_[~same, True]
        down, across = self._grids.values()
        return [
            Rectangle(
                (down.first + down.step * top, across.first + across.step * left),
                (down.first + down.step * bottom, across.first + across.step * right),
            )
            for top, left, bottom, right in np.stack(
                (row[new], low[new], row[last], high[new]), 1
            ).tolist()
        ]


def _points(boxes: Values) -> Values:
    half = boxes.shape[1] // 2
    points: Values = np.prod(boxes[:, half:] - boxes[:, :half] + 1, axis=1)
    return points


def _halved(boxes: Values) -> Values:
    """Return boxes of half the size, by their longest side."""
    half = boxes.shape[1] // 2
    at = np.arange(len(boxes))
    side = np.argmax(boxes[:, half:] - boxes[:, :half], axis=1)
    middle = (boxes[at, side] + boxes[at, half + side]) // 2
    left, right = boxes.copy(), boxes.copy()
    left[at, half + side], right[at, side] = middle, middle + 1
    return np.concatenate((left, right))


def _hold(
    guards: Mapping[Polynomial, Guard], grids: Mapping[str, Grid], boxes: Values
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether the guards may hold somewhere in each box, and whether everywhere."""
    half = boxes.shape[1] // 2
    at: dict[Atom, Interval] = {}
    for i, (name, grid) in enumerate(grids.items()):
        at[Symbol(name)] = (
            grid.first + grid.step * boxes[:, i],
            grid.first + grid.step * boxes[:, half + i],
        )
    some = every = np.ones(len(boxes), np.bool_)
    for polynomial, guard in guards.items():
        low, high = _interval(polynomial, at)
        some = some & (high >= guard.low) & (low <= guard.high)
        every = every & (low >= guard.low) & (high <= guard.high)
    return some, every


def _interval(polynomial: Polynomial, at: dict[Atom, Interval]) -> Interval:
    """Return bounds of a polynomial in each box; what atoms were found to have goes to ``at``."""
    zero = np.zeros_like(next(iter(at.values()))[0])
    low, high = zero, zero
    for monomial, factor in polynomial.terms:
        ends = zero + factor, zero + factor
        for atom in monomial:
            if atom not in at:
                at[atom] = _atom_interval(atom, at)
            products = [a * b for a in ends for b in at[atom]]
            ends = np.minimum.reduce(products), np.maximum.reduce(products)
        low, high = low + ends[0], high + ends[1]
    return low, high


def _atom_interval(atom: Atom, at: dict[Atom, Interval]) -> Interval:
    assert not isinstance(atom, Symbol)
    left, right = _interval(atom.left, at), _interval(atom.right, at)
    if atom.sign == "min":
        return np.minimum(left[0], right[0]), np.minimum(left[1], right[1])
    if atom.sign == "max":
        return np.maximum(left[0], right[0]), np.maximum(left[1], right[1])
    # another guard lets in positive divisors alone
    quotients = [a // np.maximum(b, 1) for a in left for b in right]
    return np.minimum.reduce(quotients), np.maximum.reduce(quotients)
