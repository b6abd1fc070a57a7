"""Reductions over axes: sums, means, products, extrema, norms."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ...records import dataclass, replace
from ..algebra import fold
from ..dimensions import at_most, hint, is_dynamic, is_one, statically_equal
from ..evaluation import check, evaluate_formula
from ..expr import Call, Expr, Num, Var, literal, substitute, variables
from ..formula_parser import parse
from ..graph import apply
from ..indexing import Load, Source, add, coordinates, less, mul, select
from ..integers import NARROW, integer_quotient
from ..nest_builder import NestBuilder
from ..types import DType, TensorType, broadcast
from .base import Op, require
from .movement import Reshape
from .pointwise import Pointwise, as_floats, as_type
from .range import Range

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..graph import Value
    from ..nest import Nest

Kind = Literal[
    "sum", "mean", "prod", "max", "min", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"
]
KINDS: tuple[str, ...] = get_args(Kind)

LONGEST = 1024  # elements that one invocation reduces; more are reduced in stages
FLOAT_MAX = float(np.finfo(np.float32).max)
PLAIN: Expr = Var("x0")  # the element itself
ELEMENT: Expr = Var("element")
TOTAL: Expr = Var("total")


@dataclass(frozen=True)
class _Rule:
    """Formulas of a reduction: total = start; total = step(total, term) for each; finish(total).

    A term is a formula of an ``element``.
    """

    step: Expr
    term: Expr = ELEMENT
    start: float | None = 0.0  # None: the first term
    finish: Expr = TOTAL
    partial: Kind = "sum"  # how parts are reduced,
    rest: Kind = "sum"  # and then their results


_SUM, _SQUARE = parse("total + term"), parse("element * element")
_RULES: dict[str, _Rule] = {
    "sum": _Rule(_SUM),
    "mean": _Rule(_SUM, finish=parse("total / count"), partial="mean", rest="mean"),
    "prod": _Rule(parse("total * term"), start=1.0, partial="prod", rest="prod"),
    "max": _Rule(parse("max(total, term)"), start=None, partial="max", rest="max"),
    "min": _Rule(parse("min(total, term)"), start=None, partial="min", rest="min"),
    "l1": _Rule(_SUM, parse("abs(element)"), partial="l1", rest="sum"),
    # Parts stay norms, not squares, which would leave the range of 16-bit floats first.
    "l2": _Rule(_SUM, _SQUARE, finish=parse("sqrt(total)"), partial="l2", rest="l2"),
    "sum_square": _Rule(_SUM, _SQUARE, partial="sum_square", rest="sum"),
    "log_sum": _Rule(_SUM, finish=parse("log(total)"), partial="sum", rest="log_sum"),
}

_TOTALS: dict[str, str] = {"prod": "product", "max": "maximum", "min": "minimum"}


def _log_sum_exp(x: Any, axis: Any, keepdims: bool = False) -> Any:
    m = np.max(x, axis=axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    with np.errstate(divide="ignore"):
        result = np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)) + m
    return result if keepdims else np.squeeze(result, axis)


_NUMPY: dict[str, Any] = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "l1": lambda x, **more: np.sum(np.abs(x), **more),
    "l2": lambda x, **more: np.sqrt(np.sum(np.square(x), **more)),
    "sum_square": lambda x, **more: np.sum(np.square(x), **more),
    "log_sum": lambda x, **more: np.log(np.sum(x, **more)),
    "log_sum_exp": _log_sum_exp,
}


@dataclass(frozen=True)
class Reduce(Op):
    """Reduce element(x0, x1, ...) over ``axes``.

    y = sum e, mean e, prod e, max e, min e, l1 = sum |e|, l2 = sqrt(sum e^2), sum_square = sum e^2,
    log_sum = log(sum e), log_sum_exp = log(sum exp(e)), where e = element(x0, x1, ...), and the
    sum runs over all positions along ``axes`` (counted from the left, not negative).

    x0, x1, ...: shapes that broadcast together -> y: the broadcast shape, where ``axes`` have size
    1 or, without ``keepdims``, are left out. Its type is ``dtype``, by default that of x0;
    mean and l2 of integers are rounded towards zero.

    More than ``LONGEST`` elements are reduced in stages: the parts of a stage run in parallel, and
    32-bit sums stay exact to a few units in the last place.

    Source: ONNX ReduceSum-13, ReduceLogSumExp-18 and the like.
    """

    row_packable = True

    kind: Kind
    axes: tuple[int, ...]
    keepdims: bool = True
    element: Expr = PLAIN
    dtype: DType | None = None

    def infer(self, *inputs: TensorType) -> TensorType:
        require(self.kind in KINDS, f"unknown reduction '{self.kind}'")
        shape = _operands_shape(self.element, inputs)
        rank = len(shape)
        require(
            len(set(self.axes)) == len(self.axes) and all(0 <= a < rank for a in self.axes),
            f"axes {list(self.axes)} are repeated or out of range for rank {rank}",
        )
        dtype = self.dtype or inputs[0].dtype
        require(
            dtype == "float32" or "log" not in self.kind,
            f"{self.kind} needs floats, not integers",
        )
        require(
            self.kind in ("max", "min") or dtype not in ("bool", *NARROW),
            f"reduction '{self.kind}' from {inputs[0].dtype} to {dtype} is not supported",
            supported="results of float32, int64, int32, uint64, uint32",
        )
        return TensorType(_reduced(shape, self.axes, self.keepdims), dtype)

    def permuted(self, axes: tuple[int, ...]) -> Reduce | None:
        moved = tuple(sorted(axes[a] for a in self.axes))
        return replace(self, axes=moved) if self.keepdims else None

    def reference(self, *inputs: Any) -> Any:
        e = _elements(self.element, inputs)
        result = _NUMPY[self.kind](e, axis=self.axes, keepdims=self.keepdims)
        dtype = self.dtype or _dtype(inputs[0])
        return as_type(result if dtype == "float32" else np.trunc(result), dtype)

    def nest(self, *inputs: TensorType) -> Nest:
        result = self.infer(*inputs)
        shape = _operands_shape(self.element, inputs)
        first: list[Expr] = list(coordinates(result.rank))
        for axis in sorted(self.axes):
            if not self.keepdims:
                first.insert(axis, Num(0.0))
            first[axis] = Num(0.0)
        trips = {a: shape[a] for a in self.axes if not is_one(shape[a])}
        count = literal(prod(trips.values()))
        return _reduction(self.kind, self.element, inputs, _Places(shape, first, trips), count)

    def decompose(self, *inputs: Value) -> Value | None:
        """Reduce in stages; first split off rounding and logarithms."""
        dtype = self.infer(*(v.type for v in inputs)).dtype
        if self.kind == "log_sum_exp":
            return self._log_sum_exp(inputs)
        if dtype != "float32" and self.kind in ("mean", "l2"):
            return self._rounded(inputs, dtype)
        shape = _operands_shape(self.element, [v.type for v in inputs])
        axes = [a for a in self.axes if not is_one(shape[a])]
        if at_most(prod(shape[a] for a in axes), LONGEST):
            return None
        rule = _RULES[self.kind]
        # What shares texels is reduced last: until then, four neighbours are one vector.
        lane = TensorType(shape).lane_axis
        axes.sort(key=lambda a: (a == lane, -a))
        first = axes[:1]
        for axis in axes[1:]:
            if not at_most(prod(shape[a] for a in (*first, axis)), LONGEST):
                break
            first.append(axis)
        if not at_most(shape[first[0]], LONGEST):
            blocks = _blocks(hint(shape[first[0]]))
            part: Op = PartialReduce(rule.partial, first[0], blocks, self.element, dtype)
        else:
            part = Reduce(rule.partial, tuple(sorted(first)), True, self.element, dtype)
        rest = replace(self, kind=rule.rest, element=PLAIN, dtype=dtype)
        return apply(rest, apply(part, *inputs))

    def _log_sum_exp(self, inputs: tuple[Value, ...]) -> Value:
        """Return log(sum exp(e - m)) + m with m = max e, where no exponential overflows."""
        m = apply(Reduce("max", self.axes, True, self.element, "float32"), *inputs)
        # Where e is infinite, so is m, and their difference undefined; beyond the floats it is not.
        names: dict[str, Expr] = {"e": self.element, "m": Var(f"x{len(inputs)}")}
        shifted = substitute(parse(f"exp(e - clamp(m, -{FLOAT_MAX}, {FLOAT_MAX}))"), names)
        s = apply(Reduce("sum", self.axes, True, shifted, "float32"), *inputs, m)
        y = apply(Pointwise(parse(f"log(x0) + clamp(x1, -{FLOAT_MAX}, {FLOAT_MAX})")), s, m)
        shape = self.infer(*(v.type for v in inputs)).shape
        return y if self.keepdims else apply(Reshape(shape), y)

    def _rounded(self, inputs: tuple[Value, ...], dtype: DType) -> Value:
        """Return the mean or the norm of integers, from their exact sum."""
        shape = _operands_shape(self.element, [v.type for v in inputs])
        if self.kind == "mean":
            count = prod(shape[a] for a in self.axes)
            if is_dynamic(count):
                return self._rounded_by(count, inputs, dtype)
            total = apply(replace(self, kind="sum"), *inputs)
            return apply(Pointwise(integer_quotient(PLAIN, Num(float(count)), dtype), dtype), total)
        # The half keeps a root that is whole from being rounded down, and reaches no other.
        total = apply(replace(self, kind="sum_square"), *inputs)
        return apply(Pointwise(parse("floor(sqrt(x0 + 0.5))"), dtype), total)

    def _rounded_by(self, count: int, inputs: tuple[Value, ...], dtype: DType) -> Value:
        """Return the mean of integers whose number is dynamic."""
        total = apply(replace(self, kind="sum", keepdims=True), *inputs)
        number = apply(Range(1, count, 0, dtype="int32"))
        y = apply(Pointwise(integer_quotient(PLAIN, Var("x1"), dtype), dtype), total, number)
        shape = self.infer(*(v.type for v in inputs)).shape
        return y if self.keepdims else apply(Reshape(shape), y)


@dataclass(frozen=True)
class PartialReduce(Op):
    """Divide one axis into ``blocks`` interleaved parts and reduce each: a stage of a long Reduce.

    y[.., j, ..] = the reduction of e[.., j + k*blocks, ..] over all k inside the axis; "mean" is
    the sum times blocks / size, so that the mean over j is the mean of all elements.

    x0, x1, ...: shapes that broadcast together -> y: the broadcast shape, ``blocks`` along
    ``axis``.
    """

    row_packable = True

    kind: Kind
    axis: int
    blocks: int
    element: Expr = PLAIN
    dtype: DType | None = None

    def infer(self, *inputs: TensorType) -> TensorType:
        require(self.kind in _RULES, f"reduction '{self.kind}' has no partial results")
        shape = list(_operands_shape(self.element, inputs))
        require(
            0 <= self.axis < len(shape), f"axis {self.axis} is out of range for rank {len(shape)}"
        )
        require(1 <= self.blocks <= shape[self.axis], f"{self.blocks} blocks do not fit the axis")
        shape[self.axis] = self.blocks
        return TensorType(tuple(shape), self.dtype or inputs[0].dtype)

    def reference(self, *inputs: Any) -> Any:
        e = np.moveaxis(_elements(self.element, inputs), self.axis, 0)
        parts = [_NUMPY[self.kind](e[j :: self.blocks], axis=0) for j in range(self.blocks)]
        if self.kind == "mean":
            parts = [
                p * (len(e[j :: self.blocks]) * self.blocks / len(e)) for j, p in enumerate(parts)
            ]
        return as_type(np.stack(parts, self.axis), self.dtype or _dtype(inputs[0]))

    def nest(self, *inputs: TensorType) -> Nest:
        shape = _operands_shape(self.element, inputs)
        size = shape[self.axis]
        trips = {self.axis: -(-size // self.blocks)}
        places = _Places(shape, coordinates(len(shape)), trips, self.blocks)
        count = fold(Call("div", (literal(size), Num(float(self.blocks)))))
        return _reduction(self.kind, self.element, inputs, places, count)


@dataclass(frozen=True)
class _Places:
    """The positions of the elements of a reduction.

    Attributes:
        shape: of the operands, broadcast.
        first: the index of the first element of a result.
        trips: the number of elements along each reduced axis.
        blocks: the distance between elements; None reduces the whole axis.
    """

    shape: tuple[int, ...]
    first: Sequence[Expr]
    trips: dict[int, int]
    blocks: int | None = None

    def loop(self, nest: NestBuilder) -> tuple[list[Expr], Expr | None]:
        """Loop over the elements; return the index of each, and the conditions of existence."""
        index, exists = list(self.first), None
        names = coordinates(len(self.shape))
        for axis, trips in self.trips.items():
            counter = nest.loop(f"source_{names[axis]}", trips)
            if self.blocks is None:
                index[axis] = counter
                continue
            size, own = self.shape[axis], self.first[axis]
            index[axis] = add(mul(counter, self.blocks), own)
            if not statically_equal(size, trips * self.blocks):
                exists = less(index[axis], size)
                # Past the end, an extremum may well see the first element again.
                index[axis] = select(exists, index[axis], own)
        return index, exists

    def load(self, operand: int, shape: tuple[int, ...], at: Sequence[Expr]) -> Load:
        """Return the load of an operand that broadcasts."""
        own = at[len(at) - len(shape) :]
        index = (Num(0.0) if is_one(size) else i for i, size in zip(own, shape, strict=True))
        return Load((Source(operand, tuple(index)),))

    def moves(self, shape: tuple[int, ...]) -> bool:
        """Whether the loops read different elements of an operand."""
        before = len(self.shape) - len(shape)
        axes = [axis + before for axis, size in enumerate(shape) if not is_one(size)]
        return any(axis in self.trips for axis in axes)


def _reduction(
    kind: Kind, element: Expr, inputs: Sequence[TensorType], places: _Places, count: Expr
) -> Nest:
    """Return the loops of a reduction."""
    rule = _RULES[kind]
    operands = {f"x{k}": (k, t.shape) for k, t in enumerate(inputs)}
    called = {x: "value" if len(inputs) == 1 else x for x in operands}
    nest = NestBuilder()
    first: dict[str, Expr] = {}
    now: dict[str, Expr] = {}
    for x, (k, shape) in operands.items():
        load = places.load(k, shape, places.first)
        if not places.moves(shape):
            now[x] = first[x] = nest.bind(called[x], load)
        elif rule.start is None:
            first[x] = nest.bind(f"first_{called[x]}", load)

    def term(names: dict[str, Expr]) -> Expr:
        return substitute(rule.term, {"element": substitute(element, names)})

    if not places.trips:
        return nest.give(substitute(rule.finish, {"total": term(now), "count": count}))
    at, exists = places.loop(nest)
    for x, (k, shape) in operands.items():
        if places.moves(shape):
            now[x] = nest.bind(called[x], places.load(k, shape, at))
    total = Var(_TOTALS.get(kind, "total"))
    step = substitute(rule.step, {"total": total, "term": term(now)})
    if exists is not None and rule.start is not None:
        step = Call("where", (exists, step, total))
    start = term(first) if rule.start is None else Num(rule.start)
    nest.accumulate(total.name, step, start)
    return nest.give(substitute(rule.finish, {"total": total, "count": count}))


def _operands_shape(element: Expr, inputs: Iterable[TensorType]) -> tuple[int, ...]:
    """Return the shape that the elements of a reduction have."""
    check(element)
    shapes = [t.shape for t in inputs]
    known = {f"x{i}" for i in range(len(shapes))}
    require(
        bool(shapes) and set(variables(element)) <= known,
        f"'{element}' uses more than {len(shapes)} operands",
    )
    shape = broadcast(*shapes)
    require(shape is not None, "the operands' shapes do not broadcast")
    assert shape is not None
    return shape


def _reduced(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if a in axes else s for a, s in enumerate(shape))
    return tuple(s for a, s in enumerate(shape) if a not in axes)


def _elements(element: Expr, inputs: Sequence[Any]) -> Any:
    """Return element(x0, x1, ...) in floating point, of the broadcast shape."""
    shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
    floats = {f"x{i}": as_floats(x) for i, x in enumerate(inputs)}
    return np.broadcast_to(evaluate_formula(element, floats), shape)


def _dtype(x: Any) -> DType:
    """Return the IR's type of an array; all floating-point types are one."""
    dtype = np.asarray(x).dtype
    return "float32" if dtype.kind == "f" else dtype.name


def _blocks(size: int) -> int:
    """Return the number of interleaved parts of a reduced axis.

    Prefers parts of equal length, and multiples of four, so that neighbours share texels.
    """
    least = -(-size // LONGEST)
    choices = [b for b in range(least, min(8 * least + 8, size) + 1) if size % b == 0]
    return next((b for b in choices if b % 4 == 0), choices[0] if choices else -(-least // 4) * 4)
