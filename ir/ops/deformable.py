"""Deformable convolution: every tap of a kernel has its own position."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...records import dataclass
from ..expr import Call, Num, Var
from ..formula_parser import parse
from ..graph import apply
from ..indexing import add, coordinates, idiv, imod, less, mul, sub
from ..nest_builder import NestBuilder
from ..types import MAP_RANK, TensorType
from .base import Op, require
from .convolution import Conv
from .movement import Reshape, moved
from .sampling import CORNERS
from .window import Sizes, Window, floor_quotient, windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph import Value
    from ..nest import Nest

T = TypeVar("T")


@dataclass(frozen=True)
class DeformConv(Op):
    """Convolution whose taps are moved by computed offsets and scaled by a computed mask.

    y[n, o, i, j] = b[o] + sum over c, k, l of
        w[o, c, k, l] * mask[n, (g*kh + k)*kw + l, i, j] * x(n, c, i*sy + k*dy - top + offset[n,
        2*((g*kh + k)*kw + l), i, j], j*sx + l*dx - left + offset[n, 2*((g*kh + k)*kw + l) + 1, i,
        j]),
    where g is the offset group of channel c, and x(n, c, v, u) is interpolated linearly between
    the four elements around, zeros beyond the border.

    x: (N, C, H, W), w: (O, C/groups, kh, kw), offset: (N, 2*offset_groups*kh*kw, H', W'),
    mask: (N, offset_groups*kh*kw, H', W'), optional, b: (O,), optional -> y: (N, O, H', W').
    Source: ONNX DeformConv-22; torchvision.ops.deform_conv2d.
    """

    strides: Sizes = (1, 1)
    dilations: Sizes = (1, 1)
    pads: Sizes = (0, 0, 0, 0)
    groups: int = 1
    offset_groups: int = 1

    def _columns(self, w: TensorType | Value) -> DeformColumns:
        return DeformColumns(
            w.shape[2:], self.strides, self.dilations, self.pads, self.offset_groups
        )

    def infer(
        self, x: TensorType, w: TensorType, offset: TensorType, *more: TensorType
    ) -> TensorType:
        mask, bias = _mask_and_bias(more, lambda t: t.rank)
        y = Conv(self.strides, self.dilations, self.pads, self.groups).infer(x, w, *bias)
        self._columns(w).infer(x, offset, *mask)
        return y

    def reference(self, x: Any, w: Any, offset: Any, *more: Any) -> Any:
        mask, bias = _mask_and_bias(more, np.ndim)
        columns = self._columns(TensorType(w.shape)).reference(x, offset, *mask)
        blocks = w.reshape(self.groups, -1, prod(w.shape[1:]))
        n, _, *sizes = columns.shape
        parts = columns.reshape(n, self.groups, -1, *sizes)
        y = np.einsum("goc,ngchw->ngohw", blocks, parts).reshape(n, -1, *sizes)
        return y + bias[0].reshape(-1, 1, 1) if bias else y

    def decompose(self, x: Value, w: Value, offset: Value, *more: Value) -> Value:
        """Fetch all taps of every channel once, as channels, and mix them by a 1x1 convolution."""
        mask, bias = _mask_and_bias(more, lambda v: v.type.rank)
        columns = apply(self._columns(w), x, offset, *mask)
        flat = moved(Reshape((w.shape[0], prod(w.shape[1:]), 1, 1)), w)
        return apply(Conv(groups=self.groups), columns, flat, *bias)


def _mask_and_bias(
    operands: tuple[T, ...], rank: Callable[[T], int]
) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """Return mask and bias from the optional operands: only a mask has the rank of a map."""
    mask = tuple(v for v in operands[:1] if rank(v) == MAP_RANK)
    return mask, operands[len(mask) :]


@dataclass(frozen=True)
class DeformColumns(Op):
    """The samples that a deformable convolution multiplies by its weights.

    y[n, (c*kh + k)*kw + l, i, j] = mask * x(n, c, v, u), all as in :class:`DeformConv`.

    x: (N, C, H, W), offset: (N, 2*offset_groups*kh*kw, H', W'),
    mask: (N, offset_groups*kh*kw, H', W'), optional -> y: (N, C*kh*kw, H', W').
    """

    kernel: Sizes
    strides: Sizes = (1, 1)
    dilations: Sizes = (1, 1)
    pads: Sizes = (0, 0, 0, 0)
    offset_groups: int = 1

    def windows(self, x: TensorType) -> tuple[Window, ...]:
        """Return the windows along both spatial axes."""
        return windows(x, self.kernel, self.strides, self.dilations, self.pads)

    def infer(self, x: TensorType, offset: TensorType, *mask: TensorType) -> TensorType:
        require(
            x.rank == MAP_RANK and len(self.kernel) == 2,
            f"a deformable convolution needs an input of rank {MAP_RANK} and a kernel of 2 "
            f"sizes, not rank {x.rank} and {len(self.kernel)}",
        )
        along = self.windows(x)
        for w in along:
            w.check()
        n, c = x.shape[:2]
        require(
            self.offset_groups >= 1 and c % self.offset_groups == 0,
            f"{c} channels do not divide into {self.offset_groups} groups of offsets",
        )
        taps = self.offset_groups * prod(self.kernel)
        sizes = tuple(w.count for w in along)
        require(
            offset.shape == (n, 2 * taps, *sizes),
            f"offsets must have shape {(n, 2 * taps, *sizes)}, not {offset.shape}",
        )
        require(
            all(m.shape == (n, taps, *sizes) for m in mask) and len(mask) <= 1,
            f"the mask must have shape {(n, taps, *sizes)}",
        )
        return TensorType((n, c * prod(self.kernel), *sizes))

    def reference(self, x: Any, offset: Any, *mask: Any) -> Any:
        n, c, *size = x.shape
        along = self.windows(TensorType(x.shape))
        counts = [w.count for w in along]
        moved_by = offset.reshape(n, self.offset_groups, *self.kernel, 2, *counts)
        y = np.zeros((n, c, *self.kernel, *counts), np.result_type(x, np.float32))
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        weight = np.ones_like(moved_by[:, :, :, :, 0])
        if mask:
            weight = mask[0].reshape(weight.shape)
        for b, channel, k, m in np.ndindex(n, c, *self.kernel):
            g = channel * self.offset_groups // c
            places = []
            for axis, (tap, w) in enumerate(zip((k, m), along, strict=True)):
                grid = np.arange(w.count) * w.stride + tap * w.dilation - w.before
                grid = grid.reshape((-1, 1) if axis == 0 else (1, -1))
                place = np.clip(grid + moved_by[b, g, k, m, axis], -1, size[axis])
                places.append(place + 1)
            v, u = places
            v0, u0 = (
                np.minimum(np.floor(p), s).astype(int) for p, s in zip(places, size, strict=True)
            )
            fv, fu = v - v0, u - u0
            image = padded[b, channel]
            y[b, channel, k, m] = weight[b, g, k, m] * (
                (1 - fv) * ((1 - fu) * image[v0, u0] + fu * image[v0, u0 + 1])
                + fv * ((1 - fu) * image[v0 + 1, u0] + fu * image[v0 + 1, u0 + 1])
            )
        return y.reshape(n, -1, *counts)

    def nest(self, x: TensorType, offset: TensorType, *mask: TensorType) -> Nest:
        n, column, *place = coordinates(MAP_RANK)
        taps = prod(self.kernel)
        channel, tap = idiv(column, taps), imod(column, taps)
        per_group = x.shape[1] // self.offset_groups
        at = add(mul(idiv(channel, per_group), taps), tap)
        # Coordinates as floats: the tap is the column's remainder, as above.
        tap_float = sub(column, mul(floor_quotient(column, taps), taps))
        row = floor_quotient(tap_float, self.kernel[1])
        steps = row, sub(tap_float, mul(row, self.kernel[1]))
        nest = NestBuilder()
        for axis, (o, k, w) in enumerate(zip(place, steps, self.windows(x), strict=True)):
            moved_by = nest.load(f"offset_{o}", 1, (n, add(mul(at, 2), axis), *place))
            moved_to = Call("add", (w.at(o, k), moved_by))
            limits = Num(-1.0), Num(float(w.size))
            nest.bind(f"place_{o}", Call("clamp", (moved_to, *limits)))
            nest.bind(f"below_{o}", f"floor(place_{o})")
            nest.bind(f"share_{o}", f"place_{o} - below_{o}")
        _, _, height, width = x.shape
        for name, (dv, du) in zip(CORNERS, product((0, 1), repeat=2), strict=True):
            v, u = add(Var("below_row"), dv), add(Var("below_column"), du)
            valid = less(-1, v), less(v, height), less(-1, u), less(u, width)
            nest.load(name, 0, (n, channel, v, u), valid)
        top = "(1 - share_column) * value_top_left + share_column * value_top_right"
        bottom = "(1 - share_column) * value_bottom_left + share_column * value_bottom_right"
        result = parse(f"(1 - share_row) * ({top}) + share_row * ({bottom})")
        if mask:
            result = Call("mul", (result, nest.load("mask", 2, (n, at, *place))))
        return nest.give(result)
