"""``shadergen compile --target mpv``."""

from __future__ import annotations

from support import ESPCN
from support.cli_models import onnx
from support.user_shader_grammar import parse


def test_compiles_into_one_file(shadergen, tmp_path):
    output = tmp_path / "net.glsl"
    ran = shadergen("compile", ESPCN, "--target", "mpv", "-o", output, "--license", "MIT")
    assert ran.code == 0, ran.err
    assert "11 GPU passes on LUMA" in ran.out
    assert "runs if the player's output is more than 1.2 times as large as the picture" in ran.out
    assert "glslang accepts all 11 shaders" in ran.out
    assert [path.name for path in tmp_path.iterdir()] == ["net.glsl"]
    assert len(parse(output.read_text())) == 11
    assert "// license: MIT\n" in output.read_text()


def test_prints_json(shadergen, tmp_path):
    arguments = ("compile", ESPCN, "--target", "mpv", "-o", tmp_path / "net.glsl")
    found = shadergen(*arguments, "--upscale-from", "1.5", "--json").json
    assert (found["passes"], found["hook"]) == (11, "LUMA")
    assert found["condition"] == "OUTPUT.w HOOKED.w 1.5 * > OUTPUT.h HOOKED.h 1.5 * > *"


def test_refuses_by_name(shadergen, tmp_path):
    from onnx import helper

    relu = helper.make_node("Relu", ["x"], ["y"], name="only")
    model = onnx(tmp_path, relu)  # of 4 channels, 16 x 24
    output = tmp_path / "net.glsl"
    ran = shadergen("compile", model, "--target", "mpv", "-o", output)
    assert ran.code == 2
    assert ran.err.startswith("error[SG0405]: a network of 4 channels cannot be a user shader")
    ran = shadergen("compile", ESPCN, "--target", "mpv", "-o", output, "--weights", "ubo")
    assert "--weights ubo is not supported with --target mpv" in ran.err
    assert "supported: --weights auto, constants, texture" in ran.err
    ran = shadergen("compile", ESPCN, "--target", "mpv", "-o", output, "--hook", "MAIN")
    assert "MAIN has 3 channels, the network 1" in ran.err
    ran = shadergen("compile", ESPCN, "--target", "mpv", "-o", output, "--upscale-from", "0")
    assert "--upscale-from 0.0 is not supported" in ran.err
    ran = shadergen("compile", ESPCN, "--target", "mpv", "-o", output, "--input-size", "36x64")
    assert "--input-size 36x64 is not supported with --target mpv" in ran.err
    ran = shadergen("compile", ESPCN, "-o", output, "--input-size", "36x64", "--hook", "LUMA")
    assert "--hook needs --target mpv" in ran.err
    assert not output.exists()
