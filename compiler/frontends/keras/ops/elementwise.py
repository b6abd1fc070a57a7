"""Element-wise functions: arithmetic, comparisons, logic, conversion of types."""

from __future__ import annotations

from functools import partial
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError
from .....ir.expr import Expr, Var, substitute
from .....ir.formula_parser import parse
from .....ir.formulas import summary
from .....ir.graph import constant
from .....ir.integers import remainder, wrapped
from ..read.config import is_integer
from ..tensors import Operand, Tensor, plain, pointwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from .....ir.types import DType
    from ..layers.layer import Layer
    from .arguments import Arguments

    Operation = Callable[[Layer, Arguments], "Tensor | list[Tensor]"]

FLOATS = ("float32", "float16", "float64", "bfloat16")
EXACT = ("int32", "int64")  # what a cast may give; within 2^24
FLOAT_MAX = float(np.finfo(np.float32).max)
FIRST = ("x1", "x", "a", "logits")
SECOND = ("x2", "y", "b")


def unary(formula: str, layer: Layer, a: Arguments) -> Tensor:
    """Apply a formula to one operand, as floating-point numbers."""
    x = a.tensor(0, "x", "a", "features", "input", "image", "tensor")
    return pointwise(formula, [x], layer.name)


def same_type(formula: str, layer: Layer, a: Arguments) -> Tensor:
    """Apply a formula that leaves whole numbers whole."""
    x = a.tensor(0, "x", "a", "input", "tensor", "features")
    return pointwise(wrapped(parse(formula), x.dtype), [x], layer.name, x.dtype)


def binary(formula: str, layer: Layer, a: Arguments) -> Tensor:
    """Apply a formula to two operands, either of which may be a constant, as floats."""
    first = a.operand(0, *FIRST)
    return pointwise(formula, [first, a.operand(1, *SECOND)], layer.name)


def arithmetic(formula: Callable[[DType], Expr], layer: Layer, a: Arguments) -> Tensor:
    """Apply an operator that gives whole numbers of whole numbers, floats otherwise."""
    operands = [a.operand(0, *FIRST), a.operand(1, *SECOND)]
    whole = is_integer(a.value(0, *FIRST)), is_integer(a.value(1, *SECOND))
    dtype = common_type(layer, operands, whole)
    return pointwise(formula(dtype), operands, layer.name, dtype)


def common_type(layer: Layer, operands: list[Operand], whole: tuple[bool, ...]) -> DType:
    """Return the type of a result; ``whole`` says which operands are integer literals."""
    types = [
        o.dtype if isinstance(o, Tensor) else "int32" if w else "float32"
        for o, w in zip(operands, whole, strict=True)
    ]
    if all(t == "bool" for t in types):
        raise ShadergenError(
            "SG0206",
            "arithmetic on booleans is not implemented",
            where=layer.described,
            supported="numbers",
        )
    if "float32" in types:
        return "float32"
    return next(t for o, t in zip(operands, types, strict=True) if isinstance(o, Tensor))


def _formula(text: str) -> Callable[[DType], Expr]:
    def formula(dtype: DType) -> Expr:
        return wrapped(parse(text), dtype)

    formula.__doc__ = summary(text)
    return formula


def _modulo(dtype: DType) -> Expr:
    """Return the remainder of a division, with the divisor's sign."""
    return remainder(Var("x0"), Var("x1"), True, dtype)


def _floored(dtype: DType) -> Expr:
    """Return the floored quotient, (a - remainder) / b, rounded to an integer."""
    rest = remainder(Var("x0"), Var("x1"), True, dtype)
    return substitute(parse("round_even((x0 - r) / x1)"), {"r": rest})


def comparison(formula: str, layer: Layer, a: Arguments) -> Tensor:
    """Apply a formula that holds or not."""
    return pointwise(formula, [a.operand(0, *FIRST), a.operand(1, *SECOND)], layer.name, "bool")


def truth(formula: str, layer: Layer, a: Arguments) -> Tensor:
    """Apply a formula of one operand that holds or not."""
    return pointwise(formula, [a.tensor(0, "x")], layer.name, "bool")


def add_n(layer: Layer, a: Arguments) -> Tensor:
    """Add any number of operands."""
    operands = a.tensors(0, "inputs")
    return pointwise(" + ".join(f"x{k}" for k in range(len(operands))), operands, layer.name)


def clip(layer: Layer, a: Arguments) -> Tensor:
    """Bound from below and above; a bound that is absent does nothing."""
    x = a.tensor(0, "x", "t")
    text, operands = "x0", [x]
    for position, function, names in (
        (1, "max", ("x_min", "clip_value_min", "min_value")),
        (2, "min", ("x_max", "clip_value_max", "max_value")),
    ):
        if a.value(position, *names) is not None:
            text = f"{function}({text}, x{len(operands)})"
            operands.append(a.operand(position, *names))  # type: ignore[arg-type]
    return pointwise(text, operands, layer.name)


def where(layer: Layer, a: Arguments) -> Tensor:
    """Choose from two operands by a condition."""
    condition = a.operand(0, "condition")
    operands = [a.operand(1, "x1", "x"), a.operand(2, "x2", "y")]
    whole = is_integer(a.value(1, "x1", "x")), is_integer(a.value(2, "x2", "y"))
    types = {o.dtype for o in operands if isinstance(o, Tensor)}
    dtype: DType = "bool" if types == {"bool"} else common_type(layer, operands, whole)
    return pointwise("where(x0, x1, x2)", [condition, *operands], layer.name, dtype)


def nan_to_num(layer: Layer, a: Arguments) -> Tensor:
    """Replace NaN and infinities by numbers."""
    x = a.tensor(0, "x")
    values = [
        a.number(1, 0.0, "nan"),
        a.number(2, FLOAT_MAX, "posinf"),
        a.number(3, -FLOAT_MAX, "neginf"),
    ]
    text = "where(is_nan(x0), x1, where(is_inf(x0), where(0 < x0, x2, x3), x0))"
    return pointwise(text, [x, *values], layer.name)


def filled(value: float | None, layer: Layer, a: Arguments) -> Tensor:
    """Return a constant of an operand's shape and type."""
    x = a.tensor(0, "x", "input", "tensor")
    number = a.number(1, 0.0, "fill_value") if value is None else value
    dtype = a.value(None, "dtype")
    kind = x.dtype if dtype is None else _type(a, dtype)
    array = np.full(x.value.shape, number, kind)
    return Tensor(constant(array, f"{layer.name}/constant"), x.axes)


def cast(layer: Layer, a: Arguments) -> Tensor:
    """Convert to float, to integers (the fraction is dropped) or to bool."""
    x = a.tensor(0, "x", "value")
    dtype = a.value(1, "dtype")
    a.ignore("sparse", "preferred_dtype", "dtype_hint")
    kind = x.dtype if dtype is None else _type(a, dtype)
    if kind == x.dtype or kind == "float32" or x.dtype == "bool":
        return pointwise("x0", [x], layer.name, kind)
    if kind == "bool":
        return pointwise("ne(x0, 0)", [x], layer.name, kind)
    return pointwise("trunc(x0)", [x], layer.name, kind)


def _type(a: Arguments, dtype: Any) -> DType:
    """Return the IR's name of a type that a call names."""
    if isinstance(dtype, dict) and isinstance(dtype.get("config"), dict):
        dtype = dtype["config"].get("name")
    if dtype in ("int", "float"):
        dtype = f"{dtype}32"
    if dtype in FLOATS:
        return "float32"
    if dtype not in (*EXACT, "bool"):
        a.unsupported("dtype", dtype, ", ".join((*FLOATS, *EXACT, "bool")))
    name: DType = dtype
    return name


def shape(layer: Layer, a: Arguments) -> Tensor:
    """Return an operand's sizes, all of them known."""
    x = a.tensor(0, "x", "input")
    a.ignore("out_type", "optimize")
    array = np.asarray(x.shape, np.int32)
    return Tensor(constant(array, f"{layer.name}/shape"), plain(1))


def each(function: Callable[..., Any], **formulas: str) -> dict[str, Operation]:
    """Return operations that apply a formula in the same way."""
    return {name: partial(function, text) for name, text in formulas.items()}


_ARCTAN2 = (
    f"where(0 < x1, atan(x0 / x1), where(x1 < 0, atan(x0 / x1) + where(x0 < 0, {-pi}, {pi}), "
    f"where(x0 < 0, {-pi / 2}, where(0 < x0, {pi / 2}, 0))))"
)

ELEMENTWISE: dict[str, Operation] = {
    **each(
        unary,
        arccos="acos(x0)",
        arccosh="log1p(x0 - 1 + sqrt((x0 - 1) * (x0 + 1)))",
        arcsin="asin(x0)",
        arcsinh="asinh(x0)",
        arctan="atan(x0)",
        arctanh="0.5 * log1p(2 * x0 / (1 - x0))",
        cbrt="sign(x0) * pow(abs(x0), 1 / 3)",
        cos="cos(x0)",
        cosh="0.5 * (exp(x0) + exp(-x0))",
        deg2rad=f"x0 * {pi / 180}",
        erf="erf(x0)",
        exp="exp(x0)",
        exp2=f"exp(x0 * {np.log(2)})",
        expm1="exp(x0) - 1",
        log="log(x0)",
        log10=f"log(x0) * {1 / np.log(10)}",
        log1p="log1p(x0)",
        log2=f"log(x0) * {1 / np.log(2)}",
        rad2deg=f"x0 * {180 / pi}",
        reciprocal="1 / x0",
        rsqrt="rsqrt(x0)",
        sin="sin(x0)",
        sinc=f"where(x0 == 0, 1, sin({pi} * x0) / ({pi} * x0))",
        sinh="0.5 * (exp(x0) - exp(-x0))",
        sqrt="sqrt(x0)",
        tan="tan(x0)",
        tanh="tanh(x0)",
    ),
    **each(
        same_type,
        absolute="abs(x0)",
        ceil="ceil(x0)",
        floor="floor(x0)",
        identity="x0",
        negative="-x0",
        round="round_even(x0)",
        sign="sign(x0)",
        square="square(x0)",
        trunc="trunc(x0)",
    ),
    **each(
        truth,
        isfinite="1 - max(is_nan(x0), is_inf(x0))",
        isinf="is_inf(x0)",
        isnan="is_nan(x0)",
        logical_not="x0 == 0",
    ),
    **each(
        binary,
        arctan2=_ARCTAN2,
        divide="x0 / x1",
        heaviside="where(x0 < 0, 0, where(x0 == 0, x1, 1))",
        hypot="sqrt(x0 * x0 + x1 * x1)",
        logaddexp="max(x0, x1) + log1p(exp(-abs(x0 - x1)))",
        power="pow(x0, x1)",
    ),
    **{
        name: partial(arithmetic, _formula(text))
        for name, text in {
            "add": "x0 + x1",
            "maximum": "max(x0, x1)",
            "minimum": "min(x0, x1)",
            "multiply": "x0 * x1",
            "squared_difference": "square(x0 - x1)",
            "subtract": "x0 - x1",
        }.items()
    },
    "floor_divide": partial(arithmetic, _floored),
    "mod": partial(arithmetic, _modulo),
    **each(
        comparison,
        equal="x0 == x1",
        greater="x1 < x0",
        greater_equal="x1 <= x0",
        less="x0 < x1",
        less_equal="x0 <= x1",
        logical_and="ne(x0, 0) * ne(x1, 0)",
        logical_or="max(ne(x0, 0), ne(x1, 0))",
        logical_xor="ne(ne(x0, 0), ne(x1, 0))",
        not_equal="ne(x0, x1)",
    ),
    "add_n": add_n,
    "cast": cast,
    "clip": clip,
    "full_like": partial(filled, None),
    "nan_to_num": nan_to_num,
    "ones_like": partial(filled, 1.0),
    "shape": shape,
    "where": where,
    "zeros_like": partial(filled, 0.0),
}
