"""What the command line refuses: how it says so, and what it leaves alone."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from onnx import helper
from support import ESPCN, contents
from support.cli_models import (
    LAMBDA,
    SIZE,
    altered,
    layer,
    onnx,
    poison,
    weights_only,
    written,
    zipped,
)
from support.schedule_fixtures import EXPECTED, FIXTURES, refused

BIG = np.ones((64, 4, 9, 9))
# For each mistake: the model it is in, the arguments, the code, and what the message says.
MISTAKES: dict[str, tuple[Any, tuple[str, ...], str, str]] = {
    "no such file": (lambda d: d / "none.h5", (), "SG0101", "No such file"),
    "not a model": (lambda d: written(d, "a.h5", b"hello"), (), "SG0102", "HDF5 or ZIP"),
    "not a model either": (lambda d: written(d, "a.onnx", b"\x89PNG" * 9), (), "SG01", "a.onnx"),
    "an empty file": (lambda d: written(d, "a.onnx", b""), (), "SG0102", "is empty"),
    "TensorFlow Lite": (
        lambda d: written(d, "a.onnx", b"\x1c\0\0\0TFL3" + bytes(99)), (), "SG0102",
        "tf2onnx.convert",
    ),
    "Git LFS": (
        lambda d: written(d, "a.h5", b"version https://git-lfs.github.com/spec/v1\n"), (),
        "SG0102", "git lfs pull",
    ),
    "web page": (
        lambda d: written(d, "a.onnx", b"\n<!DOCTYPE html><html>"), (), "SG0102", "a web page"
    ),
    "PyTorch": (
        lambda d: zipped(d, "a.pt", "a/data.pkl", "a/data/0"), (), "SG0102", "torch.onnx.export("
    ),
    "old PyTorch": (
        lambda d: written(d, "a.pth", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), (), "SG0102",
        "a Python pickle",
    ),
    "a folder": (lambda d: d / "sub", (), "SG0102", "sub"),
    "truncated": (lambda d: written(d, "a.h5", ESPCN.read_bytes()[:20000]), SIZE, "SG0103", "a.h5"),
    "weights only": (lambda d: altered(d, weights_only), SIZE, "SG0104", "model.save("),
    "unknown layer": (
        lambda d: altered(d, layer(1, class_name="StringLookup", config={})), SIZE, "SG0201",
        "layer class StringLookup is not implemented",
    ),
    "misspelt layer": (
        lambda d: altered(d, layer(1, class_name="Conv2d")), SIZE, "SG0203", "mean 'Conv2D'?"
    ),
    "lambda": (
        lambda d: altered(d, layer(-1, **LAMBDA)), SIZE, "SG0203", "'subpixel' has no definition"
    ),
    "NaN weights": (lambda d: altered(d, poison), SIZE, "SG0106", "not finite"),
    "dynamic size": (lambda d: ESPCN, (), "SG0204", "--input-size HxW"),
    "dynamic size, option": (lambda d: ESPCN, (), "SG0204", "dynamic: --input-size dynamic"),
    "unknown input": (
        lambda d: ESPCN, ("--input-size", "foo=9x9"), "SG0301",
        "names 'foo', which is not an input\n  --> ",
    ),
    "dynamic by name": (
        lambda d: ESPCN, ("--input-size", "low=Dynamic"), "SG0301", "dynamic:HxW, without a name"
    ),
    "not a size": (lambda d: ESPCN, ("--input-size", "16"), "SG0301", "gives 1 number\n"),
    "size of no name": (
        lambda d: ESPCN, ("--input-size", "=4x4"), "SG0301", "--input-size =4x4 is not a size"
    ),
    "size 0": (
        lambda d: ESPCN, ("--input-size", "0x9"), "SG0301",
        "a size must be at least 1, not 0",
    ),
    "too wide": (lambda d: ESPCN, ("--input-size", "60000x60000"), "SG0401", "texels"),
    "unknown operator": (
        lambda d: onnx(d, helper.make_node("Frobnicate", ["x"], ["y"], "f1")), (), "SG0201",
        "Frobnicate",
    ),
    "unknown domain": (
        lambda d: onnx(d, helper.make_node("Relu", ["x"], ["y"], "r1", domain="my.own"),
                       domains=("my.own",)), (), "SG0201", "my.own::Relu is not implemented",
    ),
    "truncated onnx": (
        lambda d: written(d, "b.onnx", onnx(d, helper.make_node("Conv", ["x", "w"], ["y"]),
                                            w=BIG).read_bytes()[:-999]), (), "SG0103", "b.onnx",
    ),
    "kernel beyond a block": (
        lambda d: onnx(d, helper.make_node("Conv", ["x", "w"], ["y"], "c1"),
                       w=np.ones((64, 4, 13, 13))),
        ("--weights", "ubo", "--mrt", "4"), "SG0402",
        "a GPU pass reads 43264 bytes, the limit is 16384",
    ),
    "kernel beyond the units": (
        lambda d: onnx(d, helper.make_node("Concat", ["x"] * 20, ["a"], axis=1),
                       helper.make_node("Conv", ["a", "w"], ["y"], "c1"), w=np.ones((4, 80, 1, 1))),
        ("--textures", "2d"), "SG0402", "texture units",
    ),
    "no storage buffers": (lambda d: ESPCN, (*SIZE, "--weights", "ssbo"), "SG0403", "--glsl 310"),
    "too many targets": (lambda d: ESPCN, (*SIZE, "--mrt", "9"), "SG0402", "4 draw buffers"),
    "unknown device": (lambda d: ESPCN, (*SIZE, "--device", "webgl2"), "SG0301", "webgl2-min"),
    "compute for browsers": (
        lambda d: ESPCN, (*SIZE, "--device", "webgl2-min", "--glsl", "310"), "SG0301",
        "--device webgl2-min is WebGL 2, with GLSL ES 300\n  = supported: 300 with",
    ),
    "newest for browsers": (
        lambda d: ESPCN, (*SIZE, "--device", "swiftshader", "--glsl", "320"), "SG0301",
        "--glsl 320 is not supported\n  = why: --device swiftshader is WebGL 2, with GLSL ES 300",
    ),
    "encoding": (
        lambda d: onnx(d, helper.make_node("Relu", ["x"], ["y"])), ("--output-encoding", "y2rg"),
        "SG0301", "needs outputs of one channel",
    ),
    "preprocessing": (lambda d: ESPCN, (*SIZE, "--preprocess", "mean=a"), "SG0301", "mean=a"),
    "one channel in reverse": (
        lambda d: ESPCN, (*SIZE, "--preprocess", "order=bgr"), "SG0301", "has 1 channel\n"
    ),
    "no profile": (
        lambda d: ESPCN, (*SIZE, "--device", "nope.json"), "SG0301", "why: No such file"
    ),
    "no tuning": (
        lambda d: ESPCN, (*SIZE, "--tuning", "nope.json"), "SG0101", "why: No such file"
    ),
    "range upside down": (
        lambda d: ESPCN, (*SIZE, "--input-range", "1:0"), "SG0301",
        "LOW exceeds HIGH: did you mean 0:1?"
    ),
    "dump beneath a file": (
        lambda d: ESPCN, (*SIZE, "--dump-ir", f"{ESPCN}/x"), "SG0501",
        "espcn_x2.h5/x'\n  = why: Not a directory\n  = help: choose another folder with --dump"
    ),
    "guard": (lambda d: ESPCN, (*SIZE, "--zero-guard", "1e39"), "SG0301", "--zero-guard 1e+39"),
    "no formulas": (
        lambda d: ESPCN, (*SIZE, "--define", "nowhere.ops"), "SG0101",
        "the definitions in 'nowhere.ops'\n  = why: No such file",
    ),
    "formulas in bytes": (
        lambda d: ESPCN, (*SIZE, "--define", str(ESPCN)), "SG0101",
        "why: it is not a text file\n  = help: --define takes a text file"
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained_and_leaves_the_earlier_build(shadergen, build, tmp_path, mistake):
    make, arguments, code, says = MISTAKES[mistake]
    (tmp_path / "sub").mkdir()
    model = make(tmp_path)
    shutil.copytree(build, tmp_path / "build")
    before = contents(tmp_path)
    ran = shadergen("compile", model, "-o", tmp_path / "build", *arguments)
    assert ran.code == 2
    assert ran.err.startswith(f"error[{code}")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""
    assert contents(tmp_path) == before


def test_an_onnx_model_under_a_name_of_keras_is_read_by_its_content(shadergen, tmp_path):
    model = onnx(tmp_path, helper.make_node("Relu", ["x"], ["y"])).rename(tmp_path / "net.h5")
    assert shadergen("compile", model, "-o", tmp_path / "b").code == 0


@pytest.mark.parametrize("option", ["--glsl", "--precision", "--weights", "--textures"])
def test_a_value_that_is_no_choice_is_refused_by_the_parser(shadergen, tmp_path, option):
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", option, "bogus")
    assert ran.code == 2
    assert option in ran.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("output", ["file/build", "file", "full", "link"])
def test_output_that_cannot_be_written_is_refused(shadergen, tmp_path, output):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "full")
    before = contents(tmp_path)
    ran = shadergen("compile", ESPCN, "-o", tmp_path / output, *SIZE)
    assert ran.code == 2
    assert ran.err.startswith("error[SG0501]: ")
    assert contents(tmp_path) == before


def test_bad_input_of_run_is_refused_and_leaves_the_earlier_output(shadergen, build, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1, 16, 24, 1), np.float32))
    np.save(tmp_path / "small.npy", np.zeros((1, 8, 8, 1), np.float32))
    np.save(tmp_path / "text.npy", np.array(["a"]))
    np.save(tmp_path / "complex.npy", np.zeros((1, 16, 24, 1), np.complex64))
    np.savez(tmp_path / "other.npz", photo=np.zeros((1, 16, 24, 1)))
    np.save(tmp_path / "object.npy", np.array([{}], object), allow_pickle=True)
    (tmp_path / "no.png").write_text("hello")
    (tmp_path / "y.npy").write_text("earlier")
    (tmp_path / "y.png").write_text("earlier")
    before = contents(tmp_path)
    for source, output, code, says in (
        ("none.npy", "y.npy", "SG0101", "why: No such file or directory\n"),
        ("object.npy", "y.npy", "SG0101", "object.npy"),
        ("text.npy", "y.npy", "SG0605", "element type <U1"),
        ("complex.npy", "y.npy", "SG0605", "the array has element type complex64\n  = supported"),
        ("small.npy", "y.npy", "SG0605", "8"),
        ("other.npz", "y.npy", "SG0605", "missing: ['low']; unknown: ['photo']"),
        ("no.png", "y.png", "SG0101", "as a picture"),
        ("x.npy", "y.txt", "SG0605", ".npz, .npy, .png"),
        ("x.npy", "y.png", "SG0605", "ends in .npz or .npy"),
        ("x.npy", "none/y.npy", "SG0501", "is not a folder"),
    ):
        ran = shadergen("run", build, tmp_path / source, "-o", tmp_path / output)
        assert ran.code == 2, source
        assert ran.err.startswith(f"error[{code}]: "), ran.err
        assert says in ran.err
        assert contents(tmp_path) == before


def test_a_site_is_not_written_over_what_is_there(shadergen, build, tmp_path):
    ran = shadergen("serve", build, "-o", tmp_path)
    assert (ran.code, ran.err.partition(":")[0]) == (2, "error[SG0501]")
    assert "exists\n  = help: remove it, or choose another folder" in ran.err


def test_the_folder_at_hand_is_named(shadergen, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = shadergen("compile", ".", "-o", "b")
    assert ran.err.startswith("error[SG0102]: '.' is a folder")


def test_a_profile_is_saved_under_a_name_that_device_takes(shadergen, tmp_path):
    ran = shadergen("doctor", "--save", tmp_path / "mine.txt")
    assert ran.code == 2
    assert "for example --save mine.json" in ran.err
    assert not list(tmp_path.iterdir())


def test_a_reference_for_other_files_is_refused_in_plain_words(shadergen):
    ran = shadergen("verify", ESPCN, *SIZE, "--reference", "onnxruntime")
    assert ran.err.startswith("error[SG0702]: the reference onnxruntime cannot run the model")
    assert "why: it is a Keras model\n" in ran.err


@pytest.mark.parametrize("command", [("inspect",), ("run", "x.npy", "-o", "y.npy")])
@pytest.mark.parametrize(
    ("schedule", "code"),
    [(None, "SG0502"), ("no", "SG0503"), ("[]", "SG050"), ('{"format": "shadergen"}', "SG0503"),
     ('{"format": "other", "version": "1.0"}', "SG050"),
     ('{"format": "shadergen", "version": "9.0"}', "SG0504"), ("[" * 100000, "SG0503")],
)  # fmt: skip
def test_folders_that_are_no_builds_are_refused(shadergen, tmp_path, command, schedule, code):
    if schedule is not None:
        (tmp_path / "schedule.json").write_text(schedule)
    name, *rest = command
    ran = shadergen(name, tmp_path, *rest)
    assert ran.code == 2
    assert ran.err.startswith(f"error[{code}")
    assert "Traceback" not in ran.err


# Of the malformed fixtures, those in whose schedule there is nothing wrong.
OF_FILES = {
    "missing_shader", "missing_weights", "path_of_weights", "path_parent", "shader_is_folder",
    "truncated_weights", "wrong_checksum",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_inspect_refuses_the_schedules_that_runtimes_refuse(shadergen, name):
    folder = FIXTURES / "malformed" / name
    ran = shadergen("inspect", folder)
    if name in OF_FILES:
        assert (ran.code, ran.err) == (0, "")
    else:
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == f"{refused(folder).render()}\n"
