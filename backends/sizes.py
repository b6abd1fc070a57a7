"""Open sizes in the schedule: expressions in postfix notation.

Runtimes work out no more than ``MOST_TERMS`` and ``LARGEST`` say, as docs/schedule.md and its
schema have it. What would need more is refused here, by its layer. What is asked of the parameters
is in :mod:`.constraints`.
"""

from __future__ import annotations

import operator
from math import inf
from typing import TYPE_CHECKING

from ..ir.dimensions.form import MOST_TERMS, Parameter
from ..ir.dimensions.size import SizeLimitError, Trace, is_open

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ir.dimensions.form import Form

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
        SizeLimitError: for the layer at hand, when no runtime can work it out at the default sizes.
    """
    if not is_open(size):
        return int(size)
    result = postfix(size.trace, size.form)
    _keep_exact(size.trace, size.form)
    return result


def _keep_exact(trace: Trace, form: Form) -> None:
    if trace.reach(form) <= LARGEST:
        return
    for monomial, _ in form.terms:
        for atom in monomial:
            if not isinstance(atom, Parameter):
                _keep_exact(trace, atom.left)
                _keep_exact(trace, atom.right)
    low, high = trace.bounds_of(form)
    if low < -LARGEST or high > LARGEST:
        least = -LARGEST if low < -LARGEST else -inf
        trace.note(form, least, LARGEST if high > LARGEST else inf)


def postfix(trace: Trace, form: Form) -> Expression:
    """Return a form in postfix notation.

    Raises:
        SizeLimitError: for the layer at hand, when no runtime can work it out.
    """
    if form.count > MOST_TERMS:
        raise SizeLimitError(f"a formula of {form.count:,} terms", MOST_TERMS)
    result = _postfix(form)
    stack: list[int] = []
    for term in result:
        if term in OPERATORS:
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATORS[term](left, right))
        else:
            stack.append(trace.defaults[term] if isinstance(term, str) else term)
        if abs(stack[-1]) > LARGEST:
            raise SizeLimitError("a number that JavaScript rounds", LARGEST)
    return result


def _postfix(form: Form) -> Expression:
    result: Expression = []
    for monomial, factor in form.terms:
        term: Expression = []
        for atom in monomial:
            one: Expression = (
                [atom.name]
                if isinstance(atom, Parameter)
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
