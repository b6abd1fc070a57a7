"""Convolution."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..expr import Expr, Num, Var, parse
from ..graph import apply
from ..indexing import (
    PAD_MODES,
    Load,
    PadMode,
    Source,
    add,
    border,
    coordinates,
    idiv,
    inside,
    mul,
)
from ..nest import Nest
from ..types import MAP_RANK, TensorType
from .base import Array, Op, require
from .movement import Reshape, moved
from .window import Sizes, Window

if TYPE_CHECKING:
    from ..graph import Value

Pads = tuple[int, int, int, int]  # of two axes: top, left, bottom, right


@dataclass(frozen=True)
class Conv(Op):
    """Convolution in the sense of neural networks (correlation), over any number of axes.

    y[n, o, i] = b[o] + sum over c, k of w[o, c, k] * x'[n, g(o) + c, i*strides + k*dilations -
    before], where i and k have an entry for each spatial axis, g(o) is the first channel of o's
    group and x' continues x beyond its border: by ``pad_value`` in mode "constant", by the nearest
    element ("edge"), mirrored without or with the border element ("reflect", "symmetric"), or
    periodically ("wrap"). ``pads`` holds what is before each axis, then what is after each. With
    ``zero_guard`` not 0, every element of x that is exactly 0, padding included, is read as
    ``zero_guard``.

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

    def windows(self, x: TensorType, w: TensorType) -> tuple[Window, ...]:
        """Return the windows along each spatial axis."""
        axes = x.rank - 2
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

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        check_convolution(self, x, w)
        require(len(bias) <= 1, "a convolution takes at most one bias")
        o, per_group = w.shape[:2]
        require(self.groups >= 1, f"{self.groups} groups")
        require(
            x.shape[1] == per_group * self.groups and o % self.groups == 0,
            f"{x.shape[1]} input and {o} output channels do not fit {self.groups} groups of "
            f"{per_group}",
        )
        require(all(b.shape == (o,) for b in bias), f"the bias must have shape ({o},)")
        require(self.pad_mode in PAD_MODES, f"unknown padding mode '{self.pad_mode}'")
        along = self.windows(x, w)
        for window in along:
            window.check()
        return TensorType((x.shape[0], o, *(window.count for window in along)))

    def reference(self, x: Array, w: Array, *bias: Array) -> Array:
        along = self.windows(TensorType(x.shape), TensorType(w.shape))
        widths = ((0, 0), (0, 0), *((window.before, window.after) for window in along))
        if self.pad_mode == "constant":
            x = np.pad(x, widths, constant_values=self.pad_value)
        else:
            x = np.pad(x, widths, mode=self.pad_mode)
        if self.zero_guard:
            x = np.where(x == 0, x.dtype.type(self.zero_guard), x)
        counts = [window.count for window in along]
        y = np.zeros((x.shape[0], w.shape[0], *counts), np.result_type(x, w))
        per_group, out = w.shape[1], w.shape[0] // self.groups
        for g, *tap in product(range(self.groups), *map(range, w.shape[2:])):
            at = (
                slice(k * a.dilation, k * a.dilation + (a.count - 1) * a.stride + 1, a.stride)
                for k, a in zip(tap, along, strict=True)
            )
            found = x[:, g * per_group : (g + 1) * per_group][(slice(None), slice(None), *at)]
            weights = w[g * out : (g + 1) * out][(slice(None), slice(None), *tap)]
            y[:, g * out : (g + 1) * out] += np.moveaxis(
                np.tensordot(weights, found, axes=(1, 1)), 0, 1
            )
        return y + bias[0].reshape(-1, *(1,) * len(along)) if bias else y

    def decompose(self, x: Value, w: Value, *bias: Value) -> Value | None:
        """Compute a one-dimensional convolution as a two-dimensional one of height 1."""
        if x.type.rank != MAP_RANK - 1:
            return None
        flat = Conv(
            (1, *self.strides),
            (1, *self.dilations),
            (0, self.pads[0], 0, self.pads[1]),
            self.groups,
            self.pad_mode,
            self.pad_value,
            self.zero_guard,
        )
        tall, kernel = (moved(Reshape((*v.shape[:2], 1, v.shape[2])), v) for v in (x, w))
        y = apply(flat, tall, kernel, *bias)
        return apply(Reshape((*y.shape[:2], y.shape[3])), y)

    def nest(self, x: TensorType, w: TensorType, *bias: TensorType) -> Nest:
        own = coordinates(x.rank)
        o, per_group = w.shape[:2]
        out = o // self.groups
        channel: Expr = Var("k0")
        if self.groups > 1:
            channel = add(mul(idiv(own[1], out), per_group), channel)
        index: list[Expr] = [own[0], channel]
        valid: list[Expr] = []
        taps = [Var(f"k{axis}") for axis in range(1, x.rank - 1)]
        for i, k, window in zip(own[2:], taps, self.windows(x, w), strict=True):
            at = window.at(i, k)
            if self.pad_mode == "constant":
                valid += inside(at, window.size, window.before, window.after)
            else:
                at = border(self.pad_mode, at, window.size, window.before, window.after)
            index.append(at)
        term = f"where(v0 == 0, {self.zero_guard!r}, v0)" if self.zero_guard else "v0"
        return Nest(
            (Load((Source(2, (own[1],)),)),) if bias else (),
            w.shape[1:],
            (
                Load((Source(0, tuple(index), tuple(valid)),), self.pad_value),
                Load((Source(1, (own[1], Var("k0"), *taps)),)),
            ),
            Var("u0") if bias else Num(0.0),
            parse(f"a + {term} * v1"),
        )


def check_convolution(op: Any, x: TensorType, w: TensorType) -> None:
    """Refuse ranks and lists of attributes that do not fit each other (SG0205)."""
    axes = x.rank - 2
    require(
        axes >= 1 and w.rank == x.rank,
        f"a convolution of rank {x.rank} with weights of rank {w.rank}",
    )
    require(
        len(op.strides) == len(op.dilations) == axes and len(op.pads) == 2 * axes,
        f"strides, dilations or padding for another number of axes than {axes}",
    )
