"""The table of activations that all frontends share."""

from __future__ import annotations

import re

import pytest

from shadergen.compiler.frontends import activations
from shadergen.compiler.frontends.activations import ACTIVATIONS, activation
from shadergen.compiler.frontends.keras.layers import named_activations
from shadergen.compiler.frontends.onnx.ops import activation as of_onnx
from shadergen.ir.evaluation import check
from shadergen.ir.expr import variables
from shadergen.ir.formula_parser import parse
from shadergen.ir.formulas import FORMULAS


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_formula_is_of_x0_and_calls_what_there_is(name: str) -> None:
    expr = parse(ACTIVATIONS[name])
    check(expr)
    assert variables(expr).count("x0") == 1
    assert "x" not in variables(expr)


@pytest.mark.parametrize("name", [n for n in ACTIVATIONS if n in FORMULAS])
def test_parameters_are_named_as_in_the_library(name: str) -> None:
    words = set(re.findall(r"[a-z]\w*", ACTIVATIONS[name])) - {name, "x0"}
    assert words == {p for p, _ in FORMULAS[name].parameters} - {"x"}


def test_parameters_get_values_or_the_defaults_of_the_library() -> None:
    assert activation("elu") == "elu(x0)"
    assert activation("elu", alpha="2") == "elu(x0, 2)"
    assert activation("soft_shrink", threshold="0.5") == "x0 - clamp(x0, -0.5, 0.5)"
    assert activation("sigmoid") == "sigmoid(x0)"


@pytest.mark.parametrize("name", named_activations.ACTIVATIONS)
def test_activations_of_keras_have_all_their_parameters(name: str) -> None:
    assert set(variables(parse(named_activations.ACTIVATIONS[name]))) == {"x0"}


@pytest.mark.parametrize("name", of_onnx.ACTIVATIONS)
def test_activations_of_onnx_have_defaults_for_all_their_parameters(name: str) -> None:
    found = of_onnx.ACTIVATIONS[name]
    assert set(variables(parse(found.formula))) == {"x0", *found.defaults}
    assert found.formula in activations.ACTIVATIONS.values()
