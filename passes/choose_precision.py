"""Choose the precision of every node: 16 bits where nothing can go wrong, else 32.

Asked for highp or mediump, every node gets it. Asked for auto, a node is mediump when no number it
stores or meets on the way can exceed what 16-bit floats hold, for any input within the stated
range (``ir.ranges``); what is not provably within stays highp, and so do places, where a sampling
operator reads (``ir.placement``): they need more digits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.placement import computes_in_full, places
from ..ir.ranges import Interval, bounds
from ..ir.types import HALF_MAX

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Precision
    from .rule import Context

ROOM = 0.99  # of it: results are rounded


def choose_precision(graph: Graph, context: Context) -> Graph:
    """Set ``precision`` for every node."""
    target = context.target
    auto = target.precision == "auto"
    known = bounds(graph, Interval(*target.input_range)) if auto else {}
    exact = places(graph) if auto else set()

    def choose(now: Node, was: Node) -> Node | None:
        if now.choice.precision is not None:
            return None
        chosen: Precision = "highp" if target.precision == "highp" else "mediump"
        if auto:
            found = known[was.result]
            largest = found.result.size if computes_in_full(was) else found.largest
            within = largest <= ROOM * HALF_MAX
            chosen = "mediump" if within and was.result not in exact else "highp"
            what = f"up to {largest:.4g}" if largest < float("inf") else "no bound is known"
            if within and was.result in exact:
                what = "it decides where elements are read"
            context.explain("choose precision", now.name, chosen, what)
        return replace(now, choice=replace(now.choice, precision=chosen))

    return graph.rewrite(choose)
