"""The elements that a Python slice takes of an axis; shared by both frontends."""

from __future__ import annotations

from ...ir.dimensions import is_dynamic


def taken(size: int, part: slice) -> tuple[int, int, int]:
    """Return the first element, the step and the number of elements of a slice of an axis.

    If a size or a bound is dynamic, that it lies inside the axis, or beyond its end, is decided.
    """
    start, end, step = part.start, part.stop, 1 if part.step is None else part.step
    if not any(map(is_dynamic, (size, start, end))):
        found = range(size)[part]
        return (found.start if len(found) else 0), step, len(found)
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def within(place: int | None, default: int) -> int:
        if place is None:
            return default
        place = place + size if place < 0 else place
        return low if place < low else high if place > high else place

    first, last = (low, high) if step > 0 else (high, low)
    first, last = within(start, first), within(end, last)
    length = last - first if step > 0 else first - last
    count = -(-length // abs(step))
    return (first, step, count) if count > 0 else (0, step, 0)
