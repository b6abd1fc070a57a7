"""Max-unpooling: positions of maxima, and elements put back at these positions."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..expr import Call, Expr, Num, Var
from ..formula_parser import parse
from ..indexing import Load, add, coordinates, flatten, idiv, less, mul, sub
from ..nest_builder import NestBuilder
from ..types import EXACT_INTEGERS, TensorType, shape_text
from .base import Op, require
from .pooling import Pool, lowest
from .window import Sizes, Window, each, floor_quotient, tap_source, windows

if TYPE_CHECKING:
    from ..nest import Nest


@dataclass(frozen=True)
class MaxPoolIndices(Op):
    """Positions in x of the maxima of ``Pool("max", kernel, ...)``; among equal ones, the first.

    i[..., o] = the row-major position of the maximum in the whole of x; with ``column_major`` the
    pooled axes count in reverse order.

    x: (..., spatial), y: its pooled maxima -> i: as y, int64.
    Source: ONNX MaxPool-22, the second result; ``column_major`` is its storage_order.
    """

    kernel: Sizes
    strides: Sizes = ()
    dilations: Sizes = ()
    pads: Sizes = ()
    ceil_mode: bool = False
    column_major: bool = False

    def windows(self, x: TensorType) -> tuple[Window, ...]:
        """Return the windows along each pooled axis."""
        return windows(x, self.kernel, self.strides, self.dilations, self.pads, self.ceil_mode)

    @property
    def pool(self) -> Pool:
        """The pooling that finds the maxima."""
        return Pool("max", self.kernel, self.strides, self.dilations, self.pads, self.ceil_mode)

    @property
    def discontinuous_in(self) -> slice:
        return slice(None)

    def infer(self, x: TensorType, y: TensorType) -> TensorType:
        require(
            self.pool.infer(x).shape == y.shape,
            f"maxima of shape {shape_text(y.shape)} do not fit the pooling of "
            f"{shape_text(x.shape)}",
        )
        require(
            x.size <= EXACT_INTEGERS,
            f"float32 cannot count the {x.size} elements of the tensor exactly",
            supported=f"up to {EXACT_INTEGERS} elements",
        )
        return TensorType(y.shape, "int64")

    def reference(self, x: Any, y: Any) -> Any:
        along = self.windows(TensorType(x.shape))
        lead = x.shape[: -len(along)]
        strides = _strides(x.shape, len(along), self.column_major)
        result = np.zeros(y.shape, np.int64)
        for at in np.ndindex(*y.shape):
            best: tuple[int, ...] = ()
            for tap in product(*(range(w.taps) for w in along)):
                place = tuple(
                    o * w.stride + k * w.dilation - w.before
                    for o, k, w in zip(at[len(lead) :], tap, along, strict=True)
                )
                if all(0 <= i < w.size for i, w in zip(place, along, strict=True)):
                    full = (*at[: len(lead)], *place)
                    if not best or x[full] > x[best]:
                        best = full
            result[at] = np.dot(best, strides)
        return result

    def nest(self, x: TensorType, y: TensorType) -> Nest:
        along = self.windows(x)
        own = coordinates(x.rank)
        first = len(own) - len(along)
        nest = NestBuilder()
        nest.load("maximum", 1, own)
        source, counters = tap_source(nest, x, along)
        nest.bind("value", Load((source,), lowest(x.dtype)))
        # The number of the first tap that holds the maximum, then the position that it stands for.
        loops = [w.taps for w in along]
        here = Call("min", (Var("first_tap"), flatten(counters, loops)))
        step = Call("where", (parse("value == maximum"), here, Var("first_tap")))
        left: Expr = nest.accumulate("first_tap", step, Num(float(prod(loops) - 1)))
        strides = _strides(x.shape, len(along), self.column_major)
        result: Expr = Num(0.0)
        for o, stride in zip(own[:first], strides[:first], strict=True):
            result = add(result, mul(o, stride))
        below = prod(loops)
        for o, w, stride in zip(own[first:], along, strides[first:], strict=True):
            k: Expr = Num(0.0)
            if w.taps > 1:
                below //= w.taps
                k = floor_quotient(left, below)
                left = sub(left, mul(k, below))
            result = add(result, mul(w.at(o, k), stride))
        return nest.give(result)


@dataclass(frozen=True)
class MaxUnpool(Op):
    """Undo max pooling: put each element of x where its maximum was, and zeros elsewhere.

    y[n, c, indices[n, c, o] - (n*C + c)*spatial(y)] = x[n, c, o], where the index is a row-major
    position in y, within its own n and c; the last of several elements wins.

    With ``kernel``, indices are positions of maxima in windows of this size, ``strides`` apart, so
    only the windows around an element are searched.

    x: (N, C, spatial), indices: as x -> y: (N, C, ``sizes``).
    Source: ONNX MaxUnpool-11.
    """

    sizes: Sizes
    kernel: Sizes = ()
    strides: Sizes = ()
    pads: Sizes = ()

    def infer(self, x: TensorType, indices: TensorType) -> TensorType:
        rank = len(self.sizes)
        require(
            x.shape == indices.shape,
            f"the indices must have the input's shape {shape_text(x.shape)}, not "
            f"{shape_text(indices.shape)}",
        )
        require(
            x.rank == rank + 2, f"{rank} output sizes need a map of rank {rank + 2}, not {x.rank}"
        )
        require(min(self.sizes) >= 1, "the result has no elements")
        require(len(self.kernel) in (0, rank), f"kernel={self.kernel} does not fit {rank} axes")
        size = prod(x.shape[:2]) * prod(self.sizes)
        require(
            size <= EXACT_INTEGERS,
            f"float32 cannot count the {size} elements of the result exactly",
            supported=f"up to {EXACT_INTEGERS} elements",
        )
        return x.of((*x.shape[:2], *self.sizes))

    def reference(self, x: Any, indices: Any) -> Any:
        y = np.zeros((*x.shape[:2], *self.sizes), x.dtype)
        y.reshape(-1)[np.reshape(indices, -1).astype(int)] = np.reshape(x, -1)
        return y

    def nest(self, x: TensorType, indices: TensorType) -> Nest:
        y = self.infer(x, indices)
        own = coordinates(y.rank)
        nest = NestBuilder()
        at, valid = self._around(nest, x) if self.kernel else self._everywhere(nest, x)
        index = (*own[:2], *at)
        value = nest.load("value", 0, index, valid)
        position = nest.load("position", 1, index, valid, -1.0)
        here = Call("eq", (position, flatten(own, y.shape)))
        nest.accumulate("found", Call("where", (here, value, Var("found"))))
        return nest.give("found")

    def _everywhere(self, nest: NestBuilder, x: TensorType) -> tuple[list[Expr], list[Expr]]:
        names = [f"source_{o.name}" for o in coordinates(x.rank)[2:]]
        return nest.loops(names, x.shape[2:]), []

    def _around(self, nest: NestBuilder, x: TensorType) -> tuple[list[Expr], list[Expr]]:
        """Return the windows that may contain a position: the last to start before, and earlier."""
        rank = len(self.sizes)
        strides = each(self.strides, rank, 1, "strides")
        before = each(self.pads, 2 * rank, 0, "pads")[:rank]
        at: list[Expr] = []
        valid: list[Expr] = []
        for i, o in enumerate(coordinates(rank + 2)[2:]):
            count = -(-self.kernel[i] // strides[i])
            # From the earliest to the last, so that the last wins.
            back = sub(count - 1, nest.loop(f"earlier_{o.name}", count))
            window = sub(idiv(add(o, before[i]), strides[i]), back)
            at.append(window)
            valid += [less(-1, window), less(window, x.shape[i + 2])]
        return at, valid


def _strides(shape: Sizes, pooled: int, column_major: bool) -> list[int]:
    """Return the row-major (or column-major) stride of each axis."""
    order = list(range(len(shape)))
    if column_major:
        order = order[:-pooled] + order[: -pooled - 1 : -1]
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return strides
