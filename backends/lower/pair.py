"""A depthwise convolution and the 1x1 one behind it in one kernel: nothing between is stored.

An invocation holds all planes of the result for its pixels. It goes through the planes between:
for each, the depthwise convolution's own loop and epilogue, then one product for every plane of the
result. The rows of weights are those of the first, then from a whole tile on those of the second.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.graph import Constant
from ...ir.ops import Conv, halves, parts
from ...ir.types import LANES
from ..gpu import Blob
from ..shader import Shader
from .convolution import corner, first_sums, loader, loops, multiply, rows_of, weight_format
from .groups import Group, groups, lower_groups
from .store import SWIZZLE, epilogue, finish, precision, stores
from .tiles import plan_tiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node
    from ...ir.target import Target
    from ..gpu import GpuPass

FORMATS = ("rgba8", "rgba16f", "rgba32f")  # of weights: each holds what those before it hold


def lower_pair(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower a ConvPair node, fused or not."""
    yield from lower_groups(groups(node), lambda group: _lower(node, group, target), weights=True)


def _lower(node: Node, group: Group, target: Target) -> GpuPass:
    first, second = halves(node)
    p, q = parts(first), parts(second)
    conv, (x, w, *bias), (_, w2, *bias2) = p.kernel, p.operands, q.operands
    storage = node.choice.weights
    if not (isinstance(conv, Conv) and isinstance(w, Constant) and isinstance(w2, Constant)):
        raise InternalError(f"{node.name}: a pair of convolutions without constant weights")
    if storage is None or not group.in_compute or len(group.planes) != node.result.type.planes:
        raise InternalError(f"{node.name}: an invocation is to have all planes of a pair's result")
    shader = Shader(target, precision(node), "compute")
    between = first.result.type
    inner = Group(group.batch, range(1), first, first, shared=True, entries=group.entries)
    tiles = plan_tiles(w.shape, conv.groups, inner.planes)
    tiles2 = plan_tiles(w2.shape, 1, group.planes)
    own = prod(tiles.shape[:4]) * between.planes
    start = own + -own % LANES

    def rows() -> np.ndarray:
        gap = np.zeros((start - own, LANES), np.float32)
        return np.concatenate(
            (rows_of(w.data, conv.groups, inner), gap, rows_of(w2.data, 1, group))
        )

    formats = (weight_format(v.data, target, shader.precision) for v in (w, w2))
    blob = Blob(
        f"{node.name}.weights",
        start + prod(tiles2.shape[:4]),
        rows,
        max(formats, key=FORMATS.index),
    )
    shader.weights(blob, storage, tiles2.full)
    kernel, out = list(w.shape[2:]), w2.shape[0]
    _, _, height, width = node.result.shape
    sums = [f"a{k}" for k in range(len(group.planes))]
    ends = [end for *_, end in group.pixels]
    held = ["m0" + end for end in ends]
    kind = f"convolution {kernel[0]}x{kernel[1]} in {conv.groups} groups"
    kind += f", then {p.epilogue}" if p.epilogue is not None else ""
    (start_between,) = first_sums(bias, conv, inner, shader)
    columns = tiles2.shape[3]
    return finish(
        shader,
        node,
        group,
        "convolution pair",
        "pair.glsl.j2",
        f"{kind}, and of that 1x1 to {out} channels",
        stores(shader, node, group, sums),
        accumulators=len(sums),
        macs=between.channels * (prod(kernel) + out) * height * width,
        weights=storage,
        corner=corner(shader, conv),
        planes_between=shader.size("planes_between", between.planes),
        starts=[
            ([name + end for end in ends], first_sum)
            for name, first_sum in zip(sums, first_sums(bias2, Conv(), group, shader), strict=True)
        ],
        between=held,
        start_between=start_between,
        finished=list(_finished(shader, inner, held)),
        second_row=f"{shader.size('second', start)} + plane * {len(sums) * columns}",
        products=[
            line
            for k, name in enumerate(sums)
            for line in multiply(
                f"k + {k * columns}" if k else "k",
                columns,
                list(zip([name + end for end in ends], held, strict=True)),
                False,
            )
        ],
        **loader(shader, conv, p, x, inner),
        **loops(shader, conv, tiles, inner, kernel, "m"),
    )


def _finished(shader: Shader, inner: Group, held: list[str]) -> Iterator[str]:
    """Yield what completes a plane between: the epilogue, and zeros in lanes without channels.

    Weights of 0 do not undo what such a lane may be, infinite say; those of an only plane are not
    read.
    """
    p, t = parts(inner.node), inner.node.result.type
    used = t.channels - (t.planes - 1) * LANES
    last = f"plane + 1 == {shader.size('planes_between', t.planes)}"
    zeros = ", ".join(["0.0"] * (LANES - used))
    for name in held:
        if p.epilogue is not None:
            text = epilogue(shader, p.epilogue, {"y": name}, p.extras, inner, 0, called="between")
            yield f"{name} = {text};"
        if used < LANES and t.planes > 1:
            yield f"if ({last}) {name} = vec4({name}.{SWIZZLE[used]}, {zeros});"
