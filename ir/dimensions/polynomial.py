"""Polynomials of symbols, quotients rounded down, minima and maxima, in one normal form.

Equal polynomials are one object (:mod:`..interning`). Polynomials beyond ``LONGEST``,
``MOST_FACTORS``, ``DEEPEST`` or ``LARGEST`` are refused (SG0207), so each operation here takes
bounded time, whatever a model computes of its sizes.
"""

from __future__ import annotations

from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING

from ...records import dataclass
from ..interning import Interned
from .errors import DimensionLimitError, DynamicDimensionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_TERMS = 4096  # in postfix notation: of an expression of a schedule
LONGEST = 2 * MOST_TERMS  # of a polynomial: differences of such
MOST_FACTORS = 64  # sizes that are multiplied
DEEPEST = 64  # quotients, minima and maxima in one another
MOST_QUOTIENTS = 256  # terms of a quotient of polynomials
LARGEST = 2**63 - 1  # numbers: as ONNX's integers


@dataclass(frozen=True, eq=False)
class Symbol(metaclass=Interned):
    """A size that the application chooses."""

    name: str

    depth = 0
    count = 1

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset((self.name,))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Operation(metaclass=Interned):
    """A quotient rounded down (``/``), a minimum or a maximum of two polynomials."""

    sign: str
    left: Polynomial
    right: Polynomial

    @cached_property
    def depth(self) -> int:
        """How many operations are in one another."""
        return 1 + max(self.left.depth, self.right.depth)

    @cached_property
    def count(self) -> int:
        """How many terms it has in postfix notation."""
        return self.left.count + self.right.count + 1

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The names that it is computed of."""
        return self.left.symbols | self.right.symbols

    @cached_property
    def _text(self) -> str:  # kept, as texts order monomials: each is asked for many times
        if self.sign == "/":
            return f"{grouped(self.left)} / {grouped(self.right, '*')}"
        return f"{self.sign}({self.left}, {self.right})"

    def __str__(self) -> str:
        return self._text


Atom = Symbol | Operation
Monomial = tuple[Atom, ...]


def _count(monomial: Monomial) -> int:
    return max(sum(atom.count + 1 for atom in monomial) - 1, 1)


def grouped(polynomial: Polynomial, loose: str = "") -> str:
    """Return a text, in parentheses where it is negative, a sum, a quotient or has ``loose``."""
    text = str(polynomial)
    return f"({text})" if any(sign in text for sign in f" -{loose}") else text


@dataclass(frozen=True, eq=False)
class Polynomial(metaclass=Interned):
    """A polynomial: monomials, which are sorted products of atoms, with their factors.

    Monomials are in the order of their texts, and no factor is 0, so equal polynomials are equal.
    Polynomials that differ have texts that differ, as texts name what is computed of them.

    Raises:
        DynamicDimensionError: for the layer at hand, when it is too large.
    """

    terms: tuple[tuple[Monomial, int], ...]

    def __post_init__(self) -> None:
        if self.degree > MOST_FACTORS:
            raise DimensionLimitError(f"a product of {self.degree} sizes", MOST_FACTORS)
        if self.depth > DEEPEST:
            raise DimensionLimitError(f"{self.depth} nested quotients", DEEPEST)
        if any(abs(factor) > LARGEST for _, factor in self.terms):
            raise DimensionLimitError("a factor beyond 64 bits", LARGEST)
        if self.count - 2 * self._begins_with_minus > LONGEST:  # so that -x is in where x is
            raise DimensionLimitError(f"a polynomial of {self.count:,} terms", LONGEST)

    @staticmethod
    def of(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
        """Return the sum of terms."""
        total: dict[Monomial, int] = {}
        for monomial, factor in terms:
            total[monomial] = total.get(monomial, 0) + factor
        kept = [(m, f) for m, f in total.items() if f]
        return Polynomial(
            tuple(sorted(kept, key=lambda term: (-len(term[0]), tuple(map(str, term[0])))))
        )

    @staticmethod
    def number(value: int) -> Polynomial:
        return Polynomial(((((), value)),) if value else ())

    @property
    def constant(self) -> int:
        """The number that is added to the rest."""
        return self.terms[-1][1] if self.terms and not self.terms[-1][0] else 0

    @property
    def is_number(self) -> bool:
        return not self.terms or not self.terms[0][0]

    @cached_property
    def degree(self) -> int:
        """How many sizes are multiplied at most."""
        return max((len(m) for m, _ in self.terms), default=0)

    @cached_property
    def depth(self) -> int:
        """How many operations are in one another."""
        return max((atom.depth for m, _ in self.terms for atom in m), default=0)

    @cached_property
    def count(self) -> int:
        """How many terms it has in postfix notation."""
        terms = [_count(m) + 2 * (m != () and abs(f) != 1) for m, f in self.terms]
        signs = max(len(terms) - 1, 0) + 2 * self._begins_with_minus  # as 0 - x
        return max(sum(terms) + signs, 1)

    @property
    def _begins_with_minus(self) -> bool:
        return bool(self.terms) and self.terms[0][1] < 0

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The names that it is computed of."""
        return frozenset().union(*(atom.symbols for m, _ in self.terms for atom in m))

    @cached_property
    def parts(self) -> tuple[int, int, Polynomial]:
        """c, n and the polynomial x without a common factor or a constant: self is c + n * x."""
        constant = self.constant
        divisor = gcd(*(f for m, f in self.terms if m)) or 1
        if divisor == 1 and not constant:
            return 0, 1, self
        return constant, divisor, Polynomial(tuple((m, f // divisor) for m, f in self.terms if m))

    @cached_property
    def without_constant(self) -> Polynomial:
        """What the constant is added to."""
        return Polynomial(tuple(term for term in self.terms if term[0])) if self.constant else self

    @cached_property
    def negated(self) -> Polynomial:
        """The polynomial -self."""
        return Polynomial(tuple((m, -f) for m, f in self.terms))

    def plus(self, other: Polynomial, times: int = 1) -> Polynomial:
        """Return self + times * other."""
        return Polynomial.of((*self.terms, *((m, times * f) for m, f in other.terms)))

    def times(self, other: Polynomial) -> Polynomial:
        """Return self * other."""
        if len(self.terms) * len(other.terms) > LONGEST:
            terms = len(self.terms) * len(other.terms)
            raise DimensionLimitError(f"a product of {terms:,} terms", LONGEST)
        return Polynomial.of(
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


def reduced(
    a: Polynomial, b: Polynomial, positive: Callable[[Atom], bool]
) -> tuple[Polynomial, Polynomial]:
    """Return polynomials without common factors whose quotient, rounded down, is that of a and b.

    (n * x + c) / (n * y) = (x + c / n) / y for a number n > 0, all rounded down, as y is whole.

    Args:
        a: the dividend.
        b: the divisor, which must be positive.
        positive: whether an atom is positive at all sizes. Only positive atoms are cancelled.
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
    return Polynomial.of(terms[: len(a.terms)]), Polynomial.of(terms[len(a.terms) :])


def exact_quotient(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """Return a / b where it is a polynomial of at most ``MOST_QUOTIENTS`` terms."""
    atoms = sorted({atom for m, _ in (*a.terms, *b.terms) for atom in m}, key=str)
    rank = {atom: -k for k, atom in enumerate(atoms)}

    def order(term: tuple[Monomial, int]) -> tuple[int, list[int]]:
        return len(term[0]), [rank[atom] for atom in term[0]]

    leading, n = max(b.terms, key=order)
    result = Polynomial(())
    while a.terms and len(result.terms) < MOST_QUOTIENTS:
        monomial, factor = max(a.terms, key=order)
        left = list(monomial)
        for atom in leading:
            if atom not in left:
                return None
            left.remove(atom)
        if factor % n:
            return None
        part = Polynomial.of([(tuple(left), factor // n)])
        try:
            result, a = result.plus(part), a.plus(part.times(b), -1)
        except DynamicDimensionError:  # too large, on the way to what may be small
            return None
    return None if a.terms else result


def as_remainder(polynomial: Polynomial) -> tuple[Polynomial, int] | None:
    """Return x and n if a polynomial without a constant is x % n minus the constant of x.

    x may be a quotient y / m: the polynomial then contains x / n as y / (m * n).
    """
    for monomial, factor in polynomial.terms:
        if not (len(monomial) == 1 and factor < 0 and isinstance(monomial[0], Operation)):
            continue
        left, right = monomial[0].left, monomial[0].right
        if monomial[0].sign != "/" or not right.is_number or right.constant < 1:
            continue
        rest = Polynomial(tuple(term for term in polynomial.terms if term[0] is not monomial))
        inner, m = _quotient(rest)
        if right.constant != -factor * m or left.without_constant is not inner.without_constant:
            continue
        added = left.constant - inner.constant
        if added % m == 0:
            return rest.plus(Polynomial.number(added // m)), -factor
    return None


def _quotient(polynomial: Polynomial) -> tuple[Polynomial, int]:
    """Return y and m where a polynomial is y / m and m is a number, else the polynomial and 1."""
    if len(polynomial.terms) == 1:
        ((monomial, factor),) = polynomial.terms
        atom = monomial[0] if len(monomial) == 1 and factor == 1 else None
        if isinstance(atom, Operation) and atom.sign == "/" and atom.right.is_number:
            return atom.left, atom.right.constant
    return polynomial, 1
