"""Choose the stage of each kernel, and for compute the block that one invocation computes.

A convolution that loops over its weights runs in compute where the target has it: a fragment
invocation is one pixel, and there each multiplication of four channels by four takes a fetch or
more, while a block of pixels shares its weights and a row of taps its inputs. So does any other
loop nest that would take several passes. Asked for compute, every kernel of planes runs there. What
stays in the fragment stage: tensors in rows, textures of formats without images, and convolutions
in uneven groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import ShadergenError
from ..ir.ops import Conv, parts
from ..ir.placement import is_direct, planes_share_a_program
from ..ir.target import WORKGROUP
from ..ir.types import IMAGE_FORMATS
from .choose_weight_storage import parameter_floats, storage_room, weight_floats
from .group_outputs import planes_in_a_pass

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, WeightStorage
    from ..ir.target import Target
    from .rule import Context

COLUMNS = (8, 4, 2, 1)  # pixels of a row that one invocation may compute
PLANES = (4, 2, 1)  # planes of it, where inputs are not shared otherwise
MOVES = "little is computed for each element stored"
WASTE = 1.25  # what a longer block may cost at the border


def choose_stage(graph: Graph, context: Context) -> Graph:
    """Choose ``stage`` for every node, and ``block`` and ``planes`` for those in compute.

    Raises:
        ShadergenError: SG0403 when compute is asked for and the target has none.
    """
    target = context.target
    lacking = target.lacks_compute
    if target.stage == "compute" and lacking:
        raise ShadergenError(
            "SG0403",
            "--stage compute needs compute shaders",
            why=lacking,
            help="use a --device that has them, gles31-min say, and no --glsl 300",
        )
    if lacking or target.stage == "fragment":
        return graph

    def choose(now: Node, was: Node) -> Node | None:
        if now.choice.stage is not None:
            return None
        weights = _weights(now, context)
        block, planes = _block(now)
        why = _unsuited(now, weights, block, target)
        if target.stage == "auto":
            why = why or _not_worth(now, target)
        choice = replace(now.choice, stage="fragment")
        if not why:
            choice = replace(
                now.choice, stage="compute", block=block, planes=planes, weights=weights
            )
            why = f"{block[0]}x{block[1]} pixels of {planes} planes for each invocation"
        context.explain("choose stage", now.name, str(choice.stage), why)
        return replace(now, choice=choice)

    return graph.rewrite(choose)


def _weights(node: Node, context: Context) -> WeightStorage | None:
    """Return where all of a convolution's weights go, or None: in compute they are looped over."""
    if not is_direct(node):
        return None
    target, planes = context.target, node.result.type.planes
    asked: WeightStorage = "texture" if target.weights == "auto" else target.weights
    needed = 4 * (weight_floats(node, planes) + parameter_floats(node, planes, context))
    if asked == "constants" or needed > storage_room(target)[asked]:
        return None
    return asked


def _unsuited(
    node: Node, weights: WeightStorage | None, block: tuple[int, int], target: Target
) -> str:
    """Return why a node cannot run in compute, or nothing."""
    t = node.result.type
    assert t.layout is not None
    if not t.in_planes:
        return "its result lies in rows"
    if t.layout.format not in IMAGE_FORMATS:
        return f"there are no images of {t.layout.format}"
    if t.layout.kind == "2d" and t.layers > 1:
        return "its result lies in several textures"
    direct = is_direct(node)
    if direct and weights is None:
        return "its weights are no loop's"
    looped = replace(node, choice=replace(node.choice, weights=weights)) if direct else node
    if not planes_share_a_program(looped):
        return "its planes differ in more than their number"
    blocks = -(-t.shape[3] // block[0]) * -(-t.shape[2] // block[1])
    if blocks > target.limits.workgroup_count * WORKGROUP:
        return f"it takes more workgroups than {target.limits.workgroup_count}"
    return ""


def _not_worth(node: Node, target: Target) -> str:
    """Return why a fragment shader is better, or nothing."""
    if node.choice.weights == "constants":
        return "its weights are constants"
    p = parts(node)
    nest = None if is_direct(node) else p.kernel.nest(*(v.type for v in p.operands))
    if nest is None:
        return "" if is_direct(node) else MOVES
    several = node.result.type.planes > planes_in_a_pass(node.result.type, target)
    return "" if nest.loops and several else MOVES


def _block(node: Node) -> tuple[tuple[int, int], int]:
    """Return the pixels and the planes that one invocation computes."""
    if not is_direct(node):
        return (1, 1), 1
    width, planes = node.result.shape[3], node.result.type.planes
    columns = next(c for c in COLUMNS if -(-width // c) * c <= WASTE * width)
    p = parts(node)
    assert isinstance(p.kernel, Conv)
    if p.kernel.groups > 1 or p.operands[1].shape[3] > p.kernel.strides[1]:
        return (columns, 1), 1
    return (columns, 1), next(n for n in PLANES if planes % n == 0)
