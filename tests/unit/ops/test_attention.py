"""Attention: decomposed against its reference, that against PyTorch and its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import (
    assert_runs_like_reference,
    check_kernels,
    check_nest,
    compile_graph,
    graph_of,
    image,
)

from shadergen.errors import ShadergenError
from shadergen.ir.graph import apply, constant
from shadergen.ir.ops import Attention, RotaryEmbedding
from shadergen.ir.types import TensorType

B, S, T, D, E = 2, 4, 6, 5, 3  # batch, queries, keys, features of keys, of values
RNG = np.random.default_rng(2)


def qkv(n: int = 4, m: int = 4) -> tuple[np.ndarray, ...]:
    return tuple(RNG.standard_normal(s) for s in ((B, n, S, D), (B, m, T, D), (B, m, T, E)))


def bias() -> np.ndarray:
    b = RNG.standard_normal((1, 4, S, T))
    b[0, 1, 2] = b[0, 0, 1, 3] = -np.inf
    return b


def mask() -> np.ndarray:
    m = RNG.random((B, 1, S, T)) < 0.6
    m[1, 0, 3] = False
    return m


OPS: dict[str, tuple[Attention, int, tuple[Any, ...]]] = {
    "plain": (Attention(0.4), 4, ()),
    "grouped": (Attention(0.4), 2, ()),
    "one head of keys": (Attention(0.4, softcap=1.5), 1, ()),
    "biased": (Attention(0.4, biased=True), 2, (bias(),)),
    "masked": (Attention(0.4, masked=True), 4, (mask(),)),
    "both": (Attention(0.4, biased=True, masked=True, causal=True, offset=2), 4, (bias(), mask())),
    "causal": (Attention(0.4, causal=True), 2, ()),
    "blind": (Attention(0.4, causal=True, offset=-2), 4, ()),
}


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("heads_last", [False, True])
def test_attention_decomposes_to_what_it_says(name: str, heads_last: bool) -> None:
    op, m, more = OPS[name]
    operands = qkv(4, m)
    if heads_last:
        operands = tuple(x.swapaxes(1, 2) for x in operands)
        op = Attention(**{**vars(op), "heads_last": True})
    y = check_kernels(op, *operands, *more, tolerance=1e-6)
    assert np.isfinite(y).all()


@pytest.mark.parametrize("name", ["plain", "grouped", "causal", "masked"])
def test_attention_agrees_with_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    op, m, more = OPS[name]
    q, k, v = (torch.tensor(x) for x in qkv(4, m))
    seen = torch.tensor(more[0]) if more else None
    theirs = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, seen, is_causal=op.causal, scale=0.4, enable_gqa=m < 4
    ).numpy()
    if more:  # for a query that sees nothing, PyTorch has 0 or NaN, depending on its version
        theirs = np.where(more[0].any(-1, keepdims=True), theirs, 0)
    ours = op.reference(q.numpy(), k.numpy(), v.numpy(), *more)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_a_query_that_sees_one_key_has_its_value() -> None:
    q, k, v = qkv()
    y = Attention(0.4, causal=True).reference(q, k, v)
    np.testing.assert_allclose(y[:, :, 0], v[:, :, 0])
    y = Attention(0.4, causal=True, offset=-3).reference(q, k, v)
    np.testing.assert_array_equal(y[:, :, :3], 0)
    np.testing.assert_allclose(y[:, :, 3], v[:, :, 0])


def test_scores_are_capped() -> None:
    q, k, v = qkv()
    y = Attention(1e6, softcap=1e-9).reference(q, k, v)
    np.testing.assert_allclose(y, np.broadcast_to(v.mean(2, keepdims=True), y.shape), atol=1e-6)


@pytest.mark.parametrize("name", ["grouped", "both", "blind"])
def test_attention_runs_on_gl(name: str) -> None:
    op, m, more = OPS[name]
    inputs = tuple(image(*x.shape, name=n) for n, x in zip("qkv", qkv(4, m), strict=True))
    graph = graph_of(apply(op, *inputs, *map(constant, more), layer="a"), inputs=inputs)
    assert_runs_like_reference(graph)


def test_attention_takes_four_kernels() -> None:
    inputs = tuple(image(*x.shape, name=n) for n, x in zip("qkv", qkv(), strict=True))
    graph, _, _ = compile_graph(graph_of(apply(Attention(0.4), *inputs), inputs=inputs))
    assert len(graph.nodes) == 4  # scores, their maximum and sum, shares, values


REFUSED = {
    "rank 3": ((B, S, D), (B, T, D), (B, T, E)),
    "another batch": ((B, 4, S, D), (1, 4, T, D), (1, 4, T, E)),
    "other features": ((B, 4, S, D), (B, 4, T, E), (B, 4, T, E)),
    "heads that do not divide": ((B, 4, S, D), (B, 3, T, D), (B, 3, T, E)),
    "fewer values than keys": ((B, 4, S, D), (B, 4, T, D), (B, 4, S, E)),
    "a mask too many": ((B, 4, S, D), (B, 4, T, D), (B, 4, T, E), (S, T)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_operands_that_do_not_fit_are_refused(what: str) -> None:
    with pytest.raises(ShadergenError) as caught:
        Attention(1.0).infer(*map(TensorType, REFUSED[what]))
    assert caught.value.code == "SG0205"


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("features", [8, 4])
@pytest.mark.parametrize("positions", [False, True])
def test_a_rotary_nest_agrees_with_its_reference(
    interleaved: bool, features: int, positions: bool
) -> None:
    x = RNG.standard_normal((2, 3, 2, 8))
    angles = RNG.standard_normal((7, features // 2) if positions else (2, 3, features // 2))
    ids = [RNG.integers(0, 7, (2, 3))] if positions else []
    op = RotaryEmbedding(features, interleaved)
    y = check_nest(op, x, np.cos(angles), np.sin(angles), *ids, tolerance=1e-6)
    np.testing.assert_array_equal(y[..., features:], x[..., features:])
    pairs = y.astype(np.float64) ** 2  # turning keeps lengths
    np.testing.assert_allclose(pairs.sum(-1), (x**2).sum(-1), rtol=1e-5)


def test_a_right_angle_swaps_a_pair() -> None:
    x = np.arange(4.0).reshape(1, 1, 1, 4)
    c, s = np.zeros((1, 1, 2)), np.ones((1, 1, 2))
    assert RotaryEmbedding(4).reference(x, c, s).ravel().tolist() == [-2, -3, 0, 1]
    assert RotaryEmbedding(4, True).reference(x, c, s).ravel().tolist() == [-1, 0, -3, 2]
