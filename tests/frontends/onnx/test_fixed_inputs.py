"""Inputs of an ONNX model whose value is fixed when compiling, and errors that ask for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support import ESPCN

from shadergen.compiler.compilation import import_model
from shadergen.compiler.frontends import ValueNeededError
from shadergen.compiler.option_parsing import parse_values
from shadergen.compiler.options import Options
from shadergen.compiler.verification import verify_model
from shadergen.errors import ShadergenError
from shadergen.ir.reference import evaluate_graph


def imported(text: str, **values: Any) -> Any:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return import_model(model, Options(input_value=arrays))


RESHAPED = "g (float[2,6] x, int64[N] shape) => (float[A,B] y) { y = Reshape(x, shape) }"
CLIPPED = "g (float[2] x, float low) => (float[2] y) { y = Clip(x, low) }"


def test_a_fixed_input_is_a_constant_and_no_input() -> None:
    graph = imported(RESHAPED, shape=[3, 4])
    assert [i.name for i in graph.inputs] == ["x"]
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    np.testing.assert_array_equal(evaluate_graph(graph, {"x": x})["y"], x.reshape(3, 4))


def test_a_list_takes_the_declared_shape() -> None:
    text = "g (float[3] x, float[1,1] m) => (float[1,3] y) { y = Mul(x, m) }"
    assert imported(text, m=[2]).outputs[0].value.shape == (1, 3)
    graph = imported(CLIPPED, low=[1])  # a scalar
    y = evaluate_graph(graph, {"x": np.array([0, 3], np.float32)})["y"]
    np.testing.assert_array_equal(y, [1, 3])


def test_an_error_names_the_inputs_an_operand_is_computed_from() -> None:
    text = (
        "g (float[2,6] x, float[1] b, float[1] a, float[1] unused) => (float[A,B] y)"
        " { c = Add(a, b) y = Pad(x, p, c) }"
    )
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    pads = onnx.numpy_helper.from_array(np.zeros(4, np.int64), "p")
    model.graph.initializer.append(pads)
    with pytest.raises(ValueNeededError) as caught:
        import_model(model, Options())
    assert caught.value.inputs == ("a", "b")
    assert caught.value.code == "SG0202"
    assert "inputs 'a', 'b'" in caught.value.why
    assert "--input-value a=1,2,3 --input-value b=1,2,3" in caught.value.help


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        (RESHAPED, {"shap": [3, 4]}, "did you mean 'shape'"),
        (RESHAPED, {"shape": [3.5, 4]}, "does not fit type int64"),
        (RESHAPED, {"shape": [[3, 4]]}, r"gives 1 x 2 numbers(.|\n)*shape \?, where \? is any"),
        (CLIPPED, {"low": [1.0, 2.0]}, "gives 2 numbers"),
        (
            "g (bool b, float x) => (float y) { y = Where(b, x, x) }",
            {"b": 2},
            "does not fit type bool",
        ),
        ("g (string b, float x) => (float y) { y = Neg(x) }", {"b": 2}, "of type string"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(text: str, values: Any, message: str) -> None:
    with pytest.raises(ShadergenError, match=message):
        imported(text, **values)


def test_values_are_parsed() -> None:
    values = parse_values(["a=1,2, 3", "b=0.5", "c=true,false", "d=", "e=x=-1"])
    expected: dict[str, Any] = {"a": [1, 2, 3], "b": [0.5], "c": [1, 0], "d": [], "e=x": [-1]}
    assert {name: value.tolist() for name, value in values.items()} == expected
    assert values["a"].dtype == np.int64
    assert values["b"].dtype == np.float64


@pytest.mark.parametrize("text", ["1,2", "a=1,,2", "a=b", "a=1x2"])
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(ShadergenError, match="is not understood") as caught:
        parse_values([text])
    assert caught.value.code == "SG0301"


def test_a_value_given_twice_is_refused() -> None:
    with pytest.raises(ShadergenError, match="gives 'a' twice"):
        parse_values(["a=1", "a=2"])


@pytest.mark.gl
def test_verify_gives_the_reference_the_fixed_values(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]>'
        " g (float[2,6] x, int64[N] shape, float low, float high, int64[2] i) => (float[A,B] y)"
        " { r = Reshape(x, shape) c = Clip(r, low, high) y = Gather(c, i) }"
    )
    onnx.save(model, tmp_path / "model.onnx")
    values = parse_values(["shape=3,4", "high=0.5"])
    report = verify_model(tmp_path / "model.onnx", Options(input_value=values))
    assert report.reference == "onnxruntime"
    assert report.outputs[0].shape == (2, 4)
    assert report.ok


def test_keras_models_take_no_values() -> None:
    with pytest.raises(ShadergenError, match="--input-value is for ONNX"):
        import_model(ESPCN, Options(input_value={"x": np.ones(1)}))
