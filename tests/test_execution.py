"""Every kernel choice on a real GL ES context, against the numpy reference."""

from __future__ import annotations

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
    play,
    pointwise,
)

from shadergen.errors import ShadergenError
from shadergen.ir.graph import Input, Port, apply, constant
from shadergen.ir.indexing import PAD_MODES
from shadergen.ir.ops import (
    BatchNormalization,
    Concat,
    ConvTranspose,
    DepthToSpace,
    Pad,
    Rearrange,
    Reshape,
    ResizeNearest,
    Slice,
    Transpose,
)
from shadergen.ir.reference import evaluate
from shadergen.ir.types import TensorType

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
    assert any("return vec4(" in text for text in files.shaders.values()) == tested
    _, files, _ = compile_graph(graph, zero_guard=0.5, **options)
    assert any("return vec4(" in text for text in files.shaders.values()) == (
        "pad_mode" not in padded
    )


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
        ("compute", "nest"),
        ("compute", "pointwise"),
    }
    assert all(p["barriers"] for p in passes[1:])


def test_compute_without_compute_shaders_is_refused():
    x = image(1, 4, 4, 4)
    graph = graph_of(pointwise("abs(x0)", x), inputs=(x,))
    for device, glsl, why in (
        ("gles32-desktop", 300, "GLSL ES 300"),
        ("gles30", 310, "workgroups"),
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
        fetch=pick("texel", "image", "image-zero"),
        **DESKTOP,
    )


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


FORMULAS = (
    "relu(x0)",
    "relu6(x0)",
    "leaky_relu(x0, 0.3)",
    "prelu(x0, 0.1)",
    "elu(x0, 0.7)",
    "selu(x0)",
    "celu(x0, 1.5)",
    "thresholded_relu(x0, 0.5)",
    "sigmoid(9 * x0)",
    "log(sigmoid(4 * x0 - 12))",
    "hard_sigmoid(x0)",
    "hard_swish(x0)",
    "silu(x0)",
    "swish(x0, 1.7)",
    "mish(x0)",
    "gelu(x0)",
    "gelu_tanh(x0)",
    "softplus(40 * x0)",
    "softsign(x0)",
    "log_sigmoid(x0)",
    "tanh(50 * x0)",
    "erf(x0)",
    "abs(x0)",
    "sign(x0)",
    "floor(3 * x0)",
    "ceil(3 * x0)",
    "trunc(3 * x0)",
    "round_even(4 * x0)",
    "sqrt(abs(x0))",
    "rsqrt(1 + abs(x0))",
    "exp(x0)",
    "log(1 + abs(x0))",
    "log1p(0.04 * x0)",
    "asinh(3 * x0)",
    "sin(x0)",
    "cos(x0)",
    "tan(x0 / 4)",
    "asin(tanh(x0))",
    "acos(tanh(x0))",
    "atan(x0)",
    "square(x0)",
    "reciprocal(2 + abs(x0))",
    "mod(x0, 0.7)",
    "clamp(x0, -0.5, 0.25)",
    "pow(x0, 2)",
    "pow(x0, 3)",
    "pow(abs(x0), 1.7)",
    "pow(x0, 4)",
    "pow(x0, 5)",
    "x0 < 0.3",
    "x0 >= 0.3",
    "x0 == 0",
    "ne(x0, 0)",
    "not(x0)",
    "gt(x0, 0)",
    "ge(x0, 0)",
    "where(x0 < 0, x0, 2)",
    "-x0 / 3 - (1 - x0)",
    "pow(3, x0)",
    "is_nan(where(x0 < 0.3, inf - inf, x0))",
    "is_inf(where(x0 < 0.3, -inf, x0))",
    "binade(9 * x0)",
    "bit_and(trunc(99 * x0), 60)",
    "bit_or(trunc(99 * x0), 60)",
    "bit_xor(trunc(99 * x0), -60)",
    "shift_left(trunc(99 * x0), 3)",
    "shift_right(trunc(99 * x0), trunc(3 * abs(x0)))",
)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("precision", ("highp", "mediump"))
def test_formula_runs_as_a_pass_of_its_own(formula, precision):
    x = image(1, 6, 5, 7)
    if precision == "mediump" and ("==" in formula or "ne(" in formula or "not(" in formula):
        precision = "highp"  # comparing for equality is not robust to storage in 16 bits
    if precision == "mediump" and formula.startswith("log(sigmoid"):
        pytest.skip("16 bits cannot hold sigmoid(-18)")
    jumps = ("floor", "ceil", "trunc", "round", "<", ">", "mod", "binade")
    steps = any(f in formula for f in jumps)
    if precision == "mediump" and steps:
        pytest.skip("a step function of an input rounded to 16 bits may land on the next step")
    assert_runs_like_reference(graph_of(pointwise(formula, x), inputs=(x,)), precision=precision)


def test_every_formula_of_the_library_is_executed_here():
    from shadergen.ir.expr import PRIMITIVES, parse, walk
    from shadergen.ir.formulas import FORMULAS as LIBRARY

    used = {getattr(e, "function", "") for f in FORMULAS for e in walk(parse(f))}
    helpers = {"erf_tail", "expm1_negative", "log1p_small", "mish_gate", "sigmoid_of"}
    infix = {"add"}
    movement = {"idiv", "imod", "min", "max", "le", "lt", "eq"}
    assert set(LIBRARY) | set(PRIMITIVES) <= used | helpers | infix | movement


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


def test_concatenation_takes_constants_shaped_like_parameters():
    rng = np.random.default_rng(10)
    x = image(1, 3, 1, 1)
    y = apply(Concat(1), x, constant(rng.normal(size=(1, 5, 1, 1)), "c"), layer="join")
    assert_runs_like_reference(graph_of(y, inputs=(x,)), rng)


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
    assert {p["kernel"] for p in files.schedule["passes"]} == {"pointwise", "nest"}


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

        from shadergen.ir.reference import evaluate

        inputs = random_inputs(graph, rng)
        got = play(compile_graph(graph, output_encoding=encoding)[1], inputs)["y0"]
        assert np.abs(got - evaluate(want, inputs)["y0"]).max() <= 1.01 / 255
        assert got.min() >= 0 and got.max() <= 1
    else:
        files = assert_runs_like_reference(graph_of(y, inputs=(x,)), output_encoding=encoding)
        assert [t["format"] for t in files.schedule["textures"]][-1] == "rg32f"


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
    got, want = play(files, {"x": values}), evaluate(graph, {"x": values})
    for name, expected in want.items():
        assert got[name].dtype == expected.dtype
        np.testing.assert_array_equal(got[name], expected)
