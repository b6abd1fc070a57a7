"""Open sizes in the schedule: expressions, parameters, constraints."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ..ir.form import Parameter, as_remainder, grouped
from ..ir.size import is_open
from ..ir.trace import Trace

if TYPE_CHECKING:
    from ..ir.form import Form
    from ..ir.trace import Fact

LARGEST = 2**53 - 1  # of what a runtime works out

Expression = list[int | str]


def expression(size: int) -> int | Expression:
    """Return a size as the schedule has it: a number, or an expression in postfix notation."""
    return _postfix(size.form) if is_open(size) else int(size)


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
    """Return the member ``sizes`` of a schedule: parameters and constraints."""
    names = list(trace.defaults)
    constraints = []
    for form, fact in trace.facts.items():
        low, high = trace.bounds_of(form)
        without = Trace(trace.defaults, trace.bounds).bounds_of(form)
        implied = without[0] >= fact.low and without[1] <= fact.high
        if implied and str(form) not in names:  # of a parameter it says why its bounds are those
            continue
        least, most = max(low, -LARGEST), min(high, LARGEST)
        constraints.append(
            {"value": _postfix(form), "min": int(least), "max": int(most), "why": _why(form, fact)}
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
