"""The transforms of Winograd's minimal filtering: an invocation is a patch of one plane.

Its rows are transformed one after the other and added up down the columns, in a loop: written out,
the loads alone would take drivers a second to compile. What an invocation computes is a block of
the result: positions of a patch below each other, two lines of them, or a tile of pixels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...ir.ops import WinogradPatches, WinogradResult, parts
from ...ir.winograd import of_patch, of_result
from ..shader import Shader
from .convolution import less_padding, loader
from .groups import groups, lower_groups, plus
from .store import finish, precision, stores

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ...ir.graph import Node, Value
    from ...ir.target import Target
    from ..gpu import GpuPass
    from .groups import Group


def lower_winograd(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower WinogradPatches, whose loads may have a prologue, or a WinogradResult, an epilogue."""
    p = parts(node)
    (x,) = p.operands

    def write(group: Group) -> GpuPass:
        shader = Shader(target, precision(node), "compute")
        if isinstance(p.kernel, WinogradPatches):
            return _patches(shader, node, group, p.kernel, x)
        assert isinstance(p.kernel, WinogradResult)
        return _result(shader, node, group, p.kernel, x)

    yield from lower_groups(groups(node), write)


def _patches(shader: Shader, node: Node, group: Group, op: WinogradPatches, x: Value) -> GpuPass:
    top, left, bottom, right = op.pads
    conv = op.conv
    limit = ""
    if op.pad_mode == "constant":
        conv = replace(conv, pads=(top, left, 1, 1))  # the last patches reach beyond what is needed
    else:
        _, _, height, width = conv.seen(x.type).shape
        last_x = shader.size("last_column", width + right - 1)
        last_y = shader.size("last_row", height + bottom - 1)
        limit = f"min(p, ivec2({last_x}, {last_y}))"
    k = op.patch
    columns = shader.size("columns", op.columns)
    number = f"o.y / {k * k} * {columns} + o.x"
    across = shader.size("tiles_across", op.tiles(x.type)[1])
    corner = f"ivec2(({number}) % {across}, ({number}) / {across}) * {op.tile}"
    corner += less_padding(shader, op.pads)
    height = group.node.choice.block[1] // k  # lines of the transformed patch
    loads = [f"load_x(corner + ivec2({j}, i), plane)" for j in range(k)]
    rows = [[f"a0_0{i * k + j}" for j in range(k)] for i in range(height)]
    first = "0" if height == k else f"o.y / {height * k} % {k // height} * {height * k}"
    return _finish(
        shader, node, group, "patches", op.tile, ["a0"], rows, loads, of_patch(op.tile),
        corner=corner, first=first, load=True, limit=limit,
        **loader(shader, conv, parts(node), x, group),
    )  # fmt: skip


def _result(shader: Shader, node: Node, group: Group, op: WinogradResult, x: Value) -> GpuPass:
    k, m = op.patch, op.tile
    texture = shader.texture(x, "x", group.batch)
    layer = plus("plane", group.first_layer(x.type))
    columns = shader.size("columns", x.shape[3])
    number = f"o.y / {m} * {shader.size('tiles_across', op.across)} + o.x / {m}"
    corner = f"ivec2(({number}) % {columns}, ({number}) / {columns} * {k * k})"
    loads = [texture.fetch(f"corner + ivec2(0, i * {k} + {j})", layer) for j in range(k)]
    rows = [[f"a0_{j}{i}" for j in range(m)] for i in range(m)]
    return _finish(
        shader, node, group, "result", m, stores(shader, node, group, ["a0"]), rows, loads,
        of_result(m), corner=corner, first="0", load=False,
    )  # fmt: skip


def _finish(
    shader: Shader,
    node: Node,
    group: Group,
    kind: str,
    tile: int,
    texts: list[str],
    rows: list[list[str]],
    loads: list[str],
    matrix: NDArray[np.float64],
    **context: Any,
) -> GpuPass:
    """Transform a patch, of which ``loads`` is row i, into the accumulators ``rows``."""
    return finish(
        shader,
        node,
        group,
        "winograd",
        "winograd.glsl.j2",
        f"Winograd {kind} for tiles of {tile}x{tile}",
        texts,
        accumulators=1,
        kind=kind,
        tile=tile,
        rows=rows,
        loads=loads,
        count=shader.size("patch", len(loads)),
        lines=[f"t{j}" for j in range(len(rows[0]))],
        factors=matrix.reshape(-1).tolist(),
        **context,
    )
