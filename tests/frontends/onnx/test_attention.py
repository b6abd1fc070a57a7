"""Attention as ONNX Runtime fuses it, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import onnxruntime as ort
from onnx import helper, numpy_helper
from support.onnx_models import node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx_proto
from shadergen.ir.reference import evaluate_graph

B, S, T, N, D = 2, 4, 6, 3, 4  # batch, queries, keys, heads, features
WIDTH = N * D
MICROSOFT = "com.microsoft"


def made(n: Any, inits: dict[str, Any], feeds: dict[str, np.ndarray]) -> Any:
    infos = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for k, v in feeds.items()
    ]
    results = [helper.make_tensor_value_info(o, 1, None) for o in n.output]
    weights = [numpy_helper.from_array(np.asarray(v), k) for k, v in inits.items()]
    graph = helper.make_graph([n], "g", infos, results, weights)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def agree(n: Any, inits: dict[str, Any], **feeds: np.ndarray) -> None:
    proto = made(n, inits, feeds)
    ours = evaluate_graph(load_onnx_proto(proto, Request()), feeds)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(proto.SerializeToString(), options)
    for name, theirs in zip(n.output, session.run(None, feeds), strict=True):
        assert ours[name].shape == theirs.shape
        np.testing.assert_allclose(ours[name], theirs, atol=2e-6, rtol=1e-5)


def multi_head(*inputs: str, outputs: tuple[str, ...] = ("y",), **attributes: Any) -> Any:
    return node(
        "MultiHeadAttention",
        *inputs,
        outputs=outputs,
        num_heads=N,
        domain=MICROSOFT,
        **attributes,
    )


def qkv() -> dict[str, np.ndarray]:
    return {n: normal(B, k, WIDTH, seed=k) for n, k in zip("qkv", (S, T, T), strict=True)}


@pytest.mark.parametrize("attributes", [{}, {"scale": 0.3}, {"unidirectional": 1}], ids=str)
def test_multi_head_attention_agrees(attributes: dict[str, Any]) -> None:
    feeds = qkv()
    if "unidirectional" in attributes:
        feeds |= {"k": normal(B, S, WIDTH, seed=8), "v": normal(B, S, WIDTH, seed=9)}
    agree(multi_head("q", "k", "v", **attributes), {}, **feeds)


def test_projections_have_a_bias() -> None:
    agree(multi_head("q", "k", "v", "b"), {"b": normal(3 * WIDTH, seed=4)}, **qkv())


@pytest.mark.parametrize("kind", ["lengths", "keys", "pairs"])
def test_what_is_masked_is_as_good_as_hidden(kind: str) -> None:
    rng = np.random.default_rng(1)
    masks = {"lengths": np.array([2, 6]), "keys": rng.integers(0, 2, (B, T))}
    masks["pairs"] = rng.integers(0, 2, (B, S, T))
    mask = masks[kind].astype(np.int32)
    n = multi_head("q", "k", "v", "", "m", mask_filter_value=-3.0)
    agree(n, {}, **qkv(), m=mask)


@pytest.mark.parametrize("shape", [(B, N, S, T), (1, N, S, T), (1, 1, S, T)], ids=str)
def test_scores_have_a_bias(shape: tuple[int, ...]) -> None:
    mask = np.array([[1, 1, 0, 1, 1, 0], [1, 1, 1, 1, 1, 1]], np.int32)
    n = multi_head("q", "k", "v", "", "m", "a")
    agree(n, {"m": mask}, **qkv(), a=normal(*shape, seed=3))


def test_keys_may_have_a_past() -> None:
    feeds = {n: normal(B, S, WIDTH, seed=k) for k, n in enumerate("qkv")}
    past = {n: normal(B, N, 5, D, seed=6 + k) for k, n in enumerate(("pk", "pv"))}
    n = multi_head("q", "k", "v", "", "", "", "pk", "pv", outputs=("y", "nk", "nv"))
    agree(n, {}, **feeds, **past)


def test_keys_may_be_divided_into_heads() -> None:
    feeds = {"q": normal(B, S, WIDTH), "k": normal(B, N, T, D), "v": normal(B, N, T, D, seed=1)}
    agree(multi_head("q", "k", "v"), {}, **feeds)


def test_packed_operands_are_the_same() -> None:
    q, k, v = (normal(B, S, N, D, seed=s) for s in range(3))
    apart = made(multi_head("q", "k", "v"), {}, {n: q.reshape(B, S, -1) for n in "qkv"})
    feeds = {"q": q, "k": k, "v": v}
    flat = {n: x.reshape(B, S, -1) for n, x in feeds.items()}
    expected = evaluate_graph(load_onnx_proto(apart, Request()), flat)["y"]
    one = {"p": np.stack([q, k, v], 3)}
    graph = load_onnx_proto(made(multi_head("p"), {}, one), Request())
    np.testing.assert_allclose(evaluate_graph(graph, one)["y"], expected)
    two = {"q": flat["q"], "p": np.stack([k, v], 3)}
    graph = load_onnx_proto(made(multi_head("q", "p"), {}, two), Request())
    np.testing.assert_allclose(evaluate_graph(graph, two)["y"], expected)


def projected(*inputs: str, outputs: tuple[str, ...] = ("y",), **attributes: Any) -> Any:
    return node(
        "Attention", "x", "w", *inputs, outputs=outputs, num_heads=N, domain=MICROSOFT, **attributes
    )


C = 5
WEIGHTS = {"w": normal(C, 3 * WIDTH, seed=5), "b": normal(3 * WIDTH, seed=6)}
SEQUENCE = {"x": normal(B, S, C)}


@pytest.mark.parametrize("attributes", [{}, {"scale": 0.3}, {"unidirectional": 1}], ids=str)
def test_attention_with_projections_agrees(attributes: dict[str, Any]) -> None:
    agree(projected("b", **attributes), WEIGHTS, **SEQUENCE)


def test_values_may_have_another_size() -> None:
    sizes = [WIDTH, WIDTH, 2 * N]
    inits = {"w": normal(C, sum(sizes), seed=5), "b": normal(sum(sizes), seed=6)}
    agree(projected("b", qkv_hidden_sizes=sizes), inits, **SEQUENCE)


def test_a_past_is_stacked() -> None:
    n = projected("b", "", "p", outputs=("y", "present"))
    agree(n, WEIGHTS, **SEQUENCE, p=normal(2, B, N, 5, D, seed=7))


@pytest.mark.parametrize("shape", [(B,), (B, S), (B, S, S)], ids=str)
def test_a_mask_of_any_rank_agrees(shape: tuple[int, ...]) -> None:
    mask = np.random.default_rng(2).integers(0, 2, shape) + (len(shape) == 1)
    agree(projected("b", "m"), WEIGHTS, **SEQUENCE, m=mask.astype(np.int32))


REFUSED = {
    "heads": (multi_head("q", "k", "v"), {"q": (B, S, 7)}, "does not divide into 3 heads"),
    "mask": (
        multi_head("q", "k", "v", "", "m"),
        {"m": (B, 2)},
        "with a mask of shape [2, 2] is not implemented",
    ),
    "bias": (multi_head("q", "k", "v", "b"), {"b": (WIDTH,)}, "a bias of shape [12]"),
    "rotary": (projected(do_rotary=1), {"x": (B, S, C), "w": (C, 3 * WIDTH)}, "do_rotary=1"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_implemented_is_refused(tmp_path: Path, what: str) -> None:
    n, shapes, text = REFUSED[what]
    feeds = {k: v for k, v in qkv().items() if k in n.input}
    feeds |= {k: np.zeros(s, np.int32 if k == "m" else np.float32) for k, s in shapes.items()}
    assert text in refusal(write(tmp_path, made(n, {}, feeds)))


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("rank", [3, 4])
def test_rotary_embedding_agrees(interleaved: int, first: bool, rank: int) -> None:
    x = normal(B, N, S, D) if rank == 4 else normal(B, S, WIDTH)
    angles = normal(9, D // 2, seed=1)
    ids = np.array([4]) if first else np.random.default_rng(3).integers(0, 9, (B, S))
    n = node(
        "RotaryEmbedding",
        *("x", "i", "c", "s"),
        domain=MICROSOFT,
        interleaved=interleaved,
        num_heads=0 if rank == 4 else N,
    )
    agree(n, {"c": np.cos(angles), "s": np.sin(angles)}, x=x, i=ids.astype(np.int64))
