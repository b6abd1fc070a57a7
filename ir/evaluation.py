"""Evaluate expressions: expand formulas to primitives, compute them with numpy."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError, count, did_you_mean
from .expr import Call, Num, Var, substitute, walk
from .formulas import FORMULAS
from .primitives import FLOAT_FUNCTIONS, PRIMITIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from .expr import Expr
    from .formula_parser import Definition


def bind(definition: Definition, args: tuple[Expr, ...]) -> dict[str, Expr]:
    """Match call arguments with a formula's parameters, defaults filled in.

    Raises:
        ShadergenError: SG0303 for too few or too many arguments.
    """
    least, most = len(definition.required), len(definition.parameters)
    if not least <= len(args) <= most:
        takes = f"{least} to " * (least < most) + count(most, "argument")
        raise ShadergenError("SG0303", f"{definition.name}() takes {takes}, not {len(args)}")
    bound = dict(zip((name for name, _ in definition.parameters), args, strict=False))
    for name, default in definition.parameters[len(args) :]:
        bound[name] = Num(float(default))
    return bound


@lru_cache(maxsize=4096)
def check(expr: Expr) -> None:
    """Verify that every call names a primitive or a formula and has the right arity.

    Raises:
        ShadergenError: SG0303 naming the function, with the nearest known one.
    """
    for e in walk(expr):
        if not isinstance(e, Call):
            continue
        if e.function in FLOAT_FUNCTIONS:
            if len(e.args) != PRIMITIVES[e.function].arity:
                raise ShadergenError(
                    "SG0303",
                    f"{e.function}() takes {count(PRIMITIVES[e.function].arity, 'argument')}, "
                    f"not {len(e.args)}",
                )
        elif e.function in FORMULAS:
            bind(FORMULAS[e.function], e.args)
        else:
            raise ShadergenError(
                "SG0303",
                f"no function is called '{e.function}'",
                help=did_you_mean(e.function, [*FLOAT_FUNCTIONS, *FORMULAS])
                or "the functions are listed in docs/expressions.md",
            )


@lru_cache(maxsize=4096)
def expand(expr: Expr) -> Expr:
    """Replace formula calls by their bodies until only primitives remain."""
    memo: dict[Expr, Expr] = {}
    for e in walk(expr):
        if not isinstance(e, Call):
            memo[e] = e
            continue
        args = tuple(memo[a] for a in e.args)
        if e.function in PRIMITIVES:
            memo[e] = Call(e.function, args)
        else:
            definition = FORMULAS[e.function]
            memo[e] = expand(substitute(definition.body, bind(definition, args)))
    return memo[expr]


def evaluate_formula(
    expr: Expr,
    env: Mapping[str, ArrayLike],
    held: Callable[[Any], Any] = lambda number: number,
) -> Any:
    """Compute with numpy, broadcasting. Overflow and invalid operations follow IEEE silently.

    Args:
        expr: any formula.
        env: its variables.
        held: what becomes of every operand and every number computed on the way.
    """
    values: dict[Expr, Any] = {}
    with np.errstate(all="ignore"):
        for e in walk(expand(expr)):
            if isinstance(e, Num):
                values[e] = e.value
            elif isinstance(e, Var):
                values[e] = held(env[e.name])
            else:
                values[e] = held(PRIMITIVES[e.function].numpy(*(values[a] for a in e.args)))
    return values[expand(expr)]
