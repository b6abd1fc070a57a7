"""Expressions made simpler or taken apart: literals computed, slopes and offsets found."""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import TYPE_CHECKING

from .evaluation import evaluate_formula, expand
from .expr import Call, Num, Var, walk

if TYPE_CHECKING:
    from .expr import Expr


@lru_cache(maxsize=4096)
def fold(expr: Expr) -> Expr:
    """Compute calls whose arguments are all literals, and drop ``x + 0``, ``x * 1`` and the like.

    ``x * 0`` stays: it is not 0 when x is infinite or NaN. ``tanh(softplus(x))``, as exporters
    spell Mish, becomes the quotient that it is: GPUs' tanh of small numbers has few digits.
    """
    memo: dict[Expr, Expr] = {}
    for e in walk(expr):
        if not isinstance(e, Call):
            memo[e] = e
            continue
        args = tuple(memo[a] for a in e.args)
        same = all(map(operator.is_, args, e.args))
        memo[e] = _fold_call(e if same else Call(e.function, args, e.attributes))
    return memo[expr]


def _fold_call(call: Call) -> Expr:
    if call.args and all(isinstance(a, Num) for a in call.args):
        value = float(evaluate_formula(call, {}))
        if math.isfinite(value):
            return Num(value)
    inner = call.args[0] if call.args else None
    if call.function == "tanh" and isinstance(inner, Call) and inner.function == "softplus":
        size = Call("abs", inner.args)
        return Call("mish_gate", (*inner.args, Call("exp", (Call("neg", (size,)),))))
    if len(call.args) == 2:
        left, right = call.args
        if call.function in ("add", "sub") and right == Num(0.0):
            return left
        if call.function == "add" and left == Num(0.0):
            return right
        if call.function in ("mul", "div", "idiv") and right == Num(1.0):
            return left
        if call.function == "mul" and left == Num(1.0):
            return right
        if call.function == "min" and right == Num(math.inf):
            return left
        if call.function == "max" and right == Num(-math.inf):
            return left
    return call


def shift(divisor: Expr) -> int:
    """Return log2 of a divisor that is a power of two; 0 for other divisors.

    Shifts and masks round down, as index maps do, and take one instruction. An integer division
    takes a hundred instructions on processors that divide for each invocation separately.
    """
    if not isinstance(divisor, Num) or divisor.value < 2:
        return 0
    value = int(divisor.value)
    return 0 if value & (value - 1) else value.bit_length() - 1


def affine(expr: Expr, variable: str) -> tuple[Expr, Expr] | None:
    """Return (a, b) with ``expr = a * variable + b``, or None when it is not affine in it."""
    zero, one = Num(0.0), Num(1.0)
    memo: dict[Expr, tuple[Expr, Expr] | None] = {}
    free: set[Expr] = set()  # of the variable; x - x is not, though its slope is 0
    expr = expand(expr)
    for e in walk(expr):
        memo[e] = None
        args = e.args if isinstance(e, Call) else ()
        if e == Var(variable):
            memo[e] = (one, zero)
        elif all(a in free for a in args):
            free.add(e)
            memo[e] = (zero, e)
        elif isinstance(e, Call):
            lines = [p for p in (memo[a] for a in args) if p is not None]
            if len(lines) < len(args):
                continue
            if e.function in ("add", "sub", "neg"):
                slope, offset = zip(*lines, strict=True)
                memo[e] = (Call(e.function, slope), Call(e.function, offset))
            elif e.function in ("mul", "div") and args[1] in free:
                a, b = lines[0]
                memo[e] = (Call(e.function, (a, args[1])), Call(e.function, (b, args[1])))
            elif e.function == "mul" and args[0] in free:
                a, b = lines[1]
                memo[e] = (Call("mul", (a, args[0])), Call("mul", (b, args[0])))
    found = memo[expr]
    return None if found is None else (fold(found[0]), fold(found[1]))
