"""Open sizes in the schedule: expressions, parameters, constraints.

Runtimes work out no more than ``MOST_TERMS`` and ``LARGEST`` say and check no more constraints than
``MOST_CONSTRAINTS``, as docs/schedule.md and its schema have it. What would need more is refused
here, by its layer.
"""

from __future__ import annotations

import operator
from math import inf
from typing import TYPE_CHECKING

from ..ir.form import Parameter, as_remainder, grouped
from ..ir.size import OpenSizeError, Trace, at_layer, is_open

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ir.form import Form
    from ..ir.trace import Fact

LARGEST = 2**53 - 1  # of what a runtime works out
MOST_TERMS = 4096  # of an expression
MOST_CONSTRAINTS = 1024
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
    return _expression(size.trace, size.form) if is_open(size) else int(size)


def _expression(trace: Trace, form: Form) -> Expression:
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


def sizes_member(trace: Trace) -> dict[str, object]:
    """Return the member ``sizes`` of a schedule: parameters and constraints.

    Raises:
        OpenSizeError: when they are more than runtimes check.
    """
    names = list(trace.defaults)
    constraints: list[dict[str, object]] = []
    for form, fact in trace.facts.items():
        low, high = trace.bounds_of(form)
        without = Trace(trace.defaults, trace.bounds).bounds_of(form)
        implied = without[0] >= fact.low and without[1] <= fact.high
        if implied and str(form) not in names:  # of a parameter it says why its bounds are those
            continue
        if str(form) in names:
            low, high = fact.low, fact.high  # the layer's reason alone, not the bounds it joins
        least, most = max(low, -LARGEST), min(high, LARGEST)
        with at_layer(fact.layers[0] or fact.layers[1]):
            value = _expression(trace, form)
            if len(constraints) == MOST_CONSTRAINTS:
                raise OpenSizeError(f"one more than {MOST_CONSTRAINTS} constraints")
        constraints.append(
            {"value": value, "min": int(least), "max": int(most), "why": _why(form, fact)}
        )
    return {
        "parameters": [
            {
                "name": name,
                "default": trace.defaults[name],
                "min": int(trace.bounds[name][0]),
                "max": int(trace.bounds[name][1]),
            }
            for name in names
        ],
        "constraints": constraints,
    }


def _why(form: Form, fact: Fact) -> str:
    low, high = fact.low + 0.0, fact.high + 0.0  # which is no -0
    what: Form | str = form
    if found := as_remainder(form):
        what = f"{grouped(found[0])} % {found[1]}"
        low, high = low + found[0].constant, high + found[0].constant
    if low == high:
        text = f"{what} must be {low:.0f}"
    elif high == inf:
        text = f"{what} must be at least {low:.0f}"
    elif low == -inf:
        text = f"{what} must be at most {high:.0f}"
    else:
        text = f"{what} must be from {low:.0f} to {high:.0f}"
    if layers := dict.fromkeys(filter(None, fact.layers)):
        text += f", for layer{'s' * (len(layers) > 1)} {' and '.join(layers)}"
    return text[:1000]
