"""Stack the planes of maps below each other in one 2D texture.

A draw writes as many layers of an array texture as the device has draw buffers: four planes on many
devices. A layer of 48 planes then takes 12 draws, however small they are, and starting a draw takes
20 µs on phones. One draw writes a stacked map: each fragment computes one plane, found from its
position. On the other hand, its fragments share no loads of the input, and read weights that differ
between them. A map is stacked if this is predicted to be clearly faster.

Dispatches write all planes of an array, so targets with compute shaders stack nothing. Devices on
which a separate program for each draw is faster, such as SwiftShader, do not stack either: all
planes of a stack share one program. Maps that are joined or cut in place (:mod:`.alias_planes`)
stay arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.dimensions import is_dynamic
from ..ir.ops.convolution import Conv
from ..records import dataclass, replace
from .choose_kernels import rank_if_any
from .kernel_ops import parts
from .placement.costs import minimax_cost
from .placement.kinds import cuts_planes, is_direct, joins_planes, planes_share_a_program
from .predict_cost import Predictor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..ir.graph import Graph, Node, Value
    from .placement.target import Target
    from .rule import Context

STEP = "stack planes"
HARDLY = 0.95  # of the rest of a time is what one draw takes at least
CLEARLY = 0.5  # of the predicted time of several draws: what starting one takes is a rough number


def stack_planes(graph: Graph, context: Context) -> Graph:
    """Give maps the layout "stacked" where one draw is faster than several."""
    target = context.target
    if target.textures != "stacked" and not _may_gain(target):
        return graph
    arrays: set[Value] = {o.value for o in graph.outputs}
    for node in graph.nodes:
        if joins_planes(node) or cuts_planes(node):
            arrays.update(node.inputs, node.results)

    def stack(now: Node, was: Node) -> Node | None:
        if was.result in arrays or not _may_stack(now, target):
            return None
        t = now.result.type
        assert t.layout is not None
        stacked = replace(now, types=(t.placed(replace(t.layout, kind="stacked")),))
        why = _why(stacked, now, context)
        if not why:
            return None
        context.explain(STEP, now.name, "stacked", why)
        return stacked

    return graph.rewrite(stack)


def _may_gain(target: Target) -> bool:
    """Whether one draw may be faster than several, and no option asks for several."""
    asked = target.textures != "auto" or target.planes_per_pass is not None
    tiles = target.winograd not in ("auto", "off")  # no kernel writes their results to a stack
    return target.shares_programs and not (target.computes or asked or tiles)


def _why(stacked: Node, arrays: Node, context: Context) -> str:
    """Return why to stack the planes of a node's result, or nothing."""
    if context.target.textures == "stacked":
        return "--textures stacked" if _times(stacked, context) else ""
    several = _times(arrays, context)
    if several and _is_dense(arrays) and not _is_clearly_faster(several.least, several.time):
        return ""  # most convolutions; the work of their stacks need not be counted
    one = _times(stacked, context)
    if one is None:
        return ""
    if several is None:
        return "no kernel can write this result to an array texture"
    faster = _is_clearly_faster(one.time, several.time)
    return "one draw is predicted to be faster" if faster else ""


@dataclass(frozen=True)
class _Times:
    """The predicted nanoseconds of a node's best kernel on each device.

    Attributes:
        time: of all its draws.
        least: of one draw instead. It saves the other starts and, as planes of a stack share fewer
            loads, hardly more.
    """

    time: NDArray[np.floating]
    least: NDArray[np.floating]


def _times(node: Node, context: Context) -> _Times | None:
    predictor = Predictor(node, context.kernels)
    for _, choice in rank_if_any(node, context, predicted=True).costs:
        time = predictor.times(choice)
        if time is not None:
            return _Times(time, HARDLY * (time - predictor.restarts(choice)))
    return None


def _is_dense(node: Node) -> bool:
    """Whether a node is a convolution whose planes all load the same, which a stack shares less."""
    kernel = parts(node).kernel
    return is_direct(node) and isinstance(kernel, Conv) and kernel.groups == 1


def _is_clearly_faster(one: NDArray[np.floating], several: NDArray[np.floating]) -> bool:
    best = np.minimum(one, several)
    return minimax_cost(one, best) < CLEARLY * minimax_cost(several, best)


def _may_stack(node: Node, target: Target) -> bool:
    """Whether one program can draw all planes of a node, and a texture has room for them."""
    t = node.result.type
    if len(node.results) > 1 or parts(node).store or any(map(is_dynamic, t.shape)):
        return False
    if not t.in_planes or t.shape[0] > 1 or t.planes == 1:
        return False
    return t.shape[2] * t.planes <= target.limits.texture_size and planes_share_a_program(node)
