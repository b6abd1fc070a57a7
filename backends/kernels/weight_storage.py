"""The storages that can hold the weights of a GPU pass, and their capacities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ShadergenError
from ...ir.expr import variables
from ...ir.ops import Conv
from ...ir.types import LANES
from ...passes.kernel_ops import halves, parts
from ...passes.placement.costs import are_known
from ...passes.placement.kinds import is_parameter, is_separable, planes_in_a_pass
from .weight_blocks import weight_floats

if TYPE_CHECKING:
    from ...ir.graph import Choice, Node, Stage, WeightStorage
    from ...passes.placement.target import Target

LOOPED: tuple[WeightStorage, ...] = ("ubo", "texture", "ssbo")  # in draws, in order of preference
LOOPED_AT_ONCE: tuple[WeightStorage, ...] = ("texture", "ubo", "ssbo")  # in dispatches, likewise
MOST_NAMED = 1024  # vectors of a uniform block in unrolled code; more compile too slowly
CONSTANT_LIMIT = 65536  # floats beyond which drivers fail to compile the unrolled code at all


def pass_floats(node: Node, planes: int) -> int:
    """Return the number of weights (floats) that a GPU pass over ``planes`` planes reads."""
    if not is_separable(node):
        return weight_floats(node, planes)
    first, second = halves(node)
    own = weight_floats(first, first.result.type.planes)
    return own + -own % LANES**2 + weight_floats(second, planes)  # whole blocks


def parameter_floats(node: Node, planes: int, target: Target) -> int:
    """Return the number of floats of bias and epilogue parameters stored after the weights."""
    if target.parameters != "constants":
        return 0
    if is_separable(node):
        first, second = halves(node)
        own = parameter_floats(first, first.result.type.planes, target)
        return own + parameter_floats(second, planes, target)
    p = parts(node)
    names = variables(p.epilogue) if p.epilogue is not None else ()
    after = [v for k, v in enumerate(p.extras) if f"e{k}" in names and v.type.size > 1]
    vectors = len(p.operands) - 2 + sum(is_parameter(v, node.result.type) for v in after)
    return vectors * planes * LANES


def weight_bytes(node: Node, planes: int, weights: WeightStorage, target: Target) -> int:
    """Return how many bytes of its weight storage a GPU pass over ``planes`` planes reads."""
    floats = pass_floats(node, planes)
    if weights != "constants":
        floats += parameter_floats(node, planes, target)
    return floats * 4


def weight_capacity(target: Target, stage: Stage) -> dict[WeightStorage, int]:
    """Return how many bytes of weights a GPU pass of a stage can read from each storage.

    Every device with compute shaders has storage blocks in them: OpenGL ES guarantees four.
    """
    limits = target.limits
    if stage == "compute":
        uniform, storage = limits.compute_uniform_blocks > 0, not target.lacks_compute
    else:
        uniform = limits.uniform_blocks > 0
        storage = target.has_storage and limits.storage_blocks > 0
    return {
        "constants": CONSTANT_LIMIT * 4,
        "ubo": limits.uniform_block_size * uniform,
        "texture": limits.texture_size**2 * LANES * 4,
        "ssbo": limits.storage_block_size * storage,
    }


def names_weights(node: Node, choice: Choice, target: Target) -> bool:
    """Whether a convolution's code is unrolled and names each weight, instead of a loop.

    Constants are always named. Weights in a uniform block are named if the device keeps them in
    constant registers, which code can read at fixed indices only, or reads them as a stream.
    16-bit draws that read weights always loop, because their partial sums are those of one texel.
    """
    if choice.weights != "ubo":
        return choice.weights == "constants"
    if choice.stage != "fragment" or choice.winograd or not are_known(target.costs):
        return False
    p = parts(node)
    if not isinstance(p.kernel, Conv) or p.kernel.groups > 1 or choice.precision == "mediump":
        return False
    if node.result.type.is_stacked:  # the invocations of a draw read different weights
        return False
    vectors = weight_floats(node, choice.planes or 1) // LANES
    whole = p.operands[1].shape[1] >= LANES  # each texel is multiplied by many vectors
    most = max(target.costs[0].uniforms, streamed(choice, target) * whole)
    return vectors <= min(most, MOST_NAMED)


def streamed(choice: Choice, target: Target) -> int:
    """Return how many vectors of a block a draw can read as a stream; 0 if none.

    VideoCore's compiler keeps the reads in order if four planes share a texel. With fewer planes it
    reads far ahead, and the stream is lost.
    """
    drawn = choice.stage == "fragment" and choice.weights == "ubo" and choice.planes == LANES
    return target.costs[0].streamed if drawn and are_known(target.costs) else 0


def whole_storages(
    node: Node, target: Target, stage: Stage = "compute"
) -> tuple[WeightStorage, ...]:
    """Return the storages that ``--weights`` allows and that can hold all weights of a node."""
    capacity = weight_capacity(target, stage)
    size = weight_bytes(node, node.result.type.planes, "texture", target)  # the same in each
    return tuple(
        weights
        for weights in LOOPED_AT_ONCE
        if target.weights in ("auto", weights) and size <= capacity[weights]
    )


def no_storage(target: Target) -> str:
    """Return why :func:`whole_storages` of a node is empty."""
    if target.weights == "constants":
        return "--weights constants excludes compute shaders"
    storage = f"any weight storage of compute shaders ({', '.join(LOOPED_AT_ONCE)})"
    if target.weights != "auto":
        storage = f"--weights {target.weights} in compute shaders"
    return f"the layer's weights are too large for {storage}"


def refusal(node: Node, target: Target) -> ShadergenError:
    """Return the error for a node whose weights do not fit the storage of ``--weights``.

    SG0403 if the target lacks the storage, otherwise SG0402.
    """
    limits = target.limits
    asked = "texture" if target.weights == "auto" else target.weights
    if asked == "ssbo" and not (target.has_storage and limits.storage_blocks):
        return ShadergenError(
            "SG0403",
            "--weights ssbo needs storage buffers in fragment shaders",
            where=f"layer {node.name}",
            why=f"the target is {target.language} with {limits.storage_blocks} storage blocks",
            help="use --glsl 310 and a --device with storage buffers, or --weights texture",
        )
    planes = planes_in_a_pass(node.result.type, target) if target.planes_per_pass else 1
    needed = weight_bytes(node, planes, asked, target)
    room = weight_capacity(target, "fragment")[asked]
    helps = ["use --weights auto or --weights texture"] * (asked != "texture")
    helps += ["omit --mrt"] * (planes > 1)
    return ShadergenError(
        "SG0402",
        f"the weights of '{node.name}' do not fit --weights {asked}",
        where=f"layer {node.name}",
        why=f"a GPU pass reads {needed} bytes, the limit is {room}",
        help=", or ".join(helps) or "use a --device with larger textures",
    )
