"""Convolution."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass, replace
from ..expr import Expr, Num
from ..graph import apply
from ..indexing import (
    PAD_MODES,
    PadMode,
    add,
    border,
    coordinates,
    idiv,
    inside,
    mul,
)
from ..nest_builder import NestBuilder
from ..types import TensorType, shape_text
from .base import Op, require
from .columns import WindowsToChannels
from .movement import Rearrange, Reshape, moved
from .window import Sizes, Window, tap_slices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..graph import Value
    from ..nest import Nest

COLUMNS = 1 << 22  # numbers that windows read, of which copies are multiplied with the weights


@dataclass(frozen=True)
class Conv(Op):
    """Convolution in the sense of neural networks (correlation), over any number of axes.

    y[n, o, i] = b[o] + sum over c, k of w[o, c, k] * x'[n, g(o) + c, i*strides + k*dilations -
    before], where i and k have an entry for each spatial axis, g(o) is the first channel of o's
    group and x' continues x beyond its border: by ``pad_value`` in mode "constant", by the nearest
    element ("edge"), mirrored without or with the border element ("reflect", "symmetric"), or
    periodically ("wrap"). ``pads`` holds the padding before each axis, then after each axis. If
    ``zero_guard`` is not 0, every element of x that is exactly 0, padding included, is read as
    ``zero_guard``. ``enlarged`` are integer factors: x is first upsampled by repeating elements.

    x: (N, C, spatial), w: (O, C/groups, kernel), b: (O,), optional -> y: (N, O, windows).
    Source: ONNX Conv-11; padding modes as numpy.pad.
    """

    strides: Sizes = (1, 1)
    dilations: Sizes = (1, 1)
    pads: Sizes = (0, 0, 0, 0)
    groups: int = 1
    pad_mode: PadMode = "constant"
    pad_value: float = 0.0
    zero_guard: float = 0.0
    enlarged: Sizes = (1, 1)

    def seen(self, x: TensorType) -> TensorType:
        """Return the type of x after upsampling by ``enlarged``."""
        if self.enlarged == (1, 1):
            return x
        require(x.rank == 4, "the attribute 'enlarged' needs a feature map of rank 4")
        require(
            min(self.enlarged) >= 1,
            f"enlarged={self.enlarged} is not supported",
            supported="1 or more",
        )
        n, c, height, width = x.shape
        return x.of((n, c, height * self.enlarged[0], width * self.enlarged[1]))

    def windows(self, x: TensorType, w: TensorType) -> tuple[Window, ...]:
        """Return the windows along each spatial axis."""
        axes = x.rank - 2
        x = self.seen(x)
        return tuple(
            Window(*sizes)
            for sizes in zip(
                x.shape[2:],
                w.shape[2:],
                self.strides,
                self.dilations,
                self.pads[:axes],
                self.pads[axes:],
                strict=True,
            )
        )

    @property
    def positions(self) -> int:
        """The number of consecutive result rows with different weights."""
        return 1

    def packed_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of OIHW weights, the taps of which are ``packed``."""
        return shape

    def packed(self, taps: np.ndarray) -> np.ndarray:
        """Return weights (taps, ...) as the kernel reads them: transformed ones for Winograd."""
        return taps

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        check_convolution(self, x, w)
        require(len(bias) <= 1, "a convolution takes at most one bias")
        o, per_group = w.shape[:2]
        require(self.groups >= 1, f"groups={self.groups} is not supported", supported="1 or more")
        groups = f" in {self.groups} groups" if self.groups > 1 else ""
        require(
            x.shape[1] == per_group * self.groups,
            f"weights of {shape_text(w.shape)}{groups} take {per_group * self.groups} channels, "
            f"the input has {x.shape[1]}",
        )
        require(
            o % self.groups == 0, f"{o} output channels do not divide into {self.groups} groups"
        )
        require(all(b.shape == (o,) for b in bias), f"the bias must have shape ({o},)")
        require(self.pad_mode in PAD_MODES, f"unknown padding mode '{self.pad_mode}'")
        along = self.windows(x, w)
        for window in along:
            window.check()
        return TensorType((x.shape[0], o, *(window.count for window in along)))

    def taps(self, x: Any, w: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Yield each tap's index and the elements that all windows read there: (N, C, windows)."""
        along = self.windows(TensorType(x.shape), TensorType(w.shape))
        if self.enlarged != (1, 1):
            x = x.repeat(self.enlarged[0], 2).repeat(self.enlarged[1], 3)
        widths = ((0, 0), (0, 0), *((window.before, window.after) for window in along))
        if self.pad_mode == "constant":
            x = np.pad(x, widths, constant_values=self.pad_value)
        else:
            x = np.pad(x, widths, mode=self.pad_mode)
        if self.zero_guard:
            x = np.where(x == 0, x.dtype.type(self.zero_guard), x)
        for tap, at in zip(product(*map(range, w.shape[2:])), tap_slices(along), strict=True):
            yield tap, x[at]

    def reference(self, x: Any, w: Any, *bias: Any) -> Any:
        along = self.windows(TensorType(x.shape), TensorType(w.shape))
        counts = [window.count for window in along]
        taps = [xs for _, xs in self.taps(x, w)]
        kernels = w.reshape(self.groups, w.shape[0] // self.groups, -1)
        y = np.zeros((x.shape[0], w.shape[0], *counts), np.result_type(x, w))
        rows = max(1, COLUMNS // max(1, x.shape[1] * len(taps) * prod(counts[1:])))
        for first in range(0, counts[0], rows):  # all columns at once would take much memory
            part = y[:, :, first : first + rows]
            columns = np.stack([xs[:, :, first : first + rows] for xs in taps], 2)
            columns = columns.reshape(x.shape[0], self.groups, kernels.shape[2], -1)
            part[...] = (kernels @ columns).reshape(part.shape)
        return y + bias[0].reshape(-1, *(1,) * len(along)) if bias else y

    def decompose(self, x: Value, w: Value, *bias: Value) -> Value | None:
        """Compute it with the kernel for maps: a row is a map of height 1, a volume many maps."""
        axes = x.type.rank - 2
        if axes == 1:
            flat = replace(
                self,
                strides=(1, *self.strides),
                dilations=(1, *self.dilations),
                pads=(0, self.pads[0], 0, self.pads[1]),
            )
            tall, kernel = (moved(Reshape((*v.shape[:2], 1, v.shape[2])), v) for v in (x, w))
            y = apply(flat, tall, kernel, *bias)
            return apply(Reshape((*y.shape[:2], y.shape[3])), y)
        return self._map_by_map(x, w, *bias) if axes == 3 else None

    def _map_by_map(self, x: Value, w: Value, *bias: Value) -> Value:
        """Join the taps of the first axis to the channels and its windows to the batch."""
        depth = WindowsToChannels(
            w.shape[2],
            self.strides[0],
            self.dilations[0],
            self.pads[0],
            self.pads[3],
            self.pad_mode,
            self.pad_value,
        )
        flat = replace(
            self,
            strides=self.strides[1:],
            dilations=self.dilations[1:],
            pads=(*self.pads[1:3], *self.pads[4:]),
        )
        o, per_group, taps, *kernel = w.shape
        w = moved(Reshape((o, per_group * taps, *kernel)), w)
        y = apply(flat, apply(depth, x), w, *bias)
        split = (x.shape[0], y.shape[0] // x.shape[0], *y.shape[1:])
        shape = (split[0], split[2], split[1], *split[3:])
        return apply(Rearrange(split, (0, 2, 1, 3, 4), shape), y)

    def nest(self, x: TensorType, w: TensorType, *bias: TensorType) -> Nest | None:
        own = coordinates(x.rank)
        o, per_group = w.shape[:2]
        out = o // self.groups
        nest = NestBuilder()
        start = nest.load("bias", 2, (own[1],)) if bias else Num(0.0)
        own_channel = nest.loop("input_channel", per_group)
        taps = nest.loops([f"tap_{i}" for i in own[2:]], w.shape[2:])
        channel = own_channel
        if self.groups > 1:
            channel = add(mul(idiv(own[1], out), per_group), channel)
        index: list[Expr] = [own[0], channel]
        valid: list[Expr] = []
        for i, k, window in zip(own[2:], taps, self.windows(x, w), strict=True):
            at = window.at(i, k)
            if self.pad_mode == "constant":
                valid += inside(at, window.size, window.before, window.after)
            else:
                at = border(self.pad_mode, at, window.size, window.before, window.after)
            index.append(at)
        if self.enlarged != (1, 1):
            index[2:] = [idiv(at, n) for at, n in zip(index[2:], self.enlarged, strict=True)]
        nest.load("value", 0, index, valid, self.pad_value)
        nest.load("weight", 1, (own[1], own_channel, *taps))
        guard = f"where(value == 0, {self.zero_guard!r}, value)" if self.zero_guard else "value"
        nest.add_up("total", f"{guard} * weight", start)
        return nest.give("total")


def check_convolution(op: Any, x: TensorType, w: TensorType) -> None:
    """Raise SG0205 if ranks and lists of attributes do not match."""
    axes = x.rank - 2
    wrong = f"an input of rank {x.rank} needs weights of rank {x.rank}, not {w.rank}"
    if axes < 1:
        wrong = f"a convolution needs an input of rank 3 or more, not {x.rank}"
    require(axes >= 1 and w.rank == x.rank, wrong)
    require(
        len(op.strides) == len(op.dilations) == axes and len(op.pads) == 2 * axes,
        f"strides, dilations and padding do not fit a {axes}D convolution",
    )


def is_depthwise(shape: tuple[int, ...], groups: int) -> bool:
    """Whether output channel c reads only input channel c, for OIHW weights."""
    return groups > 1 and shape[1] == 1 and shape[0] == groups
