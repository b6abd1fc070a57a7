"""The transforms of Winograd's minimal filtering: an invocation is a patch of one plane.

A loop adds up its rows: written out, the loads alone would take drivers a second to compile. What
an invocation computes is a block of the result: one or two lines of a transformed patch, whose
positions lie below each other, or lines of a tile of pixels. Rows of a patch are added up as they
are and the sums transformed, so that few values are alive. Rows of products are transformed first,
as that leaves fewer sums.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...passes.kernel_ops import WinogradPatches, WinogradResult, parts
from ...passes.kernel_ops.winograd import of_patch, of_result
from ...passes.placement.kinds import precision
from ..shader.builder import ShaderBuilder
from ..shader.expressions import (
    Choice,
    Number,
    Variable,
    any_of,
    filled,
    integer,
    intrinsic,
    ivec2,
    known,
)
from ..shader.program import Array
from ..shader.statements import Body
from ..shader.types import FLOAT, VEC4
from .input_loader import CORNER, less_padding, loader
from .plane_groups import PIXEL, PLANE, groups, lower_groups, plus
from .store import finish, stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from ...ir.graph import Node, Value
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.expressions import Expression
    from .plane_groups import Group

PATCH_ROW = "patch_row"  # the counter of the loop over the rows of a patch


def lower_transform(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower WinogradPatches, whose loads may have a prologue, or a WinogradResult, an epilogue."""
    p = parts(node)
    (x,) = p.operands

    def write(group: Group) -> GpuPass:
        shader = ShaderBuilder(target, precision(node), "compute")
        if isinstance(p.kernel, WinogradPatches):
            return _patches(shader, node, group, p.kernel, x)
        assert isinstance(p.kernel, WinogradResult)
        return _result(shader, node, group, p.kernel, x)

    yield from lower_groups(groups(node), write)


def transformed(
    kind: str, tile: int, d: Sequence[Expression], let: Callable[[str, Expression], Expression]
) -> list[Expression]:
    """Transform one axis of a line of a patch (``kernel_ops.winograd``).

    Args:
        kind: "patches", before the products, or "result", after them.
        tile: pixels of a tile along an axis, 2 or 4.
        d: the elements of the line.
        let: names an intermediate value.
    """
    if (kind, tile) == ("patches", 2):
        a, b, c, e = d
        return [a - c, b + c, c - b, b - e]
    if (kind, tile) == ("result", 2):
        a, b, c, e = d
        return [a + b + c, b - c - e]
    a, b, c, e, f, g = d
    if (kind, tile) == ("patches", 4):
        p, q = let("p", f - 4.0 * c), let("q", e - 4.0 * b)
        r, s = let("r", f - c), let("s", 2.0 * (e - b))
        first, last = 4.0 * (a - c) - c + f, 4.0 * (b - e) - e + g
        return [first, p + q, p - q, r + s, r - s, last]
    if (kind, tile) == ("result", 4):
        p, q, r, s = let("p", b + c), let("q", b - c), let("r", e + f), let("s", e - f)
        return [a + p + r, q + 2.0 * s, p + 4.0 * r, q + 8.0 * s + g]
    raise InternalError(f"no transform of {kind} for {tile}x{tile} tiles")


def _patches(
    shader: ShaderBuilder, node: Node, group: Group, op: WinogradPatches, x: Value
) -> GpuPass:
    top, left, bottom, right = op.pads
    conv, last = op.conv, None
    if op.pad_mode == "constant":
        conv = replace(conv, pads=(top, left, 1, 1))  # the last patches reach beyond what is needed
    else:
        _, _, height, width = conv.seen(x.type).shape
        last = (
            shader.size("last_column", width + right - 1),
            shader.size("last_row", height + bottom - 1),
        )
    k = op.patch
    number: Expression = PIXEL.y // (k * k) * shader.size("columns", op.columns) + PIXEL.x
    across = shader.size("tiles_across", op.tiles(x.type)[1])
    body = Body()
    body.comment("The number of the tile, and its first pixel.")
    number = body.let("tile", number)
    corner = ivec2(number % across, number // across) * op.tile
    body.let(CORNER.name, less_padding(shader, corner, op.pads))
    height = group.node.choice.block[1] // k  # lines of the transformed patch
    load = loader(shader, conv, parts(node), x, group, last)
    matrix, first = of_patch(op.tile), integer(0)
    row: Callable[[Expression], Expression] | None = None
    if height == 1:
        matrix, first, row = _one_line(body, matrix, k)
    elif height < k:
        first = PIXEL.y // (height * k) % (k // height) * (height * k)

    def terms(i: Expression) -> list[Expression]:
        body.comment("d: a row of the patch, added to each line of sums with a factor of its own.")
        y = i if row is None else body.let("row", row(i))
        return [body.let(f"d{j}", load(CORNER + ivec2(j, y), PLANE)) for j in range(k)]

    lines = _lines(group, k)
    names = [[f"s{number}{j}" for j in range(k)] for number in range(height)]
    found = _sum_rows(shader, body, names, terms, matrix, first)
    for n, (sums, results) in enumerate(zip(found, lines, strict=True)):
        line = transformed("patches", op.tile, sums, partial(_let, body, str(n)))
        for name, value in zip(results, line, strict=True):
            body.let(name, value)
    return _finish(
        shader, node, group, "patches", op.tile, body, [Variable(group.results[0], VEC4)]
    )


def patch_rows(k: int, block: tuple[int, int]) -> int:
    """Return how many rows of a patch of k x k elements a block of its transform adds up."""
    return k if block[1] > k else k - 2


def _one_line(
    body: Body, matrix: NDArray[np.float64], k: int
) -> tuple[NDArray[np.float64], Expression, Callable[[Expression], Expression]]:
    """Return what the one line of a transformed patch that an invocation computes adds up.

    Returns:
        The factors that are not zero, and zeros where a line has fewer than others; the place of
        the line's first factor; and the row of the patch that the i-th factor is for.
    """
    needed = [np.flatnonzero(factors) for factors in matrix]
    count = max(map(len, needed))
    kept = np.zeros((k, count))
    for own, factors, rows in zip(kept, matrix, needed, strict=True):
        own[: len(rows)] = factors[rows]
    line = body.let("line", PIXEL.y // k % k)
    first = body.let("first_row", intrinsic("min", line, 1))
    ends = any_of([line.equals(0), line.equals(k - 1)])
    step = body.let("row_step", Choice(ends, integer(2), integer(1)))

    def row(i: Expression) -> Expression:
        at = first + i * step  # 0, 2, 4, or 1, 2, 3, 4, or 1, 3, 5 of six rows
        return at if all(len(rows) == count for rows in needed) else intrinsic("min", at, k - 1)

    return kept, line * count, row


def _result(
    shader: ShaderBuilder, node: Node, group: Group, op: WinogradResult, x: Value
) -> GpuPass:
    k, m = op.patch, op.tile
    texture = shader.texture(x, "x", group.batch)
    layer = plus(PLANE, group.first_layer(x.type))
    columns = shader.size("columns", x.shape[3])
    number: Expression = PIXEL.y // m * shader.size("tiles_across", op.across) + PIXEL.x // m
    body = Body()
    body.comment("The number of the tile, and the first element of its patch.")
    number = body.let("tile", number)
    corner = body.let(CORNER.name, ivec2(number % columns, number // columns * (k * k)))

    def terms(i: Expression) -> list[Expression]:
        body.comment(
            "d: a row of the patch; t: the transformed row, added to each sum with a factor of its "
            "own."
        )
        places = (corner + ivec2(0, i * k + j) for j in range(k))
        d = [body.let(f"d{j}", texture.fetch(at, layer)) for j, at in enumerate(places)]
        line = transformed("result", m, d, body.let)
        return [body.let(f"t{j}", value) for j, value in enumerate(line)]

    lines = _lines(group, m)
    first = PIXEL.y % m * k if len(lines) < m else integer(0)
    _sum_rows(shader, body, lines, terms, of_result(m), first)
    values = stores(shader, node, group, [Variable(group.results[0], VEC4)])
    return _finish(shader, node, group, "result", m, body, values)


def _sum_rows(
    shader: ShaderBuilder,
    body: Body,
    names: list[list[str]],
    terms: Callable[[Expression], list[Expression]],
    matrix: NDArray[np.float64],
    first: Expression,
) -> list[list[Variable]]:
    """Add up rows of a patch, each times the factors of the lines that an invocation computes.

    Args:
        shader: where the factors are declared.
        body: where to.
        names: of the sums of each line.
        terms: writes what row i gives for the sums of a line.
        matrix: the factors by line and row.
        first: the place of the first line's first factor.

    Returns:
        The sums.
    """
    values = tuple(Number(float(v), FLOAT) for v in matrix.reshape(-1))
    factors = Array("factors", FLOAT, len(values), values)
    shader.arrays.append(factors)
    size = matrix.shape[1]
    start = first if known(first) is not None else body.let("first_factor", first)
    sums = [[body.let(name, filled(0.0, VEC4)) for name in line] for line in names]
    with body.loop(PATCH_ROW, shader.size("patch_rows", size)) as i:
        row = terms(i)
        for number, line in enumerate(sums):
            factor = body.let(f"factor{number}", factors[start + (number * size) + i])
            for total, term in zip(line, row, strict=True):
                body.add_products(total, (factor, term))
    return sums


def _let(body: Body, end: str, name: str, value: Expression) -> Variable:
    """Declare a variable whose name ends like those of its line."""
    return body.let(f"{name}{end}", value)


def _lines(group: Group, width: int) -> list[list[str]]:
    """Return the names of a block's accumulators, line by line of so many."""
    names = [group.results[0] + end for *_, end in group.pixels]
    return [names[i : i + width] for i in range(0, len(names), width)]


def _finish(
    shader: ShaderBuilder,
    node: Node,
    group: Group,
    kind: str,
    tile: int,
    body: Body,
    values: Sequence[Expression],
) -> GpuPass:
    which = "input" if kind == "patches" else "output"
    what = f"Winograd {which} transform, {tile}x{tile} tiles"
    return finish(shader, node, group, "winograd", what, body, values)
