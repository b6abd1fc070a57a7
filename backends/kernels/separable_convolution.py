"""A depthwise convolution and the 1x1 convolution after it in one kernel.

An invocation holds all result planes of its pixels. For each intermediate plane it runs the
depthwise convolution's loop and epilogue, then adds one product to every result plane; nothing
intermediate is stored. The depthwise weights come first, then, 4-row aligned, the 1x1 weights.
"""

from __future__ import annotations

from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.expr import named
from ...ir.graph import Constant
from ...ir.ops import Conv
from ...ir.types import LANES
from ...passes.kernel_ops import halves, parts
from ...passes.placement.kinds import at_default, is_separable, precision
from ...records import replace
from ..gpu import Blob
from ..shader.builder import ShaderBuilder
from ..shader.expressions import Variable
from ..shader.statements import Body
from ..shader.types import VEC4
from .convolution import first_sums, growth_by_pixels, weight_format
from .convolution_loops import BLOCKS, ROW, looped, multiply
from .family import Family, Growth, fitting_blocks, why_not_compute
from .input_loader import CORNER, first_tap
from .plane_groups import PLANE, Group, groups, lower_groups
from .program_keys import convolution_key
from .store import epilogue, finish, stores, without_lanes
from .sums import Sums
from .weight_blocks import plan_blocks, rows_of
from .weight_storage import no_storage, whole_storages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Choice, Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass

MOST_PLANES = 6  # of the result: an invocation has all of them, and more slow it down
MOST_SUMS = 32  # vectors of the result that one invocation computes
FORMATS = ("rgba8", "rgba16f", "rgba32f")  # of weights: each holds what those before it hold


def _choices(node: Node, target: Target) -> Iterator[Choice]:
    """Yield every way to run a fused separable convolution.

    All are dispatches in which an invocation computes all result planes.
    """
    node = at_default(node)
    planes = node.result.type.planes
    if not target.computes or planes > MOST_PLANES or _why_not_compute(node, target):
        return
    blocks = fitting_blocks(node, target, BLOCKS)
    for weights, block in product(whole_storages(node, target), blocks):
        if prod(block) * planes <= MOST_SUMS:
            yield replace(node.choice, stage="compute", block=block, planes=planes, weights=weights)


def _why_not_compute(node: Node, target: Target) -> str:
    """Return why a node cannot run in the compute stage, its only stage; empty if it can."""
    why = why_not_compute(node, target)
    if not why and not whole_storages(at_default(node), target):
        why = no_storage(target)
    if not why and node.result.type.planes > MOST_PLANES:
        why = f"the result has more planes than an invocation can hold ({MOST_PLANES})"
    return why


def _lower_node(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower a SeparableConv node, fused or not."""
    yield from lower_groups(groups(node), lambda group: _lower(node, group, target))


def _lower(node: Node, group: Group, target: Target) -> GpuPass:
    first, second = halves(node)
    p, q = parts(first), parts(second)
    conv, (_, w, *bias), (_, w2, *bias2) = p.kernel, p.operands, q.operands
    storage = node.choice.weights
    if not (isinstance(conv, Conv) and isinstance(w, Constant) and isinstance(w2, Constant)):
        raise InternalError(f"{node.name}: a separable convolution needs constant weights")
    if storage is None or not group.in_compute or len(group.planes) != node.result.type.planes:
        raise InternalError(f"{node.name}: an invocation must compute all result planes")
    shader = ShaderBuilder(target, precision(node), "compute")
    between = first.result.type
    inner = Group(group.batch, range(1), first, first, shared=True, entries=group.entries)
    blocks = plan_blocks(w.shape, conv.groups, inner.planes)
    blocks2 = plan_blocks(w2.shape, 1, group.planes)
    own = prod(blocks.shape[:4]) * between.planes
    start = own + -own % LANES

    every = len(group.planes)

    def rows(first: int) -> Iterator[np.ndarray]:
        gap = np.zeros((start - own, LANES), np.float32)
        inner_rows = rows_of(w.data, conv.groups, 1, between.planes)
        return chain(inner_rows, [gap], rows_of(w2.data, 1, every, every, first))

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
    names = group.results
    ends = [end for *_, end in group.pixels]
    kind = f"convolution {kernel[0]}x{kernel[1]} in {conv.groups} groups"
    kind += f", then {p.epilogue}" if p.epilogue is not None else ""
    columns = blocks2.shape[3]
    body = Body()
    body.let(CORNER.name, first_tap(shader, conv))
    totals = Sums(body, shader, second)
    for name, start_sum in zip(names, first_sums(bias2, group, shader), strict=True):
        totals.declare([name + end for end in ends], start_sum)
    (start_between,) = first_sums(bias, inner, shader)
    with body.loop(PLANE.name, shader.size("intermediate_planes", between.planes)) as plane:
        between_sums = Sums(body, shader, first)
        held = between_sums.declare(["depthwise" + end for end in ends], start_between)
        looped(body, shader, p, blocks, inner, kernel, between_sums, ["depthwise"])
        _complete(body, shader, inner, held)
        second_row = plane * (len(names) * columns) + shader.size("pointwise_row", start)
        body.assign(ROW, second_row)
        for number, name in enumerate(names):
            pixels = [(Variable(name + end, VEC4), m) for end, m in zip(ends, held, strict=True)]
            multiply(body, shader, ROW + number * columns, columns, pixels, totals)
    return finish(
        shader,
        node,
        group,
        "separable convolution",
        f"{kind}, then 1x1 to {out} channels",
        body,
        stores(shader, node, group, [Variable(name, VEC4) for name in names]),
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
    last = (PLANE + 1).equals(shader.size("intermediate_planes", t.planes))
    for m in held:
        if p.epilogue is not None:
            formula = (p.epilogue, {"y": m}, named(p.extras, "e"), inner, 0)
            body.assign(m, epilogue(shader, *formula, called="between"))
        if used < LANES and t.planes > 1:
            with body.when(last):
                body.assign(m, without_lanes(m, used))


def _trips(node: Node) -> dict[str, int]:
    """Return the trip count of the loop over intermediate planes."""
    first, _ = halves(node)
    return {PLANE.name: first.result.type.planes}


def _growth(node: Node, choice: Choice) -> Growth | None:
    conv = parts(halves(node)[0]).kernel
    assert isinstance(conv, Conv)
    return growth_by_pixels(choice, conv)


SEPARABLE_CONVOLUTION = Family(
    is_separable,
    _choices,
    _lower_node,
    _why_not_compute,
    _trips,
    _growth,
    program_key=convolution_key,
)
