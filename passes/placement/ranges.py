"""The value range of every tensor, by interval arithmetic, to choose 16-bit floats.

A bound holds for all inputs within their stated ranges. Operands of a formula are assumed to vary
independently. A sum of n terms is bounded by n times the bound of one term, a convolution by its
weights. Unknown operators are unbounded.

16-bit floats may flush magnitudes below 2^-14 to 0. The largest number inside a formula is
therefore computed twice, with and without small values set to 0; it is unbounded if one of these is
a divisor.

Source: R. E. Moore, Interval Analysis (1966).
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, cast

import numpy as np

from ...ir.dimensions import bounds
from ...ir.evaluation import expand
from ...ir.expr import Call, Expr, Extent, Num, Var, walk
from ...ir.graph import Constant, Input
from ...ir.indexing import Load, coordinates
from ...ir.integers import NARROW
from ...ir.nests import nest_of
from ...ir.ops import Conv
from ...ir.types import HALF_MIN
from ...records import dataclass
from ..kernel_ops import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...ir.graph import Graph, Node, Value
    from ...ir.nest import Accumulator, Binding, Nest
    from ...ir.types import DType
    from ..kernel_ops import Parts

INFINITY = math.inf


@dataclass(frozen=True)
class Interval:
    """All numbers from ``low`` to ``high``."""

    low: float
    high: float

    @property
    def size(self) -> float:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    def union(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def with_small_at_zero(self) -> Interval:
        """Return the interval of its numbers where 16-bit floats may hold small ones as 0."""
        low = 0.0 if 0 < self.low < HALF_MIN else self.low
        return Interval(low, 0.0 if -HALF_MIN < self.high < 0 else self.high)


UNBOUNDED = Interval(-INFINITY, INFINITY)


@dataclass(frozen=True)
class ValueRange:
    """The range of a node's results, and the largest magnitude inside its formulas."""

    result: Interval
    largest: float

    def times(self, factor: float) -> ValueRange:
        result = Interval(self.result.low * factor, self.result.high * factor)
        return ValueRange(result, self.largest * factor)

    def union(self, other: ValueRange) -> ValueRange:
        return ValueRange(self.result.union(other.result), max(self.largest, other.largest))


def value_ranges(graph: Graph, input_range: Interval) -> dict[Value, ValueRange]:
    """Return the range of every value: of images 0..1, of other floats that are inputs a range.

    Integers that are inputs have the range of their type where that is narrow, else none.
    """
    known: dict[Value, ValueRange] = {}

    def of(value: Value) -> Interval:
        if value not in known:
            known[value] = _leaf(value, input_range)
        return known[value].result

    for node in graph.nodes:
        found = _node(node, of)
        known |= dict.fromkeys(node.results, found)
    for i in graph.inputs:
        of(i)
    return known


def _leaf(value: Value, input_range: Interval) -> ValueRange:
    if isinstance(value, Constant):
        low, high = float(value.data.min()), float(value.data.max())
        found = UNBOUNDED if math.isnan(low + high) else Interval(low, high)
    elif isinstance(value, Input) and value.port.encoding == "unorm8":
        found = Interval(0.0, 1.0)
    else:
        found = input_range if value.type.dtype == "float32" else _integers(value.type.dtype)
    return ValueRange(found, found.size)


def _integers(dtype: DType) -> Interval:
    if dtype == "bool":
        return Interval(0.0, 1.0)
    if dtype not in NARROW:
        return UNBOUNDED
    bits, signed = NARROW[dtype]
    low = -(2.0 ** (bits - 1)) if signed else 0.0
    return Interval(low, low + 2.0**bits - 1)


def _node(node: Node, of: Callable[[Value], Interval]) -> ValueRange:
    p = parts(node)
    extras = {f"e{i}": of(v) for i, v in enumerate(p.extras)}
    operands = [of(v) for v in p.operands]
    largest = max((i.size for i in (*operands, *extras.values())), default=0.0)
    if p.prologue:
        env = {**extras, "x": operands[0]}
        mapped = [evaluate_ranges(expr, env) for expr in p.prologue]
        operands[0] = reduce(Interval.union, (found for found, _ in mapped))
        largest = max(largest, *(met for _, met in mapped))
    nest = nest_of(p.kernel, *(v.type for v in p.read))
    if isinstance(p.kernel, Conv) and all(isinstance(v, Constant) for v in p.operands[1:]):
        result, met = _convolution(p, operands[0])
        largest = max(largest, met)
    elif nest is None:
        result = UNBOUNDED
    else:
        result, met = _nest(nest, operands, node.result.shape)
        largest = max(largest, met)
    if p.epilogue is not None:
        result, met = evaluate_ranges(p.epilogue, {**extras, "y": result})
        largest = max(largest, met)
    return ValueRange(result, max(largest, result.size))


def _convolution(p: Parts, x: Interval) -> tuple[Interval, float]:
    """Bound the result, and the sums before the bias, which may take them back into range."""
    conv, (_, w, *bias) = p.kernel, p.operands
    assert isinstance(conv, Conv)
    assert isinstance(w, Constant)
    for outside in (0.0, conv.zero_guard, conv.pad_value):
        x = x.union(Interval(outside, outside))
    flat = w.data.reshape(len(w.data), -1).astype(np.float64)
    up, down = np.maximum(flat, 0).sum(1), np.minimum(flat, 0).sum(1)
    with np.errstate(invalid="ignore"):
        low, high = up * x.low + down * x.high, up * x.high + down * x.low
    sums = _interval(float(low.min()), float(high.max()))
    if bias:
        assert isinstance(bias[0], Constant)
        low, high = low + bias[0].data, high + bias[0].data
    return _interval(float(low.min()), float(high.max())), sums.size


def _nest(nest: Nest, operands: list[Interval], shape: tuple[int, ...]) -> tuple[Interval, float]:
    own = coordinates(len(shape))
    env = {o.name: _below(size) for o, size in zip(own, shape, strict=True)}
    largest = _bind(nest.once, operands, env)
    starts = [evaluate_ranges(a.start, env) for a in nest.accumulators]
    env |= {loop.name: _below(loop.trips) for loop in nest.loops}
    largest = max(largest, _bind(nest.each_step, operands, env))
    if len(nest.accumulators) == 1:
        (accumulator,), ((start, met),) = nest.accumulators, starts
        steps = bounds(nest.steps)[1]
        env[accumulator.name], stepped = _accumulate(accumulator, start, steps, env)
        largest = max(largest, met, stepped)
    elif nest.accumulators:  # they depend on each other
        env |= dict.fromkeys((a.name for a in nest.accumulators), UNBOUNDED)
        largest = INFINITY
    result, met = evaluate_ranges(nest.result, env)
    return result, max(largest, met)


def _below(size: int) -> Interval:
    """Return the interval of a coordinate below a size, at most where that is dynamic."""
    return Interval(0.0, bounds(size)[1] - 1.0)


def _bind(
    bindings: tuple[Binding, ...],
    operands: list[Interval],
    env: dict[str, Interval],
) -> float:
    largest = 0.0
    for binding in bindings:
        load = binding.value
        if isinstance(load, Load):
            found = operands[load.sources[0].operand]
            for source in load.sources[1:]:
                found = found.union(operands[source.operand])
            if load.sources[-1].valid:
                found = found.union(Interval(load.fill, load.fill))
        else:
            found, met = evaluate_ranges(load, env)
            largest = max(largest, met)
        env[binding.name] = found
    return largest


def _accumulate(
    accumulator: Accumulator, start: Interval, steps: float, env: Mapping[str, Interval]
) -> tuple[Interval, float]:
    """Bound an accumulator that is added to, or keeps the extreme of what it meets."""
    step, itself = accumulator.step, Var(accumulator.name)
    if isinstance(step, Call) and len(step.args) == 2 and step.args[0] == itself:
        term = step.args[1]
        if all(e != itself for e in walk(term)):
            found, largest = evaluate_ranges(term, env)
            if step.function == "add":
                low = start.low + steps * min(found.low, 0.0)
                total = _interval(low, start.high + steps * max(found.high, 0.0))
                return total, max(largest, total.size)
            if step.function in ("min", "max"):
                return RULES[step.function](start, found), max(largest, found.size)
    return UNBOUNDED, INFINITY


def evaluate_ranges(expr: Expr, env: Mapping[str, Interval]) -> tuple[Interval, float]:
    """Return the interval of a formula, and the largest number among its parts."""
    expr = expand(expr)
    known = _parts(expr, env, lambda i: i)
    small = _parts(expr, env, Interval.with_small_at_zero)
    met = [i.size for part in (known, small) for e, i in part.items() if not isinstance(e, Var)]
    if any(isinstance(e, Call) and _vanishes(e) for e in known):
        met.append(math.inf)
    return known[expr], max(met, default=0.0)


def _vanishes(call: Call) -> bool:
    """Whether a factor may become 0 in 16 bits, which bounds do not show."""
    factors = call.args if call.function in ("mul", "div") else ()
    return any(isinstance(a, Num) and 0 < abs(a.value) < HALF_MIN for a in factors)


def _parts(
    expr: Expr, env: Mapping[str, Interval], held: Callable[[Interval], Interval]
) -> dict[Expr, Interval]:
    """Return the interval of every part of a formula, each ``held`` as some floats hold it."""
    known: dict[Expr, Interval] = {}
    for e in walk(expr):
        if isinstance(e, Num):
            found = Interval(e.value, e.value)
        elif isinstance(e, Extent):
            found = Interval(*bounds(cast("int", e.size)))
        elif isinstance(e, Var):
            found = env[e.name]
        elif e.function == "mul" and _negated(e.args[0]) == _negated(e.args[1]):
            square = _multiply(known[e.args[0]], known[e.args[0]]).size
            same = e.args[0] == e.args[1]
            found = Interval(0.0, square) if same else Interval(-square, 0.0)
        else:
            found = _call(e.function, [known[a] for a in e.args])
        known[e] = held(found)
    return known


def _negated(expr: Expr) -> Expr:
    """Return a formula without the minus in front."""
    return expr.args[0] if isinstance(expr, Call) and expr.function == "neg" else expr


def _call(function: str, args: list[Interval]) -> Interval:
    if function in MONOTONIC:
        f = MONOTONIC[function]
        return _interval(f(args[0].low), f(args[0].high))
    if function in COMPARISONS:
        return Interval(0.0, 1.0)
    if function in RULES:
        return RULES[function](*args)
    return UNBOUNDED


def _interval(low: float, high: float) -> Interval:
    return UNBOUNDED if math.isnan(low) or math.isnan(high) else Interval(low, high)


def _multiply(a: Interval, b: Interval) -> Interval:
    # 0 * inf counts as 0: an infinite end stands for numbers without bound, none of them infinite
    ends = [0.0 if 0.0 in (x, y) else x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(ends), max(ends))


def _divide(a: Interval, b: Interval) -> Interval:
    if b.low <= 0 <= b.high:
        return UNBOUNDED
    return _multiply(a, Interval(1 / b.high, 1 / b.low))


def _absolute(a: Interval) -> Interval:
    low = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Interval(low, a.size)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else INFINITY


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -INFINITY


def _rounded(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: function(x) if math.isfinite(x) else x


MONOTONIC: dict[str, Callable[[float], float]] = {
    "exp": _exp,
    "log": _log,
    "sqrt": lambda x: math.sqrt(max(x, 0.0)),
    "tanh": math.tanh,
    "atan": math.atan,
    "floor": _rounded(math.floor),
    "ceil": _rounded(math.ceil),
    "trunc": _rounded(math.trunc),
    "round_even": _rounded(round),
    "sign": lambda x: math.copysign(1.0, x) if x else 0.0,
}
COMPARISONS = frozenset({"lt", "le", "eq"})
RULES: dict[str, Callable[..., Interval]] = {
    "add": lambda a, b: _interval(a.low + b.low, a.high + b.high),
    "sub": lambda a, b: _interval(a.low - b.high, a.high - b.low),
    "neg": lambda a: Interval(-a.high, -a.low),
    "mul": _multiply,
    "div": _divide,
    "abs": _absolute,
    "min": lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high)),
    "max": lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high)),
    "where": lambda c, a, b: a.union(b),
    "sin": lambda a: Interval(-1.0, 1.0),
    "cos": lambda a: Interval(-1.0, 1.0),
    "asin": lambda a: Interval(-math.pi / 2, math.pi / 2),
    "acos": lambda a: Interval(0.0, math.pi),
}
