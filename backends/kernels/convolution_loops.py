"""Convolutions that loop over taps and input planes, and read weights row by row.

Rows are in the order of :mod:`.weight_blocks`. If an invocation of a dispatch computes several
pixels of a row, the taps of a row are unrolled and share their loads. Rows of pixels share weights
only. Draws do not unroll: they would spill on Mali and VideoCore, and save little because they read
mostly weights.

Drivers unroll loops with few steps. A row of a uniform block that stands in straight code takes
llvmpipe 14 ms to compile; 16 rows in a loop take 60 ms. Where a draw computes a single pixel, as in
squeeze and excitation, the compiler's time is all that counts: the loop ends at a uniform. On
larger maps it ends at a number, because Adreno takes up to 1.7 times as long for the loop as for
straight code. Exception: draws that would spill if unrolled. For blocks of two pixels and two
planes, 24 input channels and 3x3 taps, the loop over a row of taps alone ends at a uniform: Mali
G610 then takes 0.12 times the cycles, other GPUs up to 1.06 times.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from ...ir.dimensions import is_one
from ...ir.ops import Conv
from ...ir.types import LANES
from ...passes.kernel_ops import WinogradProducts, parts
from ...records import dataclass
from ..shader.constructors import integer, ivec2, offset
from ..shader.expressions import Variable, known
from ..shader.types import INT, VEC4
from .family import fitting_blocks
from .input_loader import CORNER, finds_sources, loader, rows_apart, source
from .loads import LANE
from .plane_groups import PIXEL, PLANE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...ir.graph import Node, Value
    from ...passes.kernel_ops import Parts
    from ...passes.placement.target import Target
    from ..shader.builder import ShaderBuilder
    from ..shader.expressions import Expression, Int
    from ..shader.program import Function
    from ..shader.statements import Body
    from .family import Block
    from .plane_groups import Group
    from .sums import Sums
    from .weight_blocks import WeightBlocks

# Columns and rows of pixels that an invocation of a dispatch may compute.
BLOCKS: tuple[Block, ...] = ((8, 1), (7, 1), (4, 1), (2, 1), (1, 1))
MAX_UNROLLED = 7  # taps of a row; unrolling more saves little and compiles slowly

ROW = Variable("weight_row", INT)  # the next row of weights
INPUT_PLANE = "input_plane"  # the counter of the loop over these
INPUT_ROW = Variable("input_row", INT)  # the first row of the next input plane in a stack of them
MOST_ROWS = 8  # rows of a uniform block in straight code
LONGEST_ROWS = 128  # rows that Mesa's drivers unroll at most

# Compilers leave long loops as they are, and each trip waits for its loads. They unroll an inner
# loop of few trips, and issue the loads of all of them together.
INNER_TRIPS = 4
# The most accumulators of an invocation with an inner loop. With more there is little to gain, and
# compilers spill: Adreno's and VideoCore's in draws, Mali's and VideoCore's in dispatches.
ACCUMULATORS_IN_DRAWS = 1
ACCUMULATORS_IN_DISPATCHES = 4
ACCUMULATORS_IN_FEW_REGISTERS = 2
FEW_REGISTERS = 64  # scalars; VideoCore has fewer, all other families have more
# Numbers of products at which Adreno's compiler unrolls the whole loop over input planes, and
# spills.
SPILLING = range(49, 81)

# Products of a weight vector and a texel's component in straight code. A compiler that unrolls a
# loop may load the vectors of all its steps first, and spill.
FEW_PRODUCTS = 16  # unrolled to as many, loops spill on no GPU
# Mali's compilers unroll the loop over input planes and the loop around it, up to this many
# products. In blocks of pixels they unroll more, because the pixels share vectors of weights.
LOOPS_UNROLLED = {False: 80, True: 288}


def dispatched_blocks(node: Node, target: Target) -> tuple[Block, ...]:
    """Return the blocks of pixels that an invocation of a convolution's dispatch may compute.

    The rows of Winograd products are positions of a patch, each with weights of its own.
    """
    one_row = isinstance(parts(node).kernel, WinogradProducts)
    fitting = fitting_blocks(node, target, BLOCKS)
    return tuple(block for block in fitting if block[1] == 1 or not one_row)


def looped(
    body: Body,
    shader: ShaderBuilder,
    p: Parts,
    blocks: WeightBlocks,
    group: Group,
    kernel: list[int],
    sums: Sums,
    names: list[str],
) -> None:
    """Write the loops over the taps and the input planes.

    Args:
        body: where to; it has ``corner``.
        shader: where sizes are declared.
        p: the convolution and the formulas fused into it.
        blocks: the weight blocks of an invocation.
        group: what an invocation computes.
        kernel: height and width of the weights that are held.
        sums: of the accumulators.
        names: of the accumulators of each plane, without the ends of :attr:`.Group.pixels`.
    """
    conv, x = p.kernel, p.operands[0]
    assert isinstance(conv, Conv)
    taps, rows = prod(kernel), prod(blocks.shape[:4])
    kh, kw = (1, 1) if conv.positions > 1 else kernel
    down, across = conv.dilations
    in_rows = not group.draws_blocks and _unrolls_rows(conv, kw, group.node.choice.block[0])
    in_map = finds_sources(shader, conv, p, x, group)
    apart = rows_apart(shader, p, x, group)
    first_row = None if apart is None else INPUT_ROW
    load = loader(shader, conv, p, x, group, in_map=in_map, first_row=first_row)
    inner_trips = _inner_trips(shader, blocks, group)
    input_planes = _input_planes(shader, blocks, group, inner_trips)
    per_tap = shader.size("rows_per_tap", rows // taps)
    height, width = _kernel_size(shader, blocks, group, input_planes, kh, kw)
    once = {known(height), known(width), known(input_planes)} == {1}  # no loop is written
    step = _Step(body, shader, conv, blocks, group, load, per_tap, sums, names, apart, once)
    # as the kernel's sides, a size, so that stacked draws of several kernel sizes share a program
    plane_taps = shader.size("taps", taps) if blocks.diagonal and group.stacked else taps
    body.let(ROW.name, _first_row(group, plane_taps, per_tap, conv.positions))
    at_source = partial(_sources, body, shader, conv, x, group)
    columns = at_source("x", CORNER.x, kw) if in_map and in_rows else {}
    with body.loop("ky", height) as ky:
        input_rows = at_source("y", CORNER.y + ky * down, 1) if in_map else {}

        def position(kx: Int, taps: int) -> Callable[[int, int], Expression]:
            """Return a function that finds positions from the tap in column ``kx`` on."""
            if not in_map:
                return partial(offset, body.let("tap", offset(CORNER, kx * across, ky * down)))
            found = columns or at_source("x", CORNER.x + kx * across, taps)
            return lambda x, y: ivec2(found[x], input_rows[y])

        if in_rows:
            at = position(0, kw)
            with _over_planes(body, group, input_planes, apart, inner_trips) as i:
                step.write(at, i, kw)
            body.comment("Skip the weights of the row's other taps.")
            body.add(ROW, (kw - 1) * per_tap)
        else:
            with body.loop("kx", width) as kx:
                at = position(kx, 1)
                with _over_planes(body, group, input_planes, apart, inner_trips) as i:
                    step.write(at, i, 1)


def _sources(
    body: Body,
    shader: ShaderBuilder,
    conv: Conv,
    x: Value,
    group: Group,
    axis: str,
    first: Expression,
    taps: int,
) -> dict[int, Variable]:
    """Find the columns ("x") or rows ("y") of the input that taps in a line read for all pixels.

    The key is how far one is from the first. They are found before the loop over input planes,
    because compilers do not move them out.
    """
    stride, dilation = conv.strides[axis == "x"], conv.dilations[axis == "x"]
    pixels = {column if axis == "x" else row for column, row, _ in group.pixels}
    places = {pixel * stride + tap * dilation for pixel in pixels for tap in range(taps)}
    return {
        place: body.let(f"source_{axis}{place}", source(shader, conv, x, axis, first + place))
        for place in sorted(places)
    }


def _unrolls_rows(conv: Conv, kw: int, columns: int) -> bool:
    """Whether the taps of a row are unrolled because the pixels of an invocation share inputs."""
    step, stride = conv.dilations[1], conv.strides[1]
    apart = {k * step for k in range(1, kw)} & {i * stride for i in range(1, columns)}
    return bool(apart) and kw <= MAX_UNROLLED


@contextmanager
def _over_planes(
    body: Body, group: Group, count: Int, apart: Int | None, inner_trips: int
) -> Iterator[Expression]:
    """Build the loop over input planes, around the statements built inside.

    Its counter starts at the first plane of the group. Added to a counter from 0, that plane takes
    a register, and VideoCore spills.
    """
    start = group.first_input_plane
    if apart is not None:
        body.let(INPUT_ROW.name, integer(start) * apart)
    if known(count) == 1:
        yield integer(start)
        return
    end = count if known(start) == 0 else start + count
    if inner_trips > 1:
        body.comment("Compilers unroll the inner loop, and issue its loads together.")
    with body.loop(INPUT_PLANE, end, start, inner_trips=inner_trips) as i:
        yield i
        if apart is not None:
            body.add(INPUT_ROW, apart)


def _inner_trips(shader: ShaderBuilder, blocks: WeightBlocks, group: Group) -> int:
    """Return the trip count of the inner loop over input planes; 1 stands for no inner loop.

    Only 1x1 convolutions whose weights lie in no uniform block have inner loops. Other loops have
    rules of their own (:func:`_input_planes`, :func:`_kernel_size`).
    """
    taps, depth, planes, _, _ = blocks.shape
    pixels, most = len(group.pixels), ACCUMULATORS_IN_DRAWS
    if group.in_compute:
        few = [0 < costs.registers <= FEW_REGISTERS for costs in shader.target.costs]
        most = ACCUMULATORS_IN_FEW_REGISTERS if all(few) else ACCUMULATORS_IN_DISPATCHES
        if any(few) and planes > pixels:  # a trip loads more weights than texels: VideoCore spills
            return 1
    plain = taps == 1 and group.node.choice.weights != "ubo"
    whole = depth > INNER_TRIPS and depth % INNER_TRIPS == 0
    return INNER_TRIPS if plain and whole and planes * pixels <= most else 1


def _input_planes(
    shader: ShaderBuilder, blocks: WeightBlocks, group: Group, inner_trips: int
) -> Int:
    """Return the end of the loop over input planes: their number.

    It is a uniform where compilers would otherwise unroll the whole loop into code that is long or
    spills.
    """
    taps, depth, planes, width, _ = blocks.shape
    draws = not group.in_compute and shader.target.shares_programs
    pixel = all(map(is_one, group.node.result.shape[2:]))
    unrolled = MOST_ROWS < depth * planes * width <= LONGEST_ROWS
    # Compilers move the loads of one plane out of a loop over it; Intel's then spills those of
    # several taps.
    loops = depth > 1 or taps == 1
    if draws and pixel and unrolled and loops and group.node.choice.weights == "ubo":
        return shader.uniform("planes_in", depth)
    if draws and inner_trips > 1 and depth * width in SPILLING:
        return shader.uniform("planes_in", depth)
    return 1 if depth == 1 else shader.size("planes_in", depth)


def _kernel_size(
    shader: ShaderBuilder,
    blocks: WeightBlocks,
    group: Group,
    input_planes: Int,
    height: int,
    width: int,
) -> tuple[Int, Int]:
    """Return the trip counts of the loops over taps.

    In depthwise draws they are sizes: layers of several kernel sizes then share a program. In
    other draws, the inner one is a uniform if compilers would unroll it and the loop over input
    planes, and spill.
    """
    if group.in_compute:
        return height, width
    if blocks.diagonal:
        return shader.size("kernel_height", height), shader.size("kernel_width", width)
    depth, taps = known(input_planes) or 1, width if width > 1 else height
    _, _, planes, lanes, _ = blocks.shape
    products = taps * depth * planes * lanes * len(group.pixels)
    unrolled = FEW_PRODUCTS < products <= LOOPS_UNROLLED[group.draws_blocks]
    if taps == 1 or depth == 1 or not unrolled or not shader.target.shares_programs:
        return height, width
    if width == 1:
        return shader.uniform("kernel_height", height), width
    return height, shader.uniform("kernel_width", width)


def _first_row(group: Group, taps: Int, per_tap: Expression, positions: int) -> Expression:
    """Return the first row of an invocation's weights, of ``taps`` for each plane."""
    if not group.by_plane:
        return integer(0)
    first = PLANE // len(group.planes) * taps
    return (first + PIXEL.y % positions if positions > 1 else first) * per_tap


@dataclass(frozen=True)
class _Step:
    """The body of the innermost loop: loads, and products with the next rows of weights.

    ``once``: no loop is written, so :data:`ROW` need not advance. ``apart``: from
    :func:`rows_apart`; if it is a number, ``load`` takes a plane's first row, too.
    """

    body: Body
    shader: ShaderBuilder
    conv: Conv
    blocks: WeightBlocks
    group: Group
    load: Function
    per_tap: Expression
    sums: Sums
    names: list[str]
    apart: Int | None
    once: bool

    def write(self, at: Callable[[int, int], Expression], i: Expression, taps: int) -> None:
        """Write the step of input plane ``i``, and advance :data:`ROW` over its weights.

        Args:
            at: returns the position that is so many columns and rows after the first tap.
            i: the input plane, of those that an invocation reads.
            taps: how many taps of a row are unrolled: 1 or all.
        """
        body, blocks, conv, group = self.body, self.blocks, self.conv, self.group
        _, _, planes, width, _ = blocks.shape
        shared = len(set(blocks.first)) == 1
        (stride_y, stride_x), dilation = conv.strides, conv.dilations[1]
        loaded: dict[str, Variable] = {}

        def load(x: int, y: int, plane: Int) -> Variable:
            """Load the pixel (x, y) away from the first tap."""
            alone = len(group.pixels) * taps == 1
            name = "texel" if alone else f"texel_x{x}" + f"_y{y}" * (group.node.choice.block[1] > 1)
            place = [at(x, y), i + plane]
            if self.apart is not None:
                place.append(INPUT_ROW + integer(plane) * self.apart)
            value = self.load(*place)
            if name in loaded:
                body.assign(loaded[name], value)
            else:
                loaded[name] = body.let(name, value)
            return loaded[name]

        for plane in range(1 if shared else planes):
            start = group.input_plane(plane, blocks)
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
                            Variable(self.names[out] + end, VEC4),
                            texels[x * stride_x + tap * dilation, y * stride_y],
                        )
                        for x, y, end in group.pixels
                    ]
                    row = (ROW + tap * self.per_tap if tap else ROW) + out * width
                    multiply(body, self.shader, row, width, pixels, self.sums, blocks.diagonal)
        if not self.once:
            body.add(ROW, planes * width)


def multiply(
    body: Body,
    shader: ShaderBuilder,
    row: Expression,
    width: int,
    pixels: list[tuple[Variable, Variable]],
    sums: Sums,
    diagonal: bool = False,
) -> None:
    """Add one weight block times a loaded vector to each accumulator.

    Args:
        body: where to.
        shader: with the functions that read weights.
        row: the block's first row of weights.
        width: its rows.
        pixels: accumulators and the vectors they take.
        sums: of the accumulators.
        diagonal: depthwise: its only row multiplies lane by lane.
    """
    full = width == LANES
    with body.scope():
        if shader.by_column:
            rows = (shader.weight(row + n) for n in range(width))
            for n, column in enumerate(shader.weight_columns(body, row) if full else rows):
                w = body.let(f"w{n}" if width > 1 else "w", column)
                for a, v in pixels:
                    sums.add(a, (w, v if diagonal else v.lanes(LANE[n])))
        elif full or diagonal:
            block = shader.weight_block(row) if full else shader.weight(row)
            read_once = len(pixels) == 1 and shader.target.products == "matrix"
            factor = block if read_once else body.let("w", block)
            for a, v in pixels:
                sums.add(a, (factor, v))
        else:
            columns = [body.let(f"w{n}", shader.weight(row + n)) for n in range(width)]
            for a, v in pixels:
                sums.add(a, *((w, v.lanes(LANE[n])) for n, w in enumerate(columns)))
