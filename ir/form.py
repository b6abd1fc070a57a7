"""Exact forms of open sizes: polynomials of parameters, quotients, minima and maxima."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True, slots=True)
class Parameter:
    """A size that the application chooses."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Operation:
    """A quotient rounded down (``/``), a minimum or a maximum of two forms."""

    sign: str
    left: Form
    right: Form

    @cached_property
    def _text(self) -> str:  # kept, as texts order monomials: each is asked for many times
        if self.sign == "/":
            return f"{grouped(self.left)} / {grouped(self.right, '*')}"
        return f"{self.sign}({self.left}, {self.right})"

    def __str__(self) -> str:
        return self._text


Atom = Parameter | Operation
Monomial = tuple[Atom, ...]


def grouped(form: Form, loose: str = "") -> str:
    """Return a form's text, in parentheses where it is negative, a sum, a quotient or ``loose``."""
    text = str(form)
    return f"({text})" if any(sign in text for sign in f" -{loose}") else text


@dataclass(frozen=True, slots=True)
class Form:
    """A polynomial: monomials, which are sorted products of atoms, with their factors.

    Monomials are in the order of their texts, and no factor is 0, so equal polynomials are equal.
    Forms that differ have texts that differ, as texts name what is computed of them.
    """

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(terms: Iterable[tuple[Monomial, int]]) -> Form:
        """Return the sum of terms."""
        total: dict[Monomial, int] = {}
        for monomial, factor in terms:
            total[monomial] = total.get(monomial, 0) + factor
        kept = [(m, f) for m, f in total.items() if f]
        return Form(tuple(sorted(kept, key=lambda term: (-len(term[0]), tuple(map(str, term[0]))))))

    @staticmethod
    def number(value: int) -> Form:
        return Form(((((), value)),) if value else ())

    @property
    def constant(self) -> int:
        """The number that is added to the rest."""
        return next((f for m, f in self.terms if not m), 0)

    @property
    def is_number(self) -> bool:
        return all(not m for m, _ in self.terms)

    @property
    def degree(self) -> int:
        """How many sizes are multiplied at most."""
        return max((len(m) for m, _ in self.terms), default=0)

    @property
    def parameters(self) -> frozenset[str]:
        """The names that it is computed of."""
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, Parameter):
                    found.add(atom.name)
                else:
                    found |= atom.left.parameters | atom.right.parameters
        return frozenset(found)

    def parts(self) -> tuple[int, int, Form]:
        """Return c, n and the form x without a common factor or a constant: self is c + n * x."""
        constant = self.constant
        divisor = gcd(*(f for m, f in self.terms if m)) or 1
        return constant, divisor, Form(tuple((m, f // divisor) for m, f in self.terms if m))

    def plus(self, other: Form, times: int = 1) -> Form:
        """Return self + times * other."""
        return Form.of((*self.terms, *((m, times * f) for m, f in other.terms)))

    def times(self, other: Form) -> Form:
        return Form.of(
            (tuple(sorted(a + b, key=str)), f * g) for a, f in self.terms for b, g in other.terms
        )

    def __str__(self) -> str:
        text = ""
        for monomial, factor in self.terms:
            alone = len(monomial) == 1 and (factor == 1 or (factor == -1 and text))
            atoms = [f"({a})" if " / " in a and not alone else a for a in map(str, monomial)]
            parts = [str(abs(factor))] * (abs(factor) != 1 or not atoms) + atoms
            sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
            text += sign + "*".join(parts)
        return text or "0"


def reduced(a: Form, b: Form, positive: Callable[[Atom], bool]) -> tuple[Form, Form]:
    """Return two forms whose quotient, rounded down, is that of a and b, without common factors.

    (n * x + c) / (n * y) = (x + c / n) / y for a number n > 0, all rounded down, as y is whole.

    Args:
        a: the dividend.
        b: the divisor, which must be positive.
        positive: whether an atom is, at all sizes: only such are cancelled.
    """
    if not a.terms:
        return a, b
    shared = [list(m) for m, _ in (*a.terms, *b.terms)]
    for atom in dict.fromkeys(shared[-1]):
        while all(atom in m for m in shared) and positive(atom):
            for m in shared:
                m.remove(atom)
    n = gcd(*(f for m, f in a.terms if m), *(f for _, f in b.terms))
    factors = [f // n for _, f in (*a.terms, *b.terms)]
    terms = [(tuple(m), f) for m, f in zip(shared, factors, strict=True)]
    return Form.of(terms[: len(a.terms)]), Form.of(terms[len(a.terms) :])


def exact_quotient(a: Form, b: Form) -> Form | None:
    """Return the form that times b is a, where there is one."""
    atoms = sorted({atom for m, _ in (*a.terms, *b.terms) for atom in m}, key=str)

    def order(term: tuple[Monomial, int]) -> tuple[int, ...]:
        return len(term[0]), *map(term[0].count, atoms)

    leading, n = max(b.terms, key=order)
    result = Form(())
    while a.terms:
        monomial, factor = max(a.terms, key=order)
        left = list(monomial)
        for atom in leading:
            if atom not in left:
                return None
            left.remove(atom)
        if factor % n:
            return None
        part = Form.of([(tuple(left), factor // n)])
        result, a = result.plus(part), a.plus(part.times(b), -1)
    return result


def as_remainder(form: Form) -> tuple[Form, int] | None:
    """Return x and n where a form without constant is x % n, but for x's constant.

    Of quotients too, whose own are written as one: x / n = y / (m * n) where x = y / m.
    """
    for monomial, factor in form.terms:
        if not (len(monomial) == 1 and factor < 0 and isinstance(monomial[0], Operation)):
            continue
        left, right = monomial[0].left, monomial[0].right
        if monomial[0].sign != "/" or not right.is_number or right.constant < 1:
            continue
        rest = form.plus(Form.of([(monomial, factor)]), -1)
        inner, m = _quotient(rest)
        added = left.plus(inner, -1)
        if right.constant == -factor * m and added.is_number and added.constant % m == 0:
            return rest.plus(Form.number(added.constant // m)), -factor
    return None


def _quotient(form: Form) -> tuple[Form, int]:
    """Return y and m where a form is y / m and m is a number, else the form and 1."""
    if len(form.terms) == 1:
        ((monomial, factor),) = form.terms
        atom = monomial[0] if len(monomial) == 1 and factor == 1 else None
        if isinstance(atom, Operation) and atom.sign == "/" and atom.right.is_number:
            return atom.left, atom.right.constant
    return form, 1
