"""Products of matrices in ONNX, against ONNX Runtime."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto
from support.onnx_models import compare, model, node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.reference import evaluate_graph


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((2, 3, 2, 3, 4), (3, 1, 4, 5)),
    ],
    ids=str,
)
@pytest.mark.parametrize("opset", [1, 9, 13])
@pytest.mark.parametrize("known", [True, False])
def test_matmul_agrees(
    tmp_path: Path, a: tuple[int, ...], b: tuple[int, ...], opset: int, known: bool
) -> None:
    more = {"b": normal(*b, seed=1)}
    compare(
        tmp_path,
        node("MatMul", "x", "b"),
        more if known else None,
        opset,
        a,
        feeds={} if known else more,
    )


@pytest.mark.parametrize(("trans_a", "trans_b"), list(product([0, 1], repeat=2)))
@pytest.mark.parametrize("c", [None, (), (1,), (5,), (3, 1), (3, 5)], ids=str)
@pytest.mark.parametrize("opset", [7, 9, 11, 13])
def test_gemm_agrees(
    tmp_path: Path, trans_a: int, trans_b: int, c: tuple[int, ...] | None, opset: int
) -> None:
    if c is None and opset < 11:
        return
    inits = {"b": normal(*((5, 4) if trans_b else (4, 5)), seed=1)}
    if c is not None:
        inits["c"] = normal(*c, seed=2)
    gemm = node("Gemm", "x", *inits, transA=trans_a, transB=trans_b, alpha=0.5, beta=-1.5)
    compare(tmp_path, gemm, inits, opset, (4, 3) if trans_a else (3, 4))


def imported(tmp_path: Path, proto: Any, x: np.ndarray) -> np.ndarray:
    return evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": x})["y"]


@pytest.mark.parametrize("opset", [1, 6])
def test_an_early_gemm_broadcasts_when_told_to(tmp_path: Path, opset: int) -> None:
    inits = {"b": normal(4, 5, seed=1), "c": normal(5, seed=2)}
    x = normal(3, 4)
    nodes = node("Gemm", "x", "b", "c", broadcast=1, alpha=2.0)
    found = imported(tmp_path, model(nodes, inits, {"x": (3, 4)}, opset), x)
    np.testing.assert_allclose(found, 2 * x @ inits["b"] + inits["c"], rtol=1e-5)


def test_gemm_of_integers_takes_whole_factors(tmp_path: Path) -> None:
    nodes = [
        node("Cast", "x", outputs=("a",), to=TensorProto.INT32),
        node("Gemm", "a", "b", "c", outputs=("d",), alpha=2.0, beta=-1.0),
        node("Cast", "d", to=TensorProto.FLOAT),
    ]
    inits = {"b": np.arange(8, dtype=np.int32).reshape(4, 2), "c": np.array([5, 7], np.int32)}
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = imported(tmp_path, model(nodes, inits, {"x": (3, 4)}, 13), x)
    assert np.array_equal(found, 2 * x @ inits["b"] - inits["c"])
    next(a for a in nodes[1].attribute if a.name == "alpha").f = 0.5
    text = refusal(write(tmp_path, model(nodes, inits, {"x": (3, 4)}, 13)))
    assert "attribute alpha=0.5 of Gemm is not implemented for int32" in text


@pytest.mark.parametrize(
    ("inits", "says"),
    [
        ({"b": (4, 5), "c": (2, 3, 5)}, "C of shape [2, 3, 5] does not fit [3, 5]"),
        ({"b": (3, 5)}, "rows of the first have 4 elements, columns of the second 3"),
        ({"b": (1, 4, 5)}, "needs tensors of rank 2, not 3"),
    ],
    ids=str,
)
def test_gemm_of_shapes_that_do_not_fit_is_refused(
    tmp_path: Path, inits: dict[str, Any], says: str
) -> None:
    arrays = {k: normal(*s) for k, s in inits.items()}
    proto = model(node("Gemm", "x", *inits), arrays, {"x": (3, 4)}, 13)
    assert says in refusal(write(tmp_path, proto))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        ("...ij,jk", [(2, 3, 4), (4, 5)]),
        ("i,i->", [(4,), (4,)]),
        ("bij->bji", [(2, 3, 4)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("ij,jk,kl->li", [(2, 3), (3, 4), (4, 5)]),
    ],
    ids=str,
)
def test_einsum_agrees(tmp_path: Path, equation: str, shapes: list[tuple[int, ...]]) -> None:
    feeds = {f"i{k}": normal(*s, seed=k) for k, s in enumerate(shapes[1:], 1)}
    einsum = node("Einsum", "x", *feeds, equation=equation)
    compare(tmp_path, einsum, None, 12, shapes[0], feeds=feeds)


@pytest.mark.parametrize("shape", [(2, 2), (3, 4, 4), (2, 3, 6, 6)], ids=str)
def test_det_agrees(tmp_path: Path, shape: tuple[int, ...]) -> None:
    compare(tmp_path, node("Det"), None, 11, shape)


def test_a_large_determinant_is_refused(tmp_path: Path) -> None:
    text = refusal(write(tmp_path, model(node("Det"), {}, {"x": (9, 9)}, 11)))
    assert "determinants of 9x9 matrices are not implemented" in text
