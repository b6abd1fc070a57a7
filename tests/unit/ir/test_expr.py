"""The expression language: text, meaning, folding, affine parts, and its errors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from support.trees import trees

from shadergen.backends.dialects.glsl_es import float_literal as number
from shadergen.errors import ShadergenError
from shadergen.ir.algebra import affine, fold
from shadergen.ir.dimensions import dimension
from shadergen.ir.dimensions.environment import ShapeEnvironment
from shadergen.ir.evaluation import check, evaluate_formula, expand
from shadergen.ir.expr import (
    Call,
    Num,
    Var,
    literal,
    number_text,
    substitute,
    to_text,
    variables,
    walk,
)
from shadergen.ir.formula_parser import Definition, parse, parse_definitions
from shadergen.ir.formulas import FORMULAS
from shadergen.ir.primitives import PRIMITIVES

NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.1, -3.75, 1e-40, 1e300, -1e15, math.inf, -math.inf)
ANY = {name: p.arity for name, p in PRIMITIVES.items()} | {
    name: len(d.parameters) for name, d in FORMULAS.items()
}
FOLDABLE = {n: p.arity for n, p in PRIMITIVES.items() if n not in ("idiv", "imod")}


def same(a: object, b: object) -> bool:
    return bool(np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True))


def test_text_reads_back_as_the_same_tree():
    for expr in trees(3000, ANY, "xyz", NUMBERS):
        printed = to_text(expr)
        assert parse(printed) == expr, printed
        assert to_text(parse(printed)) == printed


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a - b - c", "(a - b) - c"),
        ("a - b * c / d", "a - ((b * c) / d)"),
        ("-a * b", "(-a) * b"),
        ("a + b < c * d", "(a + b) < (c * d)"),
        ("a > b", "b < a"),
        ("a >= b", "b <= a"),
        ("a  # comment\n + b", "a + b"),
        (".5 + 1. + 1e-3", "0.5 + 1.0 + 0.001"),
    ],
)
def test_operators_bind_as_in_arithmetic(text, tree):
    assert parse(text) == parse(tree)


def test_infinity_is_a_number_and_names_may_begin_like_it():
    assert parse("inf") == Num(math.inf)
    assert parse("-inf") == Num(-math.inf)
    assert parse("info + inf_") == Call("add", (Var("info"), Var("inf_")))


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (-2.5, "-2.5"), (0.1, "0.1"), (1e-5, "1e-05"), (1e20, "1e+20"), (-0.0, "-0.0"),
     (math.inf, "inf"), (-math.inf, "-inf"), (999999999999999.0, "999999999999999")],
)  # fmt: skip
def test_numbers_print_shortest(value, text):
    assert number_text(value) == text
    read = parse(text)
    assert isinstance(read, Num)
    assert math.copysign(1, read.value) == math.copysign(1, value)
    assert read.value == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.1, "0.1"), (1e-40, "1.0e-40"),
     (1e-45, "1.0e-45"), (3.4028235e38, "3.4028235e+38"), (16777216.0, "1.6777216e+07"),
     (1e60, "uintBitsToFloat(0x7F800000u)"), (-math.inf, "-uintBitsToFloat(0x7F800000u)")],
)  # fmt: skip
def test_shader_literals_print_as(value, text):
    assert number(value) == text


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_shader_literals_read_back_as_the_same_float32(value):
    text = number(value)
    assert "." in text or "e" in text
    assert np.float32(text).tobytes() == np.float32(value).tobytes()


# Every formula, written again with the standard library and scipy.
X = np.array([-1e4, -80.0, -7.3, -1.0, -0.4, -1e-3, 0.0, 1e-3, 0.6, 1.0, 5.9, 6.0, 70.0, 1e4])
SIGMOID = special.expit
LOG_SIGMOID = special.log_expit
SOFTPLUS = np.logaddexp(0, X)
A = np.linspace(-3, 3, X.size)
INDEPENDENT = {
    "gt(x, a)": np.array([float(x > a) for x, a in zip(X, A, strict=True)]),
    "ge(x, x)": np.ones(X.size),
    "ne(x, 0)": np.array([float(x != 0) for x in X]),
    "not(x)": np.array([float(x == 0) for x in X]),
    "clamp(x, -1, 6)": np.array([sorted((-1.0, x, 6.0))[1] for x in X]),
    "square(x)": X**2,
    "reciprocal(a + 9)": np.array([1 / (a + 9) for a in A]),
    "rsqrt(a + 9)": np.array([1 / math.sqrt(a + 9) for a in A]),
    "mod(x, 0.7)": np.array([math.fmod(math.fmod(x, 0.7) + 0.7, 0.7) for x in X]),
    "quotient(x, a + 9)": np.array([x / (a + 9) for x, a in zip(X, A, strict=True)]),
    "corrected(x, a + 9, high_part(x / (a + 9)), high_part(a + 9))": X / (A + 9),
    "nearer(x, where(a < 0, x, 2 * x))": X,
    "relu(x)": np.array([x if x > 0 else 0 for x in X]),
    "relu6(x)": np.array([0 if x < 0 else 6 if x > 6 else x for x in X]),
    "leaky_relu(x)": np.array([x if x >= 0 else 0.01 * x for x in X]),
    "leaky_relu(x, 1.5)": np.array([x if x >= 0 else 1.5 * x for x in X]),
    "prelu(x, a)": np.array([x if x >= 0 else a * x for x, a in zip(X, A, strict=True)]),
    "thresholded_relu(x)": np.array([x if x > 1 else 0 for x in X]),
    "sigmoid(x)": SIGMOID(X),
    "sigmoid_of(x, exp(-abs(x)))": SIGMOID(X),
    "hard_sigmoid(x)": np.array([max(0, min(1, 0.2 * x + 0.5)) for x in X]),
    "log_sigmoid(x)": LOG_SIGMOID(X),
    "silu(x)": X * SIGMOID(X),
    "swish(x, 1.7)": X * SIGMOID(1.7 * X),
    "hard_swish(x)": np.array([x * max(0, min(1, x / 6 + 0.5)) for x in X]),
    "expm1_negative(x)": np.array([math.expm1(min(x, 0)) for x in X]),
    "elu(x, 0.7)": np.array([x if x > 0 else 0.7 * math.expm1(x) for x in X]),
    "selu(x)": np.array(
        [1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)) for x in X]
    ),
    "celu(x, 1.5)": np.array([x if x > 0 else 1.5 * math.expm1(x / 1.5) for x in X]),
    "log1p(abs(a) - 0.9)": np.log1p(np.abs(A) - 0.9),
    "log1p_small(a / 60)": np.log1p(A / 60),
    "asinh(x)": np.arcsinh(X),
    "softplus(x)": SOFTPLUS,
    "softsign(x)": np.array([x / (1 + abs(x)) for x in X]),
    "mish(x)": X * np.tanh(SOFTPLUS),
    "mish_gate(x, exp(-abs(x)))": np.tanh(SOFTPLUS),
    "erf(x)": special.erf(X),
    "erf_tail(1 / (1 + 0.3275911 / 3 * abs(a)))": special.erfcx(np.abs(A) / 3),
    "gelu(x)": X * special.ndtr(X),
    "gelu_tanh(x)": 0.5 * X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))),
}


@pytest.mark.parametrize("formula", INDEPENDENT)
def test_formula_is_what_its_name_says(formula):
    got = np.broadcast_to(evaluate_formula(parse(formula), {"x": X, "a": A}), X.shape)
    loose = any(name in formula for name in ("erf", "gelu("))  # a fit, good to 1.5e-7
    np.testing.assert_allclose(got, INDEPENDENT[formula], rtol=1e-6, atol=2e-6 if loose else 1e-9)


def test_every_formula_is_compared_above():
    assert set(FORMULAS) == {f.partition("(")[0] for f in INDEPENDENT}


@pytest.mark.parametrize("units", [-3, 1, 2])
@pytest.mark.parametrize("least", [-256, 65280])
def test_a_quotient_that_is_off_by_some_units_is_corrected(units, least):
    """Halves of whole numbers, and their neighbours: quantised, they round to even or do not."""
    rng = np.random.default_rng(0)
    b = (rng.uniform(0.5, 2, 9999) * 2.0 ** rng.integers(-12, 6, 9999)).astype(np.float32)
    a = ((rng.integers(least, least + 512, 9999) + 0.5) * b).astype(np.float32)
    exact = a / b
    off = exact + units * np.spacing(exact)
    assert np.mean(np.round(off) != np.round(exact)) > 0.1
    names = {"a": a, "b": b, "q": off}
    text = "nearer(q, corrected(a, b, high_part(q), high_part(b)))"
    found = evaluate_formula(parse(text), names)
    assert found.dtype == np.float32
    assert np.mean(np.round(found) != np.round(exact)) < 1e-3
    assert np.all(abs(found - exact) <= np.spacing(abs(exact)))


@pytest.mark.parametrize("b", [0.5, 0.0, np.inf, 2.0**-115, np.nan])
def test_quotients_without_a_remainder_are_as_they_are(b):
    """Of infinite numbers, and of numbers whose remainder would vanish."""
    a = np.array([-np.inf, -3e38, -1, 1, 3e38, np.inf, 1e-37], np.float32)
    with np.errstate(all="ignore"):
        found = evaluate_formula(parse("quotient(a, b)"), {"a": a, "b": np.float32(b)})
        np.testing.assert_array_equal(found, a / np.float32(b))


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_formulas_stay_finite_in_float32(name):
    """No exponential of a large argument, whose infinity times 0 would be NaN."""
    x = np.array([-1e30, -1e4, -100.0, 100.0, 1e4, 1e30], np.float32)
    rest = {p: 0.5 for p, default in FORMULAS[name].parameters[1:] if default is None}
    if name in ("square", "erf_tail", "rsqrt", "gelu_tanh", "log1p", "log1p_small"):
        x = np.abs(x[1:5]) if name in ("rsqrt", "log1p") else x[2:4]  # not bounded by nature
    call = Call(name, (Var("x"), *(Var(p) for p in rest)))
    assert np.isfinite(evaluate_formula(call, {"x": x, **rest})).all()


def test_folding_keeps_every_value():
    rng = np.random.default_rng(1)
    for expr in trees(3000, FOLDABLE, "xyz", NUMBERS):
        env = dict(zip("xyz", rng.choice([-2.5, 0.0, 1.0, 3.0, 7.5], 3), strict=True))
        assert same(evaluate_formula(fold(expr), env), evaluate_formula(expr, env)), str(expr)


@pytest.mark.parametrize(
    "formula",
    ["x * 0", "0 * x", "0 / x", "x - x", "x / x", "x * inf", "inf - inf", "0 / 0", "1 / 0"],
)
def test_what_may_be_infinite_or_nan_is_not_folded(formula):
    assert fold(parse(formula)) == parse(formula)


@pytest.mark.parametrize(
    ("formula", "folded"),
    [("x + 0", "x"), ("0 + x", "x"), ("x - 0", "x"), ("x * 1", "x"), ("1 * x", "x"), ("x / 1", "x"),
     ("min(x, inf)", "x"), ("max(x, -inf)", "x"), ("2 * 3 + x", "6 + x"), ("relu(-1)", "0"),
     ("x * (3 - 2)", "x"), ("x * tanh(softplus(x + 0))", "x * mish_gate(x, exp(-abs(x)))")],
)  # fmt: skip
def test_folding_drops_what_does_nothing_and_names_what_it_knows(formula, folded):
    assert fold(parse(formula)) == parse(folded)


AFFINE = {"add": 2, "sub": 2, "neg": 1, "mul": 2, "div": 2, "max": 2}


def test_affine_parts_add_up_and_are_free_of_the_variable():
    env = {"x": 1.75, "y": -0.625, "a": 3.0}
    lines = 0
    for expr in trees(3000, AFFINE, "xya", (-1.5, 0.0, 0.5, 1.0, 2.0)):
        line = affine(expr, "x")
        if line is None:
            assert "x" in variables(expr), str(expr)
            continue
        assert "x" not in {*variables(line[0]), *variables(line[1])}, str(expr)
        slope, offset, want = (float(evaluate_formula(e, env)) for e in (*line, expr))
        if np.isfinite([slope, offset, want]).all():
            assert slope * env["x"] + offset == pytest.approx(want, rel=1e-9, abs=1e-9), str(expr)
            lines += "x" in variables(expr)
    assert lines > 300


@pytest.mark.parametrize(
    "formula",
    ["x * x", "1 / x", "relu(x)", "x * (x - x)", "max(x - x, 1)", "where(x, 1, 2)", "a / x"],
)
def test_what_is_not_a_line_has_no_affine_parts(formula):
    assert affine(parse(formula), "x") is None


@pytest.mark.parametrize(
    ("formula", "slope", "offset"),
    [("a * (2 * x + b) / 4 - x", 0.5 * 3 - 1, 3 * 5 / 4), ("b", 0, 5), ("-(x - b) * a", -3, 15),
     ("relu(a) * x", 3, 0), ("x - x", 0, 0)],
)  # fmt: skip
def test_affine_parts_are(formula, slope, offset):
    line = affine(parse(formula), "x")
    assert line is not None
    assert tuple(float(evaluate_formula(e, {"a": 3.0, "b": 5.0})) for e in line) == (slope, offset)


def test_substitution_replaces_all_variables_at_once():
    assert substitute(parse("x - y * x"), {"x": Var("y"), "y": Var("x")}) == parse("y - x * y")


def test_walk_yields_shared_parts_once():
    names = [str(e) for e in walk(parse("(x + 1) * (x + 1)"))]
    assert names == ["x", "1", "x + 1", "(x + 1) * (x + 1)"]


def test_evaluation_takes_integers_and_broadcasts():
    y = evaluate_formula(parse("a + b * 2"), {"a": np.ones((2, 1)), "b": np.arange(3)})
    assert y.tolist() == [[1, 3, 5], [1, 3, 5]]


def refusal(call, *args) -> str:
    with pytest.raises(ShadergenError) as caught:
        call(*args)
    return caught.value.render()


@pytest.mark.parametrize(
    ("text", "found"),
    [("x +", "end of the text"), ("x + * y", "'*'"), ("x $ y", "'$'"), ("(x", "end of the text"),
     ("a < b < c", "'<'"), ("", "end of the text"), ("x y", "'y'")],
)  # fmt: skip
def test_text_that_is_no_expression_is_refused(text, found):
    error = refusal(parse, text)
    assert error.startswith(f"error[SG0302]: unexpected {found}")
    assert "a definition looks like this: name(x, alpha=0.1) = " in error


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sigmoit(x)", "did you mean 'sigmoid'?"),
        ("RELU(x)", "did you mean 'relu'?"),
        ("zzz(x)", "docs/expressions.md"),
        ("relu(x, 1)", "relu() takes 1 argument, not 2"),
        ("leaky_relu()", "leaky_relu() takes 1 to 2 arguments, not 0"),
        ("exp(x, x)", "exp() takes 1 argument, not 2"),
    ],
)
def test_calls_of_nothing_known_are_refused(text, says):
    error = refusal(check, parse(text))
    assert error.startswith("error[SG0303]: ")
    assert says in error


def test_definitions_read_parameters_defaults_and_keywords():
    text = """
        # two kinds of name
        Soft2(x, beta=1.5, mode="up", list=[1, -2.5]) = x * tanh(beta * x)
        "my.domain::Shuffle"(x, block_size) = depth_to_space(x, block=block_size, order="dcr")
    """
    soft, shuffle = parse_definitions(text).values()
    defaults = (("x", None), ("beta", 1.5), ("mode", "up"), ("list", (1, -2.5)))
    assert soft == Definition("Soft2", defaults, parse("x * tanh(beta * x)"))
    assert soft.required == ("x",)
    assert shuffle.name == "my.domain::Shuffle"
    attributes = (("block", Var("block_size")), ("order", "dcr"))
    assert shuffle.body == Call("depth_to_space", (Var("x"),), attributes)
    assert parse(to_text(shuffle.body)) == shuffle.body


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("F(x) = x  F(y) = y", "'F' is defined twice"),
        ("F(x, x) = x", "two parameters are called 'x'"),
        ("F(x, a=b) = x * a", "the default of 'a' is the name b"),
        ("F(x) =\n  x +\n", "unexpected end of the text"),
        ("F(x) = x\nG(y) = y )", "my.ops, line 2"),
        ("F x = x", "unexpected 'x'"),
    ],
)
def test_definitions_that_cannot_be_meant_are_refused(text, says):
    error = refusal(parse_definitions, text, "my.ops")
    assert error.startswith("error[SG0302]: ")
    assert says in error
    assert "my.ops" in error


def test_dynamic_dimensions_of_two_models_differ_in_what_is_kept_of_formulas():
    first, second = (
        literal(dimension(ShapeEnvironment({"height": default}, {"height": (1, 64)}), "height") + 1)
        for default in (8, 16)
    )
    assert first.name == second.name
    for size in (first, second):
        assert expand(Call("relu", (size,))).args[0] is size


@pytest.mark.parametrize("name", PRIMITIVES)
def test_discontinuous_functions_are_those_that_jump(name):
    """Between points 1e-9 apart; comparisons make the condition of ``where``."""
    function, condition = PRIMITIVES[name], [1.0] * (name == "where")
    jumps = set()
    for x, y in itertools.product((0.0, 0.5, 1.0, 4.0), repeat=2):
        rest = [y] * (function.arity - 1 - len(condition))
        points = [[*condition, x + step, *rest] for step in (-1e-9, 0.0, 1e-9)]
        with np.errstate(all="ignore"):
            a, b, c = (float(function.numpy(*map(np.float64, p))) for p in points)
        finite = all(map(math.isfinite, (a, b, c)))
        jumps.add(finite and max(abs(a - b), abs(b - c)) > 1e-4)
    assert any(jumps) == function.discontinuous
