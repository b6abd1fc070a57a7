"""``--target mpv``: options that are refused, and files that are replaced."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from support import ESPCN, refusal, third_party
from support.picture_networks import Network, affine, chroma_from_luma, denoiser, save
from support.user_shader_grammar import parse

from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.compiler.user_shader import check_unused, for_user_shader, hook_notes


@pytest.mark.parametrize(
    "options", [{"weights": "ubo"}, {"stage": "compute", "mrt": 5}, {"mrt": 4},
                {"input_range": (0.0, 255.0)}, {"variants": ("nvidia",)}, {"glsl": 310}]
)  # fmt: skip
def test_options_that_the_format_fixes_are_refused(options):
    error = refusal(for_user_shader, Options(package="mpv", **options))
    assert error.code == "SG0301"
    assert "--target mpv" in error.what


def test_refused_options_come_with_what_to_do():
    error = refusal(for_user_shader, Options(package="mpv", embed="c"))
    assert (error.what, error.help) == (
        "--embed c is not supported with --target mpv",
        "omit --embed",
    )
    for name, text in (("", "8x9"), ("x", "x=8x9")):
        error = refusal(for_user_shader, Options(package="mpv", input_size={name: (8, 9)}))
        assert error.what == f"--input-size {text} is not supported with --target mpv"


def test_stages_that_surprise_are_explained():
    (rgb,) = hook_notes(Options(package="mpv", hook="RGB"))
    assert rgb == "--hook RGB: the network runs only on videos stored as RGB; for others, use MAIN"
    assert hook_notes(Options(package="mpv", hook="NATIVE"))
    assert hook_notes(Options(package="mpv", hook="MAIN")) == ()
    assert hook_notes(Options(package="mpv")) == ()


@pytest.mark.parametrize("precision", ["fp32", "fp16", "auto"])
def test_the_precision_is_free(precision):
    assert for_user_shader(Options(package="mpv", precision=precision)).precision == precision


def test_a_failed_write_leaves_the_earlier_file(tmp_path):
    output = tmp_path / "net.glsl"
    compile_model(ESPCN, output, Options(package="mpv"))
    text = output.read_text()
    assert parse(text)
    refusal(compile_model, ESPCN, output, Options(package="mpv", hook="MAIN"))
    assert output.read_text() == text
    compile_model(ESPCN, output, Options(package="mpv", license="MIT"))
    assert "// license: MIT\n" in output.read_text()
    error = refusal(compile_model, ESPCN, tmp_path, Options(package="mpv"))
    assert error.code == "SG0501"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"stage": "fragment"}, "a fragment pass can store only one float"),
        ({"device": "apple"}, "no compute passes"),
        ({"precision": "auto"}, "computes in 16 bits"),
        ({"precision": "fp16"}, "computes in 16 bits"),
    ],
)
def test_split_intermediates_need_compute_passes_in_32_bits(options, why):
    error = refusal(for_user_shader, Options(package="mpv", intermediates="split", **options))
    assert (error.code, error.what) == ("SG0301", "--intermediates split is not supported")
    assert why in error.why
    assert error.help


def test_split_intermediates_are_for_user_shaders():
    error = refusal(check_unused, Options(intermediates="split"))
    assert error.what == "--intermediates needs --target mpv"


def test_only_user_shaders_and_empty_files_are_replaced(tmp_path):
    for name, text in (("net.onnx", ESPCN.read_bytes()), ("notes.txt", b"mine\n"), ("a", b"\0")):
        output = tmp_path / name
        output.write_bytes(text)
        error = refusal(compile_model, ESPCN, output, Options(package="mpv"))
        assert error.code == "SG0501"
        assert error.what == f"'{output}' exists and is not a user shader of shadergen"
        assert output.read_bytes() == text
    (tmp_path / "empty.glsl").touch()
    compile_model(ESPCN, tmp_path / "empty.glsl", Options(package="mpv", validate=False))
    assert parse((tmp_path / "empty.glsl").read_text())


@pytest.mark.parametrize("gain", [1.0, 1e6])
def test_values_beyond_the_textures_of_players_are_noted(gain, tmp_path):
    net = Network(1)
    x = net.conv("x", 1, 8, 3, "loud", gain)
    x = net.add("MaxPool", x, name="pool", kernel_shape=[3, 3], pads=[1] * 4)
    net.add("Mul", net.conv(x, 8, 1, 3, "last"), net.constant("k", np.float32(1 / gain)), name="m")
    done = compile_model(
        save(net.model(1), tmp_path), tmp_path / "net.glsl", Options(package="mpv")
    )
    found = [note for note in done.notes if "exceed 65504" in note]
    assert len(found) == (gain > 1)
    assert not found or found[0].startswith("values of layers loud, pool exceed 65504")


@pytest.mark.parametrize("gain", [1.0, 255.0])
def test_an_output_far_beyond_what_players_show_is_noted(gain, tmp_path):
    path = save(affine(1, gain, 0.0), tmp_path)
    done = compile_model(path, tmp_path / "net.glsl", Options(package="mpv"))
    found = [note for note in done.notes if "players show 0 to 1" in note]
    assert len(found) == (gain > 1)
    assert not found or "--preprocess scale=255" in found[0]


def with_metadata(folder: Path, **stated: str) -> Path:
    path = save(denoiser(), folder)
    model = onnx.load(path)
    model.producer_name, model.producer_version = "pytorch", "2.13"
    model.doc_string = stated.pop("doc_string", "")
    helper.set_model_props(model, stated)
    onnx.save(model, path)
    return path


def header(output: Path) -> list[str]:
    return output.read_text().split("\n\n")[0].splitlines()


def test_the_header_says_where_the_network_comes_from(tmp_path):
    path, output = with_metadata(tmp_path, License="CC0", author="Zoë"), tmp_path / "net.glsl"
    compile_model(path, output, Options(package="mpv"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert header(output)[3:] == [
        f"// model: net.onnx, SHA-256 {digest}",
        "// exported by: pytorch 2.13",
        "// author: Zoë",
        "// license: CC0",
    ]
    compile_model(path, output, Options(package="mpv", license="MIT"))
    assert header(output)[-1] == "// license: MIT"


def test_metadata_cannot_become_directives_or_fill_the_file(tmp_path):
    hostile = "a\n//!HOOK LUMA\n" + "x" * 5000
    many = {f"key{k}": str(k) for k in range(100)}
    path = with_metadata(tmp_path, doc_string=hostile, **many)
    compile_model(path, tmp_path / "net.glsl", Options(package="mpv"))
    text = (tmp_path / "net.glsl").read_text()
    assert parse(text)
    assert "//!HOOK LUMA" not in text
    lines = header(tmp_path / "net.glsl")
    assert len(lines) == 24
    assert max(map(len, lines)) < 250
    compile_model(path, tmp_path / "net.glsl", Options(package="mpv"))  # it knows its own file


def test_a_long_license_of_a_model_is_cut(tmp_path):
    text = "\n".join(["MIT License", "//!HOOK LUMA", *(f"{k}: {'x' * 500}" for k in range(2000))])
    path, output = with_metadata(tmp_path, license=text), tmp_path / "net.glsl"
    compile_model(path, output, Options(package="mpv"))
    assert parse(output.read_text())
    lines = header(output)
    assert lines[5:7] == ["// license: MIT License", "// // !HOOK LUMA"]
    assert lines[-1] == "// ... 1962 more lines, in the model file"
    assert len(lines) == 5 + 41
    assert max(map(len, lines)) < 250
    compile_model(path, output, Options(package="mpv", license=text))  # the user's own, in full
    assert len(header(output)) == 5 + 2002


def test_keras_files_state_nothing_but_themselves(tmp_path):
    compile_model(ESPCN, tmp_path / "net.glsl", Options(package="mpv"))
    assert header(tmp_path / "net.glsl")[3].startswith(f"// model: {ESPCN.name}, SHA-256 ")


@pytest.mark.parametrize(("strength", "text"), [(1.0, "1.0"), (0.25, "0.25")])
def test_a_live_strength_is_a_parameter_with_a_value_for_players_that_have_none(
    strength, text, tmp_path
):
    path, output = save(denoiser(), tmp_path), tmp_path / "net.glsl"
    options = Options(package="mpv", strength=strength, live_strength=True, weights="texture")
    compile_model(path, output, options)
    written = output.read_text()
    assert parse(written)
    assert written.count(f"#ifndef strength\n#define strength {text}\n#endif\n") == 1
    assert written.endswith(f"\n//!MAXIMUM 1.0\n{text}\n")


def test_strengths_that_mix_nothing_are_refused(tmp_path):
    output, path = tmp_path / "net.glsl", save(denoiser(), tmp_path)
    error = refusal(compile_model, ESPCN, output, Options(package="mpv", strength=0.5))
    assert (error.code, error.what) == ("SG0301", "--strength 0.5 is not supported")
    assert "the result has another size than the picture" in error.why
    error = refusal(compile_model, ESPCN, output, Options(package="mpv", live_strength=True))
    assert error.what == "--live-strength is not supported"
    for share in (-0.1, 1.5, float("nan")):
        error = refusal(compile_model, path, output, Options(package="mpv", strength=share))
        assert error.supported == "0 to 1"
    error = refusal(compile_model, path, tmp_path / "build", Options(strength=0.5))
    assert error.what == "--strength needs --target mpv"


@pytest.mark.parametrize("stage", ["fragment", "compute"])
def test_a_network_of_chroma_reads_a_copy_of_luma(stage, tmp_path):
    path, output = save(chroma_from_luma(), tmp_path), tmp_path / "net.glsl"
    compile_model(path, output, Options(package="mpv", luma="luma", stage=stage))
    passes = parse(output.read_text())
    assert [p.binds for p in passes[:2]] == [["HOOKED"], ["LUMA"]]
    assert [p.single["SAVE"] for p in passes[:2]] == ["picture", "luma"]
    assert {p.hook for p in passes} == {"CHROMA"}
    assert passes[0].single["WHEN"].startswith("LUMA.w HOOKED.w 2 * = LUMA.h HOOKED.h 2 * = *")
    assert [p.single.get("OFFSET") for p in passes] == [None] * (len(passes) - 1) + ["ALIGN"]


def test_the_result_of_a_filter_of_chroma_stays_where_chroma_lies(tmp_path):
    path = save(chroma_from_luma(1), tmp_path)
    compile_model(path, tmp_path / "net.glsl", Options(package="mpv", luma="luma"))
    assert "OFFSET" not in (tmp_path / "net.glsl").read_text()


def test_inputs_that_cannot_be_luma_are_refused(tmp_path):
    path, output = save(chroma_from_luma(), tmp_path), tmp_path / "net.glsl"
    options = Options(package="mpv")
    assert refusal(compile_model, path, output, options).help.endswith("--luma NAME")
    for changed, what in (
        ({"luma": "lume"}, "--luma names 'lume', which is not an input"),
        ({"luma": "luma", "upscale_from": 1.5}, "--upscale-from 1.5 has no effect"),
        ({"luma": "luma", "hook": "MAIN"}, "--hook MAIN is not supported"),
    ):
        assert refusal(compile_model, path, output, replace(options, **changed)).what == what
    path, output = save(denoiser(), tmp_path), tmp_path / "net.glsl"
    error = refusal(compile_model, path, output, Options(package="mpv", luma="x"))
    assert error.what == "--luma has no effect"
    error = refusal(compile_model, path, tmp_path / "build", Options(luma="x"))
    assert error.what == "--luma needs --target mpv"
    assert not output.exists()


@pytest.mark.parametrize(
    ("beside", "channels", "why"),
    [
        (3, 1, "the other input has 3 channels, chroma has 2"),
        (2, 4, "it has 4 channels, luma has 1"),
    ],
)
def test_only_chroma_reads_luma(beside, channels, why, tmp_path):
    net = Network(beside)
    blocks = net.add("AveragePool", "luma", name="half", kernel_shape=[2, 2], strides=[2, 2])
    x = net.add("Concat", blocks, "x", name="both", axis=1)
    net.conv(x, beside + channels, beside, 3, "conv")
    model = net.model(1)
    sizes = [1, channels, "H", "W"]
    model.graph.input.append(helper.make_tensor_value_info("luma", onnx.TensorProto.FLOAT, sizes))
    path = save(model, tmp_path)
    error = refusal(compile_model, path, tmp_path / "a.glsl", Options(package="mpv", luma="luma"))
    assert (error.what, error.why) == ("input 'luma' cannot be luma", why)


@pytest.mark.third_party
@pytest.mark.parametrize(
    ("name", "what", "why"),
    [
        ("cntk_mnist.onnx", "output 'Plus214_Output_0' is not a picture", "its shape is 1x10;"),
        ("fer2013_mini_xception.hdf5", "output 'predictions' is not a picture", "its shape is 1x7"),
        ("mlperf_tiny_resnet8.h5", "output 'dense' is not a picture", "its shape is 1x10;"),
    ],
)
def test_classifiers_are_refused_by_their_output(name, what, why, tmp_path):
    error = refusal(compile_model, third_party(name), tmp_path / "n.glsl", Options(package="mpv"))
    assert (error.code, error.what) == ("SG0405", what)
    assert error.why.startswith(why)
    assert error.help == "end the network at a picture with --outputs NAME"
