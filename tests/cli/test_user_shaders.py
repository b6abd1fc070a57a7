"""User shaders on the command line: ``compile --target mpv``, ``run`` and ``bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.numpy_helper import from_array
from onnx.parser import parse_model
from PIL import Image
from support import ESPCN
from support.cli_models import onnx
from support.players import filters, require
from support.user_shader_grammar import parse


def test_compiles_into_one_file(shadergen, tmp_path):
    output = tmp_path / "net.glsl"
    ran = shadergen("compile", ESPCN, "--target", "mpv", "-o", output, "--license", "MIT")
    assert ran.code == 0, ran.err
    assert "11 GPU passes on LUMA, 3280 multiply-adds per pixel" in ran.out
    assert (
        "runs if the player's output is more than 1.2 times as wide and as high as the picture"
        in ran.out
    )
    assert "glslang accepts all 11 shaders" in ran.out
    assert "dynamic: height is axis" not in ran.out  # user shaders always have dynamic sizes
    assert [path.name for path in tmp_path.iterdir()] == ["net.glsl"]
    assert len(parse(output.read_text())) == 11
    assert "// license: MIT\n" in output.read_text()
    assert output.read_text().startswith(
        "// espcn_x2: upscales LUMA 2x in 11 passes, 3280 multiply-adds per pixel\n"
        "// use: mpv --glsl-shaders=FILE video.mkv\n"
    )


def test_suggests_a_family_of_gpus_and_compute_passes_for_long_files(shadergen, tmp_path):
    network = Path(ESPCN).parents[1] / "networks" / "upscale" / "upscale.onnx"
    flags = ("--target", "mpv", "-o", tmp_path / "net.glsl", "--no-validate")
    hint = "--device FAMILY, for example --device nvidia, chooses the fastest passes"
    assert f"{hint} for a family of GPUs" in (out := shadergen("compile", network, *flags).out)
    assert "; --stage compute makes fewer passes, for any GPU with OpenGL 4.3" in out
    out = shadergen("compile", network, *flags, "--stage", "compute").out
    assert "--device FAMILY in place of --stage compute, for example --device nvidia" in out
    assert hint not in shadergen("compile", network, *flags, "--stage", "fragment").out
    assert hint not in shadergen("compile", network, *flags, "--device", "nvidia").out
    assert hint not in shadergen("compile", ESPCN, *flags).out


def test_prints_json(shadergen, tmp_path):
    arguments = ("compile", ESPCN, "--target", "mpv", "-o", tmp_path / "net.glsl")
    found = shadergen(*arguments, "--upscale-from", "1.5", "--json").json
    assert (found["passes"], found["hook"]) == (11, "LUMA")
    assert found["condition"] == "OUTPUT.w HOOKED.w 1.5 * > OUTPUT.h HOOKED.h 1.5 * > *"


def test_explain_names_the_stage_that_the_file_has(shadergen, tmp_path):
    output = tmp_path / "net.glsl"
    for stage, kinds in (("fragment", {"fragment"}), ("compute", {"compute"})):
        flags = ("--target", "mpv", "-o", output, "--stage", stage, "--explain", "--json")
        decisions = shadergen("compile", ESPCN, *flags).json["decisions"]
        chosen = [d["decision"] for d in decisions if d["step"] == "choose kernels"]
        assert {text.partition(",")[0] for text in chosen} == kinds
        assert ("//!COMPUTE" in output.read_text()) == (stage == "compute")


def test_explain_names_both_stages_of_a_layer_that_has_both(shadergen, tmp_path):
    model = parse_model("""
        <ir_version: 8, opset_import: ["": 18]>
        net (float[1,1,H,W] x) => (float[1,1,H,W] y) {
            wide = Conv<pads=[1,1,1,1]>(x, w) y = Conv(wide, v)
        }""")
    for name, shape in (("w", (9, 1, 3, 3)), ("v", (1, 9, 1, 1))):
        model.graph.initializer.append(from_array(np.ones(shape, np.float32), name))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    flags = ("--target", "mpv", "-o", tmp_path / "net.glsl", "--stage", "compute", "--mrt", 2)
    ran = shadergen("compile", tmp_path / "net.onnx", *flags, "--explain", "--json")
    first, last = (d for d in ran.json["decisions"] if d["step"] == "choose kernels")
    assert first["decision"].startswith("compute and fragment, 2 planes")  # of 3
    assert last["decision"].startswith("fragment, 1 plane")


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
    assert "MAIN has 3 channels, the network has 1" in ran.err
    ran = shadergen("compile", ESPCN, "--target", "mpv", "-o", output, "--upscale-from", "0")
    assert "--upscale-from 0.0 is not supported" in ran.err
    ran = shadergen("compile", ESPCN, "--target", "mpv", "-o", output, "--input-size", "36x64")
    assert "--input-size 36x64 is not supported with --target mpv" in ran.err
    ran = shadergen("compile", ESPCN, "-o", output, "--input-size", "36x64", "--hook", "LUMA")
    assert "--hook needs --target mpv" in ran.err
    assert not output.exists()


@pytest.fixture
def gray(tmp_path: Path) -> Path:
    path = tmp_path / "gray.png"
    pixels = np.random.default_rng(0).integers(0, 256, (37, 61), np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def upscaler(shadergen: Any, folder: Path) -> Path:
    path = folder / "net.glsl"
    assert not shadergen("compile", ESPCN, "--target", "mpv", "-o", path).code
    return path


def require_ffmpeg() -> None:
    require("ffmpeg")
    if "libplacebo" not in filters():
        pytest.skip("this FFmpeg has no libplacebo filter")


@pytest.mark.gl
def test_run_shows_what_a_player_makes_of_a_picture(shadergen, tmp_path, gray):
    require_ffmpeg()
    ran = shadergen("run", upscaler(shadergen, tmp_path), gray, "-o", tmp_path / "a.png", "--json")
    assert (ran.json["size"], ran.json["passes"]) == ([74, 122], 11)
    build = tmp_path / "build"
    shadergen("compile", ESPCN, "--input-size", "37x61", "-o", build)
    assert not shadergen("run", build, gray, "-o", tmp_path / "b.png").code
    a, b = (np.asarray(Image.open(tmp_path / name)).astype(int) for name in ("a.png", "b.png"))
    assert abs(a - b).max() <= 1


@pytest.mark.gl
def test_run_shows_every_picture_in_a_folder(shadergen, tmp_path, gray):
    require_ffmpeg()
    shader, source, made = upscaler(shadergen, tmp_path), tmp_path / "in", tmp_path / "made"
    source.mkdir()
    for name in ("a.png", "b.png"):
        (source / name).write_bytes(gray.read_bytes())
    (source / "c.png").write_bytes(b"no picture")
    (source / "notes.txt").touch()
    (source / "more").mkdir()
    ran = shadergen("run", shader, source, "-o", made)
    assert ran.code == 2
    assert "1 of 3 pictures could not be run" in ran.err
    assert f"{made / 'a.png'}: 74x122, 11 GPU passes" in ran.out
    assert "note: no pictures, skipped: notes.txt\n" in ran.out
    assert "note: subfolders are skipped: more/\n" in ran.out
    (source / "c.png").unlink()
    ran = shadergen("run", shader, source, "-o", made, "--original", made, "--json")
    assert "SG0501" in ran.err
    originals = tmp_path / "wanted"
    made.rename(originals)
    ran = shadergen("run", shader, source, "-o", made, "--original", originals, "--json")
    assert ran.json["psnr"]["network"] is None  # the same pictures
    assert sorted(ran.json["pictures"]) == [str(source / n) for n in ("a.png", "b.png")]


@pytest.mark.gl
def test_compile_previews_what_run_shows(shadergen, tmp_path, gray):
    require_ffmpeg()
    output = tmp_path / "net.glsl"
    arguments = ("compile", ESPCN, "--target", "mpv", "-o", output, "--preview", gray)
    ran = shadergen(*arguments)
    preview = tmp_path / "net.preview.png"
    assert ran.out.splitlines()[-1].startswith(f"{preview}: 74x122, 11 GPU passes in FFmpeg's")
    assert not shadergen("run", output, gray, "-o", tmp_path / "run.png").code
    assert preview.read_bytes() == (tmp_path / "run.png").read_bytes()
    assert shadergen(*arguments, "--json").json["preview"]["output"] == str(preview)


def test_a_preview_that_cannot_be_made_leaves_the_user_shader(
    shadergen, tmp_path, gray, monkeypatch
):
    output = tmp_path / "net.glsl"
    monkeypatch.setenv("PATH", str(tmp_path))  # without FFmpeg
    ran = shadergen("compile", ESPCN, "--target", "mpv", "-o", output, "--preview", gray)
    assert ran.code == 2
    assert "11 GPU passes on LUMA, 3280 multiply-adds per pixel" in ran.out
    assert "apt-get install ffmpeg" in ran.err
    assert [path.name for path in tmp_path.iterdir() if "net" in path.name] == ["net.glsl"]
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "build", "--preview", gray)
    assert "--preview needs --target mpv" in ran.err
    assert not (tmp_path / "build").exists()


@pytest.mark.gl
def test_bench_measures_user_shaders_beside_plain_scaling(shadergen, tmp_path):
    require_ffmpeg()
    shader = upscaler(shadergen, tmp_path)
    ran = shadergen("bench", shader, "--frames", "2", "--size", "36x64", "--json", "-")
    plain, own = ran.json
    assert (plain["name"], plain["passes"], plain["size"]) == ("", 0, [72, 128])
    assert (own["name"], own["passes"], own["size"]) == (str(shader), 11, [72, 128])
    assert own["first"] > 0 < own["frame"]
    assert plain["frames"] == own["frames"] == 2


@pytest.mark.gl
def test_bench_prints_no_time_of_too_few_frames(shadergen, tmp_path):
    require_ffmpeg()
    shader = upscaler(shadergen, tmp_path)
    arguments = ("bench", shader, "--seconds", "0", "--size", "36x64")
    entries = shadergen(*arguments, "--json", "-").json
    assert [(entry["frame"], entry["frames"]) for entry in entries] == [(None, 0)] * 2
    ran = shadergen(*arguments)
    assert ran.out.rstrip().endswith(f"{shader}: too few frames; give more --seconds")
    assert [line.split()[-2:] for line in ran.out.splitlines()[2:4]] == [["-", "0"]] * 2


def test_run_and_bench_of_user_shaders_refuse_what_they_cannot_do(shadergen, tmp_path, gray):
    shader, output = upscaler(shadergen, tmp_path), tmp_path / "a.png"
    assert "--variant is for builds" in (
        shadergen("run", shader, gray, "-o", output, "--variant", "a").err
    )
    assert "cannot read" in shadergen("run", tmp_path / "no.glsl", gray, "-o", output).err
    (tmp_path / "a.mkv").write_bytes(b"no video")
    ran = shadergen("run", shader, tmp_path / "a.mkv", "-o", tmp_path / "b.png")
    assert "for the input 'a.mkv', the result is a video" in ran.err
    ran = shadergen("run", shader, gray, "-o", tmp_path / "b.mkv")
    assert "for the input 'gray.png', the result is a picture" in ran.err
    ran = shadergen("run", shader, tmp_path, "-o", tmp_path)
    assert "the results would replace the pictures" in ran.err
    refused = shadergen("inspect", shader).err
    assert "is shader code, not a model" in refused
    assert "inspect MODEL --target mpv shows the passes of a user shader" in refused
    ran = shadergen("run", shader, gray, "-o", tmp_path / "a.npz")
    assert "supported: a picture, a folder of pictures or a video" in ran.err
    for arguments, why in {
        ("--warm-up", "3"): "--warm-up is not supported with user shaders",
        ("--chart", tmp_path / "a.svg"): "--chart is not supported with user shaders",
        ("--json", tmp_path / "a.json"): "--json -, which prints",
        ("--size", "0x5"): "--size 0x5 is not a size",
        (tmp_path / "build",): "builds and user shaders cannot be measured together",
    }.items():
        assert why in shadergen("bench", shader, *arguments).err
    ran = shadergen("bench", shader, tmp_path / "a.mkv")
    assert "a.mkv' is neither a user shader (.glsl) nor a build" in ran.err
    assert "to choose the size of the frames: --size HxW" in ran.err
    assert "--size applies only to user shaders" in shadergen("bench", "build", "--size", "3x5").err
    assert not output.exists()


def test_run_says_why_a_file_is_no_user_shader(shadergen, tmp_path, gray, monkeypatch):
    output, shader = tmp_path / "a.png", tmp_path / "a.glsl"
    for text, why in {
        "void main() {}": "it has no passes",
        "//!HOOK NOWHERE\n": "its hook is NOWHERE",
        "//!HOOK\n": "its hook is nothing",
        "//!HOOK MAIN\n//!HOOK LUMA\n": "replace MAIN and LUMA; a picture has only one",
        "//!HOOK LUMA\n//!WIDTH nan\n": "its result has no size",
        "//!HOOK LUMA\n//!WIDTH HOOKED.w 0 *\n": "its result has no size",
        "//!HOOK LUMA\n//!WIDTH other.w\n": "its sizes and conditions cannot be computed",
        "//!HOOK CHROMA\n": "it replaces CHROMA, and pictures have luma or RGB only",
        "//!HOOK LUMA\n//!WHEN HOOKED.w 100 >\n": "is false: HOOKED.w > 100 (HOOKED.w is 61)",
    }.items():
        shader.write_text(text)
        assert why in shadergen("run", shader, gray, "-o", output).err
    monkeypatch.setenv("PATH", str(tmp_path))
    shader.write_text("//!HOOK LUMA\n//!BIND HOOKED\nvec4 hook() { return vec4(0.5); }\n")
    ran = shadergen("run", shader, gray, "-o", output)
    assert "SG0607" in ran.err
    assert "apt-get install ffmpeg" in ran.err


@pytest.mark.gl
def test_run_says_what_ffmpeg_says_of_a_wrong_shader(shadergen, tmp_path, gray):
    require_ffmpeg()
    shader = tmp_path / "a.glsl"
    shader.write_text("//!HOOK LUMA\n//!BIND HOOKED\nvec4 hook() { return nothing; }\n")
    ran = shadergen("run", shader, gray, "-o", tmp_path / "a.png")
    assert "FFmpeg's libplacebo filter failed" in ran.err
    assert not (tmp_path / "a.png").exists()


@pytest.mark.gl
@pytest.mark.parametrize("hook", ["CHROMA", "RGB"])
def test_bench_gives_a_shader_the_kind_of_video_that_it_hooks(shadergen, tmp_path, hook):
    """Chroma is smaller than luma in 4:2:0 video, and only a video of RGB has this stage."""
    require_ffmpeg()
    shader = tmp_path / "a.glsl"
    when = f"{hook}.w 32 =" if hook == "CHROMA" else f"{hook}.w 64 ="
    shader.write_text(f"//!HOOK {hook}\n//!BIND HOOKED\n//!WHEN {when}\nwrong\n")
    ran = shadergen("bench", shader, "--frames", "1", "--size", "36x64")
    assert "FFmpeg's libplacebo filter failed" in ran.err  # it is compiled, so it runs
    shader.write_text(
        f"//!HOOK {hook}\n//!BIND HOOKED\n//!WHEN {when}\nvec4 hook() {{ return vec4(0.5); }}"
    )
    ran = shadergen("bench", shader, "--frames", "1", "--size", "36x64", "--json", "-")
    assert [(f["passes"], f["size"]) for f in ran.json] == [(0, [36, 64]), (1, [36, 64])]
