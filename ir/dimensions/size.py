"""Sizes that a build leaves open: integers that are expressions of a height and a width.

A :class:`Size` takes the place of an int in shapes, and the compiler runs on as with any number:
arithmetic gives Sizes, or ints where nothing is left open. What it is exactly stays known
(:mod:`.form`). Beside it is its value at the sizes that the build has by default.

**Decisions are kept.** What comparisons of Sizes decide becomes a fact (:mod:`.trace`), and the
facts are the constraints of the build.

**Nothing is dropped.** ``int()``, ``float()``, ``range()`` and whatever else would turn a Size into
a number for good raises :class:`OpenSizeError`, which names the layer at hand. So does a number in
a shader program. Where a number must be had there is :func:`estimate`, for what has no influence on
results.

Type checkers see an int: code that computes sizes is written once for both.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

from .form import LARGEST, Form, Operation, Parameter
from .size_error import OpenSizeError, SizeLimitError, at_layer
from .trace import Bounds, Trace, divided

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import TypeIs

__all__ = ["OpenSizeError", "Size", "SizeLimitError", "Trace", "at_layer", "is_open"]

SLACK = 4  # how many times more than at the default may be added up at once
LONGEST_TEXT = 200  # of a size, in messages and comments

T = TypeVar("T")


class Size:
    """An integer that is open; see the module. Made by arithmetic on ``Trace.parameter``."""

    __slots__ = ("form", "trace", "value")

    def __init__(self, trace: Trace, form: Form) -> None:
        self.trace, self.form, self.value = trace, form, trace.value(form)
        if abs(self.value) > LARGEST:
            raise SizeLimitError("a number beyond 64 bits", LARGEST)

    # arithmetic

    def __add__(self, other: int) -> int:
        return (
            NotImplemented if (b := _form(other)) is None else _size(self.trace, self.form.plus(b))
        )

    __radd__ = __add__

    def __sub__(self, other: int) -> int:
        return (
            NotImplemented
            if (b := _form(other)) is None
            else _size(self.trace, self.form.plus(b, -1))
        )

    def __rsub__(self, other: int) -> int:
        return (
            NotImplemented
            if (b := _form(other)) is None
            else _size(self.trace, b.plus(self.form, -1))
        )

    def __mul__(self, other: int) -> int:
        return (
            NotImplemented if (b := _form(other)) is None else _size(self.trace, self.form.times(b))
        )

    __rmul__ = __mul__

    def __neg__(self) -> int:
        return _size(self.trace, self.form.negated)

    def __pos__(self) -> int:
        return cast("int", self)

    def __abs__(self) -> int:
        return -self if self.trace.below(self.form) else cast("int", self)

    def __pow__(self, exponent: int) -> int:
        if exponent < 0:
            raise OpenSizeError("a negative power of it")
        result = 1
        for _ in range(exponent):
            result = result * cast("int", self)
        return result

    def __floordiv__(self, other: int) -> int:
        return (
            NotImplemented
            if (b := _form(other)) is None
            else _size(self.trace, divided(self.trace, self.form, b))
        )

    def __rfloordiv__(self, other: int) -> int:
        return (
            NotImplemented
            if (a := _form(other)) is None
            else _size(self.trace, divided(self.trace, a, self.form))
        )

    def __mod__(self, other: int) -> int:
        return cast("int", self) - (cast("int", self) // other) * other

    def __rmod__(self, other: int) -> int:
        return other - (other // cast("int", self)) * cast("int", self)

    def __divmod__(self, other: int) -> tuple[int, int]:
        quotient = cast("int", self) // other
        return quotient, cast("int", self) - quotient * other

    # decisions

    def _minus(self, other: object) -> Form | None:
        form = _form(other)
        return None if form is None else self.form.plus(form, -1)

    def __eq__(self, other: object) -> bool:
        d = self._minus(other)
        return False if d is None else self.trace.is_zero(d)

    def __hash__(self) -> int:
        return hash(self.form)

    def __lt__(self, other: int) -> bool:
        return NotImplemented if (d := self._minus(other)) is None else self.trace.below(d)

    def __ge__(self, other: int) -> bool:
        return NotImplemented if (d := self._minus(other)) is None else not self.trace.below(d)

    def __gt__(self, other: int) -> bool:
        if (d := self._minus(other)) is None:
            return NotImplemented
        return self.trace.below(d.negated)

    def __le__(self, other: int) -> bool:
        if (d := self._minus(other)) is None:
            return NotImplemented
        return not self.trace.below(d.negated)

    def __bool__(self) -> bool:
        return not self.trace.is_zero(self.form)

    # what would drop it

    def __int__(self) -> NoReturn:
        raise OpenSizeError("a number")

    def __index__(self) -> NoReturn:
        raise OpenSizeError("a list of this length")

    def __float__(self) -> NoReturn:
        raise OpenSizeError("a fraction")

    def __truediv__(self, other: object) -> NoReturn:
        raise OpenSizeError("a ratio")

    __rtruediv__ = __truediv__

    def __str__(self) -> str:
        """Return it as people read it; the whole of what is long is its ``repr``."""
        text = str(self.form)
        return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."

    def _itself(self, *_: object) -> int:
        return cast("int", self)

    __floor__ = __ceil__ = __trunc__ = __round__ = _itself

    def __repr__(self) -> str:
        return str(self.form)


def _size(trace: Trace, form: Form) -> int:
    """Return a form as an int where it is one, else as a Size."""
    return form.constant if form.is_number else cast("int", Size(trace, form))


def _form(value: object) -> Form | None:
    if isinstance(value, float):
        raise OpenSizeError("a fraction")
    if isinstance(value, Size):
        return value.form
    if isinstance(value, (bool, int)):
        return Form.number(int(value))
    item = getattr(value, "dtype", None)  # of numpy's integers
    if item is not None and item.kind in "iu" and getattr(value, "ndim", 1) == 0:
        return Form.number(int(value))  # type: ignore[call-overload]
    return None


def is_open(value: object) -> TypeIs[Size]:
    """Whether an integer is a size that the build leaves open."""
    return isinstance(value, Size)


def parameter(trace: Trace, name: str) -> int:
    """Return a parameter as the size that it is."""
    return _size(trace, Form.of([((Parameter(name),), 1)]))


def trace_of(sizes: Iterable[int]) -> Trace | None:
    """Return the trace of the first size that is open, or None where all are fixed."""
    for size in sizes:
        if is_open(size):
            return size.trace
    return None


def estimate(size: int) -> int:
    """Return a size, at its default where it is open. For what has no influence on results."""
    return size.value if is_open(size) else size


def at_most(size: int, most: int) -> bool:
    """Whether a size is at most ``most``: at its default, where it is open.

    Larger ones are let in as far as ``SLACK`` times that, and no further.
    """
    if not is_open(size):
        return size <= most
    return estimate(size) <= most and bool(size <= SLACK * most)


def is_one(size: int) -> bool:
    """Whether a size is 1. What is open is not: what works for many works for one."""
    return not is_open(size) and size == 1


def surely_equal(a: int, b: int) -> bool:
    """Whether two sizes are equal whatever the parameters are. Decides nothing."""
    difference = a - b
    if is_open(difference):
        return difference.trace.bounds_of(difference.form) == (0, 0)
    return difference == 0


def same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are equal whatever the parameters are. Decides nothing."""
    return len(a) == len(b) and all(map(surely_equal, a, b))


def bounds(size: int) -> Bounds:
    """Return the least and the largest value of a size, infinite where that is not known."""
    return size.trace.bounds_of(size.form) if is_open(size) else (size, size)


def largest(*sizes: int) -> int:
    """Return the largest of some sizes, as a maximum where it is open which that is."""
    kept: list[int] = []
    for size in sizes:
        if not any(bounds(other - size)[0] >= 0 for other in kept):
            kept = [other for other in kept if bounds(size - other)[0] < 0] + [size]
    trace = trace_of(kept)
    if trace is None:
        return max(kept)
    result, *others = (form for size in kept if (form := _form(size)) is not None)
    for form in others:
        result = Form.of([((Operation("max", result, form),), 1)])
    return _size(trace, result)


def holds_open(thing: object) -> bool:
    """Whether there is an open size in a tuple or a dataclass, or it is one."""
    todo, seen = [thing], set()
    while todo:
        part = todo.pop()
        if is_open(part):
            return True
        if id(part) in seen:  # expressions share their parts
            continue
        seen.add(id(part))
        if isinstance(part, tuple):
            todo.extend(part)
        elif is_dataclass(part) and not isinstance(part, type):
            todo.extend(getattr(part, f.name) for f in fields(part) if f.init)
    return False


def closed(thing: T) -> T:
    """Return a tuple or a dataclass with every open size in it at its default."""
    if is_open(thing):
        return cast("T", thing.value)
    if isinstance(thing, tuple):
        return cast("T", tuple(map(closed, thing)))
    if is_dataclass(thing) and not isinstance(thing, type):
        old = {f.name: getattr(thing, f.name) for f in fields(thing) if f.init}
        new = {name: closed(value) for name, value in old.items()}
        if any(new[name] is not old[name] for name in old):
            return cast("T", replace(thing, **new))
    return thing
