"""Functions that are concatenated (CReLU) and computed where convolutions load: right, and when."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnxruntime as ort
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
from support.pass_support import context, operators
from support.picture_networks import Network, save
from support.players import through_ffmpeg

from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.ir.graph import Graph, Value, apply
from shadergen.ir.indexing import PAD_MODES
from shadergen.ir.ops import Concat, DepthToSpace
from shadergen.ir.reference import evaluate_graph
from shadergen.passes.fuse_crelu import fuse_crelu
from shadergen.passes.fuse_pointwise import fuse_pointwise
from shadergen.passes.kernel_ops import parts

GL = pytest.mark.gl
# All of them keep 0.
FUNCTIONS = ("relu(x0)", "relu(-x0)", "x0", "abs(x0)", "leaky_relu(x0, 0.2)", "min(x0, 1)")
DESKTOP = {"device": "gles32-desktop"}
BUILDS: dict[str, dict[str, Any]] = {
    "draws": {"device": "gles30"},
    "draws of constants": {"device": "gles30", "weights": "constants"},
    "draws of loops": {"device": "gles30", "weights": "texture"},
    "draws that read a uniform block": {"device": "gles30", "weights": "ubo"},
    "draws of a plane": {"device": "gles30", "mrt": 1},
    "draws by Winograd": {**DESKTOP, "stage": "fragment", "winograd": "2x2"},
    "draws by Winograd in strips": {"device": "gles30", "weights": "texture", "winograd": "4x4"},
    "streams": {"device": "videocore-6"},
    "2D textures": {"device": "gles30", "textures": "2d"},
    "2D textures of constants": {"device": "gles30", "textures": "2d", "weights": "constants"},
    "16 bits": {"device": "gles30", "precision": "fp16"},
    "16 bits of constants": {"device": "gles30", "precision": "fp16", "weights": "constants"},
    "mixed": {"device": "gles31-mobile", "precision": "auto"},
    "dispatches": {"device": "gles31-mobile"},
    "dispatches of loops": {**DESKTOP, "stage": "compute", "weights": "ssbo"},
    "dispatches of constants": {**DESKTOP, "stage": "compute", "weights": "constants"},
    "dispatches by Winograd": {**DESKTOP, "weights": "texture", "winograd": "4x4"},
    "software": {"device": "llvmpipe"},
}


def crelu(x: Value, functions: tuple[str, ...] = FUNCTIONS[:2]) -> Value:
    return apply(Concat(1), *(x if f == "x0" else pointwise(f, x) for f in functions))


def random_graph(seed: int) -> Graph:
    """Return convolutions that read functions of the one before, the last one perhaps of all."""
    rng = np.random.default_rng(seed)

    def pick(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    size = int(rng.integers(3, 8)), int(rng.integers(3, 8))
    x = image(pick(1, 1, 1, 2), pick(1, 3, 4, 8), *size)
    functions = tuple(rng.permutation(FUNCTIONS)[: pick(2, 2, 2, 3)].tolist())
    channels = pick(4, 4, 8, 12)
    y: Value = conv(rng, x, channels, (1, 1))
    joins = []
    for _ in range(pick(1, 2, 2, 3)):
        joins.append(crelu(y, functions))
        every = joins[-1].shape[1]
        groups = pick(*(g for g in (1, 1, 1, 2, every) if channels % g == every % g == 0))
        kernel, pads = pick(((3, 3), (1, 1, 1, 1)), ((3, 2), (2, 1, 0, 0)), ((1, 1), (0, 0, 0, 0)))
        y = conv(
            rng, joins[-1], channels, kernel, bias=pick(True, False), pads=pads, groups=groups,
            pad_mode=pick("constant", "constant", "edge", *PAD_MODES),
        )  # fmt: skip
        if pick(True, False):
            y = pointwise(pick("tanh(x0)", "x0 * 0.5"), y)
    if pick(True, False):
        y = conv(rng, apply(Concat(1), *joins), pick(1, 4, 5), (1, 1))
    if pick(True, False):
        y = conv(rng, y, 4 * pick(1, 3), (3, 3), pads=(1, 1, 1, 1))
        y = apply(DepthToSpace((2, 2), "crd"), y)
    outputs = (y, pick(*joins)) if pick(True, False, False, False, False) else (y,)
    return graph_of(*outputs, inputs=(x,))


def prologues(graph: Graph, **options: Any) -> list[int]:
    """Return the number of formulas in the prologue of each convolution."""
    placed, _, _ = compile_graph(graph, **options)
    return [len(parts(n).prologue) for n in placed.nodes if parts(n).prologue]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("weight_format", "tolerance"), [("float16", 1e-10), ("float32", 1e-5)])
def test_the_pass_keeps_the_meaning_of_random_graphs(seed, weight_format, tolerance):
    """Only 32-bit weights are added, which rounds their sums to 32 bits."""
    graph, asked = random_graph(seed), context(weight_format=weight_format)
    found = fuse_crelu(fuse_pointwise(graph, asked), asked)
    x = np.random.default_rng(seed).normal(size=graph.inputs[0].shape)
    wanted, got = (evaluate_graph(g, {"x": x}) for g in (graph, found))
    for name, values in wanted.items():
        np.testing.assert_allclose(got[name], values, atol=tolerance)


def test_random_graphs_have_such_prologues():
    found = [prologues(random_graph(seed), device="gles30") for seed in range(40)]
    assert sum(bool(n) for n in found) >= 20
    assert {n for numbers in found for n in numbers} == {2, 3}


@GL
@pytest.mark.parametrize("build", BUILDS)
def test_random_graphs_run_like_the_reference(build):
    for seed in range(40, 44):
        assert_runs_like_reference(random_graph(seed), **BUILDS[build])


@GL
@pytest.mark.parametrize("build", BUILDS)
def test_many_channels_run_like_the_reference(build):
    rng = np.random.default_rng(3)
    x = image(1, 16, 9, 10)
    y = conv(rng, x, 16, (3, 3), pads=(1, 1, 1, 1))
    z = conv(rng, crelu(y), 24, (3, 3), pads=(1, 1, 1, 1))
    z = pointwise("relu(x0 + x1)", conv(rng, crelu(z), 16, (3, 3), pads=(1, 1, 1, 1)), y)
    graph = graph_of(z, inputs=(x,))
    assert 2 in prologues(graph, **BUILDS[build])
    assert_runs_like_reference(graph, **BUILDS[build])


def anime(rng: np.random.Generator, x: Value, layers: int, channels: int = 4) -> Value:
    """Return a map computed from the CReLUs of all layers, each of which reads the one before."""
    joins = []
    y = conv(rng, x, channels, (3, 3), pads=(1, 1, 1, 1))
    for _ in range(layers):
        joins.append(crelu(y))
        y = conv(rng, joins[-1], channels, (3, 3), pads=(1, 1, 1, 1))
    return conv(rng, apply(Concat(1), *joins, crelu(y)), 4, (1, 1))


@GL
@pytest.mark.parametrize("build", BUILDS)
def test_a_layer_that_reads_all_layers_runs_like_the_reference(build):
    x = image(1, 3, 6, 7)
    graph = graph_of(anime(np.random.default_rng(5), x, 3), inputs=(x,))
    assert_runs_like_reference(graph, **BUILDS[build])


def test_no_function_is_a_pass_where_every_reader_computes_it():
    x = image(1, 3, 6, 7)
    graph = graph_of(anime(np.random.default_rng(5), x, 3), inputs=(x,))
    fused = fuse_crelu(fuse_pointwise(graph, context()), context())
    each = "prologue+prologue+Conv"
    assert operators(fused) == ["Conv", each, each, each, "Concat", each]


def test_maps_are_not_copied_many_times_for_layers_that_read_all_before():
    rng = np.random.default_rng(5)
    x = image(1, 4, 6, 7)
    joins: list[Value] = []
    y: Value = conv(rng, x, 4, (3, 3))
    for _ in range(6):
        joins.append(crelu(y))
        y = conv(rng, apply(Concat(1), *joins), 4, (1, 1))
    graph = graph_of(y, inputs=(x,))
    assert prologues(graph, device="gles30") == []
    assert prologues(graph, device="gles30", textures="2d") == [2] * 6


@GL
def test_a_map_that_has_no_room_in_planes_is_mapped_before_it_is_read():
    rng = np.random.default_rng(6)
    x = image(1, 4, 1, 5000)
    y = conv(rng, crelu(conv(rng, x, 4, (1, 3))), 4, (1, 3))
    graph = graph_of(y, inputs=(x,))
    placed, _, _ = compile_graph(graph, device="gles30")
    assert operators(placed).count("Concat") == 1
    assert prologues(graph, device="gles30") == []
    assert_runs_like_reference(graph, device="gles30")


def test_relu_of_a_negative_becomes_a_sum_unless_weights_are_rounded():
    rng = np.random.default_rng(10)
    x = image(1, 3, 6, 7)
    y = conv(rng, crelu(conv(rng, x, 4, (1, 1))), 4, (3, 3), pads=(1, 1, 1, 1))
    graph = graph_of(y, inputs=(x,))

    def formulas(**options: Any) -> list[str]:
        placed, _, _ = compile_graph(graph, device="gles30", **options)
        (prologue,) = (p.prologue for n in placed.nodes if (p := parts(n)).prologue)
        return [str(formula) for formula in prologue]

    for options in ({}, {"precision": "fp16"}, {"precision": "auto"}):
        assert formulas(**options) == ["relu(x)", "x"]
    assert formulas(weight_format="float16") == ["relu(x)", "relu(-x)"]


@pytest.mark.parametrize(
    ("functions", "channels", "attributes"),
    [
        (("relu(x0)", "x0 + 1"), 4, {}),  # pads with 0
        (("relu(x0)", "relu(-x0)"), 6, {}),
        (("relu(x0)", "tanh(x0)"), 4, {}),
        (("relu(x0)", "relu(-x0)"), 4, {"pad_value": 0.5}),
        (("relu(x0)", "relu(x0)"), 4, {}),
    ],
)
def test_only_some_functions_are_computed_at_loads(functions, channels, attributes):
    rng = np.random.default_rng(7)
    x = image(1, 3, 6, 7)
    y = crelu(conv(rng, x, channels, (1, 1)), functions)
    y = conv(rng, y, 4, (3, 3), pads=(1, 1, 1, 1), **attributes)
    assert 2 not in prologues(graph_of(y, inputs=(x,)), device="gles30")


@pytest.mark.parametrize("reader", ["an output", "a formula", "an epilogue", "another function"])
def test_functions_that_others_read_are_stored(reader):
    rng = np.random.default_rng(8)
    x = image(1, 3, 6, 7)
    join = crelu(conv(rng, x, 4, (1, 1)))
    y: Value = conv(rng, join, 8, (1, 1))
    outputs: tuple[Value, ...] = (y,)
    if reader == "an output":
        outputs = (y, join)
    elif reader == "a formula":
        outputs = (y, pointwise("tanh(x0)", join))
    elif reader == "an epilogue":
        outputs = (pointwise("x0 * x1", y, join),)
    else:
        (plus, _) = join.node.inputs  # type: ignore[attr-defined]
        outputs = (y, conv(rng, plus, 4, (3, 3)))
    assert prologues(graph_of(*outputs, inputs=(x,)), device="gles30") == []


@GL
@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize(("precision", "tolerance"), [("highp", 1), ("mediump", 3)])
def test_user_shaders_store_the_zeros_around_a_map(stage, precision, tolerance, tmp_path):
    net = Network(1)
    x, joins = net.conv("x", 1, 8, 3, "first"), []
    for k in range(2):
        both = (net.add("Relu", x, name=f"plus{k}"), net.add("Neg", x, name=f"neg{k}"))
        minus = net.add("Relu", both[1], name=f"minus{k}")
        joins.append(net.add("Concat", both[0], minus, name=f"crelu{k}", axis=1))
        x = net.conv(joins[-1], 16, 8, 3, f"conv{k}")
    every = net.add("Concat", *joins, name="all", axis=1)
    net.add("Add", "x", net.conv(every, 32, 1, 3, "last", 0.3), name="sum")
    model = net.model(1)
    shader = tmp_path / "net.glsl"
    options = Options(package="mpv", stage=stage, precision=precision)
    compile_model(save(model, tmp_path), shader, options)
    text = shader.read_text("utf-8")
    assert "padding around" in text
    assert not re.search(r"//!DESC .*(plus|minus)\d$", text, re.MULTILINE)
    frame = np.random.default_rng(4).integers(0, 256, (29, 37, 1), np.uint8)
    got = through_ffmpeg(shader, frame, frame.shape[:2], "gray").reshape(frame.shape)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    picture = np.float32(frame.transpose(2, 0, 1)[None] / 255)
    wanted = np.rint(session.run(None, {"x": picture})[0][0].transpose(1, 2, 0) * 255)
    assert abs(got.astype(int) - wanted).max() <= tolerance


@GL
def test_replaced_zeros_are_those_of_the_functions():
    rng = np.random.default_rng(9)
    x = image(1, 4, 6, 7)
    y = conv(rng, crelu(conv(rng, x, 4, (1, 1))), 4, (3, 3), pads=(1, 1, 1, 1))
    graph = graph_of(y, inputs=(x,))
    options: dict[str, Any] = {"device": "gles30", "zero_guard": 1e-6}
    assert prologues(graph, **options) == []
    _, files, _ = compile_graph(graph, **options)
    values = rng.normal(size=x.shape).astype(np.float32)
    got = play(files, {"x": values})["y0"]
    assert abs(got - evaluate_graph(graph, {"x": values})["y0"]).max() <= 1e-4
