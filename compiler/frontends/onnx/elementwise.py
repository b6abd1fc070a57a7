"""Element-wise operators: most are a formula with ONNX's defaults, a few choose their formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....errors import ShadergenError
from ....ir.expr import Call, Expr, Num, Var, parse, substitute, variables
from ....ir.ops import Pointwise
from .node import Known, Mask
from .tensors import BOOL, FLOATS, numpy_type, type_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....ir.graph import Value
    from .node import OnnxNode, Tensor

    Handler = Callable[[OnnxNode], Tensor | list[Tensor]]

FLOAT_MAX = float(np.finfo(np.float32).max)


def formula(text: str, **defaults: float) -> Handler:
    """An operator that is a formula of its inputs x0, x1, ... and its attributes."""

    def handler(node: OnnxNode) -> Value:
        expr = parse(text)
        values = {name: Num(node.number(name, value)) for name, value in defaults.items()}
        operands = [node.operand(i) for i in range(_count(node, expr, values))]
        return node.apply(Pointwise(substitute(expr, values)), *operands)

    return handler


def comparison(text: str) -> Handler:
    """A formula of numbers whose result is a truth value."""

    def handler(node: OnnxNode) -> Tensor:
        expr = parse(text)
        operands = [node.operand(i) for i in range(_count(node, expr, {}))]
        return Mask(node.apply(Pointwise(expr), *operands))

    return handler


def logical(text: str) -> Handler:
    """A formula of truth values, given as 0 and 1."""

    def handler(node: OnnxNode) -> Tensor:
        expr = parse(text)
        operands = [node.mask(i) for i in range(_count(node, expr, {}))]
        return Mask(node.apply(Pointwise(expr), *operands))

    return handler


def _count(node: OnnxNode, expr: Expr, bound: dict[str, Num]) -> int:
    """Return how many operands a formula has; more inputs than that are not dropped silently."""
    count = len([v for v in variables(expr) if v not in bound])
    if len(node.inputs) != count:
        raise ShadergenError("SG0105", f"{node.op} of {len(node.inputs)} inputs instead of {count}")
    return count


def variadic(function: str, mean: bool = False) -> Handler:
    """An operator of any number of inputs, joined pairwise so that the formula stays shallow."""

    def handler(node: OnnxNode) -> Value:
        operands = [node.operand(i) for i in range(len(node.inputs))]
        if not operands:
            raise ShadergenError("SG0105", f"{node.op} without inputs")
        terms: list[Expr] = [Var(f"x{i}") for i in range(len(operands))]
        while len(terms) > 1:
            joined = [Call(function, (a, b)) for a, b in zip(terms[::2], terms[1::2], strict=False)]
            terms = [*joined, *terms[len(terms) - len(terms) % 2 :]]
        if mean:
            terms = [Call("div", (terms[0], Num(float(len(operands)))))]
        if isinstance(terms[0], Var):
            return operands[0]
        return node.apply(Pointwise(terms[0]), *operands)

    return handler


def clip(node: OnnxNode) -> Value:
    """Clip: bounds are attributes before operator set 11, then inputs; either may be missing."""
    operands = [node.operand(0)]
    expr: Expr = Var("x0")
    bounds: list[Expr | None] = []
    for index, name in enumerate(("min", "max"), 1):
        bound: Expr | None = None
        if node.version < 11:
            bound = Num(node.number(name)) if node.has(name) else None
        elif node.given(index):
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
    return node.apply(Pointwise(expr), *operands)


def _bound(node: OnnxNode, index: int, operands: list[Value]) -> Expr:
    item = node.item(index)
    if not isinstance(item, Known):
        operands.append(node.operand(index))
        return Var(f"x{len(operands) - 1}")
    if item.array.size != 1 or item.array.dtype.kind != "f":
        raise ShadergenError("SG0105", f"a bound of Clip must be one number, not {item.array}")
    value = float(item.array.reshape(()))
    if np.isnan(value):
        raise ShadergenError("SG0106", f"'{item.name}', a bound of Clip, is NaN")
    return Num(_short(value))


def _short(value: float) -> float:
    """Return the shortest decimal that is the same number in float32."""
    return float(str(np.float32(value))) if abs(value) <= FLOAT_MAX else value


def power(node: OnnxNode) -> Value:
    """Pow; a known exponent becomes part of the formula, small whole ones products."""
    exponent = node.item(1)
    x = node.operand(0)
    if (
        not isinstance(exponent, Known)
        or exponent.array.size != 1
        or exponent.array.dtype.kind not in "fiu"
        or exponent.array.ndim > x.type.rank
    ):
        return node.apply(Pointwise(parse("pow(x0, x1)")), x, node.operand(1))
    value = float(exponent.array.reshape(()))
    if not np.isfinite(value):
        raise ShadergenError("SG0106", f"the exponent '{exponent.name}' is {value}")
    if value == 1:
        return x
    special = {2.0: "x0 * x0", 3.0: "x0 * x0 * x0", -1.0: "1 / x0", 0.5: "sqrt(x0)"}
    expr = parse(special[value]) if value in special else None
    return node.apply(Pointwise(expr or Call("pow", (Var("x0"), Num(_short(value))))), x)


def mod(node: OnnxNode) -> Value:
    """Mod of numbers: the result has the divisor's sign, or the dividend's if fmod is 1."""
    text = "x0 - x1 * trunc(x0 / x1)" if node.choice("fmod", (0, 1)) else "mod(x0, x1)"
    return node.apply(Pointwise(parse(text)), node.operand(0), node.operand(1))


def prelu(node: OnnxNode) -> Value:
    """PRelu; the slope broadcasts to the input, never the other way round."""
    y = node.apply(Pointwise(parse("prelu(x0, x1)")), node.operand(0), node.operand(1))
    if y.shape != node.shape(0):
        raise ShadergenError(
            "SG0205",
            "the slope of PRelu does not broadcast to its input",
            why="aligned at the right, its sizes must be 1 or equal the input's",
        )
    return y


def gelu(node: OnnxNode) -> Value:
    """Gelu, by the error function or approximated by tanh."""
    name = {"none": "gelu", "tanh": "gelu_tanh"}[node.choice("approximate", ("none", "tanh"))]
    return node.apply(Pointwise(Call(name, (Var("x0"),))), node.operand(0))


def where(node: OnnxNode) -> Value:
    """Where; the condition is a truth value."""
    operands = node.mask(0), node.operand(1), node.operand(2)
    return node.apply(Pointwise(parse("where(x0, x1, x2)")), *operands)


def cast(node: OnnxNode) -> Tensor:
    """Cast among floating-point types and truth values; all floats are computed as float32."""
    node.ignore("saturate", "round_mode")
    to = node.integer("to")
    item = node.item(0)
    if to == BOOL:
        return item if isinstance(item, Mask) else comparison("ne(x0, 0)")(node)  # type: ignore[return-value]
    if to not in FLOATS:
        supported = (*map(type_name, FLOATS), "bool")
        raise node.refusal("to", type_name(to) if numpy_type(to) else to, supported)
    return item.value if isinstance(item, Mask) else node.operand(0)
