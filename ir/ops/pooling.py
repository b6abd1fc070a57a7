"""Pooling: one number for each window."""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ...records import dataclass, replace
from ..algebra import fold
from ..dimensions import hint
from ..expr import Call, Expr, Num, Var
from ..graph import apply
from ..indexing import Load, Source, add, coordinates, idiv, less, mul, sub
from ..nest_builder import NestBuilder
from ..types import TensorType
from .base import Op, require
from .window import Sizes, Window, floor_quotient, tap_source, taps, windows

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest

Kind = Literal["max", "average", "lp"]

LOWEST = float(np.finfo(np.float32).min)
MANY = 256  # steps of a loop, beyond which more GPU threads are worth another pass


@dataclass(frozen=True)
class Pool(Op):
    """Combine every window of the last axes, one axis per entry of ``kernel``.

    y[..., o] = max, average or p-norm of x[..., o*strides + k*dilations - before] over those k in
    ``kernel`` where x exists. Padding is never part of a result; with ``count_include_pad`` an
    average divides by the number of all taps within the padded x. The result has
    floor((size + before + after - reach) / strides) + 1 elements with
    reach = (kernel - 1)*dilations + 1; with ``ceil_mode`` the division rounds up, without
    windows that would start after x and the padding before x.

    ``strides`` and ``dilations``: empty is 1, one number is for all axes. ``pads``: before each
    axis, then after each axis; empty is 0.

    x: (..., spatial) -> y: (..., windows).
    Source: ONNX MaxPool-22, AveragePool-22, LpPool-22.
    """

    kind: Kind
    kernel: Sizes
    strides: Sizes = ()
    dilations: Sizes = ()
    pads: Sizes = ()
    ceil_mode: bool = False
    count_include_pad: bool = False
    p: float = 2.0

    def windows(self, x: TensorType) -> tuple[Window, ...]:
        """Return the windows along each pooled axis."""
        return windows(x, self.kernel, self.strides, self.dilations, self.pads, self.ceil_mode)

    def infer(self, x: TensorType) -> TensorType:
        require(self.kind in get_args(Kind), f"no pooling is called '{self.kind}'")
        require(self.p > 0, f"a norm of order {self.p:g} is not supported")
        along = self.windows(x)
        for w in along:
            w.check()
            if self.kind == "max" or (self.kind == "average" and not self.count_include_pad):
                w.check_taps()
        shape = (*x.shape[: -len(along)], *(w.count for w in along))
        return x.of(shape) if self.kind == "max" else TensorType(shape)

    def reference(self, x: Any) -> Any:
        along = self.windows(TensorType(np.shape(x)))
        if self.kind == "max":
            return np.max(taps(x, along, lowest(x.dtype)), axis=0)
        if self.kind == "lp":
            return sum(taps(np.abs(x) ** self.p, along, 0)) ** (1 / self.p)
        counts = [w.taps_in(*self._counted(w)) for w in along]
        return sum(taps(x, along, 0)) / reduce(np.multiply.outer, counts)

    def _counted(self, w: Window) -> tuple[int, int]:
        """Return the bounds of the positions whose taps count for an average."""
        return (-w.before, w.size + w.after) if self.count_include_pad else (0, w.size)

    def decompose(self, x: Value) -> Value | None:
        """Pool one axis after the other if this saves at least half of the work.

        Each kind is a maximum of maxima, a sum of sums or a norm of norms, and the number of taps
        is a product.
        """
        along = self.windows(x.type)
        wide = [i for i, w in enumerate(along) if w.taps > 1]
        if len(wide) < 2:
            return None
        sizes = [(hint(w.size), hint(w.count)) for w in along]
        wide.sort(key=lambda i: sizes[i][1] / sizes[i][0])
        size, staged = prod(before for before, _ in sizes), 0
        for i in wide:
            before, after = sizes[i]
            size = size // before * after
            staged += size * along[i].taps
        steps = prod(w.taps for w in along)
        if 2 * staged > size * steps and steps <= MANY:
            return None
        for i in wide:
            x = apply(self._along(i, along[i]), x)
        return x

    def _along(self, axis: int, w: Window) -> Pool:
        """Return the pooling of one axis alone."""

        def only(value: int, other: int) -> Sizes:
            rest = len(self.kernel) - 1 - axis
            return (*(other,) * axis, value, *(other,) * rest)

        return replace(
            self,
            kernel=only(w.taps, 1),
            strides=only(w.stride, 1),
            dilations=only(w.dilation, 1),
            pads=only(w.before, 0) + only(w.after, 0),
        )

    def nest(self, x: TensorType) -> Nest:
        along = self.windows(x)
        nest = NestBuilder()
        # no maximum changes where an element of its window is met twice
        repeat = self.kind == "max" and all(w.dilation == 1 for w in along)
        source, _ = tap_source(nest, x, along, repeat=repeat)
        if self.kind == "max":
            return _maximum(nest, source, x)
        if self.kind == "average":
            return _sum(nest, source, self.mean(x, Var("total")))
        if self.p == 1:
            return _sum(nest, source, "total", "abs(value)")
        if self.p == 2:
            return _sum(nest, source, "sqrt(total)", "value * value")
        root = Call("pow", (Var("total"), Num(1 / self.p)))
        return _sum(nest, source, root, f"pow(abs(value), {self.p})")

    def mean(self, x: TensorType, total: Expr) -> Expr:
        """Return the average of a window from the sum of its elements."""
        along = self.windows(x)
        counts = (
            w.taps_formula(o, *self._counted(w))
            for o, w in zip(coordinates(x.rank)[-len(along) :], along, strict=True)
        )
        return Call("div", (total, reduce(_product, counts)))


@dataclass(frozen=True)
class AdaptivePool(Op):
    """Divide the last axes into windows and combine each window; ``sizes`` counts the windows.

    y[..., o] = max or average of x[..., i] over floor(o*L/S) <= i < ceil((o + 1)*L/S), where L is
    the length of an axis and S its entry of ``sizes``; such windows may overlap.

    x: (..., L) -> y: (..., S).
    Source: torch.nn.AdaptiveAvgPool2d; keras.layers.AdaptiveAveragePooling2D.
    """

    kind: Literal["max", "average"]
    sizes: Sizes

    def infer(self, x: TensorType) -> TensorType:
        require(self.kind in ("max", "average"), f"no adaptive pooling is called '{self.kind}'")
        require(
            1 <= len(self.sizes) <= x.rank,
            f"adaptive pooling of rank {x.rank} takes 1 to {x.rank} sizes, not {len(self.sizes)}",
        )
        require(min(self.sizes) >= 1, "the result has no elements")
        shape = (*x.shape[: -len(self.sizes)], *self.sizes)
        return x.of(shape) if self.kind == "max" else TensorType(shape)

    def reference(self, x: Any) -> Any:
        combine = np.max if self.kind == "max" else np.mean
        first = x.ndim - len(self.sizes)
        for axis, size in enumerate(self.sizes, first):
            length = x.shape[axis]
            parts = [
                combine(
                    np.take(x, range(o * length // size, -(-(o + 1) * length // size)), axis), axis
                )
                for o in range(size)
            ]
            x = np.stack(parts, axis)
        return x

    def decompose(self, x: Value) -> Value | None:
        """Windows that do not overlap are a ``Pool``; otherwise pool one axis after the other."""
        lengths = x.shape[-len(self.sizes) :]
        if not any(n % s for n, s in zip(lengths, self.sizes, strict=True)):
            blocks = tuple(n // s for n, s in zip(lengths, self.sizes, strict=True))
            return apply(Pool(self.kind, blocks, blocks), x)
        changed = [i for i, n in enumerate(lengths) if n != self.sizes[i]]
        if len(changed) == 1:
            return None
        for axis in changed:
            sizes = list(x.shape[-len(self.sizes) :])
            sizes[axis] = self.sizes[axis]
            x = apply(replace(self, sizes=tuple(sizes)), x)
        return x

    def nest(self, x: TensorType) -> Nest:
        nest = NestBuilder()
        own = coordinates(x.rank)
        index: list[Expr] = list(own)
        valid: list[Expr] = []
        count: Expr = Num(1.0)
        for axis, size in enumerate(self.sizes, x.rank - len(self.sizes)):
            length = x.shape[axis]
            first, end = mul(own[axis], length), add(mul(own[axis], length), length + size - 1)
            starts = [o * length // size for o in range(size)]
            ends = [-(-(o + 1) * length // size) for o in range(size)]
            longest = max(b - a for a, b in zip(starts, ends, strict=True))
            at = add(idiv(first, size), nest.loop(f"tap_{own[axis].name}", longest))
            index[axis] = at
            if length % size:
                valid.append(less(at, idiv(end, size)))
            count = _product(count, sub(floor_quotient(end, size), floor_quotient(first, size)))
        source = Source(0, tuple(index), tuple(valid))
        if self.kind == "max":
            return _maximum(nest, source, x)
        return _sum(nest, source, Call("div", (Var("total"), count)))


def lowest(dtype: Any) -> float:
    """Return the smallest number of an element type, the start value of a maximum."""
    return LOWEST if np.dtype(dtype).kind == "f" else float(np.iinfo(dtype).min)


def _maximum(nest: NestBuilder, source: Source, x: TensorType) -> Nest:
    least = lowest(x.dtype)
    nest.bind("value", Load((source,), least))
    nest.accumulate("maximum", "max(maximum, value)", Num(least))
    return nest.give("maximum")


def _sum(nest: NestBuilder, source: Source, result: Expr | str, term: str = "value") -> Nest:
    nest.bind("value", Load((source,)))
    nest.add_up("total", term)
    return nest.give(result)


def _product(a: Expr, b: Expr) -> Expr:
    return fold(Call("mul", (a, b)))
