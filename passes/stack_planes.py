"""Stack the planes of maps below each other in one 2D texture.

A draw writes as many layers of an array texture as the device has draw buffers: four planes on many
devices. A layer of 48 planes then takes 12 draws, however small they are, and starting a draw takes
20 µs on phones. One draw writes a stacked map: each fragment computes one plane, found from its
position. On the other hand, its fragments share no loads of the input, and read weights that differ
between them. A map is stacked if this is predicted to be clearly faster.

Dispatches write all planes of an array, so targets with compute shaders stack nothing. Nor do
devices on which a program of its own for each draw is faster, such as SwiftShader: planes of a
stack have one program. Maps that are joined or cut in place (:mod:`.alias_planes`) stay arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.dimensions import is_dynamic
from ..records import replace
from .choose_kernels import rank_if_any
from .kernel_ops import parts
from .placement.costs import minimax_cost
from .placement.kinds import cuts_planes, joins_planes, planes_share_a_program
from .predict_cost import Predictor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..ir.graph import Graph, Node, Value
    from .placement.target import Target
    from .rule import Context

STEP = "stack planes"
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
    one = _times(stacked, context)
    if one is None:
        return ""
    if context.target.textures == "stacked":
        return "--textures stacked"
    several = _times(arrays, context)
    if several is None:
        return "no kernel writes an array"
    best = np.minimum(one, several)
    faster = minimax_cost(one, best) < CLEARLY * minimax_cost(several, best)
    return "one draw is predicted to be faster" if faster else ""


def _times(node: Node, context: Context) -> NDArray[np.floating] | None:
    """Return the predicted times of a node's best kernel on each device, if it has a kernel."""
    predictor = Predictor(node, context.kernels)
    every = (predictor.times(c) for _, c in rank_if_any(node, context, predicted=True).costs)
    return next((times for times in every if times is not None), None)


def _may_stack(node: Node, target: Target) -> bool:
    """Whether one program can draw all planes of a node, and a texture has room for them."""
    t = node.result.type
    if len(node.results) > 1 or parts(node).store or any(map(is_dynamic, t.shape)):
        return False
    if not t.in_planes or t.shape[0] > 1 or t.planes == 1:
        return False
    return t.shape[2] * t.planes <= target.limits.texture_size and planes_share_a_program(node)
