"""Choose a kernel for each node: the fastest candidate, within a budget for unrolled code.

The time of a candidate is measured if the tuning file has the node, otherwise predicted. Measured
and predicted times do not compare: if some candidates of a node are measured, the others are
ignored. Winograd tiles are candidates only if their costs are known, from a measurement or from the
costs of a device. ``--winograd 2x2`` or ``4x4`` forces tiles.

Constant weights in unrolled code make shaders fast, but slow to compile. Each constant takes about
0.2 ms, each program as long as ``PER_PROGRAM`` constants. Unrolling every layer of a
large network would delay its start by minutes. Three rules limit the constants:

1. All shaders together may have ``NETWORK_BUDGET`` constants. Layers with more pixels come first,
   because they use each constant more often. A layer that saves ``LARGE_SHARE`` of the frame may
   exceed the budget by the factor ``OVERDRAFT``: else the last layer of an upscaler could take as
   long as all others.
2. Compute shaders run fast without constants. If the target has them, a layer gets constants only
   if it has ``MANY_PIXELS``, or if each constant saves ``MIN_SAVED`` nanoseconds in a frame. This
   rule is skipped if predictions include the time to compile (``Costs.code``).
3. If the layers without constants need more than ``FEW_PROGRAMS`` programs, the network starts
   slowly already. A layer then gets constants only if ::

       time saved / time of the frame  >=  MIN_FRAME_SHARE * constants / NETWORK_BUDGET

   Divided by constants / NETWORK_BUDGET, the left side is 0.2 to 4 in upscalers of a few layers and
   0.24 in the largest layers of U-Net. It is at most 0.12 in classifiers and style transfer, whose
   layers are each a small part of the frame. This rule is skipped if the target has the costs of
   one device.
"""

from __future__ import annotations

from collections import Counter
from math import inf, isfinite
from typing import TYPE_CHECKING

from ..errors import ShadergenError
from ..ir.dimensions import hint
from ..ir.ops import Conv
from ..ir.types import LANES
from ..records import dataclass, replace
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
OVERDRAFT = 1.25  # times the budget, for layers that save a large share of the frame
LARGE_SHARE = 0.05  # of the frame without constants
PER_PROGRAM = 512  # constants that compile in the time of an empty program
FEW_PROGRAMS = 8  # without constants; networks with more start slowly
MIN_FRAME_SHARE = 0.12  # share of the frame that constants must save if they fill the whole budget
MANY_PIXELS = 65536  # layers with more are worth constants even if compute shaders exist
MEASURED_TIE = 1.03  # measured times within this ratio are equal; predictions then decide
MIN_SAVED = 1000.0  # nanoseconds in a frame for each constant: repays compiling in 200 frames
PREDICTED_TIE = 1.05  # predicted times within this ratio do not justify another program
COMPILES_SLOWLY = "constant weights would be faster, but compile too slowly for this gain"


@dataclass(frozen=True)
class Ranking:
    """A node's candidates with their nanoseconds, the fastest first.

    Candidates that gave wrong results when measured are excluded.

    Attributes:
        costs: the candidates; if all gave wrong results, all of them.
        measured: whether the nanoseconds were measured, not predicted.
        wrong: whether all candidates gave wrong results.
        spilling: the candidates that are predicted to spill registers; these come last.
        spills_somewhere: whether the best candidate is predicted to spill on any device
            (:meth:`.predict_cost.Predictor.spills_somewhere`).
    """

    costs: tuple[tuple[float, Choice], ...]
    measured: bool = False
    wrong: bool = False
    spilling: frozenset[Choice] = frozenset()
    spills_somewhere: bool = False

    def without_constants(self) -> Ranking:
        """Return the ranking without constant weights, or the same if all have constants."""
        others = tuple((cost, c) for cost, c in self.costs if c.weights != "constants")
        return replace(self, costs=others or self.costs)

    def near_ties(self) -> tuple[tuple[float, Choice], ...]:
        """Return the best candidate, and candidates within ``PREDICTED_TIE`` of its time.

        Among these, :func:`choose_kernels` prefers a program that other layers share, because that
        saves compile time. Only candidates that loop over their weights can share a program.
        """
        least, best = self.costs[0]
        if self.measured or not best.loops:
            return self.costs[:1]
        fitting = (p for p in self.costs[1:] if best in self.spilling or p[1] not in self.spilling)
        near = (pair for pair in fitting if least <= pair[0] <= PREDICTED_TIE * least)
        return self.costs[:1] + tuple(pair for pair in near if pair[1].loops)


def choose_kernels(graph: Graph, context: Context) -> Graph:
    """Choose ``stage``, ``block``, ``planes`` and ``weights`` for every node.

    Raises:
        ShadergenError: SG0402 if ``--mrt`` exceeds the device's render targets, or weights exceed
            the storage of ``--weights``; SG0403 if the target lacks this storage, or lacks compute
            shaders with ``--stage compute``.
    """
    target = context.target
    _check(target)
    rankings = {n: rank(n, context, alone=True) for n in graph.nodes if is_undecided(n)}
    within = within_budget(rankings, context)
    wanted = Counter((n.op, choice) for n, r in within.items() for _, choice in r.near_ties())

    names = unique_names(graph.nodes)

    def choose(now: Node, was: Node) -> Node | None:
        if was not in rankings:
            return None
        found, allowed = rankings[was], within[was]
        alike = allowed.near_ties()
        cost, choice = max(alike, key=lambda pair: (wanted[was.op, pair[1]], -pair[0]))
        why = "measured " if found.measured else "predicted "
        why += cost_text(target.costs, cost, found.measured)
        if len(allowed.costs) > 1:
            lowest = "the lowest" if (cost, choice) == alike[0] else "close to the lowest"
            why += f", {lowest} of {len(allowed.costs)} candidates"
        elif len(found.costs) == 1 and not cost:
            why = "the only choice"
        if allowed.costs[0] != found.costs[0]:
            why += f"; {COMPILES_SLOWLY}"
        if (cost, choice) != alike[0]:
            other = cost_text(target.costs, alike[0][0], found.measured)
            why += f"; {alike[0][1]} ({other}) is about as fast, but fewer layers share its shader"
        if choice.stage != "compute" and target.stage == "compute":
            why = context.kernels.why_not_compute(was)
        context.explain(STEP, names[was], str(choice), why, choice)
        if target.winograd in TILES_OF and not choice.winograd and type(parts(now).kernel) is Conv:
            why = context.kernels.why_not_winograd(was)
            context.explain(STEP, names[was], NOT_IN_TILES, why)
        return replace(now, choice=choice)

    return graph.rewrite(choose)


def is_undecided(node: Node) -> bool:
    """Whether the stage or the planes of a node are still to be chosen."""
    return node.choice.stage is None or node.choice.planes is None


def rank(node: Node, context: Context, alone: bool = False) -> Ranking:
    """Return the candidates of a node, the cheapest first.

    Args:
        node: a node with layouts, whose kernel is not chosen yet.
        context: has the target, and the measured times if there are any.
        alone: whether the caller compares only candidates of this node. A single candidate then
            gets the cost 0, which saves counting its work.

    Raises:
        ShadergenError: SG0402 or SG0403 if there are no candidates.
    """
    found = _choices(node, context)
    if not found:
        raise context.kernels.refusal(node)
    if alone and len(found) == 1 and not context.measured:
        return Ranking(((0.0, found[0]),))
    return _cached_ranking(node, found, context)


def rank_if_any(node: Node, context: Context, predicted: bool = False) -> Ranking:
    """Return the candidates of a node, the cheapest first; there may be none.

    Args:
        node: a node with layouts, whose kernel is not chosen yet.
        context: has the target, and the measured times if there are any.
        predicted: ignore measured times, to compare with a node that was not measured.
    """
    found = _choices(node, context)
    return _cached_ranking(node, found, context, predicted) if found else Ranking(())


def _choices(node: Node, context: Context) -> tuple[Choice, ...]:
    """Return a node's candidates; Winograd's tiles only if their costs are known or forced."""
    target, kernels = context.target, context.kernels
    usual = target.winograd == "auto" and not are_priced(target.costs)
    few = kernels.choices(node, tiles=False) if usual and not context.measured else ()
    return few or kernels.choices(node)


def _cached_ranking(
    node: Node, found: tuple[Choice, ...], context: Context, predicted: bool = False
) -> Ranking:
    """Return the candidates of a node, the cheapest first; nodes with equal work share a ranking.

    Measured times belong to a tuning key. A node of dynamic sizes has a tuning key of its own, but
    the work of its default sizes.
    """
    predicted = predicted or not context.measured
    measured = "" if predicted else tuning_key(node, context.target)
    key = context.kernels.work_key(node, found), measured
    if key not in context.rankings:
        context.rankings[key] = _new_ranking(node, found, context, predicted)
    return context.rankings[key]


def _new_ranking(
    node: Node, found: tuple[Choice, ...], context: Context, predicted: bool
) -> Ranking:
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
        somewhere = predictor.spills_somewhere(ranked[0][1])
        return Ranking(ranked, wrong=not right, spilling=spilling, spills_somewhere=somewhere)
    close = MEASURED_TIE * min(cost for cost, _ in costs)

    def order(pair: tuple[float, Choice]) -> tuple[bool, float]:
        cost, choice = pair
        return cost > close, cost if cost > close else predictor.cost(choice)

    return Ranking(tuple(sorted(costs, key=order)), True)


def why_not_fused(fused: Node, apart: Sequence[Node], context: Context, forced: bool) -> str:
    """Return why nodes are not fused; empty if they are fused.

    Measured times decide if the fused node and all separate nodes have them, otherwise predictions.

    Args:
        fused: the node that replaces all separate nodes.
        apart: the separate nodes.
        context: has the target, and the measured times if there are any.
        forced: fuse even if the separate nodes are faster.
    """
    together = rank_if_any(fused, context)
    if not together.costs:
        return context.kernels.why_not_compute(fused) or "no kernel can compute the fused layers"
    if together.wrong:
        return "wrong results when measured"
    if forced:
        return ""
    rankings = {fused: together} | {n: rank_if_any(n, context) for n in apart}
    if not all(r.costs and not r.wrong for r in rankings.values()):
        return ""  # the separate nodes have no kernels, or only wrong ones
    if together.spills_somewhere and not any(rankings[n].spills_somewhere for n in apart):
        return "the fused layers are predicted to spill registers, the separate ones are not"
    measured = all(r.measured for r in rankings.values())
    if not measured:
        rankings = {
            n: rank_if_any(n, context, predicted=True) if r.measured else r
            for n, r in rankings.items()
        }
    one, *others = (r.costs[0][0] for r in within_budget(rankings, context).values())
    if one <= sum(others):
        return ""
    how = "measured" if measured else "predicted"
    costs = context.target.costs
    one_text, others_text = (cost_text(costs, c, measured) for c in (one, sum(others)))
    return f"{how} {one_text} fused, {others_text} in two passes"


def _check(target: Target) -> None:
    """Refuse options that need more than the device has."""
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
    """Return the rankings, without constants for the nodes to which the three rules deny them."""
    unrolled = _allowed_constants(rankings, context)
    return {n: r if n in unrolled else r.without_constants() for n, r in rankings.items()}


def _allowed_constants(rankings: Mapping[Node, Ranking], context: Context) -> set[Node]:
    """Return the nodes whose weights may be constants, by the three rules of this module."""
    target = context.target
    wanted = [n for n, r in rankings.items() if r.costs[0][1].weights == "constants"]
    if target.weights == "constants":
        return set(wanted)
    chosen, spent = set(), 0.0
    frame = sum(r.without_constants().costs[0][0] for r in rankings.values())
    many = not are_known(target.costs) and _other_programs(rankings, wanted) > FEW_PROGRAMS
    for node in sorted(wanted, key=_pixels, reverse=True):
        found = rankings[node]
        cost, choice = found.costs[0]
        work = context.kernels.work(node, choice)[0]
        total = work.programs * (work.code * LANES + PER_PROGRAM)
        saved = found.without_constants().costs[0][0] - cost
        priced = any(device.code for device in target.costs)  # predictions include compiling
        billed = priced and not found.measured
        if (
            target.computes
            and not billed
            and _pixels(node) < MANY_PIXELS
            and saved < MIN_SAVED * total
        ):
            continue
        if many and saved < MIN_FRAME_SHARE * frame * total / NETWORK_BUDGET:
            continue
        budget = NETWORK_BUDGET * (OVERDRAFT if saved >= LARGE_SHARE * frame else 1)
        if spent + total <= budget:
            chosen.add(node)
            spent += total
    return chosen


def _other_programs(rankings: Mapping[Node, Ranking], wanted: Collection[Node]) -> int:
    """Estimate the number of programs of the nodes that are fastest without constants."""
    others = ((n.op, r.costs[0][1]) for n, r in rankings.items() if n not in wanted)
    return len(set(others))


def _pixels(node: Node) -> int:
    return hint(node.result.type.size // node.result.shape[1])
