"""The workgroups and invocations of a compute pass.

An invocation computes one block of pixels in one group of planes. A workgroup has ``WORKGROUP``
invocations in one dimension, because drivers run neighbouring invocations together: ``span``
consecutive blocks, counted row by row, times ``WORKGROUP / span`` groups of planes. The span with
the fewest workgroups is chosen. It is a uniform, so maps of all sizes share a program.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.dimensions import hint
from ...passes.placement.target import WORKGROUP
from ...records import dataclass

if TYPE_CHECKING:
    from ...ir.graph import Node
    from ...passes.placement.target import Target

SPANS = (64, 32, 16, 8)  # candidates for Dispatch.span; the first wins ties


@dataclass(frozen=True)
class Dispatch:
    """The size of a dispatch.

    Attributes:
        across: blocks in a row of the map.
        down: rows of blocks in the map.
        span: consecutive blocks of a workgroup.
        groups: workgroups along x (blocks) and y (groups of planes).
        invocations: the invocations that compute something, one for each block and plane group.
    """

    across: int
    down: int
    span: int
    groups: tuple[int, int]
    invocations: int


def plan_dispatch(node: Node, planes: int, target: Target) -> Dispatch:
    """Plan the dispatch of a node whose invocations compute ``planes`` planes each.

    Raises:
        InternalError: if the dispatch exceeds the workgroup count limit. Such nodes
            have no compute choices (:func:`.family.fitting_blocks`).
    """
    across, down = block_counts(node)
    counts = across * down, -(-node.result.type.planes // planes)

    def groups(span: int) -> tuple[int, int]:
        return -(-counts[0] // span), -(-counts[1] * span // WORKGROUP)

    def started(span: int) -> int:
        return prod(map(hint, groups(span)))

    most = target.limits.workgroup_count
    fitting = [span for span in SPANS if max(map(hint, groups(span))) <= most]
    if not fitting:
        raise InternalError(f"{node.name}: every dispatch exceeds the workgroup count limit")
    span = min(fitting, key=started)
    if not all(count <= most for count in groups(span)):  # records a guard for dynamic sizes
        raise InternalError(f"{node.name}: the chosen dispatch exceeds the workgroup count limit")
    return Dispatch(across, down, span, groups(span), prod(counts))


def block_counts(node: Node) -> tuple[int, int]:
    """Return the numbers of pixel blocks in a row and in a column of a node's result."""
    columns, rows = node.choice.block
    _, _, height, width = node.result.shape
    return -(-width // columns), -(-height // rows)
