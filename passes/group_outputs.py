"""Group output planes into GPU passes: several render targets (MRT) share each load.

ceil(planes / limit) passes of as equal a size as possible; the limit is the device's draw buffers
or what the user asks for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import ShadergenError

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node
    from ..ir.target import Target
    from ..ir.types import TensorType
    from .rule import Context


def planes_in_a_pass(t: TensorType, target: Target) -> int:
    """Return how many planes of a result one GPU pass writes; of rows, one layer."""
    if not t.in_planes:
        return 1
    limit = min(target.limits.draw_buffers, target.planes_per_pass or target.limits.draw_buffers)
    passes = -(-t.planes // limit)
    return -(-t.planes // passes)


def group_outputs(graph: Graph, context: Context) -> Graph:
    """Choose ``planes`` for every node.

    Raises:
        ShadergenError: SG0402 when more render targets are asked for than the device has.
    """
    wanted, most = context.target.planes_per_pass, context.target.limits.draw_buffers
    if wanted is not None and wanted > most:
        raise ShadergenError(
            "SG0402",
            f"--mrt {wanted} asks for {wanted} render targets",
            why=f"the device profile has {most} draw buffers",
            help=f"use --mrt {most} or less, or another --device",
        )

    def group(now: Node, was: Node) -> Node | None:
        if now.choice.planes is not None:
            return None
        planes = planes_in_a_pass(now.result.type, context.target)
        t = now.result.type
        what = f"{planes} of {t.planes} planes in a pass" if t.in_planes else "a layer in a pass"
        context.explain("group outputs", now.name, what)
        return replace(now, choice=replace(now.choice, planes=planes))

    return graph.rewrite(group)
