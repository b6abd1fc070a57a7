"""The member ``sizes`` of a schedule: what open sizes may be, as shortly as that can be said.

Facts (:mod:`..ir.dimensions.trace`) are as layers asked for them, and many follow from others. What
is dropped or put differently here changes nothing about the sizes that a build takes:

1. Facts about one parameter are tried with each of its values. What they let in together is mostly
   every n-th value from a first to a last: bounds of the parameter and one constraint.
2. A fact about several holds anyway if the bounds of its form say so once first + n * k is put in
   for each parameter.
3. An upper bound of what grows with both parameters follows from others if, for every value of the
   one, they let in no more values of the other.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ..ir.dimensions.form import Form, Operation, Parameter
from ..ir.dimensions.size import OpenSizeError, SizeLimitError, Trace, at_layer
from ..ir.dimensions.trace import divided
from .constraint_texts import (
    bounds_text,
    constraint_text,
    fixing_text,
    for_layers,
    formula_text,
    length,
    multiple_text,
    solutions_text,
)
from .grid import Grid
from .sizes import LARGEST, postfix
from .solutions import Solutions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from ..ir.dimensions.form import Atom
    from ..ir.dimensions.trace import Fact
    from .sizes import Expression

    Facts = dict[Form, Fact]
    Values = NDArray[np.int64]

MOST_CONSTRAINTS = 1024  # that a runtime checks, as docs/schedule.md and its schema have it
MOST_VALUES = 2**16  # of a parameter, to be tried one by one
MOST_COMPARED = 32  # upper bounds
MOST_SEEN = 256  # quotients and the like whose values are kept at once
LONGEST = 60  # of an equation's text, from where on its solutions are clearer
LONGEST_TEXT = 200  # of a constraint
EXACT = 2.0**62  # what numpy's integers hold


def sizes_member(trace: Trace) -> dict[str, object]:
    """Return the member ``sizes`` of a schedule: parameters and constraints.

    Raises:
        SizeLimitError: when they are more than runtimes check.
    """
    plain = Trace(trace.defaults, trace.bounds)
    facts = {form: fact for form, fact in trace.facts.items() if not _within(plain, form, fact)}
    grids: dict[str, Grid] = {}
    constraints: list[dict[str, object]] = []
    left: Facts = {}
    layers: list[str] = []  # that need the first or the last value of a parameter
    for name in trace.defaults:
        own = {f: fact for f, fact in facts.items() if f.parameters == {name}}
        grids[name], kept, found, needing = _of_one(trace, name, own)
        constraints += found
        layers += needing
        left |= kept
    several = {form: fact for form, fact in facts.items() if len(form.parameters) > 1}
    left |= _of_several(trace, several, grids)
    if _one_size(trace, left, grids):
        layers += (layer for fact in left.values() for layer in fact.layers)
        return _fixed(trace, layers)
    texts = _texts(trace, left, grids)
    for form, fact in left.items():
        with at_layer(fact.layers[0] or fact.layers[1]):
            if len(constraints) >= MOST_CONSTRAINTS:
                raise SizeLimitError("too many constraints", MOST_CONSTRAINTS)
            low, high = trace.bounds_of(form)
            constraints.append(_constraint(postfix(trace, form), low, high, texts[form]))
    return {
        "parameters": [
            {"name": name, "default": trace.defaults[name], "min": grid.first, "max": grid.last}
            for name, grid in grids.items()
        ],
        "constraints": constraints,
    }


def _one_size(trace: Trace, left: Facts, grids: Mapping[str, Grid]) -> bool:
    """Whether the default sizes are surely the only ones."""
    if any(trace.reach(form) > EXACT for form in left):
        return False
    found = Solutions(left, grids, enough=2)
    return found.complete and found.count == 1


def _fixed(trace: Trace, layers: Iterable[str]) -> dict[str, object]:
    """Return the member of a build that has the default sizes alone."""
    sizes = "x".join(map(str, trace.defaults.values()))
    why = fixing_text(layers, f"the input at {sizes}")
    return {
        "parameters": [
            {"name": name, "default": value, "min": value, "max": value}
            for name, value in trace.defaults.items()
        ],
        "constraints": [_constraint([n], v, v, why) for n, v in trace.defaults.items()],
    }


def _texts(trace: Trace, facts: Facts, grids: Mapping[str, Grid]) -> dict[Form, str]:
    """Return each fact in words: what a long equation lets in stands for the equation."""
    known = {form: fact for form, fact in facts.items() if trace.reach(form) <= EXACT}
    texts = {form: constraint_text(form, fact) for form, fact in facts.items()}
    lengths = {form: length(form, fact) for form, fact in facts.items()}
    equations = [f for f in known if facts[f].low == facts[f].high and lengths[f] > LONGEST]
    rectangles = Solutions(known, grids).rectangles() if equations else []
    for form, fact in facts.items():
        if rectangles and form in equations:
            texts[form] = solutions_text(rectangles, trace.defaults, fact)
        elif lengths[form] > LONGEST_TEXT:
            texts[form] = formula_text(form, fact)
    return texts


def _within(trace: Trace, form: Form, fact: Fact) -> bool:
    low, high = trace.bounds_of(form)
    return fact.low <= low and high <= fact.high


def _constraint(value: Expression, low: float, high: float, why: str) -> dict[str, object]:
    least, most = int(max(low, -LARGEST)), int(min(high, LARGEST))
    return {"value": value, "min": least, "max": most, "why": why[:1000]}


# one parameter


def _of_one(
    trace: Trace, name: str, facts: Facts
) -> tuple[Grid, Facts, list[dict[str, object]], tuple[str, ...]]:
    """Return what facts about a parameter let in, those that must stay, and new constraints.

    Last come the layers that need the ends of the grid.
    """
    low, high = trace.bounds[name]
    aside = {form: fact for form, fact in facts.items() if trace.reach(form) > EXACT}
    if high - low >= MOST_VALUES:
        return Grid(int(low), int(min(high, LARGEST))), facts, [], ()
    facts = {form: fact for form, fact in facts.items() if form not in aside}
    tried = Grid(int(low), int(high)).values
    seen: dict[Atom, Values] = {}
    lets_in = {form: _lets_in(form, fact, {name: tried}, seen) for form, fact in facts.items()}
    inside = np.logical_and.reduce([tried == tried, *lets_in.values()])
    allowed = tried[inside]
    step = int(np.gcd.reduce(np.diff(allowed))) or 1
    grid = Grid(int(allowed[0]), int(allowed[-1]), step)
    on_grid = np.isin(tried, grid.values)
    kept = set(facts)
    # A condition may be dropped where each value of the grid that it refuses is refused by another
    # one still kept, so where no value on the grid has it as its only refusal. Values off the grid
    # are refused by the step, whatever is kept. Counting refusals says so without comparing pairs.
    refusals = sum((~let for let in lets_in.values()), start=np.zeros(tried.shape, np.int64))
    for form in sorted(facts, key=lambda f: -len(str(f))):
        refused = ~lets_in[form]
        if not (refused & on_grid & (refusals == 1)).any():  # what it refuses others refuse, too
            kept.remove(form)
            refusals -= refused

    def refusing(values: Values) -> tuple[str, ...]:
        """Return the layers that need some of these values of the parameter to be refused."""
        at = np.searchsorted(tried, values)
        found = [facts[form].layers for form in facts if not lets_in[form][at].all()]
        return tuple(dict.fromkeys(layer for layers in found for layer in layers if layer))

    own = trace.facts.get(Form.of([((Parameter(name),), 1)]))
    ends: list[tuple[str, ...]] = []
    for beyond in (grid.first - step, grid.last + step):
        if own and not own.low <= beyond <= own.high:
            ends.append(tuple(filter(None, (own.layers[beyond > own.high],))) * (beyond > 0))
        else:
            ends.append(refusing(np.array([beyond])) if low <= beyond <= high else ())
    constraints = []
    if any(ends):
        least, most = (grid.first if ends[0] else -inf), (grid.last if ends[1] else inf)
        why = bounds_text(name, least, most) + for_layers(ends[0] + ends[1])
        if least == most and any(ends[0] + ends[1]):
            why = fixing_text(ends[0] + ends[1], f"{name} to {least}")
        constraints.append(_constraint([name], least, most, why))
    if step > 1:
        rest = grid.first % step
        within = np.arange(grid.first, grid.last + 1)
        why = f"{name} must be {multiple_text(step, rest)}" + for_layers(refusing(within))
        constraints.append(_constraint([name, step, "%"], rest, rest, why))
    left = {form: facts[form] for form in facts if form in kept} | aside
    return grid, left, constraints, ends[0] + ends[1]


def _lets_in(
    form: Form, fact: Fact, at: Mapping[str, Values], seen: dict[Atom, Values]
) -> NDArray[np.bool_]:
    values = _values(form, at, seen)
    return (values >= fact.low) & (values <= fact.high)


def _values(form: Form, at: Mapping[str, Values], seen: dict[Atom, Values]) -> Values:
    """Return a form's values at those of its parameters, all of one shape.

    Args:
        form: a polynomial.
        at: the values of each parameter.
        seen: those that quotients, minima and maxima were found to have there.
    """
    total = np.zeros_like(next(iter(at.values())))
    for monomial, factor in form.terms:
        product = np.full_like(total, factor)
        for atom in monomial:
            product *= _atom_values(atom, at, seen)
        total += product
    return total


def _atom_values(atom: Atom, at: Mapping[str, Values], seen: dict[Atom, Values]) -> Values:
    if isinstance(atom, Parameter):
        return at[atom.name]
    if (known := seen.get(atom)) is not None:
        return known
    left, right = _values(atom.left, at, seen), _values(atom.right, at, seen)
    if atom.sign == "/":
        with np.errstate(divide="ignore"):  # where another fact lets no 0 in
            found = left // right
    else:
        found = np.minimum(left, right) if atom.sign == "min" else np.maximum(left, right)
    if len(seen) >= MOST_SEEN:
        seen.clear()
    seen[atom] = found
    return found


# several


def _of_several(trace: Trace, facts: Facts, grids: Mapping[str, Grid]) -> Facts:
    """Return the facts about several parameters that do not follow from the grids and others."""
    kept: Facts = {}
    upper: Facts = {}
    for form, fact in facts.items():
        low, high = _bounds_on(trace, form, grids)
        if low < fact.low or high > fact.high:
            kept[form] = fact
            if low >= fact.low and _grows(form) and trace.reach(form) <= EXACT:
                upper[form] = fact
    small = max(grid.count for grid in grids.values()) <= MOST_VALUES
    if small and len(grids) == 2 and 2 <= len(upper) <= MOST_COMPARED:
        widest = {form: _widest(form, fact, grids) for form, fact in upper.items()}
        for form in sorted(upper, key=lambda f: -len(str(f))):
            others = [widest[f] for f in widest if f != form]
            if others and (np.minimum.reduce(others) <= widest[form]).all():
                del kept[form], widest[form]
    return kept


def _bounds_on(trace: Trace, form: Form, grids: Mapping[str, Grid]) -> tuple[float, float]:
    """Return between which numbers a form lies where its parameters are on grids."""
    numbers = {n: (trace.defaults[n] - grid.first) // grid.step for n, grid in grids.items()}
    inner = Trace(numbers, {n: (0.0, grid.count - 1.0) for n, grid in grids.items()})
    try:
        found = inner.bounds_of(_on_grids(inner, form, grids, {}))
    except (OpenSizeError, ZeroDivisionError):  # by what may be 0, as far as is known here
        return -inf, inf
    return (-inf, inf) if inner.facts else found  # which would have to hold, too


def _on_grids(inner: Trace, form: Form, grids: Mapping[str, Grid], seen: dict[Atom, Form]) -> Form:
    """Return a form with first + step * k in place of each parameter, k being its namesake."""
    total = Form.number(0)
    for monomial, factor in form.terms:
        product = Form.number(factor)
        for atom in monomial:
            if atom not in seen:
                seen[atom] = _atom_on_grids(inner, atom, grids, seen)
            product = product.times(seen[atom])
        total = total.plus(product)
    return total


def _atom_on_grids(
    inner: Trace, atom: Atom, grids: Mapping[str, Grid], seen: dict[Atom, Form]
) -> Form:
    if isinstance(atom, Parameter):
        grid = grids[atom.name]
        return Form.number(grid.first).plus(Form.of([((atom,), 1)]), grid.step)
    left, right = (_on_grids(inner, side, grids, seen) for side in (atom.left, atom.right))
    if atom.sign == "/":
        return divided(inner, left, right)
    return Form.of([((Operation(atom.sign, left, right),), 1)])


def _grows(form: Form) -> bool:
    """Whether a form is surely not negative and grows, or stays, with each parameter."""

    def does(atom: Atom) -> bool:
        if isinstance(atom, Parameter):
            return True
        return all(map(_grows, (atom.left, atom.right))) and (
            atom.sign != "/" or atom.right.is_number
        )

    return all(factor > 0 and all(map(does, monomial)) for monomial, factor in form.terms)


def _widest(form: Form, fact: Fact, grids: Mapping[str, Grid]) -> Values:
    """Return up to where on its grid an upper bound lets the second parameter go.

    For each value of the first; -1 where it lets none in.
    """
    (first, grid), (second, other) = grids.items()
    values = grid.values
    least, most = np.full_like(values, -1), np.full_like(values, other.count - 1)
    for _ in range(other.count.bit_length() + 1):
        middle = (least + most + 1) // 2
        at = {first: values, second: other.first + other.step * middle}
        fits = _lets_in(form, fact, at, {}) | (middle < 0)
        least, most = np.where(fits, middle, least), np.where(fits, most, middle - 1)
    return least
