"""Arithmetic of integers that are stored as floats.

8- and 16-bit types wrap around. 32- and 64-bit types are exact while operands and results stay
within 2^24 (``types.EXACT_INTEGERS``); float32 has no odd numbers beyond, and overflow of wide
types is not reproduced.

GPU divisions are off by a few units in the last place, so quotients are corrected by the exact
remainder. Division by zero gives an arbitrary number.
"""

from __future__ import annotations

from .expr import Call, Expr, Num, substitute
from .formula_parser import parse
from .types import DType

NARROW: dict[DType, tuple[int, bool]] = {
    "int8": (8, True),
    "uint8": (8, False),
    "int16": (16, True),
    "uint16": (16, False),
}
UNSIGNED: tuple[DType, ...] = ("uint8", "uint16", "uint32", "uint64")
EXPONENT_BITS = 5  # of exponents up to 31
LONGEST_SHIFT = 31  # that the GPU's integers know


def is_integer(dtype: DType) -> bool:
    """Whether a type is of whole numbers; booleans are not."""
    return dtype not in ("float32", "bool")


def wrap(x: Expr, bits: int, signed: bool) -> Expr:
    """Wrap an exact integer x into the range of an integer type."""
    names: dict[str, Expr] = {
        "x": x,
        "n": Num(2.0**bits),
        "inverse": Num(2.0**-bits),  # a product is exact, a quotient need not be
        "h": Num(2.0 ** (bits - 1) if signed else 0.0),
    }
    return substitute(parse("x - n * floor((x + h) * inverse)"), names)


def wrapped(x: Expr, dtype: DType) -> Expr:
    """Return x in the range of ``dtype``, if that wraps around; x is whole and exact."""
    return wrap(x, *NARROW[dtype]) if dtype in NARROW else x


def product(a: Expr, b: Expr, dtype: DType) -> Expr:
    """Return a * b; of 16 bits by way of halves, whose products are exact."""
    if dtype not in ("int16", "uint16"):
        return wrapped(Call("mul", (a, b)), dtype)
    high = substitute(parse("floor(a * 0.00390625)"), {"a": a})
    low = substitute(parse("a - 256 * high"), {"a": a, "high": high})
    upper = wrap(Call("mul", (high, b)), 8, False)
    total = parse("256 * upper + low * b")
    return wrapped(substitute(total, {"upper": upper, "low": low, "b": b}), dtype)


def integer_quotient(a: Expr, b: Expr, dtype: DType) -> Expr:
    """Return a / b without its fraction, as C has it."""
    q = _whole_quotient(Call("abs", (a,)), Call("abs", (b,)))
    if dtype in UNSIGNED:
        return q
    signed = substitute(parse("where((a < 0) == (b < 0), q, -q)"), {"a": a, "b": b, "q": q})
    return wrapped(signed, dtype)


def _whole_quotient(a: Expr, b: Expr) -> Expr:
    """Return floor(a / b) for a >= 0, b > 0: corrected by the remainder, roughly, then exactly."""
    names = {"a": a, "b": b, "q": substitute(parse("floor(a / b)"), {"a": a, "b": b})}
    names["q"] = substitute(parse("q + floor((a - q * b) / b)"), names)
    names["r"] = substitute(parse("a - q * b"), names)
    return substitute(parse("q + (b <= r) - (r < 0)"), names)


def remainder(a: Expr, b: Expr, of_divisor: bool, dtype: DType) -> Expr:
    """Return the remainder of a / b, with the divisor's sign or the dividend's.

    Of floats as well: good while the quotient is below 2^24, and a itself where b is infinite.
    """
    names: dict[str, Expr] = {"a": a, "b": b}
    sizes: dict[str, Expr] = {"a": Call("abs", (a,)), "b": Call("abs", (b,))}
    sizes["q"] = _whole_quotient(sizes["a"], sizes["b"])
    left = substitute(parse("a - q * b"), sizes)
    if dtype == "float32":
        left = substitute(parse("where(is_inf(b), abs(a), r)"), {**names, "r": left})
    signed = substitute(parse("where(a < 0, -r, r)"), {**names, "r": left})
    if not of_divisor:
        return signed
    other = substitute(parse("where((b < 0) == (r < 0), r, r + b)"), {**names, "r": signed})
    return substitute(parse("where(r == 0, 0, other)"), {"r": left, "other": other})


def power(x: Expr, y: Expr) -> Expr:
    """Return x to the whole power y, one bit of the exponent after the other: pow() is not exact.

    Beyond 30 the exponent's parity decides: within range are then only powers of -1, 0 and 1.
    """
    names: dict[str, Expr] = {"x": x, "size": Call("abs", (y,)), "y": y}
    e = substitute(parse("where(30 < size, 30 + size - 2 * floor(0.5 * size), size)"), names)
    result: Expr = Num(1.0)
    for _ in range(EXPONENT_BITS):
        half = substitute(parse("floor(0.5 * e)"), {"e": e})
        odd = substitute(parse("e - 2 * half"), {"e": e, "half": half})
        result = Call("mul", (result, Call("where", (odd, x, Num(1.0)))))
        e, x = half, Call("mul", (x, x))
    names["power"] = result
    return substitute(parse("where(y < 0, where(abs(x) == 1, power, 0), power)"), names)


def shift(a: Expr, b: Expr, left: bool, dtype: DType) -> Expr:
    """Return a shifted by b bits, to the left or to the right.

    If b is negative or at least the number of bits, the result is 0; -1 for a negative a shifted
    right. Shifts to the left are exact products with a power of 2; int32 uses the GPU's shift.
    """
    names: dict[str, Expr] = {"a": a, "b": b, "most": Num(float(LONGEST_SHIFT))}
    if not left:
        return substitute(parse("shift_right(a, where(b < 0, most, min(b, most)))"), names)
    text = (
        "a * shift_left(1, min(b, most - 1))" if dtype != "int32" else "shift_left(a, min(b, most))"
    )
    shifted = substitute(parse(text), names)
    within = substitute(parse("(0 <= b) * (b <= most)"), names)
    return wrapped(Call("where", (within, shifted, Num(0.0))), dtype)


def complement(a: Expr, dtype: DType) -> Expr | None:
    """Return a with every bit inverted, or None where the result is beyond exactness."""
    if dtype in NARROW:
        bits, signed = NARROW[dtype]
        top = -1.0 if signed else 2.0**bits - 1
        return Call("sub", (Num(top), a))
    return None if dtype in UNSIGNED else Call("sub", (Num(-1.0), a))
