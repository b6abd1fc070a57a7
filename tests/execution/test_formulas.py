"""Every formula of the library on a real GL ES context, against the numpy reference."""

from __future__ import annotations

import pytest
from support import (
    assert_runs_like_reference,
    graph_of,
    image,
    pointwise,
)

pytestmark = pytest.mark.gl


FORMULAS = (
    "relu(x0)",
    "relu6(x0)",
    "leaky_relu(x0, 0.3)",
    "prelu(x0, 0.1)",
    "elu(x0, 0.7)",
    "selu(x0)",
    "celu(x0, 1.5)",
    "thresholded_relu(x0, 0.5)",
    "sigmoid(9 * x0)",
    "log(sigmoid(4 * x0 - 12))",
    "hard_sigmoid(x0)",
    "hard_swish(x0)",
    "silu(x0)",
    "swish(x0, 1.7)",
    "mish(x0)",
    "gelu(x0)",
    "gelu_tanh(x0)",
    "softplus(40 * x0)",
    "softsign(x0)",
    "log_sigmoid(x0)",
    "tanh(50 * x0)",
    "erf(x0)",
    "abs(x0)",
    "sign(x0)",
    "floor(3 * x0)",
    "ceil(3 * x0)",
    "trunc(3 * x0)",
    "round_even(4 * x0)",
    "sqrt(abs(x0))",
    "rsqrt(1 + abs(x0))",
    "exp(x0)",
    "log(1 + abs(x0))",
    "log1p(0.04 * x0)",
    "asinh(3 * x0)",
    "sin(x0)",
    "cos(x0)",
    "tan(x0 / 4)",
    "asin(tanh(x0))",
    "acos(tanh(x0))",
    "atan(x0)",
    "square(x0)",
    "reciprocal(2 + abs(x0))",
    "mod(x0, 0.7)",
    "clamp(x0, -0.5, 0.25)",
    "pow(x0, 2)",
    "pow(x0, 3)",
    "pow(abs(x0), 1.7)",
    "pow(x0, 4)",
    "pow(x0, 5)",
    "x0 < 0.3",
    "x0 >= 0.3",
    "x0 == 0",
    "ne(x0, 0)",
    "not(x0)",
    "gt(x0, 0)",
    "ge(x0, 0)",
    "where(x0 < 0, x0, 2)",
    "-x0 / 3 - (1 - x0)",
    "pow(3, x0)",
    "is_nan(where(x0 < 0.3, inf - inf, x0))",
    "is_inf(where(x0 < 0.3, -inf, x0))",
    "binade(9 * x0)",
    "high_part(x0)",
    "quotient(x0, 0.3 + abs(x0))",
    "bit_and(trunc(99 * x0), 60)",
    "bit_or(trunc(99 * x0), 60)",
    "bit_xor(trunc(99 * x0), -60)",
    "shift_left(trunc(99 * x0), 3)",
    "shift_right(trunc(99 * x0), trunc(3 * abs(x0)))",
)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("precision", ("highp", "mediump"))
def test_formula_runs_as_a_pass_of_its_own(formula, precision):
    x = image(1, 6, 5, 7)
    if precision == "mediump" and ("==" in formula or "ne(" in formula or "not(" in formula):
        precision = "highp"  # comparing for equality is not robust to storage in 16 bits
    if precision == "mediump" and formula.startswith("log(sigmoid"):
        pytest.skip("16 bits cannot hold sigmoid(-18)")
    jumps = ("floor", "ceil", "trunc", "round", "<", ">", "mod", "binade", "high_part")
    steps = any(f in formula for f in jumps)
    if precision == "mediump" and steps:
        pytest.skip("a step function of an input rounded to 16 bits may land on the next step")
    assert_runs_like_reference(graph_of(pointwise(formula, x), inputs=(x,)), precision=precision)


def test_every_formula_of_the_library_is_executed_here():
    from shadergen.ir.expr import walk
    from shadergen.ir.formula_parser import parse
    from shadergen.ir.formulas import FORMULAS as LIBRARY
    from shadergen.ir.primitives import PRIMITIVES

    used = {getattr(e, "function", "") for f in FORMULAS for e in walk(parse(f))}
    helpers = {
        "corrected",
        "erf_tail",
        "expm1_negative",
        "log1p_small",
        "mish_gate",
        "nearer",
        "sigmoid_of",
    }
    infix = {"add"}
    movement = {"idiv", "imod", "min", "max", "le", "lt", "eq"}
    assert set(LIBRARY) | set(PRIMITIVES) <= used | helpers | infix | movement
