"""Lowering: from graph nodes to GPU passes, by one table from operator to kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.ops import (
    Concat,
    Conv,
    DepthToSpace,
    Pad,
    Pointwise,
    Rearrange,
    Reshape,
    ResizeNearest,
    Slice,
    Transpose,
    parts,
)
from .convolution import lower_convolution
from .gather import lower_gather
from .pointwise import lower_pointwise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...ir.graph import Graph, Node
    from ...ir.ops import Op
    from ...ir.target import Target
    from ..gpu import RenderPass

LOWERINGS: dict[type[Op], Callable[[Node, Target], Iterator[RenderPass]]] = {
    Concat: lower_gather,
    Conv: lower_convolution,
    DepthToSpace: lower_gather,
    Pad: lower_gather,
    Pointwise: lower_pointwise,
    Rearrange: lower_gather,
    Reshape: lower_gather,
    ResizeNearest: lower_gather,
    Slice: lower_gather,
    Transpose: lower_gather,
}


def lower(graph: Graph, target: Target) -> tuple[RenderPass, ...]:
    """Return the GPU passes of a placed graph, in order of execution.

    Raises:
        ShadergenError: SG0402 when a kernel does not fit the device.
        InternalError: for an operator that should have been decomposed.
    """
    passes: list[RenderPass] = []
    for node in graph.nodes:
        kernel = type(parts(node).kernel)
        if kernel not in LOWERINGS:
            raise InternalError(f"{node.name}: {kernel.__name__} has no kernel")
        passes.extend(LOWERINGS[kernel](node, target))
    return tuple(passes)
