"""The member ``sizes`` of a schedule: a minimal set of constraints on dynamic dimensions.

Guards (:mod:`..ir.dimensions.environment`) are as layers asked for them, and many imply others. The
constraints admit the same sizes as all guards together:

1. Guards on one symbol are tried with each of its values. What they admit together is mostly every
   n-th value from a first to a last: bounds of the parameter and one constraint.
2. A guard on several symbols is implied if the bounds of its polynomial say so once first + n * k
   is put in for each.
3. An upper bound of what grows with both parameters follows from others if, for every value of the
   one, they let in no more values of the other.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ..ir.dimensions import DimensionLimitError, DynamicDimensionError, ShapeEnvironment, at_layer
from ..ir.dimensions.environment import divided
from ..ir.dimensions.polynomial import Operation, Polynomial, Symbol
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

    from ..ir.dimensions.environment import Guard
    from ..ir.dimensions.polynomial import Atom
    from .sizes import Expression

    Guards = dict[Polynomial, Guard]
    Values = NDArray[np.int64]

MOST_CONSTRAINTS = 1024  # that a runtime checks, as docs/schedule.md and its schema have it
MOST_VALUES = 2**16  # of a parameter, to be tried one by one
MOST_COMPARED = 32  # upper bounds
MOST_SEEN = 256  # quotients and the like whose values are kept at once
LONGEST = 60  # of an equation's text, from where on its solutions are clearer
LONGEST_TEXT = 200  # of a constraint
EXACT = 2.0**62  # what numpy's integers hold


def sizes_member(environment: ShapeEnvironment) -> dict[str, object]:
    """Return the member ``sizes`` of a schedule: parameters and constraints.

    Raises:
        DimensionLimitError: when they are more than runtimes check.
    """
    plain = ShapeEnvironment(environment.defaults, environment.bounds)
    guards = {p: guard for p, guard in environment.guards.items() if not _within(plain, p, guard)}
    grids: dict[str, Grid] = {}
    constraints: list[dict[str, object]] = []
    left: Guards = {}
    layers: list[str] = []  # that need the first or the last value of a parameter
    for name in environment.defaults:
        own = {f: guard for f, guard in guards.items() if f.symbols == {name}}
        grids[name], kept, found, needing = _of_one(environment, name, own)
        constraints += found
        layers += needing
        left |= kept
    several = {p: guard for p, guard in guards.items() if len(p.symbols) > 1}
    left |= _of_several(environment, several, grids)
    if _one_size(environment, left, grids):
        layers += (layer for guard in left.values() for layer in guard.layers)
        return _fixed(environment, layers)
    texts = _texts(environment, left, grids)
    for polynomial, guard in left.items():
        with at_layer(guard.layers[0] or guard.layers[1]):
            if len(constraints) >= MOST_CONSTRAINTS:
                raise DimensionLimitError("too many constraints", MOST_CONSTRAINTS)
            low, high = environment.bounds_of(polynomial)
            constraints.append(
                _constraint(postfix(environment, polynomial), low, high, texts[polynomial])
            )
    return {
        "parameters": [
            {
                "name": name,
                "default": environment.defaults[name],
                "min": grid.first,
                "max": grid.last,
            }
            for name, grid in grids.items()
        ],
        "constraints": constraints,
    }


def _one_size(environment: ShapeEnvironment, left: Guards, grids: Mapping[str, Grid]) -> bool:
    """Whether the default sizes are surely the only ones."""
    if any(environment.largest_intermediate(p) > EXACT for p in left):
        return False
    found = Solutions(left, grids, enough=2)
    return found.complete and found.count == 1


def _fixed(environment: ShapeEnvironment, layers: Iterable[str]) -> dict[str, object]:
    """Return the member of a build that has the default sizes alone."""
    sizes = "x".join(map(str, environment.defaults.values()))
    why = fixing_text(layers, f"the input at {sizes}")
    return {
        "parameters": [
            {"name": name, "default": value, "min": value, "max": value}
            for name, value in environment.defaults.items()
        ],
        "constraints": [_constraint([n], v, v, why) for n, v in environment.defaults.items()],
    }


def _texts(
    environment: ShapeEnvironment, guards: Guards, grids: Mapping[str, Grid]
) -> dict[Polynomial, str]:
    """Return the text of each guard; a long equation is replaced by the sizes that it allows."""
    known = {
        p: guard for p, guard in guards.items() if environment.largest_intermediate(p) <= EXACT
    }
    texts = {p: constraint_text(p, guard) for p, guard in guards.items()}
    lengths = {p: length(p, guard) for p, guard in guards.items()}
    equations = [f for f in known if guards[f].low == guards[f].high and lengths[f] > LONGEST]
    rectangles = Solutions(known, grids).rectangles() if equations else []
    for polynomial, guard in guards.items():
        if rectangles and polynomial in equations:
            texts[polynomial] = solutions_text(rectangles, environment.defaults, guard)
        elif lengths[polynomial] > LONGEST_TEXT:
            texts[polynomial] = formula_text(polynomial, guard)
    return texts


def _within(environment: ShapeEnvironment, polynomial: Polynomial, guard: Guard) -> bool:
    low, high = environment.bounds_of(polynomial)
    return guard.low <= low and high <= guard.high


def _constraint(value: Expression, low: float, high: float, why: str) -> dict[str, object]:
    least, most = int(max(low, -LARGEST)), int(min(high, LARGEST))
    return {"value": value, "min": least, "max": most, "why": why[:1000]}


# one parameter


def _of_one(
    environment: ShapeEnvironment, name: str, guards: Guards
) -> tuple[Grid, Guards, list[dict[str, object]], tuple[str, ...]]:
    """Return what guards about a parameter let in, those that must stay, and new constraints.

    Last come the layers that need the ends of the grid.
    """
    low, high = environment.bounds[name]
    aside = {p: guard for p, guard in guards.items() if environment.largest_intermediate(p) > EXACT}
    if high - low >= MOST_VALUES:
        return Grid(int(low), int(min(high, LARGEST))), guards, [], ()
    guards = {p: guard for p, guard in guards.items() if p not in aside}
    tried = Grid(int(low), int(high)).values
    seen: dict[Atom, Values] = {}
    zeros: list[str] = []  # a division by zero, for each that was met
    with np.errstate(divide="call", call=lambda *found: zeros.append(found[0])):
        lets_in = {p: _lets_in(p, guard, {name: tried}, seen) for p, guard in guards.items()}
    inside = np.logical_and.reduce([tried == tried, *lets_in.values()])
    allowed = tried[inside]
    step = int(np.gcd.reduce(np.diff(allowed))) or 1
    grid = Grid(int(allowed[0]), int(allowed[-1]), step)
    on_grid = np.isin(tried, grid.values)
    kept = set(guards)
    # A condition may be dropped where each value of the grid that it refuses is refused by another
    # one still kept, so where no value on the grid has it as its only refusal. Values off the grid
    # are refused by the step, whatever is kept. Counting refusals says so without comparing pairs.
    # All are kept if one divides by zero on the grid: runtimes check them in order, and stop at the
    # guard on the divisor, which was made before.
    refusals = sum((~let for let in lets_in.values()), start=np.zeros(tried.shape, np.int64))
    droppable = () if zeros and _divide_by_zero(guards, {name: grid.values}) else guards
    for polynomial in sorted(droppable, key=lambda f: -len(str(f))):
        refused = ~lets_in[polynomial]
        if not (refused & on_grid & (refusals == 1)).any():  # what it refuses others refuse, too
            kept.remove(polynomial)
            refusals -= refused

    def refusing(values: Values) -> tuple[str, ...]:
        """Return the layers that need some of these values of the parameter to be refused."""
        at = np.searchsorted(tried, values)
        found = [guards[p].layers for p in guards if not lets_in[p][at].all()]
        return tuple(dict.fromkeys(layer for layers in found for layer in layers if layer))

    own = environment.guards.get(Polynomial.of([((Symbol(name),), 1)]))
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
    left = {p: guards[p] for p in guards if p in kept} | aside
    return grid, left, constraints, ends[0] + ends[1]


def _lets_in(
    polynomial: Polynomial, guard: Guard, at: Mapping[str, Values], seen: dict[Atom, Values]
) -> NDArray[np.bool_]:
    values = _values(polynomial, at, seen)
    return (values >= guard.low) & (values <= guard.high)


def _divide_by_zero(polynomials: Iterable[Polynomial], at: Mapping[str, Values]) -> bool:
    """Whether polynomials divide by zero at some of the parameters' values."""
    try:
        with np.errstate(divide="raise"):
            for polynomial in polynomials:
                _values(polynomial, at, {})
    except FloatingPointError:
        return True
    return False


def _values(polynomial: Polynomial, at: Mapping[str, Values], seen: dict[Atom, Values]) -> Values:
    """Return a polynomial's values at those of its parameters, all of one shape.

    Args:
        polynomial: a polynomial.
        at: the values of each parameter.
        seen: those that quotients, minima and maxima were found to have there.
    """
    total = np.zeros_like(next(iter(at.values())))
    for monomial, factor in polynomial.terms:
        product = np.full_like(total, factor)
        for atom in monomial:
            product *= _atom_values(atom, at, seen)
        total += product
    return total


def _atom_values(atom: Atom, at: Mapping[str, Values], seen: dict[Atom, Values]) -> Values:
    if isinstance(atom, Symbol):
        return at[atom.name]
    if (known := seen.get(atom)) is not None:
        return known
    left, right = _values(atom.left, at, seen), _values(atom.right, at, seen)
    if atom.sign == "/":
        found = left // right
    else:
        found = np.minimum(left, right) if atom.sign == "min" else np.maximum(left, right)
    if len(seen) >= MOST_SEEN:
        seen.clear()
    seen[atom] = found
    return found


# several


def _of_several(environment: ShapeEnvironment, guards: Guards, grids: Mapping[str, Grid]) -> Guards:
    """Return the guards about several parameters that do not follow from the grids and others."""
    kept: Guards = {}
    upper: Guards = {}
    for polynomial, guard in guards.items():
        low, high = _bounds_on(environment, polynomial, grids)
        if low < guard.low or high > guard.high:
            kept[polynomial] = guard
            if (
                low >= guard.low
                and _grows(polynomial)
                and environment.largest_intermediate(polynomial) <= EXACT
            ):
                upper[polynomial] = guard
    small = max(grid.count for grid in grids.values()) <= MOST_VALUES
    if small and len(grids) == 2 and 2 <= len(upper) <= MOST_COMPARED:
        widest = {p: _widest(p, guard, grids) for p, guard in upper.items()}
        for polynomial in sorted(upper, key=lambda f: -len(str(f))):
            others = [widest[f] for f in widest if f != polynomial]
            if others and (np.minimum.reduce(others) <= widest[polynomial]).all():
                del kept[polynomial], widest[polynomial]
    return kept


def _bounds_on(
    environment: ShapeEnvironment, polynomial: Polynomial, grids: Mapping[str, Grid]
) -> tuple[float, float]:
    """Return between which numbers a polynomial lies where its parameters are on grids."""
    numbers = {n: (environment.defaults[n] - grid.first) // grid.step for n, grid in grids.items()}
    inner = ShapeEnvironment(numbers, {n: (0.0, grid.count - 1.0) for n, grid in grids.items()})
    try:
        found = inner.bounds_of(_on_grids(inner, polynomial, grids, {}))
    except (DynamicDimensionError, ZeroDivisionError):  # by what may be 0, as far as is known here
        return -inf, inf
    return (-inf, inf) if inner.guards else found  # which would have to hold, too


def _on_grids(
    inner: ShapeEnvironment,
    polynomial: Polynomial,
    grids: Mapping[str, Grid],
    seen: dict[Atom, Polynomial],
) -> Polynomial:
    """Return a polynomial with first + step * k in place of each symbol, k being its namesake."""
    total = Polynomial.number(0)
    for monomial, factor in polynomial.terms:
        product = Polynomial.number(factor)
        for atom in monomial:
            if atom not in seen:
                seen[atom] = _atom_on_grids(inner, atom, grids, seen)
            product = product.times(seen[atom])
        total = total.plus(product)
    return total


def _atom_on_grids(
    inner: ShapeEnvironment, atom: Atom, grids: Mapping[str, Grid], seen: dict[Atom, Polynomial]
) -> Polynomial:
    if isinstance(atom, Symbol):
        grid = grids[atom.name]
        return Polynomial.number(grid.first).plus(Polynomial.of([((atom,), 1)]), grid.step)
    left, right = (_on_grids(inner, side, grids, seen) for side in (atom.left, atom.right))
    if atom.sign == "/":
        return divided(inner, left, right)
    return Polynomial.of([((Operation(atom.sign, left, right),), 1)])


def _grows(polynomial: Polynomial) -> bool:
    """Whether a polynomial is surely not negative and grows, or stays, with each parameter."""

    def does(atom: Atom) -> bool:
        if isinstance(atom, Symbol):
            return True
        return all(map(_grows, (atom.left, atom.right))) and (
            atom.sign != "/" or atom.right.is_number
        )

    return all(factor > 0 and all(map(does, monomial)) for monomial, factor in polynomial.terms)


def _widest(polynomial: Polynomial, guard: Guard, grids: Mapping[str, Grid]) -> Values:
    """Return up to where on its grid an upper bound lets the second parameter go.

    For each value of the first; -1 where it lets none in.
    """
    (first, grid), (second, other) = grids.items()
    values = grid.values
    least, most = np.full_like(values, -1), np.full_like(values, other.count - 1)
    for _ in range(other.count.bit_length() + 1):
        middle = (least + most + 1) // 2
        at = {first: values, second: other.first + other.step * middle}
        with np.errstate(divide="ignore"):  # where another guard lets no 0 in
            fits = _lets_in(polynomial, guard, at, {}) | (middle < 0)
        least, most = np.where(fits, middle, least), np.where(fits, most, middle - 1)
    return least
