"""Weights in textures of 16 and 8 bits: less memory, and only they are rounded."""

from __future__ import annotations

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, graph_of, image, pointwise

from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir.graph import Graph, Input, Port, apply, constant
from shadergen.ir.ops import Conv, MatMul
from shadergen.ir.types import TensorType
from shadergen.passes.quantise_weights import _round

DESKTOP = {"device": "gles32-desktop", "glsl": 310, "weights": "texture"}


def rounded(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return weights that 16 bits hold, so that results are those of 32 bits."""
    return rng.normal(size=shape).astype(np.float16).astype(np.float32)


def convolution(largest: float = 1.0, bias: float = 1.0) -> Graph:
    rng = np.random.default_rng(0)
    w = rounded(rng, 9, 6, 3, 3)
    w[0, 0, 0, 0] = largest
    x = image(1, 6, 8, 9)
    y = apply(Conv(pads=(1, 1, 1, 1)), x, constant(w), constant(np.full(9, bias)))
    return graph_of(y, inputs=(x,))


def product() -> Graph:
    x = Input(TensorType((3, 40)), "x", Port.plain(2))
    y = apply(MatMul(), x, constant(rounded(np.random.default_rng(1), 40, 24), "w"))
    return graph_of(y, inputs=(x,))


def weight_formats(graph: Graph, **options: str) -> set[str]:
    _, files, _ = compile_graph(graph, **options)
    return {t["format"] for t in files.schedule["textures"] if t["data"] is not None}


@pytest.mark.gl
@pytest.mark.parametrize("stage", ("fragment", "compute"))
@pytest.mark.parametrize("fetch", ("texel", "image"))
@pytest.mark.parametrize("make", (convolution, product))
def test_weights_of_16_bits_compute_the_same_from_half_the_bytes(make, fetch, stage):
    options = {"stage": stage, "fetch": fetch, **DESKTOP}
    files = assert_runs_like_reference(make(), weight_format="float16", **options)
    _, wide, _ = compile_graph(make(), **options)
    assert files.weights.size * 2 == pytest.approx(wide.weights.size, rel=0.05)
    assert weight_formats(make(), weight_format="float16", **options) == {"rgba16f"}
    assert weight_formats(make(), **options) == {"rgba32f"}


@pytest.mark.parametrize("large", ({"largest": 7e4}, {"bias": -7e4}))
def test_what_16_bits_cannot_hold_stays_in_32(large):
    assert weight_formats(convolution(**large), weight_format="float16", **DESKTOP) == {"rgba32f"}


def test_weights_too_small_for_16_bits_stay_in_32():
    w = np.full((8, 4, 1, 1), 1e-8, np.float32)
    x = image(1, 4, 5, 5)
    graph = graph_of(apply(Conv(), x, constant(w)), inputs=(x,))
    assert weight_formats(graph, weight_format="float16", **DESKTOP) == {"rgba32f"}


@pytest.mark.parametrize(("size", "bits"), [(1e-8, 32), (1e-30, 16), (0.0, 16)])
@pytest.mark.parametrize("make", ("convolution", "product"))
def test_one_channel_too_small_for_16_bits_keeps_all_in_32_unless_it_is_dead(make, size, bits):
    if make == "convolution":
        x, w, op = image(1, 4, 5, 5), np.ones((8, 4, 1, 1), np.float32), Conv()
        w[3] = size
    else:
        x, w, op = Input(TensorType((3, 40)), "x", Port.plain(2)), np.ones((40, 8)), MatMul()
        w[:, 3] = size
    graph = graph_of(apply(op, x, constant(w, "w")), inputs=(x,))
    assert weight_formats(graph, weight_format="float16", **DESKTOP) == {f"rgba{bits}f"}
    assert weight_formats(graph, precision="auto", **DESKTOP) == {f"rgba{bits}f"}


def test_only_weights_are_rounded():
    x = Input(TensorType((3, 40)), "x", Port.plain(2))
    table = constant(rounded(np.random.default_rng(2), 40, 3), "table")
    both = graph_of(apply(MatMul(), x, table), table, inputs=(x,))
    assert weight_formats(both, weight_format="float16", **DESKTOP) == {"rgba32f"}


def eighths(rng: np.random.Generator, axis: int, *shape: int) -> np.ndarray:
    """Return weights that 8 bits hold: multiples of a scale for each output channel."""
    whole = rng.integers(-127, 128, shape)
    np.moveaxis(whole, axis, -1)[(0,) * (len(shape) - 1)] = 127  # the largest of each channel
    scale = 2.0 ** -rng.integers(7, 10, shape[axis])
    return np.moveaxis(np.moveaxis(whole, axis, -1) * scale, -1, axis)


@pytest.mark.gl
@pytest.mark.parametrize("weights", ("texture", "constants", "ubo"))
@pytest.mark.parametrize("stage", ("fragment", "compute"))
@pytest.mark.parametrize("fetch", ("texel", "image"))
@pytest.mark.parametrize("groups", (1, 2, 8))
@pytest.mark.parametrize("bias", (False, True))
def test_convolutions_of_8_bits_have_a_scale_for_each_channel(bias, groups, fetch, stage, weights):
    rng = np.random.default_rng(3)
    w = constant(eighths(rng, 0, 16, 8 // groups, 3, 3))
    x = image(1, 8, 7, 9)
    vectors = (constant(rng.normal(size=16)),) if bias else ()
    y = apply(Conv(pads=(1, 1, 1, 1), groups=groups), x, w, *vectors)
    y = pointwise("max(x0, 0.1) * x1", y, constant(rng.normal(size=(16, 1, 1))))
    options = {**DESKTOP, "stage": stage, "fetch": fetch, "weights": weights}
    assert_runs_like_reference(graph_of(y, inputs=(x,)), weight_format="int8", **options)


@pytest.mark.gl
@pytest.mark.parametrize("columns", (2, 3, 24))
def test_products_of_8_bits_have_a_scale_for_each_column(columns):
    rng = np.random.default_rng(4)
    x = Input(TensorType((3, 40)), "x", Port.plain(2))
    y = apply(MatMul(), x, constant(eighths(rng, 1, 40, columns), "w"))
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), weight_format="int8", **DESKTOP)
    texels = {t["name"]: t["format"] for t in files.schedule["textures"]}
    assert texels["w"] in ("rg8", "rgba8")


@pytest.mark.gl
def test_8_bits_take_a_quarter_and_change_little():
    options = {"stage": "compute", **DESKTOP}
    narrow = compile_graph(convolution(), weight_format="int8", **options)[1]
    wide = compile_graph(convolution(), **options)[1]
    assert narrow.weights.size < 0.35 * wide.weights.size  # scales and biases stay as they were
    assert weight_formats(convolution(), weight_format="int8", **options) == {"rgba8", "rgba32f"}


def test_weights_are_off_by_half_a_step_at_most():
    rng = np.random.default_rng(5)
    w = rng.normal(size=(6, 5, 3, 3)) * rng.uniform(0.1, 10, (6, 1, 1, 1))
    w[2] = 0.0
    scale, whole = _round(w, 0)
    assert (np.abs(w - scale * whole) <= scale / 2 + 1e-12).all()
    assert np.abs(whole).max() == 127
    assert not whole[2].any()


def test_8_bits_need_32_to_add_up():
    with pytest.raises(ShadergenError, match="--weight-format int8"):
        Options(weight_format="int8", precision="mediump").target()
