"""Operators that order elements: positions of extrema, and sorting by counting."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...records import dataclass
from ..expr import Expr, Num
from ..formula_parser import parse
from ..graph import Constant, apply, constant
from ..indexing import broadcast_load, coordinates
from ..nest_builder import NestBuilder
from ..types import EXACT_INTEGERS, TensorType, broadcast
from .base import Op, require
from .pointwise import as_floats
from .reduction import Reduce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Value
    from ..nest import Nest

LONGEST_SORT = 1 << 15  # elements of a sorted axis: counting takes as many steps for each of them


def positions(shape: Sequence[int], axes: Sequence[int]) -> Constant:
    """Return the row-major position along ``axes`` of every element, broadcasting elsewhere."""
    sizes = [s if axis in axes else 1 for axis, s in enumerate(shape)]
    return constant(np.arange(prod(sizes)).reshape(sizes), "positions")


@dataclass(frozen=True)
class ArgMax(Op):
    """The position of the largest element; among equal ones, the first or (on request) the last.

    With several ``axes``, the row-major position in all of them together.

    x: any shape -> y: int64, where ``axes`` have size 1 or, without ``keepdims``, are left out.
    Source: ONNX ArgMax-13.
    """

    axes: tuple[int, ...]
    keepdims: bool = True
    select_last_index: bool = False

    @property
    def discontinuous_in(self) -> slice:
        return slice(None)

    def infer(self, x: TensorType) -> TensorType:
        count = prod(x.shape[a] for a in self.axes if a < x.rank)
        require(
            count <= EXACT_INTEGERS, f"positions among {count} elements are not exact in float32"
        )
        shape = Reduce("max", self.axes, self.keepdims).infer(x).shape
        return TensorType(shape, "int64")

    def reference(self, x: Any) -> Any:
        x = np.asarray(x)
        rest = [a for a in range(x.ndim) if a not in self.axes]
        rows = x.transpose(*rest, *sorted(self.axes)).reshape(*(x.shape[a] for a in rest), -1)
        if self.select_last_index:
            found = rows.shape[-1] - 1 - self._find(rows[..., ::-1])
        else:
            found = self._find(rows)
        found = np.asarray(found, np.int64)
        return np.expand_dims(found, tuple(sorted(self.axes))) if self.keepdims else found

    def _find(self, rows: Any) -> Any:
        return np.argmax(rows, -1)

    def decompose(self, x: Value) -> Value:
        """Return the least (or greatest) position of an element that equals the extremum."""
        # Or exceeds it: where 16 bits store the extremum, it may have been rounded.
        kind, text = self._extremum()
        extremum = apply(Reduce(kind, self.axes), x)  # type: ignore[arg-type]
        last = prod(x.shape[a] for a in self.axes) - 1
        pick = "max" if self.select_last_index else "min"
        text = f"where({text}, x2, {0 if self.select_last_index else last})"
        return apply(
            Reduce(pick, self.axes, self.keepdims, parse(text), "int64"),  # type: ignore[arg-type]
            x,
            extremum,
            positions(x.shape, self.axes),
        )

    def _extremum(self) -> tuple[str, str]:
        return "max", "x0 >= x1"


@dataclass(frozen=True)
class ArgMin(ArgMax):
    """The position of the smallest element; otherwise like :class:`ArgMax`.

    Source: ONNX ArgMin-13.
    """

    def _find(self, rows: Any) -> Any:
        return np.argmin(rows, -1)

    def _extremum(self) -> tuple[str, str]:
        return "min", "x0 <= x1"


@dataclass(frozen=True)
class SortOrder(Op):
    """The rank of every element along ``axis``; equal elements keep their order.

    y[.., i, ..] = the number of elements that come before x[.., i, ..]: smaller ones (larger ones
    if ``descending``), and equal ones of lower index.

    x: any shape -> y: the same shape, int64.
    """

    axis: int
    descending: bool = False

    @property
    def discontinuous_in(self) -> slice:
        return slice(None)

    def infer(self, x: TensorType) -> TensorType:
        require(0 <= self.axis < x.rank, f"axis {self.axis} is out of range for rank {x.rank}")
        size = x.shape[self.axis]
        if size > LONGEST_SORT:
            raise ShadergenError(
                "SG0205",
                f"sorting an axis of {size} elements is not implemented",
                supported=f"up to {LONGEST_SORT}",
                why="each element is compared with all others",
            )
        return TensorType(x.shape, "int64")

    def reference(self, x: Any) -> Any:
        keys = np.negative(as_floats(x)) if self.descending else x
        return np.argsort(np.argsort(keys, self.axis, kind="stable"), self.axis)

    def nest(self, x: TensorType) -> Nest:
        own = coordinates(x.rank)
        o, at = own[self.axis], list[Expr](own)
        nest = NestBuilder()
        nest.load("value", 0, own)
        at[self.axis] = source = nest.loop(f"source_{o}", x.shape[self.axis])
        nest.load("other", 0, at)
        before = "value < other" if self.descending else "other < value"
        nest.add_up("rank", f"where(other == value, {source} < {o}, {before})")
        return nest.give("rank")


@dataclass(frozen=True)
class Sorted(Op):
    """The first elements along ``axis`` in the order of :class:`SortOrder`; ``size`` counts them.

    y[.., r, ..] = x[.., k, ..] where order[.., k, ..] = r.

    x: broadcasts to the order's shape, order: any shape -> y: that shape, ``size`` along ``axis``.
    """

    axis: int
    size: int

    def infer(self, x: TensorType, order: TensorType) -> TensorType:
        rank = order.rank
        require(0 <= self.axis < rank, f"axis {self.axis} is out of range for rank {rank}")
        require(
            broadcast(x.shape, order.shape) == order.shape,
            "the order must have the shape of the operand",
        )
        count = order.shape[self.axis]
        require(
            1 <= self.size <= count, f"{self.size} elements cannot be taken from an axis of {count}"
        )
        shape = list(order.shape)
        shape[self.axis] = self.size
        return x.of(tuple(shape))

    def reference(self, x: Any, order: Any) -> Any:
        back = np.argsort(order, self.axis)  # where the r-th element is
        first = np.take(back, np.arange(self.size), self.axis)
        return np.take_along_axis(np.broadcast_to(x, np.shape(order)), first, self.axis)

    def nest(self, x: TensorType, order: TensorType) -> Nest:
        own = coordinates(order.rank)
        o, at = own[self.axis], list[Expr](own)
        nest = NestBuilder()
        at[self.axis] = nest.loop(f"source_{o}", order.shape[self.axis])
        index = broadcast_load(0, x.shape, order.rank).sources[0].index
        before = order.rank - x.rank
        nest.load("rank", 1, at)
        here = (i if isinstance(i, Num) else at[axis + before] for axis, i in enumerate(index))
        nest.load("value", 0, tuple(here))
        nest.accumulate("found", f"where(rank == {o}, value, found)")
        return nest.give("found")
