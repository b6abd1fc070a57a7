"""Columns back to an image: the sum of overlapping blocks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..expr import Expr, Var, parse
from ..indexing import Load, Source, add, coordinates, equal, flatten, idiv, imod, less, mul, sub
from ..nest import Nest
from ..types import TensorType
from .base import Op, require
from .window import Sizes, Window, windows


@dataclass(frozen=True)
class Col2Im(Op):
    """Add up blocks of an image where they overlap.

    y[n, c, i] = the sum of x[n, c*taps + k, o] over all taps k of all windows o of the padded
    image that lie at i; ``kernel``, ``strides``, ``dilations`` and ``pads`` as for :class:`Pool`.

    x: (N, C*taps, windows) -> y: (N, C, ``sizes``).
    Source: ONNX Col2Im-18; torch.nn.Fold.
    """

    sizes: Sizes
    kernel: Sizes
    strides: Sizes = ()
    dilations: Sizes = ()
    pads: Sizes = ()

    def windows(self) -> tuple[Window, ...]:
        """Return the windows along each axis of the image."""
        require(len(self.sizes) == len(self.kernel), "sizes and kernel differ in length")
        image = TensorType(self.sizes)
        return windows(image, self.kernel, self.strides, self.dilations, self.pads)

    def infer(self, x: TensorType) -> TensorType:
        along = self.windows()
        for w in along:
            w.check()
        taps, count = prod(self.kernel), prod(w.count for w in along)
        require(
            x.rank == 3 and x.shape[1] % taps == 0 and x.shape[2] == count,
            f"columns of shape {x.shape} for blocks of {taps} elements at {count} places",
        )
        return TensorType((x.shape[0], x.shape[1] // taps, *self.sizes))

    def reference(self, x: Any) -> Any:
        along = self.windows()
        n, channels, _ = x.shape
        blocks = x.reshape(n, -1, *self.kernel, *(w.count for w in along))
        reach = [(w.count - 1) * w.stride + w.reach for w in along]
        sizes = [max(r, w.before + w.size) for r, w in zip(reach, along, strict=True)]
        y = np.zeros((n, channels // prod(self.kernel), *sizes), x.dtype)
        for tap in product(*map(range, self.kernel)):
            at = tuple(
                slice(k * w.dilation, k * w.dilation + (w.count - 1) * w.stride + 1, w.stride)
                for k, w in zip(tap, along, strict=True)
            )
            y[(..., *at)] += blocks[(slice(None), slice(None), *tap)]
        return y[(..., *(slice(w.before, w.before + w.size) for w in along))]

    def nest(self, x: TensorType) -> Nest:
        along = self.windows()
        n, c, *place = coordinates(2 + len(along))
        taps = [Var(f"k{axis}") for axis in range(len(along))]
        blocks: list[Expr] = []
        valid: list[Expr] = []
        for i, k, w in zip(place, taps, along, strict=True):
            # Whole strides more, so that nothing that is divided is negative.
            more = -(-(w.reach - 1) // w.stride)
            distance = sub(add(i, w.before + more * w.stride), mul(k, w.dilation))
            block = sub(idiv(distance, w.stride), more)
            blocks.append(block)
            if w.stride > 1:
                valid.append(equal(imod(distance, w.stride), 0))
            valid += [less(-1, block), less(block, w.count)]
        column = add(mul(c, prod(self.kernel)), flatten(taps, self.kernel))
        index = (n, column, flatten(blocks, [w.count for w in along]))
        load = Load((Source(0, index, tuple(valid)),))
        return Nest((), self.kernel, (load,), step=parse("a + v0"))
