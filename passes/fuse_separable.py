"""Fuse a depthwise convolution and the 1x1 convolution after it into one kernel.

conv(first(x); w, b) = separable(x, ..., w, b): an invocation computes the intermediate plane by
plane and adds each plane's products to all planes of the result. The intermediate is never stored.

In the compute stage only. Refused if another node reads the intermediate, if the second has a
border or a stride, if the first's epilogue reads maps, or if the result has too many planes for an
invocation. Otherwise the faster way is taken: by measured times if the fused node and both single
nodes have some, else by predictions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.expr import named, variables
from ..ir.graph import Node, Result
from ..ir.ops import Conv
from ..ir.ops.convolution import is_depthwise
from ..records import dataclass, replace
from .choose_kernels import why_not_fused
from .kernel_ops import parts, separable
from .placement.kinds import is_direct, is_parameter
from .rule import Rule, apply_once

if TYPE_CHECKING:
    from ..ir.graph import Graph
    from .rule import Context, Site


@dataclass(frozen=True, eq=False)
class _Found:
    """``second`` is a 1x1 convolution that reads ``first``, which is depthwise."""

    first: Node
    second: Node
    read_elsewhere: bool


def _match(site: Site) -> _Found | None:
    second = site.node
    x = second.inputs[0] if second.inputs else None
    if not isinstance(x, Result) or not (_is_convolution(second) and _is_convolution(x.node)):
        return None
    p = parts(x.node)
    assert isinstance(p.kernel, Conv)
    depthwise = is_depthwise(p.operands[1].shape, p.kernel.groups)
    if not depthwise or parts(second).operands[1].shape[2:] != (1, 1):
        return None
    return _Found(x.node, second, site.uses[0] > 1)


def _is_convolution(node: Node) -> bool:
    return type(parts(node).kernel) is Conv and is_direct(node)


def _check(found: _Found, context: Context) -> str:
    target = context.target
    if target.fuse_separable == "off":
        return "--fuse-separable off excludes it"
    if target.stage == "fragment":
        return "--stage fragment excludes it"
    why = target.lacks_compute or _unfit(found)
    if target.weights == "constants":
        why = "--weights constants excludes it"
    if why:
        return why
    pair = separable(found.first, found.second)
    return why_not_fused(pair, (found.first, found.second), context, target.fuse_separable == "on")


def _unfit(found: _Found) -> str:
    """Return why no device can fuse two convolutions, or nothing."""
    p, q = parts(found.first), parts(found.second)
    assert isinstance(q.kernel, Conv)
    if found.read_elsewhere:
        return f"'{found.first.name}' is read elsewhere too"
    if q.kernel.zero_guard:
        return "--zero-guard: the intermediate is never stored, so its zeros cannot be replaced"
    plain = replace(q.kernel, dilations=(1, 1), pad_mode="constant", pad_value=0.0)
    if plain != Conv() or q.prologue or q.store:
        return "the second convolution has a stride, padding, groups or a prologue"
    if p.store or found.first.result.type.dtype != "float32":
        return "the first convolution is fused with a pixel shuffle, or has no float32 result"
    names = variables(p.epilogue) if p.epilogue is not None else ()
    extras = named(p.extras, "e")
    read = (extras[n] for n in names if n != "y")
    if not all(is_parameter(v, found.first.result.type) for v in read):
        return "the epilogue of the first convolution reads a map"
    if found.first.choice.precision != found.second.choice.precision:
        return "the two convolutions differ in precision"
    return ""


FUSE: Rule[_Found] = Rule(
    "fuse separable", _match, _check, lambda found: separable(found.first, found.second).result
)


def fuse_separable(graph: Graph, context: Context) -> Graph:
    """Fuse every two convolutions for which it pays."""
    return apply_once(graph, context, FUSE)
