"""Pooling of regions of interest."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from ..expr import Num, Var, substitute
from ..formula_parser import parse
from ..indexing import Load, Source, add, clamp, coordinates
from ..nest import Binding, Nest
from ..types import TensorType
from .base import Op, require
from .reduction import FLOAT_MAX


@dataclass(frozen=True)
class RoiAlign(Op):
    """Pool regions of interest of a map, sampled linearly, to one size.

    A region reaches from (x1, y1) to (x2, y2), times ``scale``, minus one half with
    ``half_pixel``; without, it is at least 1 x 1. It is divided into ``sizes`` bins and each bin
    sampled at the middles of ``samples`` parts, or as many of them as ``counts`` has for it. Mode
    "avg" is the mean of the samples; "max" is the largest of what any of the four elements around
    a sample adds to it. Samples more than one element outside the map are 0.

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
        require(x.rank == 4, "regions of interest are those of a tensor of rank 4")
        require(
            rois.rank == 2 and rois.shape[1] == 4 and batch.shape == rois.shape[:1],
            "regions of interest are rows of 4 numbers, with a batch entry for each",
        )
        require(
            len(counts) <= 1 and all(t.shape == (rois.shape[0], 2) for t in counts),
            "counts of samples are pairs, one for each region",
        )
        require(min(*self.sizes, *self.samples) >= 1, "sizes and samples start at 1")
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
        """Bind the batch entry, then start, bin size and samples down, and the same across."""
        r, c, _, _ = coordinates(4)
        outer: list[Binding] = [Load((Source(2, (r,)),))]
        inner: list[Binding] = []
        shift = 0.5 if self.half_pixel else 0.0
        least = "" if self.half_pixel else "max"
        for axis in range(2):
            first, last, start, extent, count = (Var(f"u{len(outer) + k}") for k in range(5))
            outer += [
                Load((Source(1, (r, Num(float(1 - axis)))),)),
                Load((Source(1, (r, Num(float(3 - axis)))),)),
                parse(f"{first} * {self.scale!r} - {shift!r}"),
                parse(f"{least}(({last} - {first}) * {self.scale!r}{', 1' if least else ''})"),
            ]
            if counts:
                outer.append(Load((Source(3, (r, Num(float(axis)))),)))
            else:
                outer.append(Num(float(self.samples[axis])))
            size = x.shape[2 + axis]
            bin_size = f"{extent} / {self.sizes[axis]}"
            place = f"{start} + (o{2 + axis} + (k{axis} + 0.5) / {count}) * ({bin_size})"
            v = len(inner)
            inner += [
                parse(place),
                parse(f"clamp(v{v}, 0, {size - 1})"),
                parse(f"floor(v{v + 1})"),
                parse(f"(-1 <= v{v}) * (v{v} <= {size}) * (k{axis} < {count})"),
            ]
        for dy, dx in product((0, 1), repeat=2):
            index = (
                Var("u0"),
                c,
                clamp(add(Var("v2"), dy), 0, x.shape[2] - 1),
                clamp(add(Var("v6"), dx), 0, x.shape[3] - 1),
            )
            inner.append(Load((Source(0, index),)))
        names = {"fy": parse("v1 - v2"), "fx": parse("v5 - v6"), "there": parse("v3 * v7")}
        names["counted"] = parse("(k0 < u5) * (k1 < u10)")
        names["some"] = parse("(0.5 < u5) * (0.5 < u10)")
        corners = [
            f"{wy} * {wx} * v{8 + k}"
            for k, (wy, wx) in enumerate(product(("(1 - fy)", "fy"), ("(1 - fx)", "fx")))
        ]
        if self.mode == "avg":
            step = f"a + where(there, {' + '.join(corners)}, 0)"
            lowest, finish = 0.0, "a / max(u5 * u10, 1)"
        else:
            largest = f"max(max({corners[0]}, {corners[1]}), max({corners[2]}, {corners[3]}))"
            step = f"where(counted, max(a, where(there, {largest}, 0)), a)"
            lowest, finish = -FLOAT_MAX, "where(some, a, 0)"
        return Nest(
            tuple(outer),
            self.samples,
            tuple(inner),
            Num(lowest),
            substitute(parse(step), names),
            substitute(parse(finish), names),
        )
