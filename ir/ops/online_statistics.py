"""Two statistics in one pass: mean and variance, or the maximum and a sum of exponentials.

Welford's update keeps the mean and the sum of squared differences from it; the sum of exp(x - m)
is rescaled whenever the maximum m grows. An operator that needs both statistics takes one pass
instead of two. Long reductions run in stages: statistics of parts of equal size are merged.

Source: B. P. Welford, Note on a method for calculating corrected sums of squares and products
(1962); T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm (1979).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ...records import dataclass, replace
from ..dimensions import at_most, is_dynamic, is_one
from ..expr import Call, Expr, Num, literal, substitute
from ..formula_parser import parse
from ..graph import apply
from ..indexing import coordinates, flatten
from ..nest_builder import NestBuilder
from ..types import TensorType
from .base import Op, require
from .movement import Reshape, Slice
from .reduction import FLOAT_MAX, LONGEST

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest

StatisticsKind = Literal["mean_variance", "max_sum_exp"]
STATISTICS_KINDS: tuple[str, ...] = get_args(StatisticsKind)


@dataclass(frozen=True)
class OnlineStatistics(Op):
    """Reduce over ``axes`` to two statistics. The last of these axes keeps size 2, to hold both.

    mean_variance: y[0] = mean x, y[1] = mean (x - y[0])^2.
    max_sum_exp: y[0] = max x, y[1] = sum exp(x - y[0]).

    With ``merge``, x holds statistics of equally large parts along the last of ``axes``; y holds
    the statistics of all their elements together.

    x: any shape -> y: the same shape, but size 1 along ``axes`` (ascending) and 2 along the last.
    """

    row_packable = True

    kind: StatisticsKind
    axes: tuple[int, ...]
    merge: bool = False

    def infer(self, x: TensorType) -> TensorType:
        require(self.kind in STATISTICS_KINDS, f"unknown statistics '{self.kind}'")
        require(x.dtype == "float32", f"statistics of {x.dtype} are not supported")
        require(
            bool(self.axes)
            and list(self.axes) == sorted(set(self.axes))
            and self.axes[0] >= 0
            and self.axes[-1] < x.rank,
            f"axes {list(self.axes)} must be ascending, distinct and below {x.rank}",
        )
        last = self.axes[-1]
        require(
            not self.merge or x.shape[last] == 2,
            f"statistics to merge must have size 2 along axis {last}, not {x.shape[last]}",
        )
        shape = [1 if axis in self.axes else size for axis, size in enumerate(x.shape)]
        shape[self.axes[-1]] = 2
        return x.of(tuple(shape))

    def reference(self, x: Any) -> Any:
        *others, last = self.axes
        if not self.merge:
            pairs = (_STATISTICS[self.kind])(x, self.axes)
            return np.concatenate(pairs, last)
        first, second = (np.take(x, [k], last) for k in range(2))
        axes = tuple(others)
        if self.kind == "mean_variance":
            mean = np.mean(first, axes, keepdims=True)
            spread = np.mean(second + (first - mean) ** 2, axes, keepdims=True)
            return np.concatenate((mean, spread), last)
        m = np.max(first, axes, keepdims=True)
        return np.concatenate((m, np.sum(second * np.exp(first - m), axes, keepdims=True)), last)

    def nest(self, x: TensorType) -> Nest:
        *others, last = self.axes
        own = coordinates(x.rank)
        reduced = [a for a in (others if self.merge else self.axes) if not is_one(x.shape[a])]
        index: list[Expr] = list(own)
        for axis in self.axes:
            index[axis] = Num(0.0)
        sizes = tuple(x.shape[a] for a in reduced)
        nest = NestBuilder()
        counters = nest.loops([f"source_{own[a].name}" for a in reduced], sizes)
        for axis, counter in zip(reduced, counters, strict=True):
            index[axis] = counter
        if self.merge:
            names_of_parts = _PARTS[self.kind]
            first: Expr = nest.load(names_of_parts[0], 0, index)
            index[last] = Num(1.0)
            second: Expr = nest.load(names_of_parts[1], 0, index)
        else:
            first = nest.load("value", 0, index)
            second = Num({"mean_variance": 0.0, "max_sum_exp": 1.0}[self.kind])  # of one element
        names: dict[str, Expr] = {
            "v": first,
            "w": second,
            "k": flatten(counters, sizes),  # how many steps have been made
            "n": literal(prod(sizes)),
            "is_first": Call("eq", (own[last], Num(0.0))),
        }

        def said(text: str) -> Expr:
            return substitute(parse(text), names)

        if not sizes:
            return nest.give(said("where(is_first, v, w)"))
        if self.kind == "mean_variance":
            nest.accumulate("mean", said("mean + (v - mean) / (k + 1)"))
            nest.accumulate("squares", said("squares + w + square(v - mean) * (k / (k + 1))"))
            return nest.give(said("where(is_first, mean, squares / n)"))
        nest.accumulate("maximum", said("max(maximum, v)"), Num(-FLOAT_MAX))
        rescaled = "sum_exp * exp(maximum - max(maximum, v)) + w * exp(v - max(maximum, v))"
        nest.accumulate("sum_exp", said(rescaled))
        return nest.give(said("where(is_first, maximum, sum_exp)"))

    def decompose(self, x: Value) -> Value | None:
        """Reduce in stages where there are more than ``LONGEST`` elements."""
        *others, last = self.axes
        now = 1 if self.merge else x.shape[last]
        first = [last]
        for axis in reversed(others):
            if len(first) > self.merge and not at_most(now * x.shape[axis], LONGEST):
                break
            first.append(axis)
            now *= x.shape[axis]
        if len(first) == len(self.axes):
            return None
        part = apply(replace(self, axes=tuple(sorted(first))), x)
        rest = tuple(a for a in self.axes if a not in first)
        return apply(OnlineStatistics(self.kind, (*rest, last), True), part)


_PARTS: dict[str, tuple[str, str]] = {
    "mean_variance": ("part_mean", "part_variance"),
    "max_sum_exp": ("part_maximum", "part_sum"),
}


def _mean_variance(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    return np.mean(x, axes, keepdims=True), np.var(x, axes, keepdims=True)


def _max_sum_exp(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    m = np.max(x, axes, keepdims=True)
    return m, np.sum(np.exp(x - m), axes, keepdims=True)


_STATISTICS: dict[str, Any] = {"mean_variance": _mean_variance, "max_sum_exp": _max_sum_exp}


def statistics(kind: StatisticsKind, x: Value, axes: tuple[int, ...]) -> Value | None:
    """Return the statistics over ``axes``, in one tensor; None if an axis is too long."""
    axes = tuple(sorted(axes))
    if not axes or not all(at_most(x.shape[a], LONGEST) for a in axes):
        return None
    return apply(OnlineStatistics(kind, axes), x)


def split_statistics(both: Value, axis: int) -> tuple[Value, Value]:
    """Split the two statistics along an axis into two tensors; the axis keeps size 1."""
    sizes = list(both.shape)
    sizes[axis] = 1

    def taken(k: int) -> Value:
        starts = [0] * both.type.rank
        starts[axis] = k
        return apply(Slice(tuple(starts), (1,) * both.type.rank, tuple(sizes)), both)

    return taken(0), taken(1)


def both_statistics(
    kind: StatisticsKind, x: Value, axes: tuple[int, ...]
) -> tuple[Value, Value] | None:
    """Return both statistics over ``axes``, which keep size 1; None if an axis is too long.

    A single long last axis is reduced as two axes if its length has suitable factors.
    """
    both = statistics(kind, x, axes)
    if both is not None:
        return split_statistics(both, max(axes))
    *lead, length = x.shape
    if tuple(axes) != (x.type.rank - 1,) or is_dynamic(length):
        return None
    parts = next((n for n in range(2, LONGEST + 1) if not length % n and length // n <= LONGEST), 0)
    if not parts:
        return None
    folded = apply(Reshape((prod(lead), parts, length // parts)), x)
    first, second = split_statistics(apply(OnlineStatistics(kind, (1, 2)), folded), 2)
    shape = Reshape((*lead, 1))
    return apply(shape, first), apply(shape, second)
