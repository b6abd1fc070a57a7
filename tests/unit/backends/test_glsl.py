"""Formulas and index maps as GLSL."""

from __future__ import annotations

import math
import re

import pytest
from support.trees import trees

from shadergen.backends.dialects.glsl_es import GlslEs, print_expression
from shadergen.backends.shader.constructors import construct, filled
from shadergen.backends.shader.expressions import Variable
from shadergen.backends.shader.formulas import Formulas, index, is_scalar
from shadergen.backends.shader.program import Function, Program
from shadergen.backends.shader.statements import Body
from shadergen.backends.shader.types import FLOAT, INT, VEC4
from shadergen.backends.shader.verify import verify
from shadergen.ir.algebra import fold
from shadergen.ir.evaluation import evaluate_formula
from shadergen.ir.expr import Num, variables
from shadergen.ir.formula_parser import parse

FLOATS = {
    "vec4": float, "abs": abs, "min": min, "max": max, "sign": lambda a: (a > 0) - (a < 0),
    "lessThan": lambda a, b: a < b, "notEqual": lambda a, b: a != b,
    "mix": lambda a, b, c: b if c else a, "inf": math.inf,
}  # fmt: skip


K = Variable("k", INT)
ARITHMETIC = {"add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "min": 2, "max": 2, "abs": 1}
ARITHMETIC |= {"where": 3, "lt": 2, "sign": 1}


def test_printed_expressions_mean_what_the_tree_means():
    env = {"a": 1.5, "b": -0.25, "c": 3.0}
    checked = 0
    for expr in trees(3000, ARITHMETIC, "abc", (-1.5, -1.0, 0.5, 1.0, 2.0, 1e-5)):
        want = float(evaluate_formula(expr, env))
        names = {n: Variable(n, VEC4) for n in env}
        printed = print_expression(Formulas("highp").expression(expr, names))
        assert "--" not in printed, printed
        if not math.isfinite(want):
            continue
        try:
            got = float(eval(printed, {"__builtins__": {}}, {**FLOATS, **env}))
        except ZeroDivisionError:  # which IEEE defines and Python does not
            continue
        assert got == pytest.approx(want, rel=1e-5, abs=1e-12), (str(expr), printed)
        checked += 1
    assert checked > 2000


def test_floats_are_computed_as_floats_and_fill_vectors_where_they_meet():
    """Of variables a is a float, the others are vectors."""
    a, b, c = Variable("a", FLOAT), Variable("b", VEC4), Variable("c", VEC4)
    names = {"a": a, "b": b, "c": c}
    alone = choices = 0
    for expr in trees(3000, ARITHMETIC, "aaabc", (0.5, 2.0)):
        body = Body()
        body.give(Formulas("highp").compute(body, expr, names))
        formula = Function("formula", (a, b, c), VEC4, body.statements)
        verify(program_of(formula))
        if set(variables(expr)) == {"a"}:
            assert is_scalar(expr)
            assert Formulas("highp").compute(Body(), expr, names, type=FLOAT).type == FLOAT
            alone += 1
        choices += " ? " in GlslEs().function(formula)
    assert alone > 100
    assert choices > 100


def program_of(function: Function) -> Program:
    """Return a program that applies a function to numbers."""
    main = Body()
    arguments = (filled(1.0, v.type) for v in function.parameters)
    main.write(0, function(*arguments))
    return Program("fragment", "highp", [], [], [], [], main.statements, targets=1)


def test_a_condition_on_floats_is_one_bool():
    names = {"a": Variable("a", FLOAT), "b": Variable("b", VEC4), "k": construct(FLOAT, K)}

    def printed(text: str) -> str:
        return print_expression(Formulas("highp").expression(parse(text), names))

    assert printed("where(a < 2, b, 0)") == "a < 2.0 ? b : vec4(0.0)"
    assert printed("where(k == 2, b, a)") == "k == 2 ? b : vec4(a)"
    assert printed("where((a < 2) * (k < 3), 1, b)") == "a < 2.0 && k < 3 ? vec4(1.0) : b"
    assert printed("where(a, b, 1)") == "a == 0.0 ? vec4(1.0) : b"
    assert printed("where(b < a, b, 1)") == "mix(vec4(1.0), b, lessThan(b, vec4(a)))"
    assert printed("clamp(a, 0, 1) * b") == "min(max(a, 0.0), 1.0) * b"


def test_printed_index_maps_mean_what_the_tree_means():
    arity = {"add": 2, "sub": 2, "mul": 2, "min": 2, "max": 2, "idiv": 2, "imod": 2}
    clamp = {"clamp": lambda x, low, high: min(max(x, low), high), "min": min, "max": max}
    clamp |= {"int": int, "uint": int}
    checked = 0
    for k, expr in enumerate(trees(3000, arity, "pq", range(-5, 10))):
        p, q = k % 50, k % 7
        want = float(evaluate_formula(expr, {"p": float(p), "q": float(q)}))
        if not abs(want) < 1e9 or isinstance(fold(expr), Num):
            continue
        names = {n: Variable(n, INT) for n in "pq"}
        printed = print_expression(index(expr, names)).replace("/", "//")
        printed = re.sub(r"(\d)u\b", r"\1", printed)
        assert "." not in printed, printed
        try:
            got = eval(printed, {"__builtins__": {}}, {**clamp, "p": p, "q": q})
        except ZeroDivisionError:
            continue
        assert got == want, (str(expr), printed)
        checked += 1
    assert checked > 1500


def test_index_maps_divide_by_constants_as_uints():
    names = {"a": Variable("a", INT), "n": Variable("n", INT)}

    def printed(text: str) -> str:
        return print_expression(index(parse(text), names))

    assert printed("idiv(a, 3) + imod(a, 3) * 80") == "int(uint(a) / 3u) + int(uint(a) % 3u) * 80"
    assert printed("idiv(a, 4) + imod(a, 4)") == "(a >> 2) + (a & 3)"
    assert printed("idiv(a, n)") == "a / n"


def test_repeated_parts_become_local_variables():
    formulas, x = Formulas("highp"), Variable("x", VEC4)
    body = Body()
    body.give(formulas.compute(body, parse("tanh(x + 1) * tanh(x + 1) - relu(x)"), {"x": x}))
    assert GlslEs().block(body.statements) == [
        "vec4 t0 = 1.0 - 2.0 * min(1.0 / (exp(2.0 * min(x + 1.0, 10.0)) + 1.0), 1.0);",
        "return t0 * t0 - f_relu(x);",
    ]
    (relu,) = formulas.functions.values()
    assert GlslEs().function(relu) == "vec4 f_relu(vec4 x_) { return max(x_, 0.0); }"


def test_formulas_bring_along_those_they_call():
    formulas, x = Formulas("mediump"), Variable("x0", VEC4)
    value = formulas.expression(parse("hard_swish(x0)"), {"x0": x})
    assert print_expression(value) == "f_hard_swish(x0)"
    assert set(formulas.functions) == {"f_clamp", "f_hard_sigmoid", "f_hard_swish"}
