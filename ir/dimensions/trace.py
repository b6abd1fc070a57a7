"""What was decided about open sizes while compiling, and what is known of them.

A comparison that the bounds of the parameters do not decide is decided at the default sizes and
becomes a *fact*. Everything decided holds for all sizes for which all facts hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd, inf, prod
from sys import float_info
from typing import TYPE_CHECKING

from .form import MOST_TERMS, Form, Operation, Parameter, as_remainder, exact_quotient, reduced
from .size_error import OpenSizeError, SizeLimitError, layer_at_hand

if TYPE_CHECKING:
    from .form import Atom, Monomial

Bounds = tuple[float, float]
MOST_FACTS = 4096  # of a trace


@dataclass(frozen=True, slots=True)
class Fact:
    """What a form was found, or decided, to keep to, and the layers that need it.

    Attributes:
        low: the least value.
        high: the largest.
        layers: the one that needs ``low`` and the one that needs ``high``, as far as they are.
    """

    low: float
    high: float
    layers: tuple[str, str] = ("", "")


@dataclass(eq=False)
class Trace:
    """The parameters of a build, and what was decided at their defaults.

    Attributes:
        defaults: of each parameter.
        bounds: within which each lies.
        facts: about forms without a constant or a common factor.
    """

    defaults: dict[str, int]
    bounds: dict[str, Bounds]
    facts: dict[Form, Fact] = field(default_factory=dict)
    _values: dict[Form, int] = field(default_factory=dict, init=False, repr=False)
    _known: dict[Form, Bounds] = field(default_factory=dict, init=False, repr=False)  # so far
    _reached: dict[Form, float] = field(default_factory=dict, init=False, repr=False)

    def value(self, form: Form) -> int:
        """Return what a form is at the default sizes."""
        if (known := self._values.get(form)) is not None:
            return known
        total = 0
        for monomial, factor in form.terms:
            for atom in monomial:
                factor *= self._atom_value(atom)
            total += factor
        self._values[form] = total
        return total

    def _atom_value(self, atom: Atom) -> int:
        if isinstance(atom, Parameter):
            return self.defaults[atom.name]
        left, right = self.value(atom.left), self.value(atom.right)
        if atom.sign == "/":
            return left // right
        return min(left, right) if atom.sign == "min" else max(left, right)

    def bounds_of(self, form: Form) -> Bounds:
        """Return between which numbers a form lies, as far as that is known."""
        found = self._known.get(form)
        if found is None:
            found = self._known[form] = self._bounds_from_parts(form)
        return found

    def _bounds_from_parts(self, form: Form) -> Bounds:
        constant, divisor, rest = form.parts
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
            if known in self.facts:
                fact = self.facts[known]
                ends = (fact.low, fact.high) if sign > 0 else (-fact.high, -fact.low)
                low, high = max(low, ends[0]), min(high, ends[1])
        return _finite(divisor * low + constant, divisor * high + constant)

    def _atom_bounds(self, atom: Atom) -> Bounds:
        if isinstance(atom, Parameter):
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

    def reach(self, form: Form) -> float:
        """Return a bound of the magnitude of all that is worked out on the way to a form."""

        def of(atom: Atom) -> float:
            if isinstance(atom, Parameter):
                return max(map(abs, self.bounds[atom.name]))
            return max(self.reach(atom.left), self.reach(atom.right))

        if (known := self._reached.get(form)) is not None:
            return known
        found = sum(abs(factor) * prod(map(of, monomial)) for monomial, factor in form.terms)
        self._reached[form] = found
        return found

    def below(self, form: Form) -> bool:
        """Whether a form is negative; where that is open, make the default's answer a fact."""
        low, high = self.bounds_of(form)
        if high < 0 or low >= 0:
            return high < 0
        negative = self.value(form) < 0
        self.note(form, *((-inf, -1.0) if negative else (0.0, inf)))
        return negative

    def is_zero(self, form: Form) -> bool:
        """Whether a form is 0; where that is open, make the default's answer a fact."""
        low, high = self.bounds_of(form)
        if low > 0 or high < 0 or low == high == 0:
            return low == high == 0
        if self.value(form) == 0:
            self.note(form, 0.0, 0.0)
            return True
        if low == 0 or high == 0:
            self.note(form, *((1.0, inf) if low == 0 else (-inf, -1.0)))
            return False
        minus = form.negated
        size = Form.of([((Operation("max", *sorted((form, minus), key=str)),), 1)])
        self.note(size, 1.0, inf)
        return False

    def note(self, form: Form, low: float, high: float) -> None:
        """Make it a fact that a form lies within bounds.

        Raises:
            OpenSizeError: for the layer at hand, when no runtime could check that.
        """
        if form.count > MOST_TERMS:
            raise SizeLimitError(f"a comparison of {form.count:,} terms", MOST_TERMS)
        constant, divisor, rest = form.parts
        low, high = -_quotient(constant - low, divisor), _quotient(high - constant, divisor)
        minus = rest.negated
        if as_remainder(minus) or (rest.terms[0][1] < 0 and not as_remainder(rest)):
            rest, low, high = minus, -high, -low
        if len(rest.terms) == 1 and len(rest.terms[0][0]) == 1:
            (((atom,), _),) = rest.terms  # once, as rest has no common factor and begins with +
            if isinstance(atom, Parameter):
                old = self.bounds[atom.name]
                self.bounds[atom.name] = max(old[0], low), min(old[1], high)
                self._known.clear()
                self._reached.clear()
            elif atom.sign == "/" and atom.right.is_number and (n := atom.right.constant) > 0:
                self.note(atom.left, low * n, high * n + n - 1)
                return
        if rest not in self.facts and len(self.facts) >= MOST_FACTS:
            raise SizeLimitError("too many comparisons of sizes", MOST_FACTS)
        known = self.facts.get(rest, Fact(-inf, inf))
        layers = (
            layer_at_hand() if low > known.low else known.layers[0],
            layer_at_hand() if high < known.high else known.layers[1],
        )
        if low > known.low or high < known.high:
            self.facts[rest] = Fact(max(low, known.low), min(high, known.high), layers)
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


def divided(trace: Trace, a: Form, b: Form) -> Form:
    """Return a / b rounded down, as far as it can be carried out.

    What b divides is taken out, and what the rest comes to is left as an :class:`Operation`.
    """
    if not b.terms:
        raise ZeroDivisionError("a size divided by zero")
    if not b.is_number and trace.bounds_of(b)[0] <= 0:
        if trace.value(b) <= 0:
            raise OpenSizeError("a quotient by what is not positive")
        trace.note(b, 1.0, inf)
    if not b.is_number:
        a, b = reduced(a, b, lambda atom: trace._atom_bounds(atom)[0] > 0)
    if len(b.terms) != 1:
        exact = exact_quotient(a, b) if trace.value(a) % trace.value(b) == 0 else None
        return _rest_divided(trace, a, b) if exact is None else exact
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
    remainder = Form.of(rest)
    if b.is_number and n > 0 and remainder.terms and remainder.terms[0][1] < 0:
        opposite = Form.number(n - 1).plus(remainder, -1)  # floor(-x / n) = -floor((x + n - 1) / n)
        return Form.of(whole).plus(divided(trace, opposite, b), -1)
    return Form.of(whole).plus(_rest_divided(trace, remainder, b))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _rest_divided(trace: Trace, a: Form, b: Form) -> Form:
    if not a.terms:
        return a
    low, high = trace.bounds_of(a)
    least = trace.bounds_of(b)[0]
    if low >= 0 and (high < least or trace.bounds_of(a.plus(b, -1))[1] < 0):
        return Form.number(0)
    if b.is_number and (n := b.constant) > 0:
        factors = [f for m, f in a.terms if m]
        common = gcd(n, *factors)
        if common > 1:
            a = Form.of((m, f // common) for m, f in a.terms)
            return divided(trace, a, Form.number(n // common))
        outer = a.plus(Form.number(a.constant), -1)
        if len(outer.terms) == 1 and outer.terms[0][1] == 1 and len(outer.terms[0][0]) == 1:
            (atom,) = outer.terms[0][0]
            if isinstance(atom, Operation) and atom.sign == "/" and atom.right.is_number:
                m = atom.right.constant
                inner = atom.left.plus(Form.number(a.constant * m))
                return divided(trace, inner, Form.number(m * n))
    return Form.of([((Operation("/", a, b),), 1)])
