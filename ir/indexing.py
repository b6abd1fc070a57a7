"""Index maps: which operand element is read where, as integer expressions.

A :class:`Load` says this for every position (batch, channel, row, column) of a result; alone it is
a movement, and in ``ir.nest`` it is what loops compute with. Divisions and remainders only ever see
non-negative operands, since GLSL leaves the others undefined.
"""

from __future__ import annotations

import operator
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from ..records import dataclass
from .algebra import fold
from .dimensions import bounds, is_dynamic, is_one, statically_equal
from .evaluation import evaluate_formula
from .expr import Call, Expr, Extent, Num, Var, literal, variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

PadMode = Literal["constant", "edge", "reflect", "symmetric", "wrap"]
PAD_MODES: tuple[str, ...] = get_args(PadMode)

Index = tuple[Expr, ...]


_BY_RANK: dict[int, tuple[str, ...]] = {
    1: ("element",),
    2: ("row", "column"),
    3: ("batch", "row", "column"),
    4: ("batch", "channel", "row", "column"),
    5: ("batch", "channel", "depth", "row", "column"),
}
COORDINATES = frozenset(name for names in _BY_RANK.values() for name in names)


@cache
def coordinates(rank: int) -> tuple[Var, ...]:
    """Return the variables that hold the position of a result element, one for each axis."""
    names = _BY_RANK.get(rank) or (f"axis_{k}" for k in range(rank))
    return tuple(map(Var, names))


def add(a: Expr | int, b: Expr | int) -> Expr:
    """Return a + b."""
    return _call("add", a, b)


def sub(a: Expr | int, b: Expr | int) -> Expr:
    """Return a - b."""
    return _call("sub", a, b)


def mul(a: Expr, b: Expr | int) -> Expr:
    """Return a * b."""
    return _call("mul", a, b)


def idiv(a: Expr, b: int) -> Expr:
    """Return a / b rounded down, a not negative."""
    return _call("idiv", a, b)


def imod(a: Expr, b: int) -> Expr:
    """Return the remainder of a / b, a not negative."""
    return Num(0.0) if statically_equal(b, 1) else _call("imod", a, b)


def clamp(a: Expr, low: int, high: int) -> Expr:
    """Return a limited to low..high."""
    return _call("min", _call("max", a, low), high)


def less(a: Expr | int, b: Expr | int) -> Expr:
    """Return 1 where a < b, else 0."""
    return _call("lt", a, b)


def equal(a: Expr | int, b: Expr | int) -> Expr:
    """Return 1 where a == b, else 0."""
    return _call("eq", a, b)


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """Return a where the condition holds, else b."""
    return Call("where", (condition, a, b))


def _call(function: str, *args: Expr | int) -> Expr:
    if any(map(is_dynamic, args)) and (size := _size_of(function, args)) is not None:
        return literal(size)
    exprs = (a if isinstance(a, (Num, Var, Call)) else literal(a) for a in args)
    return fold(Call(function, tuple(exprs)))


def _size_of(function: str, args: Sequence[Expr | int]) -> int | None:
    """Return the result of arithmetic where all operands are numbers, some of them dynamic."""
    operate: Mapping[str, Callable[[int, int], int]] = {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "idiv": operator.floordiv,
        "imod": operator.mod,
    }
    sizes = []
    for a in args:
        if isinstance(a, Num) and a.value == int(a.value):
            sizes.append(int(a.value))
        elif isinstance(a, Extent):
            sizes.append(cast("int", a.size))
        elif isinstance(a, (Num, Var, Call)):
            return None
        else:
            sizes.append(a)
    return operate[function](*sizes) if function in operate else None


@dataclass(frozen=True)
class Source:
    """One operand, read at ``index`` (an expression per axis) where all of ``valid`` hold."""

    operand: int
    index: Index
    valid: tuple[Expr, ...] = ()

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that the index and the conditions read."""
        return frozenset(name for e in (*self.index, *self.valid) for name in variables(e))


@dataclass(frozen=True)
class Load:
    """The first source whose conditions hold is read; where none does, the result is ``fill``."""

    sources: tuple[Source, ...]
    fill: float = 0.0

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that indices and conditions read."""
        return frozenset(name for s in self.sources for name in s.variables)

    def read(self, env: Mapping[str, Any], operands: Sequence[NDArray[np.generic]]) -> NDArray[Any]:
        """Carry the map out with numpy, for tests; ``env`` holds the variables' values."""
        shape = np.broadcast_shapes(*(np.shape(v) for v in env.values()))
        used = {s.operand for s in self.sources}
        result = np.full(shape, self.fill, np.result_type(*(operands[k] for k in used), np.int8))
        todo = np.ones(shape, bool)
        for source in self.sources:
            here = todo.copy()
            for condition in source.valid:
                here &= np.broadcast_to(evaluate_formula(condition, env) != 0, shape)
            at = tuple(
                np.broadcast_to(np.asarray(evaluate_formula(i, env)), shape)[here].astype(int)
                for i in source.index
            )
            result[here] = operands[source.operand][at]
            todo &= ~here
        return result


def broadcast_load(operand: int, shape: Sequence[int], rank: int) -> Load:
    """Return the load of an operand of ``shape`` that broadcasts, as numpy does, to ``rank``."""
    own = coordinates(rank)[rank - len(shape) :]
    index = tuple(Num(0.0) if is_one(size) else o for size, o in zip(shape, own, strict=True))
    return Load((Source(operand, index),))


def border(mode: PadMode, i: Expr, size: int, before: int, after: int) -> Expr:
    """Return the index in [0, size) that position ``i`` in [-before, size + after) reads.

    Mode "constant" reads no index outside; the caller masks, and the index here is clamped.
    """
    most_before, most_after = bounds(before)[1], bounds(after)[1]
    if most_before <= 0 and most_after <= 0:
        return i
    mode = simplest_mode(mode, before, after)
    if is_one(size) or mode in ("constant", "edge"):
        return clamp(i, 0, size - 1)
    skipped = int(mode == "reflect")  # the border element, when mirroring
    if mode != "wrap" and max(most_before, most_after) <= bounds(size)[0] - skipped:
        # one mirror at each side: no division, which GPUs have no instruction for
        far = _call("min", i, sub(2 * size - 1 - skipped, i)) if most_after > 0 else i
        return _call("max", far, sub(skipped - 1, i)) if most_before > 0 else far
    period = {"reflect": 2 * (size - 1), "symmetric": 2 * size, "wrap": size}[mode]
    enough = period > 0 and before <= period  # dynamic ones are guarded to be
    shift = (period if bounds(before)[1] > 0 else 0) if enough else -(-before // period) * period
    j = imod(add(i, shift), period)
    if mode == "wrap":
        return j
    mirror = sub(period, j) if mode == "reflect" else sub(period - 1, j)
    return _call("min", j, mirror)


def simplest_mode(mode: PadMode, *widths: int) -> PadMode:
    """Return the mode that pads alike: one mirrored border element is the nearest one."""
    mirrors_one = mode == "symmetric" and max(bounds(w)[1] for w in widths) <= 1
    return "edge" if mirrors_one else mode


def inside(i: Expr, size: int, before: int, after: int) -> tuple[Expr, ...]:
    """Return the conditions under which ``i`` lies in [0, size)."""
    conditions = []
    if bounds(before)[1] > 0:  # at some size: the condition is right at the others, too
        conditions.append(less(-1, i))
    if bounds(after)[1] > 0:
        conditions.append(less(i, size))
    return tuple(conditions)


def flatten(index: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """Return the row-major position of ``index`` in ``shape``."""
    flat: Expr = Num(0.0)
    for i, size in zip(index, shape, strict=True):
        flat = add(mul(flat, size), i)
    return flat


def unflatten(flat: Expr, shape: Sequence[int]) -> tuple[Expr, ...]:
    """Return the index in ``shape`` of a row-major position."""
    if not shape:
        return ()
    parts: list[Expr] = []
    for size in reversed(shape[1:]):
        parts.append(imod(flat, size))
        flat = idiv(flat, size)
    return (flat, *reversed(parts))


def step_function(table: Sequence[int], size: int, p: int, r: int) -> tuple[int, int, int] | None:
    """Find q with ``table[i] = clamp((p*i + q) // r, 0, size - 1)`` for all i, as (p, q, r)."""
    low, high = -(10**12), 10**12
    for i, t in enumerate(table):
        if t > 0:
            low = max(low, t * r - p * i)
        if t < size - 1:
            high = min(high, (t + 1) * r - p * i - 1)
    if low > high:
        return None
    return p, min(max(0, low), high), r
