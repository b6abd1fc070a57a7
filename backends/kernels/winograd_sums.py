"""Sums of Winograd's products by input plane, for kernels that compute whole tiles.

An invocation holds the sums at all positions of a patch, and of the patches no more than two rows
of one input plane: fewer registers than the transformed patches of all planes would take.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...passes.kernel_ops.winograd import ONE, of_patch
from ..shader.expressions import integer, offset, vec4
from .convolution_unrolled import products
from .input_loader import CORNER
from .winograd_compute import transformed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...passes.kernel_ops import WinogradConv, WinogradTiles
    from ..shader.expressions import Expression, Variable
    from ..shader.program import Function
    from ..shader.statements import Body
    from .sums import Sums


def sum_by_plane(
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
        starts: the bias of each output plane, which all pixels take from the position ``ONE``.
        sums: declares accumulators.
        op: the tiles.

    Returns:
        The pixels of the tile by row, column and output plane.
    """
    m, k = op.tile, op.patch
    totals: dict[tuple[int, int, int], Variable] = {}
    for out, start in enumerate(starts):
        for i, j in product(range(k), repeat=2):
            first = start if (i, j) == (ONE, ONE) else vec4(0.0)
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
                body.let(f"d{plane}_{i}{j}", _combined(factors, {n: r[j] for n, r in rows.items()}))
                for j in range(k)
            ]
            let = partial(_let, body, f"{plane}_{i}")
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
        let = partial(_let, body, f"_{out}_{i}")
        line = transformed("result", m, [totals[i, j, out] for j in range(k)], let)
        half.append([body.let(f"s{i}{b}_{out}", value) for b, value in enumerate(line)])
    found = {}
    for b in range(m):
        let = partial(_let, body, f"_{out}_b{b}")
        for a, value in enumerate(transformed("result", m, [h[b] for h in half], let)):
            found[a, b] = value
    return found


def _let(body: Body, end: str, name: str, value: Expression) -> Variable:
    """Declare a variable whose name ends like those of its line."""
    return body.let(f"{name}{end}", value)


def _combined(factors: np.ndarray, values: dict[int, Expression]) -> Expression:
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
