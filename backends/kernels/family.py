"""A kernel family: the nodes it computes, their choices, and their lowering.

A family states no costs: :mod:`.work` counts the operations of the lowered programs.
"""

from __future__ import annotations

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
from ...records import dataclass, replace
from .program_keys import loop_nest_key

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from ...ir.graph import Choice, Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass

Block = tuple[int, int]  # columns and rows of pixels that an invocation computes
BLOCKS: tuple[Block, ...] = ((4, 1), (2, 1), (1, 1))  # of dispatches that read no weights
TARGETS = (8, 4, 2, 1)  # render targets of a fragment pass, up to the device's limit


@dataclass(frozen=True)
class Growth:
    """How the counts of a large program follow from two smaller ones.

    Each count is ``small + steps * (larger - small)``.
    """

    small: Choice
    larger: Choice
    steps: int


def planes_of_pass(node: Node) -> int:
    """Return the planes that a GPU pass computes: in a draw, those of an invocation, else all."""
    if node.choice.stage == "fragment" and not node.result.type.is_stacked:
        return node.choice.planes or 1
    return node.result.type.planes


@dataclass(frozen=True)
class Family:
    """A kernel family.

    Attributes:
        accepts: whether the family can compute a node with the choice made for it so far: none at
            first (``Choice.undecided``). The first of ``FAMILIES`` that accepts a node with its
            final choice lowers it. The other functions are called only with accepted nodes.
        choices: yields every choice for a node, in order of preference for ties. The node's sizes
            may be dynamic.
        lower: yields the GPU passes of a node whose choice is made and expanded.
        why_not_compute: returns why a node cannot run in the compute stage; empty if it can.
        trips: returns the trip counts of size-dependent loops, by the name of the loop counter.
        growth: returns how the counts of a node with a choice follow from smaller choices with
            the same trip counts; None if they do not.
        planes_of_pass: returns how many planes of a node with a choice, but without its scatter
            epilogue, a GPU pass computes.
        program_key: returns what a node's programs depend on in its operator, except choices,
            sizes and weight values (:mod:`.program_keys`). The default reduces the integers in an
            operator's fields modulo 4, so that strides of 5 and 9 have equal keys. A family whose
            code depends on a stride or dilation needs a key of its own.
        expand: returns the nodes that replace a node with its choice; the last has the result.
            Only one of them may depend on the choice's block, planes and weights. Its planes are
            None until they are chosen.
    """

    accepts: Callable[[Node], bool]
    choices: Callable[[Node, Target], Iterator[Choice]]
    lower: Callable[[Node, Target], Iterator[GpuPass]]
    why_not_compute: Callable[[Node, Target], str]
    trips: Callable[[Node], dict[str, int]] = lambda node: {}
    growth: Callable[[Node, Choice], Growth | None] = lambda node, choice: None
    planes_of_pass: Callable[[Node], int] = planes_of_pass
    program_key: Callable[[Node], Hashable] = loop_nest_key
    expand: Callable[[Node, Target], tuple[Node, ...]] = lambda node, target: (node,)


def plain_choices(node: Node, target: Target) -> Iterator[Choice]:
    """Yield the choices of a kernel without weights: planes of draws, and blocks of dispatches."""
    node = at_default(node)
    for planes in fragment_planes(node, target):
        yield replace(node.choice, stage="fragment", block=(1, 1), planes=planes)
    if target.computes and not why_not_compute(node, target):
        for block in fitting_blocks(node, target, BLOCKS):
            yield replace(node.choice, stage="compute", block=block, planes=1)


def fragment_planes(node: Node, target: Target) -> tuple[int, ...]:
    """Return the numbers of planes that a fragment pass of a node may write, largest first."""
    t = node.result.type
    if t.is_stacked:
        return (1,)
    sizes = [planes_in_a_pass(t, target)]
    if target.planes_per_pass is None:
        # Three: of 32 channels, the constants of a 3x3 convolution to 12 fit a shader, to 16 not.
        several = (3, 2, 1) if target.prefers_constants else TARGETS
        sizes += [shared_out(t, n) for n in several if n < target.limits.draw_buffers]
    return tuple(dict.fromkeys(sizes))


def fitting_blocks(
    node: Node, target: Target, blocks: Sequence[Block] = ((1, 1),)
) -> tuple[Block, ...]:
    """Return the blocks, of columns and rows, that fit the map and the workgroup count."""
    _, _, height, width = before_store(node).result.shape
    most = target.limits.workgroup_count * WORKGROUP
    return tuple(
        (across, down)
        for across, down in blocks
        if across < 2 * width
        and down < 2 * height
        and -(-width // across) * -(-height // down) <= most
    )


def why_not_compute(node: Node, target: Target) -> str:
    """Return why a placed node cannot run in the compute stage; empty if it can."""
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
    if not fitting_blocks(node, target):
        return f"it takes more workgroups than {target.limits.workgroup_count}"
    return ""
