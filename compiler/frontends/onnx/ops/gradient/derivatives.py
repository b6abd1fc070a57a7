"""Derivatives of formulas: the chain rule on expressions.

A formula of the library that is smooth but written with a kink, as softplus is with max(x, 0), has
a rule of its own; the others are what their bodies are. At a kink of its own, a function has the
derivative of one of its sides, or one between (that of abs(x) at 0 is 0). What is piecewise
constant has the derivative 0.
"""

from __future__ import annotations

from ......errors import ShadergenError
from ......ir.algebra import fold
from ......ir.evaluation import bind
from ......ir.expr import Call, Expr, Num, Var, substitute, walk
from ......ir.formula_parser import parse
from ......ir.formulas import FORMULAS

# For each function, its partial derivatives by its arguments a, b.
RULES: dict[str, tuple[str, ...]] = {
    "add": ("1", "1"),
    "sub": ("1", "-1"),
    "mul": ("b", "a"),
    "div": ("1 / b", "-a / (b * b)"),
    "neg": ("-1",),
    "pow": ("where(b == 0, 0, b * pow(a, b - 1))", "where(a == 0, 0, pow(a, b) * log(a))"),
    "min": ("a <= b", "b < a"),
    "max": ("b < a", "a <= b"),
    "abs": ("sign(a)",),
    "sqrt": ("0.5 / sqrt(a)",),
    "exp": ("exp(a)",),
    "log": ("1 / a",),
    "sin": ("cos(a)",),
    "cos": ("-sin(a)",),
    "tan": ("1 + tan(a) * tan(a)",),
    "asin": ("1 / sqrt((1 - a) * (1 + a))",),
    "acos": ("-1 / sqrt((1 - a) * (1 + a))",),
    "atan": ("1 / (1 + a * a)",),
    "tanh": ("1 - tanh(a) * tanh(a)",),
    "sigmoid": ("sigmoid(a) * sigmoid(-a)",),
    "softplus": ("sigmoid(a)",),
    "softsign": ("1 / square(1 + abs(a))",),
    "log1p": ("1 / (1 + a)",),
    "asinh": ("1 / sqrt(a * a + 1)",),
    "erf": ("1.1283791670955126 * exp(-a * a)",),
    "mish": ("tanh(softplus(a)) + a * sigmoid(a) * (1 - square(tanh(softplus(a))))",),
}
CONSTANT = frozenset(  # between their steps
    (
        *("sign", "floor", "ceil", "trunc", "round_even", "high_part"),
        *("lt", "le", "eq", "is_nan", "is_inf"),
    )
)
NOTHING = Num(0.0)


def derivative(expr: Expr, variable: str) -> Expr:
    """Return the derivative of a formula by one of its variables.

    Raises:
        ShadergenError: SG0202 naming a function that has none here.
    """
    known: dict[Expr, Expr] = {}
    for e in walk(expr):
        if isinstance(e, Call):
            known[e] = _of_call(e, [known[a] for a in e.args])
        else:
            known[e] = Num(1.0) if e == Var(variable) else NOTHING
    return fold(known[expr])


def _of_call(call: Call, inner: list[Expr]) -> Expr:
    """Return the derivative of a call from its arguments' derivatives."""
    if call.function in CONSTANT:
        return NOTHING
    if call.function == "where":
        _, a, b = inner
        return NOTHING if a == b == NOTHING else Call("where", (call.args[0], a, b))
    total: Expr = NOTHING
    for position, d in enumerate(inner):
        if d != NOTHING:
            term = fold(Call("mul", (_slope(call, position), d)))
            total = fold(Call("add", (total, term)))
    return total


def _slope(call: Call, position: int) -> Expr:
    """Return the derivative of a function by one of its arguments."""
    if call.function in RULES:
        rule = parse(RULES[call.function][position])
        return substitute(rule, dict(zip("ab", call.args, strict=False)))
    if call.function not in FORMULAS:
        raise ShadergenError("SG0202", f"the derivative of {call.function}() is not implemented")
    definition = FORMULAS[call.function]
    name, _ = definition.parameters[position]
    return substitute(derivative(definition.body, name), bind(definition, call.args))
