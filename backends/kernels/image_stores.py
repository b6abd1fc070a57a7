"""Image stores of a compute pass.

Each plane of a pixel goes to its own texel. With a scatter epilogue, the channels of a pixel go to
the pixels of a shuffled map.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

from ...ir.ops import DepthToSpace, Slice
from ...ir.types import LANES
from ...passes.kernel_ops import parts
from ..shader.constructors import all_of, integer, ivec2, offset, vec4
from .loads import LANE
from .plane_groups import PIXEL, PLANE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..shader.builder import ShaderBuilder
    from ..shader.expressions import Expression
    from ..shader.statements import Body
    from .plane_groups import Group


def image_stores(
    body: Body, shader: ShaderBuilder, group: Group, values: Sequence[Expression]
) -> None:
    """Write the stores of a pixel: ``values`` are its planes' vec4."""
    t = group.written.result.type
    assert t.layout is not None
    first = t.first_layer + (0 if group.entries else group.batch * t.planes)
    base = shader.size("first_layer", first) if first else integer(0)
    if group.entries:
        base = base + group.first_layer(t)
    if group.written is not group.node:
        _shuffled(body, shader, group, values, base)
        return
    array = t.layout.kind == "array"
    for k, value in enumerate(values):
        layer = integer(group.plane(k)) + base if array else None
        body.store_image(PIXEL, layer, value)


def _shuffled(
    body: Body,
    shader: ShaderBuilder,
    group: Group,
    values: Sequence[Expression],
    base: Expression,
) -> None:
    """Write the stores of a pixel shuffle whose borders may be cropped.

    An invocation holds either all channels of the result, or four of them, for all by * bx pixels
    of the shuffle (``convolution.planes_of_store``). The texel of pixel (i, j) collects one lane
    for each channel.
    """
    shuffle, *cut = parts(group.written).store
    assert isinstance(shuffle, DepthToSpace)
    t = group.written.result.type
    assert t.layout is not None
    by, bx = shuffle.block
    everything = _has_all_planes(group)
    planes = named_planes(body, values)
    corner = PIXEL * ivec2(bx, by)
    if cut:
        (border,) = cut
        assert isinstance(border, Slice)
        corner = corner - ivec2(border.starts[3], border.starts[2])
    p = body.let("shuffled", corner)
    alone = t.channels_per_texel == 1 and shader.by_column
    for q, i, j, value in shuffled(group, planes, alone):
        layer = integer(q) if everything else PLANE // len(group.planes)  # then q is 0
        where = layer + base if t.layout.kind == "array" else None
        store = (offset(p, j, i), where, value)
        if not cut:
            body.store_image(*store)
            continue
        with body.when(_inside(shader, group, p, i, j)):
            body.store_image(*store)


def named_planes(body: Body, values: Sequence[Expression], end: str = "") -> list[Expression]:
    """Declare variables for the planes' vec4, whose lanes several texels take.

    ``end`` is the suffix of the pixel, if there are several.
    """
    return [body.let(f"value_p{k}{end}", value) for k, value in enumerate(values)]


def _has_all_planes(group: Group) -> bool:
    """Whether an invocation holds all planes, not only the planes of one texel."""
    return len(group.planes) == group.node.result.type.planes


def shuffled(
    group: Group, planes: Sequence[Expression], alone: bool = False
) -> Iterator[tuple[int, int, int, Expression]]:
    """Yield the texels of a pixel shuffle: plane, row and column in the block, and the vec4.

    Args:
        group: what an invocation computes.
        planes: names of the vec4 of its planes.
        alone: the result has one channel, so that only the first lane is stored.
    """
    shuffle = parts(group.written).store[0]
    assert isinstance(shuffle, DepthToSpace)
    t = group.written.result.type
    by, bx = shuffle.block
    everything = _has_all_planes(group)
    channels = t.channels if everything else len(group.planes) * LANES // prod(shuffle.block)
    for q, i, j in product(range(-(-channels // LANES)), range(by), range(bx)):
        lanes: list[Expression] = []
        for c in range(q * LANES, min((q + 1) * LANES, channels)):
            in_order = (c * by + i) * bx + j, (i * bx + j) * t.channels + c
            k, lane = divmod(in_order[shuffle.order == "dcr"], LANES)
            lanes.append(planes[k].lanes(LANE[lane]))
        one = alone and len(lanes) == 1
        yield q, i, j, _led_by(planes[k], lane) if one else _zeros_after(lanes)


def _zeros_after(lanes: Sequence[Expression]) -> Expression:
    """Return a vec4 of lanes and zeros."""
    return vec4(*lanes, *[0.0] * (LANES - len(lanes)))


def _led_by(value: Expression, lane: int) -> Expression:
    """Return a vec4 rotated so that a lane comes first; only this lane is stored.

    A vec4 of the lane and zeros would spill: Intel's compiler accumulates in the registers of the
    store, so each lane would occupy four during all loops; Mali's compiler holds all texels.
    """
    return value.lanes("xyzw"[lane:] + "xyzw"[:lane]) if lane else value


def _inside(shader: ShaderBuilder, group: Group, p: Expression, i: int, j: int) -> Expression:
    """Return whether the pixel (i, j) away from ``p`` was not cut off."""
    _, _, height, width = group.written.result.shape
    tests = []
    for at, end in (
        (p.x + j, shader.size("width_out", width)),
        (p.y + i, shader.size("height_out", height)),
    ):
        tests += [at >= 0, at < end]
    return all_of(tests)
