"""A 3x3 convolution by Winograd's minimal filtering in one pass: an invocation is a tile.

Weights are constants, as each is used once. A draw writes one pixel of each tile to a render
target, so what is written is a map for each pixel; a dispatch stores the pixels side by side. There
are two orders of the same sums:

- By position of a patch, with the transformed patches of all input planes at hand: each sum of
  products is added at once to the pixels of the tile that it is part of.
- By input plane, with the sums of all positions at hand, where the patches of all planes would take
  more registers than the device has: the sums are transformed at the end.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.graph import Constant
from ...ir.types import LANES
from ...passes.kernel_ops import WinogradConv, WinogradTiles, parts
from ...passes.kernel_ops.winograd import bias_shares, of_patch, of_result
from ...passes.placement.kinds import entries_share_a_program
from ..shader.builder import ShaderBuilder
from ..shader.constructors import integer, offset, vec4
from ..shader.expressions import Variable
from ..shader.program import Function
from ..shader.statements import Body
from ..shader.types import IVEC2, VEC4
from .convolution import first_sums
from .convolution_unrolled import products
from .input_loader import CORNER, less_padding, loader
from .plane_groups import PIXEL, PLANE, BlockGroup, Group, lower_groups
from .store import finish, stores
from .sums import Sums
from .weight_blocks import cut_weights
from .winograd_transforms import let_of_line, transformed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...ir.graph import Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.expressions import Expression


def lower_tiles(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower WinogradTiles, whose loads may have a prologue."""
    t = node.result.type
    op = parts(node).kernel
    assert isinstance(op, WinogradTiles)
    pixels = op.tile**2
    planes, size = t.planes // pixels, node.choice.planes or 1
    every = entries_share_a_program(node)

    def passes() -> Iterator[BlockGroup]:
        for n, first in product(range(t.shape[0]), range(0, planes, size)):
            own = range(first, min(first + size, planes))
            yield BlockGroup(
                n, own, node, node, entries=every, apart=planes, pixels_of_block=pixels
            )

    def lowered(group: BlockGroup) -> GpuPass:
        return _draw(node, group, op, ShaderBuilder(target, "highp"))

    yield from lower_groups(passes(), lowered)


def _draw(node: Node, group: BlockGroup, op: WinogradTiles, shader: ShaderBuilder) -> GpuPass:
    p = parts(node)
    x, w, *bias = p.operands
    if not isinstance(w, Constant) or node.choice.weights != "constants":
        raise InternalError(f"{node.name}: Winograd in fragment shaders needs constant weights")
    m, k = op.tile, op.patch
    shape = op.packed_shape(w.shape)
    columns = op.packed(cut_weights(w.data, 1, group.planes))
    starts = first_sums(bias, group, shader)
    _, _, height, width = node.result.shape
    pixels = list(product(range(m), repeat=2))
    body = Body()
    tile = f"a tile of {m}x{m} pixels of the map"
    body.comment(f"This pixel computes {tile}; y: the sums of the tile.")
    body.let(CORNER.name, less_padding(shader, PIXEL * m, op.pads))
    load = loader(shader, op, p, x, group)
    sums = Sums(body, shader, node)
    if _exceeds_registers(columns.shape[1], len(starts), op, shader.target):
        results = _sum_by_plane(body, columns, load, starts, sums, op)
        for (a, b, i), value in results.items():
            body.let(f"y{a}{b}_{i}", value)
    else:
        patches = _patches(body, load, m, k, columns.shape[1])
        for i, start in enumerate(starts):
            sums.declare([f"y{a}{b}_{i}" for a, b in pixels], start)
        _multiply(body, columns, patches, m, k)
    return finish(
        shader,
        node,
        group,
        "winograd convolution",
        f"convolution 3x3, {shape[1]} to {shape[0]} channels, by Winograd with {m}x{m} tiles",
        body,
        [Variable(f"y{a}{b}_{i}", VEC4) for a, b in pixels for i in range(len(starts))],
        macs=group.channels * shape[1] * k * k * height * width,
        weights="constants",
    )


def _exceeds_registers(planes: int, results: int, op: WinogradTiles, target: Target) -> bool:
    """Whether sums are made by input plane: the patches of all planes exceed a GPU's registers.

    Args:
        planes: of the input.
        results: planes of the result that an invocation computes.
        op: the tiles.
        target: its costs tell the registers.
    """
    patch, tile = op.patch**2, op.tile**2
    patches, sums = patch * planes + tile * results, patch * (1 + results)
    least = min((costs.registers for costs in target.costs if costs.registers), default=0)
    return 0 < least < patches * LANES and sums < patches


def _patches(body: Body, load: Function, m: int, k: int, planes: int) -> list[list[list[Variable]]]:
    """Write the transformed patch of each input plane; return its elements by row and column."""
    line, row = _transforms(load, m, k)
    rows = [[body.declare(f"t{i}{j}", VEC4) for j in range(k)] for i in range(k)]
    patches = []
    for plane in range(planes):
        body.comment(f"the patch of input plane {plane}")
        for i in range(k):
            body.perform(row(offset(CORNER, 0, i), integer(plane), *rows[i]))
        columns = []
        for j in range(k):
            column = [body.declare(f"v{plane}_{i}{j}", VEC4) for i in range(k)]
            body.perform(line(*(rows[i][j] for i in range(k)), *column))
            columns.append(column)
        patches.append([[columns[j][i] for j in range(k)] for i in range(k)])
    return patches


def _transforms(load: Function, m: int, k: int) -> tuple[Function, Function]:
    """Return the functions that transform a line of a patch, and a row of it that they load."""
    given = [Variable(name, VEC4) for name in "abcdef"[:k]]
    results = [Variable(f"t{j}", VEC4) for j in range(k)]
    body = Body()
    for result, value in zip(results, transformed("patches", m, given, body.let), strict=True):
        body.assign(result, value)
    line = Function("transform", tuple(given), None, body.statements, tuple(results))
    p, body = Variable("p", IVEC2), Body()
    body.perform(line(*(load(offset(p, j, 0), PLANE) for j in range(k)), *results))
    return line, Function("transform_row", (p, PLANE), None, body.statements, tuple(results))


def _multiply(
    body: Body, columns: np.ndarray, patches: list[list[list[Variable]]], m: int, k: int
) -> None:
    """Multiply at each position of a patch, and add to the pixels of the tile it is part of.

    Args:
        body: where to.
        columns: weights by position, input plane, output plane, column and lane.
        patches: transformed patches of the input planes.
        m: pixels of a tile along an axis.
        k: elements of a patch along an axis.
    """
    result = of_result(m)
    total = body.declare("product", VEC4)
    for i, j in product(range(k), repeat=2):
        body.comment(f"position ({i}, {j})")
        shares = np.outer(result[:, i], result[:, j])
        for out in range(columns.shape[2]):
            terms = [
                term
                for plane, tile in enumerate(columns[i * k + j, :, out])
                for term in products(tile, patches[plane][i][j])
            ]
            if not terms:
                continue
            (weight, v), *others = terms
            body.assign(total, weight * v)
            for term in others:
                body.add_products(total, term)
            for a, b in np.argwhere(shares):
                share, y = float(shares[a, b]), Variable(f"y{a}{b}_{out}", VEC4)
                times = total if abs(share) == 1.0 else abs(share) * total
                body.add(y, times, -1 if share < 0 else 1)


def lower_tiles_in_place(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower WinogradConv, fused or not."""
    t, size = node.result.type, node.choice.planes or 1
    every = entries_share_a_program(node)

    def passes() -> Iterator[Group]:
        for n, first in product(range(t.shape[0]), range(0, t.planes, size)):
            own = range(first, min(first + size, t.planes))
            yield Group(n, own, node, node, entries=every)

    yield from lower_groups(passes(), lambda group: _dispatch(node, group, target))


def _dispatch(node: Node, group: Group, target: Target) -> GpuPass:
    p = parts(node)
    op, (x, w, *bias) = p.kernel, p.operands
    assert isinstance(op, WinogradConv)
    if not isinstance(w, Constant) or node.choice.weights != "constants":
        raise InternalError(f"{node.name}: Winograd in one dispatch needs constant weights")
    m, k = op.tile, op.patch
    shader = ShaderBuilder(target, "highp", "compute")
    shape = op.packed_shape(w.shape)
    columns = op.packed(cut_weights(w.data, 1, group.planes))
    body = Body()
    body.comment("corner: the first pixel of the patch; m: the sums at the positions of the patch.")
    body.let(CORNER.name, less_padding(shader, PIXEL, op.pads))
    load = loader(shader, op, p, x, group)
    starts = first_sums(bias, group, shader)
    found = _sum_by_plane(body, columns, load, starts, Sums(body, shader, node), op)
    for (i, j, end), (out, name) in product(group.pixels, enumerate(group.results)):
        body.let(name + end, found[j, i, out])
    _, _, height, width = node.result.shape
    tiles = -(-height // m) * -(-width // m)
    return finish(
        shader,
        node,
        group,
        "winograd convolution",
        f"convolution 3x3, {shape[1]} to {shape[0]} channels, in Winograd's tiles of {m}x{m}",
        body,
        stores(shader, node, group, [Variable(name, VEC4) for name in group.results]),
        macs=group.channels * shape[1] * k * k * tiles,
        weights="constants",
    )


def _sum_by_plane(
    body: Body,
    columns: np.ndarray,
    load: Function,
    starts: Sequence[Expression],
    sums: Sums,
    op: WinogradConv | WinogradTiles,
) -> dict[tuple[int, int, int], Expression]:
    """Add up the products at each position of a patch over the input planes; transform the sums.

    Args:
        body: where to.
        columns: weights by position, input plane, output plane, column and lane.
        load: gives a texel of the input.
        starts: the bias of each output plane.
        sums: declares accumulators.
        op: the tiles.

    Returns:
        The pixels of the tile by row, column and output plane.
    """
    m, k = op.tile, op.patch
    shares = bias_shares(m)
    totals: dict[tuple[int, int, int], Variable] = {}
    for out, start in enumerate(starts):
        for i, j in product(range(k), repeat=2):
            first = share_of(start, shares[i] * shares[j])
            (totals[i, j, out],) = sums.declare([f"m{i}{j}_{out}"], first)
    for plane in range(columns.shape[1]):
        body.comment(f"the patch of input plane {plane}")
        rows: dict[int, list[Expression]] = {}
        for i, factors in enumerate(of_patch(m)):
            for n in map(int, np.flatnonzero(factors)):
                if n not in rows:  # loaded when it is needed first: few rows are alive at once
                    places = [offset(CORNER, j, n) for j in range(k)]
                    rows[n] = [
                        body.let(f"x{plane}_{n}{j}", load(place, integer(plane)))
                        for j, place in enumerate(places)
                    ]
            down = [
                body.let(f"d{plane}_{i}{j}", combined(factors, {n: r[j] for n, r in rows.items()}))
                for j in range(k)
            ]
            let = partial(let_of_line, body, f"{plane}_{i}")
            for j, value in enumerate(transformed("patches", m, down, let)):
                v = body.let(f"v{plane}_{i}{j}", value)
                for out in range(len(starts)):
                    for term in products(columns[i * k + j, plane, out], v):
                        sums.add(totals[i, j, out], term)
    body.comment("the pixels of the tile")
    return {
        (a, b, out): value
        for out in range(len(starts))
        for (a, b), value in _tile(body, totals, out, m, k).items()
    }


def _tile(
    body: Body, totals: dict[tuple[int, int, int], Variable], out: int, m: int, k: int
) -> dict[tuple[int, int], Expression]:
    """Return the pixels of an output plane's tile, by row and column."""
    half = []
    for i in range(k):
        let = partial(let_of_line, body, f"_{out}_{i}")
        line = transformed("result", m, [totals[i, j, out] for j in range(k)], let)
        half.append([body.let(f"s{i}{b}_{out}", value) for b, value in enumerate(line)])
    found = {}
    for b in range(m):
        let = partial(let_of_line, body, f"_{out}_b{b}")
        for a, value in enumerate(transformed("result", m, [h[b] for h in half], let)):
            found[a, b] = value
    return found


def share_of(bias: Expression, share: float) -> Expression:
    """Return the share of a bias that the sums at a position begin with."""
    return vec4(0.0) if not share else bias if share == 1.0 else share * bias


def combined(factors: np.ndarray, values: dict[int, Expression]) -> Expression:
    """Return the sum of some values, each times its factor."""
    total: Expression | None = None
    for n in map(int, np.flatnonzero(factors)):
        factor, value = float(factors[n]), values[n]
        scaled = value if abs(factor) == 1.0 else abs(factor) * value
        if total is None:
            total = scaled if factor > 0 else -scaled
        else:
            total = total + scaled if factor > 0 else total - scaled
    assert total is not None
    return total
