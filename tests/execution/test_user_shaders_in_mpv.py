"""User shaders in mpv's window, compared with ONNX Runtime on the same pictures."""

from __future__ import annotations

import numpy as np
import pytest
from support.picture_networks import anime4k, artcnn, espcn, upscaler
from support.players import MPV, through_mpv
from support.user_shaders import (
    COMPUTE,
    LUMA,
    NETWORKS,
    SIDE_BY_SIDE,
    codes_apart,
    noise,
    reference,
    written,
)

pytestmark = pytest.mark.gl


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize("output", COMPUTE)  # on OpenGL ES, mpv has no textures of 32-bit floats
def test_mpv_reads_weights_from_textures(stage, output, tmp_path):
    model = espcn()
    frame = noise(29, 37, 1)
    shader = written(model, tmp_path, stage=stage, weights="texture")
    shown = through_mpv(shader, frame.squeeze(), output, (58, 74))
    assert codes_apart(shown[..., :1], reference(model, frame / 255)) <= 1


@pytest.mark.parametrize("output", MPV)
def test_mpv_samples_what_is_enlarged_by_two(output, tmp_path):
    model = anime4k()
    frame = noise(29, 37, 3)
    shader = written(model, tmp_path)
    assert "picture_tex(picture_pos)" in shader.read_text()
    shown = through_mpv(shader, frame, output, (58, 74))
    assert codes_apart(shown, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize("output", MPV)
@pytest.mark.parametrize("name", NETWORKS)
def test_mpv_shows_what_onnx_runtime_computes(name, output, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    frame = noise(29, 37, 1 if name == "espcn" else 3)
    size = (29 * scale, 37 * scale)
    shown = through_mpv(written(model, tmp_path), frame.squeeze(), output, size)
    wanted = reference(model, frame / 255)
    assert codes_apart(shown[..., : wanted.shape[2]], wanted) <= 1


@pytest.mark.parametrize("output", COMPUTE)
@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_mpv_runs_compute_passes(name, output, tmp_path):
    make, scale = SIDE_BY_SIDE[name]
    model = make()
    frame = noise(29, 37, 1 if name in LUMA else 3)
    shader = written(model, tmp_path, stage="compute")
    shown = through_mpv(shader, frame.squeeze(), output, (29 * scale, 37 * scale))
    wanted = reference(model, frame / 255)
    assert codes_apart(shown[..., : wanted.shape[2]], wanted) <= 1


def test_mpv_runs_the_shape_of_artcnn_in_8_passes(tmp_path):
    model = artcnn()
    frame = noise(29, 37, 1)
    shader = written(model, tmp_path, stage="compute")
    assert shader.read_text().count("//!HOOK") == 8
    shown = through_mpv(shader, frame.squeeze(), "gpu, OpenGL", (58, 74))
    assert codes_apart(shown[..., :1], reference(model, frame / 255)) <= 1


@pytest.mark.parametrize("output", COMPUTE)
def test_mpv_runs_tiles_of_two_pixels(output, tmp_path):
    model = espcn()
    frame = noise(29, 37, 1)
    shader = written(model, tmp_path, device="mali-bifrost")
    assert "in tiles of 1x2" in shader.read_text()
    shown = through_mpv(shader, frame.squeeze(), output, (58, 74))
    assert codes_apart(shown[..., :1], reference(model, frame / 255)) <= 1


@pytest.mark.parametrize("output", ["gpu, OpenGL", "gpu-next, OpenGL"])
@pytest.mark.parametrize("name", NETWORKS)
def test_mpv_crops_and_rotates_before_or_after(name, output, tmp_path):
    """In either order the picture's borders are the network's."""
    make, scale = NETWORKS[name]
    model = make()
    shader = written(model, tmp_path)
    frame = noise(64, 48, 1 if name == "espcn" else 3)
    whole = reference(model, frame / 255)
    size = (48 * scale, 48 * scale)
    shown = through_mpv(shader, frame.squeeze(), output, size, "--panscan=1")
    cropped = (reference(model, frame[8:56] / 255), whole[8 * scale : 56 * scale])
    assert min(codes_apart(shown[..., : w.shape[2]], w) for w in cropped) <= 1
    size = (48 * scale, 64 * scale)
    shown = through_mpv(shader, frame.squeeze(), output, size, "--video-rotate=90")
    rotated = (reference(model, np.rot90(frame, -1) / 255), np.rot90(whole, -1))
    assert min(codes_apart(shown[..., : w.shape[2]], w) for w in rotated) <= 1


@pytest.mark.parametrize(
    ("stage", "output"), [("fragment", o) for o in MPV] + [("compute", o) for o in COMPUTE]
)
def test_sizes_may_change_while_mpv_plays(stage, output, tmp_path):
    model = upscaler()
    shader = written(model, tmp_path, stage=stage)
    frame, before = noise(29, 37, 3), noise(40, 24, 3)
    wanted = reference(model, frame / 255)
    shown = through_mpv(shader, frame, output, (58, 74), before=before)
    assert codes_apart(shown, wanted) <= 1
    enlarge = 'mp.set_property("window-scale", 2)'  # the upscaler does not run before
    shown = through_mpv(shader, frame, output, (29, 37), then=enlarge)
    assert codes_apart(shown, wanted) <= 1
