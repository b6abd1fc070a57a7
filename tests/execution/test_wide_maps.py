"""Maps of more planes than an array texture has layers: what is split, and that it computes."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image, pointwise
from support.pass_support import assert_equal, context, operators

from shadergen import passes
from shadergen.backends.devices import DEVICES
from shadergen.ir.graph import Value, apply, constant
from shadergen.ir.ops import Concat, Pad, Pool, Reduce, Slice, Softmax
from shadergen.passes.kernel_ops import parts
from shadergen.passes.placement.kinds import has_weights
from shadergen.passes.split_wide_maps import split_wide_maps

RNG = np.random.default_rng(0)
LAYERS = 4  # hold 16 channels
X = image(1, 8, 6, 5)
WIDE = image(1, 40, 6, 5, name="wide")
SAME = {"pads": (1, 1, 1, 1)}


@pytest.fixture(params=["gles30", "gles31-mobile"])
def device(request, tmp_path, monkeypatch):
    """Return a profile whose array textures have few layers, for maps as small as here."""
    monkeypatch.setattr(passes.split_wide_maps, "WORTH_A_DRAW", 0)
    profile = DEVICES[request.param]
    limits = asdict(replace(profile.limits, array_texture_layers=LAYERS))
    path = tmp_path / "few_layers.json"
    path.write_text(json.dumps({"limits": limits, "glsl": profile.glsl, "fetch": "texel"}))
    return str(path)


def expanded(x: Value, channels: int = 40, kernel: int = 1, **attributes) -> Value:
    return conv(RNG, x, channels, (kernel, kernel), "expand", **attributes)


def projected(x: Value, **attributes) -> Value:
    return conv(RNG, x, 8, (1, 1), "project", **attributes)


def depthwise(x: Value) -> Value:
    return conv(RNG, x, x.shape[1], (3, 3), "depthwise", groups=x.shape[1], **SAME)


def gated(x: Value) -> Value:
    mean = apply(Reduce("mean", (2, 3)), x, layer="mean")
    gate = conv(RNG, projected(mean), x.shape[1], (1, 1), "gate")
    return pointwise("x0 * sigmoid(x1)", x, gate, layer="gated")


def per_channel(*shape: int) -> Value:
    return constant(RNG.normal(size=shape), "scale")


def pooled(x: Value) -> Value:
    return apply(Pad((0, 0, 1, 0), (0, 0, 0, 1)), apply(Pool("max", (2, 2)), x))


def scaled(x: Value) -> Value:
    constants = per_channel(1, 40, 1, 1), per_channel(40, 1, 1), per_channel(6, 5)
    return pointwise("tanh(x0 * x1) * x2 + x3", x, *constants)


def joined(*widths: int) -> Value:
    return apply(Concat(1), *(conv(RNG, X, n, (1, 1), f"part{n}") for n in widths))


def residual() -> Value:
    return pointwise("max(x0 + x1, 0)", expanded(X), expanded(X, kernel=3, **SAME))


CHAINS = {
    "dense": lambda: projected(expanded(X, kernel=3, **SAME)),
    "residual": lambda: projected(residual()),
    "inverted bottleneck": lambda: projected(depthwise(pointwise("clamp(x0, 0, 6)", expanded(X)))),
    "gate": lambda: projected(gated(depthwise(expanded(X)))),
    "constants": lambda: projected(scaled(expanded(X))),
    "pool and pad": lambda: projected(pooled(expanded(X))),
    "groups": lambda: projected(conv(RNG, expanded(X, 42), 42, (3, 3), groups=6, **SAME)),
    "more channels in each group": lambda: projected(conv(RNG, X, 40, (3, 3), groups=8)),
    "fewer channels in each group": lambda: conv(RNG, expanded(X), 20, (3, 3), groups=20),
    "input": lambda: projected(WIDE),
    "many channels to many": lambda: expanded(expanded(X), 37, 3, **SAME),
    "joined by the model": lambda: projected(joined(5, 9, 6, 13)),
    "joined by the model, then through a window": lambda: projected(depthwise(joined(5, 9, 6, 13))),
    "joined twice": lambda: projected(apply(Concat(1), expanded(X), joined(7, 8))),
}


@pytest.mark.parametrize("name", CHAINS)
def test_convolutions_of_wide_maps_read_and_write_planes(name, device):
    graph = graph_of(CHAINS[name](), inputs=(X, WIDE))
    placed, _, _ = compile_graph(graph, device=device)
    convolutions = [n for n in placed.nodes if "Conv" in type(parts(n).kernel).__name__]
    assert convolutions
    assert all(map(has_weights, convolutions)), [str(n.op) for n in placed.nodes]
    assert_runs_like_reference(graph, device=device)


def test_maps_that_the_model_joins_of_many_are_still_read():
    """A convolution or a Concat reads at most 16 textures in one pass."""
    x = image(1, 1000, 4, 4)
    y: Value = x
    for k in range(24):
        y = apply(Concat(1), y, conv(RNG, x, 6, (1, 1), f"grown{k}"))
        y = pointwise("max(x0 * 0.5, 0)", y)
    graph = graph_of(y, inputs=(x,))
    assert split_wide_maps(graph, context(device="gles30")) is graph
    compile_graph(graph, device="gles30")


@pytest.mark.parametrize("channels", [16, 9])
def test_groups_that_fill_too_many_pieces_stay_whole(channels, device):
    """Twenty groups of nine channels would be twenty pieces."""
    x = image(1, 20, 3, 3)
    graph = graph_of(conv(RNG, x, 20 * channels, (1, 1), groups=20), inputs=(x,))
    compile_graph(graph, device=device)


@pytest.mark.parametrize("batch", [2, 3])
def test_pieces_of_a_batch_have_room_for_all_its_entries(batch, device):
    x = image(batch, 4, 5, 4)
    y = conv(RNG, depthwise(expanded(x, 24)), 4, (1, 1))
    graph = graph_of(y, inputs=(x,))
    placed, _, _ = compile_graph(graph, device=device)
    assert all(r.type.in_planes for n in placed.nodes for r in n.results)
    assert_runs_like_reference(graph, device=device)


def test_what_is_not_computed_channel_by_channel_reads_the_whole_map(device):
    y = expanded(X)
    softmax = apply(Softmax((1,)), y)
    reversed_channels = apply(Slice((0, 39, 0, 0), (1, -1, 1, 1), (1, 40, 6, 5)), y)
    cropped = apply(Slice((0, 0, 1, 1), (1, 1, 1, 1), (1, 40, 3, 3)), y)
    by_position = apply(Pad((0, 3, 0, 0), (0, 0, 0, 0)), y)
    graph = graph_of(y, softmax, reversed_channels, cropped, by_position, inputs=(X,))
    assert_runs_like_reference(graph, device=device)


@pytest.mark.parametrize("precision", ["mediump", "auto"])
def test_pieces_are_computed_in_16_bits(precision, device):
    graph = graph_of(projected(gated(expanded(X))), inputs=(X,))
    assert_runs_like_reference(graph, device=device, precision=precision)


def test_the_pieces_equal_the_whole(device):
    """Without a GPU, so that it fails where the rewriting is wrong and not a kernel."""
    for chain in CHAINS.values():
        graph = graph_of(chain(), inputs=(X, WIDE))
        split = split_wide_maps(graph, context(device=device))
        assert_equal(graph, split)
        assert split_wide_maps(split, context(device=device)) is split


def test_maps_that_fit_stay_whole():
    graph = graph_of(CHAINS["gate"](), inputs=(X,))
    assert split_wide_maps(graph, context(device="gles30")) is graph
    assert "Concat" not in operators(graph)


@pytest.mark.parametrize("device", ["gles31-mobile"], indirect=True)
@pytest.mark.parametrize("stage", ["fragment", "compute"])
def test_draws_must_be_worth_their_start(stage, device, monkeypatch):
    """Forty channels are ten planes, which take three draws of four planes."""
    x = image(1, 8, 50, 40)
    graph = graph_of(expanded(x, kernel=3, **SAME), inputs=(x,))
    draws, multiply_adds = 3, 50 * 40 * 40 * 8 * 9
    for least, is_split in ((multiply_adds // draws, True), (multiply_adds // draws + 1, False)):
        monkeypatch.setattr(passes.split_wide_maps, "WORTH_A_DRAW", least)
        split = split_wide_maps(graph, context(device=device, stage=stage))
        assert (split is not graph) == (is_split or stage == "compute")


def test_where_each_plane_is_a_texture_there_are_no_layers(device):
    graph = graph_of(CHAINS["dense"](), inputs=(X,))
    assert split_wide_maps(graph, context(device=device, textures="2d")) is graph
