"""Convolutions in draws that compute a block of pixels: right, and only where they can be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image, pointwise

from shadergen.backends import kernels
from shadergen.backends.kernels import fragment_blocks
from shadergen.backends.kernels.convolution import CONVOLUTION
from shadergen.ir.graph import Graph, apply, constant
from shadergen.ir.ops import Concat, Conv
from shadergen.passes.kernel_ops import ConvBlocks

GL = pytest.mark.gl
BLOCKS = pytest.mark.parametrize("block", fragment_blocks.BLOCKS)
GENERIC = {"device": "gles30", "winograd": "off"}
EIGHT_TARGETS = {"device": "gles32-desktop", "stage": "fragment", "winograd": "off"}


@pytest.fixture
def in_blocks(monkeypatch):
    """Return a function that leaves one block as the only choice of convolutions."""

    def force(block: tuple[int, int]) -> None:
        others = tuple(
            replace(f, choices=lambda node, target: iter(())) if f is CONVOLUTION else f
            for f in kernels.FAMILIES
        )
        monkeypatch.setattr(kernels, "FAMILIES", others)
        monkeypatch.setattr(fragment_blocks, "BLOCKS", (block,))

    return force


def single(
    channels: int = 8, out: int = 8, size: tuple[int, int] = (9, 10), **attributes: Any
) -> Graph:
    """Return a graph of one convolution of an input, with an activation."""
    attributes = {"pads": (1, 1, 1, 1), **attributes}
    x = image(attributes.pop("batch", 1), channels, *size)
    kernel = attributes.pop("kernel", (3, 3))
    y = conv(np.random.default_rng(2), x, out, kernel, **attributes)
    return graph_of(pointwise("relu(x0)", y), inputs=(x,))


def names(graph: Graph, **options: Any) -> list[str]:
    placed, _, _ = compile_graph(graph, **options)
    return [type(getattr(n.op, "kernel", n.op)).__name__ for n in placed.nodes]


@pytest.mark.parametrize("block", [(1, 4), (2, 3)])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_the_pixels_of_blocks_are_those_of_a_convolution(block, mode):
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(2, 3, 7, 9)), rng.normal(size=(5, 3, 3, 3)), rng.normal(size=5)
    padding: dict[str, Any] = {"pads": (1, 0, 2, 1), "pad_mode": mode, "pad_value": 0.5}
    want = Conv(**padding).reference(x, w, b)
    blocks = ConvBlocks(**padding, block=block)
    found = blocks.reference(x, w, b)
    assert apply(blocks, *(constant(a) for a in (x, w, b))).shape == found.shape
    down, across = block
    for i, j in np.ndindex(block):
        pixels = want[:, :, i::down, j::across]
        first = (i * across + j) * 8
        got = found[:, first : first + 5, : pixels.shape[2], : pixels.shape[3]]
        np.testing.assert_array_equal(got, pixels)


@GL
@BLOCKS
@pytest.mark.parametrize("weights", ["texture", "ubo"])
@pytest.mark.parametrize(
    ("channels", "out", "size", "attributes"),
    [
        (1, 3, (9, 7), {}),
        (3, 4, (12, 16), {"pads": (0, 0, 0, 0)}),
        (4, 1, (3, 4), {"pads": (0, 0, 0, 0), "batch": 2}),
        (5, 17, (13, 6), {"pads": (2, 0, 1, 5), "batch": 2, "bias": False}),
        (17, 5, (3, 11), {"pad_mode": "reflect"}),
        (8, 8, (8, 9), {"kernel": (1, 1), "pads": (0, 0, 0, 0)}),
        (8, 9, (11, 13), {"strides": (2, 2), "pad_value": 0.5}),
        (4, 8, (9, 9), {"dilations": (2, 2), "kernel": (3, 2)}),
        (9, 9, (7, 10), {"groups": 9}),
        (6, 6, (9, 9), {"groups": 6, "strides": (2, 1), "kernel": (5, 3)}),
    ],
)
def test_blocks_run_like_the_reference(in_blocks, block, weights, channels, out, size, attributes):
    in_blocks(block)
    graph = single(channels, out, size, **attributes)
    sampled = {**GENERIC, "device": "mali-valhall", "glsl": 300}
    for options in (GENERIC, EIGHT_TARGETS, {**GENERIC, "fetch": "texel", "mrt": 2}, sampled):
        options = {**options, "weights": weights}
        assert names(graph, **options)[0] == "ConvBlocks"
        assert_runs_like_reference(graph, **options)


@GL
@BLOCKS
def test_whole_blocks_need_no_cut(in_blocks, block):
    in_blocks(block)
    graph = single(8, 8, (8, 8))
    assert names(graph, **GENERIC) == ["ConvBlocks", "DepthToSpace"]
    assert_runs_like_reference(graph, **GENERIC)


@GL
@BLOCKS
def test_blocks_take_a_prologue_an_epilogue_of_maps_and_a_place_in_a_concatenation(
    in_blocks, block
):
    in_blocks(block)
    rng = np.random.default_rng(2)
    x, other = image(1, 8, 9, 10), image(1, 8, 9, 10, name="other")
    y = conv(rng, pointwise("tanh(x0) + 0.5", x), 8, (3, 3), pads=(1, 1, 1, 1))
    z = conv(rng, x, 8, (1, 1))
    y = pointwise("relu(x0 + x1)", y, other)
    joined = apply(Concat(1), y, z)
    graph = graph_of(conv(rng, joined, 4, (1, 1)), inputs=(x, other))
    assert names(graph, **GENERIC).count("ConvBlocks") == 3
    assert_runs_like_reference(graph, **GENERIC)


@pytest.mark.parametrize(
    ("attributes", "options"),
    [
        ({}, {"device": "llvmpipe", "stage": "fragment"}),  # memory has no price
        ({}, {"precision": "fp16"}),
        ({}, {"textures": "2d"}),
        ({}, {"mrt": 1}),
        ({}, {"fetch": "sample"}),  # gles30 includes VideoCore, which would spill
        ({}, {"device": "videocore-6", "glsl": 300}),
        ({}, {"device": "gles31-mobile"}),  # has compute shaders
        ({"groups": 2}, {}),
    ],
)
def test_only_some_builds_draw_blocks(attributes, options):
    options = {**GENERIC, "weights": "texture", **options}
    assert names(single(48, 48, (64, 64)), **GENERIC)[0] == "ConvBlocks"
    assert "ConvBlocks" not in names(single(48, 48, (64, 64), **attributes), **options)


@pytest.mark.parametrize("options", [{"glsl": 300}, {"stage": "fragment"}], ids=str)
@pytest.mark.parametrize(
    "device", ["mali-bifrost", "mali-valhall", "adreno-6xx", "adreno-7xx", "nvidia", "intel-gen12"]
)
def test_builds_of_draws_for_a_family_have_blocks_and_winograd_tiles(device, options):
    options = {**options, "device": device}
    assert names(single(64, 64, (128, 128)), **options, winograd="off")[0] == "ConvBlocks"
    assert names(single(64, 64, (128, 128)), **options)[0] == "StripPatches"
