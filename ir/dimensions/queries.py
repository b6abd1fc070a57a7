"""What code asks of integers that may be dynamic dimensions, without adding a guard.

Only :func:`at_most` may add one.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from operator import is_not
from typing import TYPE_CHECKING, TypeVar, cast

from ...records import replace
from .polynomial import Operation, Polynomial
from .symbolic_int import as_int, is_dynamic, polynomial_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .environment import Bounds, ShapeEnvironment

SLACK = 4  # how many times more than at the default sizes may be added up at once

T = TypeVar("T")


def environment_of(sizes: Iterable[int]) -> ShapeEnvironment | None:
    """Return the environment of the first dynamic dimension, or None where all are fixed."""
    for size in sizes:
        if is_dynamic(size):
            return size.environment
    return None


def hint(size: int) -> int:
    """Return a size, at the default sizes if dynamic. For what has no influence on results."""
    return size.hint if is_dynamic(size) else size


def at_most(size: int, most: int) -> bool:
    """Whether a size is at most ``most``, by its hint if dynamic.

    A guard then admits ``SLACK`` times that, and no more.
    """
    if not is_dynamic(size):
        return size <= most
    return hint(size) <= most and bool(size <= SLACK * most)


def is_one(size: int) -> bool:
    """Whether a size is 1. A dynamic one is not: what works for many works for one."""
    return not is_dynamic(size) and size == 1


def statically_equal(a: int, b: int) -> bool:
    """Whether two sizes are known to be equal for all values of the symbols."""
    difference = a - b
    if is_dynamic(difference):
        return difference.environment.bounds_of(difference.polynomial) == (0, 0)
    return difference == 0


def same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are known to be equal for all values of the symbols."""
    return len(a) == len(b) and all(map(statically_equal, a, b))


def bounds(size: int) -> Bounds:
    """Return the least and the largest value of a size, infinite where that is not known."""
    return size.environment.bounds_of(size.polynomial) if is_dynamic(size) else (size, size)


def largest(*sizes: int) -> int:
    """Return the largest of some sizes: a maximum, where symbols decide which one that is."""
    kept: list[int] = []
    for size in sizes:
        if not any(bounds(other - size)[0] >= 0 for other in kept):
            kept = [other for other in kept if bounds(size - other)[0] < 0] + [size]
    environment = environment_of(kept)
    if environment is None:
        return max(kept)
    result, *others = (p for size in kept if (p := polynomial_of(size)) is not None)
    for other in others:
        result = Polynomial.of([((Operation("max", result, other),), 1)])
    return as_int(environment, result)


def has_dynamic(thing: object) -> bool:
    """Whether there is a dynamic dimension in a tuple or a dataclass, or it is one."""
    todo, seen = [thing], set()
    while todo:
        part = todo.pop()
        if is_dynamic(part):
            return True
        if id(part) in seen:  # expressions share their parts
            continue
        seen.add(id(part))
        if isinstance(part, tuple):
            todo.extend(part)
        elif is_dataclass(part) and not isinstance(part, type):
            todo.extend(getattr(part, f.name) for f in fields(part) if f.init)
    return False


def with_hints(thing: T) -> T:
    """Return a tuple or a dataclass with the hint in place of every dynamic dimension in it.

    What has none stays the same object.
    """
    known: dict[int, object] = {}

    def hinted(part: object) -> object:
        if is_dynamic(part):
            return part.hint
        if id(part) not in known:  # expressions share their parts
            known[id(part)] = replaced(part)
        return known[id(part)]

    def replaced(part: object) -> object:
        if isinstance(part, tuple):
            found = tuple(map(hinted, part))
            return found if any(map(is_not, found, part)) else part
        if is_dataclass(part) and not isinstance(part, type):
            old = {f.name: getattr(part, f.name) for f in fields(part) if f.init}
            new = {name: hinted(value) for name, value in old.items()}
            if any(new[name] is not old[name] for name in old):
                return replace(part, **new)
        return part

    return cast("T", hinted(thing))
