"""A 3x3 convolution by Winograd's minimal filtering in one draw: an invocation is a tile.

A render target takes one pixel of each tile, so what is written is a map for each pixel; weights
are constants, as each is used once. There are two orders of the same sums:

- By position of a patch, with the transformed patches of all input planes at hand: each sum of
  products is added at once to the pixels of the tile that it is part of.
- By input plane, with the sums of all positions at hand, where the patches of all planes would take
  more registers than the device has: the sums are transformed at the end.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.graph import Constant
from ...ir.types import LANES
from ...passes.kernel_ops import WinogradTiles, parts
from ...passes.kernel_ops.winograd import of_result
from ...passes.placement.kinds import entries_share_a_program
from ..shader.builder import ShaderBuilder
from ..shader.expressions import Variable, integer, offset
from ..shader.program import Function
from ..shader.statements import Body
from ..shader.types import IVEC2, VEC4
from .convolution import first_sums
from .convolution_unrolled import products
from .input_loader import CORNER, less_padding, loader
from .plane_groups import PIXEL, PLANE, BlockGroup, lower_groups
from .store import finish
from .sums import Sums
from .weight_blocks import cut_weights
from .winograd_compute import transformed
from .winograd_sums import sum_by_plane

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass


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
        return _lower(node, group, op, ShaderBuilder(target, "highp"))

    yield from lower_groups(passes(), lowered)


def _lower(node: Node, group: BlockGroup, op: WinogradTiles, shader: ShaderBuilder) -> GpuPass:
    p = parts(node)
    x, w, *bias = p.operands
    if not isinstance(w, Constant) or node.choice.weights != "constants":
        raise InternalError(f"{node.name}: Winograd in fragment shaders needs constant weights")
    m, k = op.tile, op.patch
    shape = op.packed_shape(w.shape)
    columns = cut_weights(op.packed(w.data), 1, group.planes)
    starts = first_sums(bias, op, group, shader)
    _, _, height, width = node.result.shape
    pixels = list(product(range(m), repeat=2))
    body = Body()
    tile = f"a tile of {m}x{m} pixels of the map"
    body.comment(f"This pixel computes {tile}; y: the sums of the tile.")
    body.let(CORNER.name, less_padding(shader, PIXEL * m, op.pads))
    load = loader(shader, op, p, x, group)
    sums = Sums(body, shader, node)
    if _exceeds_registers(columns.shape[1], len(starts), op, shader.target):
        results = sum_by_plane(body, columns, load, starts, sums, op)
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
        "winograd",
        f"convolution 3x3, {x.shape[1]} to {shape[0]} channels, by Winograd with {m}x{m} tiles",
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
