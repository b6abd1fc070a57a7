"""Products of matrices of com.microsoft and formulas of ai.onnx.ml, against ONNX Runtime."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import onnxruntime as ort
from onnx import helper
from support.onnx_models import model, node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.reference import evaluate_graph


def foreign(
    domain: str, version: int, made: Any, inits: dict[str, Any], shape: tuple[int, ...]
) -> Any:
    """Return a model of one node of another domain."""
    made.domain = domain
    proto = model(made, inits, {"x": shape}, 17)
    proto.opset_import.append(helper.make_opsetid(domain, version))
    return proto


def agree(tmp_path: Path, proto: Any, x: np.ndarray) -> None:
    found = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": x})["y"]
    session = ort.InferenceSession(proto.SerializeToString())
    (theirs,) = session.run(None, {"x": x})
    assert found.shape == theirs.shape
    np.testing.assert_allclose(found, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("op", ["FusedMatMul", "TransposeMatMul"])
@pytest.mark.parametrize(("a", "b"), list(product([0, 1], repeat=2)))
def test_a_fused_product_transposes_and_scales(tmp_path: Path, op: str, a: int, b: int) -> None:
    made = node(op, "x", "w", transA=a, transB=b, alpha=0.25)
    shape = (2, 4, 3) if a else (2, 3, 4)
    w = normal(*((2, 5, 4) if b else (2, 4, 5)), seed=1)
    agree(tmp_path, foreign("com.microsoft", 1, made, {"w": w}, shape), normal(*shape))


def test_a_product_of_transposed_batches_is_refused(tmp_path: Path) -> None:
    made = node("FusedMatMul", "x", "w", transBatchA=1)
    proto = foreign("com.microsoft", 1, made, {"w": normal(2, 4, 5)}, (3, 2, 4))
    assert "transBatchA=1 of FusedMatMul" in refusal(write(tmp_path, proto))


@pytest.mark.parametrize(
    "attributes",
    [
        {"activation": "Relu"},
        {"activation": "LeakyRelu", "activation_alpha": 0.3},
        {"activation": "Sigmoid"},
        {"activation": "Tanh"},
    ],
    ids=str,
)
def test_a_fused_gemm_applies_its_activation(tmp_path: Path, attributes: dict[str, Any]) -> None:
    made = node("FusedGemm", "x", "w", "c", transB=1, **attributes)
    inits = {"w": normal(5, 4, seed=1), "c": normal(5, seed=2)}
    agree(tmp_path, foreign("com.microsoft", 1, made, inits, (3, 4)), normal(3, 4))


@pytest.mark.parametrize("attributes", [{}, {"threshold": 0.5}], ids=str)
def test_the_binarizer_agrees(tmp_path: Path, attributes: dict[str, Any]) -> None:
    x = normal(3, 4)
    x[0, 0] = 0.5
    agree(tmp_path, foreign("ai.onnx.ml", 3, node("Binarizer", "x", **attributes), {}, (3, 4)), x)


@pytest.mark.parametrize("count", [1, 4])
def test_the_scaler_agrees(tmp_path: Path, count: int) -> None:
    offset, scale = [1.0, -2.0, 0.5, 3.0][:count], [2.0, 0.5, -1.0, 4.0][:count]
    made = node("Scaler", "x", offset=offset, scale=scale)
    agree(tmp_path, foreign("ai.onnx.ml", 3, made, {}, (3, 4)), normal(3, 4))


def test_a_scaler_of_other_features_is_refused(tmp_path: Path) -> None:
    made = node("Scaler", "x", offset=[1.0] * 5, scale=[1.0] * 5)
    proto = foreign("ai.onnx.ml", 3, made, {}, (3, 1))
    assert "do not broadcast to the input of shape [3, 1]" in refusal(write(tmp_path, proto))
