"""Element-wise kernels: every operand loaded at the position, one formula, one store a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.expr import named
from ...ir.ops import Pointwise
from ...passes.kernel_ops import parts
from ...passes.placement.kinds import precision
from ..shader.builder import ShaderBuilder
from ..shader.statements import Body
from .family import Family, plain_choices, why_not_compute
from .plane_groups import groups, lower_groups
from .store import epilogue, finish, masked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from .plane_groups import Group


def lower_pointwise(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower a Pointwise node."""
    yield from lower_groups(groups(node), lambda group: _lower(node, group, target))


def _lower(node: Node, group: Group, target: Target) -> GpuPass:
    assert isinstance(node.op, Pointwise)
    shader = ShaderBuilder(target, precision(node), node.choice.stage or "fragment")
    values = [
        masked(shader, epilogue(shader, node.op.expr, {}, named(node.inputs), group, k), group, k)
        for k in range(len(group.planes))
    ]
    what = f"element-wise {node.op.expr}"
    return finish(shader, node, group, "pointwise", what, Body(), values)


POINTWISE = Family(
    lambda node: isinstance(parts(node).kernel, Pointwise),
    plain_choices,
    lower_pointwise,
    why_not_compute,
)
