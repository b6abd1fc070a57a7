"""A 3x3 convolution by Winograd's minimal filtering in one draw: an invocation is a tile.

It transforms the patch of every input plane, multiplies position by position and adds each product
to the pixels of the tile that it is part of. A render target takes one pixel of each tile, so what
is written is a map for each pixel; weights are constants, as each is used once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.graph import Constant
from ...ir.ops import WinogradTiles, parts
from ...ir.placement import entries_share_a_program
from ...ir.winograd import of_result
from ..shader import Shader
from .convolution import accumulate, first_sums, less_padding, loader
from .groups import Group, lower_groups
from .store import finish
from .tiles import cut_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node
    from ...ir.target import Target
    from ..gpu import GpuPass


@dataclass
class TileGroup(Group):
    """Planes of a convolution, of which each pixel of a tile lies in planes of its own.

    Attributes:
        pixels_of_tile: how many there are.
        apart: planes from those of one pixel to those of the next.
    """

    pixels_of_tile: int = 1
    apart: int = 0

    @property
    def layers(self) -> tuple[int, ...]:
        own = super().layers
        return tuple(i * self.apart + k for i in range(self.pixels_of_tile) for k in own)

    @property
    def named(self) -> str:
        planes = [i * self.apart + k for i in range(self.pixels_of_tile) for k in self.planes]
        return f"planes {', '.join(map(str, planes))}"


def lower_tiles(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower WinogradTiles, whose loads may have a prologue."""
    t = node.result.type
    op = parts(node).kernel
    assert isinstance(op, WinogradTiles)
    pixels = op.tile**2
    planes, size = t.planes // pixels, node.choice.planes or 1
    every = entries_share_a_program(node)

    def passes() -> Iterator[TileGroup]:
        for n, first in product(range(t.shape[0]), range(0, planes, size)):
            own = range(first, min(first + size, planes))
            yield TileGroup(n, own, node, node, entries=every, pixels_of_tile=pixels, apart=planes)

    def lowered(group: TileGroup) -> GpuPass:
        return _lower(node, group, op, Shader(target, "highp"))

    yield from lower_groups(passes(), lowered, weights=True)


def _lower(node: Node, group: TileGroup, op: WinogradTiles, shader: Shader) -> GpuPass:
    p = parts(node)
    x, w, *bias = p.operands
    if not isinstance(w, Constant) or node.choice.weights != "constants":
        raise InternalError(f"{node.name}: tiles of a draw take constants")
    m, k = op.tile, op.patch
    shape = op.held_shape(w.shape)
    columns = cut_weights(op.held(w.data), 1, group.planes)
    starts = first_sums(bias, op, group, shader)
    _, _, height, width = node.result.shape
    pixels = list(product(range(m), repeat=2))
    return finish(
        shader,
        node,
        group,
        "winograd",
        "winograd_tiles.glsl.j2",
        f"convolution 3x3, {x.shape[1]} to {shape[0]} channels, in Winograd's tiles of {m}x{m}",
        [f"y{a}{b}_{i}" for a, b in pixels for i in range(len(starts))],
        macs=group.channels * shape[1] * k * k * height * width,
        weights="constants",
        corner=f"o * {m}" + less_padding(shader, op.pads),
        kind="patches",
        tile=m,
        side=k,
        planes=columns.shape[1],
        sums=[([f"y{a}{b}_{i}" for a, b in pixels], start) for i, start in enumerate(starts)],
        positions=list(_positions(columns, m, k)),
        **loader(shader, op, p, x, group),
    )


def _positions(columns: np.ndarray, m: int, k: int) -> Iterator[tuple[str, list[str]]]:
    """Yield for each position of a patch its name and the statements that multiply there.

    Args:
        columns: weights by position, input plane, output plane, column and lane.
        m: pixels of a tile along an axis.
        k: elements of a patch along an axis.
    """
    result = of_result(m)
    for i, j in product(range(k), repeat=2):
        shares = np.outer(result[:, i], result[:, j])
        lines = []
        for out in range(columns.shape[2]):
            products = [
                line
                for plane, tile in enumerate(columns[i * k + j, :, out])
                for line in accumulate("product", tile, f"v{plane}_{i}{j}")
            ]
            if not products:
                continue
            lines += [products[0].replace("+=", "=", 1), *products[1:]]
            for a, b in np.argwhere(shares):
                share = float(shares[a, b])
                sign, factor = "-" if share < 0 else "+", abs(share)
                times = "" if factor == 1.0 else f"{factor} * "
                lines.append(f"y{a}{b}_{out} {sign}= {times}product;")
        yield f"({i}, {j})", lines
