"""Pooling of regions of interest."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...records import dataclass
from ..expr import Expr, Num, Var
from ..indexing import add, clamp, coordinates
from ..nest_builder import NestBuilder
from ..types import TensorType
from .base import Op, require
from .reduction import FLOAT_MAX
from .sampling import CORNERS

if TYPE_CHECKING:
    from ..nest import Nest


@dataclass(frozen=True)
class RoiAlign(Op):
    """Pool regions of interest of a map, sampled linearly, to one size.

    A region spans (x1, y1) to (x2, y2), times ``scale``. With ``half_pixel`` one half is
    subtracted; without, the region is at least 1 x 1. The region is divided into ``sizes`` bins.
    Each bin is sampled at the centres of ``samples`` parts, or of ``counts`` parts if given. Mode
    "avg" is the mean of the samples. Mode "max" is the largest weighted neighbour of all samples,
    as in ONNX. Samples more than one element outside the map are 0.

    x: (N, C, H, W), rois: (R, 4) as x1, y1, x2, y2, batch: (R,) of integers, counts: (R, 2) of
    integers, optional: down and across -> y: (R, C, *sizes).
    Source: ONNX RoiAlign-22 and its reference implementation.
    """

    sizes: tuple[int, int]
    samples: tuple[int, int]
    scale: float = 1.0
    mode: Literal["avg", "max"] = "avg"
    half_pixel: bool = True

    def infer(
        self, x: TensorType, rois: TensorType, batch: TensorType, *counts: TensorType
    ) -> TensorType:
        require(x.rank == 4, "RoiAlign needs a tensor of rank 4")
        require(
            rois.rank == 2 and rois.shape[1] == 4 and batch.shape == rois.shape[:1],
            f"RoiAlign needs regions of shape Nx4 and N batch indices, not shapes {rois.shape} and "
            f"{batch.shape}",
        )
        require(
            len(counts) <= 1 and all(t.shape == (rois.shape[0], 2) for t in counts),
            "the counts of samples must be pairs, one pair for each region",
        )
        require(min(*self.sizes, *self.samples) >= 1, "sizes and samples must be 1 or more")
        require(self.mode in ("avg", "max"), f"unknown mode '{self.mode}'")
        return x.of((rois.shape[0], x.shape[1], *self.sizes))

    def reference(self, x: Any, rois: Any, batch: Any, *counts: Any) -> Any:
        result = np.zeros((len(rois), x.shape[1], *self.sizes), x.dtype)
        for r, (roi, n) in enumerate(zip(rois, np.asarray(batch).astype(int), strict=True)):
            start = roi[1::-1] * self.scale - 0.5 * self.half_pixel
            extent = (roi[:1:-1] - roi[1::-1]) * self.scale
            if not self.half_pixel:
                extent = np.maximum(extent, 1)
            samples = [int(c) for c in counts[0][r]] if counts else list(self.samples)
            if min(samples) < 1:
                continue
            corners = []  # for each axis: elements (bin, sample, corner) and their weights
            for axis in range(2):
                size = x.shape[2 + axis]
                places = np.arange(self.sizes[axis] * samples[axis]) + 0.5
                p = start[axis] + places * extent[axis] / self.sizes[axis] / samples[axis]
                outside = (p < -1) | (p > size)
                p = np.clip(p, 0, size - 1)
                low = np.floor(p).astype(int)
                weight = np.stack([1 - (p - low), p - low]) * ~outside
                corners.append((np.stack([low, np.minimum(low + 1, size - 1)]), weight))
            (iy, wy), (ix, wx) = corners
            parts = x[n][:, iy[:, :, np.newaxis, np.newaxis], ix[np.newaxis, np.newaxis]]
            parts = parts * wy[:, :, np.newaxis, np.newaxis] * wx[np.newaxis, np.newaxis]
            whole = parts.sum((1, 3)) if self.mode == "avg" else parts.max((1, 3))
            bins = whole.reshape(-1, self.sizes[0], samples[0], self.sizes[1], samples[1])
            result[r] = bins.mean((2, 4)) if self.mode == "avg" else bins.max((2, 4))
        return result

    def nest(self, x: TensorType, rois: TensorType, batch: TensorType, *counts: TensorType) -> Nest:
        region, channel, *bins = coordinates(4)
        nest = NestBuilder()
        entry = nest.load("entry", 2, (region,))
        samples = [str(n) for n in self.samples]
        shift = 0.5 if self.half_pixel else 0.0
        for axis, o in enumerate(bins):
            nest.load(f"region_first_{o}", 1, (region, Num(1.0 - axis)))
            nest.load(f"region_last_{o}", 1, (region, Num(3.0 - axis)))
            nest.bind(f"start_{o}", f"region_first_{o} * {self.scale!r} - {shift!r}")
            extent = f"(region_last_{o} - region_first_{o}) * {self.scale!r}"
            extent = extent if self.half_pixel else f"max({extent}, 1)"
            nest.bind(f"bin_{o}", f"{extent} / {self.sizes[axis]}")
            if counts:
                samples[axis] = nest.load(f"samples_{o}", 3, (region, Num(float(axis)))).name
        counters = nest.loops([f"sample_{o}" for o in bins], self.samples)
        for o, k, n, size in zip(bins, counters, samples, x.shape[2:], strict=True):
            nest.bind(f"place_{o}", f"start_{o} + ({o} + ({k} + 0.5) / {n}) * bin_{o}")
            nest.bind(f"inside_{o}", f"clamp(place_{o}, 0, {size - 1})")
            nest.bind(f"below_{o}", f"floor(inside_{o})")
            nest.bind(f"share_{o}", f"inside_{o} - below_{o}")
        _corners(nest, x, entry, channel)
        parts = [
            f"{down} * {across} * {name}"
            for name, (down, across) in zip(
                CORNERS,
                product(("(1 - share_row)", "share_row"), ("(1 - share_column)", "share_column")),
                strict=True,
            )
        ]
        height, width = x.shape[2:]
        there = (
            f"(-1 <= place_row) * (place_row <= {height})"
            f" * (-1 <= place_column) * (place_column <= {width})"
        )
        counted = " * ".join(f"({k} < {n})" for k, n in zip(counters, samples, strict=True))
        if self.mode == "avg":
            taken = f"{there} * {counted}" if counts else there
            nest.add_up("total", f"where({taken}, {' + '.join(parts)}, 0)")
            return nest.give(f"total / max({samples[0]} * {samples[1]}, 1)")
        largest = f"max(max({parts[0]}, {parts[1]}), max({parts[2]}, {parts[3]}))"
        step = f"max(maximum, where({there}, {largest}, 0))"
        if counts:
            step = f"where({counted}, {step}, maximum)"
        maximum = nest.accumulate("maximum", step, Num(-FLOAT_MAX))
        if not counts:
            return nest.give(maximum)
        return nest.give(f"where((0.5 < {samples[0]}) * (0.5 < {samples[1]}), maximum, 0)")


def _corners(nest: NestBuilder, x: TensorType, entry: Expr, channel: Expr) -> None:
    """Bind the four elements around a sample."""
    for name, (dy, dx) in zip(CORNERS, product((0, 1), repeat=2), strict=True):
        row = clamp(add(Var("below_row"), dy), 0, x.shape[2] - 1)
        column = clamp(add(Var("below_column"), dx), 0, x.shape[3] - 1)
        nest.load(name, 0, (entry, channel, row, column))
