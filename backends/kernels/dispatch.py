"""The workgroups and invocations of a compute pass.

A workgroup is a line of invocations, since drivers run neighbours together. It covers ``span``
blocks of pixels, counted row after row, of as many groups of planes as fill it; the span that
starts the fewest workgroups is taken. It is a uniform, so that maps of all sizes share a program.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.dimensions import hint
from ...passes.placement.target import WORKGROUP

if TYPE_CHECKING:
    from ...ir.graph import Node
    from ...passes.placement.target import Target

SPANS = (64, 32, 16, 8)


@dataclass(frozen=True)
class Dispatch:
    """How invocations are spread.

    Attributes:
        across: blocks in a row of the map.
        down: rows of blocks.
        span: blocks of a workgroup.
        groups: workgroups along x and y.
        invocations: for all blocks and planes.
    """

    across: int
    down: int
    span: int
    groups: tuple[int, int]
    invocations: int


def plan_dispatch(node: Node, planes: int, target: Target) -> Dispatch:
    """Plan the dispatch of a map whose invocations compute so many planes."""
    across, down = blocks(node)
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
    if not all(count <= most for count in groups(span)):  # of a dynamic size, a guard
        raise InternalError(f"{node.name}: the chosen dispatch exceeds the workgroup count limit")
    return Dispatch(across, down, span, groups(span), prod(counts))


def blocks(node: Node) -> tuple[int, int]:
    """Return how many blocks of pixels lie across and down a map."""
    columns, rows = node.choice.block
    _, _, height, width = node.result.shape
    return -(-width // columns), -(-height // rows)


def invocations(node: Node, planes: int) -> int:
    """Return how many invocations of so many planes compute a map."""
    return prod(blocks(node)) * -(-node.result.type.planes // planes)
