"""The primitive functions of expressions, with their numpy implementation.

True is 1.0 and false 0.0. ``idiv`` and ``imod`` occur in index maps only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Primitive:
    """An elementary function: its arity, its meaning in numpy, and whether it is discontinuous.

    Poles do not count, nor does the condition of ``where``: comparisons make it.
    """

    arity: int
    numpy: Callable[..., Any]
    discontinuous: bool = False


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    def as_number(*args: ArrayLike) -> Any:
        dtype = np.result_type(*args)  # of literals alone it is float64, as all else computes
        return np.asarray(function(*args)).astype(dtype if dtype.kind == "f" else np.float64)

    return as_number


def _bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of whole numbers in two's complement, of 32 bits on the GPU."""

    def of_whole(*args: ArrayLike) -> Any:
        dtype = np.result_type(*args)
        result = function(*(np.asarray(a).astype(np.int64) for a in args))
        return result.astype(dtype if dtype.kind == "f" else np.float64)

    return of_whole


def _binade(x: ArrayLike) -> Any:
    """Return the largest power of 2 up to abs(x); infinity for infinity and NaN."""
    x = np.abs(x)
    _, exponent = np.frexp(x)
    power = np.ldexp(np.ones_like(x, np.result_type(x, np.float32)), exponent - 1)
    return np.where(np.isfinite(x), np.where(x < SMALLEST_NORMAL, 0, power), np.inf)


def _high_part(x: ArrayLike) -> Any:
    """Return x with the first 12 bits of its significand, whose products are exact."""
    significand, exponent = np.frexp(x)
    return np.ldexp(np.trunc(significand * 4096), exponent - 12)


SMALLEST_NORMAL = 2.0**-126  # of float32
PRIMITIVES: dict[str, Primitive] = {
    "add": Primitive(2, np.add),
    "sub": Primitive(2, np.subtract),
    "mul": Primitive(2, np.multiply),
    "div": Primitive(2, np.divide),
    "neg": Primitive(1, np.negative),
    "pow": Primitive(2, np.power),
    "min": Primitive(2, np.minimum),
    "max": Primitive(2, np.maximum),
    "abs": Primitive(1, np.abs),
    "sign": Primitive(1, np.sign, True),
    "floor": Primitive(1, np.floor, True),
    "ceil": Primitive(1, np.ceil, True),
    "trunc": Primitive(1, np.trunc, True),
    "round_even": Primitive(1, np.round, True),
    "sqrt": Primitive(1, np.sqrt),
    "exp": Primitive(1, np.exp),
    "log": Primitive(1, np.log),
    "sin": Primitive(1, np.sin),
    "cos": Primitive(1, np.cos),
    "tan": Primitive(1, np.tan),
    "asin": Primitive(1, np.arcsin),
    "acos": Primitive(1, np.arccos),
    "atan": Primitive(1, np.arctan),
    "tanh": Primitive(1, np.tanh),
    "lt": Primitive(2, _truth(np.less), True),
    "le": Primitive(2, _truth(np.less_equal), True),
    "eq": Primitive(2, _truth(np.equal), True),
    "where": Primitive(3, lambda c, a, b: np.where(np.asarray(c) != 0, a, b)),
    "is_nan": Primitive(1, _truth(np.isnan)),
    "is_inf": Primitive(1, _truth(np.isinf)),
    "binade": Primitive(1, _binade, True),
    "high_part": Primitive(1, _high_part, True),
    "bit_and": Primitive(2, _bits(np.bitwise_and), True),
    "bit_or": Primitive(2, _bits(np.bitwise_or), True),
    "bit_xor": Primitive(2, _bits(np.bitwise_xor), True),
    "shift_left": Primitive(2, _bits(np.left_shift), True),
    "shift_right": Primitive(2, _bits(np.right_shift), True),
    "idiv": Primitive(2, np.floor_divide, True),
    "imod": Primitive(2, np.mod, True),
}

INTEGER_FUNCTIONS = frozenset({"idiv", "imod"})  # of index maps alone
FLOAT_FUNCTIONS = tuple(name for name in PRIMITIVES if name not in INTEGER_FUNCTIONS)
