"""User shaders that mix the picture into the network's result, in players."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx import helper
from support import refusal
from support.picture_networks import Network, denoiser, halved
from support.players import MPV, through_mpv
from support.user_shaders import codes_apart, noise, reference, through_filter, written

if TYPE_CHECKING:
    from onnx import ModelProto

pytestmark = pytest.mark.gl


def mixed(model: ModelProto, frame: np.ndarray, share: float) -> np.ndarray:
    """Return a share of what ONNX Runtime computes of a frame, and the frame for the rest."""
    return share * reference(model, frame / 255) + (1 - share) * frame / 255


def test_ffmpeg_shows_a_share_of_the_network(tmp_path):
    model, frame = denoiser(), noise(29, 37, 3)
    shader = written(model, tmp_path, strength=0.25)
    assert codes_apart(through_filter(shader, frame, 1), mixed(model, frame, 0.25)) <= 1
    text = shader.read_text()
    assert text.count("#define strength 0.25\n") == 1
    shader.write_text(text.replace("strength 0.25", "strength 0.75"))  # as a user edits it
    assert codes_apart(through_filter(shader, frame, 1), mixed(model, frame, 0.75)) <= 1


@pytest.mark.parametrize("output", ["gpu, OpenGL", "gpu-next, OpenGL"])
def test_mpv_shows_a_share_of_the_network(output, tmp_path):
    model, frame = denoiser(), noise(29, 37, 3)
    shown = through_mpv(written(model, tmp_path, strength=0.25), frame, output, (29, 37))
    assert codes_apart(shown, mixed(model, frame, 0.25)) <= 1


@pytest.mark.parametrize("stage", ["fragment", "compute"])
def test_a_network_that_halves_and_doubles_mixes_with_the_picture(stage, tmp_path):
    model = halved()
    shader = written(model, tmp_path, strength=0.5, stage=stage)
    frame = noise(28, 36, 3)
    wanted = (reference(model, frame / 255) + frame / 255) / 2
    assert codes_apart(through_filter(shader, frame, 1), wanted) <= 1


@pytest.mark.parametrize("output", [output for output in MPV if "next" not in output])
def test_a_live_strength_has_its_initial_value_where_players_have_no_parameters(output, tmp_path):
    model, frame = denoiser(), noise(29, 37, 3)
    shader = written(model, tmp_path, strength=0.25, live_strength=True)
    shown = through_mpv(shader, frame, output, (29, 37))
    assert codes_apart(shown, mixed(model, frame, 0.25)) <= 1


def test_a_pass_that_stores_a_pixel_shuffle_cannot_mix_in_the_picture(tmp_path):
    net = Network(1)
    net.conv("x", 1, 8, 3, "half")
    net.nodes[-1].attribute.append(helper.make_attribute("strides", [2, 2]))
    net.add("DepthToSpace", net.conv("half", 8, 4, 3, "last"), name="whole", blocksize=2)
    model, given = net.model(1), {"stage": "compute", "strength": 0.25}
    error = refusal(lambda: written(model, tmp_path, **given))
    assert (error.code, error.what) == ("SG0301", "--strength is not supported")
    assert error.help == "use --stage fragment, or --disable-pass fuse_stores"
    frame = noise(28, 36, 1)
    shader = written(model, tmp_path, **given, disable_pass=("fuse_stores",))
    assert codes_apart(through_filter(shader, frame, 1), mixed(model, frame, 0.25)) <= 1
