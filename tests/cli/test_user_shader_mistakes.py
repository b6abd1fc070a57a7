"""What the command line says of mistakes with user shaders, and before one is played."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx.numpy_helper import from_array
from onnx.parser import parse_model
from support import ESPCN

NETWORKS = Path(ESPCN).parents[1] / "networks"


def test_a_mistyped_target_is_suggested(shadergen, tmp_path):
    ran = shadergen("compile", ESPCN, "--target", "mvp", "-o", tmp_path / "net.glsl")
    assert (ran.code, "Did you mean 'mpv'?" in ran.err) == (2, True)
    assert "Did you mean" not in shadergen("compile", ESPCN, "--target", "x", "-o", "net").err


def test_a_forgotten_output_says_what_it_is(shadergen):
    ran = shadergen("compile", ESPCN, "--target", "mpv")
    assert ran.code == 2
    assert "or with --target mpv a file such as net.glsl." in ran.err


def test_a_build_with_the_name_of_a_user_shader_suggests_the_target(shadergen, tmp_path):
    ran = shadergen("compile", NETWORKS / "upscale" / "upscale.onnx", "-o", tmp_path / "net.glsl")
    assert ran.code == 2
    assert "-o net.glsl names a file, but a build is a folder" in ran.err
    assert "add --target mpv" in ran.err
    assert not any(tmp_path.iterdir())


def test_a_name_without_the_suffix_of_user_shaders_is_noted(shadergen, tmp_path):
    flags = ("--target", "mpv", "--no-validate", "-o")
    note = "other commands of shadergen need the suffix .glsl: -o up.glsl; players do not"
    assert note in shadergen("compile", ESPCN, *flags, tmp_path / "up").out
    assert "need the suffix" not in shadergen("compile", ESPCN, *flags, tmp_path / "up.glsl").out


def test_a_network_whose_output_is_another_picture_is_sent_to_a_build(shadergen, tmp_path):
    network = NETWORKS / "text" / "text.onnx"
    ran = shadergen("compile", network, "--target", "mpv", "-o", tmp_path / "net.glsl")
    assert "the network takes 3 channels and gives 1" in ran.err
    assert "whose result can have any number of channels" in ran.err
    assert "shadergen run" in ran.err
    assert "--outputs" not in ran.err  # no layer has 3 channels and the picture's size


def test_a_layer_with_the_channels_of_the_picture_is_a_place_to_end(shadergen, tmp_path):
    model = parse_model("""
        <ir_version: 8, opset_import: ["": 18]>
        net (float[1,3,H,W] x) => (float[1,1,H,W] y) {
            clean = Conv<pads=[1,1,1,1]>(x, w) y = Conv<pads=[1,1,1,1]>(clean, v)
        }""")
    for name, shape in (("w", (3, 3, 3, 3)), ("v", (1, 3, 3, 3))):
        model.graph.initializer.append(from_array(np.ones(shape, np.float32), name))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    flags = ("--target", "mpv", "-o", tmp_path / "net.glsl")
    ran = shadergen("compile", tmp_path / "net.onnx", *flags)
    assert "or end the network where it has 3 channels: --outputs NAME" in ran.err


def test_notes_state_the_first_start_and_the_frame_after_what_shortens_both(shadergen, tmp_path):
    network = NETWORKS / "denoise" / "denoise.onnx"
    flags = (network, "--target", "mpv", "--no-validate", "-o", tmp_path / "net.glsl")
    notes = shadergen("compile", *flags, "--json").json["notes"]
    hint, start, frame = notes[-3:]
    assert hint.startswith(
        "--device FAMILY, for example --device nvidia, chooses the fastest passes"
    )
    assert start == (
        "1.8 MB of code: the first start takes about 14 s on Mesa's software Vulkan; GPU drivers "
        "differ"
    )
    assert frame.startswith("estimated for pictures of 1080x1920: ")
    assert " ms on Van Gogh (Steam Deck), " in frame
    assert frame.endswith(" ms on GeForce RTX 3060; 24 frames a second leave 42 ms for each frame")


def test_the_frame_is_estimated_for_the_gpus_of_the_device(shadergen, tmp_path):
    flags = ("--target", "mpv", "--no-validate", "-o", tmp_path / "net.glsl", "--json")
    *_, frame = shadergen("compile", ESPCN, *flags, "--device", "adreno-7xx").json["notes"]
    found = shadergen("inspect", ESPCN, "--target", "mpv", "--device", "adreno-7xx", "--json")
    (estimate,) = found.json["estimates"]
    assert f"1080x1920: {estimate['milliseconds']:.3g} ms on Adreno 740" in frame
    notes = shadergen("compile", ESPCN, *flags, "--intermediates", "split").json["notes"]
    assert not [note for note in notes if "estimated" in note]  # split values are not estimated
