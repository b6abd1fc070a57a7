"""Transposed convolution."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass, replace
from ..dimensions import largest
from ..formula_parser import parse
from ..graph import Constant, apply, constant
from ..types import MAP_RANK, TensorType, shape_text
from .base import Op, require
from .convolution import Conv, check_convolution
from .movement import DepthToSpace, Pad, Rearrange, Reshape, Slice, moved
from .pointwise import Pointwise
from .window import Sizes

if TYPE_CHECKING:
    from ..graph import Value


@dataclass(frozen=True)
class ConvTranspose(Op):
    """Transposed convolution over any axes: a convolution's gradient with respect to its input.

    y[n, o, i*strides + k*dilations - before] += x[n, c, i] * w[c, o, k], plus b[o], where i and k
    have an entry for each spatial axis; c and o are of one group. ``pads`` holds the
    elements cropped before each axis, then after each axis; negative numbers add elements, which
    hold only the bias.

    x: (N, C, spatial), w: (C, O/groups, kernel), b: (O,), optional -> y: (N, O, spatial') with
    spatial' = (spatial - 1)*strides + (kernel - 1)*dilations + 1 - before - after + output_padding.
    Source: ONNX ConvTranspose-11.
    """

    strides: Sizes = (1, 1)
    dilations: Sizes = (1, 1)
    pads: Sizes = (0, 0, 0, 0)
    output_padding: Sizes = (0, 0)
    groups: int = 1

    def _full(self, x: Sizes, w: Sizes) -> Sizes:
        """Return the spatial sizes before cropping and output padding."""
        return tuple(
            (size - 1) * s + (k - 1) * d + 1
            for size, k, s, d in zip(x[2:], w[2:], self.strides, self.dilations, strict=True)
        )

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        check_convolution(self, x, w)
        axes = x.rank - 2
        require(len(bias) <= 1, "a convolution takes at most one bias")
        c = x.shape[1]
        require(
            w.shape[0] == c,
            f"weights of {shape_text(w.shape)} take {w.shape[0]} channels, the input has {c}",
        )
        require(
            self.groups >= 1 and c % self.groups == 0,
            f"{c} input channels do not divide into {self.groups} groups",
        )
        o = w.shape[1] * self.groups
        require(all(b.shape == (o,) for b in bias), f"the bias must have shape ({o},)")
        require(min(*self.strides, *self.dilations) >= 1, "strides and dilations must be 1 or more")
        require(len(self.output_padding) == axes, f"output padding needs {axes} entries")
        require(min(self.output_padding) >= 0, "output padding must not be negative")
        size = tuple(
            full - before - after + extra
            for full, before, after, extra in zip(
                self._full(x.shape, w.shape),
                self.pads[:axes],
                self.pads[axes:],
                self.output_padding,
                strict=True,
            )
        )
        require(
            all(s >= 1 for s in size),
            f"the padding is too large: the result would have size {'x'.join(map(str, size))}",
        )
        return TensorType((x.shape[0], o, *size))

    def reference(self, x: Any, w: Any, *bias: Any) -> Any:
        n, c = x.shape[:2]
        o, *kernel = w.shape[1:]
        y = np.zeros((n, o * self.groups, *self._full(x.shape, w.shape)), np.result_type(x, w))
        per_group = c // self.groups
        for g, *tap in product(range(self.groups), *map(range, kernel)):
            channels = slice(g * per_group, (g + 1) * per_group)
            at = (
                slice(k * d, k * d + (size - 1) * s + 1, s)
                for k, size, s, d in zip(
                    tap, x.shape[2:], self.strides, self.dilations, strict=True
                )
            )
            part: Any = (channels, slice(None), *tap)
            whole: Any = (slice(None), slice(g * o, (g + 1) * o), *at)
            y[whole] += np.moveaxis(np.tensordot(w[part], x[:, channels], axes=(0, 1)), 0, 1)
        axes = len(kernel)
        after = [a - e for a, e in zip(self.pads[axes:], self.output_padding, strict=True)]
        frame = list(zip(self.pads[:axes], after, strict=True))
        y = np.pad(y, ((0, 0), (0, 0), *((max(-b, 0), max(-a, 0)) for b, a in frame)))
        inside = tuple(
            slice(max(b, 0), size - max(a, 0))
            for (b, a), size in zip(frame, y.shape[2:], strict=True)
        )
        cut: Any = (slice(None), slice(None), *inside)
        y = y[cut]
        return y + bias[0].reshape(-1, *(1,) * axes) if bias else y

    def decompose(self, x: Value, w: Value, *bias: Value) -> Value:
        """Compute the phases of the result as channels of one convolution, then interleave them.

        Phase r of y along an axis, y[q*s + r] before cropping, only depends on the taps
        w[r + s*j], at x[q - j]: a convolution with a kernel of ceil(reach / s) taps, flipped.
        """
        if x.type.rank == MAP_RANK - 1:
            return self._in_two_dimensions(x, w, *bias)
        y = self.infer(x.type, w.type, *(b.type for b in bias))
        axes = x.type.rank - 2
        before = self.pads[:axes]
        kernel, taps = self._phases(w)
        phases = prod(self.strides)
        # Positions q from first on; those before 0 and after the last hold the bias alone.
        first = tuple(-largest(-(b // s), 0) for b, s in zip(before, self.strides, strict=True))
        last = tuple(
            largest(-(-(b + size) // s), n)
            for b, size, s, n in zip(before, y.shape[2:], self.strides, x.shape[2:], strict=True)
        )
        conv = Conv(
            (1,) * axes,
            (1,) * axes,
            (
                *(j - 1 - q for j, q in zip(taps, first, strict=True)),
                *(q - n for q, n in zip(last, x.shape[2:], strict=True)),
            ),
            self.groups,
        )
        known = [
            constant(np.repeat(b.data, phases), b.name) for b in bias if isinstance(b, Constant)
        ]
        result = self._interleaved(apply(conv, x, kernel, *known), y.shape[1])
        starts = (0, 0, *(b - q * s for b, q, s in zip(before, first, self.strides, strict=True)))
        result = apply(Slice(starts, (1,) * x.type.rank, y.shape), result)
        if bias and not known:
            column = apply(Reshape((y.shape[1], *(1,) * axes)), bias[0])
            result = apply(Pointwise(parse("x0 + x1")), result, column)
        return result

    def _in_two_dimensions(self, x: Value, w: Value, *bias: Value) -> Value:
        flat = replace(
            self,
            strides=(1, *self.strides),
            dilations=(1, *self.dilations),
            pads=(0, self.pads[0], 0, self.pads[1]),
            output_padding=(0, *self.output_padding),
        )
        tall, kernel = (moved(Reshape((*v.shape[:2], 1, v.shape[2])), v) for v in (x, w))
        y = apply(flat, tall, kernel, *bias)
        return apply(Reshape((*y.shape[:2], y.shape[3])), y)

    def _phases(self, w: Value) -> tuple[Value, Sizes]:
        """Return the weights of the phases' convolution, (O * phases, C/groups, taps), and taps."""
        c, per_group, *sizes = w.shape
        axes = len(sizes)
        if max(self.dilations) > 1:  # the holes of a dilated kernel become zeros of the kernel
            w = moved(Reshape((c * per_group, *(n for k in sizes for n in (k, 1)))), w)
            after = tuple(n for d in self.dilations for n in (0, d - 1))
            w = moved(Pad((0,) * w.type.rank, (0, *after)), w)
            sizes = [k * d for k, d in zip(sizes, self.dilations, strict=True)]
            w = moved(Reshape((c, per_group, *sizes)), w)
            sizes = [n - d + 1 for n, d in zip(sizes, self.dilations, strict=True)]
            w = moved(Slice((0,) * w.type.rank, (1,) * w.type.rank, (c, per_group, *sizes)), w)
        taps = tuple(-(-k // s) for k, s in zip(sizes, self.strides, strict=True))
        missing = (j * s - k for j, s, k in zip(taps, self.strides, sizes, strict=True))
        w = moved(Pad((0,) * w.type.rank, (0, 0, *missing)), w)
        split = (
            self.groups,
            c // self.groups,
            per_group,
            *(n for j, s in zip(taps, self.strides, strict=True) for n in (j, s)),
        )
        tap_axes = tuple(3 + 2 * a for a in range(axes))
        order = (0, 2, *(a + 1 for a in tap_axes), 1, *tap_axes)
        o = self.groups * per_group * prod(self.strides)
        shape = (o, c // self.groups, *taps)
        w = moved(Rearrange(split, order, shape), w)
        starts = (0, 0, *(j - 1 for j in taps))
        return moved(Slice(starts, (1, 1, *(-1,) * axes), shape), w), taps

    def _interleaved(self, phases: Value, channels: int) -> Value:
        """Turn the channels of phases, (O, phases), into space."""
        if set(self.strides) == {1}:
            return phases
        n, _, *sizes = phases.shape
        axes = len(sizes)
        if axes == 2:
            return apply(DepthToSpace((self.strides[0], self.strides[1]), "crd"), phases)
        split = (n, channels, *self.strides, *sizes)
        order = (0, 1, *(a for k in range(axes) for a in (2 + axes + k, 2 + k)))
        shape = (n, channels, *(q * s for q, s in zip(sizes, self.strides, strict=True)))
        return apply(Rearrange(split, order, shape), phases)
