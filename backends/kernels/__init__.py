"""Lowering: from graph nodes to GPU passes.

Loop nests carry any operator; the few that have a better kernel are in ``KERNELS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.dimensions import at_layer
from ...ir.ops import Conv, Pointwise
from ...passes.kernel_ops import (
    SeparableConv,
    WinogradPatches,
    WinogradProducts,
    WinogradResult,
    WinogradTiles,
    parts,
)
from ...passes.placement.kinds import is_direct
from .convolution import lower_convolution
from .loop_nest import check_planes, lower_nest
from .pointwise import lower_pointwise
from .separable_convolution import lower_separable
from .winograd import lower_winograd
from .winograd_tiles import lower_tiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...ir.graph import Graph, Node
    from ...ir.ops import Op
    from ...passes.placement.target import Target
    from ..gpu import GpuPass

    Lowering = Callable[[Node, Target], Iterator[GpuPass]]

KERNELS: dict[type[Op], tuple[Callable[[Node], bool], Lowering]] = {
    Conv: (is_direct, lower_convolution),
    SeparableConv: (lambda node: True, lower_separable),
    Pointwise: (lambda node: True, lower_pointwise),
    WinogradPatches: (lambda node: True, lower_winograd),
    WinogradProducts: (is_direct, lower_convolution),
    WinogradResult: (lambda node: True, lower_winograd),
    WinogradTiles: (is_direct, lower_tiles),
}
"""For an operator, the nodes that a kernel is for, and the kernel."""


def lower(graph: Graph, target: Target) -> tuple[GpuPass, ...]:
    """Return the GPU passes of a placed graph, in order of execution.

    Raises:
        ShadergenError: SG0402 when a kernel does not fit the device.
        InternalError: for an operator that should have been decomposed.
    """
    nodes = [n for n in graph.nodes if not n.choice.alias]
    lowerings = [_lowering(n) for n in nodes]
    for node, lowering in zip(nodes, lowerings, strict=True):
        if lowering is lower_nest:  # before shaders are written for each of so many planes
            check_planes(node, target)
    passes: list[GpuPass] = []
    for node, lowering in zip(nodes, lowerings, strict=True):
        with at_layer(node.name):
            passes.extend(lowering(node, target))
    return tuple(passes)


def _lowering(node: Node) -> Lowering:
    suits, kernel = KERNELS.get(type(parts(node).kernel), (is_direct, lower_nest))
    return kernel if suits(node) else lower_nest
