"""How the invocations of a compute pass are spread over a result.

Invocations along x are the blocks of pixels, row after row; those along y the groups of planes. A
workgroup is as long along x as wastes least, since drivers run neighbours along x together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import ShadergenError
from ...ir.target import WORKGROUP

if TYPE_CHECKING:
    from ...ir.graph import Node
    from ...ir.target import Target

SHAPES = tuple((WORKGROUP >> k, 1 << k) for k in range(4))


@dataclass(frozen=True)
class Dispatch:
    """Blocks across and down the map, invocations in a workgroup, and workgroups."""

    across: int
    down: int
    workgroup: tuple[int, int]
    groups: tuple[int, int]


def plan_dispatch(node: Node, planes: int, target: Target) -> Dispatch:
    """Plan the dispatch of a map whose invocations compute so many planes.

    Raises:
        ShadergenError: SG0402 when it takes more workgroups than the device allows.
    """
    columns, rows = node.choice.block
    _, _, height, width = node.result.shape
    across, down = -(-width // columns), -(-height // rows)
    counts = across * down, -(-node.result.type.planes // planes)

    def groups(shape: tuple[int, int]) -> tuple[int, int]:
        return -(-counts[0] // shape[0]), -(-counts[1] // shape[1])

    def started(shape: tuple[int, int]) -> int:
        x, y = groups(shape)
        return x * y

    workgroup = min(SHAPES, key=started)
    most = target.limits.workgroup_count
    if max(groups(workgroup)) > most:
        raise ShadergenError(
            "SG0402",
            f"'{node.name}' needs {max(groups(workgroup))} workgroups",
            where=f"layer {node.name}",
            why=f"the device profile allows {most}",
            help="use --stage fragment",
        )
    return Dispatch(across, down, workgroup, groups(workgroup))
