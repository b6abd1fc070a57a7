"""A depthwise convolution and the 1x1 convolution after it in one kernel.

An invocation holds all result planes of its pixels. For each intermediate plane it runs the
depthwise convolution's loop and epilogue, then adds one product to every result plane; nothing
intermediate is stored. The depthwise weights come first, then, 4-row aligned, the 1x1 weights.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.expr import named
from ...ir.graph import Constant
from ...ir.ops import Conv
from ...ir.types import LANES
from ...passes.kernel_ops import halves, parts
from ..gpu import Blob
from ..shader.builder import ShaderBuilder
from ..shader.expressions import Variable
from ..shader.statements import Body
from ..shader.types import INT, VEC4
from .convolution import (
    CORNER,
    declare_sums,
    first_sums,
    first_tap,
    loader,
    looped,
    multiply,
    rows_of,
    weight_format,
)
from .plane_groups import PLANE, Group, groups, lower_groups
from .store import epilogue, finish, precision, stores, without_lanes
from .weight_blocks import plan_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass

FORMATS = ("rgba8", "rgba16f", "rgba32f")  # of weights: each holds what those before it hold


def lower_separable(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower a SeparableConv node, fused or not."""
    yield from lower_groups(groups(node), lambda group: _lower(node, group, target))


def _lower(node: Node, group: Group, target: Target) -> GpuPass:
    first, second = halves(node)
    p, q = parts(first), parts(second)
    conv, (x, w, *bias), (_, w2, *bias2) = p.kernel, p.operands, q.operands
    storage = node.choice.weights
    if not (isinstance(conv, Conv) and isinstance(w, Constant) and isinstance(w2, Constant)):
        raise InternalError(f"{node.name}: a separable convolution without constant weights")
    if storage is None or not group.in_compute or len(group.planes) != node.result.type.planes:
        raise InternalError(f"{node.name}: an invocation must compute all result planes")
    shader = ShaderBuilder(target, precision(node), "compute")
    between = first.result.type
    inner = Group(group.batch, range(1), first, first, shared=True, entries=group.entries)
    blocks = plan_blocks(w.shape, conv.groups, inner.planes)
    blocks2 = plan_blocks(w2.shape, 1, group.planes)
    own = prod(blocks.shape[:4]) * between.planes
    start = own + -own % LANES

    def rows(first: int) -> list[np.ndarray]:
        gap = np.zeros((start - own, LANES), np.float32)
        return [*rows_of(w.data, conv.groups, inner), gap, *rows_of(w2.data, 1, group, first)]

    formats = (weight_format(v.data, target, shader.precision) for v in (w, w2))
    blob = Blob(
        f"{node.name}.weights",
        start + prod(blocks2.shape[:4]),
        rows,
        max(formats, key=FORMATS.index),
    )
    shader.weights(blob, storage)
    kernel, out = list(w.shape[2:]), w2.shape[0]
    _, _, height, width = node.result.shape
    sums = [f"a{k}" for k in range(len(group.planes))]
    ends = [end for *_, end in group.pixels]
    kind = f"convolution {kernel[0]}x{kernel[1]} in {conv.groups} groups"
    kind += f", then {p.epilogue}" if p.epilogue is not None else ""
    columns = blocks2.shape[3]
    body = Body()
    body.let(CORNER.name, first_tap(shader, conv))
    for name, start_sum in zip(sums, first_sums(bias2, Conv(), group, shader), strict=True):
        declare_sums(body, shader, [name + end for end in ends], start_sum)
    load = loader(shader, conv, p, x, inner)
    (start_between,) = first_sums(bias, conv, inner, shader)
    with body.loop(PLANE.name, shader.size("planes_between", between.planes)) as plane:
        held = declare_sums(body, shader, ["m0" + end for end in ends], start_between)
        looped(body, shader, conv, blocks, inner, kernel, load, "m")
        _complete(body, shader, inner, held)
        second_row = plane * (len(sums) * columns) + shader.size("second", start)
        k = Variable("k", INT)
        body.assign(k, second_row)
        for number, name in enumerate(sums):
            pixels = [(Variable(name + end, VEC4), m) for end, m in zip(ends, held, strict=True)]
            multiply(body, shader, k + number * columns, columns, pixels, False)
    return finish(
        shader,
        node,
        group,
        "separable convolution",
        f"{kind}, then 1x1 to {out} channels",
        body,
        stores(shader, node, group, [Variable(name, VEC4) for name in sums]),
        macs=between.channels * (prod(kernel) + out) * height * width,
        weights=storage,
    )


def _complete(body: Body, shader: ShaderBuilder, inner: Group, held: list[Variable]) -> None:
    """Complete an intermediate plane: the epilogue, and zeros in lanes without channels.

    A weight of 0 would not cancel an infinite value in an unused lane. The unused lanes of a single
    plane are never read.
    """
    p, t = parts(inner.node), inner.node.result.type
    used = t.channels - (t.planes - 1) * LANES
    last = (PLANE + 1).equals(shader.size("planes_between", t.planes))
    for m in held:
        if p.epilogue is not None:
            formula = (p.epilogue, {"y": m}, named(p.extras, "e"), inner, 0)
            body.assign(m, epilogue(shader, *formula, called="between"))
        if used < LANES and t.planes > 1:
            with body.when(last):
                body.assign(m, without_lanes(m, used))
