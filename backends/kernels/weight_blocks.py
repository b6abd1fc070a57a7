"""Weight blocks: a convolution's weights in the order in which its kernel reads them.

A block holds the weights of one tap, one input plane and one output plane: a column of four output
channels for each input channel. Rows are ordered by tap, input plane, output plane, column.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...ir.ops import Conv
from ...ir.ops.convolution import is_depthwise
from ...ir.types import LANES
from ...passes.kernel_ops import parts
from ...passes.placement.kinds import input_planes
from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...ir.graph import Node


@dataclass(frozen=True)
class WeightBlocks:
    """The shape of a GPU pass's weight blocks.

    Attributes:
        first: the first input plane that each output plane reads.
        shape: taps, input planes, output planes, columns, 4 output lanes.
        diagonal: depthwise; the only column multiplies lane by lane.
    """

    first: tuple[int, ...]
    shape: tuple[int, int, int, int, int]
    diagonal: bool

    @property
    def full(self) -> bool:
        """Whether every block is a 4x4 matrix."""
        return self.shape[3] == LANES and not self.diagonal


@lru_cache(maxsize=4096)
def plan_blocks(shape: tuple[int, ...], groups: int, planes: range) -> WeightBlocks:
    """Plan the blocks of some output planes for OIHW weights of ``shape``."""
    _, per_group, kh, kw = shape
    taps, width = kh * kw, min(LANES, per_group * groups)
    if is_depthwise(shape, groups):
        return WeightBlocks(tuple(planes), (taps, 1, len(planes), 1, LANES), True)
    planes_in = -(-per_group * groups // LANES)
    if groups == 1:
        first, depth = (0,) * len(planes), planes_in
    else:
        reads = [input_planes(shape, groups, plane) for plane in planes]
        depth = max(map(len, reads))
        first = tuple(min(r.start, planes_in - depth) for r in reads)  # no block past the end
    return WeightBlocks(first, (taps, depth, len(planes), width, LANES), False)


def weight_floats(node: Node, planes: int) -> int:
    """Return how many floats of weights a GPU pass over so many planes of a convolution reads."""
    p = parts(node)
    assert isinstance(p.kernel, Conv)
    shape = p.kernel.packed_shape(p.operands[1].shape)
    every = plan_blocks(shape, p.kernel.groups, range(node.result.type.planes))
    taps, blocks, _, width, lanes = every.shape
    return taps * blocks * planes * width * lanes


def cut_weights(w: np.ndarray, groups: int, planes: range) -> np.ndarray:
    """Cut weights (OIHW, I of one group) into the planned blocks."""
    if groups == 1:
        return _cut_dense(w, planes)
    blocks = plan_blocks(w.shape, groups, planes)
    o, per_group, kh, kw = w.shape
    taps = np.moveaxis(w.reshape(o, per_group, kh * kw), 2, 0)  # tap, o, i
    columns = np.zeros(blocks.shape, np.float32)
    if blocks.diagonal:
        some = taps[:, planes[0] * LANES : (planes[-1] + 1) * LANES, 0]
        columns.reshape(kh * kw, -1)[:, : some.shape[1]] = some
        return columns
    out_per_group = o // groups
    for k, plane in enumerate(planes):
        channels = slice(plane * LANES, min((plane + 1) * LANES, o))
        for lane, out in enumerate(range(channels.start, channels.stop)):
            start = out // out_per_group * per_group - blocks.first[k] * LANES
            for i in range(per_group):
                block, column = divmod(start + i, LANES)
                columns[:, block, k, column, lane] = taps[:, out, i]
    return columns


def _cut_dense(w: np.ndarray, planes: range) -> np.ndarray:
    """Cut ungrouped weights, OIHW, into blocks; one copy unless channels have to be padded."""
    _, i, kh, kw = w.shape
    width = min(LANES, i)
    depth = -(-i // width)
    some = w[planes[0] * LANES : (planes[-1] + 1) * LANES]
    missing = len(planes) * LANES - len(some), depth * width - i
    if any(missing):
        some = np.pad(some, ((0, missing[0]), (0, missing[1]), (0, 0), (0, 0)))
    blocks = some.reshape(len(planes), LANES, depth, width, kh * kw)
    return np.ascontiguousarray(blocks.transpose(4, 2, 0, 3, 1), np.float32)


def rows_of(
    data: np.ndarray,
    groups: int,
    size: int,
    every: int,
    first: int = 0,
    in_turn: bool = False,
    packed: Callable[[np.ndarray], np.ndarray] = lambda taps: taps,
) -> Iterator[np.ndarray]:
    """Yield the rows of weights that a GPU pass reads, those of an invocation at a time.

    Args:
        data: the weights, OIHW.
        groups: of the convolution.
        size: planes of an invocation.
        every: planes of the pass.
        first: the first plane of the pass.
        in_turn: order an invocation's rows by column, then plane; otherwise by plane, then column.
        packed: ``Conv.packed`` of the convolution, applied to the blocks of an invocation.
    """
    for start in range(first, first + every, size):
        cut = cut_weights(data, groups, range(start, start + size))
        yield packed(cut.swapaxes(2, 3) if in_turn else cut).reshape(-1, LANES)
