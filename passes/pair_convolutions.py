"""Compute a depthwise convolution and the 1x1 convolution behind it in one kernel.

conv(first(x); w, b) = pair(x, ..., w, b): an invocation computes one plane of the first after the
other and adds what each gives to all planes of the result, so nothing between is stored. In the
compute stage only. Refused when the first is read elsewhere too, when it or the second does what
one invocation cannot (a border or a stride between them, an epilogue that reads maps), or when the
result has more planes than one has room for. Of what is left the faster is taken, by measured times
where there are some for the pair and for both alone, else by predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..ir.expr import variables
from ..ir.graph import Node, Result
from ..ir.ops import Conv, paired, parts
from ..ir.ops.convolution import is_depthwise
from .candidates import PAIRED_PLANES, unsuited
from .choose_kernels import ranking, within_budget
from .placement.kinds import is_direct, is_parameter
from .placement.target import cost_text
from .rule import Rule, apply_once

if TYPE_CHECKING:
    from ..ir.graph import Graph
    from .choose_kernels import Ranking
    from .rule import Context, Site

NO_ROOM = "one invocation has no room for all planes of the result"


@dataclass(frozen=True, eq=False)
class _Pair:
    """``second`` is a 1x1 convolution that reads ``first``, which is depthwise."""

    first: Node
    second: Node
    read_elsewhere: bool


def _match(site: Site) -> _Pair | None:
    second = site.node
    x = second.inputs[0] if second.inputs else None
    if not isinstance(x, Result) or not (_is_convolution(second) and _is_convolution(x.node)):
        return None
    p = parts(x.node)
    assert isinstance(p.kernel, Conv)
    depthwise = is_depthwise(p.operands[1].shape, p.kernel.groups)
    if not depthwise or parts(second).operands[1].shape[2:] != (1, 1):
        return None
    return _Pair(x.node, second, site.uses[0] > 1)


def _is_convolution(node: Node) -> bool:
    return type(parts(node).kernel) is Conv and is_direct(node)


def _check(found: _Pair, context: Context) -> str:
    target = context.target
    if target.pairs == "off":
        return "--pairs off"
    if target.stage == "fragment":
        return "--stage fragment"
    why = target.lacks_compute or _unfit(found)
    if target.weights == "constants":
        why = "--weights constants"
    if why:
        return why
    if found.second.result.type.planes > PAIRED_PLANES:
        return NO_ROOM
    pair = paired(found.first, found.second)
    together = ranking(pair, context)
    if not together.costs:
        return unsuited(pair, target) or NO_ROOM
    if together.wrong:
        return "its results were wrong when it was measured"
    return "" if target.pairs == "on" else _slower(found, pair, together, context)


def _slower(found: _Pair, pair: Node, together: Ranking, context: Context) -> str:
    """Return what two passes take less than one, or nothing.

    Times are compared where all three are measured, else predictions.
    """
    rankings = {pair: together}
    rankings |= {n: ranking(n, context) for n in (found.first, found.second)}
    if not all(r.costs and not r.wrong for r in rankings.values()):
        return ""  # there is no other way
    measured = all(r.measured for r in rankings.values())
    if not measured:
        rankings = {
            n: ranking(n, context, predicted=True) if r.measured else r for n, r in rankings.items()
        }
    one, *two = (r.costs[0][0] for r in within_budget(rankings, context.target).values())
    if one <= sum(two):
        return ""
    how = "measured" if measured else "predicted"
    fused, apart = (cost_text(context.target.costs, c, measured) for c in (one, sum(two)))
    return f"{how} {fused}, and {apart} in two passes"


def _unfit(found: _Pair) -> str:
    """Return why two convolutions are not one kernel on any device, or nothing."""
    p, q = parts(found.first), parts(found.second)
    assert isinstance(q.kernel, Conv)
    if found.read_elsewhere:
        return f"'{found.first.name}' is read elsewhere too"
    if q.kernel.zero_guard:
        return "--zero-guard: nothing between is read, so nothing is put in place of its zeros"
    plain = replace(q.kernel, dilations=(1, 1), pad_mode="constant", pad_value=0.0)
    if plain != Conv() or q.prologue is not None or q.store:
        return "the second does more than to multiply the first's channels"
    if p.store or found.first.result.type.dtype != "float32":
        return "the first does more than to compute channels"
    names = variables(p.epilogue) if p.epilogue is not None else ()
    read = (p.extras[int(n[1:])] for n in names if n != "y")
    if not all(is_parameter(v, found.first.result.type) for v in read):
        return "the first reads a map for each element of its result"
    if found.first.choice.precision != found.second.choice.precision:
        return "the two differ in precision"
    return ""


PAIR: Rule[_Pair] = Rule(
    "pair convolutions", _match, _check, lambda found: paired(found.first, found.second).result
)


def pair_convolutions(graph: Graph, context: Context) -> Graph:
    """Make one node of every two convolutions where that pays."""
    return apply_once(graph, context, PAIR)
