"""Choose how each node runs: the cheapest of its candidates, within a budget for unrolled code.

What a candidate takes is measured where a tuning file knows the node, else predicted; a node of
which some candidates were measured is decided among those. With default costs nothing but a
measurement or the user chooses Winograd's tiles.

Weights as constants in the code are fast in each frame and slow to start: at about 0.2 ms for each
float, and as for ``PROGRAM`` of them for each program, drivers would take minutes to start a
network of many layers. So ``NETWORK_BUDGET`` holds for all shaders together; the layers with the
most pixels have the first claim, because there each constant serves most often. Two more rules:

- Beside compute shaders only layers of ``MANY_PIXELS`` or where a float saves ``PAYS``, unless what
  is compared holds compile time already, as predictions for a measured device do.
- A network with more than ``FEW_PROGRAMS`` other programs starts slowly as it is. For a device that
  is not measured, a layer's constants must then save a share of the frame of at least ``EARNS``
  times their share of the budget. This ratio is 0.2 to 4 in upscalers of a few layers, 0.24 in
  U-Net's largest layers, and up to 0.12 in layers of classifiers and style transfer that are a
  small part of the frame.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING

from ..errors import ShadergenError
from ..ir.dimensions import hint
from ..ir.ops import Conv
from ..ir.types import LANES
from .kernel_ops import parts
from .placement.costs import are_known, are_priced, cost_text
from .placement.naming import unique_names
from .placement.target import TILES_OF
from .placement.tuning_key import tuning_key
from .predict_cost import Predictor

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ..ir.graph import Choice, Graph, Node
    from .placement.target import Target
    from .rule import Context

STEP, NOT_IN_TILES = "choose kernels", "no Winograd"  # for --explain
NETWORK_BUDGET = 32768  # constants (floats) of unrolled code in all shaders together
PROGRAM = 512  # constants that take as long to compile as an empty program
FEW_PROGRAMS = 8  # without constants; networks with more start slowly
EARNS = 0.12  # share of the frame that constants must save if they fill the whole budget
MANY_PIXELS = 65536  # of a layer: constants are then worth compiling, also beside compute shaders
ALIKE = 1.03  # ratio of measured times that count as equal; predictions then decide
PAYS = 1000.0  # nanoseconds that a constant must save in a frame: repays compiling in 200 frames
SHARED = 1.05  # ratio of predicted times that is not worth a shader program of its own
COMPILES_SLOWLY = "constant weights would be faster, but compile too slowly for this gain"


@dataclass(frozen=True)
class Ranking:
    """A node's candidates with their nanoseconds, the best first.

    Attributes:
        costs: of those that are not known to be wrong, unless all are.
        measured: whether the nanoseconds were measured, not predicted.
        wrong: whether all candidates are known to be wrong.
        spilling: those that are predicted to spill, which come last whatever they cost.
    """

    costs: tuple[tuple[float, Choice], ...]
    measured: bool = False
    wrong: bool = False
    spilling: frozenset[Choice] = frozenset()

    def without_constants(self) -> Ranking:
        """Return the ranking of the others, or the same if there are none."""
        others = tuple((cost, c) for cost, c in self.costs if c.weights != "constants")
        return replace(self, costs=others or self.costs)

    def alike(self) -> tuple[tuple[float, Choice], ...]:
        """Return the best, and those it is not worth a program of its own to choose it over."""
        least, best = self.costs[0]
        if self.measured or not best.loops:
            return self.costs[:1]
        fitting = (p for p in self.costs[1:] if best in self.spilling or p[1] not in self.spilling)
        near = (pair for pair in fitting if least <= pair[0] <= SHARED * least)
        return self.costs[:1] + tuple(pair for pair in near if pair[1].loops)


def choose_kernels(graph: Graph, context: Context) -> Graph:
    """Choose ``stage``, ``block``, ``planes`` and ``weights`` for every node.

    Raises:
        ShadergenError: SG0402 when more render targets are asked for than the device has, or
            weights are to be where they have no room; SG0403 when the target has no such storage,
            or no compute shaders though they are asked for.
    """
    target = context.target
    _check(target)
    rankings = {n: rank(n, context, alone=True) for n in graph.nodes if is_undecided(n)}
    within = within_budget(rankings, context)
    wanted = Counter((n.op, choice) for n, r in within.items() for _, choice in r.alike())

    names = unique_names(graph.nodes)

    def choose(now: Node, was: Node) -> Node | None:
        if was not in rankings:
            return None
        found, allowed = rankings[was], within[was]
        alike = allowed.alike()
        cost, choice = max(alike, key=lambda pair: (wanted[was.op, pair[1]], -pair[0]))
        why = "measured " if found.measured else "predicted "
        why += cost_text(target.costs, cost, found.measured)
        if len(allowed.costs) > 1:
            why += f", the lowest of {len(allowed.costs)} candidates"
        elif len(found.costs) == 1 and not cost:
            why = "the only choice"
        if allowed.costs[0] != found.costs[0]:
            why += f"; {COMPILES_SLOWLY}"
        if (cost, choice) != alike[0]:
            other = cost_text(target.costs, alike[0][0], found.measured)
            why += f"; {alike[0][1]}: {other}, but with a shader program of its own"
        if choice.stage != "compute" and target.stage == "compute":
            why = context.kernels.unsuited(was)
        context.explain(STEP, names[was], str(choice), why)
        if target.winograd in TILES_OF and not choice.winograd and type(parts(now).kernel) is Conv:
            why = context.kernels.untiled(was)
            context.explain(STEP, names[was], NOT_IN_TILES, why)
        return replace(now, choice=choice)

    return graph.rewrite(choose)


def is_undecided(node: Node) -> bool:
    """Whether a node's choice leaves anything open."""
    return node.choice.stage is None or node.choice.planes is None


def rank(node: Node, context: Context, alone: bool = False) -> Ranking:
    """Return the candidates of a node by cost.

    Args:
        node: placed, its choice open.
        context: with what was measured.
        alone: nothing is compared with other nodes, so an only candidate is given no cost.

    Raises:
        ShadergenError: SG0402 or SG0403 when there are none.
    """
    found = _choices(node, context)
    if not found:
        raise context.kernels.refusal(node)
    if alone and len(found) == 1 and not context.measured:
        return Ranking(((0.0, found[0]),))
    return _ranking(node, found, context)


def ranking(node: Node, context: Context, predicted: bool = False) -> Ranking:
    """Return the candidates of a node by cost, of which there may be none.

    Args:
        node: placed, its choice open.
        context: with what was measured.
        predicted: go by predictions though there are measured times: those of nodes of which only
            some are measured do not compare.
    """
    found = _choices(node, context)
    return _ranking(node, found, context, predicted) if found else Ranking(())


def _choices(node: Node, context: Context) -> tuple[Choice, ...]:
    """Return the ways to run a node: in Winograd's tiles where they can be chosen."""
    target, kernels = context.target, context.kernels
    usual = target.winograd == "auto" and not are_priced(target.costs)
    few = kernels.choices(node, tiles=False) if usual and not context.measured else ()
    return few or kernels.choices(node)


def _ranking(
    node: Node, found: tuple[Choice, ...], context: Context, predicted: bool = False
) -> Ranking:
    """Return the candidates of a node by cost; nodes that do the same are ranked once.

    Nodes of dynamic sizes do the same as those of their default sizes, but are measured apart.
    """
    measured = tuning_key(node, context.target) if context.measured else ""
    key = context.kernels.alike(node, found), predicted, measured
    if key not in context.rankings:
        context.rankings[key] = _ranked(node, found, context, predicted)
    return context.rankings[key]


def _ranked(node: Node, found: tuple[Choice, ...], context: Context, predicted: bool) -> Ranking:
    target = context.target
    known = context.measured.get(tuning_key(node, target), {}) if context.measured else {}
    predictor = Predictor(node, context.kernels, found)
    costs = [(known[c], c) for c in found if isfinite(known.get(c, inf))]
    if predicted or not costs:
        right = [c for c in found if isfinite(known.get(c, 0.0))]
        usual = right
        if target.winograd == "auto" and not are_priced(target.costs):
            usual = [c for c in right if not c.winograd]
        ranked = predictor.ranked(usual or found)
        spilling = frozenset(filter(predictor.spills, usual or found))
        return Ranking(ranked, wrong=not right, spilling=spilling)
    close = ALIKE * min(cost for cost, _ in costs)

    def order(pair: tuple[float, Choice]) -> tuple[bool, float]:
        cost, choice = pair
        return cost > close, cost if cost > close else predictor.cost(choice)

    return Ranking(tuple(sorted(costs, key=order)), True)


def why_apart(fused: Node, apart: Sequence[Node], context: Context, forced: bool) -> str:
    """Return why nodes are not fused, or nothing.

    Measured times are compared if all nodes have some, else predictions.

    Args:
        fused: the node that they would make.
        apart: the nodes by themselves.
        context: with what was measured.
        forced: fuse them even if they are faster apart.
    """
    together = ranking(fused, context)
    if not together.costs:
        return context.kernels.unsuited(fused) or "no kernel can compute the fused layers"
    if together.wrong:
        return "wrong results when measured"
    if forced:
        return ""
    rankings = {fused: together} | {n: ranking(n, context) for n in apart}
    if not all(r.costs and not r.wrong for r in rankings.values()):
        return ""  # there is no other way
    measured = all(r.measured for r in rankings.values())
    if not measured:
        rankings = {
            n: ranking(n, context, predicted=True) if r.measured else r for n, r in rankings.items()
        }
    one, *others = (r.costs[0][0] for r in within_budget(rankings, context).values())
    if one <= sum(others):
        return ""
    how = "measured" if measured else "predicted"
    costs = context.target.costs
    one_text, others_text = (cost_text(costs, c, measured) for c in (one, sum(others)))
    return f"{how} {one_text} fused, {others_text} in two passes"


def _check(target: Target) -> None:
    """Refuse what the device has not."""
    wanted, most = target.planes_per_pass, target.limits.draw_buffers
    if wanted is not None and wanted > most:
        raise ShadergenError(
            "SG0402",
            f"--mrt {wanted} asks for {wanted} render targets",
            why=f"the device profile has {most} draw buffers",
            help=f"use --mrt {most} or less, or another --device",
        )
    if target.stage == "compute" and target.lacks_compute:
        raise ShadergenError(
            "SG0403",
            "--stage compute needs compute shaders",
            why=target.lacks_compute,
            help="use a --device with compute shaders, for example gles31-min, without --glsl 300",
        )


def within_budget(rankings: Mapping[Node, Ranking], context: Context) -> dict[Node, Ranking]:
    """Return the rankings without constants wherever these cost more than nodes have room for."""
    unrolled = _unrolled(rankings, context)
    return {n: r if n in unrolled else r.without_constants() for n, r in rankings.items()}


def _unrolled(rankings: Mapping[Node, Ranking], context: Context) -> set[Node]:
    """Return the nodes whose weights may be constants."""
    target = context.target
    wanted = [n for n, r in rankings.items() if r.costs[0][1].weights == "constants"]
    if target.weights == "constants":
        return set(wanted)
    chosen, spent = set(), 0.0
    frame = sum(r.without_constants().costs[0][0] for r in rankings.values())
    many = not are_known(target.costs) and _other_programs(rankings, wanted) > FEW_PROGRAMS
    computes = target.stage != "fragment" and not target.lacks_compute
    for node in sorted(wanted, key=_pixels, reverse=True):
        found = rankings[node]
        cost, choice = found.costs[0]
        work = context.kernels.work(node, choice)[0]
        total = work.programs * (work.code * LANES + PROGRAM)
        saved = found.without_constants().costs[0][0] - cost
        priced = any(device.code for device in target.costs)  # compiling, in predictions
        billed = priced and not found.measured
        if computes and not billed and _pixels(node) < MANY_PIXELS and saved < PAYS * total:
            continue
        if many and saved < EARNS * frame * total / NETWORK_BUDGET:
            continue
        if spent + total <= NETWORK_BUDGET:
            chosen.add(node)
            spent += total
    return chosen


def _other_programs(rankings: Mapping[Node, Ranking], wanted: Collection[Node]) -> int:
    """Return how many programs the nodes take that do not want constants, about."""
    others = ((n.op, r.costs[0][1]) for n, r in rankings.items() if n not in wanted)
    return len(set(others))


def _pixels(node: Node) -> int:
    return hint(node.result.type.size // node.result.shape[1])
