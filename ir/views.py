"""Views: index maps composed into the loads that read through them.

A movement gives element i of its result as an element of its operand, ``y[i] = x[g(i)]``. Who reads
``y[f(o)]`` may as well read ``x[g(f(o))]``, and y need not exist. Conditions add up, and an element
that one of the maps finds no source for is the fill of that map.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from .dimensions import bounds
from .expr import Expr, Num, substitute, variables
from .indexing import Load, Source, coordinates
from .simplify import simplify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .nest import Binding, Nest


def compose(load: Load, operand: int, view: Load) -> Load | None:
    """Return a load that reads an operand as it was before ``view``, its only movement.

    None where it cannot be said as a load: where places are data, which are not known to lie
    inside, and where the view leaves gaps although the load would go on to other sources or has
    gaps of its own of another value.
    """
    sources: list[Source] = []
    fill = load.fill
    for position, source in enumerate(load.sources):
        if source.operand != operand:
            sources.append(source)
            continue
        if any(name[0] in "uv" for e in (*source.index, *source.valid) for name in variables(e)):
            return None
        names = (o.name for o in coordinates(len(source.index)))
        at: Mapping[str, Expr] = dict(zip(names, source.index, strict=True))
        for inner in view.sources:
            index = tuple(substitute(e, at) for e in inner.index)
            valid = tuple(substitute(e, at) for e in inner.valid)
            sources.append(Source(operand, index, (*source.valid, *valid)))
        if view.sources[-1].valid:  # there are gaps
            if position < len(load.sources) - 1 or (source.valid and view.fill != load.fill):
                return None
            fill = view.fill
    return Load(tuple(sources), fill)


def read_through(nest: Nest, operand: int, view: Load) -> Nest | None:
    """Return a nest that reads an operand as it was before a view, or None; see `compose`."""

    def composed(bindings: tuple[Binding, ...]) -> tuple[Binding, ...] | None:
        found: list[Binding] = []
        for binding in bindings:
            load: Binding | None = binding
            if isinstance(binding, Load) and any(s.operand == operand for s in binding.sources):
                load = compose(binding, operand, view)
            if load is None:
                return None
            found.append(load)
        return tuple(found)

    outer, inner = composed(nest.outer), composed(nest.inner)
    return None if outer is None or inner is None else replace(nest, outer=outer, inner=inner)


def simplified(nest: Nest, shape: Sequence[int]) -> Nest:
    """Return the nest with simpler index maps, for a result of a shape."""

    def rewritten(bindings: tuple[Binding, ...]) -> tuple[Binding, ...]:
        return tuple(
            simplified_load(b, shape, nest.loops) if isinstance(b, Load) else b for b in bindings
        )

    return replace(nest, outer=rewritten(nest.outer), inner=rewritten(nest.inner))


def simplified_load(load: Load, shape: Sequence[int], loops: Sequence[int] = ()) -> Load:
    """Return a simpler load that gives the same, for a result of a shape, within loops."""
    named = [("o", shape), ("k", loops)]
    most = {f"{n}{axis}": bounds(s)[1] for n, sizes in named for axis, s in enumerate(sizes)}
    ranges = {name: (0, int(size) - 1) for name, size in most.items() if isfinite(size)}
    sources = []
    for source in load.sources:
        conditions = [simplify(e, ranges) for e in source.valid]
        if Num(0.0) in conditions:
            continue
        valid = tuple(e for e in conditions if e != Num(1.0))
        index = tuple(simplify(e, ranges) for e in source.index)
        sources.append(Source(source.operand, index, valid))
        if not valid:
            break
    return Load(tuple(sources), load.fill) if sources else load
