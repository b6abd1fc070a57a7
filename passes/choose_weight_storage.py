"""Choose where each convolution's weights live.

Constants in the code are fastest while the unrolled code stays small; beyond ``CONSTANT_BUDGET``
the kernel loops over a uniform block if the weights of one GPU pass fit one, else over a texture.
Storage buffers are only taken on request: they measured slowest in fragment shaders.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import ShadergenError
from ..ir.ops import Conv, parts
from ..ir.placement import input_planes, is_depthwise, is_direct
from ..ir.types import LANES
from .group_outputs import planes_in_a_pass

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, WeightStorage
    from .rule import Context

CONSTANT_BUDGET = 4096  # floats of unrolled code in one shader: compile time is a feature
CONSTANT_LIMIT = 65536  # floats beyond which drivers fail to compile the unrolled code at all


def weight_floats(node: Node, planes: int) -> int:
    """Return how many floats one GPU pass over ``planes`` output planes reads as weights."""
    p = parts(node)
    assert isinstance(p.kernel, Conv)
    shape, groups = p.operands[1].shape, p.kernel.groups
    _, per_group, kh, kw = shape
    if is_depthwise(shape, groups):
        return kh * kw * planes * LANES
    reads = (input_planes(shape, groups, k) for k in range(node.result.type.planes))
    lanes = max(map(len, reads)) * min(LANES, per_group * groups)
    return kh * kw * lanes * planes * LANES


def choose_weight_storage(graph: Graph, context: Context) -> Graph:
    """Choose ``weights`` for every convolution.

    Raises:
        ShadergenError: SG0402 when forced storage cannot hold the weights, SG0403 when the
            target has no such storage.
    """

    def choose(now: Node, was: Node) -> Node | None:
        if now.choice.weights is not None or not is_direct(now):
            return None
        planes = planes_in_a_pass(now.result.type, context.target)
        floats = weight_floats(now, planes)
        storage, why = _choose(floats, now.name, context)
        context.explain("choose weight storage", now.name, storage, why)
        return replace(now, choice=replace(now.choice, weights=storage))

    return graph.rewrite(choose)


def _choose(floats: int, name: str, context: Context) -> tuple[WeightStorage, str]:
    target, limits = context.target, context.target.limits
    asked = target.weights
    size = f"{floats} floats in a GPU pass"
    room = {
        "constants": CONSTANT_LIMIT * 4,
        "ubo": limits.uniform_block_size if limits.uniform_blocks else 0,
        "texture": limits.texture_size**2 * LANES * 4,
        "ssbo": limits.storage_block_size if limits.storage_blocks else 0,
    }
    if asked == "auto":
        if floats <= CONSTANT_BUDGET:
            return "constants", f"{size}, the budget is {CONSTANT_BUDGET}"
        if floats * 4 <= room["ubo"]:
            return "ubo", f"{size}, a uniform block holds {room['ubo'] // 4}"
        return "texture", f"{size}, too many for constants or a uniform block"
    if asked == "ssbo" and (target.glsl < 310 or not limits.storage_blocks):
        raise ShadergenError(
            "SG0403",
            "--weights ssbo needs storage buffers in fragment shaders",
            where=f"layer {name}",
            why=f"GLSL ES {target.glsl} on a device with {limits.storage_blocks} storage blocks",
            help="use --glsl 310 and a --device that has them, or --weights texture",
        )
    if floats * 4 > room[asked]:
        raise ShadergenError(
            "SG0402",
            f"the weights of '{name}' do not fit --weights {asked}",
            where=f"layer {name}",
            why=f"a GPU pass reads {floats * 4} bytes, the limit is {room[asked]}",
            help="use --weights auto or texture, or fewer planes in a pass (--mrt 1)",
        )
    return asked, "asked for"
