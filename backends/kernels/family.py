"""A kernel family: the nodes it computes, the ways to run them, and how they are lowered.

What a way costs is no part of a family: :mod:`.work` counts what the lowered programs do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...ir.types import IMAGE_FORMATS
from ...passes.placement.kinds import (
    at_default,
    before_store,
    planes_in_a_pass,
    planes_share_a_program,
    shared_out,
)
from ...passes.placement.target import WORKGROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...ir.graph import Choice, Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass

TARGETS = (8, 4, 2, 1)  # render targets of a fragment pass, where the device has as many


@dataclass(frozen=True)
class Growth:
    """How the program of a choice grows from those of smaller choices.

    Each of its counts is that of ``small``, and ``steps`` times what ``larger`` has more.
    """

    small: Choice
    larger: Choice
    steps: int


@dataclass(frozen=True)
class Family:
    """A kernel family.

    Attributes:
        suits: whether the kernel can compute a node with what is chosen for it.
        choices: yields every way to run such a node, whose sizes may be dynamic, in order of
            preference for ties.
        lower: yields the GPU passes of such a node, its choice made and expanded.
        unsuited: returns why such a node cannot run in the compute stage, or nothing.
        ends: returns the ends of size-dependent loops, by the name of the loop counter.
        growth: returns how the program of such a node with a choice grows from smaller ones, whose
            loops end alike, or None where its counts follow from no others.
        expand: returns the nodes that the choice of such a node makes of it, the last of which
            gives its result. Block, planes and weights of the choice may matter to one node alone,
            whose planes are None as long as they are not chosen.
    """

    suits: Callable[[Node], bool]
    choices: Callable[[Node, Target], Iterator[Choice]]
    lower: Callable[[Node, Target], Iterator[GpuPass]]
    unsuited: Callable[[Node, Target], str]
    ends: Callable[[Node], dict[str, int]] = lambda node: {}
    growth: Callable[[Node, Choice], Growth | None] = lambda node, choice: None
    expand: Callable[[Node, Target], tuple[Node, ...]] = lambda node, target: (node,)


def computes(target: Target) -> bool:
    """Whether kernels may run in the compute stage."""
    return target.stage != "fragment" and not target.lacks_compute


def plain_choices(node: Node, target: Target) -> Iterator[Choice]:
    """Yield the ways to run a kernel without parameters but planes: draws, or one dispatch."""
    node = at_default(node)
    for planes in fragment_planes(node, target):
        yield replace(node.choice, stage="fragment", planes=planes)
    if computes(target) and not unsuited(node, target):
        yield replace(node.choice, stage="compute", block=(1, 1), planes=1)


def fragment_planes(node: Node, target: Target) -> tuple[int, ...]:
    """Return how many planes a fragment pass of a node may write, the most first."""
    t = node.result.type
    sizes = [planes_in_a_pass(t, target)]
    if target.planes_per_pass is None:
        sizes += [shared_out(t, n) for n in TARGETS if n < target.limits.draw_buffers]
    return tuple(dict.fromkeys(sizes))


def block_columns(node: Node, target: Target, sizes: Sequence[int] = (1,)) -> list[int]:
    """Return the pixels of a row that an invocation may compute: not many more than there are."""
    _, _, height, width = before_store(node).result.shape
    most = target.limits.workgroup_count * WORKGROUP
    return [n for n in sizes if n < 2 * width and -(-width // n) * height <= most]


def unsuited(node: Node, target: Target) -> str:
    """Return why a placed node cannot run in the compute stage, or nothing."""
    node = at_default(node)
    t = node.result.type
    assert t.layout is not None
    if not t.in_planes:
        return "the result is row-packed"
    if t.layout.format not in IMAGE_FORMATS:
        return f"format {t.layout.format} cannot be bound as an image"
    if t.layout.kind == "2d" and t.layers > 1:
        return "each plane of the result is a texture of its own"
    if not planes_share_a_program(before_store(node)):
        return "the planes of the result need different shader code"
    if not block_columns(node, target):
        return f"it takes more workgroups than {target.limits.workgroup_count}"
    return ""
