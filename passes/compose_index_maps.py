"""Compose the index maps of movements into the kernels that read their results.

kernel(movement(x)) = the kernel with the index map composed into its loads (ir.index_maps).
Applied if predicted to be no slower than a copy, by the target's costs (``placement.target``):

    composed = loads * cost(load through the index map)
    copied   = loads * cost(load of the copy) + texels of the copy * (cost(movement) + a store)
               + a GPU pass

``loads`` counts groups of four neighbours times the steps of the loops. The cost of a load is its
texels plus the divisions and conditions of its index. A copy with other readers is made anyway and
costs nothing here. Example: the flattening before a dense layer is composed if each plane is one
pixel, and is a copy if many neurons would read the pixels of a plane one by one. Of two movements
in a row, which load each element once, the first is always composed.

The pass runs again on placed nodes, for the movements of Winograd tiles (:mod:`.expand_choices`).
It then joins movements only: other kernels, and layouts of constants, are already chosen.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..ir.algebra import shift
from ..ir.dimensions import hint
from ..ir.expr import Call, Expr, walk
from ..ir.graph import Constant, Result, constant, infer
from ..ir.index_maps import simplified_load
from ..ir.nest import loads_of
from ..ir.nests import nest_of
from ..ir.ops import Movement, Pointwise
from ..ir.types import LANES
from ..records import dataclass, replace
from .kernel_ops import IndexMapped, assemble, parts
from .placement.access import Access, lane_coordinate
from .placement.costs import cost_text, minimax_cost
from .placement.kinds import at_default, cuts_planes, is_direct, joins_planes
from .rule import Rule, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from ..ir.indexing import Load
    from ..ir.nest import Loop
    from ..ir.ops import Op
    from ..ir.types import TensorType
    from .kernel_ops.index_mapped import Chain
    from .placement.costs import Costs
    from .rule import Context, Site

ARITHMETIC = {"idiv": 4, "imod": 4}  # multiplications that take as long; else 1
MOST_MOVEMENTS = 8  # in a chain: index maps grow with it


@dataclass(frozen=True, eq=False)
class _Found:
    """``inner`` is movements whose index maps ``node`` may read operand ``operand`` through."""

    node: Node
    operand: int
    inner: Node
    read_elsewhere: bool

    @cached_property
    def composed(self) -> Node:
        """The node with the index map composed in."""
        return _composed(self)


def _match(site: Site) -> _Found | None:
    node = site.node
    p = parts(node)
    if p.prologue or is_direct(node) or (node.types and not _chain(p.kernel)):
        return None
    if node.choice.alias:  # lies in its operand's texture
        return None
    for k, (value, uses) in enumerate(zip(p.operands, site.uses, strict=False)):
        if isinstance(value, Result) and _chain(value.node.op) and len(value.node.inputs) == 1:
            elsewhere = uses > sum(v is value for v in p.operands)
            return _Found(node, k, value.node, elsewhere)
    return None


def _chain(op: Op) -> Chain:
    """Return an operator's movements, the first applied first; () if it is none."""
    if isinstance(op, IndexMapped) and isinstance(op.kernel, Movement):
        return (*op.chains[0], op.kernel)
    return (op,) if isinstance(op, Movement) else ()


def _composed(found: _Found) -> Node:
    p = parts(found.node)
    kernel = p.kernel
    chains: list[Chain] = [()] * len(p.operands)
    if isinstance(kernel, IndexMapped):
        chains = list(kernel.chains)
        kernel = kernel.kernel
    chains[found.operand] = (*_chain(found.inner.op), *chains[found.operand])
    operands = list(p.operands)
    operands[found.operand] = found.inner.inputs[0]
    if isinstance(kernel, Pointwise):
        operands = [_lying_in_planes(v, found.node.result.type.rank) for v in operands]
    layers = tuple(dict.fromkeys((*found.inner.layers, *found.node.layers)))
    composed = replace(p, kernel=IndexMapped(kernel, tuple(chains)), operands=tuple(operands))
    return replace(assemble(composed, layers, found.node.choice), types=found.node.types)


def _lying_in_planes(value: Value, rank: int) -> Value:
    """Reshape a constant to a higher rank that broadcasts alike.

    The constant was a parameter and becomes a texture. At rank 4 it has a texel for four channels;
    otherwise each channel would be a row.
    """
    if not isinstance(value, Constant) or value.type.rank == rank or value.type.size == 1:
        return value
    shape = (*(1,) * (rank - value.type.rank), *value.shape)
    return constant(value.data.reshape(shape), value.name)


def _check(found: _Found, context: Context) -> str:
    node, x, copy = found.node, found.inner.inputs[0], found.inner.result
    if joins_planes(node):
        return "parts of a concatenation are written in place"
    if cuts_planes(node) and (found.read_elsewhere or cuts_planes(found.inner)):
        return "a slice of whole planes needs no copy"
    after = found.composed
    kernel = parts(after).kernel
    assert isinstance(kernel, IndexMapped)
    if len(kernel.chains[found.operand]) > MOST_MOVEMENTS:
        return f"more than {MOST_MOVEMENTS} index maps in a row"
    if isinstance(parts(node).kernel, Pointwise):
        most = context.target.limits.texture_units
        if context.target.textures == "2d" or len(set(node.inputs)) > most:
            return "each of its parameters would need a texture"
    if context.target.textures == "2d" and x.type.layers > copy.type.layers:
        return f"would read {x.type.layers} textures, or only {copy.type.layers} with a copy"
    if nest_of(kernel, *(v.type for v in parts(after).operands)) is None:
        return "indices depend on data, or positions outside tensors get different fill values"
    costs = context.target.costs
    through, two = _times(after, costs), _times(node, costs)
    if not found.read_elsewhere:
        stored = hint(copy.type.texels)
        two = two + _times(found.inner, costs) + _start(stored, costs)
    least = np.minimum(through, two)
    composed, copied = minimax_cost(through, least), minimax_cost(two, least)
    if composed > copied:
        one, with_copy = cost_text(costs, composed), cost_text(costs, copied)
        return f"predicted {one} without a copy, {with_copy} with a copy"
    return ""


def _times(node: Node, costs: tuple[Costs, ...]) -> np.ndarray:
    """Return what the loads of a loop nest take on each device, roughly, in nanoseconds."""
    p = parts(at_default(node))
    (t,) = infer(p.kernel, p.operands, node.name)
    texels, arithmetic = _loads(p.kernel, tuple(v.type for v in p.operands), t)
    every = [texels * _price("texel", own) + arithmetic * own.units[0].multiply for own in costs]
    return np.array(every)


def _start(stored: int, costs: tuple[Costs, ...]) -> np.ndarray:
    """Return what a GPU pass by itself takes on each device, and its stores, in nanoseconds."""
    return np.array([own.gpu_pass + stored * _price("store", own) for own in costs])


def _price(name: str, costs: Costs) -> float:
    """Return what something costs on the unit that it keeps busy the longest."""
    return max(float(getattr(unit, name)) for unit in costs.units)


@lru_cache(maxsize=1024)
def _loads(kernel: Op, types: tuple[TensorType, ...], t: TensorType) -> tuple[float, float]:
    """Return the texels that a loop nest of default sizes reads, and multiplications of indices."""
    nest = nest_of(kernel, *types)
    if nest is None:
        return 0.0, 0.0
    texels = multiplications = 0.0
    for bindings, steps, loops in ((nest.once, 1, ()), (nest.each_step, nest.steps, nest.loops)):
        for _, load in loads_of(bindings):
            own = tuple((s.operand, types[s.operand]) for s in load.sources)
            data = nest.bound & load.variables
            each, arithmetic = _load_cost(load, own, t, loops, data)
            texels += steps * each
            multiplications += steps * each * arithmetic
    return t.texels * texels, t.texels * multiplications


@lru_cache(maxsize=16384)
def _load_cost(
    load: Load,
    own: tuple[tuple[int, TensorType], ...],
    t: TensorType,
    loops: tuple[Loop, ...],
    data: frozenset[str],
) -> tuple[float, int]:
    """Return a load's texels, and the multiplications that its indices cost.

    ``own`` has the operands that it reads, and ``data`` the bindings that its indices read.
    """
    types = dict(own)
    load = simplified_load(load, t.shape, loops)
    access = Access(lane_coordinate(t), t.channels)
    each = {"uniform": 1, "aligned": 1, "shifted": 2, "scattered": LANES}
    often: float = min(each[access.kind(load.sources, types)], t.channels)
    if loops and loops[-1].trips >= LANES and access.along(loops[-1].name, load, types, data):
        often = 1 / LANES
    return often, _arithmetic(load)


def _arithmetic(load: Load) -> int:
    """Return the cost of a load's indices and conditions, in multiplications."""
    exprs: set[Expr] = {e for s in load.sources for i in (*s.index, *s.valid) for e in walk(i)}
    calls = [e for e in exprs if isinstance(e, Call) and e.function not in ("add", "sub", "mul")]
    return sum(1 if shift(e.args[-1]) else ARITHMETIC.get(e.function, 1) for e in calls)


COMPOSE: Rule[_Found] = Rule(
    "compose index map", _match, _check, lambda found: found.composed.result
)


def compose_index_maps(graph: Graph, context: Context) -> Graph:
    """Compose index maps into their readers until no further one pays."""
    return apply_rules(graph, context, COMPOSE)
