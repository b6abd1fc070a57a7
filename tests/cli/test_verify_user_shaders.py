"""``verify --build net.glsl``: user shaders in FFmpeg, compared with a reference."""

from __future__ import annotations

import re

import numpy as np
import pytest
from onnx.parser import parse_model
from PIL import Image
from support import ESPCN
from support.picture_networks import affine, chroma_from_luma, denoiser, espcn, save, unshuffled
from support.players import filters, require

from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options

TWO_INPUTS = """
    <ir_version: 8, opset_import: ["": 18]>
    net (float[1,3,H,W] a, float[1,3,H,W] b) => (float[1,3,H,W] y) { y = Add(a, b) }
"""
NUMPY = ("--reference", "numpy")


@pytest.fixture
def ffmpeg():
    require("ffmpeg")
    if "libplacebo" not in filters():
        pytest.skip("this FFmpeg has no libplacebo filter")


def compiled(model, folder, **options):
    """Return a model file and its user shader."""
    path, shader = save(model, folder), folder / "net.glsl"
    compile_model(path, shader, Options(package="mpv", **options))
    return path, shader


@pytest.mark.gl
@pytest.mark.parametrize(
    ("make", "shape"), [(espcn, [1, 1, 192, 256]), (denoiser, [1, 3, 96, 128])], ids=["1", "3"]
)
def test_a_user_shader_matches_its_model(make, shape, shadergen, tmp_path, ffmpeg):
    model, shader = compiled(make(), tmp_path)
    found = shadergen("verify", model, "--build", shader, "--json").json
    assert (found["ok"], found["reference"]) == (True, "onnxruntime")
    assert found["renderer"] == "FFmpeg's libplacebo"
    (output,) = found["outputs"]
    assert output["shape"] == shape
    assert 0 < output["max_error"] < 1e-3 < output["bound"] <= 1e-2


@pytest.mark.gl
def test_a_user_shader_of_a_keras_model_matches(shadergen, tmp_path, ffmpeg):
    """Channels are last in the model's arrays."""
    shader = tmp_path / "net.glsl"
    compile_model(ESPCN, shader, Options(package="mpv"))
    ran = shadergen("verify", ESPCN, "--build", shader, *NUMPY)
    assert ran.code == 0
    assert "1x192x256x1" in ran.out
    assert "11 GPU passes in 16-bit textures on FFmpeg's libplacebo" in ran.out


@pytest.mark.gl
def test_a_user_shader_that_was_edited_differs(shadergen, tmp_path, ffmpeg):
    model, shader = compiled(denoiser(), tmp_path)
    text, edits = re.subn(r"= vec4\(0\.\d+", "= vec4(0.3", shader.read_text(), count=1)
    assert edits
    shader.write_text(text)
    ran = shadergen("verify", model, "--build", shader)
    assert ran.code == 1
    assert "DIFFERS FROM onnxruntime" in ran.out
    assert "give verify the same --inputs, --outputs, --input-value" in ran.out


@pytest.mark.gl
def test_a_hand_written_user_shader_is_compared(shadergen, tmp_path, ffmpeg):
    model, shader = save(affine(3, 0.5, 0.25), tmp_path), tmp_path / "hand.glsl"
    shader.write_text(
        "//!HOOK MAIN\n//!BIND HOOKED\n"
        "vec4 hook() { return vec4(0.5 * HOOKED_tex(HOOKED_pos).rgb + vec3(0.25), 1.0); }\n"
    )
    assert shadergen("verify", model, "--build", shader).code == 0
    shader.write_text(shader.read_text().replace("vec3(0.25)", "vec3(0.2)"))
    ran = shadergen("verify", model, "--build", shader, "--json")
    assert ran.code == 1
    assert ran.json["outputs"][0]["max_error"] == pytest.approx(0.05, abs=1e-3)


@pytest.mark.gl
def test_a_strength_is_part_of_what_is_expected(shadergen, tmp_path, ffmpeg):
    model, shader = compiled(denoiser(), tmp_path, strength=0.25)
    ran = shadergen("verify", model, "--build", shader)
    assert ran.code == 0
    assert "compared with 0.25 * network + 0.75 * picture (--strength)" in ran.out


@pytest.mark.gl
@pytest.mark.parametrize("suffix", ["png", "npy"])
def test_an_input_sets_the_size(suffix, shadergen, tmp_path, ffmpeg):
    model, shader = compiled(unshuffled(), tmp_path)
    path = tmp_path / f"in.{suffix}"
    pixels = np.random.default_rng(3).integers(0, 256, (30, 38), np.uint8)
    if suffix == "png":
        Image.fromarray(pixels).save(path)
    else:
        np.save(path, pixels[np.newaxis, np.newaxis] / np.float32(255))
    found = shadergen("verify", model, "--build", shader, "--input", path, "--json").json
    assert found["ok"]
    assert found["outputs"][0]["shape"] == [1, 1, 30, 38]


def test_a_size_at_which_no_player_runs_it_is_refused(shadergen, tmp_path):
    model, shader = save(affine(1, 0.5, 0.25), tmp_path), tmp_path / "net.glsl"
    shader.write_text("//!HOOK LUMA\n//!BIND HOOKED\n//!WHEN HOOKED.w 2 % 0 =\n")
    path = tmp_path / "in.png"
    Image.new("L", (37, 30)).save(path)
    ran = shadergen("verify", model, "--build", shader, "--input", path)
    assert ran.code == 2
    assert "error[SG0605]: the user shader does not run for a picture of 30x37" in ran.err
    assert "//!WHEN) is false: HOOKED.w % 2 = 0 (HOOKED.w is 37)" in ran.err


def test_other_models_and_stages_are_refused(shadergen, tmp_path, monkeypatch):
    model, shader = compiled(denoiser(), tmp_path)
    ran = shadergen("verify", ESPCN, "--build", shader)
    assert ran.code == 2
    assert f"'{shader}' is not a user shader of this model" in ran.err
    assert "MAIN has 3 channels, the model's input has 1" in ran.err
    two = tmp_path / "two.onnx"
    two.write_bytes(parse_model(TWO_INPUTS).SerializeToString())
    ran = shadergen("verify", two, "--build", shader)
    assert "the model has 2 inputs and 1 output" in ran.err
    chroma, of_chroma = tmp_path / "chroma.glsl", save(chroma_from_luma(), tmp_path)
    compile_model(of_chroma, chroma, Options(package="mpv", luma="luma"))
    ran = shadergen("verify", of_chroma, "--build", chroma)
    assert "it replaces CHROMA, and FFmpeg's frames do not hold the values of CHROMA" in ran.err
    linear = tmp_path / "linear.glsl"
    linear.write_text("//!HOOK LINEAR\n//!BIND HOOKED\nvec4 hook() { return vec4(0.5); }\n")
    model = save(denoiser(), tmp_path)
    ran = shadergen("verify", model, "--build", linear)
    assert "it replaces LINEAR, and FFmpeg's frames do not hold the values of LINEAR" in ran.err
    ran = shadergen("verify", model, "--build", shader, "--input-range", "-1:1")
    assert "0 to 1, as in pictures" in ran.err
    ran = shadergen("verify", model, "--build", shader, "--runtime", "gles")
    assert "--runtime is for builds" in ran.err
    ran = shadergen("verify", shader)
    assert f"name the model too: shadergen verify MODEL --build {shader}" in ran.err
    monkeypatch.setenv("PATH", str(tmp_path))  # without FFmpeg
    ran = shadergen("verify", model, "--build", shader)
    assert ran.code == 2
    assert "error[SG0607]: user shaders need FFmpeg with its libplacebo filter" in ran.err


def test_an_ffmpeg_without_the_filter_or_vulkan_is_named(shadergen, tmp_path, monkeypatch):
    model, shader = compiled(denoiser(), tmp_path)
    program = tmp_path / "ffmpeg"
    monkeypatch.setenv("PATH", str(tmp_path))
    for said, why in {
        "[AVFilterGraph @ 0x1] No such filter: 'libplacebo'": "this FFmpeg has no libplacebo",
        "Device creation failed: -542398533.": "it finds no Vulkan driver",
    }.items():
        program.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
        program.chmod(0o755)
        ran = shadergen("verify", model, "--build", shader)
        assert ran.code == 2
        assert f"= why: {why}" in ran.err
