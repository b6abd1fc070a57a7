"""The transforms of Winograd's minimal filtering: an invocation is a patch of one plane.

A loop adds up its rows: written out, the loads alone would take drivers a second to compile. What
an invocation computes is a block of the result: one or two lines of a transformed patch, whose
positions lie below each other, or lines of a tile of pixels. Rows of a patch are added up as they
are and the sums transformed, so that few values are alive. Rows of products are transformed first,
as that leaves fewer sums.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.types import LANES
from ...passes.kernel_ops import StripPatches, WinogradPatches, WinogradResult, parts
from ...passes.kernel_ops.winograd import FAR, NEAR, of_patch, of_result
from ...passes.placement.halos import holds_padding
from ...passes.placement.kinds import precision
from ...records import replace
from ..shader.builder import ShaderBuilder
from ..shader.constructors import any_of, filled, integer, intrinsic, ivec2, vec4
from ..shader.expressions import Conditional, Number, Variable, known
from ..shader.program import Array
from ..shader.statements import Body
from ..shader.types import FLOAT, VEC4
from .input_loader import CORNER, less_padding, loader, pads_with_zeros
from .plane_groups import PIXEL, PLANE, groups, lower_groups, plus
from .store import finish, stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from ...ir.graph import Node, Value
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.expressions import Expression, Int
    from .input_loader import Beside
    from .plane_groups import Group

    Row = tuple[list[Expression], Expression | None]  # terms; whether the row counts, None if so

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

    whole = isinstance(p.kernel, WinogradPatches)  # its map is of whole patches
    yield from lower_groups((replace(g, whole_rows=whole) for g in groups(node)), write)


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
    near, far = NEAR**2, FAR**2
    if (kind, tile) == ("patches", 4):
        p, q = let("p", f - far * c), let("q", e - far * b)
        r, s = let("r", f - near * c), let("s", e - near * b)
        first = (near * far) * a - (near + far) * c + f
        last = (near * far) * b - (near + far) * e + g
        both = [p + NEAR * q, p - NEAR * q, r + FAR * s, r - FAR * s]
        return [first, *both, last]
    if (kind, tile) == ("result", 4):
        p, q, r, s = let("p", b + c), let("q", b - c), let("r", e + f), let("s", e - f)
        return [
            a + p + r,
            NEAR * q + FAR * s,
            near * p + far * r,
            NEAR**3 * q + FAR**3 * s + g,
        ]
    raise InternalError(f"no transform of {kind} for {tile}x{tile} tiles")


class Window:
    """The elements of patches that an invocation loads.

    Padding with zeros is tested once for each row and column: what is loaded in its place, the
    nearest element, is multiplied by 0, and sums of columns outside the map are set to 0.

    Args:
        shader: declares the sizes.
        body: has ``corner``; where columns are written.
        node: cuts patches.
        group: what an invocation computes.
        x: the input.
        columns: which of a patch are loaded.
        plane: of the input.
    """

    def __init__(
        self,
        shader: ShaderBuilder,
        body: Body,
        node: Node,
        group: Group,
        x: Value,
        columns: Sequence[int],
        plane: Int,
    ) -> None:
        op = parts(node).kernel
        assert isinstance(op, (WinogradPatches, StripPatches))
        top, left, bottom, right = op.pads
        self._body, self._plane, self._columns = body, plane, columns
        self._near: dict[int, Expression] = {}
        conv, last = op.conv, None
        _, _, height, width = conv.seen(x.type).shape
        if op.pad_mode == "constant":
            conv = replace(conv, pads=(top, left, 1, 1))  # the last patches reach beyond the map
        else:
            last = (
                shader.size("last_column", width + right - 1),
                shader.size("last_row", height + bottom - 1),
            )
        tested = pads_with_zeros(shader, conv, x, group) and not holds_padding(x, parts(node))
        beside: Beside = "nothing" if tested else "padding"
        self._load = loader(shader, conv, parts(node), x, group, last, beside)
        if tested:
            self._last_row = integer(shader.size("height_in", height)) - 1
            edge = integer(shader.size("width_in", width)) - 1
            body.comment("In place of columns outside the map, load the nearest.")
            for n in columns:
                at = intrinsic("min", CORNER.x + n, edge)
                if not isinstance(left, int) or n < left:
                    at = intrinsic("max", at, 0)
                self._near[n] = body.let(f"x{n}", at)

    def row(self, y: Expression) -> Row:
        """Load row y of the patch."""
        body, load = self._body, self._load
        if not self._near:
            places = [CORNER + ivec2(n, y) for n in self._columns]
            inside = None
        else:
            at = body.let("y", CORNER.y + y)
            near = body.let("nearest_y", intrinsic("clamp", at, 0, self._last_row))
            places = [ivec2(x, near) for x in self._near.values()]
            inside = near.equals(at)
        pairs = zip(self._columns, places, strict=True)
        return [body.let(f"d{n}", load(place, integer(self._plane))) for n, place in pairs], inside

    def inside(self, sums: Sequence[Expression]) -> list[Expression]:
        """Return the sums of the columns, 0 where these are outside the map."""
        if not self._near:
            return list(sums)
        pairs = zip(self._near.items(), sums, strict=True)
        return [Conditional(x.equals(CORNER.x + n), total, vec4(0.0)) for (n, x), total in pairs]


def _patches(
    shader: ShaderBuilder, node: Node, group: Group, op: WinogradPatches, x: Value
) -> GpuPass:
    k = op.patch
    number: Expression = PIXEL.y // (k * k) * shader.size("columns", op.columns) + PIXEL.x
    across = shader.size("tiles_across", op.tiles(x.type)[1])
    body = Body()
    body.comment("The number of the tile, and its first pixel.")
    number = body.let("tile", number)
    corner = ivec2(number % across, number // across) * op.tile
    body.let(CORNER.name, less_padding(shader, corner, op.pads))
    height = group.node.choice.block[1] // k  # lines of the transformed patch
    window = Window(shader, body, node, group, x, range(k), PLANE)
    matrix, line = of_patch(op.tile), integer(0)
    row: Callable[[Expression], Expression] | None = None
    if height == 1:
        matrix, line, row = one_line(body, matrix, PIXEL.y // k % k)
    elif height < k:
        line = PIXEL.y // (height * k) % (k // height) * height

    def terms(i: Expression) -> Row:
        body.comment("d: a row of the patch. Add d, times a factor, to each row of sums.")
        return window.row(i if row is None else row(i))

    lines = _lines(group, k)
    names = [[f"s{number}{j}" for j in range(k)] for number in range(height)]
    rows = shader.size("patch_rows", matrix.shape[1])
    found = sum_rows(shader, body, names, terms, matrix, line, rows)
    for n, (sums, results) in enumerate(zip(found, lines, strict=True)):
        inside = [body.let(f"t{n}{j}", total) for j, total in enumerate(window.inside(sums))]
        values = transformed("patches", op.tile, inside, partial(let_of_line, body, str(n)))
        for name, value in zip(results, values, strict=True):
            body.let(name, value)
    return _finish(
        shader, node, group, "patches", op.tile, body, [Variable(group.results[0], VEC4)]
    )


def patch_rows(k: int, block: tuple[int, int]) -> int:
    """Return how many rows of a patch of k x k elements a block of its transform adds up."""
    return k if block[1] > k else k - 2


def one_line(
    body: Body, matrix: NDArray[np.float64], number: Expression
) -> tuple[NDArray[np.float64], Expression, Callable[[Expression], Expression]]:
    """Return what line ``number`` of a transformed patch, all that is computed, adds up.

    Returns:
        The factors that are not zero, and zeros where a line has fewer than others; the line's
        number; and the row of the patch that the i-th factor is for.
    """
    needed = [np.flatnonzero(factors) for factors in matrix]
    count = max(map(len, needed))
    last = len(matrix) - 1
    kept = np.zeros((last + 1, count))
    for own, factors, rows in zip(kept, matrix, needed, strict=True):
        own[: len(rows)] = factors[rows]
    line = body.let("patch_line", number)
    first = body.let("first_row", intrinsic("min", line, 1))
    ends = any_of([line.equals(0), line.equals(last)])
    step = body.let("row_step", Conditional(ends, integer(2), integer(1)))

    def row(i: Expression) -> Expression:
        at = first + i * step  # 0, 2, 4, or 1, 2, 3, 4, or 1, 3, 5 of six rows
        return at if all(len(rows) == count for rows in needed) else intrinsic("min", at, last)

    return kept, line, row


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

    def terms(i: Expression) -> Row:
        body.comment("d: a row of the patch; t: d transformed. Add t, times a factor, to each sum.")
        places = (corner + ivec2(0, i * k + j) for j in range(k))
        d = [body.let(f"d{j}", texture.fetch(at, layer)) for j, at in enumerate(places)]
        line = transformed("result", m, d, body.let)
        return [body.let(f"t{j}", value) for j, value in enumerate(line)], None

    lines = _lines(group, m)
    line = PIXEL.y % m if len(lines) < m else integer(0)
    sum_rows(shader, body, lines, terms, of_result(m), line, shader.size("patch_rows", k))
    values = stores(shader, node, group, [Variable(group.results[0], VEC4)])
    return _finish(shader, node, group, "result", m, body, values)


def sum_rows(
    shader: ShaderBuilder,
    body: Body,
    names: list[list[str]],
    terms: Callable[[Expression], Row],
    matrix: NDArray[np.float64],
    line: Int,
    end: Expression,
) -> list[list[Variable]]:
    """Add up rows of a patch, each times the factors of the lines that an invocation computes.

    Args:
        shader: where the factors are declared.
        body: where to.
        names: of the sums of each line.
        terms: writes the terms of row i; returns these and the condition under which they count,
            None for always.
        matrix: the factors by line and row.
        line: the number of the first line, a multiple of the number of lines that are computed.
        end: the number of rows.

    Returns:
        The sums.
    """
    count = len(names)
    factors = (_listed if known(line) is not None else _in_turn)(shader, body, matrix, line, count)
    sums = [[body.let(name, filled(0.0, VEC4)) for name in line] for line in names]
    with body.loop(PATCH_ROW, end) as i:
        row, counts = terms(i)
        for number, (value, line_of_sums) in enumerate(zip(factors(i), sums, strict=True)):
            if counts is not None:
                value = Conditional(counts, value, Number(0.0, FLOAT))
            factor = body.let(f"factor{number}", value)
            for total, term in zip(line_of_sums, row, strict=True):
                body.add_products(total, (factor, term))
    return sums


def _listed(
    shader: ShaderBuilder, body: Body, matrix: NDArray[np.float64], line: Int, count: int
) -> Callable[[Expression], Iterator[Expression]]:
    """Return what gives the factors of each line at row i, from an array."""
    values = tuple(Number(float(v), FLOAT) for v in matrix.reshape(-1))
    factors = Array("factors", FLOAT, len(values), values)
    shader.arrays.append(factors)
    size = matrix.shape[1]

    def of_row(i: Expression) -> Iterator[Expression]:
        for n in range(count):
            yield factors[(line + n) * size + i]

    return of_row


def _in_turn(
    shader: ShaderBuilder, body: Body, matrix: NDArray[np.float64], line: Int, count: int
) -> Callable[[Expression], Iterator[Expression]]:
    """Return what gives the factors of each line at the next row, which move up in vectors.

    GPUs hold arrays whose index varies in memory, and Mali's wait for it.
    """
    line = body.let("line", integer(line))
    held = []
    for n in range(count):
        vectors = []
        for start in range(0, matrix.shape[1], LANES):
            part = matrix[:, start : start + LANES]
            rows = np.pad(part, ((0, 0), (0, LANES - part.shape[1])))
            *others, last = range(n, len(rows), count)
            value = vec4(*map(float, rows[last]))
            for own in reversed(others):
                value = Conditional(line.equals(own - n), vec4(*map(float, rows[own])), value)
            vectors.append(body.let(f"factors{n}_{start}", value))
        held.append(vectors)

    def of_row(i: Expression) -> Iterator[Expression]:
        body.comment("Move the next factor to the front: Mali is slow with variable array indices.")
        for vectors in held:
            yield vectors[0].x
            for vector, following in zip(vectors, [*vectors[1:], vectors[0]], strict=True):
                body.assign(vector, vec4(vector.lanes("yzw"), following.x))

    return of_row


def let_of_line(body: Body, end: str, name: str, value: Expression) -> Variable:
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
    return finish(shader, node, group, f"winograd {which} transform", what, body, values)
