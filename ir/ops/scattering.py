"""Scattering: a copy of a tensor in which some elements are replaced or added to.

An invocation of a GPU pass writes only its own element, so each element searches the updates for
its index: one step for each candidate update. With constant indices, a table gives the update.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ...records import dataclass
from ..expr import Call, Expr, Num, Var, substitute
from ..formula_parser import parse
from ..graph import Constant, apply, constant
from ..indexing import Load, Source, add, coordinates, imod, less, sub, unflatten
from ..integers import product, wrapped
from ..nest_builder import NestBuilder
from ..types import DType, TensorType
from .base import Op, require
from .movement import Reshape, moved
from .pointwise import Pointwise
from .selection import Gather, numbers

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest

Reduction = Literal["none", "add", "mul", "max", "min"]
REDUCTIONS: tuple[str, ...] = get_args(Reduction)


def combined(a: Expr, b: Expr, reduction: Reduction, dtype: DType) -> Expr:
    """Return the new value of element a after update b."""
    if reduction == "none":
        return b
    if reduction == "mul":
        return product(a, b, dtype) if dtype != "float32" else Call("mul", (a, b))
    return wrapped(Call(reduction, (a, b)), dtype)


UFUNCS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def scatter(y: Any, at: tuple[Any, ...], updates: Any, reduction: Reduction) -> Any:
    """Apply updates in place, with numpy; return y."""
    if reduction == "none":
        y[at] = updates
    else:
        UFUNCS[reduction].at(y, at, updates)
    return y


@dataclass(frozen=True)
class ScatterElements(Op):
    """Update elements along an axis: y[a, indices[a, i, b], b] takes updates[a, i, b].

    If several updates name an element, reduction "none" takes the last update; the others combine
    the element and all updates by sum, product, maximum or minimum.

    x: (A..., size, B...), indices and updates: the rank of x, no larger except along the axis
    -> y: as x.
    Source: ONNX ScatterElements-18.
    """

    axis: int
    reduction: Reduction = "none"

    def infer(self, x: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        require(self.reduction in REDUCTIONS, f"unknown reduction '{self.reduction}'")
        require(
            0 <= self.axis < x.rank == indices.rank,
            f"axis {self.axis} is out of range, or data {x} and indices {indices} differ in rank",
        )
        require(
            indices.shape == updates.shape,
            f"indices {indices} and updates {updates} differ in shape",
        )
        require(
            x.dtype == updates.dtype, f"updates of {updates.dtype} do not fit data of {x.dtype}"
        )
        require(
            all(
                i <= s or axis == self.axis
                for axis, (i, s) in enumerate(zip(indices.shape, x.shape, strict=True))
            ),
            f"indices of shape {indices.shape} are larger than data of shape {x.shape} on an axis "
            f"other than {self.axis}",
        )
        return x

    def reference(self, x: Any, indices: Any, updates: Any) -> Any:
        at = list(np.meshgrid(*map(np.arange, indices.shape), indexing="ij"))
        at[self.axis] = indices.astype(int)
        return scatter(x.copy(), tuple(at), updates, self.reduction)

    def nest(self, x: TensorType, indices: TensorType, updates: TensorType) -> Nest:
        own = coordinates(x.rank)
        o, size = own[self.axis], x.shape[self.axis]
        nest = NestBuilder()
        start = nest.load("value", 0, own)
        number = nest.loop("number", indices.shape[self.axis])
        at = (*own[: self.axis], number, *own[self.axis + 1 :])
        valid = tuple(
            less(own[a], i)
            for a, (i, s) in enumerate(zip(indices.shape, x.shape, strict=True))
            if a != self.axis and i < s
        )
        index = nest.load("index", 1, at, valid, float(size))  # there an index that no element has
        update, updated = nest.load("update", 2, at, valid), Var("updated")
        change = combined(updated, update, self.reduction, x.dtype)
        step = Call("where", (_hit(index, o, size), change, updated))
        return nest.give(nest.accumulate("updated", step, start))


@dataclass(frozen=True)
class ScatterND(Op):
    """Update slices at index vectors: y[indices[i, :], r] takes updates[i, r].

    Several updates of an element are combined as in :class:`ScatterElements`.

    x: (S1, ..., Sk, R...), indices: (I..., k), updates: (I..., R...) -> y: as x.
    Source: ONNX ScatterND-18.
    """

    reduction: Reduction = "none"

    def infer(self, x: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        require(self.reduction in REDUCTIONS, f"unknown reduction '{self.reduction}'")
        require(
            indices.rank >= 1 and x.rank >= 1, "ScatterND needs indices and data of rank 1 or more"
        )
        k = indices.shape[-1]
        require(k <= x.rank, f"indices over {k} axes do not fit rank {x.rank}")
        require(
            updates.shape == (*indices.shape[:-1], *x.shape[k:]),
            f"updates of {updates.shape} do not fit data {x.shape} and indices {indices.shape}",
        )
        require(
            x.dtype == updates.dtype, f"updates of {updates.dtype} do not fit data of {x.dtype}"
        )
        return x

    def reference(self, x: Any, indices: Any, updates: Any) -> Any:
        at = tuple(indices[..., i].astype(int) for i in range(indices.shape[-1]))
        return scatter(x.copy(), at, updates, self.reduction)

    def decompose(self, x: Value, indices: Value, updates: Value) -> Value | None:
        """With constant indices, a table holds the update of each element, if any."""
        if not isinstance(indices, Constant):
            return None
        k = indices.shape[-1]
        sizes = x.shape[:k]
        at = indices.data.reshape(-1, k).astype(int)
        inside = (at >= np.negative(sizes)) & (at < sizes)
        require(bool(inside.all()), f"an index is out of range for shape {x.shape}")
        at = np.where(at < 0, at + sizes, at)
        table = np.full(sizes, -1, np.int32)
        table[tuple(at.T)] = np.arange(len(at))
        if self.reduction != "none" and (table >= 0).sum() < len(at):
            return None  # several updates of one element
        rows = moved(Reshape((len(at), *x.shape[k:])), updates)
        found = apply(Gather(0), rows, constant(np.maximum(table, 0)))
        mask = constant((table >= 0).reshape(*sizes, *(1,) * (x.type.rank - k)))
        change = combined(Var("x1"), Var("x2"), self.reduction, x.type.dtype)
        expr = Call("where", (Var("x0"), change, Var("x1")))
        return apply(Pointwise(expr, x.type.dtype), mask, x, found)

    def nest(self, x: TensorType, indices: TensorType, updates: TensorType) -> Nest:
        own = coordinates(x.rank)
        k, lead = indices.shape[-1], indices.shape[:-1]
        nest = NestBuilder()
        start = nest.load("value", 0, own)
        at = unflatten(nest.loop("number", prod(lead)), lead)
        hit: Expr = Num(1.0)
        for axis, position in enumerate(numbers(k)):
            index = nest.load(f"index_{own[axis]}", 1, (*at, position))
            here = _hit(index, own[axis], x.shape[axis])
            hit = here if axis == 0 else Call("mul", (hit, here))
        update, updated = nest.load("update", 2, (*at, *own[k:])), Var("updated")
        change = combined(updated, update, self.reduction, x.dtype)
        step = Call("where", (hit, change, updated))
        return nest.give(nest.accumulate("updated", step, start))


@dataclass(frozen=True)
class TensorScatter(Op):
    """Write a block into a cache, at an index for each batch entry.

    y[b, ..., t, ...] = update[b, ..., t - starts[b], ...] inside the block, otherwise x; with
    ``circular`` the block wraps around to the beginning of the axis.

    x: (B, ..., size, ...), update: the same but for the axis, starts: (B,) -> y: as x.
    Source: ONNX TensorScatter-24.
    """

    axis: int
    circular: bool = False

    def infer(self, x: TensorType, update: TensorType, starts: TensorType) -> TensorType:
        require(
            x.rank == update.rank,
            f"the input {x} and the update {update} must have the same rank",
        )
        require(
            0 < self.axis < x.rank,
            f"axis {self.axis} of {x} is not supported: the axis must come after the batch axis",
        )
        wide, size = list(update.shape), x.shape[self.axis]
        wide[self.axis] = size
        fits = tuple(wide) == x.shape and update.shape[self.axis] <= size
        require(fits and x.dtype == update.dtype, f"an update of {update} does not fit into {x}")
        require(
            starts.shape == x.shape[:1],
            f"starts need one number per batch entry, not shape {starts.shape}",
        )
        return x

    def reference(self, x: Any, update: Any, starts: Any) -> Any:
        y = np.moveaxis(x, self.axis, 1).copy()
        size, new = y.shape[1], np.moveaxis(update, self.axis, 1)
        for entry, start in enumerate(starts.astype(int)):
            at = start + np.arange(new.shape[1])
            if self.circular:
                at = at % size
            inside = (at >= 0) & (at < size)
            y[entry, at[inside]] = new[entry, inside]
        return np.moveaxis(y, 1, self.axis)

    def nest(self, x: TensorType, update: TensorType, starts: TensorType) -> Nest:
        own = coordinates(x.rank)
        size, length = x.shape[self.axis], update.shape[self.axis]
        nest = NestBuilder()
        at = sub(own[self.axis], nest.load("start", 2, own[:1]))
        if self.circular:
            at = imod(add(at, size), size)
        index = (*own[: self.axis], at, *own[self.axis + 1 :])
        there = (less(-1, at), less(at, length))
        return nest.give(nest.bind("value", Load((Source(1, index, there), Source(0, own)))))


def _hit(index: Var, own: Expr, size: int) -> Expr:
    """Return whether an index that is data, perhaps negative, is a coordinate."""
    names: dict[str, Expr] = {"i": index, "o": own, "size": Num(float(size))}
    return substitute(parse("where(i < 0, i + size, i) == o"), names)
