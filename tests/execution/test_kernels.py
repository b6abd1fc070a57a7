"""Kernels on a real GL ES context, against the numpy reference."""

from __future__ import annotations

import numpy as np
import pytest
from support import (
    assert_runs_like_reference,
    compile_graph,
    conv,
    graph_of,
    image,
    play,
    pointwise,
)

from shadergen.ir.graph import Input, Port, apply, constant
from shadergen.ir.indexing import PAD_MODES
from shadergen.ir.ops import (
    BatchNormalization,
    Concat,
    DepthToSpace,
    Pad,
    Rearrange,
    Reshape,
    ResizeNearest,
    Slice,
    Softmax,
    Transpose,
)
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType

pytestmark = pytest.mark.gl


@pytest.mark.parametrize("channels", (1, 2, 3, 4, 6))
@pytest.mark.parametrize(
    "shape", ((1, 1, 1, 1), (1, "c", 1, 1), (1, 1, 5, 7), (1, "c", 5, 7), (1, "c", 1, 7), (7,), ())
)
@pytest.mark.parametrize("known", (True, False))
def test_pointwise_broadcasts_as_numpy(channels, shape, known):
    rng = np.random.default_rng(5)
    x = image(2, channels, 5, 7)
    sizes = tuple(channels if s == "c" else s for s in shape)
    other = constant(rng.normal(size=sizes), "other") if known else image(*sizes, name="other")
    if not known and not sizes:
        pytest.skip("a graph input has at least one axis")
    y = pointwise("x0 * x1 + x0", x, other)
    inputs = (x,) if known else (x, other)
    assert_runs_like_reference(graph_of(y, inputs=inputs), rng)
    assert_runs_like_reference(graph_of(y, inputs=inputs), rng, parameters="ubo", textures="2d")


def movements(x):
    n, c, h, w = x.shape
    yield "crd", DepthToSpace((2, 2), "crd"), c % 4 == 0
    yield "dcr", DepthToSpace((2, 2), "dcr"), c % 4 == 0
    yield "dcr 3x1", DepthToSpace((3, 1), "dcr"), c % 3 == 0
    for mode in PAD_MODES:
        yield f"pad {mode}", Pad((0, 0, 1, 2), (0, 0, 3, 0), mode, 0.5), True
        yield f"pad channels {mode}", Pad((0, 2, 0, 1), (1, 1, 0, 0), mode, 0.5), n == 1
    yield "flip", Slice((0, c - 1, h - 1, 0), (1, -1, -1, 2), (n, c, h, (w + 1) // 2)), True
    yield "crop", Slice((n - 1, 0, 1, 2), (1, 1, 1, 1), (1, c, h - 2, w - 3)), True
    yield "transpose", Transpose((0, 2, 3, 1)), True
    yield "transpose batch", Transpose((3, 1, 0, 2)), True
    yield "reshape", Reshape((n, c * h * w)), True
    yield "channel shuffle", Rearrange((n, c // 2, 2, h, w), (0, 2, 1, 3, 4), x.shape), c % 2 == 0
    unshuffled = (n, c * 4, h // 2, w // 2)
    split = (n, c, h // 2, 2, w // 2, 2)
    yield "unshuffle", Rearrange(split, (0, 1, 3, 5, 2, 4), unshuffled), h % 2 == w % 2 == 0
    yield "reshape rows", Reshape((n * c, h * w)), True
    up = ((1, 0, 1), (1, 0, 1), (1, 0, 2), (1, 0, 3))
    yield "nearest up", ResizeNearest((n, c, 2 * h, 3 * w), up), True
    down = ((1, 0, 1), (1, 0, 1), (2, 1, 1), (3, 0, 2))
    yield "nearest down", ResizeNearest((n, c, h // 2, w // 2), down), True


@pytest.mark.parametrize("shape", ((1, 12, 5, 6), (2, 5, 4, 7), (1, 1, 4, 5), (1, 4, 3, 4)))
@pytest.mark.parametrize("textures", ("2d", "array"))
def test_movement_runs(shape, textures):
    x = image(*shape)
    ran = 0
    for name, op, fits in movements(x):
        if not fits:
            continue
        y = apply(op, x, layer=name)
        try:
            assert_runs_like_reference(
                graph_of(y, inputs=(x,)), textures=textures, device="gles32-desktop"
            )
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
        ran += 1
    assert ran >= 12


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("sizes", ((4, 8, 4), (1, 2, 3), (5, 4, 6)))
@pytest.mark.parametrize("textures", ("2d", "array"))
def test_concatenation_runs_on_any_axis(axis, sizes, textures):
    shape = [2, 3, 4, 5]
    inputs = []
    for k, size in enumerate(sizes):
        shape[axis] = size
        inputs.append(image(*shape, name=f"x{k}"))
    y = apply(Concat(axis), *inputs, layer="join")
    y = pointwise("relu(x0)", y)
    assert_runs_like_reference(
        graph_of(y, inputs=tuple(inputs)), textures=textures, device="gles32-desktop"
    )


def test_textures_of_planes_and_of_other_tensors_are_told_apart():
    """The third plane of the first tensor would be called like the second tensor."""
    inputs = image(1, 32, 4, 5, name="a"), image(1, 4, 4, 5, name="b")
    y = apply(Concat(1), *inputs, layer="join")
    assert_runs_like_reference(graph_of(y, inputs=inputs), textures="2d")


def test_concatenation_takes_constants_shaped_like_parameters():
    rng = np.random.default_rng(10)
    x = image(1, 3, 1, 1)
    y = apply(Concat(1), x, constant(rng.normal(size=(1, 5, 1, 1)), "c"), layer="join")
    assert_runs_like_reference(graph_of(y, inputs=(x,)), rng)


@pytest.mark.parametrize("parameters", ("constants", "ubo"))
def test_batch_normalisation_that_cannot_be_folded_runs(parameters):
    rng = np.random.default_rng(7)
    x = image(1, 6, 5, 4)
    y = conv(rng, x, 6, (3, 3), pads=(1, 1, 1, 1))
    scale = [constant(rng.uniform(0.5, 2, 6), n) for n in ("gamma", "beta", "mean", "variance")]
    normal = apply(BatchNormalization(1e-3), y, *scale, layer="bn")
    both = pointwise("x0 + x1", normal, y, layer="add")  # y is read twice, so bn stays apart
    files = assert_runs_like_reference(graph_of(both, y, inputs=(x,)), parameters=parameters)
    assert len(files.schedule["passes"]) == 2


def test_residual_addition_fuses_and_runs():
    rng = np.random.default_rng(8)
    x = image(1, 8, 6, 5)
    y = pointwise("relu(x0)", conv(rng, x, 8, (3, 3), "a", pads=(1, 1, 1, 1)))
    z = conv(rng, y, 8, (3, 3), "b", pads=(1, 1, 1, 1))
    out = pointwise("relu(x0 + x1)", z, y, layer="add")
    files = assert_runs_like_reference(graph_of(out, inputs=(x,)))
    assert len(files.schedule["passes"]) == 2


@pytest.mark.parametrize("encoding", ("y2rg", "y2rg_half", "unorm8"))
@pytest.mark.parametrize("block", (1, 2, 3))
def test_output_encodings_run(encoding, block):
    rng = np.random.default_rng(9)
    x = image(1, 2, 6, 5)
    y = conv(rng, x, block * block, (3, 3), pads=(1, 1, 1, 1))
    if block > 1:
        y = apply(DepthToSpace((block, block), "crd"), y, layer="shuffle")
    if encoding == "unorm8":
        exact = pointwise("floor(clamp(x0, 0, 1) * 255 + 0.5) / 255", y)
        graph, want = graph_of(y, inputs=(x,)), graph_of(exact, inputs=(x,))
        from support import compile_graph, play, random_inputs

        from shadergen.ir.reference import evaluate_graph

        inputs = random_inputs(graph, rng)
        got = play(compile_graph(graph, output_encoding=encoding)[1], inputs)["y0"]
        assert np.abs(got - evaluate_graph(want, inputs)["y0"]).max() <= 1.01 / 255
        assert got.min() >= 0 and got.max() <= 1
    else:
        files = assert_runs_like_reference(graph_of(y, inputs=(x,)), output_encoding=encoding)
        formats = [t["format"] for t in files.schedule["textures"] if t["data"] is None]
        assert formats[-1] == "rg32f"


def test_network_whose_output_is_its_input_is_copied():
    x = image(1, 3, 4, 5)
    assert_runs_like_reference(graph_of(x, x, inputs=(x,)))


@pytest.mark.parametrize("dtype", ["int32", "int16", "uint8", "bool"])
def test_inputs_and_constants_of_whole_numbers_are_outputs_of_their_own_type(dtype):
    x = Input(TensorType((2, 5), dtype), "x", Port.plain(2))
    c = constant(np.arange(6).reshape(2, 3).astype(dtype))
    graph = graph_of(x, x, c, inputs=(x,))
    values = np.eye(2, 5).astype(dtype)
    _, files, _ = compile_graph(graph)
    got, want = play(files, {"x": values}), evaluate_graph(graph, {"x": values})
    for name, expected in want.items():
        assert got[name].dtype == expected.dtype
        np.testing.assert_array_equal(got[name], expected)


@pytest.mark.parametrize("kind", ("softmax", "convolution"))
def test_one_channel_of_a_map_too_large_for_planes_is_added_to_several(kind):
    x = image(1, 3, 2, 2050)
    y = conv(np.random.default_rng(6), x, 1, (3, 3), pads=(1, 1, 1, 1))
    y = apply(Softmax((1,)), x, layer="y") if kind == "softmax" else pointwise("x0 + x1", x, y)
    assert_runs_like_reference(graph_of(y, inputs=(x,)), device="webgl2-min")
