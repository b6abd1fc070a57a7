"""A 3x3 convolution by Winograd's minimal filtering in dispatches: an invocation is a tile.

Unlike a draw (:mod:`.winograd_draws`), it stores the pixels of a tile side by side, so that no pass
has to put them there. Each dispatch computes some planes, whose weights are constants.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.graph import Constant
from ...passes.kernel_ops import WinogradConv, parts
from ...passes.placement.kinds import entries_share_a_program
from ..shader.builder import ShaderBuilder
from ..shader.expressions import Variable
from ..shader.statements import Body
from ..shader.types import VEC4
from .convolution import first_sums
from .input_loader import CORNER, less_padding, loader
from .plane_groups import PIXEL, Group, lower_groups
from .store import finish, stores
from .sums import Sums
from .weight_blocks import cut_weights
from .winograd_sums import sum_by_plane

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass


def lower_tiles_in_place(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower WinogradConv, fused or not."""
    t, size = node.result.type, node.choice.planes or 1
    every = entries_share_a_program(node)

    def passes() -> Iterator[Group]:
        for n, first in product(range(t.shape[0]), range(0, t.planes, size)):
            own = range(first, min(first + size, t.planes))
            yield Group(n, own, node, node, entries=every)

    yield from lower_groups(passes(), lambda group: _lower(node, group, target))


def _lower(node: Node, group: Group, target: Target) -> GpuPass:
    p = parts(node)
    op, (x, w, *bias) = p.kernel, p.operands
    assert isinstance(op, WinogradConv)
    if not isinstance(w, Constant) or node.choice.weights != "constants":
        raise InternalError(f"{node.name}: Winograd in one dispatch needs constant weights")
    m, k = op.tile, op.patch
    shader = ShaderBuilder(target, "highp", "compute")
    shape = op.packed_shape(w.shape)
    columns = cut_weights(op.packed(w.data), 1, group.planes)
    body = Body()
    body.comment("corner: the first pixel of the patch; m: the sums at the positions of the patch.")
    body.let(CORNER.name, less_padding(shader, PIXEL, op.pads))
    load = loader(shader, op, p, x, group)
    starts = first_sums(bias, op, group, shader)
    found = sum_by_plane(body, columns, load, starts, Sums(body, shader, node), op)
    for (i, j, end), (out, name) in product(group.pixels, enumerate(group.results)):
        body.let(name + end, found[j, i, out])
    _, _, height, width = node.result.shape
    tiles = -(-height // m) * -(-width // m)
    return finish(
        shader,
        node,
        group,
        "winograd",
        f"convolution 3x3, {x.shape[1]} to {shape[0]} channels, in Winograd's tiles of {m}x{m}",
        body,
        stores(shader, node, group, [Variable(name, VEC4) for name in group.results]),
        macs=group.channels * shape[1] * k * k * tiles,
        weights="constants",
    )
