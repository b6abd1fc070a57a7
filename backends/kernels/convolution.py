"""Convolution: an invocation is a block of output pixels of several planes.

Weights are columns, four output channels each: ``a += column * v.x`` for every input channel, or
``a += mat4(columns) * v`` where an input plane is full. Small layers unroll them as constants;
larger ones loop over ``weight(i)``, rows in the order of :mod:`.weight_blocks`. Where an invocation
has neighbours in a row, the taps of a row are unrolled and share what they load.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.expr import Var, named, variables
from ...ir.graph import Constant
from ...ir.indexing import border
from ...ir.ops import Conv
from ...ir.ops.window import may_pad
from ...ir.types import LANES, fits_half, fits_int8
from ...passes.kernel_ops import WinogradProducts, parts
from ...passes.placement.kinds import unrolls_rows
from ..gpu import Blob
from ..shader.builder import ShaderBuilder, constant
from ..shader.expressions import (
    Choice,
    Variable,
    integer,
    intrinsic,
    ivec2,
    offset,
    vec4,
)
from ..shader.formulas import index
from ..shader.program import Function
from ..shader.statements import Body
from ..shader.types import IVEC2, VEC4
from .loads import LANE
from .plane_groups import PIXEL, PLANE, Group, groups, lower_groups, plus
from .store import finish, precision, stores
from .weight_blocks import WeightBlocks, cut_weights, plan_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...ir.graph import Node, Precision, Value
    from ...ir.ops.window import Sizes
    from ...ir.types import TextureFormat
    from ...passes.kernel_ops import Parts
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.expressions import Expression, Int


def lower_convolution(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower a Conv node, fused or not."""
    p = parts(node)
    if not all(isinstance(v, Constant) for v in p.operands[1:]):
        raise InternalError(f"{node.name}: weights that are not constant reached the backend")
    yield from lower_groups(groups(node), lambda group: _lower(group.node, p, group, target))


def _lower(node: Node, p: Parts, group: Group, target: Target) -> GpuPass:
    conv = p.kernel
    assert isinstance(conv, Conv)
    x, w, *bias = p.operands
    assert isinstance(w, Constant)
    shader = ShaderBuilder(target, precision(node), node.choice.stage or "fragment")
    shape = conv.packed_shape(w.shape)
    tiles = plan_blocks(shape, conv.groups, group.planes)
    o, per_group, *kernel = shape
    kh, kw = (1, 1) if conv.positions > 1 else kernel
    _, _, height, width = node.result.shape
    macs = group.channels * per_group * kh * kw * height * width
    storage = node.choice.weights
    if storage is None:
        raise InternalError(f"{node.name}: no weight storage was chosen")
    if storage != "constants":
        blob = Blob(
            f"{node.name}.weights",
            prod(tiles.shape[:4]) * len(group.covered) // len(group.planes),
            lambda first: rows_of(conv.packed(w.data), conv.groups, group, first),
            weight_format(w.data, target, shader.precision),
            group.planes[0],
        )
        shader.weights(blob, storage)
    body = Body()
    body.let(CORNER.name, first_tap(shader, conv))
    starts = first_sums(bias, conv, group, shader)
    sums = [f"a{k}" for k in range(len(group.planes))]
    for name, start in zip(sums, starts, strict=True):
        declare_sums(body, shader, [name + end for *_, end in group.pixels], start)
    load = loader(shader, conv, p, x, group)
    if storage == "constants":
        columns = cut_weights(w.data, conv.groups, group.planes)
        unrolled(body, conv, tiles, columns, kw, load)
    else:
        looped(body, shader, conv, tiles, group, kernel, load)
    kind = f"convolution {kh}x{kw}, {x.shape[1]} to {o} channels"
    if isinstance(conv, WinogradProducts):
        kind += f", of Winograd's patches for tiles of {conv.tile}x{conv.tile}"
    if conv.groups > 1:
        kind += f" in {conv.groups} groups"
    return finish(
        shader,
        node,
        group,
        "convolution",
        kind,
        body,
        stores(shader, node, group, [Variable(name, VEC4) for name in sums]),
        macs=macs,
        weights=storage,
    )


CORNER = Variable("corner", IVEC2)  # the first tap of a pixel, in the map that is read


def declare_sums(
    body: Body, shader: ShaderBuilder, names: list[str], start: Expression
) -> list[Variable]:
    """Declare accumulators that begin alike, in 32 bits."""
    full = shader.precision == "mediump"
    first = body.let(names[0], start, full)
    return [first, *(body.let(name, first, full) for name in names[1:])]


def looped(
    body: Body,
    shader: ShaderBuilder,
    conv: Conv,
    tiles: WeightBlocks,
    group: Group,
    kernel: list[int],
    load: Function,
    sums: str = "a",
) -> None:
    """Write the loops over the taps and the input planes.

    Args:
        body: where to; it has ``corner``.
        shader: where sizes are declared.
        conv: the convolution.
        tiles: of the planes of an invocation.
        group: what an invocation computes.
        kernel: height and width of the packed weights.
        load: from :func:`loader`.
        sums: what the names of accumulators begin with.
    """
    taps, rows = prod(kernel), prod(tiles.shape[:4])
    kh, kw = (1, 1) if conv.positions > 1 else kernel
    down, across = conv.dilations
    blocks = 1 if tiles.diagonal else shader.size("planes_in", tiles.shape[1])
    per_tap = shader.size("tap_rows", rows // taps)
    k = body.let("k", _first_row(group, taps, per_tap, conv.positions))
    step = _Step(body, shader, conv, tiles, group, load, per_tap, sums)
    with body.loop("ky", kh) as ky:
        if unrolls_rows(conv, kw, group.node.choice.block[0]):
            p = body.let("p", CORNER + ivec2(0, ky * down))
            with body.loop("i", blocks) as i:
                step.write(p, i, k, kw)
            body.add(k, (kw - 1) * per_tap)  # the other taps of the row
        else:
            with body.loop("kx", kw) as kx:
                p = body.let("p", CORNER + ivec2(kx * across, ky * down))
                with body.loop("i", blocks) as i:
                    step.write(p, i, k, 1)


def weight_format(data: np.ndarray, target: Target, precision: Precision) -> TextureFormat:
    """Return the format of a texture of weights."""
    if target.weight_format == "int8" and fits_int8(data):
        return "rgba8"
    narrow = target.weight_format == "float16" and fits_half(data, axis=0)
    return "rgba16f" if narrow or precision == "mediump" else "rgba32f"


def first_sums(
    bias: list[Value], conv: Conv, group: Group, shader: ShaderBuilder
) -> list[Expression]:
    """Return the accumulators' first values: the bias, of Winograd's products at one position."""
    if not bias:
        return [vec4(0.0)] * len(group.planes)
    vectors = [
        shader.channel_vector(bias[0], group.plane(k), number)
        for k, number in enumerate(map(group.number, range(len(group.planes))))
    ]
    if not isinstance(conv, WinogradProducts):
        return vectors
    biased = (PIXEL.y % conv.positions).equals(conv.biased)
    return [Choice(biased, v, vec4(0.0)) for v in vectors]


def _first_row(group: Group, taps: int, per_tap: Expression, positions: int) -> Expression:
    """Return the first row of an invocation's weights, of ``taps`` for each plane."""
    if not group.in_compute:
        return integer(0)
    first = PLANE // len(group.planes) * taps
    return (first + PIXEL.y % positions if positions > 1 else first) * per_tap


def rows_of(data: np.ndarray, groups: int, group: Group, first: int = 0) -> list[np.ndarray]:
    """Return the rows of the weights that a GPU pass loops over, in turn for its planes.

    The pass is like that of ``group``, and writes from plane ``first`` on.
    """
    size = len(group.planes)
    starts = range(first, first + len(group.covered), size)
    cut = [cut_weights(data, groups, range(p, p + size)) for p in starts]
    return [c.reshape(-1, LANES) for c in cut]


def first_tap(shader: ShaderBuilder, conv: Conv) -> Expression:
    """Return the ivec2 of the first tap of the pixel ``o``."""
    position: Expression = PIXEL
    if conv.strides != (1, 1):
        position = position * ivec2(conv.strides[1], conv.strides[0])
    return less_padding(shader, position, conv.pads)


def less_padding(shader: ShaderBuilder, position: Expression, pads: Sizes) -> Expression:
    """Return a position in the padded map as one in the map."""
    top, left = pads[:2]
    if not may_pad((top, left)):
        return position
    return position - ivec2(shader.number(left), shader.number(top))


def loader(
    shader: ShaderBuilder,
    conv: Conv,
    p: Parts,
    x: Value,
    group: Group,
    last: tuple[Expression, Expression] | None = None,
) -> Function:
    """Return the function that loads a texel of the input: borders, prologue, guard.

    Its parameters are a position, which may lie beside the map, and a plane. ``last`` is the last
    column and row that are asked for, where positions may lie beyond.
    """
    _, _, height, width = conv.seen(x.type).shape
    top, left, bottom, right = conv.pads
    texture = shader.texture(x, "x", group.batch)
    wanted = Variable("p", IVEC2)
    layer = plus(PLANE, group.first_layer(x.type)) if x.type.layers > 1 else 0
    pad = conv.pad_value
    if conv.zero_guard and pad == 0.0:
        pad = conv.zero_guard
    down, across = conv.enlarged
    shifts = not down & (down - 1) and not across & (across - 1)
    zeros = pad == 0.0 and p.prologue is None and texture.is_zero_outside(shader.target)
    zeros = zeros and shifts  # -1 / 3 is 0
    pads = may_pad(conv.pads)
    body = Body()
    at: Expression = wanted
    inside: Expression | None = None
    centre: Expression | None = None
    if pads and conv.pad_mode == "constant" and not zeros:
        # choosing between two values is cheaper than a branch where invocations are SIMD lanes
        size = shader.size("width_in", width), shader.size("height_in", height)
        edge = ivec2(*size) - 1
        if texture.sampled and conv.enlarged == (1, 1):
            full = shader.precision == "mediump"
            centre = body.let("centre", texture.centre(wanted), full)
            inside = centre.equals(intrinsic("clamp", centre, 0.0, 1.0))
        elif texture.sampled:  # a sampler clamps
            inside = wanted.equals(intrinsic("clamp", wanted, 0, edge))
        else:
            at = body.let("nearest", intrinsic("clamp", wanted, 0, edge))
            inside = at.equals(wanted)
        inside = body.let("inside", inside)
    if last is not None:
        at = body.let("within", intrinsic("min", at, ivec2(*last)))
    if pads and conv.pad_mode != "constant":
        column = border(conv.pad_mode, Var("x"), width, left, right)
        row = border(conv.pad_mode, Var("y"), height, top, bottom)
        names = {"x": at.x, "y": at.y} | shader.names_of(column) | shader.names_of(row)
        at = body.let("source", ivec2(index(column, names), index(row, names)))
    if conv.enlarged != (1, 1):  # a shift rounds down
        by = ivec2(across.bit_length() - 1, down.bit_length() - 1)
        at = at >> by if shifts else at // ivec2(across, down)
    value = texture.fetch(at, layer, everywhere=True, centre=centre)
    if p.prologue is not None:
        value = _with_prologue(shader, p, value)
    if conv.zero_guard:
        v = body.let("v", value)
        value = intrinsic("select", v, conv.zero_guard, intrinsic("equal", v, 0.0))
    if inside is not None:
        value = Choice(inside, value, vec4(pad))
    body.give(value)
    return Function("load_x", (wanted, PLANE), VEC4, body.statements)


def _with_prologue(shader: ShaderBuilder, p: Parts, value: Expression) -> Expression:
    """Return what is loaded after the node's prologue."""
    assert p.prologue is not None
    used = variables(p.prologue)
    extras = named(p.extras, "e")
    function = shader.formulas.function("prologue", p.prologue, {name: name for name in used})
    return function(
        *(value if name == "x" else shader.parameter(extras[name], PLANE) for name in used)
    )


def unrolled(
    body: Body, conv: Conv, tiles: WeightBlocks, cut: np.ndarray, kw: int, load: Function
) -> None:
    """Write one load with the products that take it, for every tap and input plane that matters."""
    dy, dx = conv.dilations
    v = body.declare("v", VEC4)
    for tap, per_tap in enumerate(cut):
        ky, kx = divmod(tap, kw)
        readers: dict[int, list[tuple[int, np.ndarray]]] = {}
        for block, per_block in enumerate(per_tap):
            for k, columns in enumerate(per_block):
                if columns.any():
                    readers.setdefault(tiles.first[k] + block, []).append((k, columns))
        for plane, used in sorted(readers.items()):
            body.comment(f"tap ({ky}, {kx}), input plane {plane}")
            body.assign(v, load(offset(CORNER, kx * dx, ky * dy), integer(plane)))
            for k, columns in used:
                for product in products(columns, v, tiles.diagonal):
                    body.add_products(Variable(f"a{k}", VEC4), product)


def products(
    columns: np.ndarray, v: Expression, diagonal: bool = False
) -> list[tuple[Expression, Expression]]:
    """Return the products of one block of constant weights with a vector, to be added up."""
    if diagonal:
        return [(constant(columns[0]), v)]
    if len(columns) == LANES and all(c.any() for c in columns):
        return [(constant(columns), v)]
    return [(constant(c), v.lanes(LANE[i])) for i, c in enumerate(columns) if c.any()]


@dataclass(frozen=True)
class _Step:
    """What the innermost loop does: loads, and products with rows of weights from ``k`` on."""

    body: Body
    shader: ShaderBuilder
    conv: Conv
    tiles: WeightBlocks
    group: Group
    load: Function
    per_tap: Expression
    sums: str

    def write(self, p: Expression, i: Expression, k: Variable, taps: int) -> None:
        """Write the step of input plane ``i``, and advance ``k`` over its rows.

        Args:
            p: the position of the first tap.
            i: the input plane, of those that an invocation reads.
            k: the first row.
            taps: how many taps of a row are unrolled: 1 or all.
        """
        body, tiles, conv, group = self.body, self.tiles, self.conv, self.group
        _, _, planes, width, _ = tiles.shape
        shared = len(set(tiles.first)) == 1
        (stride_y, stride_x), dilation = conv.strides, conv.dilations[1]
        loaded: dict[str, Variable] = {}

        def load(x: int, y: int, plane: Int) -> Variable:
            """Load the pixel (x, y) away from ``p``."""
            alone = len(group.pixels) * taps == 1
            name = "v" if alone else f"v_{x}_{y}"
            value = self.load(offset(p, x, y), i + plane)
            if name in loaded:
                body.assign(loaded[name], value)
            else:
                loaded[name] = body.let(name, value)
            return loaded[name]

        for plane in range(1 if shared else planes):
            start = group.plane(plane) if tiles.diagonal else tiles.first[plane]
            texels: dict[tuple[int, int], Variable] = {}
            for tap in range(taps):
                for x, y, _ in group.pixels:
                    place = (x * stride_x + tap * dilation, y * stride_y)
                    if place not in texels:
                        texels[place] = load(*place, start)
            for tap in range(taps):
                for out in range(planes) if shared else (plane,):
                    pixels = [
                        (
                            Variable(f"{self.sums}{out}{end}", VEC4),
                            texels[x * stride_x + tap * dilation, y * stride_y],
                        )
                        for x, y, end in group.pixels
                    ]
                    row = k + tap * self.per_tap + out * width
                    multiply(body, self.shader, row, width, pixels, tiles.diagonal)
        body.add(k, planes * width)


def multiply(
    body: Body,
    shader: ShaderBuilder,
    row: Expression,
    width: int,
    pixels: list[tuple[Variable, Variable]],
    diagonal: bool,
) -> None:
    """Add one weight block times a loaded vector to each accumulator.

    Args:
        body: where to.
        shader: with the functions that read weights.
        row: the block's first row of weights.
        width: its rows.
        pixels: accumulators and the vectors they take.
        diagonal: depthwise: its only row multiplies lane by lane.
    """
    full = width == LANES
    read = [shader.weight_tile(row)] if full else [shader.weight(row + n) for n in range(width)]

    def add(rows: Sequence[Expression]) -> None:
        for a, v in pixels:
            if full or diagonal:
                body.add_products(a, (rows[0], v))
            else:
                body.add_products(a, *((r, v.lanes(LANE[n])) for n, r in enumerate(rows)))

    if len(pixels) == 1:
        add(read)
        return
    with body.scope():
        names = ["w"] if full else [f"w{n}" for n in range(width)]
        add([body.let(name, value) for name, value in zip(names, read, strict=True)])
