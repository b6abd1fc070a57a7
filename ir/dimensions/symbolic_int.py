"""Integers that depend on symbols, in place of ints in shapes.

A :class:`SymbolicInt` has a polynomial (:mod:`.polynomial`) and a hint, its value at the default
sizes. Arithmetic gives SymbolicInts, or ints where symbols cancel. Comparisons may add guards to
its environment (:mod:`.environment`). ``int()``, ``float()``, ``range()`` and whatever else would
make a number of it raises :class:`DynamicDimensionError`, which names the layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from .environment import divided
from .errors import DimensionLimitError, DynamicDimensionError
from .polynomial import LARGEST, Polynomial, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeIs

    from .environment import ShapeEnvironment

LONGEST_TEXT = 200  # of a dimension, in messages and comments


class SymbolicInt:
    """A dynamic dimension; see the module. Made by arithmetic on what :func:`dimension` returns."""

    __slots__ = ("environment", "hint", "polynomial")

    def __init__(self, environment: ShapeEnvironment, polynomial: Polynomial) -> None:
        self.environment, self.polynomial = environment, polynomial
        self.hint = environment.hint(polynomial)
        if abs(self.hint) > LARGEST:
            raise DimensionLimitError("a number beyond 64 bits", LARGEST)

    # arithmetic

    def _with(self, other: object, combine: Callable[[Polynomial, Polynomial], Polynomial]) -> int:
        """Return a combination of this and another integer."""
        operand = polynomial_of(other)
        if operand is None:
            return cast("int", NotImplemented)
        return as_int(self.environment, combine(self.polynomial, operand))

    def __add__(self, other: int) -> int:
        return self._with(other, Polynomial.plus)

    __radd__ = __add__

    def __sub__(self, other: int) -> int:
        return self._with(other, lambda a, b: a.plus(b, -1))

    def __rsub__(self, other: int) -> int:
        return self._with(other, lambda a, b: b.plus(a, -1))

    def __mul__(self, other: int) -> int:
        return self._with(other, Polynomial.times)

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> int:
        return self._with(other, lambda a, b: divided(self.environment, a, b))

    def __rfloordiv__(self, other: int) -> int:
        return self._with(other, lambda a, b: divided(self.environment, b, a))

    def __neg__(self) -> int:
        return as_int(self.environment, self.polynomial.negated)

    def __pos__(self) -> int:
        return cast("int", self)

    def __abs__(self) -> int:
        return -self if self.environment.is_negative(self.polynomial) else cast("int", self)

    def __pow__(self, exponent: int) -> int:
        if exponent < 0:
            raise DynamicDimensionError("a negative power of a size")
        result = 1
        for _ in range(exponent):
            result = result * cast("int", self)
        return result

    def __mod__(self, other: int) -> int:
        return cast("int", self) - (cast("int", self) // other) * other

    def __rmod__(self, other: int) -> int:
        return other - (other // cast("int", self)) * cast("int", self)

    def __divmod__(self, other: int) -> tuple[int, int]:
        quotient = cast("int", self) // other
        return quotient, cast("int", self) - quotient * other

    # comparisons

    def _minus(self, other: object) -> Polynomial | None:
        operand = polynomial_of(other)
        return None if operand is None else self.polynomial.plus(operand, -1)

    def __eq__(self, other: object) -> bool:
        d = self._minus(other)
        return False if d is None else self.environment.is_zero(d)

    def __hash__(self) -> int:
        return hash(self.polynomial)

    def __lt__(self, other: int) -> bool:
        if (d := self._minus(other)) is None:
            return NotImplemented
        return self.environment.is_negative(d)

    def __ge__(self, other: int) -> bool:
        if (d := self._minus(other)) is None:
            return NotImplemented
        return not self.environment.is_negative(d)

    def __gt__(self, other: int) -> bool:
        if (d := self._minus(other)) is None:
            return NotImplemented
        return self.environment.is_negative(d.negated)

    def __le__(self, other: int) -> bool:
        if (d := self._minus(other)) is None:
            return NotImplemented
        return not self.environment.is_negative(d.negated)

    def __bool__(self) -> bool:
        return not self.environment.is_zero(self.polynomial)

    # what needs a number

    def __int__(self) -> NoReturn:
        raise DynamicDimensionError("this operator")

    def __index__(self) -> NoReturn:
        raise DynamicDimensionError("an operator with one constant per row or column")

    def __float__(self) -> NoReturn:
        raise DynamicDimensionError("converting a size to a float")

    def __truediv__(self, other: object) -> NoReturn:
        raise DynamicDimensionError("floating-point division of sizes")

    __rtruediv__ = __truediv__

    def _itself(self, *_: object) -> int:
        return cast("int", self)

    __floor__ = __ceil__ = __trunc__ = __round__ = _itself

    def __str__(self) -> str:
        """Return it as people read it; the whole of what is long is its ``repr``."""
        text = str(self.polynomial)
        return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."

    def __repr__(self) -> str:
        return str(self.polynomial)


def as_int(environment: ShapeEnvironment, polynomial: Polynomial) -> int:
    """Return a polynomial as an int where it is a number, else as a SymbolicInt."""
    if polynomial.is_number:
        return polynomial.constant
    return cast("int", SymbolicInt(environment, polynomial))


def polynomial_of(value: object) -> Polynomial | None:
    """Return an integer of any kind as a polynomial, None for what is none."""
    if isinstance(value, float):
        raise DynamicDimensionError(f"arithmetic on a size and the float {value:.6g}")
    if isinstance(value, SymbolicInt):
        return value.polynomial
    if isinstance(value, (bool, int)):
        return Polynomial.number(int(value))
    item = getattr(value, "dtype", None)  # of numpy's integers
    if item is not None and item.kind in "iu" and getattr(value, "ndim", 1) == 0:
        return Polynomial.number(int(value))  # type: ignore[call-overload]
    return None


def is_dynamic(value: object) -> TypeIs[SymbolicInt]:
    """Whether an integer is a dynamic dimension."""
    return isinstance(value, SymbolicInt)


def dimension(environment: ShapeEnvironment, symbol: str) -> int:
    """Return the dynamic dimension that a symbol names."""
    return as_int(environment, Polynomial.of([((Symbol(symbol),), 1)]))
