"""Convolutions in draws whose invocations compute a block of pixels: choices and expansion.

    conv(x; W, b) = shuffle(blocks(x; W, b))

The pixels of a block share their reads of weights. With one pixel for each invocation, a loop
spends more time reading weights than multiplying. A fragment writes one texel of each render
target, so each pixel of a block goes to planes of its own, and a second node shuffles them into
place. The first node has the prologue, the second the epilogue.
"""

from __future__ import annotations

from dataclasses import fields
from math import prod
from typing import TYPE_CHECKING

from ...ir.graph import Choice, Node, infer
from ...ir.ops import Conv, DepthToSpace, Slice
from ...ir.ops.convolution import is_depthwise
from ...ir.types import Layout
from ...passes.kernel_ops import ConvBlocks, IndexMapped, assemble, parts
from ...passes.kernel_ops.fused import Parts
from ...passes.placement.costs import count_memory
from ...passes.placement.kinds import (
    at_default,
    entries_share_a_program,
    is_direct,
    planes_in_a_pass,
    planes_share_a_program,
    shared_out,
)
from ...records import replace
from .convolution import lower_group, trips
from .family import Family, why_not_compute
from .plane_groups import BlockGroup, lower_groups
from .program_keys import convolution_key
from .weight_storage import weight_bytes, weight_capacity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Value
    from ...ir.ops import Op
    from ...passes.placement.target import Target
    from ..gpu import GpuPass

# Columns and rows of pixels that one invocation may compute. Four pixels spill on VideoCore, and on
# NVIDIA's GPUs Mesa's compiler unrolls their loops.
BLOCKS = ((2, 1),)


def _choices(node: Node, target: Target) -> Iterator[Choice]:
    """Yield every choice that computes a placed convolution in blocks of pixels."""
    if not _offers_blocks(node, target):
        return
    limits, result = target.limits, node.result.type
    weights = "texture" if target.weights == "auto" else target.weights
    most = min(limits.draw_buffers, target.planes_per_pass or limits.draw_buffers)
    for block in BLOCKS:
        pixels = prod(block)
        if pixels > most or result.layers * pixels > limits.array_texture_layers:
            continue
        planes = shared_out(result, most // pixels)
        if (
            weight_bytes(node, planes, weights, target)
            <= weight_capacity(target, "fragment")[weights]
        ):
            yield replace(
                node.choice, stage="fragment", block=block, planes=planes, weights=weights
            )


def _offers_blocks(node: Node, target: Target) -> bool:
    """Whether draws in blocks are candidates for a placed convolution."""
    p = parts(node)
    if type(p.kernel) is not Conv or not is_direct(node) or at_default(node) is not node:
        return False
    if target.computes or target.weights == "constants":
        return False  # dispatches compute blocks without a second node
    groups = p.kernel.groups
    alike = groups == 1 or is_depthwise(p.operands[1].shape, groups)
    arrays = target.textures != "2d" and not node.result.type.is_stacked
    plain = alike and not p.store and arrays
    several = node.result.shape[3] > 1 and planes_share_a_program(node)
    highp = node.choice.precision == "highp"
    return plain and several and highp and may_draw_blocks(target)


def may_draw_blocks(target: Target) -> bool:
    """Whether blocks in draws, and Winograd tiles in strips, are candidates for a target.

    The target's costs must include memory, because the nodes after the first one read and write
    whole maps. If the target includes VideoCore, draws must not read by ``texture``, because
    VideoCore's compiler then spills registers.
    """
    # Only VideoCore's costs have texture_registers.
    spills = target.fetch == "sample" and any(c.texture_registers for c in target.costs)
    return count_memory(target.costs) and not spills


def _expand(node: Node, target: Target) -> tuple[Node, ...]:
    """Return the two nodes that compute a convolution in blocks; the last has its result."""
    p, choice = parts(node), node.choice
    if type(p.kernel) is not Conv or choice.block == (1, 1):
        return (node,)
    across, down = choice.block
    alike = {field.name: getattr(p.kernel, field.name) for field in fields(p.kernel)}
    kernel = ConvBlocks(**alike, block=(down, across))
    blocks = in_one_array(
        assemble(Parts(kernel, p.operands, p.prologue, None, p.extras), node.layers, choice)
    )
    return blocks, beside_each_other(node, blocks.result, (down, across), target)


def in_one_array(node: Node) -> Node:
    """Return the node with its result in an array texture of 32-bit floats."""
    return replace(node, types=(node.result.type.placed(Layout("array", "rgba32f")),))


def beside_each_other(node: Node, x: Value, block: tuple[int, int], target: Target) -> Node:
    """Return the node that shuffles the pixels of blocks into place and applies the epilogue.

    Args:
        node: the placed convolution.
        x: its result before the epilogue; each pixel of a block has planes of its own.
        block: rows and columns of a block.
        target: limits the render targets.
    """
    p = parts(node)
    assert isinstance(p.kernel, Conv)
    down, across = block
    whole = infer(p.kernel, p.read, node.name)[0].shape
    shuffle = DepthToSpace(block, "dcr")
    n, c, height, width = x.shape
    op: Op = shuffle
    if whole != (n, c // (down * across), height * down, width * across):
        op = IndexMapped(Slice((0, 0, 0, 0), (1, 1, 1, 1), whole), ((shuffle,),))
    planes = planes_in_a_pass(node.result.type, target)
    last = assemble(
        Parts(op, (x,), (), p.epilogue, p.extras, p.dtype),
        node.layers,
        Choice("fragment", planes=planes, precision="highp"),
    )
    return replace(last, types=(node.result.type,))


def _can_run_in_blocks(node: Node) -> bool:
    """Whether a node computes blocks, or a convolution that :func:`_expand` can split."""
    kernel = parts(node).kernel
    plain = type(kernel) is Conv and is_direct(node) and not node.choice.winograd
    return isinstance(kernel, ConvBlocks) or plain


def _lower(node: Node, target: Target) -> Iterator[GpuPass]:
    p = parts(node)

    def groups() -> Iterator[BlockGroup]:
        t, pixels = node.result.type, prod(node.choice.block)
        planes, size = t.planes // pixels, node.choice.planes or 1
        every = entries_share_a_program(node)
        for n in range(t.shape[0]):
            for first in range(0, planes, size):
                own = range(first, min(first + size, planes))
                yield BlockGroup(n, own, node, node, size < planes, every, apart=planes)

    yield from lower_groups(groups(), lambda group: lower_group(node, p, group, target))


FRAGMENT_BLOCKS = Family(
    _can_run_in_blocks,
    _choices,
    _lower,
    why_not_compute,
    trips,
    program_key=convolution_key,
    expand=_expand,
)
