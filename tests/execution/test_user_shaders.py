"""User shaders in FFmpeg's filter, compared with ONNX Runtime on the same pictures."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support import ESPCN
from support.picture_networks import (
    Network,
    anime4k,
    artcnn,
    cunny,
    denoiser,
    enlarged_features,
    espcn,
    fsrcnnx,
    gated,
    grouped,
    padded,
    residual,
    shuffled,
    transposed,
    unet,
    unshuffled,
    wide,
)
from support.random_picture_networks import random_network
from support.user_shaders import (
    LUMA,
    NETWORKS,
    NOTHING,
    SIDE_BY_SIDE,
    SIZES,
    STORED,
    TOLERANCE_16,
    codes_apart,
    noise,
    reference,
    through_filter,
    written,
)

from shadergen.compiler.compilation import import_model
from shadergen.compiler.options import Options
from shadergen.ir.reference import evaluate_graph

pytestmark = pytest.mark.gl
# How many random networks are played: RANDOM_NETWORKS=100 takes ten minutes.
RANDOM = int(os.environ.get("RANDOM_NETWORKS", "6"))
# Two planes a pass, or four; zeros and copies of the border around results; residuals; three
# planes; stores of a pixel shuffle.
TILED = (
    (artcnn, 1, 2, "mali-bifrost"),
    (artcnn, 1, 2, "amd-rdna"),
    (fsrcnnx, 1, 2, "amd-rdna"),
    (denoiser, 3, 1, "amd-rdna"),
)


@pytest.mark.parametrize("name", NETWORKS)
def test_ffmpeg_shows_what_onnx_runtime_computes(name, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    shader = written(model, tmp_path)
    channels = 1 if name == "espcn" else 3
    for size in SIZES:
        frame = noise(*size, channels)
        got = through_filter(shader, frame, scale)
        assert codes_apart(got, reference(model, frame / 255)) <= 1, size


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_ffmpeg_runs_compute_passes(name, tmp_path):
    make, scale = SIDE_BY_SIDE[name]
    model = make()
    shader = written(model, tmp_path, stage="compute")
    for size in SIZES:
        frame = noise(*size, 1 if name in LUMA else 3)
        got = through_filter(shader, frame, scale)
        assert codes_apart(got, reference(model, frame / 255)) <= 1, size


@pytest.mark.parametrize("device", ["adreno-7xx", "amd-rdna"])
def test_ffmpeg_runs_what_a_family_of_gpus_takes(device, tmp_path):
    """Layers of one, two, three and four planes a pass, beside each other."""
    net = Network(1)
    x = net.add("Relu", net.conv("x", 1, 16, 3, "conv1"), name="relu1")
    x = net.add("Relu", net.conv(x, 16, 32, 3, "conv2"), name="relu2")
    net.conv(net.add("Relu", net.conv(x, 32, 24, 3, "conv3"), name="relu3"), 24, 1, 3, "conv4")
    model = net.model(1)
    shader = written(model, tmp_path, device=device)
    frame = noise(29, 37, 1)
    got = through_filter(shader, frame, 1)
    assert codes_apart(got, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize(("make", "channels", "scale", "device"), TILED)
def test_ffmpeg_runs_tiles_of_two_pixels(make, channels, scale, device, tmp_path):
    """At odd and even widths, and narrower than a tile."""
    model = make()
    shader = written(model, tmp_path, device=device)
    assert "in tiles of 1x2" in shader.read_text()
    for size in ((4, 6), (3, 1)):
        frame = noise(*size, channels)
        got = through_filter(shader, frame, scale)
        assert codes_apart(got, reference(model, frame / 255)) <= 1, size
    frame = noise(29, 37, channels, np.uint16)
    got = through_filter(shader, frame, scale)
    assert abs(got / 65535 - reference(model, frame / 65535)).max() <= TOLERANCE_16


def test_tiles_of_two_pixels_keep_22_digits(tmp_path):
    model = espcn()
    shader = written(model, tmp_path, device="amd-rdna", intermediates="split")
    assert "in tiles of 1x2" in shader.read_text()
    frame = noise(29, 37, 1, np.uint16)
    got = through_filter(shader, frame, 2)
    assert abs(got / 65535 - reference(model, frame / 65535)).max() <= STORED[1]


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize(
    ("make", "channels", "scale", "size"),
    [
        (transposed, 1, 3, (29, 37)),
        (grouped, 3, 1, (29, 37)),
        (gated, 1, 1, (29, 37)),
        (unshuffled, 1, 1, (30, 38)),
        (padded, 1, 1, (29, 37)),
        (padded, 1, 1, (1, 3)),
        (fsrcnnx, 1, 2, (29, 37)),
        (anime4k, 3, 2, (29, 37)),
        (cunny, 1, 2, (29, 37)),
        (residual, 3, 1, (29, 37)),
    ],
)
def test_layers_of_many_kinds(make, channels, scale, size, stage, tmp_path):
    model = make()
    frame = noise(*size, channels)
    got = through_filter(written(model, tmp_path, stage=stage), frame, scale)
    assert codes_apart(got, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize(
    ("stage", "channels", "mode"),
    [("fragment", 240, "CRD"), ("compute", 256, "CRD"), ("compute", 256, "DCR")],
)
def test_a_pass_of_a_pixel_shuffle_binds_the_planes_that_it_reads(stage, channels, mode, tmp_path):
    model = shuffled(channels, mode)
    frame = noise(9, 13, 3)
    got = through_filter(written(model, tmp_path, stage=stage), frame, 2)
    assert codes_apart(got, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize(("precision", "tolerance"), [("highp", 1), ("mediump", 3)])
@pytest.mark.parametrize("stage", ["fragment", "compute"])
def test_ffmpeg_reads_weights_from_textures(stage, precision, tolerance, tmp_path):
    model = espcn()
    shader = written(model, tmp_path, stage=stage, weights="texture", precision=precision)
    assert "//!TEXTURE" in shader.read_text()
    frame = noise(29, 37, 1)
    got = through_filter(shader, frame, 2)
    assert codes_apart(got, reference(model, frame / 255)) <= tolerance


def test_a_layer_too_large_for_constants_runs_in_ffmpeg(tmp_path):
    """It took players minutes to compile 9216 constants in one pass."""
    model = wide(size=3)
    shader = written(model, tmp_path, stage="compute")
    assert "//!TEXTURE" in shader.read_text()
    frame = noise(29, 37, 1)
    got = through_filter(shader, frame, 2)
    assert codes_apart(got, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize(
    ("channels", "splits"), [(3, False), (8, False), (8, True)], ids=["halo", "planes", "half"]
)
def test_layers_that_are_enlarged_are_not_sampled(channels, splits, stage, tmp_path):
    model = enlarged_features(channels, splits)
    shader = written(model, tmp_path, stage=stage)
    frame = noise(20, 24, 3)
    assert codes_apart(through_filter(shader, frame, 2), reference(model, frame / 255)) <= 1


def test_the_shipped_network_runs_in_ffmpeg(tmp_path):
    """It replicates the border, and its layers were trained."""
    frame = noise(29, 37, 1)
    graph = import_model(ESPCN, Options(input_size={"": (29, 37)}))
    given = {graph.inputs[0].name: frame.transpose(2, 0, 1)[None] / 255}
    (wanted,) = evaluate_graph(graph, given).values()
    got = through_filter(written(ESPCN, tmp_path), frame, 2)
    assert codes_apart(got, wanted[0].transpose(1, 2, 0).clip(0, 1)) <= 1


def test_a_restorer_that_halves_runs_at_even_sizes_only(tmp_path):
    """The build needs even sizes, since its resize does; at others the picture stays as it is."""
    model = unet()
    shader = written(model, tmp_path)
    even, odd = noise(48, 64, 1), noise(29, 37, 1)
    got = through_filter(shader, even, 1)
    assert codes_apart(got, reference(model, even / 255)) <= 1
    assert (through_filter(shader, odd, 1) == odd).all()


def test_an_upscaler_runs_from_the_threshold_on(tmp_path):
    frame = noise(20, 30, 1)
    plain = tmp_path / "none.glsl"
    plain.write_text(NOTHING)

    def runs(shader: Path, scale: float) -> bool:
        without = through_filter(plain, frame, scale)
        return bool((through_filter(shader, frame, scale) != without).any())

    usual = written(espcn(), tmp_path)
    assert [runs(usual, scale) for scale in (1, 1.2, 1.3)] == [False, False, True]
    later = written(espcn(), tmp_path, upscale_from=1.5)
    assert [runs(later, scale) for scale in (1.3, 1.6)] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RANDOM))
def test_ffmpeg_shows_what_random_networks_compute(seed, tmp_path):
    model, channels, scale = random_network(seed)
    shader = written(model, tmp_path, stage=("fragment", "compute")[seed % 2])
    height, width = SIZES[seed % len(SIZES)]
    frame = noise(height, width, channels, np.uint16)
    got = through_filter(shader, frame, scale)
    assert abs(got / 65535 - reference(model, frame / 65535)).max() <= TOLERANCE_16
    frame = noise(height, width, channels)
    assert codes_apart(through_filter(shader, frame, scale), reference(model, frame / 255)) <= 1
