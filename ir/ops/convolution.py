"""Convolution and transposed convolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..graph import apply, constant
from ..indexing import PAD_MODES, PadMode
from ..types import TensorType
from .base import Array, Op, require
from .movement import DepthToSpace, Slice

if TYPE_CHECKING:
    from ..graph import Constant, Value

Pads = tuple[int, int, int, int]  # top, left, bottom, right
Pair = tuple[int, int]  # y, x


@dataclass(frozen=True)
class Conv(Op):
    """Convolution in the sense of neural networks (correlation).

    y[n, o, i, j] = b[o] + sum over c, k, l of
        w[o, c, k, l] * x'[n, g(o) + c, i*sy + k*dy - top, j*sx + l*dx - left],
    where g(o) is the first channel of o's group and x' continues x beyond its border: by
    ``pad_value`` in mode "constant", by the nearest element ("edge"), mirrored without or with
    the border element ("reflect", "symmetric"), or periodically ("wrap"). With ``zero_guard`` not
    0, every element of x that is exactly 0, padding included, is read as ``zero_guard``.

    x: (N, C, H, W), w: (O, C/groups, kh, kw), b: (O,), optional -> y: (N, O, H', W').
    Source: ONNX Conv-11; padding modes as numpy.pad.
    """

    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    groups: int = 1
    pad_mode: PadMode = "constant"
    pad_value: float = 0.0
    zero_guard: float = 0.0

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        require(x.rank == 4 and w.rank == 4, "a convolution takes x of rank 4 and w of rank 4")
        require(len(bias) <= 1, "a convolution takes at most one bias")
        n, c, height, width = x.shape
        o, per_group, kh, kw = w.shape
        require(
            c == per_group * self.groups and o % self.groups == 0,
            f"{c} input and {o} output channels do not fit {self.groups} groups of {per_group}",
        )
        require(all(b.shape == (o,) for b in bias), f"the bias must have shape ({o},)")
        require(min(*self.strides, *self.dilations) >= 1, "strides and dilations start at 1")
        require(min(self.pads) >= 0, "negative padding")
        require(self.pad_mode in PAD_MODES, f"unknown padding mode '{self.pad_mode}'")
        top, left, bottom, right = self.pads
        size = []
        for length, k, s, d in (
            (height + top + bottom, kh, self.strides[0], self.dilations[0]),
            (width + left + right, kw, self.strides[1], self.dilations[1]),
        ):
            reach = (k - 1) * d + 1
            require(
                length >= reach,
                f"the kernel reaches over {reach} elements, the padded input has {length}",
            )
            size.append((length - reach) // s + 1)
        return TensorType((n, o, size[0], size[1]))

    def reference(self, x: Array, w: Array, *bias: Array) -> Array:
        top, left, bottom, right = self.pads
        widths = ((0, 0), (0, 0), (top, bottom), (left, right))
        if self.pad_mode == "constant":
            x = np.pad(x, widths, constant_values=self.pad_value)
        else:
            x = np.pad(x, widths, mode=self.pad_mode)
        if self.zero_guard:
            x = np.where(x == 0, x.dtype.type(self.zero_guard), x)
        _, _, kh, kw = w.shape
        (sy, sx), (dy, dx) = self.strides, self.dilations
        height = (x.shape[2] - (kh - 1) * dy - 1) // sy + 1
        width = (x.shape[3] - (kw - 1) * dx - 1) // sx + 1
        y = np.zeros((x.shape[0], w.shape[0], height, width), np.result_type(x, w))
        per_group, out = w.shape[1], w.shape[0] // self.groups
        for g in range(self.groups):
            xs = x[:, g * per_group : (g + 1) * per_group]
            for k in range(kh):
                for m in range(kw):
                    rows = slice(k * dy, k * dy + (height - 1) * sy + 1, sy)
                    columns = slice(m * dx, m * dx + (width - 1) * sx + 1, sx)
                    taps = w[g * out : (g + 1) * out, :, k, m]
                    y[:, g * out : (g + 1) * out] += np.moveaxis(
                        np.tensordot(taps, xs[:, :, rows, columns], axes=(1, 1)), 0, 1
                    )
        return y + bias[0].reshape(1, -1, 1, 1) if bias else y


@dataclass(frozen=True)
class ConvTranspose(Op):
    """Transposed convolution, the gradient of a convolution by its input.

    y[n, o, i*sy + k*dy - top, j*sx + l*dx - left] += x[n, c, i, j] * w[c, o, k, l], plus b[o].

    x: (N, C, H, W), w: (C, O/groups, kh, kw), b: (O,), optional -> y: (N, O, H', W') with
    H' = (H - 1)*sy + (kh - 1)*dy + 1 - top - bottom + output_padding.
    Source: ONNX ConvTranspose-11.
    """

    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    output_padding: Pair = (0, 0)
    groups: int = 1

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        require(x.rank == 4 and w.rank == 4, "a convolution takes x of rank 4 and w of rank 4")
        require(len(bias) <= 1, "a convolution takes at most one bias")
        n, c, height, width = x.shape
        require(
            w.shape[0] == c and c % self.groups == 0,
            f"{c} input channels do not fit weights for {w.shape[0]} in {self.groups} groups",
        )
        o = w.shape[1] * self.groups
        require(all(b.shape == (o,) for b in bias), f"the bias must have shape ({o},)")
        require(min(*self.strides, *self.dilations) >= 1, "strides and dilations start at 1")
        require(min(*self.pads, *self.output_padding) >= 0, "negative padding")
        top, left, bottom, right = self.pads
        size = tuple(
            (length - 1) * s + (k - 1) * d + 1 - p + e
            for length, s, k, d, p, e in zip(
                (height, width),
                self.strides,
                w.shape[2:],
                self.dilations,
                (top + bottom, left + right),
                self.output_padding,
                strict=True,
            )
        )
        require(min(size) >= 1, f"the padding leaves a result of {size[0]}x{size[1]}")
        return TensorType((n, o, *size))

    def reference(self, x: Array, w: Array, *bias: Array) -> Array:
        n, c, height, width = x.shape
        o, kh, kw = w.shape[1:]
        (sy, sx), (dy, dx) = self.strides, self.dilations
        top, left, bottom, right = self.pads
        tall = (height - 1) * sy + (kh - 1) * dy + 1 + self.output_padding[0]
        wide = (width - 1) * sx + (kw - 1) * dx + 1 + self.output_padding[1]
        y = np.zeros((n, o * self.groups, tall, wide), np.result_type(x, w))
        per_group = c // self.groups
        for g in range(self.groups):
            channels = slice(g * per_group, (g + 1) * per_group)
            for k in range(kh):
                for m in range(kw):
                    rows = slice(k * dy, k * dy + (height - 1) * sy + 1, sy)
                    columns = slice(m * dx, m * dx + (width - 1) * sx + 1, sx)
                    y[:, g * o : (g + 1) * o, rows, columns] += np.einsum(
                        "ncij,co->noij", x[:, channels], w[channels, :, k, m], optimize=True
                    )
        y = y[:, :, top : tall - bottom, left : wide - right]
        return y + bias[0].reshape(1, -1, 1, 1) if bias else y

    def decompose(self, x: Value, w: Value, *bias: Value) -> Value:
        """Compute the s*s phases of the result as channels of one convolution, then shuffle.

        Phase r of y, y[q*s + r], only sees the taps w[r + s*j], at x[q - j]: a convolution with
        a kernel of ceil(k / s) taps, flipped.
        """
        data = _dilate(_known(w, "w"), self.dilations)
        n, o, tall, wide = self.infer(x.type, w.type, *(b.type for b in bias)).shape
        c, per_group = data.shape[:2]
        sy, sx = self.strides
        jy, jx = (-(-k // s) for k, s in zip(data.shape[2:], self.strides, strict=True))
        padded = np.zeros((c, per_group, jy * sy, jx * sx), data.dtype)
        padded[:, :, : data.shape[2], : data.shape[3]] = data
        phases = padded.reshape(self.groups, c // self.groups, per_group, jy, sy, jx, sx)
        phases = phases[:, :, :, ::-1, :, ::-1, :].transpose(0, 2, 4, 6, 1, 3, 5)  # g o r r c j j
        kernel = phases.reshape(o * sy * sx, c // self.groups, jy, jx)
        top, left = self.pads[:2]
        qy = max(-(-(top + tall) // sy), x.shape[2])
        qx = max(-(-(left + wide) // sx), x.shape[3])
        conv = Conv(pads=(jy - 1, jx - 1, qy - x.shape[2], qx - x.shape[3]), groups=self.groups)
        operands: list[Value] = [x, constant(kernel, w.name)]
        if bias:
            operands.append(constant(np.repeat(_known(bias[0], "bias"), sy * sx), bias[0].name))
        y = apply(conv, *operands)
        if (sy, sx) != (1, 1):
            y = apply(DepthToSpace((sy, sx), "crd"), y)
        return apply(Slice((0, 0, top, left), (1, 1, 1, 1), (n, o, tall, wide)), y)


def _known(value: Value, role: str) -> np.ndarray:
    from ..graph import Constant

    require(isinstance(value, Constant), f"{role} must be known at compile time")
    known: Constant = value  # type: ignore[assignment]
    return known.data


def _dilate(w: np.ndarray, dilations: Pair) -> np.ndarray:
    """Put the holes of a dilated kernel into the kernel."""
    kh, kw = ((k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True))
    if (kh, kw) == w.shape[2:]:
        return w
    holes = np.zeros((*w.shape[:2], kh, kw), w.dtype)
    holes[:, :, :: dilations[0], :: dilations[1]] = w
    return holes
