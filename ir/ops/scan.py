"""Running sums and products."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...records import dataclass, replace
from ..expr import Call, Expr, Num, Var, substitute
from ..formula_parser import parse
from ..graph import apply
from ..indexing import coordinates
from ..integers import NARROW
from ..nest_builder import NestBuilder
from .base import Op, require
from .movement import Pad, Reshape, Slice
from .pointwise import Pointwise
from .reduction import Kind, Reduce

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest
    from ..types import TensorType

LONGEST = 128  # an element takes as many steps as the axis is long


@dataclass(frozen=True)
class CumSum(Op):
    """y[i] = sum of x[k] over k <= i along ``axis``.

    ``exclusive`` leaves out x[i] itself, ``reverse`` sums over k >= i instead.

    x: any shape -> y: the same shape.
    Source: ONNX CumSum-14.
    """

    axis: int
    exclusive: bool = False
    reverse: bool = False

    kind: ClassVar[Kind] = "sum"
    start: ClassVar[float] = 0.0
    join: ClassVar[Expr] = parse("x0 + x1")

    def infer(self, x: TensorType) -> TensorType:
        require(0 <= self.axis < x.rank, f"axis {self.axis} is out of range for rank {x.rank}")
        name = type(self).__name__
        require(x.dtype not in ("bool", *NARROW), f"{name} of {x.dtype} is not supported")
        return x.of(x.shape)

    def reference(self, x: Any) -> Any:
        x = np.flip(x, self.axis) if self.reverse else np.asarray(x)
        if self.exclusive:
            head = np.full_like(np.take(x, [0], self.axis), self.start)
            rest = np.take(x, np.arange(x.shape[self.axis] - 1), self.axis)
            x = np.concatenate([head, rest], self.axis)
        y = self._accumulate(x)
        return np.flip(y, self.axis) if self.reverse else y

    def _accumulate(self, x: Any) -> Any:
        return np.cumsum(x, self.axis, x.dtype)

    def nest(self, x: TensorType) -> Nest:
        own = coordinates(x.rank)
        at: list[Expr] = list(own)
        o = own[self.axis]
        nest = NestBuilder()
        at[self.axis] = source = nest.loop(f"source_{o}", x.shape[self.axis])
        value, total = nest.load("value", 0, at), Var("total")
        pair = (o, source) if self.reverse else (source, o)
        joined = substitute(self.join, {"x0": total, "x1": value})
        counts = Call("lt" if self.exclusive else "le", pair)
        nest.accumulate("total", Call("where", (counts, joined, total)), Num(self.start))
        return nest.give(total)

    def decompose(self, x: Value) -> Value | None:
        """Cut a long axis into rows: accumulate in each, and over the rows before it."""
        axis, size = self.axis, x.shape[self.axis]
        if size <= LONGEST:
            return None
        length = isqrt(size - 1) + 1
        rows = -(-size // length)
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        rank = x.type.rank
        y = x
        if rows * length > size:
            more = tuple(rows * length - size if a == axis else 0 for a in range(rank))
            y = apply(Pad((0,) * rank, more, "constant", self.start), y)
        y = apply(Reshape((*before, rows, length, *after)), y)
        inside = apply(replace(self, axis=axis + 1), y)
        totals = apply(Reduce(self.kind, (axis + 1,)), y)
        earlier = apply(replace(self, exclusive=True), totals)
        y = apply(Pointwise(self.join, x.type.dtype), inside, earlier)
        y = apply(Reshape((*before, rows * length, *after)), y)
        return apply(Slice((0,) * rank, (1,) * rank, x.shape), y)


@dataclass(frozen=True)
class CumProd(CumSum):
    """y[i] = product of x[k] over k <= i along ``axis``; otherwise like :class:`CumSum`.

    Source: ONNX CumProd-26.
    """

    kind: ClassVar[Kind] = "prod"
    start: ClassVar[float] = 1.0
    join: ClassVar[Expr] = parse("x0 * x1")

    def _accumulate(self, x: Any) -> Any:
        return np.cumprod(x, self.axis, x.dtype)
