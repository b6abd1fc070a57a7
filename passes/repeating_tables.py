"""Tables of constants that repeat along an axis, but for their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.graph import Constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..ir.graph import Value

LONGEST_PERIOD = 64  # positions after which weights repeat


def repeating_table(value: Value, axis: int) -> tuple[int, int, int] | None:
    """Return the period of a constant along an axis, and how many of its ends differ.

    None where it does not repeat.
    """
    if not isinstance(value, Constant):
        return None
    data = np.moveaxis(np.asarray(value.data, np.float64), axis, 0)
    data = data.reshape(len(data), -1)
    tolerance = 1e-5 * float(np.abs(data).max(initial=0))
    found = repeating_rows(data, np.zeros(1), tolerance)
    return None if found is None else found[:3]


def repeating_rows(
    data: NDArray[np.float64], step: NDArray[np.float64] | None, tolerance: float
) -> tuple[int, int, int, float] | None:
    """Find the shortest period after which rows repeat, with a growth of ``step`` (None: any).

    Returns:
        The period, the numbers of rows at the start and the end that differ, and the growth.
    """
    size, middle = len(data), len(data) // 2
    for period in range(1, min(LONGEST_PERIOD, size // 4) + 1):
        change = data[period:] - data[:-period]
        growth = change[middle - period // 2] if step is None else step
        same = np.all(np.abs(change - growth) <= tolerance, axis=1)
        if not same[size // 4 : max(size // 4 + 1, size - period - size // 4)].all():
            continue
        where = np.flatnonzero(~same)
        below, above = where[where < middle], where[where >= middle]
        before = int(below.max()) + 1 if below.size else 0
        after = size - (int(above.min()) + period) if above.size else 0
        return period, before, after, float(np.ravel(growth)[0])
    return None
