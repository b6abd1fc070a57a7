"""Products of matrices, reductions, softmax and sorting on GL, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, graph_of, image, play

from shadergen.ir.graph import apply, constant
from shadergen.ir.ops import (
    ArgMax,
    ArgMin,
    CumProd,
    CumSum,
    Det,
    Einsum,
    Hardmax,
    LogSoftmax,
    MatMul,
    Op,
    Reduce,
    Softmax,
    Sorted,
    SortOrder,
)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((5, 7), (7, 9)),
        ((2, 5, 8), (8, 3)),
        ((2, 3, 17, 8), (3, 8, 17)),
        ((6,), (6, 5)),
        ((2, 3, 6), (6,)),
        ((6,), (6,)),
        ((2, 1, 2, 3, 5), (3, 1, 5, 4)),
    ],
    ids=str,
)
@pytest.mark.parametrize("known", [True, False])
def test_products_of_matrices(a: tuple[int, ...], b: tuple[int, ...], known: bool) -> None:
    x, y = image(*a), image(*b, name="y")
    if known:
        value = apply(MatMul(), x, constant(normal(*b)), layer="product")
        assert_runs_like_reference(graph_of(value, inputs=(x,)))
    else:
        value = apply(MatMul(), x, y, layer="product")
        assert_runs_like_reference(graph_of(value, inputs=(x, y)))


@pytest.mark.parametrize("equation", ["bhid,bhjd->bhij", "bhid,bhid->hi", "bhid,bhjd->jb"])
def test_equations(equation: str) -> None:
    x, y = image(2, 3, 5, 6), image(2, 3, 5, 6, name="y")
    value = apply(Einsum(equation), x, y, layer="sum")
    assert_runs_like_reference(graph_of(value, inputs=(x, y)))


@pytest.mark.parametrize("kind", ["mean", "prod", "max", "l2", "log_sum_exp"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((2, 5, 3, 4), (1,)),
        ((2, 5, 3, 4), (0, 1, 2, 3)),
        ((1, 5, 56, 30), (2, 3)),
        ((3, 4, 5, 2, 2), (1, 4)),
        ((3, 2053), (1,)),
        ((7,), (0,)),
    ],
    ids=str,
)
def test_reductions(kind: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = image(*shape)
    value = apply(Reduce(kind, axes, keepdims=False), x, layer="reduction")
    assert_runs_like_reference(graph_of(value, inputs=(x,)))


@pytest.mark.parametrize("precision", ["highp", "mediump"])
def test_the_mean_of_a_million(precision: str) -> None:
    x = image(1000003)
    value = apply(Reduce("mean", (0,), keepdims=False), x, layer="mean")
    graph = graph_of(value, inputs=(x,))
    _, files, _ = compile_graph(graph, precision=precision)
    array = np.random.default_rng(0).uniform(0, 2, x.shape).astype(np.float32)
    found = float(play(files, {"x": array})["y0"])
    assert abs(found - array.mean(dtype=float)) < {"highp": 1e-5, "mediump": 1e-3}[precision]


ALONG: list[Op] = [
    ArgMax((1,)),
    ArgMin((3,), keepdims=False, select_last_index=True),
    CumProd(3, exclusive=True, reverse=True),
    CumSum(1),
    Hardmax((1, 2)),
    LogSoftmax((3,)),
    Softmax((1,)),
    Softmax((1, 2, 3)),
    SortOrder(2),
    SortOrder(1, descending=True),
]


@pytest.mark.parametrize("op", ALONG, ids=str)
def test_what_runs_along_an_axis(op: Op) -> None:
    x = image(2, 5, 4, 3)
    assert_runs_like_reference(graph_of(apply(op, x, layer="op"), inputs=(x,)))


def test_long_running_sums() -> None:
    x = image(3, 301)
    assert_runs_like_reference(graph_of(apply(CumSum(1), x, layer="sum"), inputs=(x,)))


def test_determinants() -> None:
    x = image(3, 6, 6)
    assert_runs_like_reference(graph_of(apply(Det(), x, layer="det"), inputs=(x,)))


@pytest.mark.parametrize("op", [ArgMax((1,)), SortOrder(1, descending=True)], ids=str)
@pytest.mark.parametrize("precision", ["highp", "mediump"])
def test_positions_are_exact_whatever_the_precision(op: Op, precision: str) -> None:
    """They go beyond 2048, where 16-bit floats lose odd numbers."""
    x = image(2, 5000)
    _, files, _ = compile_graph(
        graph_of(apply(op, x, layer="op"), inputs=(x,)), precision=precision
    )
    array = np.random.default_rng(0).permutation(10000).reshape(2, 5000) / 8
    stored = array.astype(np.float16 if precision == "mediump" else np.float32)
    found = play(files, {"x": array.astype(np.float32)})["y0"]
    assert np.array_equal(found, op.reference(stored.astype(np.float32)))


def test_the_largest_elements() -> None:
    x = image(2, 19, 3)
    order = apply(SortOrder(1, descending=True), x, layer="order")
    largest = apply(Sorted(1, 5), x, order, layer="largest")
    index = constant(np.arange(19).reshape(19, 1), "index")
    places = apply(Sorted(1, 5), index, order, layer="places")
    assert_runs_like_reference(graph_of(largest, places, inputs=(x,)))
