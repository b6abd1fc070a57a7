"""The shape environment: the symbols of one compilation, and the guards on them.

A comparison that the bounds of the symbols do not decide is decided by hints and becomes a *guard*.
Everything decided holds for all sizes that pass the guards.
"""

from __future__ import annotations

from dataclasses import field
from math import gcd, inf, prod
from sys import float_info
from typing import TYPE_CHECKING

from ...records import dataclass
from .errors import DimensionLimitError, DynamicDimensionError, current_layer
from .polynomial import (
    MOST_TERMS,
    Operation,
    Polynomial,
    Symbol,
    as_remainder,
    exact_quotient,
    reduced,
)

if TYPE_CHECKING:
    from .polynomial import Atom, Monomial

Bounds = tuple[float, float]
MOST_GUARDS = 4096  # of an environment


@dataclass(frozen=True, slots=True)
class Guard:
    """The bounds that a polynomial must keep to, and the layers that need them.

    Attributes:
        low: the least value.
        high: the largest.
        layers: the one that needs ``low`` and the one that needs ``high``, as far as they are.
    """

    low: float
    high: float
    layers: tuple[str, str] = ("", "")


@dataclass(eq=False)
class ShapeEnvironment:
    """The symbols of a compilation, and what was decided about them.

    Attributes:
        defaults: the hint of each symbol.
        bounds: within which each symbol lies.
        guards: on polynomials without a constant or a common factor.
    """

    defaults: dict[str, int]
    bounds: dict[str, Bounds]
    guards: dict[Polynomial, Guard] = field(default_factory=dict)
    _hints: dict[Polynomial, int] = field(default_factory=dict, init=False, repr=False)
    _known: dict[Polynomial, Bounds] = field(default_factory=dict, init=False, repr=False)  # so far
    _largest: dict[Polynomial, float] = field(default_factory=dict, init=False, repr=False)

    def hint(self, polynomial: Polynomial) -> int:
        """Return the value of a polynomial at the default sizes."""
        if (known := self._hints.get(polynomial)) is not None:
            return known
        total = 0
        for monomial, factor in polynomial.terms:
            for atom in monomial:
                factor *= self._atom_hint(atom)
            total += factor
        self._hints[polynomial] = total
        return total

    def _atom_hint(self, atom: Atom) -> int:
        if isinstance(atom, Symbol):
            return self.defaults[atom.name]
        left, right = self.hint(atom.left), self.hint(atom.right)
        if atom.sign == "/":
            return left // right
        return min(left, right) if atom.sign == "min" else max(left, right)

    def bounds_of(self, polynomial: Polynomial) -> Bounds:
        """Return between which numbers a polynomial lies, as far as that is known."""
        found = self._known.get(polynomial)
        if found is None:
            found = self._known[polynomial] = self._bounds_from_parts(polynomial)
        return found

    def _bounds_from_parts(self, polynomial: Polynomial) -> Bounds:
        constant, divisor, rest = polynomial.parts
        low = high = 0.0
        for monomial, factor in rest.terms:
            ends: Bounds = (1.0, 1.0)
            for atom in monomial:
                ends = _products(ends, self._atom_bounds(atom))
            ends = _products(ends, (factor, factor))
            low, high = _finite(low + ends[0], high + ends[1])
        for known, sign in ((rest, 1), (rest.negated, -1)):
            if found := as_remainder(known):
                start = -found[0].constant
                ends = (start, start + found[1] - 1)
                ends = ends if sign > 0 else (-ends[1], -ends[0])
                low, high = max(low, ends[0]), min(high, ends[1])
            if known in self.guards:
                guard = self.guards[known]
                ends = (guard.low, guard.high) if sign > 0 else (-guard.high, -guard.low)
                low, high = max(low, ends[0]), min(high, ends[1])
        return _finite(divisor * low + constant, divisor * high + constant)

    def _atom_bounds(self, atom: Atom) -> Bounds:
        if isinstance(atom, Symbol):
            return self.bounds[atom.name]
        left, right = self.bounds_of(atom.left), self.bounds_of(atom.right)
        if atom.sign == "min":
            return min(left[0], right[0]), min(left[1], right[1])
        if atom.sign == "max":
            return max(left[0], right[0]), max(left[1], right[1])
        if right[0] <= 0:
            return -inf, inf
        ends = [_quotient(a, b) for a in left for b in right]
        return min(ends), max(ends)

    def largest_intermediate(self, polynomial: Polynomial) -> float:
        """Return a bound of the magnitude of all that is worked out on the way to a polynomial."""

        def of(atom: Atom) -> float:
            if isinstance(atom, Symbol):
                return max(map(abs, self.bounds[atom.name]))
            return max(self.largest_intermediate(atom.left), self.largest_intermediate(atom.right))

        if (known := self._largest.get(polynomial)) is not None:
            return known
        found = sum(abs(factor) * prod(map(of, monomial)) for monomial, factor in polynomial.terms)
        self._largest[polynomial] = found
        return found

    def is_negative(self, polynomial: Polynomial) -> bool:
        """Whether a polynomial is negative; if bounds do not tell, hints decide, with a guard."""
        low, high = self.bounds_of(polynomial)
        if high < 0 or low >= 0:
            return high < 0
        negative = self.hint(polynomial) < 0
        self.add_guard(polynomial, *((-inf, -1.0) if negative else (0.0, inf)))
        return negative

    def is_zero(self, polynomial: Polynomial) -> bool:
        """Whether a polynomial is 0; if bounds do not tell, guard that it is as by hints."""
        low, high = self.bounds_of(polynomial)
        if low > 0 or high < 0 or low == high == 0:
            return low == high == 0
        if self.hint(polynomial) == 0:
            self.add_guard(polynomial, 0.0, 0.0)
            return True
        if low == 0 or high == 0:
            self.add_guard(polynomial, *((1.0, inf) if low == 0 else (-inf, -1.0)))
            return False
        minus = polynomial.negated
        size = Polynomial.of([((Operation("max", *sorted((polynomial, minus), key=str)),), 1)])
        self.add_guard(size, 1.0, inf)
        return False

    def add_guard(self, polynomial: Polynomial, low: float, high: float) -> None:
        """Guard that a polynomial lies within bounds.

        Raises:
            DynamicDimensionError: if the polynomial has too many terms, or the environment too many
                guards. The error names the current layer.
        """
        if polynomial.count > MOST_TERMS:
            raise DimensionLimitError(f"a comparison of {polynomial.count:,} terms", MOST_TERMS)
        constant, divisor, rest = polynomial.parts
        low, high = -_quotient(constant - low, divisor), _quotient(high - constant, divisor)
        minus = rest.negated
        if as_remainder(minus) or (rest.terms[0][1] < 0 and not as_remainder(rest)):
            rest, low, high = minus, -high, -low
        if len(rest.terms) == 1 and len(rest.terms[0][0]) == 1:
            (((atom,), _),) = rest.terms  # once, as rest has no common factor and begins with +
            if isinstance(atom, Symbol):
                old = self.bounds[atom.name]
                self.bounds[atom.name] = max(old[0], low), min(old[1], high)
                self._known.clear()
                self._largest.clear()
            elif atom.sign == "/" and atom.right.is_number and (n := atom.right.constant) > 0:
                self.add_guard(atom.left, low * n, high * n + n - 1)
                return
        if rest not in self.guards and len(self.guards) >= MOST_GUARDS:
            raise DimensionLimitError("too many comparisons of sizes", MOST_GUARDS)
        known = self.guards.get(rest, Guard(-inf, inf))
        layers = (
            current_layer() if low > known.low else known.layers[0],
            current_layer() if high < known.high else known.layers[1],
        )
        if low > known.low or high < known.high:
            self.guards[rest] = Guard(max(low, known.low), min(high, known.high), layers)
            self._known.clear()


def _products(a: Bounds, b: Bounds) -> Bounds:
    ends = [0.0 if 0 in (x, y) else x * y for x in a for y in b]
    return _finite(min(ends), max(ends))


def _finite(low: float, high: float) -> Bounds:
    """Return bounds without a lower one of infinity, or an upper of minus that: sums need none."""
    return min(low, float_info.max), max(high, -float_info.max)


def _quotient(a: float, b: float) -> float:
    if abs(a) == inf:
        return a
    return (0.0 if a >= 0 else -1.0) if b == inf else a // b


def divided(environment: ShapeEnvironment, a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a / b rounded down, as far as it can be carried out.

    What b divides is taken out, and what the rest comes to is left as an :class:`Operation`.
    """
    if not b.terms:
        raise ZeroDivisionError("division of a size by 0")
    if b.is_number and b.constant < 0:  # what reads quotients expects positive divisors
        a, b = (Polynomial.number(0).plus(p, -1) for p in (a, b))
    if not b.is_number and environment.bounds_of(b)[0] <= 0:
        if environment.hint(b) <= 0:
            raise DynamicDimensionError("division by a size that may be 0 or negative")
        environment.add_guard(b, 1.0, inf)
    if not b.is_number:
        a, b = reduced(a, b, lambda atom: environment._atom_bounds(atom)[0] > 0)
    if len(b.terms) != 1:
        exact = exact_quotient(a, b) if environment.hint(a) % environment.hint(b) == 0 else None
        return _rest_divided(environment, a, b) if exact is None else exact
    ((divisor, n),) = b.terms
    whole: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    for monomial, factor in a.terms:
        left = list(monomial)
        divides = True
        for atom in divisor:
            if atom in left:
                left.remove(atom)
            else:
                divides = False
        if not divides:
            rest.append((monomial, factor))
            continue
        # towards 0, but for the number: that of what is left is not negative
        quotient = factor // n if not monomial else (abs(factor) // abs(n)) * _sign(factor * n)
        whole.append((tuple(left), quotient))
        rest.append((monomial, factor - quotient * n))
    remainder = Polynomial.of(rest)
    if b.is_number and n > 0 and remainder.terms and remainder.terms[0][1] < 0:
        opposite = Polynomial.number(n - 1).plus(
            remainder, -1
        )  # floor(-x / n) = -floor((x + n - 1) / n)
        return Polynomial.of(whole).plus(divided(environment, opposite, b), -1)
    return Polynomial.of(whole).plus(_rest_divided(environment, remainder, b))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _rest_divided(environment: ShapeEnvironment, a: Polynomial, b: Polynomial) -> Polynomial:
    if not a.terms:
        return a
    low, high = environment.bounds_of(a)
    least = environment.bounds_of(b)[0]
    if low >= 0 and (high < least or environment.bounds_of(a.plus(b, -1))[1] < 0):
        return Polynomial.number(0)
    if b.is_number and (n := b.constant) > 0:
        factors = [f for m, f in a.terms if m]
        common = gcd(n, *factors)
        if common > 1:
            a = Polynomial.of((m, f // common) for m, f in a.terms)
            return divided(environment, a, Polynomial.number(n // common))
        outer = a.plus(Polynomial.number(a.constant), -1)
        if len(outer.terms) == 1 and outer.terms[0][1] == 1 and len(outer.terms[0][0]) == 1:
            (atom,) = outer.terms[0][0]
            if isinstance(atom, Operation) and atom.sign == "/" and atom.right.is_number:
                m = atom.right.constant
                inner = atom.left.plus(Polynomial.number(a.constant * m))
                return divided(environment, inner, Polynomial.number(m * n))
    return Polynomial.of([((Operation("/", a, b),), 1)])
