"""Constraints on dynamic dimensions in words."""

from __future__ import annotations

from math import gcd, inf
from typing import TYPE_CHECKING

from ..errors import count
from ..ir.dimensions.polynomial import Operation, Polynomial, Symbol, as_remainder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..ir.dimensions.environment import Guard
    from ..ir.dimensions.polynomial import Atom
    from .solutions import Rectangle

MOST_LAYERS = 4  # that are named


def multiple_text(step: int, rest: int) -> str:
    """Describe a remainder: ``even``, ``odd``, ``a multiple of 4``."""
    if step == 2:
        return "odd" if rest else "even"
    return f"a multiple of {step}" + (f" plus {rest}" if rest else "")


def for_layers(names: Iterable[str]) -> str:
    """Return ``, for layers a and b``; nothing for none."""
    text, _ = _layers(names)
    return f", for {text}" if text else ""


def _layers(names: Iterable[str]) -> tuple[str, int]:
    """Return ``layers a and b`` and how many they are."""
    named = list(dict.fromkeys(filter(None, names)))
    number = len(named)
    if number > MOST_LAYERS:
        named[MOST_LAYERS - 1 :] = [f"{number - MOST_LAYERS + 1} more"]
    if number < 2:
        return f"layer {named[0]}" if named else "", number
    return f"layers {', '.join(named[:-1])} and {named[-1]}", number


def fixing_text(layers: Iterable[str], what: str) -> str:
    """Return ``layers a and b fix`` something, the height to 12 for example."""
    text, number = _layers(layers)
    return f"{text or 'the network'} {'fix' if number > 1 else 'fixes'} {what}"


def solutions_text(
    rectangles: Sequence[Rectangle], defaults: Mapping[str, int], guard: Guard
) -> str:
    """Return the sizes that a guard allows, the default's range first."""
    at = tuple(defaults.values())
    inside = (
        all(a <= x <= b for a, x, b in zip(r.first, at, r.last, strict=True)) for r in rectangles
    )
    own = next(r for r, holds in zip(rectangles, inside, strict=True) if holds)
    others = len(rectangles) - 1
    ranges = f"{' and '.join(defaults)} ranges"
    more = f", or {count(others, 'other combination')} of {ranges}" if others else ""
    layers, number = _layers(guard.layers)
    allow = "allow" if number > 1 else "allows"
    return f"{layers or 'the network'} {allow} only {own.text(list(defaults))}{more}"


def length(polynomial: Polynomial, guard: Guard) -> int:
    """Return how long the text of a guard is without its layers."""
    return len(_asked(polynomial, guard.low, guard.high))


def formula_text(polynomial: Polynomial, guard: Guard) -> str:
    """Return the text of a guard whose polynomial is too long to print."""
    what = " and ".join(sorted(polynomial.symbols))
    condition = f"a condition with {polynomial.count} terms, too long to print"
    return f"{what} must satisfy {condition}{for_layers(guard.layers)}"


def bounds_text(what: str, low: float, high: float) -> str:
    """Return the text of bounds, of which at least one is finite."""
    low, high = low + 0.0, high + 0.0  # which is no -0
    if low == high:
        return f"{what} must be {low:.0f}"
    if high == inf:
        return f"{what} must be at least {low:.0f}"
    if low == -inf:
        return f"{what} must be at most {high:.0f}"
    return f"{what} must be from {low:.0f} to {high:.0f}"


def constraint_text(polynomial: Polynomial, guard: Guard) -> str:
    """Return the text of a guard and the layers that need it."""
    return _asked(polynomial, guard.low, guard.high) + for_layers(guard.layers)


def _asked(polynomial: Polynomial, low: float, high: float) -> str:
    if other := _differing(polynomial):
        if (low, high) == (1, inf):
            left, right = _sides(other)
            return f"{left} must not be {right}"
    elif found := as_remainder(polynomial):
        divided, step = found
        rest = divided.constant
        if low == high:
            shifted = divided.plus(Polynomial.number(rest), -1)
            return f"{size_words(shifted)} must be {multiple_text(step, int(low) % step)}"
        what = size_words(divided)
        what = f"({what})" if " " in what else what
        return bounds_text(f"{what} % {step}", low + rest, high + rest)
    elif low == high and any(factor < 0 for _, factor in polynomial.terms):
        left, right = _sides(polynomial.plus(Polynomial.number(int(low)), -1))
        return f"{left} must be {right}"
    return bounds_text(size_words(polynomial), low, high)


def _differing(polynomial: Polynomial) -> Polynomial | None:
    """Return x where a polynomial is max(x, -x)."""
    match polynomial.terms:
        case ((((Operation("max", left, right),), 1)),) if not left.plus(right).terms:
            return left
    return None


def _sides(polynomial: Polynomial) -> tuple[str, str]:
    """Return a and b without a minus, which are equal where a polynomial is 0; products first."""
    divisor = gcd(*(f for _, f in polynomial.terms))
    a = Polynomial(tuple((m, f // divisor) for m, f in polynomial.terms if f > 0))
    b = Polynomial(tuple((m, -f // divisor) for m, f in polynomial.terms if f < 0))
    a, b = sorted((a, b), key=lambda side: (-side.degree, str(side)))
    return size_words(a), size_words(b)


def size_words(polynomial: Polynomial) -> str:
    """Return a polynomial as people write it, with ``floor`` and ``ceil``."""
    text = ""
    for monomial, factor in polynomial.terms:
        factors = [str(abs(factor))] if abs(factor) != 1 or not monomial else []
        sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
        text += sign + "*".join(factors + [_atom_words(atom) for atom in monomial])
    return text or "0"


def _atom_words(atom: Atom) -> str:
    if isinstance(atom, Symbol):
        return atom.name
    if atom.sign != "/":
        return f"{atom.sign}({size_words(atom.left)}, {size_words(atom.right)})"
    left, function = atom.left, "floor"
    if atom.right.is_number and left.constant == atom.right.constant - 1:
        left, function = left.plus(Polynomial.number(left.constant), -1), "ceil"
    sides = [size_words(left), size_words(atom.right)]
    sides = [f"({side})" if " + " in side or " - " in side else side for side in sides]
    sides[1] = f"({sides[1]})" if "*" in sides[1] and sides[1][0] != "(" else sides[1]
    return f"{function}({sides[0]} / {sides[1]})"
