"""Receptive fields: the rows and columns of the input picture that each value depends on.

The reach of a node's result follows from that of its operands and from its loop nest
(:mod:`.reach_of_nests`). A value without a finite reach (global pooling, attention), or that knows
its position (a table of positions), is :class:`~.reach.Unbounded`, with the name of the layer.
Dynamic dimensions count at the default sizes; they may bound an index, but not scale it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ..ir.dimensions import hint
from ..ir.expr import variables
from ..ir.index_maps import simplified
from ..ir.nests import nest_of
from ..records import replace
from .kernel_ops import parts
from .position_lines import PositionError
from .reach import Reach, State, Unbounded, hull, widened
from .reach_of_nests import NestReach, NestWalk
from .repeating_tables import repeating_table

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from ..ir.graph import Graph, Input, Node, Value


def reaches(graph: Graph, source: Input, axis: int) -> dict[Value, State]:
    """Return the reach of every value along an axis of an input.

    Args:
        graph: after the mathematical passes: every operator has a loop nest.
        source: the input.
        axis: of its logical shape.
    """
    extent = int(hint(source.shape[axis]))
    known: dict[Value, State] = {}
    nests: dict[Hashable, NestReach | None] = {}  # layers of equal kernels and shapes are alike
    for i in graph.inputs:
        one = Fraction(1)
        known[i] = Reach(axis, one, Fraction(0), Fraction(0), one) if i is source else None
    for node in graph.nodes:
        try:
            state = _node(node, known, extent, nests)
        except PositionError:
            state = Unbounded(node.name)
        known |= dict.fromkeys(node.results, state)
    return known


def _node(
    node: Node,
    known: Mapping[Value, State],
    extent: int,
    nests: dict[Hashable, NestReach | None],
) -> State:
    p = parts(node)
    extras = {f"e{k}": value for k, value in enumerate(p.extras)}
    states = [known.get(v) for v in p.operands]
    if p.prologue:
        names = {name for formula in p.prologue for name in variables(formula)}
        around = [(v, known.get(v)) for name, v in extras.items() if name in names]
        rank = len(p.operands[0].shape)
        states[0] = _merged([(p.operands[0], states[0]), *around], rank, extent, node.name)
    for state in (*states, *(known.get(v) for v in extras.values())):
        if isinstance(state, Unbounded):
            return state
    if all(s is None for s in (*states, *(known.get(v) for v in extras.values()))):
        return None
    result: State = None
    if any(s is not None for s in states):
        along = tuple(s.axis if isinstance(s, Reach) else None for s in states)
        key = p.kernel, tuple(v.type for v in p.read), along, node.result.shape
        if key in nests:
            reach = nests[key]
        else:
            nest = nest_of(p.kernel, *(v.type for v in p.read))
            if nest is None:
                return Unbounded(node.name)
            nest = simplified(nest, node.result.shape)
            walk = NestWalk(nest, p.read, states, tuple(map(hint, node.result.shape)))
            reach = walk.reach()
            if not walk.reads_data:
                nests[key] = reach
        if reach is None:
            return Unbounded(node.name)
        result = reach.applied(states, node.name, hint(node.result.shape[reach.axis]), extent)
    if p.epilogue is None or isinstance(result, Unbounded):
        return result
    names = set(variables(p.epilogue))
    around = [(v, known.get(v)) for name, v in extras.items() if name in names]
    return _merged([(None, result), *around], len(node.result.shape), extent, node.name)


def _merged(
    values: Sequence[tuple[Value | None, State]], rank: int, extent: int, layer: str
) -> State:
    """Return the state of an element-wise function of values that are broadcast to a rank."""
    found: Reach | None = None
    for value, state in values:
        if isinstance(state, Unbounded):
            return state
        if state is not None:
            shift = rank - len(value.shape) if value is not None else 0
            state = replace(state, axis=state.axis + shift)
            found = state if found is None else hull(found, state)
            if found is None:
                return Unbounded(layer)
    if found is None:
        return None
    for value, state in values:
        if value is None or state is not None:
            continue
        own = found.axis - (rank - len(value.shape))
        if own < 0 or hint(value.shape[own]) == 1:
            continue
        table = repeating_table(value, own)
        if table is None:
            return Unbounded(layer)
        period, before, after = table
        found = widened(found, (before, after), (int(hint(value.shape[own])), extent), period)
    return found
