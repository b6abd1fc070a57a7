"""Open sizes in the schedule: expressions in postfix notation.

Runtimes work out no more than ``MOST_TERMS`` and ``LARGEST`` say, as docs/schedule.md and its
schema have it. What would need more is refused here, by its layer. What is asked of the parameters
is in :mod:`.constraints`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from ..ir.form import Parameter
from ..ir.size import OpenSizeError, Trace, is_open

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ir.form import Form

LARGEST = 2**53 - 1  # of what a runtime works out
MOST_TERMS = 4096  # of an expression
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

    Raises:
        OpenSizeError: for the layer at hand, when no runtime can work it out.
    """
    return postfix(size.trace, size.form) if is_open(size) else int(size)


def postfix(trace: Trace, form: Form) -> Expression:
    """Return a form in postfix notation.

    Raises:
        OpenSizeError: for the layer at hand, when no runtime can work it out.
    """
    result = _postfix(form)
    if len(result) > MOST_TERMS:
        raise OpenSizeError(f"an expression of {len(result)} terms")
    stack: list[int] = []
    for term in result:
        if term in OPERATORS:
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATORS[term](left, right))
        else:
            stack.append(trace.defaults[term] if isinstance(term, str) else term)
        if abs(stack[-1]) > LARGEST:
            raise OpenSizeError(f"a number beyond {LARGEST}")
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
