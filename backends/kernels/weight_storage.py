"""Where the weights of a GPU pass can be, and how many bytes of them."""

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

LOOPED: tuple[WeightStorage, ...] = ("ubo", "texture", "ssbo")  # in draws, preferred ones first
LOOPED_AT_ONCE: tuple[WeightStorage, ...] = ("texture", "ubo", "ssbo")  # in dispatches
MOST_NAMED = 1024  # vectors of a uniform block that code names: compile time is a feature
CONSTANT_LIMIT = 65536  # floats beyond which drivers fail to compile the unrolled code at all


def pass_floats(node: Node, planes: int) -> int:
    """Return how many floats of weights a GPU pass over so many planes reads."""
    if not is_separable(node):
        return weight_floats(node, planes)
    first, second = halves(node)
    own = weight_floats(first, first.result.type.planes)
    return own + -own % LANES**2 + weight_floats(second, planes)  # whole blocks


def parameter_floats(node: Node, planes: int, target: Target) -> int:
    """Return how many floats of bias and of the epilogue's parameters follow looped weights."""
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
    """Return how many bytes a GPU pass reads from where its weights are."""
    floats = pass_floats(node, planes)
    if weights != "constants":
        floats += parameter_floats(node, planes, target)
    return floats * 4


def weight_capacity(target: Target, stage: Stage) -> dict[WeightStorage, int]:
    """Return how many bytes of weights a GPU pass of a stage can read from each storage.

    Compute shaders have storage blocks wherever there are compute shaders: OpenGL ES promises four.
    """
    limits = target.limits
    if stage == "compute":
        uniform, storage = limits.compute_uniform_blocks > 0, not target.lacks_compute
    else:
        uniform = limits.uniform_blocks > 0
        storage = target.glsl >= 310 and limits.storage_blocks > 0
    return {
        "constants": CONSTANT_LIMIT * 4,
        "ubo": limits.uniform_block_size * uniform,
        "texture": limits.texture_size**2 * LANES * 4,
        "ssbo": limits.storage_block_size * storage,
    }


def names_weights(node: Node, choice: Choice, target: Target) -> bool:
    """Whether the code of a convolution's draws names each weight instead of looping over them.

    Weights that are constants have to be named. In a uniform block they are where the device keeps
    such weights in registers of constants, which code reads at known places only, or reads them as
    a stream. Sums of 16 bits are blocks of those of one texel in all kernels that read weights.
    """
    if choice.weights != "ubo":
        return choice.weights == "constants"
    if choice.stage != "fragment" or choice.winograd or not are_known(target.costs):
        return False
    p = parts(node)
    if not isinstance(p.kernel, Conv) or p.kernel.groups > 1 or choice.precision == "mediump":
        return False
    vectors = weight_floats(node, choice.planes or 1) // LANES
    whole = p.operands[1].shape[1] >= LANES  # each texel is multiplied by many vectors
    most = max(target.costs[0].uniforms, streamed(choice, target) * whole)
    return vectors <= min(most, MOST_NAMED)


def streamed(choice: Choice, target: Target) -> int:
    """Return how many vectors of a block a draw reads as a stream, or 0 if it does not.

    VideoCore's compiler keeps them in order where four planes share a texel; those of fewer it
    reads far ahead.
    """
    drawn = choice.stage == "fragment" and choice.weights == "ubo" and choice.planes == LANES
    return target.costs[0].streamed if drawn and are_known(target.costs) else 0


def compute_storages(node: Node, target: Target) -> tuple[WeightStorage, ...]:
    """Return where all weights of a node fit, of the storages that the user leaves open."""
    capacity = weight_capacity(target, "compute")
    size = weight_bytes(node, node.result.type.planes, "texture", target)  # the same in each
    return tuple(
        weights
        for weights in LOOPED_AT_ONCE
        if target.weights in ("auto", weights) and size <= capacity[weights]
    )


def no_storage(target: Target) -> str:
    """Return why a node has no :func:`compute_storages`."""
    if target.weights == "constants":
        return "--weights constants excludes compute shaders"
    storage = f"any weight storage of compute shaders ({', '.join(LOOPED_AT_ONCE)})"
    if target.weights != "auto":
        storage = f"--weights {target.weights} in compute shaders"
    return f"the layer's weights are too large for {storage}"


def refusal(node: Node, target: Target) -> ShadergenError:
    """Return what to raise where a node's weights cannot be in the storage that is asked for.

    It is SG0403 where the target has no such storage, else SG0402.
    """
    limits = target.limits
    asked = "texture" if target.weights == "auto" else target.weights
    if asked == "ssbo" and (target.glsl < 310 or not limits.storage_blocks):
        return ShadergenError(
            "SG0403",
            "--weights ssbo needs storage buffers in fragment shaders",
            where=f"layer {node.name}",
            why=f"the target is GLSL ES {target.glsl} with {limits.storage_blocks} storage blocks",
            help="use --glsl 310 and a --device with storage buffers, or --weights texture",
        )
    planes = planes_in_a_pass(node.result.type, target) if target.planes_per_pass else 1
    needed = weight_bytes(node, planes, asked, target)
    room = weight_capacity(target, "fragment")[asked]
    helps = ["use --weights auto or texture"] * (asked != "texture") + ["omit --mrt"] * (planes > 1)
    return ShadergenError(
        "SG0402",
        f"the weights of '{node.name}' do not fit --weights {asked}",
        where=f"layer {node.name}",
        why=f"a GPU pass reads {needed} bytes, the limit is {room}",
        help=" or ".join(helps) or "use a --device with larger textures",
    )
