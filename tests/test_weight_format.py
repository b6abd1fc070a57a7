"""Weights in textures of 16 bits: half the memory, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, graph_of, image

from shadergen.ir.graph import Graph, Input, Port, apply, constant
from shadergen.ir.ops import Conv, MatMul
from shadergen.ir.types import TensorType

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


def test_only_weights_are_rounded():
    x = Input(TensorType((3, 40)), "x", Port.plain(2))
    table = constant(rounded(np.random.default_rng(2), 40, 3), "table")
    both = graph_of(apply(MatMul(), x, table), table, inputs=(x,))
    assert weight_formats(both, weight_format="float16", **DESKTOP) == {"rgba32f"}
