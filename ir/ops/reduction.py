"""Reductions over axes: sums, means, products, extrema, norms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ..algebra import fold
from ..dimensions import at_most, hint, is_one, statically_equal
from ..evaluation import check, evaluate
from ..expr import Call, Expr, Num, Var, literal, substitute, variables
from ..formula_parser import parse
from ..graph import apply
from ..indexing import Load, Source, add, broadcast_load, coordinates, less, mul, select
from ..integers import NARROW, quotient
from ..nest import Binding, Nest
from ..types import DType, TensorType, broadcast
from .base import Op, require
from .movement import Reshape
from .pointwise import Pointwise, as_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..graph import Value

Kind = Literal[
    "sum", "mean", "prod", "max", "min", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"
]
KINDS: tuple[str, ...] = get_args(Kind)

LONGEST = 1024  # elements that one invocation reduces; more are reduced in stages
FLOAT_MAX = float(np.finfo(np.float32).max)
PLAIN: Expr = Var("x0")  # the element itself
TERM: Expr = Var("v")
TOTAL: Expr = Var("a")


@dataclass(frozen=True)
class _Rule:
    """How a reduction works: a = start; a = step(a, v) for each ``v = term``; finish(a)."""

    step: Expr
    term: Expr = TERM
    start: float | None = 0.0  # None: the first term
    finish: Expr = TOTAL
    partial: Kind = "sum"  # how parts are reduced,
    rest: Kind = "sum"  # and then their results


_SUM, _PRODUCT = parse("a + v"), parse("a * v")
_RULES: dict[str, _Rule] = {
    "sum": _Rule(_SUM),
    "mean": _Rule(_SUM, finish=parse("a / count"), partial="mean", rest="mean"),
    "prod": _Rule(_PRODUCT, start=1.0, partial="prod", rest="prod"),
    "max": _Rule(parse("max(a, v)"), start=None, partial="max", rest="max"),
    "min": _Rule(parse("min(a, v)"), start=None, partial="min", rest="min"),
    "l1": _Rule(_SUM, parse("abs(v)"), partial="l1", rest="sum"),
    # Parts stay norms, not squares, which would leave the range of 16-bit floats first.
    "l2": _Rule(_SUM, parse("v * v"), finish=parse("sqrt(a)"), partial="l2", rest="l2"),
    "sum_square": _Rule(_SUM, parse("v * v"), partial="sum_square", rest="sum"),
    "log_sum": _Rule(_SUM, finish=parse("log(a)"), partial="sum", rest="log_sum"),
}


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
    1 or, without ``keepdims``, are left out. Its type is that of x0 unless ``dtype`` says another;
    mean and l2 of integers are rounded towards zero.

    More than ``LONGEST`` elements are reduced in stages, so that 32-bit sums stay exact to a few
    units in the last place and much of the work is done at the same time.

    Source: ONNX ReduceSum-13, ReduceLogSumExp-18 and the like.
    """

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
            f"reduction over axes {list(self.axes)} of a tensor of rank {rank}",
        )
        dtype = self.dtype or inputs[0].dtype
        require(
            dtype == "float32" or "log" not in self.kind,
            f"the {self.kind} of integers is no integer",
        )
        require(
            self.kind in ("max", "min") or dtype not in ("bool", *NARROW),
            f"the {self.kind} of {inputs[0].dtype} does not fit {dtype}",
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
        loops = tuple(a for a in self.axes if not is_one(shape[a]))
        own: list[Expr] = list(coordinates(result.rank))
        if not self.keepdims:
            for axis in sorted(self.axes):
                own.insert(axis, Num(0.0))
        at = _Places(shape, {a: Var(f"k{k}") for k, a in enumerate(loops)}, own)
        count = literal(prod(shape[a] for a in loops))
        return _reduction(self.kind, self.element, inputs, at, [shape[a] for a in loops], count)

    def decompose(self, *inputs: Value) -> Value | None:
        """Reduce in stages; what is rounded or takes logarithms is split off first."""
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
            count = literal(prod(shape[a] for a in self.axes))
            total = apply(replace(self, kind="sum"), *inputs)
            return apply(Pointwise(quotient(PLAIN, count, dtype), dtype), total)
        # The half keeps a root that is whole from being rounded down, and reaches no other.
        total = apply(replace(self, kind="sum_square"), *inputs)
        return apply(Pointwise(parse("floor(sqrt(x0 + 0.5))"), dtype), total)


@dataclass(frozen=True)
class PartialReduce(Op):
    """Reduce every ``blocks``-th element along one axis: a stage of a long :class:`Reduce`.

    y[.., j, ..] = the reduction of e[.., j + k*blocks, ..] over all k where that exists; the mean
    is their sum times blocks / size, so that the mean over j is that of all.

    x0, x1, ...: shapes that broadcast together -> y: the broadcast shape, ``blocks`` along
    ``axis``.
    """

    kind: Kind
    axis: int
    blocks: int
    element: Expr = PLAIN
    dtype: DType | None = None

    def infer(self, *inputs: TensorType) -> TensorType:
        require(self.kind in _RULES, f"no part of reduction '{self.kind}'")
        shape = list(_operands_shape(self.element, inputs))
        require(0 <= self.axis < len(shape), f"axis {self.axis} of a tensor of rank {len(shape)}")
        require(1 <= self.blocks <= shape[self.axis], f"{self.blocks} blocks of an axis")
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
        steps = -(-size // self.blocks)
        own = coordinates(len(shape))
        place = add(mul(Var("k0"), self.blocks), own[self.axis])
        exists = None if statically_equal(size, steps * self.blocks) else less(place, size)
        # Past the end, an extremum may well see the first element again.
        index = place if exists is None else select(exists, place, own[self.axis])
        at = _Places(shape, {self.axis: index}, own)
        count = fold(Call("div", (literal(size), Num(float(self.blocks)))))
        return _reduction(self.kind, self.element, inputs, at, [steps], count, exists)


@dataclass(frozen=True)
class _Places:
    """Where the elements of a reduction lie: an index for each reduced axis, ``own`` elsewhere."""

    shape: tuple[int, ...]
    reduced: dict[int, Expr]
    own: Sequence[Expr]

    def load(self, operand: int, shape: tuple[int, ...], first: bool = False) -> Load:
        """Return the load of an operand that broadcasts, of the first element if asked for."""
        plain = broadcast_load(operand, shape, len(self.shape)).sources[0].index
        axes = range(len(self.shape) - len(shape), len(self.shape))
        index = []
        for axis, i, size in zip(axes, plain, shape, strict=True):
            if is_one(size):
                index.append(i)
            elif axis in self.reduced:
                start = substitute(self.reduced[axis], {f"k{k}": Num(0.0) for k in range(8)})
                index.append(fold(start) if first else self.reduced[axis])
            else:
                index.append(self.own[axis])
        return Load((Source(operand, tuple(index)),))

    def moves(self, shape: tuple[int, ...]) -> bool:
        """Whether an operand is read elsewhere at each step of the loops."""
        before = len(self.shape) - len(shape)
        axes = [axis + before for axis, size in enumerate(shape) if not is_one(size)]
        return any(axis in self.reduced for axis in axes)


def _reduction(
    kind: Kind,
    element: Expr,
    inputs: Sequence[TensorType],
    at: _Places,
    loops: Sequence[int],
    count: Expr,
    exists: Expr | None = None,
) -> Nest:
    """Return the loops of a reduction; where ``exists`` fails, an element is no part of it."""
    rule = _RULES[kind]
    outer: list[Binding] = []
    inner: list[Binding] = []
    step_names: dict[str, Expr] = {}
    first_names: dict[str, Expr] = {}
    for k, t in enumerate(inputs):
        if not at.moves(t.shape):
            outer.append(at.load(k, t.shape))
            step_names[f"x{k}"] = first_names[f"x{k}"] = Var(f"u{len(outer) - 1}")
            continue
        if rule.start is None:
            outer.append(at.load(k, t.shape, first=True))
            first_names[f"x{k}"] = Var(f"u{len(outer) - 1}")
        inner.append(at.load(k, t.shape))
        step_names[f"x{k}"] = Var(f"v{len(inner) - 1}")

    def term(names: dict[str, Expr]) -> Expr:
        return substitute(rule.term, {"v": substitute(element, names)})

    start = term(first_names) if rule.start is None else Num(rule.start)
    finish = substitute(rule.finish, {"count": count})
    if not loops:
        return Nest(tuple(outer), finish=substitute(finish, {"a": term(step_names)}))
    step = substitute(rule.step, {"v": term(step_names)})
    if exists is not None and rule.start is not None:
        step = Call("where", (exists, step, Var("a")))
    return Nest(tuple(outer), tuple(loops), tuple(inner), start, step, finish)


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
    floats = [np.asarray(x, np.result_type(x, np.float32)) for x in inputs]
    shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
    return np.broadcast_to(evaluate(element, {f"x{i}": x for i, x in enumerate(floats)}), shape)


def _dtype(x: Any) -> DType:
    """Return the IR's type of an array; all floating-point types are one."""
    dtype = np.asarray(x).dtype
    return "float32" if dtype.kind == "f" else dtype.name


def _blocks(size: int) -> int:
    """Return in how many interleaved parts an axis is reduced.

    Preferred are parts of equal length, and multiples of four, so that neighbours share texels.
    """
    least = -(-size // LONGEST)
    choices = [b for b in range(least, min(8 * least + 8, size) + 1) if size % b == 0]
    return next((b for b in choices if b % 4 == 0), choices[0] if choices else -(-least // 4) * 4)
