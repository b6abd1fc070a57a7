"""The operators and intrinsic functions of shader programs, and the types of their results."""

from __future__ import annotations

import operator as operators
from typing import TYPE_CHECKING, Literal

from .types import BOOL, Type

if TYPE_CHECKING:
    from collections.abc import Callable

Operator = Literal[
    "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", "<=", ">", ">=", "==", "&&", "||"
]
COMPARISONS = ("<", "<=", ">", ">=", "==")
TRUTHS = (*COMPARISONS, "&&", "||")
FOLD: dict[str, Callable[[int, int], int]] = {  # of ints
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "/": operators.floordiv,
    "%": operators.mod,
}


def type_of(operator: Operator, left: Type, right: Type) -> Type:
    """Return the type of two operands combined."""
    if operator in TRUTHS:
        return BOOL
    if left.lanes == 1 or (left.columns > 1 and right.lanes > 1):
        return right
    return left


def _first(*types: Type) -> Type:
    return types[0]


def _test(*types: Type) -> Type:
    return Type("bool", types[0].lanes)


def _bits(*types: Type) -> Type:
    return Type("uint", types[0].lanes)


def _number(*types: Type) -> Type:
    return Type("float", types[0].lanes)


INTRINSICS: dict[str, Callable[..., Type]] = {
    **dict.fromkeys(("abs", "sign", "floor", "ceil", "trunc", "round_even"), _first),
    **dict.fromkeys(("sqrt", "exp", "log", "sin", "cos", "tan", "atan", "atan2"), _first),
    **dict.fromkeys(("min", "max", "clamp", "pow"), _first),
    "select": _first,  # lane by lane: the second where the third, a bvec, holds, else the first
    **dict.fromkeys(("less", "less_equal", "greater", "equal", "not_equal"), _test),
    "float_bits": _bits,
    "from_bits": _number,
}
