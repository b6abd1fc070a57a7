"""Windows as channels, which reduces the number of axes, and columns back to an image."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass, replace
from ..expr import Expr
from ..indexing import (
    Load,
    PadMode,
    Source,
    add,
    border,
    coordinates,
    equal,
    flatten,
    idiv,
    imod,
    inside,
    less,
    mul,
    sub,
)
from ..nest_builder import NestBuilder
from ..types import TensorType
from .base import Op, require
from .movement import Movement, Pad
from .window import Sizes, Window, tap_slices, windows

if TYPE_CHECKING:
    from ..nest import Nest


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
            f"columns must have shape (N, {taps} * C, {count}), not {x.shape}",
        )
        return TensorType((x.shape[0], x.shape[1] // taps, *self.sizes))

    def reference(self, x: Any) -> Any:
        along = self.windows()
        n, channels, _ = x.shape
        blocks = x.reshape(n, -1, *self.kernel, *(w.count for w in along))
        reach = [(w.count - 1) * w.stride + w.reach for w in along]
        sizes = [max(r, w.before + w.size) for r, w in zip(reach, along, strict=True)]
        y = np.zeros((n, channels // prod(self.kernel), *sizes), x.dtype)
        for tap, at in zip(product(*map(range, self.kernel)), tap_slices(along), strict=True):
            part: Any = (slice(None), slice(None), *tap)
            y[at] += blocks[part]
        image: Any = (..., *(slice(w.before, w.before + w.size) for w in along))
        return y[image]

    def nest(self, x: TensorType) -> Nest:
        along = self.windows()
        n, c, *place = coordinates(2 + len(along))
        nest = NestBuilder()
        taps = nest.loops([f"tap_{o}" for o in place], self.kernel)
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
        nest.load("value", 0, (n, column, flatten(blocks, [w.count for w in along])), valid)
        nest.add_up("total", "value")
        return nest.give("total")


@dataclass(frozen=True)
class WindowsToChannels(Movement):
    """Cut axis 2 into windows: their elements become channels, the windows become batch entries.

    y[n*windows + o, c*taps + k, ...] = x'[n, c, o*stride + k*dilation - before, ...], where x'
    continues x as :class:`Pad` does.

    x: (N, C, L, ...) -> y: (N*windows, C*taps, ...).
    """

    taps: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    pad_mode: PadMode = "constant"
    pad_value: float = 0.0

    def window(self, x: TensorType) -> Window:
        """Return the windows along axis 2."""
        return Window(x.shape[2], self.taps, self.stride, self.dilation, self.before, self.after)

    def infer(self, x: TensorType) -> TensorType:
        require(x.rank >= 3, f"windows along axis 2 need rank 3 or more, not {x.rank}")
        window = self.window(x)
        window.check()
        n, c = x.shape[:2]
        return x.of((n * window.count, c * self.taps, *x.shape[3:]))

    def reference(self, x: Any) -> Any:
        window = self.window(TensorType(x.shape))
        rest = (0,) * (x.ndim - 3)
        before, after = (0, 0, self.before, *rest), (0, 0, self.after, *rest)
        x = Pad(before, after, self.pad_mode, self.pad_value).reference(x)
        found = np.stack([x[:, :, window.tap_slice(k)] for k in range(self.taps)], 2)  # n c k o ...
        n, c, k, o, *sizes = found.shape
        return np.moveaxis(found, 3, 1).reshape(n * o, c * k, *sizes)

    def zero_filled(self) -> WindowsToChannels:
        return replace(self, pad_value=0.0)

    def load(self, x: TensorType) -> Load:
        window = self.window(x)
        batch, channel, *rest = coordinates(x.rank - 1)
        at = window.at(imod(batch, window.count), imod(channel, self.taps))
        valid: tuple[Expr, ...] = ()
        if self.pad_mode == "constant":
            valid = inside(at, window.size, self.before, self.after)
        else:
            at = border(self.pad_mode, at, window.size, self.before, self.after)
        index = (idiv(batch, window.count), idiv(channel, self.taps), at, *rest)
        return Load((Source(0, index, valid),), self.pad_value)
