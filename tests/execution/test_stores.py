"""Pixel shuffles as a pattern of stores, on GL."""

from __future__ import annotations

import numpy as np
import pytest
from support import (
    ESPCN,
    assert_runs_like_reference,
    compile_graph,
    conv,
    graph_of,
    image,
    pointwise,
)

from shadergen.compiler.compilation import import_model
from shadergen.compiler.options import Options
from shadergen.ir.graph import Graph, apply, constant
from shadergen.ir.ops import ConvTranspose, DepthToSpace, Slice
from shadergen.ir.types import TensorType
from shadergen.passes.kernel_ops import WinogradProducts

COMPUTE = {"device": "gles32-desktop", "glsl": 310, "stage": "compute"}


def shuffled(channels: int, block: tuple[int, int], order: str, width: int = 9) -> Graph:
    """Return a convolution whose channels are pixels of a map of ``channels``."""
    x = image(1, 5, 6, width)
    y = conv(np.random.default_rng(1), x, channels * block[0] * block[1], (3, 3), pads=(1, 1, 1, 1))
    y = pointwise("tanh(x0)", y)
    return graph_of(apply(DepthToSpace(block, order), y), inputs=(x,))


@pytest.mark.gl
@pytest.mark.parametrize("order", ["crd", "dcr"])
@pytest.mark.parametrize(
    ("channels", "block", "passes"),
    [
        (1, (2, 2), 1),
        (3, (2, 2), 1),
        (4, (2, 2), 1),
        (12, (2, 2), {"crd": 1, "dcr": 2}),  # or an invocation needs all 12 planes
        (5, (2, 2), 2),
        (1, (3, 3), 1),
        (2, (1, 3), 2),  # there are no images of two components
        (5, (1, 3), 1),
        (8, (2, 1), 1),
        (16, (2, 1), {"crd": 1, "dcr": 2}),
        (1, (4, 4), 1),
        (4, (3, 3), 2),
    ],
)
@pytest.mark.parametrize("fetch", ["texel", "image"])
def test_channels_are_stored_as_pixels(channels, block, order, passes, fetch):
    graph = shuffled(channels, block, order)
    files = assert_runs_like_reference(graph, fetch=fetch, **COMPUTE)
    want = passes if isinstance(passes, int) else passes[order]
    assert len(files.schedule["passes"]) == want


@pytest.mark.gl
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("precision", ["highp", "mediump"])
def test_what_follows_a_shuffle_goes_before_it(batch, precision):
    rng = np.random.default_rng(2)
    x = image(batch, 4, 5, 11)
    y = apply(DepthToSpace((2, 2)), conv(rng, x, 16, (1, 1)))
    z = pointwise("clamp(x0, -1, 1) * x1", y, constant(np.float32(0.5)))
    z = conv(rng, z, 3, (3, 3), pads=(1, 1, 1, 1), layer="last")
    files = assert_runs_like_reference(graph_of(z, inputs=(x,)), precision=precision, **COMPUTE)
    assert len(files.schedule["passes"]) == 2 * batch


@pytest.mark.gl
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 1, 1, 1), (1, 0, 0, 1)])
@pytest.mark.parametrize("channels", [1, 4, 8])
def test_transposed_convolution_is_one_pass(pads, channels):
    """What its padding cuts off is not stored."""
    rng = np.random.default_rng(3)
    x = image(1, 6, 5, 7)
    w = constant(rng.normal(size=(6, channels, 4, 4)) / 5, "w")
    y = apply(ConvTranspose((2, 2), (1, 1), pads, (0, 0)), x, w, layer="up")
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), **COMPUTE)
    assert len(files.schedule["passes"]) == 1


@pytest.mark.gl
@pytest.mark.parametrize("stage", ["compute", "auto", "fragment"])
def test_a_shuffle_is_a_pass_where_the_channels_are_read_elsewhere(stage):
    rng = np.random.default_rng(4)
    x = image(1, 4, 6, 6)
    y = conv(rng, x, 16, (3, 3))
    graph = graph_of(apply(DepthToSpace((2, 2)), y), pointwise("abs(x0)", y), inputs=(x,))
    files = assert_runs_like_reference(graph, **COMPUTE | {"stage": stage})
    assert len(files.schedule["passes"]) == 3


@pytest.mark.gl
def test_what_is_cut_in_other_ways_is_a_pass():
    rng = np.random.default_rng(5)
    x = image(1, 4, 6, 6)
    y = apply(DepthToSpace((2, 2)), conv(rng, x, 16, (1, 1)))
    for cut in (
        Slice((0, 0, 0, 0), (1, 1, 2, 1), (1, 4, 6, 12)),
        Slice((0, 0, 0, 0), (1, 1, 1, 1), (1, 3, 12, 12)),
    ):
        graph = graph_of(apply(cut, y), inputs=(x,))
        files = assert_runs_like_reference(graph, **COMPUTE)
        assert len(files.schedule["passes"]) == 2


def test_espcn_takes_three_passes_in_compute():
    graph = import_model(ESPCN, Options(input_size={"": (360, 640)}))
    _, files, _ = compile_graph(graph, **COMPUTE)
    assert [p["stage"] for p in files.schedule["passes"]] == ["compute"] * 3


def test_the_result_of_a_store_is_of_the_shuffled_type():
    graph, _, _ = compile_graph(shuffled(3, (2, 2), "crd"), **COMPUTE)
    (node,) = graph.nodes
    assert node.result.type.placed(None) == TensorType((1, 3, 12, 18))


@pytest.mark.gl
@pytest.mark.parametrize("stage", ["auto", "compute"])
def test_pixels_of_a_result_in_rows_are_stored_by_a_pass_of_their_own(stage):
    x = image(6, 4, 11, 4)
    y = conv(np.random.default_rng(1), x, 12, (3, 3), pads=(1, 1, 1, 1))
    y = pointwise("relu(x0)", apply(DepthToSpace((2, 2), "crd"), y))
    y = apply(Slice((0, 0, 1, 0), (1, 1, 1, 1), (6, 3, 21, 8)), y)
    assert_runs_like_reference(graph_of(y, inputs=(x,)), device="gles32-desktop", stage=stage)


def test_tiles_that_are_asked_for_are_not_lost_to_a_pattern_of_stores():
    x = image(1, 24, 64, 64)
    y = conv(np.random.default_rng(1), x, 12, (3, 3), pads=(1, 1, 1, 1))
    graph = graph_of(apply(DepthToSpace((2, 2), "crd"), y), inputs=(x,))
    placed, *_ = compile_graph(graph, device="gles32-desktop", winograd="2x2")
    assert any(isinstance(n.op, WinogradProducts) for n in placed.nodes)
