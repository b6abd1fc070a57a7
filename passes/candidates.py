"""Every way to run a node: what the target can carry out and the user leaves open.

Here alone stands what varies between two ways to run a kernel and where each has room. Which of
them is best is for :mod:`.predict_cost` to guess, for ``shadergen tune`` to measure and for
:mod:`.choose_kernels` to decide.

- Tensors in **rows** have one way: a fragment pass for each layer.
- **Loop nests and formulas** run in fragment passes of some planes each, or in one compute pass.
- **Convolutions** vary in the planes and, in compute, the pixels that one invocation computes, and
  in where their weights live. All weights of a compute pass must have room, but only those of the
  planes of a fragment pass. Those of 3x3 may also be computed in Winograd's tiles: by three compute
  passes, then the rest of the choice is for the products; or in fragment passes that write each
  pixel of a tile to a target, with weights as constants.
- **Pairs of convolutions** run in compute, all planes of the result in one invocation.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from ..ir.expr import variables
from ..ir.ops import Conv, DepthToSpace
from ..ir.ops.convolution import is_depthwise
from ..ir.types import IMAGE_FORMATS, LANES
from .expand_winograd import refusal, rows_fit, steps
from .kernel_ops import halves, parts
from .placement.kinds import (
    at_default,
    before_store,
    has_weights,
    input_planes,
    is_direct,
    is_parameter,
    is_separable,
    planes_in_a_pass,
    planes_share_a_program,
    shared_out,
)
from .placement.target import WORKGROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..ir.graph import Choice, Node, Stage, WeightStorage
    from .placement.target import Target

COLUMNS = (8, 7, 4, 2, 1)  # pixels of a row that one invocation may compute
PLANES = (4, 2, 1)  # planes of them
SEPARABLE_PLANES = 6  # of a pair's result: an invocation has all of them, and more slow it down
SEPARABLE_ACCUMULATORS = 32  # vectors of a pair's result that one invocation computes at most
TARGETS = (8, 4, 2, 1)  # render targets of a fragment pass, where the device has as many
CONSTANT_BUDGET = 4096  # floats of unrolled code in one shader: compile time is a feature
CONSTANT_LIMIT = 65536  # floats beyond which drivers fail to compile the unrolled code at all
TILES_OF = {"2x2": 2, "4x4": 4}  # sizes of Winograd's tiles, by the option's name for them
NO_ROOM = "its maps of patches have no room"
LOOPED: tuple[WeightStorage, ...] = ("ubo", "texture", "ssbo")
LOOPED_AT_ONCE: tuple[WeightStorage, ...] = ("texture", "ubo", "ssbo")


def candidates(node: Node, target: Target) -> tuple[Choice, ...]:
    """Return every choice for a placed node, preferred ones first where nothing tells them apart.

    ``target`` may force stage, weights, Winograd's tiles and planes of a fragment pass, and
    ``node.choice`` may have pinned any of them. Compute and tiles are forced only on nodes that
    have room there. Empty when the weights have no room in the storage asked for.
    """
    opened, node = node, at_default(node)
    # Maps of patches are many times as high: of their own accord they limit no sizes.
    tiles = () if node is not opened and target.winograd == "auto" else _in_tiles(node, target)
    tiles = (c for c in tiles if node is opened or _fits_sizes(node, c, target))
    every = (*_fragment(node, target), *_compute(node, target), *tiles)
    found = [c for c in every if _pinned(node, c)]
    computed = [c for c in found if c.stage == "compute"]
    found = computed if computed and target.stage == "compute" else found
    tiled = [c for c in found if c.winograd == TILES_OF.get(target.winograd)]
    return tuple(tiled or found)


def _fits_sizes(node: Node, choice: Choice, target: Target) -> bool:
    """Whether tiles can do with open sizes, given at their defaults."""
    return _computes(target) and rows_fit(node, choice.winograd, target)


def _pinned(node: Node, choice: Choice) -> bool:
    """Whether a choice agrees with what the node's own says already."""
    names = ("stage", "planes", "weights")
    return all(getattr(node.choice, n) in (None, getattr(choice, n)) for n in names)


def _fragment(node: Node, target: Target) -> Iterator[Choice]:
    if parts(node).store or is_separable(node):  # a fragment writes few planes of its own pixel
        return
    t = node.result.type
    sizes = [planes_in_a_pass(t, target)]
    if target.planes_per_pass is None:
        sizes += [shared_out(t, n) for n in TARGETS if n < target.limits.draw_buffers]
    room = weight_capacity(target, "fragment")
    for planes in dict.fromkeys(sizes):
        choice = replace(node.choice, stage="fragment", planes=planes)
        if not is_direct(node):
            yield choice
            continue
        for weights in ("constants", *LOOPED):
            if (
                target.weights in ("auto", weights)
                and weight_bytes(node, planes, weights, target) <= room[weights]
                and (target.weights != "auto" or not _unrolls_much(node, planes, weights))
            ):
                yield replace(choice, weights=weights)


def _unrolls_much(node: Node, planes: int, weights: WeightStorage) -> bool:
    return weights == "constants" and weight_floats(node, planes) > CONSTANT_BUDGET


def _compute(node: Node, target: Target) -> Iterator[Choice]:
    if not _computes(target) or unsuited(node, target):
        return
    inner = before_store(node)
    storages = _storages(inner, target) if has_weights(node) else (None,)
    for weights, columns, planes in product(storages, _columns(inner, target), _planes(node)):
        if is_separable(node) and columns * planes > SEPARABLE_ACCUMULATORS:
            continue
        yield replace(
            node.choice, stage="compute", block=(columns, 1), planes=planes, weights=weights
        )


def _in_tiles(node: Node, target: Target) -> Iterator[Choice]:
    for name, tile in TILES_OF.items():
        if target.winograd in ("auto", name):
            found = _tiled(node, tile, target)
            yield from () if isinstance(found, str) else found


def _tiled(node: Node, tile: int, target: Target) -> list[Choice] | str:
    """Return the choices that compute a convolution in tiles, or why there are none.

    Asked for where there are compute shaders, tiles are computed there.
    """
    reason = refusal(node, target)
    if reason or not _computes(target):
        return reason or _tiled_in_draws(node, tile, target)
    found = _tiled_in_compute(node, tile, target)
    drawn = _tiled_in_draws(node, tile, target) if target.winograd == "auto" else ""
    if isinstance(drawn, str):
        return found
    return drawn if isinstance(found, str) else [*found, *drawn]


def _computes(target: Target) -> bool:
    return target.stage != "fragment" and not target.lacks_compute


def _tiled_in_compute(node: Node, tile: int, target: Target) -> list[Choice] | str:
    if target.weights == "constants":
        return "--weights constants"
    start = replace(node.choice, stage="compute", winograd=tile)
    found = steps(node, replace(start, weights="texture"), target)
    if found is None:
        return NO_ROOM
    return next(filter(None, (unsuited(step, target) for step in found)), "") or [
        replace(start, block=c.block, planes=c.planes, weights=c.weights)
        for c in _compute(replace(found[1], choice=node.choice), target)
    ]


def _tiled_in_draws(node: Node, tile: int, target: Target) -> list[Choice] | str:
    if target.weights not in ("auto", "constants"):
        return f"--weights {target.weights}"
    most = min(target.limits.draw_buffers, target.planes_per_pass or target.limits.draw_buffers)
    sizes = {shared_out(node.result.type, n): None for n in TARGETS if n * tile**2 <= most}
    if not sizes:
        return f"a tile has {tile**2} pixels, a draw {most} render targets"
    choices = [
        replace(node.choice, stage="fragment", winograd=tile, planes=n, weights="constants")
        for n in sizes
    ]
    found = steps(node, choices[0], target)
    assert found is not None
    if found[0].result.type.layers > target.limits.array_texture_layers:
        return "its tiles have no room"
    budget = CONSTANT_BUDGET if target.weights == "auto" else CONSTANT_LIMIT
    some = [c for c in choices if constants(node, c, target) <= budget]
    return some or "its weights are too many constants"


def constants(node: Node, choice: Choice, target: Target) -> int:
    """Return how many floats of weights one GPU pass has in its code."""
    planes = choice.planes or 1
    if not choice.winograd:
        return weight_floats(node, planes)
    found = steps(node, choice, target)
    assert found is not None
    return weight_floats(found[0], planes)


def untiled(node: Node, target: Target) -> str:
    """Return why a placed convolution is not computed in the tiles that are asked for."""
    opened, node = node, at_default(node)
    found = _tiled(node, TILES_OF[target.winograd], target)
    if isinstance(found, str):
        return found
    return NO_ROOM if _computes(target) or node is opened else "its sizes are open"


def unsuited(node: Node, target: Target) -> str:
    """Return why a placed node cannot run in compute, or nothing."""
    node = at_default(node)
    t = node.result.type
    assert t.layout is not None
    if not t.in_planes:
        return "its result lies in rows"
    if t.layout.format not in IMAGE_FORMATS:
        return f"there are no images of {t.layout.format}"
    if t.layout.kind == "2d" and t.layers > 1:
        return "its result lies in several textures"
    looped = node = before_store(node)
    if has_weights(node):
        if not _storages(node, target):
            return "its weights have no room for a loop over all of them"
        looped = replace(node, choice=replace(node.choice, weights="texture"))
    if not planes_share_a_program(looped):
        return "its planes differ in more than their number"
    if not _columns(node, target):
        return f"it takes more workgroups than {target.limits.workgroup_count}"
    return ""


def _storages(node: Node, target: Target) -> tuple[WeightStorage, ...]:
    """Return where all of a convolution's weights have room, of what the user leaves open."""
    planes, room = node.result.type.planes, weight_capacity(target, "compute")
    return tuple(
        weights
        for weights in LOOPED_AT_ONCE
        if target.weights in ("auto", weights)
        and weight_bytes(node, planes, weights, target) <= room[weights]
    )


def _columns(node: Node, target: Target) -> list[int]:
    """Return the pixels of a row that an invocation may compute: not many more than there are."""
    _, _, height, width = node.result.shape
    most = target.limits.workgroup_count * WORKGROUP
    return [
        columns
        for columns in (COLUMNS if has_weights(node) else (1,))
        if columns < 2 * width and -(-width // columns) * height <= most
    ]


def _planes(node: Node) -> list[int]:
    """Return the planes that an invocation may compute: several where they read the same."""
    kernel, planes = parts(node).kernel, node.result.type.planes
    if parts(node).store:
        return [n for n in (planes_of_store(node),) if n <= max(PLANES)]
    if is_separable(node):
        return [planes] if planes <= SEPARABLE_PLANES else []
    if isinstance(kernel, Conv) and is_direct(node) and kernel.groups == 1:
        return [n for n in PLANES if planes % n == 0]
    return [1]


def planes_of_store(node: Node) -> int:
    """Return how many planes hold what a store pattern puts into one texel, or 0 if they vary."""
    shuffle = parts(node).store[0]
    assert isinstance(shuffle, DepthToSpace)
    t = before_store(node).result.type
    block = prod(shuffle.block)
    whole = t.channels // block % LANES == 0  # each texel of the result is of one such group
    return block if shuffle.order == "crd" and whole and t.planes > block else t.planes


def weight_floats(node: Node, planes: int) -> int:
    """Return how many floats one GPU pass over ``planes`` output planes reads as weights."""
    if is_separable(node):
        first, second = halves(node)
        own = weight_floats(first, first.result.type.planes)
        return own + -own % LANES**2 + weight_floats(second, planes)  # whole tiles
    p = parts(node)
    assert isinstance(p.kernel, Conv)
    shape, groups = p.kernel.packed_shape(p.operands[1].shape), p.kernel.groups
    _, per_group, kh, kw = shape
    if is_depthwise(shape, groups):
        return kh * kw * planes * LANES
    different = node.result.type.planes if groups > 1 else 1  # else all read the whole map
    reads = (input_planes(shape, groups, k) for k in range(different))
    lanes = max(map(len, reads)) * min(LANES, per_group * groups)
    return kh * kw * lanes * planes * LANES


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
    floats = weight_floats(node, planes)
    if weights != "constants":
        floats += parameter_floats(node, planes, target)
    return floats * 4


def weight_capacity(target: Target, stage: Stage) -> dict[WeightStorage, int]:
    """Return the bytes of weights that each storage offers a GPU pass of a stage.

    Compute shaders always have storage blocks: OpenGL ES guarantees four.
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
