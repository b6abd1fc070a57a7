"""Convolution: an invocation is a block of output pixels of several planes.

Weights are columns of four output channels: ``a += column * v.x`` for every input channel. 16-bit
kernels add up partial sums first (:mod:`.sums`). Small layers unroll their weights as constants
(:mod:`.convolution_unrolled`), larger layers loop over them (:mod:`.convolution_loops`). Depthwise
and other grouped convolutions are the same kernels.

Choices differ in the planes of an invocation, in the weight storage and, in the compute stage, in
the pixels of an invocation. The storage must hold all weights of a compute pass, but only the
weights of its own planes for a fragment pass. :mod:`.winograd` has more choices for 3x3 kernels.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.graph import Constant
from ...ir.ops import Conv, DepthToSpace
from ...ir.types import LANES, fits_half, fits_int8
from ...passes.kernel_ops import WinogradProducts, parts
from ...passes.kernel_ops.winograd import bias_shares
from ...passes.placement.kinds import at_default, before_store, is_direct, precision
from ...records import replace
from ..gpu import Blob
from ..shader.builder import ShaderBuilder
from ..shader.constructors import vec4
from ..shader.expressions import Conditional, Number, Variable
from ..shader.statements import Body
from ..shader.types import FLOAT, VEC4
from . import family
from .convolution_loops import INPUT_PLANE, dispatched_blocks, looped
from .convolution_slices import expand, slices
from .convolution_unrolled import last_texels, readers_of, unrolled
from .family import Family, Growth, fragment_planes
from .image_stores import named_planes, shuffled
from .input_loader import CORNER, first_tap
from .plane_groups import PIXEL, Group, groups, lower_groups
from .program_keys import convolution_key
from .store import finish, stores
from .sums import Sums
from .weight_blocks import cut_weights, plan_blocks, rows_of
from .weight_storage import (
    LOOPED,
    names_weights,
    no_storage,
    streamed,
    weight_bytes,
    weight_capacity,
    whole_storages,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from ...ir.graph import Choice, Node, Precision, Value, WeightStorage
    from ...ir.types import TextureFormat
    from ...passes.kernel_ops import Parts
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.expressions import Expression
    from .family import Block
    from .weight_blocks import WeightBlocks

KERNELS = (Conv, WinogradProducts)  # classes derived from these have families of their own
PLANES = (4, 2, 1)  # planes that one invocation of a dispatch may compute
CONSTANT_BUDGET = 4096  # floats of unrolled code in one shader: compile time is a feature


def _runs_directly(node: Node) -> bool:
    """Whether a convolution runs neither in Winograd tiles nor, as a draw, in blocks of pixels."""
    choice = node.choice
    several = choice.winograd or (choice.stage == "fragment" and choice.block != (1, 1))
    return is_direct(node) and not several and type(parts(node).kernel) in KERNELS


def choices(node: Node, target: Target) -> Iterator[Choice]:
    """Yield every choice that runs a convolution directly.

    Winograd products run only as dispatches. Each position of a patch has weights of its own, so
    the code must select them by an index. Code with constant weights cannot.
    """
    node = at_default(node)
    if isinstance(parts(node).kernel, WinogradProducts):
        yield from compute_choices(node, target)
        return
    if not parts(node).store:  # a fragment can write only its own pixel
        yield from _fragment_choices(node, fragment_planes(node, target), target)
    elif target.dispatches_draws:
        inner = before_store(node)
        yield from _fragment_choices(inner, (inner.result.type.planes,), target)
    yield from compute_choices(node, target)


def _fragment_choices(node: Node, several: tuple[int, ...], target: Target) -> Iterator[Choice]:
    if node.result.type.is_stacked:
        for weights in whole_storages(node, target, "fragment"):
            yield replace(node.choice, stage="fragment", block=(1, 1), planes=1, weights=weights)
        return
    capacity = weight_capacity(target, "fragment")
    unrolled = {planes: weight_bytes(node, planes, "constants", target) for planes in several}
    least = min(unrolled.values())
    for planes in several:
        looped = weight_bytes(node, planes, "texture", target)
        for weights in ("constants", *LOOPED):
            are_constants = weights == "constants"
            choice = replace(
                node.choice, stage="fragment", block=(1, 1), planes=planes, weights=weights
            )
            size = unrolled[planes] if are_constants else looped
            if size > capacity[weights] and not slices(node, choice, target):
                continue
            if target.weights == "auto":
                if not _auto_allows(node, unrolled[planes], least, target, are_constants):
                    continue
            elif weights != target.weights:
                continue
            yield choice


def _auto_allows(node: Node, size: int, least: int, target: Target, are_constants: bool) -> bool:
    """Whether ``--weights auto`` allows constants in a draw, or else weights that are read.

    ``size`` is the bytes of the draw's weights as constants, ``least`` those of the fewest planes.
    """
    few = size <= CONSTANT_BUDGET * 4
    if target.prefers_constants:
        few = few if are_constants else least <= CONSTANT_BUDGET * 4
        return (few or not _has_unit_for_weights(node, target)) == are_constants
    return few or not are_constants


def _has_unit_for_weights(node: Node, target: Target) -> bool:
    """Whether a draw can read a texture of weights beside its input, a texture for each plane.

    Several planes may share a texture that was written with as many render targets.
    """
    planes = parts(node).operands[0].type.planes
    return planes + target.limits.draw_buffers <= target.limits.texture_units


def compute_choices(node: Node, target: Target) -> Iterator[Choice]:
    """Yield every choice that runs a convolution in the compute stage."""
    if not target.computes or why_not_compute(node, target):
        return
    storages = whole_storages(before_store(node), target)
    blocks = dispatched_blocks(node, target)
    yield from _blocks(node.choice, storages, blocks, tuple(_compute_planes(node)))


@cache
def _blocks(
    undecided: Choice,
    storages: tuple[WeightStorage, ...],
    blocks: tuple[Block, ...],
    planes: tuple[int, ...],
) -> tuple[Choice, ...]:
    """Return every combination; cached, because many layers have equal arguments."""
    return tuple(
        replace(undecided, stage="compute", block=block, planes=n, weights=weights)
        for weights, block, n in product(storages, blocks, planes)
    )


def _compute_planes(node: Node) -> list[int]:
    """Return the numbers of planes for an invocation: several if all planes read the same input."""
    p, planes = parts(node), node.result.type.planes
    if p.store:
        return [n for n in (planes_of_store(node),) if n <= max(PLANES)]
    assert isinstance(p.kernel, Conv)
    return [n for n in PLANES if planes % n == 0] if p.kernel.groups == 1 else [1]


def planes_of_store(node: Node) -> int:
    """Return the number of planes that a scatter epilogue stores to one texel, 0 if it varies."""
    shuffle = parts(node).store[0]
    assert isinstance(shuffle, DepthToSpace)
    t = before_store(node).result.type
    block = prod(shuffle.block)
    whole = t.channels // block % LANES == 0  # each texel of the result is of one such group
    return block if shuffle.order == "crd" and whole and t.planes > block else t.planes


def why_not_compute(node: Node, target: Target) -> str:
    """Return why a convolution cannot run in the compute stage; empty if it can."""
    looped = replace(node, choice=replace(node.choice, weights="texture"))
    why = family.why_not_compute(looped, target)
    if not why and not _compute_planes(node):
        most = f"more than {max(PLANES)} planes"
        why = f"to store a texel of the pixel shuffle, an invocation must compute {most}"
    if not why and not whole_storages(before_store(at_default(node)), target):
        why = no_storage(target)
    return why


def lower_convolution(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower a Conv node, fused or not."""
    p = parts(node)
    if not all(isinstance(v, Constant) for v in p.operands[1:]):
        raise InternalError(f"{node.name}: weights that are not constant reached the backend")
    yield from lower_groups(groups(node), lambda group: lower_group(group.node, p, group, target))


def lower_group(node: Node, p: Parts, group: Group, target: Target) -> GpuPass:
    """Lower a GPU pass of a convolution, also of a draw in blocks of pixels.

    Args:
        node: the placed convolution.
        p: the convolution and the formulas fused into it.
        group: the planes that an invocation computes.
        target: of the build.
    """
    conv = p.kernel
    assert isinstance(conv, Conv)
    x, w, *bias = p.operands
    assert isinstance(w, Constant)
    shader = ShaderBuilder(target, precision(node), node.choice.stage or "fragment")
    shape = conv.packed_shape(w.shape)
    blocks = plan_blocks(shape, conv.groups, group.planes)
    o, per_group, *kernel = shape
    kh, kw = (1, 1) if conv.positions > 1 else kernel
    _, _, height, width = node.result.shape
    pixels = len(group.pixels) if group.draws_blocks else 1  # for each pixel of the viewport
    macs = group.channels * per_group * kh * kw * height * width * pixels
    storage = node.choice.weights
    if storage is None:
        raise InternalError(f"{node.name}: no weight storage was chosen")
    in_turn = streamed(node.choice, target) > 0 and names_weights(node, node.choice, target)
    if storage != "constants":
        size, every = len(group.planes), len(group.covered)
        blob = Blob(
            f"{node.name}.weights",
            prod(blocks.shape[:4]) * every // size,
            lambda first: rows_of(
                w.data, conv.groups, size, every, first, in_turn, packed=conv.packed
            ),
            weight_format(w.data, target, shader.precision),
            group.planes[0],
        )
        shader.weights(blob, storage)
    body = Body()
    body.let(CORNER.name, first_tap(shader, conv, blocks.diagonal))
    starts = first_sums(bias, group, shader)
    if bias and isinstance(conv, WinogradProducts):
        position = body.let("position", PIXEL.y % conv.positions)
        at = position // conv.patch, position % conv.patch
        share = body.let("bias_share", bias_share(conv.tile, *at))
        starts = [share * start for start in starts]
    names = group.results
    sums = Sums(body, shader, node)
    named = names_weights(node, node.choice, target)
    cut = cut_weights(w.data, conv.groups, group.planes) if storage == "constants" else None
    readers = readers_of(cut, shader, blocks, x.type.planes, in_turn) if named else []
    last = last_texels(readers) if shader.bias_last else {}
    for k, (name, start) in enumerate(zip(names, starts, strict=True)):
        first = vec4(0.0) if k in last else start
        sums.declare([name + end for *_, end in group.pixels], first)
    if named:
        if storage == "constants":
            sums.declare_partial(names, blocks.shape[3])
        biases = {(k, *texel): starts[k] for k, texel in last.items()}
        with _kept_apart(body, shader, blocks) if in_turn else nullcontext():
            unrolled(body, shader, p, group, blocks, readers, sums, biases)
    else:
        looped(body, shader, p, blocks, group, kernel, sums, names)
    kind = f"convolution {kh}x{kw}, {p.read[0].shape[1]} to {o} channels"
    name = "convolution"
    if isinstance(conv, WinogradProducts):
        name = "winograd products"
        kind = f"Winograd products, {conv.tile}x{conv.tile} tiles: {kind}"
    if conv.groups > 1:
        kind += f" in {conv.groups} groups"
    return finish(
        shader,
        node,
        group,
        name,
        kind,
        body,
        _written(body, shader, node, group, names),
        macs=macs,
        weights=storage,
    )


def _kept_apart(
    body: Body, shader: ShaderBuilder, blocks: WeightBlocks
) -> AbstractContextManager[None]:
    """Put code under a condition that always holds, unknown to the compiler.

    Without it, VideoCore's compiler reads the weights far ahead of their products, and takes
    thirty times as long.
    """
    return body.when(shader.uniform("planes_in", blocks.shape[1]) > 0)


def _written(
    body: Body, shader: ShaderBuilder, node: Node, group: Group, names: list[str]
) -> Sequence[Expression]:
    """Return the values that a GPU pass writes; in draws, for all pixels of a block."""
    if not group.draws_blocks:
        values = stores(shader, node, group, [Variable(name, VEC4) for name in names])
        if group.in_compute or group.written is group.node:
            return values
        alone = group.written.result.type.channels == 1
        return [texel for *_, texel in shuffled(group, named_planes(body, values), alone)]
    return [Variable(name + end, VEC4) for *_, end in group.pixels for name in names]


def weight_format(data: np.ndarray, target: Target, precision: Precision) -> TextureFormat:
    """Return the format of a texture of weights."""
    if target.weight_format == "int8" and fits_int8(data):
        return "rgba8"
    narrow = target.weight_format == "float16" and fits_half(data, axis=0)
    return "rgba16f" if narrow or precision == "mediump" else "rgba32f"


def first_sums(bias: list[Value], group: Group, shader: ShaderBuilder) -> list[Expression]:
    """Return the accumulators' initial values: the bias."""
    if not bias:
        return [vec4(0.0)] * len(group.planes)
    return [
        shader.channel_vector(bias[0], group.plane(k), number, group.stacked)
        for k, number in enumerate(map(group.number, range(len(group.planes))))
    ]


def bias_share(tile: int, row: Expression, column: Expression) -> Expression:
    """Return the share of a bias that Winograd's products take at a position in a patch."""
    first, second = (_share(bias_shares(tile), line) for line in (row, column))
    return first * second


def _share(shares: Sequence[float], line: Expression) -> Expression:
    """Return the share of a line, one of those that are not zero."""
    value: Expression = Number(0.0, FLOAT)
    for n, share in reversed(list(enumerate(shares))):
        if share:
            value = Conditional(line.equals(n), Number(share, FLOAT), value)
    return value


def trips(node: Node) -> dict[str, int]:
    """Return the trip count of the loop over input planes."""
    p = parts(node)
    assert isinstance(p.kernel, Conv)
    shape = p.kernel.packed_shape(p.operands[1].shape)
    return {
        INPUT_PLANE: plan_blocks(shape, p.kernel.groups, range(node.choice.planes or 1)).shape[1]
    }


def _growth(node: Node, choice: Choice) -> Growth | None:
    """Return how a program grows with the planes of an invocation, or else with its pixels.

    Each further plane adds the same code if all lanes are channels and all planes read the same
    input in a loop. Constant weights do not count: code for zeros is left out.
    """
    p = parts(node)
    assert isinstance(p.kernel, Conv)
    if not choice.loops:
        return None
    alike = p.kernel.groups == 1 and not p.store and node.result.type.channels % LANES == 0
    # In a dispatch, or in 16 bits, the address of the second plane's weights may be alive at most.
    few = 1 if (choice.stage, choice.precision) == ("fragment", "highp") else 2
    if alike and choice.planes is not None and choice.planes > few + 1:
        small, larger = (replace(choice, planes=n) for n in (few, few + 1))
        return Growth(small, larger, choice.planes - few)
    return growth_by_pixels(choice, p.kernel)


def growth_by_pixels(choice: Choice, conv: Conv) -> Growth | None:
    """Return how a program grows with the pixels of a row, whose windows share loads.

    Sharing begins with the second pixel. Dilated windows share less evenly, so they have no growth.
    """
    across, down = choice.block
    if across <= 3 or down > 1 or conv.dilations[1] > 1:
        return None
    two, three = (replace(choice, block=(n, 1)) for n in (2, 3))
    return Growth(two, three, across - 2)


def _key(node: Node) -> Hashable:
    if isinstance(node.op, WinogradProducts):  # the tile size is only a number in the program
        return WinogradProducts.__name__
    return convolution_key(node)


CONVOLUTION = Family(
    _runs_directly,
    choices,
    lower_convolution,
    why_not_compute,
    trips,
    _growth,
    program_key=_key,
    expand=expand,
)
