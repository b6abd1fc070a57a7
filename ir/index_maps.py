"""Compose the index map of a movement into the loads of its consumer.

A movement is an index map g: ``y[i] = x[g(i)]``. A load of ``y[f(o)]`` equals a load of
``x[g(f(o))]``, so y need not exist. An element takes the fill value of the map that has no
source for it. If both maps have such elements, their fill values must be the same.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from ..records import replace
from .dimensions import bounds
from .expr import Expr, Num, substitute
from .indexing import Load, Source, coordinates
from .nest import Binding
from .simplify import simplify

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .nest import Loop, Nest


def compose(load: Load, operand: int, moved: Load, data: Collection[str] = ()) -> Load | None:
    """Compose ``moved``, the index map of an operand, into a load of this operand.

    None if the result is no load: if an index reads one of the bindings ``data``, which may be out
    of range; or if the index map has gaps, while the load has further sources or gaps of another
    fill value.
    """
    sources: list[Source] = []
    fill = load.fill
    for position, source in enumerate(load.sources):
        if source.operand != operand:
            sources.append(source)
            continue
        if not source.variables.isdisjoint(data):
            return None
        names = (o.name for o in coordinates(len(source.index)))
        at: Mapping[str, Expr] = dict(zip(names, source.index, strict=True))
        for inner in moved.sources:
            index = tuple(substitute(e, at) for e in inner.index)
            valid = tuple(substitute(e, at) for e in inner.valid)
            sources.append(Source(operand, index, (*source.valid, *valid)))
        if moved.sources[-1].valid:  # there are gaps
            if position < len(load.sources) - 1 or (source.valid and moved.fill != load.fill):
                return None
            fill = moved.fill
    return Load(tuple(sources), fill)


def read_through(nest: Nest, operand: int, moved: Load) -> Nest | None:
    """Compose an index map into every load of an operand; None if `compose` fails."""

    def composed(bindings: tuple[Binding, ...]) -> tuple[Binding, ...] | None:
        found: list[Binding] = []
        for binding in bindings:
            load = binding.value
            if isinstance(load, Load) and any(s.operand == operand for s in load.sources):
                through = compose(load, operand, moved, nest.bound)
                if through is None:
                    return None
                binding = Binding(binding.name, through)
            found.append(binding)
        return tuple(found)

    once, each_step = composed(nest.once), composed(nest.each_step)
    if once is None or each_step is None:
        return None
    return replace(nest, once=once, each_step=each_step)


def simplified(nest: Nest, shape: Sequence[int]) -> Nest:
    """Simplify the index maps of a loop nest with a result of the given shape."""

    def rewritten(bindings: tuple[Binding, ...]) -> tuple[Binding, ...]:
        return tuple(
            Binding(b.name, simplified_load(b.value, shape, nest.loops))
            if isinstance(b.value, Load)
            else b
            for b in bindings
        )

    return replace(nest, once=rewritten(nest.once), each_step=rewritten(nest.each_step))


def index_ranges(shape: Sequence[int], loops: Sequence[Loop] = ()) -> dict[str, tuple[int, int]]:
    """Return the range of each coordinate of a result and of each loop counter, where bounded."""
    sizes = {o.name: size for o, size in zip(coordinates(len(shape)), shape, strict=True)}
    sizes |= {loop.name: loop.trips for loop in loops}
    most = {name: bounds(size)[1] for name, size in sizes.items()}
    return {name: (0, int(size) - 1) for name, size in most.items() if isfinite(size)}


def simplified_load(load: Load, shape: Sequence[int], loops: Sequence[Loop] = ()) -> Load:
    """Simplify a load for a result of the given shape and the given loops."""
    ranges = index_ranges(shape, loops)
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
