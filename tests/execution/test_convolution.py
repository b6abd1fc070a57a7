"""Every kernel choice of convolutions on a real GL ES context, against the numpy reference."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import (
    assert_runs_like_reference,
    compile_graph,
    conv,
    graph_of,
    image,
    pointwise,
)

from shadergen.backends.kernels import convolution_loops
from shadergen.errors import ShadergenError
from shadergen.ir.graph import apply, constant
from shadergen.ir.indexing import PAD_MODES
from shadergen.ir.ops import (
    Concat,
    ConvTranspose,
    DepthToSpace,
)

pytestmark = pytest.mark.gl
CHANNELS = (1, 3, 4, 5, 17)
STORAGES = ("constants", "ubo", "texture", "ssbo")
DESKTOP = {"device": "gles32-desktop", "glsl": 310}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("mrt", (1, 2, 4))
@pytest.mark.parametrize("textures", ("2d", "array"))
@pytest.mark.parametrize("precision", ("highp", "mediump"))
def test_convolution_runs_with_every_storage_grouping_and_precision(
    storage, mrt, textures, precision
):
    """In the fragment stage, where they differ."""
    rng = np.random.default_rng(1)
    x = image(1, 5, 9, 7)
    y = conv(rng, x, 17, (3, 3), pads=(1, 1, 1, 1))
    assert_runs_like_reference(
        graph_of(y, inputs=(x,)),
        weights=storage,
        mrt=mrt,
        textures=textures,
        precision=precision,
        stage="fragment",
        **DESKTOP,
    )


@pytest.mark.parametrize("channels_in", CHANNELS)
@pytest.mark.parametrize("channels_out", CHANNELS)
@pytest.mark.parametrize(
    "choice",
    (
        {"weights": "constants"},
        {"weights": "texture", "stage": "fragment"},
        {"weights": "texture", "stage": "fragment", "fetch": "sample"},
        {"weights": "texture", "stage": "fragment", "fetch": "image"},
        {"weights": "texture", "stage": "compute"},
        {"weights": "ubo", "stage": "compute", "fetch": "image"},
        {"weights": "texture", "stage": "compute", "fetch": "image-zero"},
    ),
    ids=lambda choice: "-".join(choice.values()),
)
def test_convolution_runs_with_any_number_of_channels(channels_in, channels_out, choice):
    rng = np.random.default_rng(2)
    x = image(1, channels_in, 5, 6)
    y = conv(rng, x, channels_out, (3, 2))
    y = conv(rng, pointwise("relu(x0)", y), channels_out, (1, 1), layer="second")
    assert_runs_like_reference(graph_of(y, inputs=(x,)), **choice, **DESKTOP)


@pytest.mark.parametrize("width", (1, 3, 7, 8, 9, 17, 70))
@pytest.mark.parametrize("stride", (1, 2, 3))
@pytest.mark.parametrize("kernel", ((1, 1), (3, 3), (2, 5), (1, 9)))
def test_blocks_of_pixels_cover_a_map_of_any_width(width, stride, kernel):
    rng = np.random.default_rng(5)
    x = image(2, 5, 3, width)
    pads = (kernel[0] // 2, kernel[1] // 2) * 2
    y = conv(rng, x, 21, kernel, strides=(1, stride), pads=pads)
    y = pointwise("exp(-abs(x0))", y)  # not zero in unused lanes
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), stage="compute", **DESKTOP)
    assert [p["stage"] for p in files.schedule["passes"]] == ["compute"] * 2  # one a batch entry


@pytest.mark.parametrize("stage", ("fragment", "compute"))
@pytest.mark.parametrize(
    ("padded", "tested"),
    (
        ({"pads": (1, 1, 1, 1)}, False),
        ({"pads": (2, 0, 1, 3)}, False),
        ({"pads": (1, 1, 1, 1), "pad_mode": "edge"}, False),
        ({"pads": (1, 1, 1, 1), "pad_value": 2.0}, True),
    ),
)
def test_images_that_are_zero_outside_replace_only_tests_for_zeros(stage, padded, tested):
    rng = np.random.default_rng(8)
    x = image(1, 6, 5, 11)
    y = conv(rng, conv(rng, x, 7, (1, 1)), 9, (3, 3), layer="padded", **padded)
    graph = graph_of(y, inputs=(x,))
    options = {"stage": stage, "fetch": "image-zero", "weights": "texture", **DESKTOP}
    files = assert_runs_like_reference(graph, **options)
    assert any("bool inside" in text for text in files.shaders.values()) == tested
    _, files, _ = compile_graph(graph, zero_guard=0.5, **options)
    assert any("bool inside" in text for text in files.shaders.values()) == (
        "pad_mode" not in padded
    )


@pytest.mark.parametrize(
    ("device", "stage"), [("gles30", "fragment"), ("gles31-mobile", "compute")]
)
@pytest.mark.parametrize("mode", [mode for mode in PAD_MODES if mode != "constant"])
def test_loops_over_input_planes_read_at_positions_that_were_found_before(mode, device, stage):
    """Found in each step, they take VideoCore 1.3 times the cycles, and make it spill."""
    x = image(1, 32, 9, 11)
    y = conv(np.random.default_rng(8), x, 4, (3, 3), strides=(2, 2), pads=(1,) * 4, pad_mode=mode)
    options = {"device": device, "stage": stage, "weights": "texture", "winograd": "off"}
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), **options)
    (text,) = (t for t in files.shaders.values() if "load_x" in t)
    before, loop = text.split("for (int input_plane")
    assert "int source_y0 = " in before
    assert re.search(r"load_x\(.*source_y0", loop)
    assert re.search(r"vec4 load_x\(ivec2 p, int plane\) \{ return texelFetch", before)


def test_every_kernel_runs_in_compute():
    rng = np.random.default_rng(6)
    x = image(1, 6, 8, 10)
    y = conv(rng, x, 12, (3, 3), pads=(1, 1, 1, 1))
    z = apply(Concat(1), y, pointwise("x0 * sigmoid(x0)", y))
    z = apply(DepthToSpace((2, 2), "crd"), z)
    w = conv(rng, z, 6, (3, 3), groups=6, strides=(2, 2), pads=(1, 1, 1, 1), layer="depthwise")
    out = pointwise("x0 + x1", w, x)
    files = assert_runs_like_reference(
        graph_of(out, z, inputs=(x,)), stage="compute", fetch="image", **DESKTOP
    )
    passes = files.schedule["passes"]
    assert {(p["stage"], p["kernel"]) for p in passes} == {
        ("compute", "convolution"),
        ("compute", "loop kernel"),
        ("compute", "pointwise"),
    }
    assert all(p["barriers"] for p in passes[1:])


def test_compute_without_compute_shaders_is_refused():
    x = image(1, 4, 4, 4)
    graph = graph_of(pointwise("abs(x0)", x), inputs=(x,))
    for device, glsl, why in (
        ("gles32-desktop", 300, "GLSL ES 300"),
        ("gles30", 310, "the device profile has no compute shaders"),
    ):
        with pytest.raises(ShadergenError, match="SG0403") as refusal:
            compile_graph(graph, stage="compute", device=device, glsl=glsl)
        assert why in refusal.value.why


@pytest.mark.parametrize("mode", PAD_MODES)
@pytest.mark.parametrize("stride", (1, 2, 3))
@pytest.mark.parametrize("pads", ((2, 2, 2, 2), (0, 1, 3, 2), (4, 4, 0, 0)))
def test_convolution_runs_with_every_padding_mode_and_stride(mode, stride, pads):
    rng = np.random.default_rng(3)
    x = image(1, 3, 7, 5)
    y = conv(rng, x, 5, (3, 3), strides=(stride, stride), pads=pads, pad_mode=mode, pad_value=0.75)
    assert_runs_like_reference(graph_of(y, inputs=(x,)))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_convolution_runs_with_any_combination_of_attributes(data):
    def pick(*values):
        return data.draw(st.sampled_from(values))

    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    groups = pick(1, 1, 1, 2, 3, "depthwise")
    channels_in = pick(*CHANNELS)
    if groups == "depthwise":
        groups = channels_in
        channels_out = channels_in * pick(1, 2, 3)
    else:
        channels_in, channels_out = channels_in * groups, pick(*CHANNELS) * groups
    kernel = (pick(1, 2, 3, 5), pick(1, 2, 3, 4))
    dilations = (pick(1, 2), pick(1, 2, 3))
    pads = tuple(data.draw(st.integers(0, 4)) for _ in range(4))
    height = max(pick(1, 5, 8, 13), (kernel[0] - 1) * dilations[0] + 1 - pads[0] - pads[2])
    width = max(pick(1, 4, 7, 12), (kernel[1] - 1) * dilations[1] + 1 - pads[1] - pads[3])
    x = image(pick(1, 1, 2), channels_in, height, width)
    y = conv(
        rng,
        x,
        channels_out,
        kernel,
        bias=pick(True, False),
        strides=(pick(1, 2, 3), pick(1, 2, 3)),
        dilations=dilations,
        pads=pads,
        groups=groups,
        pad_mode=pick(*PAD_MODES),
        pad_value=pick(0.0, 0.5, -1.0),
    )
    activation = pick(
        "", "relu(x0)", "tanh(x0)", "leaky_relu(x0, 0.2)", "silu(x0)", "exp(-x0 * x0)"
    )
    if activation:
        y = pointwise(activation, y)
    assert_runs_like_reference(
        graph_of(y, inputs=(x,)),
        rng,
        weights=pick("auto", *STORAGES),
        mrt=pick(None, 1, 2, 3, 4, 8),
        precision=pick("highp", "mediump"),
        textures=pick("auto", "2d", "array"),
        parameters=pick("constants", "ubo"),
        zero_guard=pick(0.0, 0.0),
        stage=pick("auto", "fragment", "compute"),
        fetch=pick("texel", "sample", "image", "image-zero"),
        **DESKTOP,
    )


@pytest.mark.parametrize("precision", ("highp", "mediump"))
@pytest.mark.parametrize("size", ((1, 1), (3, 5), (2, 4097), (4096, 1)))
@pytest.mark.parametrize("pad", (0.0, 2.0))
def test_samples_beside_the_map_are_the_pad(size, precision, pad):
    rng = np.random.default_rng(9)
    x = image(1, 3, *size)
    v = pointwise("exp(-abs(x0))", x)  # not zero beside the map
    y = conv(rng, v, 5, (3, 3), pads=(1, 2, 2, 1), pad_value=pad)
    graph = graph_of(y, inputs=(x,))
    files = assert_runs_like_reference(
        graph, stage="fragment", fetch="sample", precision=precision, **DESKTOP
    )
    assert any("inside = centre == clamp(centre" in text for text in files.shaders.values())


@pytest.mark.parametrize("fetch", ("texel", "sample"))
@pytest.mark.parametrize("precision", ("highp", "mediump"))
@pytest.mark.parametrize("size", ((1, 1), (3, 5), (2, 4097), (4096, 1)))
def test_edges_are_repeated_by_the_sampler_where_draws_sample(size, precision, fetch):
    rng = np.random.default_rng(9)
    x = image(1, 3, *size)
    v = pointwise("exp(-abs(x0))", x)
    y = conv(rng, v, 5, (3, 3), pads=(1, 2, 2, 2), dilations=(1, 2), pad_mode="edge")
    options = {"stage": "fragment", "fetch": fetch, "precision": precision, **DESKTOP}
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), **options)
    text = next(t for t in files.shaders.values() if "load_x" in t)
    assert ("int source_y0 = " in text) == (fetch == "texel")


@pytest.mark.parametrize("groups", (1, 9))
@pytest.mark.parametrize("block", ((4, 1), (2, 2), (1, 3)))
@pytest.mark.parametrize("mode", PAD_MODES)
@pytest.mark.parametrize(
    ("strides", "dilations"), (((1, 1), (1, 1)), ((1, 2), (1, 1)), ((2, 1), (2, 2)))
)
def test_dispatches_find_columns_and_rows_of_the_input_before_their_loops(
    mode, strides, dilations, block, groups, monkeypatch
):
    monkeypatch.setattr(convolution_loops, "BLOCKS", (block,))
    rng = np.random.default_rng(12)
    x = image(1, 9, 9, 13)
    attributes = {"strides": strides, "dilations": dilations, "pads": (2, 3, 4, 1)}
    y = conv(rng, x, 9 if groups > 1 else 5, (3, 3), groups=groups, pad_mode=mode, **attributes)
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), stage="compute", **DESKTOP)
    name = f"source_x{strides[1]}" if block[0] > 1 else f"source_y{strides[0]}"
    found = [text for text in files.shaders.values() if f"int {name} = " in text]
    assert len(found) == (mode != "constant")


@pytest.mark.parametrize("weights", ("constants", "ubo"))
@pytest.mark.parametrize("fetch", ("texel", "sample"))
@pytest.mark.parametrize(
    "attributes",
    (
        {"pads": (1, 1, 1, 1)},
        {"pads": (1, 2, 2, 0), "strides": (2, 3)},
        {"pads": (0, 4, 0, 1), "dilations": (1, 2)},
        {"pads": (2, 2, 2, 2), "pad_mode": "edge"},
        {"pads": (1, 1, 1, 1), "pad_value": 2.0},
    ),
)
@pytest.mark.parametrize("size", ((3, 3), (6, 8)))
def test_taps_beside_the_map_add_its_padding(size, attributes, fetch, weights):
    """Few planes of many: the sums before a tap are kept where it adds nothing."""
    rng = np.random.default_rng(15)
    x = image(2, 10, *size)
    v = pointwise("exp(-abs(x0))", x)  # not zero beside the map
    y = conv(rng, v, 6, (3, 3), **attributes)
    options = {"stage": "fragment", "fetch": fetch, "weights": weights, "device": "adreno-6xx"}
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), **options)
    (text,) = {t for t in files.shaders.values() if "convolution" in t}
    assert "for (" not in text
    zeros = "pad_mode" not in attributes and "pad_value" not in attributes
    assert bool(re.search(r"before_(result\w*) = \1;", text)) == zeros


def test_a_block_with_more_weights_than_constant_registers_is_looped_over():
    rng = np.random.default_rng(16)
    x = image(1, 64, 5, 6)
    y = conv(rng, x, 4, (3, 3), pads=(1, 1, 1, 1))
    options = {"stage": "fragment", "weights": "ubo", "device": "adreno-6xx"}
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), **options)
    assert any("for (" in text for text in files.shaders.values())


@pytest.mark.parametrize("guarded_mode", ("constant", "edge"))
def test_zero_guard_replaces_exact_zeros_and_zero_padding(guarded_mode):
    rng = np.random.default_rng(4)
    x = image(1, 3, 6, 6)
    made = {
        guard: graph_of(
            conv(
                np.random.default_rng(4),
                x,
                4,
                (3, 3),
                pads=(1, 1, 1, 1),
                pad_mode=guarded_mode,
                zero_guard=guard,
            ),
            inputs=(x,),
        )
        for guard in (0.0, 0.25)
    }
    assert_runs_like_reference(made[0.0], rng, reference=made[0.25], zero_guard=0.25)


@pytest.mark.parametrize("stride", ((1, 1), (2, 2), (3, 2)))
@pytest.mark.parametrize("kernel", ((2, 2), (3, 3), (5, 4)))
@pytest.mark.parametrize("groups", (1, 2))
def test_transposed_convolution_runs(stride, kernel, groups):
    rng = np.random.default_rng(6)
    x = image(1, 4, 5, 6)
    w = constant(rng.normal(size=(4, 3, *kernel)) * 0.2, "kernel")
    b = constant(rng.normal(size=3 * groups), "bias")
    for pads, extra in (((0, 0, 0, 0), (0, 0)), ((1, 0, 1, 1), (min(stride) - 1, 0))):
        op = ConvTranspose(stride, (1, 1), pads, extra, groups)
        y = pointwise("leaky_relu(x0)", apply(op, x, w, b, layer="up"))
        assert_runs_like_reference(graph_of(y, inputs=(x,)))


@pytest.mark.parametrize("channels", ((1028, 5), (5, 1028)))
@pytest.mark.parametrize("guard", (0.0, 0.25))
def test_a_convolution_of_more_layers_than_a_texture_has_keeps_what_was_fused(channels, guard):
    def network(zero_guard):
        rng = np.random.default_rng(7)
        shift = constant(rng.normal(size=(channels[0], 1, 1)), "shift")
        y = pointwise("relu(x0 + x1)", x, shift)
        y = conv(rng, y, channels[1], (3, 3), pads=(1, 1, 1, 1), zero_guard=zero_guard)
        return graph_of(pointwise("x0 * sigmoid(x0)", y), inputs=(x,))

    x = image(1, channels[0], 3, 4)
    files = assert_runs_like_reference(network(0.0), reference=network(guard), zero_guard=guard)
    assert {p["kernel"] for p in files.schedule["passes"]} == {"pointwise", "loop kernel"}
