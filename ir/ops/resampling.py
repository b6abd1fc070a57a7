"""Resampling a regular grid with constant weights."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..dimensions import is_dynamic
from ..expr import Call, Expr, Num, Var, literal, substitute
from ..formula_parser import parse
from ..indexing import add, clamp, coordinates
from ..nest_builder import NestBuilder
from ..types import EXACT_INTEGERS, TensorType
from .base import Op, require

MOST_LINEAR_AXES = 3  # a load for each corner: beyond, resample one axis after the other
Step = tuple[int, int, int]

if TYPE_CHECKING:
    from ..nest import Nest


@dataclass(frozen=True)
class Resample(Op):
    """Resample one axis: each result is a weighted sum of neighbours along this axis.

    y[.., i, ..] = sum over t of w[i, t] * x[.., clamp(s[i] + t, 0, size - 1), ..]

    x: any shape, s: (out,) of int32, w: (out, taps), optional: without it, the one element at s
    -> y: x's shape with ``axis`` of size out.
    Source: ONNX Resize-19, whose modes and kernels are tables of ``ir.resampling``.
    """

    axis: int

    def infer(self, x: TensorType, s: TensorType, *w: TensorType) -> TensorType:
        require(0 <= self.axis < x.rank, f"axis {self.axis} is out of range for rank {x.rank}")
        require(
            s.rank == 1 and len(w) <= 1,
            "starts must be a vector, and there may be one operand of weights",
        )
        require(
            all(t.rank == 2 and t.shape[0] == s.shape[0] for t in w),
            f"weights must be a matrix of {s.shape[0]} rows",
        )
        require(
            not w or x.dtype == "float32",
            f"weighted sums of {x.dtype} are not supported",
            supported="float32",
        )
        return x.of((*x.shape[: self.axis], s.shape[0], *x.shape[self.axis + 1 :]))

    def reference(self, x: Any, s: Any, *w: Any) -> Any:
        weights = w[0] if w else np.ones((s.size, 1), x.dtype)
        rows = np.moveaxis(x, self.axis, -1)
        at = np.clip(s[:, np.newaxis] + np.arange(weights.shape[1]), 0, rows.shape[-1] - 1)
        y = (rows[..., at.astype(int)] * weights).sum(-1, dtype=x.dtype)
        return np.moveaxis(y, -1, self.axis)

    def nest(self, x: TensorType, s: TensorType, *w: TensorType) -> Nest:
        index: list[Expr] = list(coordinates(x.rank))
        i = index[self.axis]
        nest = NestBuilder()
        start = nest.load("start", 1, (i,))
        tap = nest.loop("tap", w[0].shape[1] if w else 1)
        term = "value"
        if w:
            nest.load("weight", 2, (i, tap))
            term = "weight * value"
        index[self.axis] = clamp(add(start, tap), 0, x.shape[self.axis] - 1)
        nest.load("value", 0, index)
        nest.add_up("total", term)
        return nest.give("total")


@dataclass(frozen=True)
class ResizeLinear(Op):
    """Interpolate linearly along up to three axes at positions that are evenly spaced.

    Element i of an axis samples the operand at (p*i + q) / r, with the nearest element beyond the
    border. ``steps`` holds (p, q, r) for each axis, (1, 0, 1) for axes that are not resized. Unlike
    in ``Resample``, positions are computed, not read from a table.

    x: any shape -> y: ``sizes``.
    Source: ONNX Resize-19, mode linear.
    """

    sizes: tuple[int, ...]
    steps: tuple[Step, ...]

    @staticmethod
    def takes(size: int, out: int, step: Step) -> bool:
        """Whether float32 represents every numerator exactly."""
        p, q, r = step
        positive = all(n > 0 for n in (p, r))
        return positive and p * out + abs(q) + r * (size + 2) < EXACT_INTEGERS

    def infer(self, x: TensorType) -> TensorType:
        require(
            len(self.sizes) == len(self.steps) == x.rank,
            f"rank {x.rank} needs {x.rank} sizes and steps, not {len(self.sizes)} and "
            f"{len(self.steps)}",
        )
        require(all(size >= 1 for size in self.sizes), "the result has no elements")
        require(
            len(self._moving()) <= MOST_LINEAR_AXES,
            f"at most {MOST_LINEAR_AXES} axes can be resized linearly",
        )
        for axis in self._moving():
            p, _, r = step = self.steps[axis]
            require(
                self.takes(x.shape[axis], self.sizes[axis], step),
                f"resizing with step {p}/{r} needs more precision than float32 has",
            )
        return x.of(self.sizes)

    def _moving(self) -> tuple[int, ...]:
        return tuple(axis for axis, step in enumerate(self.steps) if step != (1, 0, 1))

    def reference(self, x: Any) -> Any:
        for axis in self._moving():
            p, q, r = self.steps[axis]
            low, rest = np.divmod(p * np.arange(self.sizes[axis]) + q, r)
            last = x.shape[axis] - 1
            shape = [1] * x.ndim
            shape[axis] = self.sizes[axis]
            share = (rest / r).astype(x.dtype).reshape(shape)
            below = np.take(x, np.clip(low, 0, last), axis)
            x = below + share * (np.take(x, np.clip(low + 1, 0, last), axis) - below)
        return x

    def nest(self, x: TensorType) -> Nest:
        """Bind for each axis the element below and the share of the next, then every corner.

        Multiplying by a power of two is exact. The floor of a rounded quotient may be off by one;
        the exact remainder corrects it.
        """
        own = coordinates(x.rank)
        nest = NestBuilder()
        for axis in self._moving():
            p, q, r = self.steps[axis]
            exact = not is_dynamic(r) and r & (r - 1) == 0
            low = "floor(x * s)" if exact else "floor(x / r) + floor((x - r * floor(x / r)) / r)"
            n: dict[str, Expr] = {"x": _line(p, own[axis], q), "r": literal(r)}
            n |= {"s": Num(1.0 / r)} if exact else {}
            n["low"] = nest.bind(f"below_{own[axis]}", substitute(parse(low), n))
            share = "x * s - low" if exact else "(x - r * low) / r"
            nest.bind(f"share_{own[axis]}", substitute(parse(share), n))
        values: list[Expr] = []
        for corner in product((0, 1), repeat=len(self._moving())):
            index: list[Expr] = list(own)
            for axis, upper in zip(self._moving(), corner, strict=True):
                below = Var(f"below_{own[axis]}")
                index[axis] = clamp(add(below, upper), 0, x.shape[axis] - 1)
            name = "_".join(["value", *("below" if not upper else "above" for upper in corner)])
            values.append(nest.load(name, 0, index))
        for axis in reversed(self._moving()):  # the last axis varies fastest
            names = [
                {"x": a, "y": b, "t": Var(f"share_{own[axis]}")}
                for a, b in zip(values[::2], values[1::2], strict=True)
            ]
            values = [substitute(parse("x + t * (y - x)"), n) for n in names]
        return nest.give(values[0])


def _line(slope: int, variable: Expr, offset: int) -> Expr:
    return Call("add", (Call("mul", (literal(slope), variable)), literal(offset)))
