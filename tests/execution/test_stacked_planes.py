"""Maps whose planes lie below each other in one 2D texture: written by one draw, read by all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image, pointwise

from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir.graph import Graph, Value, apply
from shadergen.ir.indexing import PAD_MODES
from shadergen.ir.ops import (
    Concat,
    Pad,
    Pool,
    Reduce,
    ResizeNearest,
    Slice,
    Softmax,
    Transpose,
)

RNG = np.random.default_rng(7)
STACKED = {"device": "gles30", "textures": "stacked"}
IMAGES = {"device": "gles32-desktop", "stage": "fragment", "textures": "stacked", "glsl": 310}
WAYS: list[dict[str, Any]] = [
    STACKED,
    {**STACKED, "weights": "ubo"},
    {**STACKED, "weights": "texture", "fetch": "sample"},
    {**STACKED, "precision": "mediump", "parameters": "ubo"},
    {**IMAGES, "fetch": "image", "weights": "ssbo"},
    {**IMAGES, "fetch": "image-zero"},
]
pytestmark = [pytest.mark.gl, pytest.mark.usefixtures("fresh_random_numbers")]


def stacked(graph: Graph, **options: Any) -> set[str]:
    """Return the names of results whose planes are stacked."""
    placed, _, _ = compile_graph(graph, **options)
    return {r.name for n in placed.nodes for r in n.results if r.type.is_stacked}


def padded(mode: str) -> Graph:
    """Convolutions that read beside a map whose neighbour in the texture is another plane."""
    x = image(1, 3, 7, 5)
    y = conv(RNG, x, 10, (3, 3), "first", pads=(1, 1, 1, 1), pad_mode=mode)
    y = conv(RNG, pointwise("relu(x0)", y), 9, (5, 3), "second", pads=(2, 1, 2, 1), pad_mode=mode)
    y = conv(RNG, y, 12, (3, 3), "strided", pads=(1, 1, 1, 1), pad_mode=mode, strides=(2, 2))
    y = conv(RNG, y, 12, (3, 3), "own", pads=(1, 1, 1, 1), pad_mode=mode, groups=12)
    return graph_of(conv(RNG, y, 5, (1, 1), "last"), inputs=(x,))


def movements(x: Value) -> Value:
    """Operators that are no convolutions, of maps of ten channels."""
    y = conv(RNG, x, 10, (3, 3), "first", pads=(1, 1, 1, 1))
    y = apply(Pool("max", (3, 3), (2, 2), pads=(1, 1, 1, 1)), y, layer="pool")
    y = apply(
        ResizeNearest((1, 10, 8, 6), ((1, 0, 1), (1, 0, 1), (1, 0, 2), (1, 0, 2))),
        y,
        layer="larger",
    )
    y = apply(Pad((0, 0, 1, 1), (0, 0, 1, 1), "reflect"), y, layer="pad")
    mean = apply(Reduce("mean", (2, 3)), y, layer="mean")
    y = pointwise("x0 * sigmoid(x1)", y, mean, layer="gate")
    y = apply(Softmax((1,)), y, layer="softmax")
    y = apply(Transpose((0, 1, 3, 2)), y, layer="turn")
    y = apply(Slice((0, 3, 1, 0), (1, 1, 1, 1), (1, 6, 5, 6)), y, layer="cut")
    return apply(Concat(1), y, pointwise("0 - x0", y, layer="minus"), layer="join")


@pytest.mark.parametrize(
    ("mode", "options"),
    [(mode, way) for mode in PAD_MODES for way in (STACKED, WAYS[-1])]
    + [("constant", way) for way in WAYS[1:-1]],
    ids=str,
)
def test_reads_beside_a_stacked_map_are_its_padding(mode, options):
    graph = padded(mode)
    assert len(stacked(graph, **options)) == 4  # all but the output
    assert_runs_like_reference(graph, **options)


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_operators_read_and_write_stacked_maps(options):
    x = image(1, 3, 8, 6)
    graph = graph_of(movements(x), inputs=(x,))
    assert len(stacked(graph, **options)) > 3
    assert_runs_like_reference(graph, **options)


@pytest.mark.parametrize("device", ["gles30", "webgl2-min"])
def test_a_stacked_map_takes_one_draw(device):
    x = image(1, 3, 6, 5)
    y = conv(RNG, x, 47, (3, 3), "wide", pads=(1, 1, 1, 1))
    graph = graph_of(conv(RNG, y, 4, (3, 3), "last", pads=(1, 1, 1, 1)), inputs=(x,))
    _, arrays, _ = compile_graph(graph, device=device, textures="array")
    _, files, _ = compile_graph(graph, device=device)
    assert len(arrays.schedule["passes"]) == 4
    assert len(files.schedule["passes"]) == 2
    (between,) = (t for t in files.schedule["textures"] if t["height"] == 12 * 6)
    assert (between["kind"], between["layers"], between["packing"]) == ("2d", 1, "rows")


def test_layers_that_differ_in_weights_and_biases_share_a_program():
    """A fragment finds its plane at run time, so biases lie behind the weights it loops over."""
    y = x = image(1, 12, 6, 5)
    for layer in range(4):
        y = conv(RNG, y, 12, (3, 3), f"layer{layer}", pads=(1, 1, 1, 1), groups=12)
    graph = graph_of(pointwise("relu(x0)", y), inputs=(x,))
    _, files, _ = compile_graph(graph, **STACKED)
    shaders = [p["shader"] for p in files.schedule["passes"]]
    assert shaders[1] == shaders[2]  # both read and write a stack
    assert "const vec4" not in files.shaders[shaders[1]]


def test_what_cannot_be_stacked_stays_an_array():
    x = image(2, 8, 6, 5)
    batches = graph_of(conv(RNG, conv(RNG, x, 8, (3, 3)), 8, (3, 3), "last"), inputs=(x,))
    assert not stacked(batches, **STACKED)
    x = image(1, 8, 1500, 5)
    y = conv(RNG, x, 12, (3, 3), "high")
    high = graph_of(conv(RNG, y, 8, (3, 3), "last"), inputs=(x,))
    assert not stacked(high, **STACKED)  # 3 planes of 1498 texels exceed a texture of 4096
    x = image(1, 8, 6, 5)
    y = apply(Concat(1), *(conv(RNG, x, 8, (3, 3), f"part{k}") for k in range(2)), layer="join")
    joined = graph_of(conv(RNG, y, 8, (3, 3), "last"), inputs=(x,))
    assert not stacked(joined, **STACKED)


@pytest.mark.parametrize("device", ["gles31-min", "webgpu"])
def test_stacking_is_refused_where_dispatches_write_maps(device):
    with pytest.raises(ShadergenError, match="--textures stacked") as refused:
        Options(device=device, textures="stacked").target()
    assert "--stage fragment" in refused.value.supported


@pytest.mark.parametrize("option", [{"mrt": 1}, {"winograd": "2x2"}], ids=str)
def test_options_that_ask_for_several_layers_are_heeded_or_refused(option):
    graph = padded("constant")
    assert not stacked(graph, device="gles30", **option)
    with pytest.raises(ShadergenError, match="--textures stacked") as refused:
        Options(**STACKED, **option).target()
    assert "--mrt" in refused.value.help


@pytest.mark.parametrize(
    ("height", "precision", "plane"),
    [
        (1, "highp", "texel_of_stack.y;"),
        (8, "mediump", "texel_of_stack.y >> 3;"),
        (7, "highp", "int((float(texel_of_stack.y) + 0.5) / 7.0);"),
        (7, "mediump", "texel_of_stack.y / 7;"),
    ],
)
def test_the_plane_of_a_row_is_found_without_dividing_ints(height, precision, plane):
    x = image(1, 12, height, 5)
    y = conv(RNG, conv(RNG, x, 12, (1, 1), "first"), 12, (1, 1), "second")
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), precision=precision, **STACKED)
    assert f"int plane = {plane}\n" in files.shaders[files.schedule["passes"][0]["shader"]]


def test_the_plane_of_a_row_is_exact_in_floats():
    rows = np.arange(1 << 16, dtype="i4")
    middles = rows.astype("f4") + np.float32(0.5)
    for height in (*range(1, 200), 255, 719, 1079, 2047, 4095, 16383, 32767, 65535):
        for quotient in (middles / np.float32(height), middles * (1 / np.float32(height))):
            for off in (1 - 2.5 * 2**-24, 1 + 2.5 * 2**-24):  # as GLSL ES allows
                assert np.array_equal((quotient * np.float32(off)).astype("i4"), rows // height)
