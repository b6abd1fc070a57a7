"""3x3 convolutions in Winograd tiles: their choices, and the kernel family of their steps.

:mod:`.winograd_expansion` makes the nodes of a choice. :mod:`.winograd_tiles`,
:mod:`.winograd_rows`, :mod:`.winograd_strips` and :mod:`.winograd_transforms` lower these nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.graph import Choice, Constant, Node
from ...ir.ops import Conv, Op
from ...ir.types import LANES
from ...passes.kernel_ops import (
    StripColumns,
    StripPatches,
    StripProducts,
    StripRows,
    WinogradConv,
    WinogradPatches,
    WinogradResult,
    WinogradRow,
    WinogradTiles,
    parts,
)
from ...passes.kernel_ops.winograd import TAPS
from ...passes.placement.kinds import (
    at_default,
    before_store,
    is_direct,
    shared_out,
)
from ...passes.placement.target import TILES_OF
from ...records import replace
from .convolution import CONSTANT_BUDGET, CONVOLUTION, PLANES, compute_choices
from .convolution_loops import INPUT_PLANE
from .family import TARGETS, Family, fragment_planes, planes_of_pass, why_not_compute
from .fragment_blocks import may_draw_blocks
from .program_keys import convolution_key, reduced, with_kernel
from .weight_blocks import weight_floats
from .weight_storage import CONSTANT_LIMIT
from .winograd_expansion import (
    expand,
    is_in_place,
    three_steps,
    tiles_and_shuffle,
    tiles_in_place,
    tiles_of_rows,
)
from .winograd_rows import lower_rows
from .winograd_strips import NO_ROOM, choices_in_strips, lower_strips
from .winograd_tiles import lower_tiles, lower_tiles_in_place
from .winograd_transforms import PATCH_ROW, lower_transform, patch_rows

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from ...passes.placement.target import Target
    from ..gpu import GpuPass

IN_STRIPS = (StripPatches, StripProducts, StripRows, StripColumns)
STEPS = (WinogradConv, WinogradPatches, WinogradResult, WinogradTiles, *IN_STRIPS)
# Fields of the steps that programs read from uniforms.
UNIFORM_SIZES: dict[type[Op], tuple[str, ...]] = {
    StripColumns: ("columns", "channels", "height", "width"),
    StripPatches: ("columns",),
    StripProducts: ("columns",),
    StripRows: ("columns", "channels"),
    WinogradPatches: ("rows", "columns"),
    WinogradResult: ("height", "width"),
}
EXACT = (2,)  # tiles whose transforms only add and halve
# Floats of weights in one shader for GPUs: with loads and transforms, Mesa's compiler for NVIDIA
# takes half a second for as many, and over a second for twice as many.
TILED_BUDGET = CONSTANT_BUDGET // 2
LARGEST = 1e30  # of weights and padding: their transforms must stay finite


def _choices(node: Node, target: Target) -> Iterator[Choice]:
    """Yield every way to compute a placed convolution in tiles."""
    if target.winograd == "off" or isinstance(parts(node).kernel, STEPS):
        return
    if node.result.type.is_stacked:
        return
    original, node = node, at_default(node)
    dynamic = node is not original
    if refusal(node, target):
        return
    if target.dispatches_draws:
        yield from _in_rows(node, target)
        return
    for name, tile in TILES_OF.items():
        if target.winograd not in ("auto", name):
            continue
        found = _in_tiles(node, tile, target)
        if isinstance(found, str):
            continue
        if dynamic and (target.winograd == "auto" or not _fits_sizes(node, tile, target)):
            # Maps of patches are many times as high: of their own accord they limit no sizes.
            found = [choice for choice in found if is_in_place(choice)]
        yield from found


def why_not_winograd(node: Node, target: Target) -> str:
    """Return why a placed convolution is not computed in the tiles that are asked for."""
    original, node = node, at_default(node)
    found = refusal(node, target) or _in_tiles(node, TILES_OF[target.winograd], target)
    if isinstance(found, str):
        return found
    return (
        NO_ROOM
        if target.computes or node is original
        else "Winograd at dynamic sizes needs compute shaders"
    )


def _fits_sizes(node: Node, tile: int, target: Target) -> bool:
    """Whether tiles fit where each row of them is one of the map, as with dynamic dimensions."""
    height = node.result.shape[2]
    rows = -(-height // tile) * (tile + TAPS - 1) ** 2
    return target.computes and rows <= target.limits.texture_size


def _in_tiles(node: Node, tile: int, target: Target) -> list[Choice] | str:
    """Return the choices that compute a convolution in tiles of a size, or why there are none.

    Args:
        node: a convolution that :func:`refusal` has nothing against.
        tile: pixels of a tile along an axis.
        target: where it asks for tiles and has compute shaders, these are computed there.
    """
    weights = parts(node).operands[1]
    if tile not in EXACT and isinstance(weights, Constant) and weights.is_whole:
        return "4x4 tiles would round sums of integers that are exact without Winograd"
    if not target.computes:
        at_once = _draws(node, tile, target)
        if target.winograd == "auto" and (tile in EXACT or not may_draw_blocks(target)):
            return at_once  # predictions do not compare it
        strips = choices_in_strips(node, tile, target)
        if isinstance(strips, str):
            return at_once
        return strips if isinstance(at_once, str) else [*at_once, *strips]
    found = _dispatches(node, tile, target)
    inside = _in_place(node, tile, target)
    if inside:
        found = inside if isinstance(found, str) else [*found, *inside]
    drawn = _draws(node, tile, target) if target.winograd == "auto" else ""
    if isinstance(drawn, str):
        return found
    return drawn if isinstance(found, str) else [*found, *drawn]


def _dispatches(node: Node, tile: int, target: Target) -> list[Choice] | str:
    if target.weights == "constants":
        return "--weights constants excludes it"
    start = replace(node.choice, stage="compute", winograd=tile)
    found = three_steps(node, replace(start, weights="texture"), target)
    if found is None:
        return NO_ROOM
    patches, products, result = found
    for step, why in (
        (patches, why_not_compute),
        (products, CONVOLUTION.why_not_compute),
        (result, why_not_compute),
    ):
        if reason := why(step, target):
            return reason
    return [
        replace(start, block=c.block, planes=c.planes, weights=c.weights)
        for c in compute_choices(replace(products, choice=node.choice), target)
    ]


def _in_place(node: Node, tile: int, target: Target) -> list[Choice]:
    """Return the choices of one kernel in the compute stage, for GPUs whose registers are known.

    Tiles of 4x4 would take more registers than any GPU has.
    """
    if target.weights not in ("auto", "constants") or tile not in EXACT:
        return []
    if not _has_registers(target):
        return []
    start = replace(node.choice, stage="compute", winograd=tile, weights="constants")
    start = replace(start, block=(tile, tile))
    whole = tiles_in_place(node, start)
    if why_not_compute(replace(whole, choice=replace(whole.choice, weights="texture")), target):
        return []
    fitting = (n for n in PLANES if node.result.type.planes % n == 0)
    return [replace(start, planes=n) for n in fitting if weight_floats(whole, n) <= TILED_BUDGET]


def _in_rows(node: Node, target: Target) -> Iterator[Choice]:
    """Yield the choices of one kernel in draws that become dispatches: tiles of pixels of a row.

    Maps of one plane may be the picture, to whose pixels players add what draws alone can read.
    """
    p, t = parts(node), before_store(node).result.type
    if target.weights not in ("auto", "constants") or (t.planes == 1 and not p.store):
        return
    (tile,) = EXACT
    start = replace(node.choice, stage="fragment", winograd=tile, weights="constants")
    start = replace(start, block=(tile, 1))
    sizes = (t.planes,) if p.store else fragment_planes(before_store(node), target)
    whole = tiles_of_rows(before_store(node), start)
    for n in sizes:
        if target.weights != "auto" or weight_floats(whole, n) <= CONSTANT_BUDGET:
            yield replace(start, planes=n)


def _has_registers(target: Target) -> bool:
    """Whether the target is a GPU, or several, whose registers are known."""
    return any(costs.registers for costs in target.costs)


def _draws(node: Node, tile: int, target: Target) -> list[Choice] | str:
    if target.weights not in ("auto", "constants"):
        return f"--weights {target.weights} excludes it"
    most = min(target.limits.draw_buffers, target.planes_per_pass or target.limits.draw_buffers)
    sizes = {shared_out(node.result.type, n): None for n in TARGETS if n * tile**2 <= most}
    if not sizes:
        return f"a tile needs {tile**2} render targets, a draw has {most}"
    choices = [
        replace(node.choice, stage="fragment", winograd=tile, planes=n, weights="constants")
        for n in sizes
    ]
    tiles, _ = tiles_and_shuffle(node, choices[0], target)
    limit = target.limits.array_texture_layers
    if tiles.result.type.layers > limit:
        return f"the tiles exceed the {limit} layers of an array texture"
    budget = TILED_BUDGET if _has_registers(target) else CONSTANT_BUDGET
    if target.weights != "auto":
        budget = CONSTANT_LIMIT
    some = [c for c in choices if weight_floats(tiles, c.planes or 1) <= budget]
    return some or "the layer's transformed weights exceed the limit for constants in a shader"


def refusal(node: Node, target: Target) -> str:
    """Return why a placed node cannot be computed in tiles, or nothing.

    In 16 bits the transforms, which grow numbers and cancel them again, would lose what
    ``--precision`` promises, and so would weights rounded to fewer bits.
    """
    p = parts(node)
    if type(p.kernel) is not Conv or not is_direct(node):
        return "the layer is not a convolution of feature maps with constant weights"
    conv, w = p.kernel, p.operands[1]
    assert isinstance(w, Constant)
    plain = replace(conv, pads=(0, 0, 0, 0), pad_mode="constant", pad_value=0.0, enlarged=(1, 1))
    if w.shape[2:] != (TAPS, TAPS) or plain != Conv():
        return "the convolution is not 3x3 with stride 1 in one group"
    if p.store and not target.dispatches_draws:
        return "the convolution's results are stored by a scatter epilogue"
    if target.textures == "2d" and not target.dispatches_draws:
        return "Winograd needs array textures"
    if node.choice.precision != "highp" or target.weight_format != "float32":
        return "16-bit arithmetic is too inaccurate"
    if not w.magnitudes[1] < LARGEST:
        return "the layer's weights are too large"
    if not abs(conv.pad_value) < LARGEST:
        return "the layer's padding is too large"
    return ""


def _can_run_in_tiles(node: Node) -> bool:
    """Whether a node is a step of Winograd's convolution, or a convolution to expand into steps."""
    kernel = parts(node).kernel
    return isinstance(kernel, STEPS) or (type(kernel) is Conv and is_direct(node))


def _lower(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower a node that an expansion makes, the products apart, which are a convolution's."""
    kernel = parts(node).kernel
    if not isinstance(kernel, STEPS):
        raise InternalError(f"{node.name}: a convolution in tiles was not expanded")
    if isinstance(kernel, IN_STRIPS):
        return lower_strips(node, target)
    if isinstance(kernel, WinogradRow):
        return lower_rows(node, target)
    if isinstance(kernel, WinogradConv):
        return lower_tiles_in_place(node, target)
    tiles = isinstance(kernel, WinogradTiles)
    return (lower_tiles if tiles else lower_transform)(node, target)


def _trips(node: Node) -> dict[str, int]:
    """Return the trip count of the loop over the lines of a patch."""
    kernel = parts(node).kernel
    if isinstance(kernel, StripPatches):
        return {PATCH_ROW: patch_rows(kernel.patch, (1, 1))}
    if isinstance(kernel, StripColumns):
        return {PATCH_ROW: kernel.patch}
    if isinstance(kernel, StripProducts):
        return {INPUT_PLANE: -(-parts(node).operands[1].shape[1] // LANES)}
    if isinstance(kernel, WinogradPatches):
        return {PATCH_ROW: patch_rows(kernel.patch, node.choice.block)}
    return {PATCH_ROW: kernel.patch} if isinstance(kernel, WinogradResult) else {}


def _planes_of_pass(node: Node) -> int:
    """Return the planes that a GPU pass of a step computes."""
    kernel = parts(node).kernel
    if isinstance(kernel, StripProducts):  # all: a plane is a part of the strip
        return -(-parts(node).operands[1].shape[0] // LANES)
    if isinstance(kernel, WinogradConv):  # weights are constants, so each dispatch has its own
        return node.choice.planes or 1
    return planes_of_pass(node)


def _program_key(node: Node) -> Hashable:
    p = parts(node)
    if isinstance(p.kernel, WinogradConv | WinogradTiles):  # their text has all planes
        return convolution_key(node), *(v.shape for v in p.operands[1:])
    sizes = dict.fromkeys(UNIFORM_SIZES[type(p.kernel)], 0)
    key = with_kernel(node.op, lambda step: replace(step, **sizes))
    return key if isinstance(p.kernel, StripProducts) else reduced(key)


WINOGRAD = Family(
    _can_run_in_tiles,
    _choices,
    _lower,
    why_not_compute,
    _trips,
    planes_of_pass=_planes_of_pass,
    program_key=_program_key,
    expand=expand,
)
