"""A 3x3 convolution by minimal filtering along rows in one pass: an invocation is two pixels.

F(2, 3) takes 12 products for two pixels and each pair of channels, direct convolution 18. Tiles of
2x2 pixels take 8 a pair, but keep 16 sums for each result channel: Mali, Intel and VideoCore have
no registers for these. Tiles of a row keep 4.

Used only in compute passes of user shaders (``Target.dispatches_draws``), which store both pixels
side by side. Weights are constants.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.graph import Constant
from ...passes.kernel_ops import WinogradRow, parts
from ...passes.kernel_ops.winograd import TAPS, bias_shares, of_patch
from ..shader.builder import ShaderBuilder
from ..shader.constructors import integer, offset
from ..shader.expressions import Variable, walk
from ..shader.program import Function
from ..shader.statements import Body
from ..shader.types import VEC4
from .convolution import first_sums
from .convolution_unrolled import products
from .image_stores import named_planes, shuffled
from .input_loader import CORNER, less_padding, loader
from .plane_groups import PIXEL, groups, lower_groups
from .store import finish, stores
from .sums import Sums
from .weight_blocks import cut_weights
from .winograd_tiles import combined, share_of
from .winograd_transforms import transformed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...ir.graph import Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.expressions import Expression
    from .plane_groups import Group


def lower_rows(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower WinogradRow, fused or not."""
    yield from lower_groups(groups(node), lambda group: _draw(group, target))


def _draw(group: Group, target: Target) -> GpuPass:
    node = group.node
    p = parts(node)
    op, (x, w, *bias) = p.kernel, p.operands
    assert isinstance(op, WinogradRow)
    if not isinstance(w, Constant) or node.choice.weights != "constants":
        raise InternalError(f"{node.name}: Winograd along rows needs constant weights")
    m, k = op.tile, op.patch
    shader = ShaderBuilder(target, "highp")
    shape = op.packed_shape(w.shape)
    columns = op.packed(cut_weights(w.data, 1, group.planes))
    body = Body()
    body.comment("corner: the first pixel of the patch; m: the sums at the positions of a row.")
    body.let(CORNER.name, less_padding(shader, PIXEL, op.pads))
    load = loader(shader, op, p, x, group)
    starts = first_sums(bias, group, shader)
    sums = Sums(body, shader, node)
    totals: dict[tuple[int, int], Variable] = {}
    for out, start in enumerate(starts):
        for j, share in enumerate(bias_shares(m)):
            first = share_of(start, share)
            (totals[out, j],) = sums.declare([f"m{j}_{out}"], first)
    for plane, row in product(range(columns.shape[1]), range(TAPS)):
        body.comment(f"row {row}, input plane {plane}")
        loaded: dict[int, Expression] = {}
        for j, factors in enumerate(of_patch(m)):
            for n in map(int, np.flatnonzero(factors)):
                if n not in loaded:  # when it is needed first: few texels are alive at once
                    texel = load(offset(CORNER, n, row), integer(plane))
                    loaded[n] = body.let(f"d{plane}_{row}{n}", texel)
            v = body.let(f"v{plane}_{row}{j}", combined(factors, loaded))
            for out in range(len(starts)):
                for term in products(columns[row * k + j, plane, out], v):
                    sums.add(totals[out, j], term)
    body.comment("the pixels of the tile")
    for out, name in enumerate(group.results):
        values = transformed("result", m, [totals[out, j] for j in range(k)], body.let)
        for (*_, end), value in zip(group.pixels, values, strict=True):
            body.let(name + end, value)
    _, _, height, width = node.result.shape
    return finish(
        shader,
        node,
        group,
        "winograd convolution",
        f"convolution 3x3, {shape[1]} to {shape[0]} channels, by Winograd in tiles of 1x{m}",
        body,
        [value for pixel in group.pixels for value in _targets(body, shader, group, *pixel)],
        macs=group.channels * shape[1] * TAPS * k * height * -(-width // m),
        weights="constants",
    )


def _targets(
    body: Body, shader: ShaderBuilder, group: Group, column: int, row: int, end: str
) -> Sequence[Expression]:
    """Return what a pixel of the block writes to its render targets.

    An epilogue that reads other maps becomes a function of the pixel.
    """
    sums = [Variable(name + end, VEC4) for name in group.results]
    values = []
    for k, (value, y) in enumerate(zip(stores(shader, group.node, group, sums), sums, strict=True)):
        if any(e == PIXEL for e in walk(value)):
            at = Body()
            at.give(value)
            finished = Function(f"finished{end}_p{k}", (PIXEL, y), VEC4, at.statements)
            value = finished(offset(PIXEL, column, row), y)
        values.append(value)
    if group.written is group.node:
        return values
    alone = group.written.result.type.channels == 1
    return [texel for *_, texel in shuffled(group, named_planes(body, values, end), alone)]
