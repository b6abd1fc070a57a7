"""Element-wise operators: most are a formula with ONNX's defaults, a few choose their formula.

Floats of every width are computed as float32, integers as ``ir.integers`` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir import integers
from .....ir.expr import Call, Expr, Num, Var, substitute, variables
from .....ir.formula_parser import parse
from .....ir.formulas import summary
from .....ir.integers import is_integer, wrapped
from .....ir.ops import Pointwise
from ..operands import Known
from .axes import in_place
from .casts import compared, of_any_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .....ir.graph import Value
    from .....ir.types import DType
    from ..operands import Item
    from .node import OnnxNode

    Handler = Callable[[OnnxNode], Item | Sequence[Item | None]]
    Binary = Callable[[Expr, Expr, DType], Expr]

FLOAT_MAX = float(np.finfo(np.float32).max)
TERMS = 8  # operands of one formula: textures that a shader can read are few
NEAR_WHOLE = parse(
    "where(abs(x - round_even(x)) < 0.00001 * max(abs(x), 1), round_even(x), trunc(x))"
)
A, B = Var("x0"), Var("x1")


def formula(text: str, **defaults: float) -> Handler:
    """A formula of floats: of the inputs x0, x1, ... and of the node's attributes."""

    @in_place
    def handler(node: OnnxNode) -> Value:
        expr = parse(text)
        values = {name: Num(node.number(name, value)) for name, value in defaults.items()}
        operands = [node.real(i) for i in range(operand_count(node, expr, values))]
        return node.apply(Pointwise(substitute(expr, values)), *operands)

    handler.__doc__ = summary(text)
    return handler


def arithmetic(text: str) -> Handler:
    """A formula of numbers of one type, the result's; integers of 8 and 16 bits wrap around."""

    @in_place
    def handler(node: OnnxNode) -> Value:
        expr = parse(text)
        operands = alike(node, *range(operand_count(node, expr, {})))
        dtype = operands[0].type.dtype
        return node.apply(Pointwise(wrapped(expr, dtype), dtype), *operands)

    handler.__doc__ = summary(text)
    return handler


def binary(of_floats: str, of_integers: Binary) -> Handler:
    """An operator of two numbers of one type, with another formula for integers."""

    @in_place
    def handler(node: OnnxNode) -> Value:
        operand_count(node, parse("x0 + x1"), {})
        operands = alike(node, 0, 1)
        dtype = operands[0].type.dtype
        expr = of_integers(A, B, dtype) if is_integer(dtype) else parse(of_floats)
        return node.apply(Pointwise(expr, dtype), *operands)

    handler.__doc__ = summary(of_floats)
    return handler


def comparison(text: str) -> Handler:
    """A formula of two tensors of one type whose result is a boolean."""

    @in_place
    def handler(node: OnnxNode) -> Value:
        expr = parse(text)
        indices = range(operand_count(node, expr, {}))
        same_type(node, *indices)
        return node.apply(Pointwise(expr, "bool"), *map(node.operand, indices))

    handler.__doc__ = summary(text)
    return handler


def logical(text: str) -> Handler:
    """A formula of booleans, given as 0 and 1."""

    @in_place
    def handler(node: OnnxNode) -> Value:
        expr = parse(text)
        operands = [node.truth(i) for i in range(operand_count(node, expr, {}))]
        return node.apply(Pointwise(expr, "bool"), *operands)

    handler.__doc__ = summary(text)
    return handler


def alike(node: OnnxNode, *indices: int, integer: bool = False) -> list[Value]:
    """Return inputs that must be numbers of one element type."""
    same_type(node, *indices)
    operands = [node.numeric(i) for i in indices]
    dtype = operands[0].type.dtype
    if integer and not is_integer(dtype):
        raise ShadergenError("SG0105", f"{node.op} does not take {dtype}", supported="integers")
    return operands


def same_type(node: OnnxNode, *indices: int) -> None:
    """Refuse inputs of different element types (SG0105)."""
    names = [node.item(i).type.dtype for i in indices]
    if len(set(names)) > 1:
        raise ShadergenError("SG0105", f"operands of {node.op} differ in type: {', '.join(names)}")


def operand_count(node: OnnxNode, expr: Expr, bound: dict[str, Num]) -> int:
    """Return how many operands a formula has; more inputs than that are not dropped silently."""
    count = len([v for v in variables(expr) if v not in bound])
    if len(node.inputs) != count:
        raise ShadergenError(
            "SG0105", f"{node.op} has {len(node.inputs)} inputs instead of {count}"
        )
    return count


def variadic(function: str, mean: bool = False) -> Handler:
    """An operator of any number of inputs, joined pairwise so that formulas stay shallow."""

    @in_place
    def handler(node: OnnxNode) -> Value:
        if not node.inputs:
            raise ShadergenError("SG0105", f"{node.op} needs at least one input")
        operands = alike(node, *range(len(node.inputs)))
        count = len(operands)
        while len(operands) > 1:
            operands = [
                _joined(node, function, operands[i : i + TERMS])
                for i in range(0, len(operands), TERMS)
            ]
        if not mean or count == 1:
            return operands[0]
        return node.apply(Pointwise(Call("div", (A, Num(float(count))))), operands[0])

    handler.__doc__ = (
        "The mean of any number of tensors." if mean else f"y = {function}(x0, x1, ...)"
    )
    return handler


def _joined(node: OnnxNode, function: str, operands: list[Value]) -> Value:
    if len(operands) == 1:
        return operands[0]
    terms: list[Expr] = [Var(f"x{i}") for i in range(len(operands))]
    while len(terms) > 1:
        joined = [Call(function, (a, b)) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = [*joined, *terms[len(terms) - len(terms) % 2 :]]
    return node.apply(Pointwise(terms[0], operands[0].type.dtype), *operands)


@in_place
def clip(node: OnnxNode) -> Value | Known:
    """Clip: bounds are attributes before operator set 11, then inputs; either may be missing."""
    x = node.item(0)
    if isinstance(x, Known) and x.array.dtype.kind == "O" and node.version >= 11:
        return _clipped_sizes(node, x)
    operands = [node.numeric(0)]
    expr: Expr = A
    bounds: list[Expr | None] = []
    for index, name in enumerate(("min", "max"), 1):
        bound: Expr | None = None
        if node.version < 11:
            bound = Num(node.number(name)) if node.has(name) else None
        elif node.given(index):
            same_type(node, 0, index)
            bound = _bound(node, index, operands)
        if isinstance(bound, Num) and not -FLOAT_MAX < bound.value < FLOAT_MAX:
            outward = (bound.value < 0) == (name == "min")
            bound = None if outward else Num(np.sign(bound.value) * FLOAT_MAX)
        bounds.append(bound)
    low, high = bounds
    if low is not None and high is not None:
        expr = Call("clamp", (expr, low, high))
    elif low is not None:
        expr = Call("max", (expr, low))
    elif high is not None:
        expr = Call("min", (expr, high))
    else:
        return operands[0]
    return node.apply(Pointwise(expr, operands[0].type.dtype), *operands)


def _clipped_sizes(node: OnnxNode, x: Known) -> Known:
    """Clip sizes of which some are dynamic."""
    array = x.array
    for index, function in ((1, np.maximum), (2, np.minimum)):
        if node.given(index):
            same_type(node, 0, index)
            array = function(array, node.known(index, "a bound"))
    return Known(node.layer, np.asarray(array))


def _bound(node: OnnxNode, index: int, operands: list[Value]) -> Expr:
    item = node.item(index)
    if not isinstance(item, Known):
        operands.append(node.operand(index))
        return Var(f"x{len(operands) - 1}")
    if item.array.size != 1:
        raise ShadergenError("SG0105", f"a bound of Clip must be one number, not {item.array}")
    value = float(item.array.reshape(()))
    if np.isnan(value):
        raise ShadergenError("SG0106", f"'{item.name}', a bound of Clip, is NaN")
    return Num(_short(value))


def _short(value: float) -> float:
    """Return the shortest decimal that is the same number in float32."""
    return float(str(np.float32(value))) if abs(value) <= FLOAT_MAX else value


@in_place
def power(node: OnnxNode) -> Value:
    """Pow: has the base's type; a known exponent becomes part of the formula."""
    x, exponent = node.numeric(0), node.item(1)
    if is_integer(x.type.dtype):
        return _integer_power(node, x)
    if (
        not isinstance(exponent, Known)
        or exponent.array.size != 1
        or exponent.array.dtype.kind not in "fiu"
        or exponent.array.ndim > x.type.rank
    ):
        return node.apply(Pointwise(parse("pow(x0, x1)")), x, node.numeric(1))
    value = float(exponent.array.reshape(()))
    if not np.isfinite(value):
        raise ShadergenError("SG0106", f"the exponent '{exponent.name}' is {value}")
    if value == 1:
        return x
    special = {2.0: "x0 * x0", 3.0: "x0 * x0 * x0", -1.0: "1 / x0", 0.5: "sqrt(x0)"}
    expr = parse(special[value]) if value in special else None
    return node.apply(Pointwise(expr or Call("pow", (A, Num(_short(value))))), x)


def _integer_power(node: OnnxNode, x: Value) -> Value:
    """Whole exponents exactly; others by pow(), whose result near a whole number is that number."""
    y = node.numeric(1)
    expr = integers.power(A, B)
    if not is_integer(y.type.dtype):
        near = substitute(NEAR_WHOLE, {"x": Call("pow", (A, B))})
        expr = substitute(parse("where(x1 == floor(x1), p, near)"), {"p": expr, "near": near})
    return node.apply(Pointwise(expr, x.type.dtype), x, y)


@in_place
def mod(node: OnnxNode) -> Value:
    """Mod: the result has the divisor's sign, or the dividend's if fmod is 1."""
    of_divisor = not node.choice("fmod", (0, 1))
    operands = alike(node, 0, 1)
    dtype = operands[0].type.dtype
    expr = integers.remainder(A, B, of_divisor, dtype)
    return node.apply(Pointwise(expr, dtype), *operands)


@in_place
def prelu(node: OnnxNode) -> Value:
    """PRelu; the slope broadcasts to the input, never the other way round."""
    operands = alike(node, 0, 1)
    expr = wrapped(parse("prelu(x0, x1)"), operands[0].type.dtype)
    y = node.apply(Pointwise(expr, operands[0].type.dtype), *operands)
    if y.shape != node.shape(0):
        raise ShadergenError(
            "SG0205",
            "the slope of PRelu does not broadcast to its input",
            why="aligned at the right, its sizes must be 1 or equal the input's",
        )
    return y


@in_place
def gelu(node: OnnxNode) -> Value:
    """Gelu, by the error function or approximated by tanh."""
    name = {"none": "gelu", "tanh": "gelu_tanh"}[node.choice("approximate", ("none", "tanh"))]
    return node.apply(Pointwise(Call(name, (A,))), node.real(0))


@in_place
def where(node: OnnxNode) -> Value:
    """Where; the condition is bool, both other operands have the same type."""
    same_type(node, 1, 2)
    operands = node.truth(0), node.operand(1), node.operand(2)
    return node.apply(Pointwise(parse("where(x0, x1, x2)"), operands[1].type.dtype), *operands)


@in_place
def is_inf(node: OnnxNode) -> Value:
    """IsInf; attributes choose infinity, -infinity or both."""
    positive = node.choice("detect_positive", (1, 0))
    negative = node.choice("detect_negative", (1, 0))
    text = {
        (1, 1): "is_inf(x0)",
        (1, 0): "is_inf(x0) * (0 < x0)",
        (0, 1): "is_inf(x0) * (x0 < 0)",
        (0, 0): "0",
    }[positive, negative]
    return node.apply(Pointwise(parse(text), "bool"), node.real(0))


@in_place
def is_nan(node: OnnxNode) -> Value:
    """IsNaN: 1 where an element is not a number."""
    return node.apply(Pointwise(parse("is_nan(x0)"), "bool"), node.real(0))


# Hyperbolic functions: exponentials see x - log(2), so that halving cannot overflow first.
SINH = "exp(x0 - 0.6931471805599453) - exp(-x0 - 0.6931471805599453)"
COSH = "exp(x0 - 0.6931471805599453) + exp(-x0 - 0.6931471805599453)"

ELEMENTWISE: dict[str, Handler] = {
    "Abs": arithmetic("abs(x0)"),
    "Acos": formula("acos(x0)"),
    "Acosh": formula("log1p(x0 - 1 + sqrt((x0 - 1) * (x0 + 1)))"),
    "Add": arithmetic("x0 + x1"),
    "And": logical("x0 * x1"),
    "Asin": formula("asin(x0)"),
    "Asinh": formula("asinh(x0)"),
    "Atan": formula("atan(x0)"),
    "Atanh": formula("0.5 * log1p(2 * x0 / (1 - x0))"),
    "Ceil": formula("ceil(x0)"),
    "Clip": clip,
    "Cos": formula("cos(x0)"),
    "Cosh": formula(COSH),
    "Div": binary("x0 / x1", integers.integer_quotient),
    "Equal": compared(comparison("x0 == x1")),
    "Erf": formula("erf(x0)"),
    "Exp": formula("exp(x0)"),
    "Floor": formula("floor(x0)"),
    "Gelu": gelu,
    "Greater": comparison("x0 > x1"),
    "GreaterOrEqual": comparison("x0 >= x1"),
    "IsInf": is_inf,
    "IsNaN": is_nan,
    "Less": comparison("x0 < x1"),
    "LessOrEqual": comparison("x0 <= x1"),
    "Log": formula("log(x0)"),
    "Max": variadic("max"),
    "Mean": variadic("add", mean=True),
    "Min": variadic("min"),
    "Mod": mod,
    "Mul": binary("x0 * x1", integers.product),
    "Neg": arithmetic("-x0"),
    "Not": logical("not(x0)"),
    "Or": logical("max(x0, x1)"),
    "PRelu": prelu,
    "Pow": power,
    "Reciprocal": formula("1 / x0"),
    "Round": formula("round_even(x0)"),
    "Sign": arithmetic("sign(x0)"),
    "Sin": formula("sin(x0)"),
    "Sinh": formula(SINH),
    "Sqrt": formula("sqrt(x0)"),
    "Sub": arithmetic("x0 - x1"),
    "Sum": variadic("add"),
    "SwiGLU": formula("swish(x0, alpha) * x1", alpha=1.0),
    "Tan": formula("tan(x0)"),
    "Where": of_any_type(where, slice(1, 3)),
    "Xor": logical("abs(x0 - x1)"),
}
