"""The steps of Winograd's minimal filtering in draws, whose maps lie in strips.

A strip (:mod:`...passes.kernel_ops.winograd_strips`) has all planes side by side, so one program
draws all of a step. An invocation transforms one row of a patch, multiplies a pair of tiles at one
position of their patches, transforms one row of products, or one pixel of the result. The
transforms take all sizes from uniforms, so that layers share their programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InternalError
from ...ir.graph import Choice, Constant, Node
from ...ir.ops import Conv
from ...ir.types import LANES
from ...passes.kernel_ops import StripColumns, StripPatches, StripProducts, StripRows, parts
from ...passes.kernel_ops.fused import Parts, assemble
from ...passes.kernel_ops.winograd import of_patch, of_result
from ...passes.kernel_ops.winograd_strips import PAIR
from ...passes.placement.kinds import entries_share_a_program, planes_in_a_pass
from ...records import replace
from ..gpu import Blob
from ..shader.builder import ShaderBuilder
from ..shader.constructors import integer, ivec2, offset, vec4
from ..shader.expressions import Variable
from ..shader.statements import Body, needed
from ..shader.types import VEC4
from .convolution import bias_share, weight_format
from .convolution_loops import INPUT_PLANE, ROW, multiply
from .fragment_blocks import in_one_array
from .input_loader import CORNER, less_padding
from .plane_groups import PIXEL, Group, groups, lower_groups, plus
from .store import finish, stores
from .sums import Sums
from .weight_blocks import plan_blocks, rows_of
from .weight_storage import weight_bytes, weight_capacity
from .winograd_transforms import Window, one_line, sum_rows, transformed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...ir.graph import Value, WeightStorage
    from ...ir.ops import Op
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.expressions import Expression
    from .winograd_transforms import Row

NO_ROOM = "the transformed patches exceed the texture size"
BIAS_ROW = "u_parameter_row_1"  # where the bias begins, behind the weights of all planes


def choices_in_strips(node: Node, tile: int, target: Target) -> list[Choice] | str:
    """Return the choice of draws for each step, or why there is none."""
    weights = _looped(target)
    if target.weights == "constants":
        return "--weights constants excludes it"
    start = replace(node.choice, stage="fragment", block=(PAIR, 1), winograd=tile, weights=weights)
    found = in_strips(node, start, target)
    if isinstance(found, str):
        return found
    _, products, *_ = found
    size = weight_bytes(products, -(-products.inputs[1].shape[0] // LANES), weights, target)
    if size > weight_capacity(target, "fragment")[weights]:
        return f"the layer's transformed weights do not fit --weights {weights}"
    assert isinstance(products.op, StripProducts)
    return [replace(start, planes=products.op.planes)]


def _looped(target: Target) -> WeightStorage:
    """Return where the products of strips read their weights."""
    return "ubo" if target.weights == "ubo" else "ssbo" if target.weights == "ssbo" else "texture"


def in_strips(node: Node, choice: Choice, target: Target) -> tuple[Node, ...] | str:
    """Return patches, products, and the transforms of their rows and columns.

    Or why there is no room for them.
    """
    p = parts(node)
    conv, (x, *parameters) = p.kernel, p.operands
    assert isinstance(conv, Conv)
    tile, (_, _, height, width) = choice.winograd, node.result.shape
    channels = parameters[0].shape[0]  # an epilogue may broadcast one to more
    columns = -(-width // tile)
    columns += columns % PAIR
    most = min(target.limits.draw_buffers, target.planes_per_pass or target.limits.draw_buffers)
    if most < PAIR:
        return f"pairs of tiles need {PAIR} render targets, a draw has {most}"
    alone = Choice("fragment", precision=choice.precision)

    def drawn(op: Op, operands: tuple[Value, ...], values: int, own: Choice = alone) -> Node:
        """Return a step that gives a strip of so many layers."""
        step = Node(op, operands, node.layers, replace(own, planes=values_of_draw(values, most)))
        return in_one_array(step)

    cut = StripPatches(tile, columns, **windows(conv))
    patches = assemble(
        Parts(cut, (x,), p.prologue, None, p.extras),
        node.layers,
        replace(alone, planes=values_of_draw(cut.patch, most)),
    )
    patches = in_one_array(patches)
    every = -(-channels // LANES)
    each = values_of_draw(every, most // PAIR)
    multiply = StripProducts(tile=tile, columns=columns, planes=each)
    own = replace(choice, block=(1, 1), winograd=0, weights=_looped(target))
    products = drawn(multiply, (patches.result, *parameters), PAIR * each, own)
    rows = drawn(StripRows(tile, columns, channels), (products.result,), tile)
    steps = patches, products, rows
    if any(max(n.result.type.extent[:2]) > target.limits.texture_size for n in steps):
        return NO_ROOM
    limit = target.limits.array_texture_layers
    if any(n.result.type.layers > limit for n in steps):
        return f"the transformed patches exceed the {limit} layers of an array texture"
    last = assemble(
        Parts(
            StripColumns(tile, columns, channels, height, width),
            (rows.result,),
            (),
            p.epilogue,
            p.extras,
            p.dtype,
        ),
        node.layers,
        replace(alone, planes=planes_in_a_pass(node.result.type, target)),
    )
    return (*steps, replace(last, types=(node.result.type,)))


def windows(conv: Op) -> dict[str, Any]:
    """Return the attributes of a convolution that its tiles have, too."""
    assert isinstance(conv, Conv)
    names = ("pads", "pad_mode", "pad_value", "enlarged")
    return {name: getattr(conv, name) for name in names}


def lower_strips(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower a step; the loads of patches may have a prologue, the columns an epilogue."""
    op = parts(node).kernel
    sizes = target.uniform_sizes
    if not isinstance(op, StripProducts):
        sizes = None
    elif sizes is not None:
        sizes |= {BIAS_ROW}
    target = replace(target, uniform_sizes=sizes)

    def lower(group: Group) -> GpuPass:
        shader = ShaderBuilder(target, "highp")
        if isinstance(op, StripPatches):
            return _patches(shader, node, group, op)
        if isinstance(op, StripProducts):
            return _products(shader, node, group, op)
        if isinstance(op, StripRows):
            return _rows(shader, node, group, op)
        assert isinstance(op, StripColumns)
        return _columns(shader, node, group, op)

    yield from lower_groups(
        groups(node) if isinstance(op, StripColumns) else _strip_draws(node), lower
    )


def values_of_draw(values: int, most: int) -> int:
    """Return how many values of a row an invocation writes, of so many at most: equal shares."""
    return max(n for n in range(1, values + 1) if values % n == 0 and n <= most)


def _strip_draws(node: Node) -> Iterator[Group]:
    """Yield the draws of a strip, each of which writes as many of its layers."""
    t, size = node.result.type, node.choice.planes or 1
    every = entries_share_a_program(node)
    for n in range(t.shape[0]):
        for first in range(0, t.planes, size):
            yield Group(n, range(first, first + size), node, node, entries=every)


def _plane_and_column(
    body: Body, shader: ShaderBuilder, columns: int
) -> tuple[Expression, Expression]:
    """Write which plane of a strip a pixel lies in, and in which of its columns."""
    across = shader.size("columns", columns)
    plane = body.let("plane_of_strip", PIXEL.x // across)
    return plane, body.let("column", PIXEL.x - plane * across)


def _some_values(
    body: Body, kind: str, tile: int, line: Sequence[Expression], wanted: range
) -> list[Variable]:
    """Write some values of a transformed line, and what they need."""
    before, after = Body(), Body()
    found = transformed(kind, tile, line, before.let)
    values = [after.let(f"value{n}", found[n]) for n in wanted]
    body.extend([*needed(before.statements, after.statements), *after.statements])
    return values


def _patches(shader: ShaderBuilder, node: Node, group: Group, op: StripPatches) -> GpuPass:
    (x,), k = parts(node).operands, op.patch
    wanted = range(group.planes[0], group.planes[-1] + 1)
    every = of_patch(op.tile)
    read = list(map(int, np.flatnonzero(every[wanted.start : wanted.stop].any(0))))
    body = Body()
    plane, column = _plane_and_column(body, shader, op.columns)
    body.comment("The first pixel of the tile, and the row of its transformed patch.")
    corner = ivec2(column, PIXEL.y // k) * op.tile
    body.let(CORNER.name, less_padding(shader, corner, op.pads))
    matrix, line, row = one_line(body, every, PIXEL.y % k)
    window = Window(shader, body, node, group, x, read, plane)

    def terms(i: Expression) -> Row:
        body.comment("d: a row of the patch. Add d, times the factor of this row, to the sums.")
        return window.row(row(i))

    body.comment("If the number of rows is known, VideoCore unrolls the loop and spills.")
    rows = shader.uniform("patch_rows", matrix.shape[1])
    names = [f"s{n}" for n in read]
    (found,) = sum_rows(shader, body, [names], terms, matrix, line, rows)
    sums = {
        n: body.let(f"t{n}", total) for n, total in zip(read, window.inside(found), strict=True)
    }
    elements = [sums.get(n, vec4(0.0)) for n in range(k)]
    values = _some_values(body, "patches", op.tile, elements, wanted)
    what = f"Winograd input transform, {op.tile}x{op.tile} tiles"
    return finish(shader, node, group, "winograd input transform", what, body, values)


def _products(shader: ShaderBuilder, node: Node, group: Group, op: StripProducts) -> GpuPass:
    x, w, *bias = parts(node).operands
    storage, k = node.choice.weights, op.patch
    if not isinstance(w, Constant) or storage is None or storage == "constants":
        raise InternalError(f"{node.name}: strips need constant weights in a texture or buffer")
    o, c = w.shape[:2]
    planes = -(-o // LANES)
    taps, depth, _, width, _ = plan_blocks(op.packed_shape(w.shape), 1, range(op.planes)).shape
    blob = Blob(
        f"{node.name}.weights",
        taps * depth * planes * width,
        lambda _: rows_of(w.data, 1, op.planes, planes, packed=op.packed),
        weight_format(w.data, shader.target, shader.precision),
    )
    shader.weights(blob, storage)
    texture = shader.texture(x, "x", group.batch)
    body = Body()
    body.comment("An invocation computes one position of the patch, for a pair of tiles.")
    pairs = shader.size("pairs", op.columns // PAIR)
    part = body.let("part", PIXEL.x // pairs)
    first = body.let("group", part // k)
    patch_column = body.let("patch_column", part - first * k)
    position = body.let("position", PIXEL.y % k * k + patch_column)
    column = body.let("column", (PIXEL.x - part * pairs) * PAIR)
    if bias:
        row = body.let("patch_row", PIXEL.y % k)
        share = body.let("bias_share", bias_share(op.tile, row, patch_column))
    sums = Sums(body, shader, node)
    names = [[f"result_p{q}_x{h}" for h in range(PAIR)] for q in range(op.planes)]
    for q, own in enumerate(names):
        start: Expression = vec4(0.0)
        if bias:
            vector = shader.channel_vector(bias[0], first * op.planes + q)
            start = share * vector
        sums.declare(own, start)
    per_position = shader.size("rows_per_position", depth * op.planes * width)
    body.let(ROW.name, (first * (k * k) + position) * per_position)
    layer = plus(patch_column, group.first_layer(x.type))
    across = shader.size("columns", op.columns)
    place = body.let("place", ivec2(column, PIXEL.y))
    with body.loop(INPUT_PLANE, shader.size("planes_in", depth)):
        texels = [
            body.let(f"texel_x{h}", texture.fetch(offset(place, h, 0), layer)) for h in range(PAIR)
        ]
        for q, own in enumerate(names):
            pixels = [(Variable(name, VEC4), t) for name, t in zip(own, texels, strict=True)]
            multiply(body, shader, ROW + q * width, width, pixels, sums)
        body.add(ROW, op.planes * width)
        body.add(place, ivec2(across, 0))
    _, _, height, _ = node.result.shape
    return finish(
        shader,
        node,
        group,
        "winograd products",
        f"Winograd products, {op.tile}x{op.tile} tiles, {c} to {o} channels",
        body,
        [Variable(own[h], VEC4) for h in range(PAIR) for own in names],
        macs=o * c * height * k * op.columns,
        weights=storage,
    )


def _rows(shader: ShaderBuilder, node: Node, group: Group, op: StripRows) -> GpuPass:
    (x,), k = parts(node).operands, op.patch
    texture = shader.texture(x, "x", group.batch)
    each = x.shape[1] // (PAIR * LANES)  # planes that an invocation multiplied
    body = Body()
    plane, column = _plane_and_column(body, shader, op.columns)
    body.comment("d: a row of products.")
    pairs = shader.size("pairs", op.columns // PAIR)
    first = body.let("first", plane // each * (k * pairs) + column // PAIR)
    layer = body.let(
        "layer", integer(plus(column % PAIR * each + plane % each, group.first_layer(x.type)))
    )
    d = [
        body.let(f"d{j}", texture.fetch(ivec2(first + j * pairs if j else first, PIXEL.y), layer))
        for j in range(k)
    ]
    wanted = range(group.planes[0], group.planes[-1] + 1)
    values = _some_values(body, "result", op.tile, d, wanted)
    what = f"Winograd output transform of rows, {op.tile}x{op.tile} tiles"
    return finish(shader, node, group, "winograd output transform, rows", what, body, values)


def _columns(shader: ShaderBuilder, node: Node, group: Group, op: StripColumns) -> GpuPass:
    (x,), k, m = parts(node).operands, op.patch, op.tile
    texture = shader.texture(x, "x", group.batch)
    body = Body()
    body.comment("The first transformed row of the pixel's tile.")
    first = body.let("first", ivec2(PIXEL.x // m, PIXEL.y // m * k))
    layer = body.let("layer", integer(plus(PIXEL.x % m, group.first_layer(x.type))))
    across = shader.size("columns", op.columns)
    count = len(group.planes)

    def terms(i: Expression) -> Row:
        places = (first + ivec2(integer(group.plane(n)) * across, i) for n in range(count))
        return [body.let(f"d{n}", texture.fetch(p, layer)) for n, p in enumerate(places)], None

    rows = shader.size("patch_rows", k)
    sum_rows(shader, body, [group.results], terms, of_result(m), PIXEL.y % m, rows)
    values = stores(shader, node, group, [Variable(name, VEC4) for name in group.results])
    what = f"Winograd output transform of columns, {m}x{m} tiles"
    return finish(shader, node, group, "winograd output transform, columns", what, body, values)
