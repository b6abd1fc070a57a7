"""Dynamic dimensions in the schedule: expressions in postfix notation.

Runtimes evaluate at most ``MOST_TERMS`` terms and values up to ``LARGEST`` (docs/schedule.md and
the JSON Schema). Expressions beyond these limits are refused here, with the layer's name.
Constraints on the parameters are in :mod:`.constraints`.
"""

from __future__ import annotations

import operator
from math import inf
from typing import TYPE_CHECKING

from ..ir.dimensions import DimensionLimitError, ShapeEnvironment, is_dynamic
from ..ir.dimensions.polynomial import MOST_TERMS, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ir.dimensions.polynomial import Polynomial

LARGEST = 2**53 - 1  # of what a runtime works out
OPERATORS: dict[int | str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "min": min,
    "max": max,
}

Expression = list[int | str]


def expression(size: int) -> int | Expression:
    """Return a size as the schedule has it: a number, or an expression in postfix notation.

    That runtimes can work it out becomes a constraint where it is not so for all sizes.

    Raises:
        DimensionLimitError: for the layer at hand, if beyond runtimes at the default sizes.
    """
    if not is_dynamic(size):
        return int(size)
    result = postfix(size.environment, size.polynomial)
    _keep_exact(size.environment, size.polynomial)
    return result


def _keep_exact(environment: ShapeEnvironment, polynomial: Polynomial) -> None:
    if environment.largest_intermediate(polynomial) <= LARGEST:
        return
    for monomial, _ in polynomial.terms:
        for atom in monomial:
            if not isinstance(atom, Symbol):
                _keep_exact(environment, atom.left)
                _keep_exact(environment, atom.right)
    low, high = environment.bounds_of(polynomial)
    if low < -LARGEST or high > LARGEST:
        least = -LARGEST if low < -LARGEST else -inf
        environment.add_guard(polynomial, least, LARGEST if high > LARGEST else inf)


def postfix(environment: ShapeEnvironment, polynomial: Polynomial) -> Expression:
    """Return a polynomial in postfix notation.

    Raises:
        DimensionLimitError: for the layer at hand, when no runtime can work it out.
    """
    if polynomial.count > MOST_TERMS:
        raise DimensionLimitError(f"a polynomial of {polynomial.count:,} terms", MOST_TERMS)
    result = _postfix(polynomial)
    stack: list[int] = []
    for term in result:
        if term in OPERATORS:
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATORS[term](left, right))
        else:
            stack.append(environment.defaults[term] if isinstance(term, str) else term)
        if abs(stack[-1]) > LARGEST:
            what = "a value beyond 2^53, which web runtimes cannot hold exactly"
            raise DimensionLimitError(what, LARGEST)
    return result


def _postfix(polynomial: Polynomial) -> Expression:
    result: Expression = []
    for monomial, factor in polynomial.terms:
        term: Expression = []
        for atom in monomial:
            one: Expression = (
                [atom.name]
                if isinstance(atom, Symbol)
                else [*_postfix(atom.left), *_postfix(atom.right), atom.sign]
            )
            term += one + (["*"] if term else [])
        if not term:
            term, factor = [abs(factor)], 1 if factor > 0 else -1
        elif abs(factor) != 1:
            term, factor = [*term, abs(factor), "*"], 1 if factor > 0 else -1
        if not result:
            result = term if factor > 0 else [0, *term, "-"]
        else:
            result += [*term, "+" if factor > 0 else "-"]
    return result or [0]
