"""Simpler index maps: integer expressions rewritten by what their variables can be.

Every expression is a sum, whole multiples of parts plus a number, and every part has a range. With
``a = n*q + r``, where q has the terms that n divides:

    a / n = q + r / n            r / n = s                where s*n <= r < (s + 1)*n
    a % n = r % n                r % n = r - s*n          likewise
    (g*a + b) / (g*n) = a / n    (g*a + b) % (g*n) = g * (a % n) + b      where 0 <= b < g
    a / m / n = a / (m*n)        (a / n) * n + a % n = a

Comparisons, minima and choices that ranges decide are decided. What is divided stays non-negative,
as ``ir.indexing`` demands.
"""

from __future__ import annotations

from math import gcd, isfinite
from typing import TYPE_CHECKING, cast

from ..records import dataclass
from .dimensions import bounds
from .expr import Call, Expr, Extent, Num, Var, walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Range = tuple[int, int]


@dataclass(frozen=True)
class _Sum:
    """Whole multiples of parts, in order of first use, plus a number."""

    terms: tuple[tuple[Expr, int], ...] = ()
    number: int = 0

    def scaled(self, factor: int) -> _Sum:
        terms = tuple((part, factor * times) for part, times in self.terms)
        return _Sum(terms if factor else (), factor * self.number)

    def plus(self, other: _Sum) -> _Sum:
        terms = dict(self.terms)
        for part, times in other.terms:
            terms[part] = terms.get(part, 0) + times
        kept = tuple((part, times) for part, times in terms.items() if times)
        return _Sum(kept, self.number + other.number)

    def minus(self, other: _Sum) -> _Sum:
        return self.plus(other.scaled(-1))

    def expr(self) -> Expr:
        """Return the sum as an expression, positive terms first."""
        added = [_product(part, times) for part, times in self.terms if times > 0]
        taken = [_product(part, -times) for part, times in self.terms if times < 0]
        if self.number > 0 or not added:
            added.append(Num(float(self.number)))
        result = added[0]
        for e in added[1:]:
            result = Call("add", (result, e))
        if self.number < 0 and result != Num(float(self.number)):
            taken.append(Num(float(-self.number)))
        for e in taken:
            result = Call("sub", (result, e))
        return result


def _whole(found: tuple[float, float]) -> Range | None:
    return (int(found[0]), int(found[1])) if all(map(isfinite, found)) else None


def _product(part: Expr, times: int) -> Expr:
    return part if times == 1 else Call("mul", (part, Num(float(times))))


def simplify(expr: Expr, ranges: Mapping[str, Range]) -> Expr:
    """Return an equal expression with fewer divisions, comparisons and products, if there is one.

    Args:
        expr: an integer expression of an index map.
        ranges: the least and the largest value of variables; those of others are not known.
    """
    return _Simplifier(ranges).sum(expr).expr()


def value_range(expr: Expr, ranges: Mapping[str, Range]) -> Range | None:
    """Return the least and the largest value of an index; None if they are not known.

    Args:
        expr: an integer expression of an index map.
        ranges: as :func:`simplify` takes them.
    """
    simplifier = _Simplifier(ranges)
    return simplifier.range(simplifier.sum(expr))


class _Simplifier:
    def __init__(self, ranges: Mapping[str, Range]) -> None:
        self.ranges = ranges
        self.known: dict[Expr, _Sum] = {}

    def sum(self, expr: Expr) -> _Sum:
        for e in walk(expr):
            if e not in self.known:
                self.known[e] = self._recombined(self._sum(e))
        return self.known[expr]

    def _sum(self, e: Expr) -> _Sum:
        if isinstance(e, Num):
            return _Sum((), int(e.value))
        if isinstance(e, Var):
            return _Sum(((e, 1),))
        args = [self.known[a] for a in e.args]
        if e.function in ("add", "sub"):
            return args[0].plus(args[1]) if e.function == "add" else args[0].minus(args[1])
        if e.function == "mul" and not all(a.terms for a in args):
            factor, other = args if not args[0].terms else args[::-1]
            return other.scaled(factor.number)
        if e.function in ("idiv", "imod") and not args[1].terms:
            return (self._quotient if e.function == "idiv" else self._remainder)(
                args[0], args[1].number
            )
        return self._chosen(e.function, args) or _Sum(
            ((Call(e.function, tuple(a.expr() for a in args)), 1),)
        )

    def range(self, total: _Sum) -> Range | None:
        low = high = total.number
        for part, times in total.terms:
            found = self._range(part)
            if found is None:
                return None
            ends = times * found[0], times * found[1]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _range(self, part: Expr) -> Range | None:
        if isinstance(part, Extent):
            return _whole(bounds(cast("int", part.size)))
        if isinstance(part, Var):
            return self.ranges.get(part.name)
        assert isinstance(part, Call)
        if part.function in ("lt", "le", "eq"):
            return 0, 1
        args = [self.range(self.sum(a)) for a in part.args]
        if part.function == "imod" and args[1] is not None:
            return 0, args[1][1] - 1
        known = [a for a in args if a is not None]
        if part.function in ("min", "max") and known:
            return self._extreme(part.function, args)
        if len(known) < len(args):
            return None
        if part.function == "idiv":
            return known[0][0] // known[1][0], known[0][1] // known[1][0]
        if part.function == "where":
            return min(known[1][0], known[2][0]), max(known[1][1], known[2][1])
        return None

    @staticmethod
    def _extreme(function: str, args: Sequence[Range | None]) -> Range | None:
        if any(a is None for a in args):
            return None
        pick = min if function == "min" else max
        (a, b) = (a for a in args if a is not None)
        return pick(a[0], b[0]), pick(a[1], b[1])

    def _divided(self, a: _Sum, n: int) -> tuple[_Sum, _Sum]:
        """Return q and r with a = n*q + r, r not negative where that is known."""
        whole = tuple((part, times // n) for part, times in a.terms if times % n == 0)
        rest = tuple((part, times) for part, times in a.terms if times % n)
        q, r = _Sum(whole, a.number // n), _Sum(rest, a.number % n)
        found = self.range(r)
        if found is not None and (found[0] < 0 or found[1] // n == found[0] // n):
            s = found[0] // n
            q, r = q.plus(_Sum((), s)), r.plus(_Sum((), -s * n))
        return q, r

    def _quotient(self, a: _Sum, n: int) -> _Sum:
        q, r = self._divided(a, n)
        found = self.range(r)
        if found is not None and found[0] >= 0 and found[1] < n:
            return q
        if found is None or found[0] < 0:
            q, r = _Sum(), a  # where the rest may be negative, divide all of it
        common = gcd(n, *(times for _, times in r.terms))
        terms = tuple((part, times // common) for part, times in r.terms)
        r, n = _Sum(terms, r.number // common), n // common
        if n == 1:
            return q.plus(r)
        if len(r.terms) == 1 and not r.number and r.terms[0][1] == 1:
            part = r.terms[0][0]
            if isinstance(part, Call) and part.function == "idiv" and isinstance(part.args[1], Num):
                return q.plus(self._quotient(self.sum(part.args[0]), int(part.args[1].value) * n))
        return q.plus(_Sum(((Call("idiv", (r.expr(), Num(float(n)))), 1),)))

    def _remainder(self, a: _Sum, n: int) -> _Sum:
        _, r = self._divided(a, n)
        found = self.range(r)
        if found is not None and found[0] >= 0 and found[1] < n:
            return r
        if found is None or found[0] < 0:
            r = a
        common = gcd(n, *(times for _, times in r.terms))
        b = _Sum((), r.number % common)
        terms = tuple((part, times // common) for part, times in r.terms)
        inner, n = _Sum(terms, r.number // common), n // common
        if n == 1:
            return b
        part = Call("imod", (inner.expr(), Num(float(n))))
        return _Sum(((part, 1),)).scaled(common).plus(b)

    def _recombined(self, total: _Sum) -> _Sum:
        """Put quotients and remainders of the same division together again."""
        for part, times in total.terms:
            if not isinstance(part, Call) or part.function != "imod":
                continue
            a, divisor = map(self.sum, part.args)
            if divisor.terms:
                continue
            n = divisor.number
            quotient = self._quotient(a, n)
            have = dict(total.terms)
            wanted = [(p, t * n * times) for p, t in quotient.terms]
            if wanted and all(have.get(p) == t for p, t in wanted):
                found = total.minus(quotient.scaled(n * times)).minus(_Sum(((part, times),)))
                return self._recombined(found.plus(a.scaled(times)))
        return total

    def _chosen(self, function: str, args: Sequence[_Sum]) -> _Sum | None:
        """Return the result of a comparison, an extreme or a choice that ranges decide."""
        if function == "where":
            found = self.range(args[0])
            if found == (0, 0):
                return args[2]
            sure = found is not None and (found[0] > 0 or found[1] < 0)
            return args[1] if sure else None
        if function not in ("lt", "le", "eq", "min", "max"):
            return None
        found = self.range(args[0].minus(args[1]))
        if found is None:
            return None
        low, high = found
        if function in ("min", "max"):
            first = high <= 0 if function == "min" else low >= 0
            second = low >= 0 if function == "min" else high <= 0
            return args[0] if first else args[1] if second else None
        holds = {"lt": high < 0, "le": high <= 0, "eq": low == high == 0}[function]
        fails = {"lt": low >= 0, "le": low > 0, "eq": low > 0 or high < 0}[function]
        return _Sum((), 1) if holds else _Sum((), 0) if fails else None
