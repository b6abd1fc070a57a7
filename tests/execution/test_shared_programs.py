"""Draws that differ in sizes alone share a program: what it computes, and which sizes it reads."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

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
    random_inputs,
)

from shadergen.backends.kernels import sharing
from shadergen.backends.schedule import BuildFiles
from shadergen.backends.shader.rows import ARRAY_LENGTHS
from shadergen.ir.graph import Graph, Value, apply, constant
from shadergen.ir.ops import Pool, Reduce
from shadergen.runtime_glue.python import runner
from shadergen.runtime_glue.python.runner import decode

RNG = np.random.default_rng(0)
PADDED = {"pads": (1, 1, 1, 1)}
pytestmark = pytest.mark.gl


@pytest.fixture
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "FEW_PROGRAMS", 0)


def depthwise(x: Value, size: int, layer: str) -> Value:
    channels, pads = x.shape[1], (size // 2,) * 4
    return conv(RNG, x, channels, (size, size), layer, groups=channels, pads=pads)


def network(pad_mode: str = "constant") -> Graph:
    """Return convolutions of several sizes: dense, strided, of activated inputs, depthwise."""
    x = image(1, 3, 13, 11)
    border = PADDED | {"pad_mode": pad_mode}
    y = conv(RNG, x, 16, (3, 3), "first", **border)
    for k, channels in enumerate((32, 48, 13)):
        y = conv(RNG, y, channels, (3, 3), f"dense{k}", **border)
    for k, size in enumerate((3, 5, 7)):
        y = depthwise(y, size, f"depthwise{k}")
        y = conv(RNG, y, (17, 9, 12)[k], (1, 1), f"between{k}")
    for k, channels in enumerate((20, 8)):
        y = pointwise("relu(x0 * x1 + 0.25)", y, scale(y))
        y = conv(RNG, y, channels, (1, 1), f"activated{k}")
    for k in range(2):
        y = conv(RNG, y, 16 + 16 * k, (3, 3), f"strided{k}", strides=(2, 2), **PADDED)
    return graph_of(y, inputs=(x,))


def scale(y: Value) -> Value:
    return constant(RNG.normal(size=(1, y.shape[1], 1, 1)), "scale")


def users_of(files: BuildFiles) -> dict[str, list[dict[str, Any]]]:
    """Return the passes of each shader."""
    users = defaultdict(list)
    for entry in files.schedule["passes"]:
        users[entry["shader"]].append(entry)
    return users


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize(
    "options",
    [
        {"weights": "ubo"},
        {"weights": "texture", "textures": "array"},
        {"weights": "texture", "textures": "stacked"},
        {"weights": "texture", "textures": "array", "device": "webgl2-min"},
        {"weights": "ubo", "device": "webgl2-min", "mrt": 1},
        {"weights": "texture", "weight_format": "float16", "textures": "array"},
        {"weights": "texture", "weight_format": "int8", "mrt": 1},
        {"weights": "ubo", "precision": "mediump"},
        {"weights": "texture", "device": "gles32-desktop", "stage": "fragment", "mrt": 1},
        {"weights": "texture", "winograd": "2x2", "mrt": 1},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_layers_that_differ_in_sizes_share_programs_and_compute_the_same(options, monkeypatch):
    graph = network()
    _, shared, _ = compile_graph(graph, **options)
    monkeypatch.setattr(sharing, "FEW_PROGRAMS", 1000)
    _, apart, _ = compile_graph(graph, **options)
    assert len(shared.shaders) < len(apart.shaders)
    inputs = random_inputs(graph, np.random.default_rng(0))
    want, got = (play(files, inputs)["y0"] for files in (apart, shared))
    # equal but for the order in which a compiler of loops adds products up
    largest = max(1.0, float(np.abs(want).max()))
    assert np.abs(got - want).max() <= 1e-5 * largest


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("pad_mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("weights", ["ubo", "texture"])
def test_shared_programs_compute_the_reference(pad_mode, weights):
    assert_runs_like_reference(network(pad_mode), weights=weights)


@pytest.mark.usefixtures("_always")
def test_software_rasterisers_keep_sizes_as_numbers():
    """Their frames take longer with sizes in uniforms."""

    def uniforms(device: str) -> set[str]:
        options = {"device": device, "weights": "texture", "textures": "array"}
        _, files, _ = compile_graph(network(), stage="fragment", **options)
        return {u["name"] for p in files.schedule["passes"] for u in p.get("uniforms", ())}

    assert "u_planes_in" in uniforms("webgl2-min")
    assert "u_planes_in" not in uniforms("swiftshader") | uniforms("llvmpipe")


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize(
    "options",
    [{"weights": "ubo", "mrt": 1}, {"weights": "texture", "textures": "stacked"}],
    ids=["one plane", "stacked planes"],
)
def test_depthwise_kernels_of_several_sizes_are_one_program(options):
    _, files, _ = compile_graph(network(), **options)
    layers = [{n for p in passes for n in p["layers"]} for passes in users_of(files).values()]
    assert any({"depthwise0", "depthwise1"} <= names for names in layers)


@pytest.mark.parametrize(
    "options",
    [
        *({"textures": "array", "stage": "fragment", "mrt": n} for n in (1, 2, 3)),
        {"device": "gles31-mobile", "stage": "compute"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_unused_lanes_are_zero_whichever_pass_writes_them(options, monkeypatch):
    """An application reads the texture of an output as it is; exp of an unused lane is 1."""
    stored = []

    def keep(texels: Any, port: Any, texture: Any) -> Any:
        stored.append(texels)
        return decode(texels, port, texture)

    monkeypatch.setattr(runner, "decode", keep)
    x = image(1, 7, 6, 5)
    y = pointwise("exp(x0)", conv(RNG, x, 22, (1, 1), "layer"))
    graph = graph_of(y, inputs=(x,))
    assert_runs_like_reference(graph, weights="texture", **options)
    lanes = stored[0].reshape(6, -1, 4)
    assert (lanes[:5] > 0).all()
    assert (lanes[5, :, :2] > 0).all()
    assert not lanes[5, :, 2:].any()


@pytest.mark.parametrize("textures", ["array", "stacked"])
def test_unused_lanes_of_stored_maps_are_zero(textures):
    """The logarithm of an unused lane is infinite: the next layer would multiply it by 0."""
    x = image(1, 7, 6, 5)
    y = pointwise("log(abs(x0))", conv(RNG, x, 22, (1, 1), "layer"))
    y = conv(RNG, apply(Pool("average", (2, 2)), y), 6, (1, 1), "next")
    graph = graph_of(y, inputs=(x,))
    assert_runs_like_reference(graph, weights="texture", textures=textures)


@pytest.mark.usefixtures("_always")
def test_only_sizes_that_differ_are_uniforms():
    """The maps of the dense layers have one size, so that stays a number."""
    _, files, _ = compile_graph(network(), weights="texture", textures="array")
    dense = next(
        passes
        for passes in users_of(files).values()
        if {"dense0"} <= {n for p in passes for n in p["layers"]}
    )
    assert {n for p in dense for n in p["layers"]} == {"dense0", "dense1"}
    names = {u["name"] for p in dense for u in p["uniforms"]}
    assert "u_planes_in" in names
    assert "u_width_in" not in names


def test_small_networks_keep_their_numbers():
    x = image(1, 16, 9, 9)
    y = conv(RNG, conv(RNG, x, 32, (3, 3), **PADDED), 16, (3, 3), "next", **PADDED)
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), weights="texture")
    names = {u["name"] for p in files.schedule["passes"] for u in p["uniforms"]}
    assert names <= {"u_plane"}
    assert len(users_of(files)) == 2


@pytest.mark.usefixtures("_always")
def test_weights_in_uniform_blocks_fit_the_devices():
    """Blocks of shared programs are longer than their weights, never than the device's limit."""
    _, files, _ = compile_graph(network(), weights="ubo", device="gles30-min")
    sizes = {b["size"] for b in files.schedule["buffers"]}
    assert max(sizes) <= 16384
    assert sizes & {n * 16 for n in ARRAY_LENGTHS}


def mean(size: int) -> Graph:
    """Return the mean of a map of so many rows and columns."""
    x = image(1, 16, size, size)
    return graph_of(apply(Reduce("mean", (2, 3)), x, layer="mean"), inputs=(x,))


@pytest.mark.parametrize("size", [7, 9, 40])
@pytest.mark.parametrize("device", ["gles30", "gles31-mobile", "webgl2-min"])
def test_loops_that_drivers_would_unroll_compute_the_reference(device, size):
    assert_runs_like_reference(mean(size), device=device, stage="fragment")


def test_draws_end_the_loops_that_drivers_would_unroll_at_uniforms():
    """Unrolled, a mean of 7x7 spills registers; short loops and long ones stay as they are."""

    def ends(size: int, **options: Any) -> set[str]:
        _, files, _ = compile_graph(mean(size), **options)
        names = {u["name"] for p in files.schedule["passes"] for u in p["uniforms"]}
        return {name for name in names if name.endswith("_end")}

    both = {"u_source_row_end", "u_source_column_end"}
    assert ends(7, device="gles30") == both
    assert not ends(2, device="gles30")
    assert not ends(40, device="gles30")
    assert not ends(7, device="swiftshader")
    assert not ends(7, device="gles31-mobile", stage="compute")


def test_a_loop_costs_the_same_whether_it_ends_at_a_number_or_a_uniform():
    def work(device: str) -> dict[str, Any]:
        _, files, _ = compile_graph(mean(7), device=device, stage="fragment", fetch="texel")
        (entry,) = files.schedule["passes"]
        return dict(entry["work"])

    assert work("gles30") == work("swiftshader")
    assert work("gles30")["operations"] >= 7 * 7 * 16


def excitation(size: int) -> Graph:
    """Return convolutions of one and of four input planes, as in squeeze and excitation."""
    x = image(1, 4, size, size)
    y = conv(RNG, x, 16, (1, 1), "straight")
    return graph_of(conv(RNG, y, 16, (1, 1), "loop"), inputs=(x,))


def depths(size: int, **options: Any) -> list[int]:
    """Return where the loops over input planes end that end at uniforms."""
    _, files, _ = compile_graph(excitation(size), **({"weights": "ubo"} | options))
    uniforms = (u for p in files.schedule["passes"] for u in p["uniforms"])
    return [u["value"][0] for u in uniforms if u["name"] == "u_planes_in"]


def test_draws_of_one_pixel_end_loops_over_weights_in_blocks_at_uniforms():
    """In straight code, they compile three times as long on llvmpipe."""
    assert depths(1, device="gles30", mrt=4) == [1, 4]
    assert depths(1, device="gles30", mrt=2) == [4] * 2, "8 rows stand in straight code"
    assert not depths(2, device="gles30", mrt=4)
    assert not depths(1, device="gles30", mrt=4, weights="texture")
    assert not depths(1, device="swiftshader", stage="fragment", mrt=4)


@pytest.mark.parametrize("device", ["gles30", "gles31-mobile", "webgl2-min"])
def test_draws_of_one_pixel_compute_the_reference(device):
    assert_runs_like_reference(excitation(1), device=device, stage="fragment", weights="ubo")


def looped(channels: int, kernel: tuple[int, int], **options: Any) -> dict[str, int]:
    """Return the uniforms at which the loops over taps of a convolution's draws end."""
    x = image(1, channels, 24, 26)
    y = conv(RNG, x, 4, kernel, "layer", pads=(kernel[0] // 2, kernel[1] // 2) * 2)
    made: dict[str, Any] = {
        "device": "gles30",
        "weights": "texture",
        "mrt": 4,
        "winograd": "off",
    } | options
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), **made)
    uniforms = (u for p in files.schedule["passes"] for u in p["uniforms"])
    found = ((u["name"].removeprefix("u_"), u["value"][0]) for u in uniforms)
    return {name: end for name, end in found if name.startswith("kernel_")}


def test_draws_that_would_spill_if_unrolled_end_the_inner_loop_over_taps_at_a_uniform():
    """Mali's compilers unroll both loops, and load the vectors of all steps first."""
    assert looped(16, (3, 3)) == {"kernel_width": 3}
    assert looped(16, (3, 1)) == {"kernel_height": 3}
    assert looped(16, (1, 3)) == {"kernel_width": 3}
    assert not looped(16, (1, 1)), "there is no loop over taps"
    assert not looped(4, (3, 3)), "there is no loop over input planes"
    assert not looped(64, (3, 3)), "the loop over planes is too long to be unrolled"


@pytest.mark.parametrize("device", ["swiftshader", "llvmpipe"])
def test_software_rasterisers_end_loops_at_numbers(device):
    assert not looped(16, (3, 3), device=device, stage="fragment")


@pytest.mark.parametrize("pad_mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("channels", [12, 16, 24])
def test_draws_whose_loops_end_at_uniforms_compute_the_reference(channels, pad_mode):
    x = image(1, channels, 24, 26)
    y = conv(RNG, x, 8, (3, 3), "layer", pad_mode=pad_mode, **PADDED)
    for mrt in (1, 4):
        assert_runs_like_reference(graph_of(y, inputs=(x,)), weights="texture", mrt=mrt)


def grouped(groups: int) -> Graph:
    """Return grouped convolutions: draws within a group, and draws across groups."""
    x = image(1, 8 * groups, 5, 6)
    y = conv(RNG, x, 20 * groups, (1, 1), "wide", groups=groups)
    y = conv(RNG, y, 10 * groups, (3, 3), "narrow", groups=groups, **PADDED)
    return graph_of(pointwise("relu(x0 + x1)", y, scale(y)), inputs=(x,))


@pytest.mark.parametrize(
    "options",
    [
        {"device": "gles30"},
        {"device": "gles30", "mrt": 1},
        {"device": "gles30", "mrt": 4},
        {"device": "gles30", "precision": "mediump", "mrt": 2},
        {"device": "webgl2-min", "weights": "ubo", "mrt": 2},
        {"device": "gles31-mobile", "stage": "fragment", "weights": "texture"},
        {"device": "llvmpipe", "stage": "fragment", "weights": "texture"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
@pytest.mark.parametrize("groups", [2, 3, 5])
def test_draws_of_grouped_convolutions_compute_the_reference(groups, options):
    assert_runs_like_reference(grouped(groups), **({"weights": "texture"} | options))


def test_draws_within_the_groups_of_a_convolution_share_a_program():
    x = image(2, 24, 5, 6)
    y = conv(RNG, x, 96, (3, 3), "grouped", groups=3, **PADDED)
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), device="gles30", weights="texture", mrt=4)
    ((shader, passes),) = users_of(files).items()
    first = [{u["name"]: u["value"] for u in p["uniforms"]} for p in passes]
    # Added to a counter from 0, the first plane costs VideoCore VI 365 spilled registers in
    # ShuffleNet v1.
    assert "for (int input_plane = u_input_plane; " in files.shaders[shader]
    assert [u["u_input_plane"][0] for u in first] == [0, 0, 2, 2, 4, 4] * 2
    assert not any("u_plane" in u for u in first)  # the weights of other planes are bound instead
