"""Choose the precision of every node: 16 bits where nothing can go wrong, else 32.

Asked for highp or mediump, every node gets it. Asked for auto, a node is mediump when no number it
stores or meets on the way can exceed what 16-bit floats hold, for any input within the stated
range (``placement.ranges``), or where that is not proven, for the inputs to calibrate with, and
with room for numbers twice as large (``placement.calibration``). All else stays highp. So do
numbers that are too small for 16 bits, and positions that a sampling operator reads at
(``placement.kinds``). Longer 16-bit sums than those of a texel's lanes lose more: auto has them
only where calibration measured what they lose.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.graph import Constant
from ..ir.types import HALF_MAX, HALF_MIN, LANES, fits_half
from .kernel_ops import parts
from .placement.calibration import MARGIN, observe, safe_terms
from .placement.costs import gain_from_half
from .placement.kinds import computes_in_full, index_values, is_direct
from .placement.ranges import Bounds, Interval, bounds
from .placement.summation import PARTIAL_TERMS, sum_terms

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Precision
    from .rule import Context

ROOM = 0.99  # of it: results are rounded
PROVEN = "mediump"
CALIBRATED = "mediump, by calibration"
TOO_SMALL = "too small for 16 bits"


def choose_precision(graph: Graph, context: Context) -> Graph:
    """Set ``precision`` for every node."""
    target = context.target
    auto = target.precision == "auto"
    proven = bounds(graph, Interval(*target.input_range)) if auto else {}
    seen = observe(graph, context.samples) if auto else {}
    safe = safe_terms(graph, context.samples) if auto else {}
    exact = index_values(graph) if auto else set()

    def choose(now: Node, was: Node) -> Node | None:
        if now.choice.precision is not None:
            return None
        within, what = "", ""
        chosen: Precision = "highp" if target.precision == "highp" else "mediump"
        if auto:
            within, what = _within(was, proven[was.result], seen.get(was.result))
            if within and was.result in exact:
                within, what = "", "it determines indices"
            chosen = "mediump" if within else "highp"
        terms = 0
        if chosen == "mediump" and gain_from_half(target.costs) and is_direct(was):
            terms = safe.get(was.result, LANES if auto else PARTIAL_TERMS)
            what = "; ".join(filter(None, (what, _sums(was, terms))))
        if auto or what:
            context.explain("choose precision", now.name, within or chosen, what)
        return replace(now, choice=replace(now.choice, precision=chosen, partial_terms=terms))

    return graph.rewrite(choose)


def _sums(node: Node, terms: int) -> str:
    """Say how a mediump convolution adds up its products."""
    if sum_terms(node) <= terms:
        return "sums in 16 bits"
    return f"16-bit partial sums of {terms} products" if terms > 1 else "sums in 32 bits"


def _within(node: Node, proven: Bounds, seen: Bounds | None) -> tuple[str, str]:
    """Return how a node's numbers are known to lie within 16 bits, or nothing, and their bound."""
    in_full = computes_in_full(node)

    def largest(found: Bounds) -> float:
        return found.result.size if in_full else found.largest

    if not _weights_fit(node):
        return "", "the weights of some channels exceed 16 bits"
    if 0 < proven.result.size < HALF_MIN:
        return "", f"at most {proven.result.size:.4g}, {TOO_SMALL}"
    if seen is not None and 0 < seen.result.size / MARGIN < HALF_MIN:
        return "", f"at most {seen.result.size / MARGIN:.4g} on calibration inputs, {TOO_SMALL}"
    most = largest(proven)
    if most <= ROOM * HALF_MAX:
        return PROVEN, f"up to {most:.4g}"
    what = f"up to {most:.4g}" if most < math.inf else "its range is unknown"
    if seen is None:
        return "", what
    met = largest(seen) / MARGIN
    what = f"{what}; up to {met:.4g} on calibration inputs"
    return (CALIBRATED if met * MARGIN <= ROOM * HALF_MAX else ""), what


def _weights_fit(node: Node) -> bool:
    """Whether 16 bits keep all channels of a convolution's weights."""
    p = parts(node)
    if not is_direct(node):
        return True
    w = p.operands[1]
    assert isinstance(w, Constant)
    return fits_half(w.data, axis=0)
