"""A convolution's weights, cut into tiles of four output channels.

A tile is one tap, one input plane and one output plane: columns of four output channels, one for
each input channel. Rows of a pass's weights are ordered by tap, input plane, output plane, column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ir.ops.convolution import is_depthwise
from ...ir.types import LANES
from ...passes.placement.kinds import input_planes


@dataclass(frozen=True)
class Tiles:
    """How a pass's weights are cut into tiles of one tap, one input plane and one output plane.

    Attributes:
        first: for each output plane of the pass, the first input plane it reads.
        shape: taps, input planes, output planes, columns, 4 output lanes.
        diagonal: depthwise: the only column multiplies lane by lane.
    """

    first: tuple[int, ...]
    shape: tuple[int, int, int, int, int]
    diagonal: bool

    @property
    def full(self) -> bool:
        """Whether every tile is a matrix."""
        return self.shape[3] == LANES and not self.diagonal


def plan_tiles(shape: tuple[int, ...], groups: int, planes: range) -> Tiles:
    """Plan the tiles that some output planes need of weights of ``shape``, OIHW."""
    _, per_group, kh, kw = shape
    taps, width = kh * kw, min(LANES, per_group * groups)
    if is_depthwise(shape, groups):
        return Tiles(tuple(planes), (taps, 1, len(planes), 1, LANES), True)
    planes_in = -(-per_group * groups // LANES)
    if groups == 1:
        first, blocks = (0,) * len(planes), planes_in
    else:
        reads = [input_planes(shape, groups, plane) for plane in planes]
        blocks = max(map(len, reads))
        first = tuple(min(r.start, planes_in - blocks) for r in reads)  # no tile past the end
    return Tiles(first, (taps, blocks, len(planes), width, LANES), False)


def cut_weights(w: np.ndarray, groups: int, planes: range) -> np.ndarray:
    """Cut weights (OIHW, I for each group) into the planned tiles."""
    tiles = plan_tiles(w.shape, groups, planes)
    o, per_group, kh, kw = w.shape
    taps = np.moveaxis(w.reshape(o, per_group, kh * kw), 2, 0)  # tap, o, i
    if groups == 1:
        return _cut_dense(taps, planes)
    columns = np.zeros(tiles.shape, np.float32)
    out_per_group = o // groups
    for k, plane in enumerate(planes):
        channels = slice(plane * LANES, min((plane + 1) * LANES, o))
        if tiles.diagonal:
            columns[:, 0, k, 0, : channels.stop - channels.start] = taps[:, channels, 0]
            continue
        for lane, out in enumerate(range(channels.start, channels.stop)):
            start = out // out_per_group * per_group - tiles.first[k] * LANES
            for i in range(per_group):
                block, column = divmod(start + i, LANES)
                columns[:, block, k, column, lane] = taps[:, out, i]
    return columns


def _cut_dense(taps: np.ndarray, planes: range) -> np.ndarray:
    """Cut the weights of an ungrouped convolution, (tap, o, i), into tiles: padding and views."""
    count, o, i = taps.shape
    width = min(LANES, i)
    blocks = -(-i // width)
    some = taps[:, planes[0] * LANES : min((planes[-1] + 1) * LANES, o)]
    padded = np.zeros((count, len(planes) * LANES, blocks * width), np.float32)
    padded[:, : some.shape[1], :i] = some
    tiles = padded.reshape(count, len(planes), LANES, blocks, width)
    return np.ascontiguousarray(tiles.transpose(0, 3, 1, 4, 2))
