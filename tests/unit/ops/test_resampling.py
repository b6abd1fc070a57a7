"""Resampling: nests against references, and tables against other implementations."""

from __future__ import annotations

import numpy as np
import pytest
from support import assert_runs_like_reference, check_nest, graph_of, image

from shadergen.errors import ShadergenError
from shadergen.ir.evaluation import evaluate_formula
from shadergen.ir.graph import Graph, Output, Port, apply
from shadergen.ir.ops.resampling import Resample, ResizeLinear
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.resampling import (
    CUBIC,
    GAUSSIAN,
    LINEAR,
    MITCHELL,
    Kernel,
    Taps,
    area_taps,
    cubic,
    kernel_taps,
    lanczos,
    resample,
    single_taps,
)
from shadergen.ir.types import TensorType

KERNELS = {
    "linear": LINEAR,
    "cubic": cubic(-0.75),
    "lanczos3": lanczos(3),
    "lanczos5": lanczos(5),
    "mitchell": MITCHELL,
    "gaussian": GAUSSIAN,
}


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


def half_pixel(size: int, out: int) -> np.ndarray:
    return (np.arange(out) + 0.5) * size / out - 0.5


def carry_out(taps: Taps, x: np.ndarray) -> np.ndarray:
    return np.asarray(Resample(0).reference(x, taps.starts, taps.weights))


@pytest.mark.parametrize("axis", [0, 1, 2, 3, 4])
def test_a_weighted_nest_agrees_with_its_reference(axis: int) -> None:
    x = normal(3, 4, 5, 2, 6)
    starts = np.array([-3, -1, 0, 2, 4, 9], np.int32)
    check_nest(Resample(axis), x, starts, normal(6, 4))


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, np.bool_])
def test_picking_keeps_every_element_type(kind: type) -> None:
    x = (np.arange(30).reshape(5, 6) % 7).astype(kind)
    y = check_nest(Resample(0), x, np.array([4, 0, -2, 8], np.int32))
    np.testing.assert_array_equal(y, x[[4, 0, 0, 4]])


def test_integers_cannot_be_weighted() -> None:
    t = TensorType((4,), "int32")
    with pytest.raises(ShadergenError, match="weighted sums of int32 are not supported"):
        Resample(0).infer(t, TensorType((2,), "int32"), TensorType((2, 2)))


STEPS = [(2, -1, 4), (2, 1, 1), (5, -7, 24), (4, 0, 3)]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_linear_nest_agrees_with_its_reference(step: tuple[int, int, int]) -> None:
    check_nest(
        ResizeLinear((2, 3, 9, 7), ((1, 0, 1),) * 2 + (step, (2, -1, 4))), normal(2, 3, 5, 4)
    )
    check_nest(ResizeLinear((9,), (step,)), normal(6))
    check_nest(ResizeLinear((5, 6, 4), (step, (4, 0, 3), (1, 0, 1))), normal(3, 2, 4))


def test_a_volume_is_resized_at_once() -> None:
    steps = ((1, 0, 1), (1, 0, 1), (2, -1, 4), (1, 0, 2), (2, 1, 1))
    check_nest(ResizeLinear((1, 2, 6, 8, 2), steps), normal(1, 2, 3, 4, 5))


def test_linear_steps_and_tables_say_the_same() -> None:
    x = normal(7, 5)
    taps = kernel_taps(half_pixel(7, 12), 7, LINEAR)
    y = ResizeLinear((12, 5), ((14, -5, 24), (1, 0, 1))).reference(x)
    np.testing.assert_allclose(carry_out(taps, x), y, atol=1e-14)


@pytest.mark.parametrize(("size", "out"), [(4096, 4097), (1 << 16, 99999)])
def test_steps_too_fine_for_float32_are_refused(size: int, out: int) -> None:
    step = (2 * size, size - out, 2 * out)
    assert not ResizeLinear.takes(size, out, step)
    with pytest.raises(ShadergenError, match="more precision than float32"):
        ResizeLinear((out,), (step,)).infer(TensorType((size,)))


@pytest.mark.parametrize(
    ("size", "out"), [(1080, 2160), (1919, 1000), (700, 1401), (960, 1), (2047, 2045)]
)
def test_float32_finds_every_position(size: int, out: int) -> None:
    step = (2 * size, size - out, 2 * out)
    divisor = np.gcd.reduce(step)
    op = ResizeLinear((out,), (tuple(int(s // divisor) for s in step),))  # type: ignore[arg-type]
    assert ResizeLinear.takes(size, out, op.steps[0])
    x = normal(size)
    nest = op.nest(TensorType((size,)))
    found = nest.run((out,), [x.astype(np.float32)])
    np.testing.assert_allclose(found, op.reference(x), atol=3e-6)


OF_JAX = {n: KERNELS[n] for n in ("linear", "lanczos3", "lanczos5")} | {"cubic": cubic(-0.5)}


@pytest.mark.parametrize("name", OF_JAX)
@pytest.mark.parametrize(("size", "out"), [(9, 23), (23, 9), (6, 6), (5, 1), (1, 4), (3, 40)])
@pytest.mark.parametrize("antialias", [False, True])
def test_kernels_agree_with_jax(name: str, size: int, out: int, antialias: bool) -> None:
    jax = pytest.importorskip("jax")
    x = normal(size, 2).astype(np.float32)
    theirs = jax.image.resize(x, (out, 2), name, antialias=antialias)
    stretch = max(size / out, 1.0) if antialias else 1.0
    taps = kernel_taps(half_pixel(size, out), size, OF_JAX[name], stretch, "drop")
    np.testing.assert_allclose(carry_out(taps, x.astype(np.float64)), theirs, atol=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_continuous_and_even_and_ends(name: str) -> None:
    kernel: Kernel = KERNELS[name]
    d = np.linspace(0, kernel.reach + 1, 4001)
    weights = kernel.weight(d)
    assert weights[0] == max(weights)
    assert not weights[d >= kernel.reach].any()
    largest = 0.012 if name == "gaussian" else 0.0025  # which is cut off at 1 percent
    assert np.abs(np.diff(weights)).max() < largest
    if name in ("linear", "cubic", "mitchell"):  # these make a constant of a constant
        sums = sum(kernel.weight(np.abs(j - np.linspace(0, 1, 11))) for j in range(-3, 5))
        np.testing.assert_allclose(sums, 1, atol=1e-12)


@pytest.mark.parametrize(("size", "out"), [(12, 4), (10, 4), (7, 3), (5, 5), (3, 8), (9, 1)])
def test_area_is_the_mean_of_what_a_part_covers(size: int, out: int) -> None:
    x = normal(size)
    fine = np.repeat(x, out)  # every element as many as there are parts
    expected = fine.reshape(out, size).mean(1)
    np.testing.assert_allclose(carry_out(area_taps(size, out), x), expected, atol=1e-12)


def test_taps_far_beyond_the_axis_are_its_last_element() -> None:
    taps = kernel_taps(np.array([-1e9, -40.25, 3.5, 77.0, 1e9]), 5, cubic(-0.5))
    assert np.abs(taps.starts).max() <= 5
    x = normal(5)
    np.testing.assert_allclose(
        carry_out(taps, x), [x[0], x[0], carry_out(taps, x)[2], x[4], x[4]], atol=1e-12
    )


def test_the_axis_that_shrinks_is_resampled_first() -> None:
    x = image(4, 6)
    y = resample(x, {0: single_taps(np.arange(8) // 2), 1: kernel_taps(np.ones(2), 6, LINEAR)})
    sizes = []
    value = y
    while value is not x:
        sizes.append(value.shape)
        value = value.node.inputs[0]  # type: ignore[attr-defined]
    assert sizes == [(8, 2), (4, 2)]
    graph = Graph("g", (x,), (Output("y", y, Port.plain(2)),))
    data = normal(4, 6)
    expected = np.repeat(data[:, [1, 1]], 2, 0)
    np.testing.assert_allclose(evaluate_graph(graph, {"x": data})["y"], expected)


def test_starts_must_fit_the_weights() -> None:
    x = image(4, 6)
    with pytest.raises(ShadergenError, match="a matrix of 2 rows"):
        apply(Resample(0), x, image(2), image(3, 2))


@pytest.mark.parametrize("a", [-0.5, -0.75, -1.0])
def test_weights_of_cubic_kernels_lose_few_digits_in_16_bits(a: float) -> None:
    d = np.linspace(0, 2, 2049)  # which 16-bit floats hold
    exact = evaluate_formula(CUBIC, {"d": d, "a": a})
    half = evaluate_formula(
        CUBIC, {"d": d, "a": a}, lambda v: np.asarray(v).astype(np.float16) * 1.0
    )
    assert np.abs(half - exact).max() <= 1.5e-3
    old = np.where(d < 1, ((a + 2) * d - a - 3) * d * d + 1, (((d - 5) * d + 8) * d - 4) * a)
    np.testing.assert_allclose(exact, old, atol=1e-14)


def test_resampling_runs_on_gl() -> None:
    x = image(2, 5, 7, 6)
    smooth = kernel_taps(half_pixel(7, 4), 7, cubic(-0.75), 7 / 4)
    picked = single_taps(np.array([5, 0, 0, 3]))
    values = [
        resample(x, {2: smooth, 3: kernel_taps(half_pixel(6, 11), 6, lanczos(3))}),
        resample(x, {1: picked}),
        apply(ResizeLinear((2, 5, 14, 9), ((1, 0, 1), (1, 0, 1), (2, -1, 4), (4, -1, 6))), x),
    ]
    assert_runs_like_reference(graph_of(*values, inputs=(x,)))
