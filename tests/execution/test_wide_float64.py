"""Linear parts of graphs, and arrays of float64 that they let shaders take in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import conv, graph_of, image, pointwise

from shadergen.compiler import onnx_backend
from shadergen.compiler.wide_float64.linear_part import RULES, linear_part
from shadergen.compiler.wide_float64.parts import LARGEST, STEP, beyond_float32, joined, split
from shadergen.errors import ShadergenError
from shadergen.ir.graph import Value, apply, constant
from shadergen.ir.ops import (
    Concat,
    Conv,
    ConvTranspose,
    DepthToSpace,
    Expand,
    Frames,
    Gather,
    MatMul,
    Movement,
    Pad,
    Rearrange,
    Reduce,
    Reshape,
    ResizeNearest,
    Slice,
    Softmax,
    StackStates,
    Tile,
    Transpose,
    Trilu,
    WindowsToChannels,
)
from shadergen.ir.ops.base import OPS
from shadergen.ir.reference import evaluate_graph

RNG = np.random.default_rng(3)
X, C, N = image(2, 4, 3, 3), image(4, 3, 3, name="c"), image(2, 4, 3, 3, name="n")
KERNEL = constant(RNG.normal(size=(4, 2, 2, 2)), "kernel")
MATRIX, BATCH = constant(RNG.normal(size=(3, 5)), "matrix"), constant(RNG.normal(size=(3, 3)))
SUMS = apply(Reduce("sum", (0, 2, 3), keepdims=False), X)
STATES, GIVEN_STATES = (apply(Reshape((8, 3, 3)), v) for v in (X, N))
HALVES = tuple((1, 0, 2) for _ in range(4))

# --- Graphs ---------------------------------------------------------------------------------------

CASES: dict[str, Callable[[], Value]] = {
    "a constant added": lambda: pointwise("2 * x0 + x1 - 3", X, C),
    "of its own": lambda: pointwise("x0 - x1", pointwise("x0 / 3", X), X),
    "given factors": lambda: pointwise("x0 * exp(x1) + where(x1 < 0, 1, x1)", X, C),
    "only through a stretch": lambda: pointwise("x0 + x1", apply(Reduce("sum", (2, 3)), X), C),
    "joined": lambda: apply(Concat(1), X, N, X),
    "stacked": lambda: apply(StackStates(), STATES, GIVEN_STATES, STATES),
    "padded": lambda: apply(Pad((0, 0, 1, 2), (0, 0, 0, 1), value=7.0), X),
    "padded by the edge": lambda: apply(Pad((0, 0, 1, 0), (0, 0, 0, 2), "edge"), X),
    "a mean": lambda: apply(Reduce("mean", (1, 3), keepdims=False), X),
    "a product": lambda: apply(MatMul(), X, MATRIX),
    "a product from the left": lambda: apply(MatMul(), BATCH, X),
    "a convolution": lambda: conv(np.random.default_rng(1), X, 5, (2, 2), pads=(1, 0, 0, 1)),
    "a transposed convolution": lambda: apply(ConvTranspose((2, 2)), X, KERNEL),
    "a triangle": lambda: apply(Trilu(1), X),
    "frames": lambda: apply(Frames(4, 2), apply(Reshape((8, 9, 1)), X)),
    "windows": lambda: apply(WindowsToChannels(2, 1, 2, 1, 1, pad_value=7.0), X),
    "pixels": lambda: apply(DepthToSpace((2, 2)), X),
    "stretched": lambda: apply(Expand((3, 1, 1, 1, 1)), X),
    "gathered": lambda: apply(Gather(1), X, constant(np.array([3, 0, 0]))),
    "rearranged": lambda: apply(Rearrange((8, 9), (1, 0), (9, 8)), X),
    "reshaped": lambda: apply(Reshape((6, 12)), X),
    "resized": lambda: apply(ResizeNearest((4, 8, 6, 6), HALVES), X),
    "cut": lambda: apply(Slice((1, 3, 0, 2), (1, -1, 2, -2), (1, 3, 2, 2)), X),
    "tiled": lambda: apply(Tile((1, 2, 1, 3)), X),
    "transposed": lambda: apply(Transpose((3, 1, 0, 2)), X),
}


@pytest.mark.parametrize("case", CASES)
def test_a_sum_of_inputs_gives_the_sum_of_results(case: str) -> None:
    """f(x + z) = f(x) + L(z), and L(-3z) = -3 L(z)."""
    graph = graph_of(CASES[case](), inputs=(X, C, N))
    linear = linear_part(graph, {"x"})
    given = {i.name: RNG.normal(size=i.shape) for i in (C, N)}
    x, z = RNG.normal(size=(2, *X.shape))

    def run(g: Any, array: np.ndarray) -> np.ndarray:
        return np.asarray(evaluate_graph(g, {"x": array, **given})["y0"])

    part = run(linear, z)
    assert np.abs(part).max() > 0.01
    np.testing.assert_allclose(run(graph, x + z), run(graph, x) + part, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(run(linear, -3 * z), -3 * part, rtol=1e-5, atol=1e-5)


def test_every_rule_is_tried_above() -> None:
    graphs = [graph_of(make(), inputs=(X, C, N)) for make in CASES.values()]
    tried = {type(n.op) for graph in graphs for n in graph.nodes}
    assert RULES.keys() - {Movement} <= tried
    assert {op for op in OPS.values() if issubclass(op, Movement)} <= tried


def test_outputs_that_do_not_depend_have_no_linear_part() -> None:
    graph = graph_of(pointwise("x0 * 2", N), pointwise("x0 + x1", X, N), inputs=(X, N))
    assert [o.name for o in linear_part(graph, {"x"}).outputs] == ["y1"]
    with pytest.raises(ShadergenError, match="no output depends on this input"):
        linear_part(graph_of(N, inputs=(X, N)), {"x"})


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (pointwise("max(x0, 0)", X), r"'max\(x0, 0\)'"),
        (pointwise("x0 * x1", X, X), r"'x0 \* x1'"),
        (pointwise("1 / x0", X), "'1 / x0'"),
        (pointwise("where(x1 < 0, x0, 1)", X, N), r"'where\(x1 < 0, x0, 1\)'"),
        (apply(Reduce("max", (1,)), X), "Reduce"),
        (apply(Softmax((1,)), X), "OnlineStatistics"),
        (apply(MatMul(), X, apply(Transpose((0, 1, 3, 2)), X)), "MatMul"),
        (apply(Gather(0), KERNEL, apply(Reduce("sum", (0, 1, 2, 3)), X)), "Gather"),
        (apply(Conv(), N, apply(Reshape((2, 4, 3, 3)), X)), "Conv"),
        (apply(Conv(groups=2), X, KERNEL, SUMS), "Conv"),
        (apply(Conv(zero_guard=0.1), X, constant(np.ones((1, 4, 3, 3)))), "Conv"),
    ],
)  # fmt: skip
def test_what_is_not_linear_is_named(y: Value, what: str) -> None:
    with pytest.raises(ShadergenError, match=f"{what} is not linear") as caught:
        linear_part(graph_of(y, inputs=(X, N)), {"x"})
    assert caught.value.code == "SG0202"


# --- Arrays ---------------------------------------------------------------------------------------

DOUBLES = st.lists(st.floats(width=64), min_size=1, max_size=12)


@given(DOUBLES, DOUBLES)
@settings(deadline=None, max_examples=300)
def test_the_parts_of_an_array_are_within_float32_and_sum_up_to_it(a: Any, b: Any) -> None:
    arrays = {"a": np.array(a), "b": np.array(b), "c": np.array([1, 2])}
    parts = split(arrays, frozenset("ab"))
    assert next(iter(parts)) == 0
    for power, held in parts.items():
        assert power % STEP == 0
        assert held["c"] is arrays["c"]
        sizes = np.abs(np.concatenate([held["a"], held["b"]]))
        finite = sizes[np.isfinite(sizes)]
        assert finite.max(initial=0) < 2.0**31
        if power:
            assert finite.size == sizes.size
            assert finite[finite > 0].min() >= 2.0**-33
    total = joined(parts)
    np.testing.assert_array_equal(total["a"], arrays["a"])
    np.testing.assert_array_equal(total["b"], arrays["b"])


def test_only_float64_is_beyond_float32() -> None:
    arrays = {
        "large": np.array([0.0, -1e39]),
        "infinite": np.array([np.inf, np.nan, 1.0]),
        "within": np.array([LARGEST, 1e-300]),
        "whole": np.array([2**60]),
        "empty": np.zeros(0),
    }
    assert beyond_float32(arrays) == {"large"}


# --- Models ---------------------------------------------------------------------------------------


def model(text: str, **weights: np.ndarray) -> Any:
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    for name, array in weights.items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return made


def sizes(*shape: int, powers: int, seed: int) -> np.ndarray:
    """Return numbers of either sign whose sizes are 10^-powers to 10^powers."""
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.uniform(-powers, powers, shape)


@pytest.mark.gl
@pytest.mark.parametrize("seed", range(6))
def test_a_linear_model_takes_float64_of_any_size(seed: int) -> None:
    """Within float32 of the largest term of each result, and of what float32 loses below 1e-38."""
    w = RNG.normal(size=(3, 4))
    text = "g (double[2,3] x, double[4] b) => (double[2,4] y) { p = MatMul(x, w) y = Add(p, b) }"
    rep = onnx_backend.prepare(model(text, w=w))
    x, b = sizes(2, 3, powers=300, seed=seed), sizes(4, powers=280, seed=seed + 100)
    (y,) = rep.run([x, b])
    assert y.dtype == np.float64
    assert rep.read == ("x", "b")
    terms = np.concatenate([x[:, :, None] * w, np.broadcast_to(b, (2, 1, 4))], 1)
    bound = 1e-6 * np.abs(terms).max(1) + 1e-37
    assert (np.abs(y - terms.sum(1)) <= bound).all()
    small = np.arange(6.0).reshape(2, 3), np.ones(4)
    np.testing.assert_allclose(rep.run(small)[0], small[0] @ w + 1, rtol=1e-5)


@pytest.mark.gl
def test_numbers_beside_large_ones_keep_their_own_precision() -> None:
    rep = onnx_backend.prepare(model("g (double[6] x) => (double[6] y) { y = Sub(x, c) }",
                                     c=np.array([1.0])))  # fmt: skip
    x = np.array([9e223, 1e-310, -7.0, 1e38, np.inf, -1e300])
    np.testing.assert_allclose(rep.run([x])[0], x - 1, rtol=1e-6)


@pytest.mark.gl
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("y = Relu(x)", "'relu(x0)' is not linear"),
        ("y = Mul(x, x)", "'x0 * x1' is not linear"),
        ("f = Cast<to=1>(x) y = Cast<to=11>(f)", "Cast may convert float64 to a narrower type"),
    ],
)
def test_other_models_refuse_what_float32_does_not_reach(body: str, why: str) -> None:
    rep = onnx_backend.prepare(model(f"g (double[1] x) => (double[1] y) {{ {body} }}"))
    np.testing.assert_array_equal(rep.run([np.ones(1)])[0], np.ones(1))
    with pytest.raises(ShadergenError) as caught:
        rep.run([np.array([1e39])])
    assert caught.value.code == "SG0605"
    assert caught.value.what == "input 'x' holds numbers beyond 3.40282e+38"
    assert why in caught.value.why
