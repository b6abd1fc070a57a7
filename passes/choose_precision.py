"""Choose the precision of every node: ``mediump`` (16 bits) or ``highp`` (32 bits).

``--precision highp`` and ``mediump`` apply to every node. ``--precision auto`` makes a node mediump
if all of these hold:

- No stored or intermediate value of the node exceeds the largest 16-bit float. This is proven for
  all inputs within ``--input-range`` (:mod:`.placement.ranges`), or observed on calibration inputs
  with a margin of 2 (:mod:`.placement.calibration`).
- Its values and weights are not too small for 16-bit floats.
- No index or sampling position is computed from its result, and no layer is normalised by it
  (:mod:`.placement.kinds`). The latter holds with ``--precision mediump``, too.
- The estimated error of the network's outputs stays small (:mod:`.predict_error`).

A mediump convolution adds up ``partial_terms`` products in 16 bits, then continues in 32 bits
(:mod:`.placement.summation`). Longer 16-bit sums are faster and less accurate. With auto, sums are
longer than the four lanes of a texel only if calibration measured their error.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..ir.dimensions import is_dynamic
from ..ir.graph import Constant
from ..ir.ops import Conv
from ..ir.types import HALF_MAX, HALF_MIN, LANES, fits_half
from ..records import replace
from .at_size import at_size, originals
from .kernel_ops import SeparableConv, parts
from .placement.calibration import MARGIN, growth, observe, safe_terms
from .placement.costs import gain_from_half
from .placement.kinds import computes_in_full, index_values, is_direct, statistics
from .placement.ranges import Interval, ValueRange, value_ranges
from .placement.summation import PARTIAL_TERMS, proven_terms, sum_terms
from .predict_error import STEP as ESTIMATE
from .predict_error import predict_error, saved_bytes, summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..ir.graph import Choice, Graph, Node, Precision, Value
    from .rule import Context

    Chosen = tuple[Choice, str, str]  # the choice, and for --explain the decision and its reason

ROOM = 0.99  # share of the largest 16-bit float that values may reach; rounding needs the rest
PROVEN = "mediump"
CALIBRATED = "mediump, by calibration"
TOO_SMALL = "too small for 16 bits"
UNPROVEN = "mediump, sums may overflow"
TOO_INEXACT = "too inexact in 16 bits"
STATISTICS = "this result is the mean, variance or maximum that normalises another layer"
STEP = "choose precision"


def choose_precision(graph: Graph, context: Context) -> Graph:
    """Set ``precision`` for every node."""
    auto = context.target.precision == "auto"
    chosen = _automatic(graph, context) if auto else _forced(graph, context)
    predicted = None
    if auto and (context.trials is not None or context.samples):
        choices = {node: choice for node, (choice, _, _) in chosen.items()}
        predicted = predict_error(graph, context, choices)

    def choose(now: Node, was: Node) -> Node | None:
        if was not in chosen:
            return None
        choice, decision, why = chosen[was]
        if predicted is not None and was in predicted.wide:
            alone = predicted.wide[was]
            added = f"this layer and its neighbours add {alone:.2g} to the error"
            why = f"{why}; {TOO_INEXACT}: {added}"
            choice, decision = replace(choice, precision="highp", partial_terms=0), "highp"
        elif choice.precision == "mediump":
            said = [why, _sums(was, choice, context)]
            if predicted is not None and was in predicted.growth:
                said.append(f"estimated error of the result {predicted.growth[was]:.2g}")
                said.append(f"16 bits save {saved_bytes(was) / 1024:.3g} KiB")
            why = "; ".join(filter(None, said))
        if auto or why:
            context.explain(STEP, now.name, decision, why)
        return replace(now, choice=choice)

    graph = graph.rewrite(choose)
    if predicted is not None:
        context.explain(ESTIMATE, graph.name, *summary(predicted, graph))
    return graph


def _forced(graph: Graph, context: Context) -> dict[Node, Chosen]:
    """Return the precision that the user asked for, for every node that has none yet."""
    target = context.target
    asked: Precision = "highp" if target.precision == "highp" else "mediump"
    faster = asked == "mediump" and gain_from_half(target.costs)
    known = value_ranges(graph, Interval(*target.input_range)) if faster else {}
    exact = statistics(graph) if asked == "mediump" else set()
    chosen: dict[Node, Chosen] = {}
    for n in graph.nodes:
        if n.choice.precision is not None:
            continue
        if n.result in exact:
            chosen[n] = replace(n.choice, precision="highp"), "highp", STATISTICS
            continue
        terms, decision = 0, str(asked)
        if faster and is_direct(n):
            terms = _forced_terms(n, known)
            if not terms:
                terms, decision = PARTIAL_TERMS, UNPROVEN
        chosen[n] = replace(n.choice, precision=asked, partial_terms=terms), decision, ""
    return chosen


def _forced_terms(node: Node, known: Mapping[Value, ValueRange]) -> int:
    """Return the largest number of products whose sum provably stays within 16 bits, or 0."""
    if known[node.result].largest <= ROOM * HALF_MAX:
        return PARTIAL_TERMS
    p = parts(node)
    if p.prologue or isinstance(p.kernel, SeparableConv):
        return 0
    x, _, *bias = p.operands
    conv = p.kernel
    border = max(abs(conv.pad_value), abs(conv.zero_guard)) if isinstance(conv, Conv) else 0.0
    starts = (np.abs(b.data).max() if isinstance(b, Constant) else math.inf for b in bias)
    start = float(max(starts, default=0.0))
    return proven_terms(node, start, max(known[x].result.size, border) / ROOM)


def _automatic(graph: Graph, context: Context) -> dict[Node, Chosen]:
    """Return mediump for every node whose values 16-bit floats can hold, otherwise highp."""
    target = context.target
    proven = value_ranges(graph, Interval(*target.input_range))
    sized = at_size(graph) if context.samples else graph
    original = originals(sized, graph)
    observed, grown = _observed(graph, sized, proven, context)
    exact, normalising = index_values(graph), statistics(graph)
    chosen: dict[Node, Chosen] = {}
    for n in graph.nodes:
        if n.choice.precision is None:
            decision, reason = _decide(n, proven[n.result], observed.get(n.result))
            if decision and n.result in exact:
                decision, reason = "", "other layers compute indices from its result"
            elif decision and n.result in normalising:
                decision, reason = "", STATISTICS
            precision: Precision = "mediump" if decision else "highp"
            chosen[n] = replace(n.choice, precision=precision), decision or "highp", reason
    if gain_from_half(target.costs):
        short = {n for n in chosen if chosen[n][0].precision == "mediump" and is_direct(n)}
        steady = (n for n in short if all(grown.get(v, 1.0) == 1 for v in (n.result, *n.inputs)))
        wanted = {n.result for n in steady}
        found = safe_terms(sized, context.samples, {v for v in original if original[v] in wanted})
        safe = {original[v]: terms for v, terms in found.items()}
        for n in short:
            choice, decision, reason = chosen[n]
            terms = safe.get(n.result, LANES)
            chosen[n] = replace(choice, partial_terms=terms), decision, reason
    return chosen


def _observed(
    graph: Graph, sized: Graph, proven: Mapping[Value, ValueRange], context: Context
) -> tuple[dict[Value, ValueRange], dict[Value, float]]:
    """Return the bounds on calibration inputs, and how values may grow at other sizes.

    The samples have the initial size, as ``sized`` has: the bounds are widened by the growth.
    """
    original = originals(sized, graph)
    seen = {original[v]: b for v, b in observe(sized, context.samples).items()}
    if not any(is_dynamic(n) for i in graph.inputs for n in i.shape):
        return seen, {}
    there = value_ranges(sized, Interval(*context.target.input_range))
    grown = growth(graph, proven, {original[v]: b for v, b in there.items() if v in original})
    return {v: b.times(grown[v]) for v, b in seen.items() if grown[v] < math.inf}, grown


def _sums(node: Node, choice: Choice, context: Context) -> str:
    """Return, for --explain, how a mediump convolution adds up its products."""
    terms = choice.partial_terms
    if not is_direct(node) or not gain_from_half(context.target.costs):
        return ""
    if sum_terms(node) <= terms:
        return "sums in 16 bits"
    return f"16-bit partial sums of {terms} products" if terms > 1 else "sums in 32 bits"


def _decide(node: Node, proven: ValueRange, observed: ValueRange | None) -> tuple[str, str]:
    """Return the decision for a node and its reason; the decision is empty if highp is needed.

    Args:
        node: the node.
        proven: bounds of its values for all inputs within ``--input-range``.
        observed: bounds of its values on calibration inputs, times ``MARGIN``; None without
            calibration.
    """
    in_full = computes_in_full(node)

    def largest(found: ValueRange) -> float:
        return found.result.size if in_full else found.largest

    if not _weights_fit(node):
        return "", "the weights of some channels are too large or too small for 16 bits"
    if 0 < proven.result.size < HALF_MIN:
        return "", f"values up to {proven.result.size:.4g}, {TOO_SMALL}"
    if observed is not None and 0 < observed.result.size / MARGIN < HALF_MIN:
        return (
            "",
            f"values up to {observed.result.size / MARGIN:.4g} on calibration inputs, {TOO_SMALL}",
        )
    proven_peak = largest(proven)
    if proven_peak <= ROOM * HALF_MAX:
        return PROVEN, f"values up to {proven_peak:.4g}"
    is_known = proven_peak < math.inf
    reason = f"values up to {proven_peak:.4g}" if is_known else "its range is unknown"
    if observed is None:
        return "", reason
    peak = largest(observed) / MARGIN
    reason = f"{reason}; up to {peak:.4g} on calibration inputs"
    return (CALIBRATED if peak * MARGIN <= ROOM * HALF_MAX else ""), reason


def _weights_fit(node: Node) -> bool:
    """Whether 16-bit floats can hold the weights of all channels of a convolution."""
    p = parts(node)
    if not is_direct(node):
        return True
    w = p.operands[1]
    assert isinstance(w, Constant)
    return fits_half(w.data, axis=0)
