"""Choose where each convolution's weights live.

Constants in the code are fastest while the unrolled code stays small. Beyond ``CONSTANT_BUDGET``
in one shader the kernel loops over a uniform block if the weights of one GPU pass fit one, else
over a texture. Beyond ``NETWORK_BUDGET`` in all shaders together it loops over a texture: passes
that do share programs, passes with constants are each a program of their own, and at about 0.2 ms
for each float, and as for ``PROGRAM`` of them for each program, drivers would take minutes to
start a network of many layers. The layers with the most pixels have the first claim to constants,
because there each serves most often; beside compute shaders only those of ``MANY_PIXELS``. Storage
buffers are only taken on request: they measured slowest in fragment shaders.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import ShadergenError
from ..ir.expr import variables
from ..ir.ops import Conv, parts
from ..ir.placement import input_planes, is_depthwise, is_direct, is_parameter
from ..ir.types import LANES
from .group_outputs import planes_in_a_pass

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, WeightStorage
    from ..ir.target import Target
    from .rule import Context

CONSTANT_BUDGET = 4096  # floats of unrolled code in one shader: compile time is a feature
NETWORK_BUDGET = 32768  # floats of unrolled code in all shaders together
PROGRAM = 512  # as many floats take as long to compile as a program without any
MANY_PIXELS = 65536  # from where constants pay for their compilation beside compute shaders
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


def parameter_floats(node: Node, planes: int, context: Context) -> int:
    """Return how many floats of bias and of the epilogue's parameters follow looped weights."""
    if context.target.parameters != "constants":
        return 0
    p = parts(node)
    names = variables(p.epilogue) if p.epilogue is not None else ()
    after = [v for k, v in enumerate(p.extras) if f"e{k}" in names and v.type.size > 1]
    vectors = len(p.operands) - 2 + sum(is_parameter(v, node.result.type) for v in after)
    return vectors * planes * LANES


def choose_weight_storage(graph: Graph, context: Context) -> Graph:
    """Choose ``weights`` for every convolution.

    Raises:
        ShadergenError: SG0402 when forced storage cannot hold the weights, SG0403 when the
            target has no such storage.
    """
    unrolled = _unrolled(graph, context)

    def choose(now: Node, was: Node) -> Node | None:
        if not _is_open(now):
            return None
        planes = planes_in_a_pass(now.result.type, context.target)
        floats = weight_floats(now, planes)
        extra = parameter_floats(now, planes, context)
        storage, why = _choose(floats, extra, was in unrolled, now.name, context)
        context.explain("choose weight storage", now.name, storage, why)
        return replace(now, choice=replace(now.choice, weights=storage))

    return graph.rewrite(choose)


def storage_room(target: Target) -> dict[WeightStorage, int]:
    """Return how many bytes of weights a GPU pass can read from each storage."""
    limits = target.limits
    return {
        "constants": CONSTANT_LIMIT * 4,
        "ubo": limits.uniform_block_size if limits.uniform_blocks else 0,
        "texture": limits.texture_size**2 * LANES * 4,
        "ssbo": limits.storage_block_size if limits.storage_blocks else 0,
    }


def _is_open(node: Node) -> bool:
    return node.choice.weights is None and is_direct(node)


def _unrolled(graph: Graph, context: Context) -> set[Node]:
    """Return the convolutions whose weights the budgets let be constants."""
    chosen, spent = set(), 0
    target = context.target
    computes = target.stage != "fragment" and not target.lacks_compute
    for node in sorted(filter(_is_open, graph.nodes), key=_pixels, reverse=True):
        if computes and _pixels(node) < MANY_PIXELS:
            break
        planes = planes_in_a_pass(node.result.type, context.target)
        floats = weight_floats(node, planes)
        total = (floats + PROGRAM) * -(-node.result.type.planes // planes)
        if floats <= CONSTANT_BUDGET and spent + total <= NETWORK_BUDGET:
            chosen.add(node)
            spent += total
    return chosen


def _pixels(node: Node) -> int:
    return node.result.type.size // node.result.shape[1]


def _choose(
    floats: int, extra: int, unrolled: bool, name: str, context: Context
) -> tuple[WeightStorage, str]:
    target, limits = context.target, context.target.limits
    asked = target.weights
    size = f"{floats} floats in a GPU pass"
    room = storage_room(target)
    if asked == "auto":
        if unrolled:
            return "constants", f"{size}, the budget is {CONSTANT_BUDGET}"
        if floats <= CONSTANT_BUDGET:
            return "texture", f"{size}, but the network's budget of {NETWORK_BUDGET} is spent"
        if (floats + extra) * 4 <= room["ubo"]:
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
    needed = (floats if asked == "constants" else floats + extra) * 4
    if needed > room[asked]:
        raise ShadergenError(
            "SG0402",
            f"the weights of '{name}' do not fit --weights {asked}",
            where=f"layer {name}",
            why=f"a GPU pass reads {needed} bytes, the limit is {room[asked]}",
            help="use --weights auto or texture, or fewer planes in a pass (--mrt 1)",
        )
    return asked, "asked for"
