"""Element types narrower than the IR's: float8, float4, int4 and int2.

A tensor of such a type is held in a wider one, float32 or int8, with values that the narrow type
has. Casting to it is a formula that rounds, saturates or wraps as ONNX says. Only casts,
quantisation and operators that move elements take such tensors.

Sources: ONNX Cast-25; the OCP formats for 8-bit and microscaling floats.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .....ir.expr import Call, Expr, Num, Var, substitute
from .....ir.formula_parser import parse
from .....ir.integers import wrap
from .....records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .....ir.types import DType

X = Var("x0")
INFINITY = Num(float("inf"))
NAN = Call("sub", (INFINITY, INFINITY))


@dataclass(frozen=True)
class IntegerFormat:
    """An integer of few bits, in two's complement if it has a sign."""

    bits: int
    signed: bool

    @property
    def dtype(self) -> DType:
        return "int8" if self.signed else "uint8"

    @property
    def limits(self) -> tuple[int, int]:
        half = 1 << (self.bits - 1)
        return (-half, half - 1) if self.signed else (0, 2 * half - 1)

    def decode(self, codes: NDArray[np.uint8]) -> NDArray[Any]:
        """Return the values of bit patterns."""
        wide = codes.astype(np.int16)
        return np.where(wide > self.limits[1], wide - (1 << self.bits), wide).astype(self.dtype)

    def cast(self, saturate: bool, mode: str) -> Expr:
        """Return the formula of x0, a number of any type. What is out of range wraps around."""
        return wrap(Call("trunc", (X,)), self.bits, self.signed)


@dataclass(frozen=True)
class FloatFormat:
    """A float of few bits.

    ``special`` says which codes are no numbers: those with the largest exponent ("ieee"), only
    all bits set ("fn"), the one that would be -0 ("fnuz"), or none.
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    special: Literal["ieee", "fn", "fnuz", "none"]
    dtype: DType = "float32"

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @cached_property
    def _table(self) -> NDArray[Any]:
        """The value of every code."""
        code = np.arange(1 << self.bits)
        sign = np.where(code >> (self.bits - 1), -1.0, 1.0)
        mantissa = code & ((1 << self.mantissa_bits) - 1)
        exponent = (code >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1)
        top = mantissa + np.where(exponent > 0, 1 << self.mantissa_bits, 0)
        scale = np.maximum(exponent, 1) - self.bias - self.mantissa_bits
        value = sign * np.ldexp(top.astype(float), scale)
        last = exponent == (1 << self.exponent_bits) - 1
        if self.special == "ieee":
            value = np.where(last, np.where(mantissa > 0, np.nan, sign * np.inf), value)
        elif self.special == "fn":
            full = mantissa == (1 << self.mantissa_bits) - 1
            value = np.where(last & full, np.nan, value)
        elif self.special == "fnuz":
            value = np.where(code == 1 << (self.bits - 1), np.nan, value)
        return np.asarray(value, np.float32)

    @property
    def largest(self) -> float:
        return float(np.max(self._table, where=np.isfinite(self._table), initial=0))

    def decode(self, codes: NDArray[np.uint8]) -> NDArray[Any]:
        """Return the values of bit patterns."""
        return np.take(self._table, codes)

    def cast(self, saturate: bool, mode: str) -> Expr:
        """Return the formula of a cast: round to nearest even, then handle overflow."""
        smallest = 2.0 ** (1 - self.bias)  # of the normal ones; all smaller have its steps
        quantum = substitute(
            parse("max(binade(x), smallest) * step"),
            {"smallest": Num(smallest), "step": Num(2.0**-self.mantissa_bits), "x": Var("x")},
        )
        rounded = substitute(parse("round_even(x / q) * q"), {"q": quantum, "x": Var("x")})
        largest = Num(self.largest)
        if saturate or self.special == "none":
            limited = substitute(parse("clamp(x0, -m, m)"), {"m": largest})
            result = substitute(rounded, {"x": limited})
        else:
            beyond = Call("mul", (Call("sign", (X,)), INFINITY)) if self.special == "ieee" else NAN
            finite = substitute(rounded, {"x": X})
            over = Call("lt", (largest, Call("abs", (finite,))))
            over = Call("max", (over, Call("is_inf", (X,))))  # whose quantum has no quotient
            result = Call("where", (over, beyond, finite))
        kept = Num(0.0) if self.special == "none" else X
        return Call("where", (Call("is_nan", (X,)), kept, result))


@dataclass(frozen=True)
class ScaleFormat:
    """Powers of two alone, 2^-127 to 2^127, and NaN (float8e8m0).

    GPUs take the smallest for 0, so that casting stops at the one above it.
    """

    bits: int = 8
    dtype: DType = "float32"

    def decode(self, codes: NDArray[np.uint8]) -> NDArray[Any]:
        """Return the values of bit patterns."""
        powers = np.ldexp(np.float32(1), np.minimum(codes, 254).astype(int) - 127)
        return np.asarray(np.where(codes == 255, np.float32(np.nan), powers))

    def cast(self, saturate: bool, mode: str) -> Expr:
        """Return the formula of x0, which is not negative."""
        reach = {"up": "p < x0", "down": "0", "nearest": "1.5 * p <= x0"}[mode]
        power = substitute(parse(f"where({reach}, 2 * p, p)"), {"p": Call("binade", (X,))})
        least, most = Num(2.0**-126), Num(2.0**127)
        if saturate:
            result = Call("clamp", (power, least, most))
        else:
            inside = Call("mul", (Call("le", (least, X)), Call("le", (power, most))))
            result = Call("where", (inside, power, NAN))
        return Call("where", (Call("is_nan", (X,)), X, result))


NarrowFormat = IntegerFormat | FloatFormat | ScaleFormat
NARROW: dict[int, NarrowFormat] = {
    17: FloatFormat(4, 3, 7, "fn"),
    18: FloatFormat(4, 3, 8, "fnuz"),
    19: FloatFormat(5, 2, 15, "ieee"),
    20: FloatFormat(5, 2, 16, "fnuz"),
    21: IntegerFormat(4, False),
    22: IntegerFormat(4, True),
    23: FloatFormat(2, 1, 1, "none"),
    24: ScaleFormat(),
    25: IntegerFormat(2, False),
    26: IntegerFormat(2, True),
}


def unpack(data: NDArray[np.uint8], bits: int, count: int) -> NDArray[Any]:
    """Return the codes of ``count`` elements that share bytes, the lowest bits first."""
    if bits == 8:
        return data
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (data[:, None] >> shifts) & np.uint8((1 << bits) - 1)
    return np.asarray(codes.reshape(-1)[:count], np.uint8)
