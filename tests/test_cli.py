"""The command line: what it prints, what it writes, how it exits, and what it leaves alone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from support import ESPCN

from shadergen import __version__
from shadergen.backends.lower import convolution
from shadergen.compiler import driver, inspection, vocabulary
from shadergen.compiler.cli.output import bytes_text
from shadergen.compiler.running import named
from shadergen.errors import ShadergenError
from shadergen.ir import text

SIZE = ("--input-size", "16x24")


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    """Return a build of the shipped network."""
    folder = tmp_path_factory.mktemp("module") / "build"
    driver.compile_model(ESPCN, folder, driver.Options(input_size={"": (16, 24)}))
    return folder


def contents(folder: Path) -> dict[str, str]:
    """Return every path below a folder, with a digest of what it holds."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        if p.is_file()
        else ""
        for p in folder.rglob("*")
    }


# --- what works ----------------------------------------------------------------------------------


def test_compile_says_what_it_made(shadergen, tmp_path):
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE)
    assert (ran.code, ran.err) == (0, "")
    assert f"{tmp_path / 'b'}: 4 GPU passes, 1.26 M multiply-adds" in ran.out.replace("\n", "")
    assert "glslang" in ran.out
    assert " KiB of textures, weights in the shaders" in ran.out
    assert sorted(p.name for p in (tmp_path / "b").iterdir()) == [
        "schedule.json", "shaders", "weights.bin"
    ]  # fmt: skip
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


PLANES = {1: "4 planes", 2: "4 planes", 3: "1 plane"}  # of a GPU pass of each convolution of ESPCN


def test_compile_as_json_is_parseable_and_explains(shadergen, tmp_path):
    ran = shadergen(
        "compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--weights", "texture", "--json", "--explain"
    )
    found = ran.json
    assert (found["passes"], found["macs"]) == (4, 16 * 24 * (25 * 16 + 9 * 16 * 16 + 9 * 16 * 4))
    assert found["weight_bytes"] == (tmp_path / "b" / "weights.bin").stat().st_size > 0
    stored = [d for d in found["decisions"] if d["step"] == "choose kernels"]
    assert [(d["subject"], d["decision"]) for d in stored] == [
        *((f"conv{k}", f"fragment, {planes}, weights in texture") for k, planes in PLANES.items()),
        ("subpixel", "fragment, 1 plane"),
    ]
    assert (
        "decisions" not in shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--json").json
    )


def test_explain_prints_every_decision(shadergen, tmp_path):
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--explain")
    assert "fragment, 4 planes, weights in constants" in ran.out
    assert "the least of 9" in ran.out


def test_dumped_ir_reads_back(shadergen, tmp_path):
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--dump-ir", tmp_path / "ir")
    assert ran.code == 0
    dumps = sorted((tmp_path / "ir").glob("*.ir"))
    assert [d.stem[3:] for d in dumps][:2] == ["import", "canonicalise"]
    assert dumps[-1].stem[3:] == "plan_textures"
    for dump in dumps:
        with np.load(dump.with_name("constants.npz")) as arrays:
            assert text.to_text(text.parse(dump.read_text(), dict(arrays))) == dump.read_text()


def test_inspect_lists_passes_and_memory(shadergen, build):
    ran = shadergen("inspect", build)
    assert ran.code == 0
    assert "espcn_x2: low 1x16x24x1 in planes -> subpixel 1x32x48x1 in planes" in ran.out
    assert "4 planes" in ran.out
    assert "4 GPU passes, 1.26 M multiply-adds, GLSL ES 300" in ran.out
    found = shadergen("inspect", build, "--json").json
    assert [p["name"] for p in found["passes"]] == ["conv1", "conv2", "conv3", "subpixel"]
    assert found["texture_bytes_peak"] < found["texture_bytes_total"]
    assert found["macs"] == sum(p["macs"] for p in found["passes"])


def test_what_lies_in_rows_because_of_a_limit_is_said(shadergen, tmp_path):
    arguments = ("compile", ESPCN, "-o", tmp_path / "b", "--device", "webgl2-min")
    ran = shadergen(*arguments, "--input-size", "16x1200")
    assert "output subpixel lies in rows, not in planes: 2400x32 texels, the device" in ran.out
    assert "input" not in ran.out
    notes = shadergen(*arguments, "--input-size", "16x2049", "--json").json["notes"]
    assert notes[0] == (
        "input low lies in rows, not in planes: 2049x16 texels, the device profile allows 2048"
    )
    ran = shadergen("inspect", tmp_path / "b")
    assert "low 1x16x2049x1 in rows -> subpixel 1x32x4098x1 in rows" in ran.out
    found = shadergen("inspect", tmp_path / "b", "--json").json
    assert {p["packing"] for p in found["passes"]} == {"rows"}


def test_the_memory_of_textures_is_what_the_schedule_adds_up_to(shadergen, tmp_path):
    found = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--json").json
    schedule = json.loads((tmp_path / "b" / "schedule.json").read_text())
    slots: dict[object, int] = {}
    for t in schedule["textures"]:
        size = t["width"] * t["height"] * t["layers"] * {"r32f": 4, "rgba32f": 16}[t["format"]]
        slot = t["name"] if t["slot"] is None else t["slot"]
        slots[slot] = max(slots.get(slot, 0), size)
    assert found["texture_bytes_peak"] == sum(slots.values())
    assert shadergen("inspect", tmp_path / "b", "--json").json["texture_bytes_peak"] == sum(
        slots.values()
    )


@pytest.mark.parametrize(
    ("number", "said"),
    [(1000, "1000 B"), (1 << 20, "1 MiB"), (1010 << 20, "1010 MiB"), (14 << 30, "14 GiB"),
     (5000 << 30, "5000 GiB")],
)  # fmt: skip
def test_sizes_are_never_in_scientific_notation(number, said):
    assert bytes_text(number) == said


def test_ops_lists_what_has_a_word_in_its_name(shadergen):
    found = shadergen("ops", "lstm", "--json").json
    assert {("onnx ai.onnx", "LSTM"), ("keras layer", "LSTM"), ("keras cell", "LSTMCell")} <= {
        (e["source"], e["name"]) for e in found
    }


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("NonMaxSuppression", "how many boxes are kept depends on their scores"),
        ("nonmax", "leave it to the application, by ending the model before it: --outputs"),
        ("lambda", "Lambda needs a definition: its Python code is never loaded from a model"),
        ("StringLook", "StringLookup is a layer of Keras that is not implemented"),
        ("Conv2dd", "did you mean 'Conv2D'?"),
        ("PoolMax2D", "the nearest are "),
    ],
)
def test_ops_says_what_compile_would_of_what_is_not_there(shadergen, word, says):
    ran = shadergen("ops", word)
    assert ran.code == 2
    assert ran.err.startswith(f"error[SG0201]: nothing called '{word}' is implemented\n")
    assert says in ran.err


def test_what_ops_says_is_left_out_is_keras_or_onnx_and_not_implemented():
    names = {name for name, _ in vocabulary._left_out()}
    assert {"NonMaxSuppression", "Lambda", "Wrapper"} <= names
    assert not names & {e.name for e in vocabulary.entries()}
    assert all(len(name) > 2 for name in names)


@pytest.mark.gl
def test_run_upscales_a_picture_and_keeps_its_colours(shadergen, build, tmp_path):
    rng = np.random.default_rng(0)
    smooth = Image.fromarray(rng.integers(0, 255, (4, 6, 3), np.uint8)).resize((24, 16))
    smooth.save(tmp_path / "in.png")
    ran = shadergen("run", build, tmp_path / "in.png", "-o", tmp_path / "out.png")
    assert ran.code == 0
    assert "4 GPU passes on " in ran.out
    with Image.open(tmp_path / "out.png") as out:
        assert (out.size, out.mode) == ((48, 32), "RGB")
        error = np.abs(np.asarray(out.resize((24, 16)), int) - np.asarray(smooth, int))
    assert error.mean() < 8
    smooth.convert("L").save(tmp_path / "gray.png")
    assert shadergen("run", build, tmp_path / "gray.png", "-o", tmp_path / "out.png").code == 0
    with Image.open(tmp_path / "out.png") as out:
        assert out.mode == "L"


@pytest.mark.gl
def test_run_takes_and_gives_arrays_in_the_models_shape(shadergen, build, tmp_path):
    x = np.random.default_rng(0).random((1, 16, 24, 1)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", low=x)
    ran = shadergen("run", build, tmp_path / "x.npz", "-o", tmp_path / "y.npz", "--json")
    assert ran.json["passes"] == 4
    assert shadergen("run", build, tmp_path / "x.npy", "-o", tmp_path / "y.npy").code == 0
    with np.load(tmp_path / "y.npz") as arrays:
        assert list(arrays) == ["subpixel"]
        assert arrays["subpixel"].shape == (1, 32, 48, 1)
        np.testing.assert_array_equal(arrays["subpixel"], np.load(tmp_path / "y.npy"))


@pytest.mark.gl
def test_verify_compares_with_keras_and_with_given_inputs(shadergen, tmp_path):
    found = shadergen("verify", ESPCN, *SIZE, "--json").json
    assert (found["ok"], found["reference"], found["passes"]) == (True, "keras", 4)
    (output,) = found["outputs"]
    assert 0 < output["max_error"] <= output["bound"] < 2e-4
    np.save(tmp_path / "x.npy", np.full((1, 16, 24, 1), 0.5, np.float32))
    ran = shadergen(
        "verify", ESPCN, *SIZE, "--reference", "numpy", "--input", tmp_path / "x.npy",
        "--precision", "fp16", "--mrt", "2",
    )  # fmt: skip
    assert ran.code == 0
    assert "matches numpy (how the model was read is not checked): 6 GPU passes" in ran.out


@pytest.mark.gl
def test_verify_exits_with_1_when_results_differ(shadergen, monkeypatch):
    monkeypatch.setattr(convolution, "_corner", lambda conv: "o")
    ran = shadergen("verify", ESPCN, *SIZE, "--reference", "numpy")
    assert ran.code == 1
    assert "differs" in ran.out
    assert "DIFFERS FROM numpy" in ran.out
    assert not shadergen("verify", ESPCN, *SIZE, "--reference", "numpy", "--json").json["ok"]


def test_help_version_and_the_module_answer(shadergen):
    assert shadergen("--version").out == f"shadergen {__version__}\n"
    assert "compile" in shadergen("--help").out
    ran = subprocess.run(
        [sys.executable, "-m", "shadergen", "frobnicate"], capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert "No such command" in ran.stderr
    assert "Traceback" not in ran.stderr


# --- what is refused -----------------------------------------------------------------------------


def altered(folder: Path, change: Any, name: str = "altered.h5") -> Path:
    """Copy the shipped model and change the open copy."""
    path = folder / name
    shutil.copyfile(ESPCN, path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def layer(number: int, **entries: object) -> Any:
    def change(file: h5py.File) -> None:
        config = json.loads(file.attrs["model_config"])
        entry = config["config"]["layers"][number]
        entry.update(entries)
        entry["config"].update({"name": entry["name"], "trainable": True, "dtype": "float32"})
        file.attrs["model_config"] = json.dumps(config)

    return change


def onnx(folder: Path, *nodes: Any, domains: tuple[str, ...] = (), **inits: np.ndarray) -> Path:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 16, 24))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in inits.items()],
    )
    imports = [helper.make_opsetid(d, 1) for d in domains]
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), *imports])
    model.ir_version = 8
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def zipped(folder: Path, name: str, *members: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, b"")
    return path


def weights_only(file: h5py.File) -> None:
    del file.attrs["model_config"]
    for key in list(file["model_weights"]):
        file.move(f"model_weights/{key}", key)
    file.attrs["layer_names"] = file["model_weights"].attrs["layer_names"]
    del file["model_weights"]


def poison(file: h5py.File) -> None:
    file["model_weights/conv2/conv2/kernel"][0, 0, 0, 0] = np.nan


CODE = {"class_name": "__lambda__", "config": {"code": "4wEA", "defaults": None, "closure": None}}
LAMBDA = {"class_name": "Lambda", "config": {"function": CODE, "arguments": {}}}
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
        lambda d: altered(d, layer(4, **LAMBDA)), SIZE, "SG0203", "'subpixel' has no definition"
    ),
    "NaN weights": (lambda d: altered(d, poison), SIZE, "SG0106", "not finite"),
    "dynamic size": (lambda d: ESPCN, (), "SG0204", "--input-size HxW"),
    "not a size": (lambda d: ESPCN, ("--input-size", "16"), "SG0301", "1 numbers"),
    "size 0": (lambda d: ESPCN, ("--input-size", "0x9"), "SG0301", "a size of 0"),
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
        lambda d: onnx(d, helper.make_node("Conv", ["x", "w"], ["y"], "c1"), w=BIG),
        ("--weights", "ubo", "--mrt", "4"), "SG0402",
        "a GPU pass reads 20736 bytes, the limit is 16384",
    ),
    "kernel beyond the units": (
        lambda d: onnx(d, helper.make_node("Concat", ["x"] * 20, ["a"], axis=1),
                       helper.make_node("Conv", ["a", "w"], ["y"], "c1"), w=np.ones((4, 80, 1, 1))),
        ("--textures", "2d"), "SG0402", "texture units",
    ),
    "no storage buffers": (lambda d: ESPCN, (*SIZE, "--weights", "ssbo"), "SG0403", "--glsl 310"),
    "too many targets": (lambda d: ESPCN, (*SIZE, "--mrt", "9"), "SG0402", "4 draw buffers"),
    "unknown device": (lambda d: ESPCN, (*SIZE, "--device", "webgl2"), "SG0301", "webgl2-min"),
    "encoding": (
        lambda d: onnx(d, helper.make_node("Relu", ["x"], ["y"])), ("--output-encoding", "y2rg"),
        "SG0301", "needs outputs of one channel",
    ),
    "preprocessing": (lambda d: ESPCN, (*SIZE, "--preprocess", "mean=a"), "SG0301", "mean=a"),
    "guard": (lambda d: ESPCN, (*SIZE, "--zero-guard", "1e39"), "SG0301", "--zero-guard 1e+39"),
    "no formulas": (
        lambda d: ESPCN, (*SIZE, "--define", "nowhere.ops"), "SG0101",
        "the definitions in 'nowhere.ops'\n  = why: No such file",
    ),
    "formulas in bytes": (
        lambda d: ESPCN, (*SIZE, "--define", str(ESPCN)), "SG0101",
        "why: it is no text\n  = help: --define takes a text file"
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
    Image.new("RGB", (9, 9)).save(tmp_path / "small.png")
    (tmp_path / "no.png").write_text("hello")
    (tmp_path / "y.npy").write_text("earlier")
    (tmp_path / "y.png").write_text("earlier")
    before = contents(tmp_path)
    for source, output, code, says in (
        ("none.npy", "y.npy", "SG0101", "none.npy"),
        ("object.npy", "y.npy", "SG0101", "object.npy"),
        ("text.npy", "y.npy", "SG0605", "element type <U1"),
        ("complex.npy", "y.npy", "SG0605", "the array has element type complex64\n  = supported"),
        ("small.npy", "y.npy", "SG0605", "8"),
        ("other.npz", "y.npy", "SG0605", "missing: ['low']; unknown: ['photo']"),
        ("small.png", "y.png", "SG0605", "the build takes 16 rows of 24"),
        ("no.png", "y.png", "SG0101", "as a picture"),
        ("x.npy", "y.txt", "SG0605", ".npz, .npy, .png"),
        ("x.npy", "y.png", "SG0605", "made from arrays"),
        ("x.npy", "none/y.npy", "SG0501", "is not a folder"),
    ):
        ran = shadergen("run", build, tmp_path / source, "-o", tmp_path / output)
        assert ran.code == 2, source
        assert ran.err.startswith(f"error[{code}]: "), ran.err
        assert says in ran.err
        assert contents(tmp_path) == before


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


# --- bugs ----------------------------------------------------------------------------------------


def test_a_bug_exits_with_70_and_says_where_the_graph_was_left(
    shadergen, build, tmp_path, monkeypatch
):
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(driver, "lower", broken)
    shutil.copytree(build, tmp_path / "build")
    before = contents(tmp_path / "build")
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "build", *SIZE, "--dump-ir", tmp_path / "ir")
    assert ran.code == 70
    left = tmp_path / "ir" / "failed_after_plan_textures.ir"
    said = f"internal error: ZeroDivisionError: a bug\nthe graph was left in {left}\n"
    assert ran.err.startswith(said)
    assert "please report it" in ran.err
    assert left.is_file()
    assert contents(tmp_path / "build") == before


def test_a_bug_outside_the_pipeline_exits_with_70_and_a_traceback(shadergen, build, monkeypatch):
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(inspection, "_inspection", broken)
    ran = shadergen("inspect", build)
    assert ran.code == 70
    assert ran.err.startswith("Traceback")
    assert "\ninternal error: ZeroDivisionError('a bug')\n" in ran.err


# --- definitions ---------------------------------------------------------------------------------


def definitions(folder: Path, content: str) -> tuple[str, Path]:
    return "--define", written(folder, "my.ops", content.encode())


@pytest.mark.gl
def test_a_lambda_compiles_once_it_is_defined(shadergen, tmp_path):
    model = altered(tmp_path, layer(4, **LAMBDA))
    define = definitions(tmp_path, 'subpixel(x) = depth_to_space(x, block=2, order="dcr")')
    ran = shadergen("compile", model, "-o", tmp_path / "b", *SIZE, *define)
    assert ran.code == 0, ran.err
    assert shadergen("compile", ESPCN, "-o", tmp_path / "c", *SIZE).code == 0
    for name in ("weights.bin", "shaders/03_subpixel.frag"):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "c" / name).read_bytes()
    assert shadergen("verify", model, *SIZE, *define, "--reference", "numpy").code == 0


@pytest.mark.gl
def test_an_operator_of_a_foreign_domain_compiles_once_it_is_defined(shadergen, tmp_path):
    swell = helper.make_node("Swell", ["x", "r"], ["y"], "s1", domain="my.own", gain=0.5)
    model = onnx(tmp_path, swell, domains=("my.own",), r=np.arange(4).reshape(1, 4, 1, 1))
    text_ = '"my.own::Swell"(x, r, gain, beta=2) = twice(gain * x) + r - beta\ntwice(x) = 2 * x'
    ran = shadergen("compile", model, "-o", tmp_path / "b", *definitions(tmp_path, text_), "--json")
    assert ran.code == 0, ran.err
    x = np.random.default_rng(0).random((1, 4, 16, 24)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    assert shadergen("run", tmp_path / "b", tmp_path / "x.npy", "-o", tmp_path / "y.npy").code == 0
    want = x + np.arange(4).reshape(1, 4, 1, 1) - 2
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), want, atol=1e-5)


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        ("subpixel(x) = x +", "SG0302", "my.ops, line 1"),
        ("subpixel(x, gain) = x * gain", "SG0303", "parameter 'gain' has no value"),
        ("subpixel(x) = depth_to_spice(x)", "SG0303", "did you mean 'depth_to_space'?"),
        ("subpixel(x) = depth_to_space(x, blok=2)", "SG0303", "has no attribute 'blok'"),
        ('subpixel(x) = depth_to_space(x, block=2, order="rcd")', "SG0303", "'crd', 'dcr'"),
        ("subpixel(x) = depth_to_space(x, block=1.5)", "SG0303", "block=1.5 is not an integer"),
        ("subpixel(x) = depth_to_space(x, block=size)", "SG0303", "'size' is not a parameter"),
        ("subpixel(x) = depth_to_space(x, block=3)", "SG0205", "4 channels do not divide"),
        ("subpixel(x) = subpixel(x)", "SG0303", "'subpixel' calls itself"),
        ("subpixel(x) = relu(x, alpha=1)", "SG0303", "supported: no keyword arguments"),
        ("subpixel(x) = x * y", "SG0303", "'y' is not a parameter"),
        ("subpixel(x) = f(x, a=z)\nf(x, a=1) = x * a", "SG0303", "'z' is not a parameter"),
        ('subpixel(x, m="up") = x * m', "SG0303", "not a number"),
    ],
)  # fmt: skip
def test_definitions_that_do_not_work_are_explained(shadergen, tmp_path, content, code, says):
    model = altered(tmp_path, layer(4, **LAMBDA))
    define = definitions(tmp_path, content)
    before = contents(tmp_path)
    ran = shadergen("compile", model, "-o", tmp_path / "b", *SIZE, *define)
    assert ran.code == 2
    assert ran.err.startswith(f"error[{code}]: ")
    assert says in ran.err
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("subpixle(x) = x", "= help: --define defines 'subpixle'; did you mean 'subpixel'?\n"),
        ("a(x) = x\nb(x) = x", "= help: --define defines 'a', 'b'\n"),
    ],
)
def test_a_definition_under_another_name_is_named(shadergen, tmp_path, content, says):
    model = altered(tmp_path, layer(4, **LAMBDA))
    arguments = ("compile", model, "-o", tmp_path / "b", *SIZE)
    ran = shadergen(*arguments, *definitions(tmp_path, content))
    assert ran.err.startswith("error[SG0203]: Lambda layer 'subpixel' has no definition\n")
    assert says in ran.err
    assert "--define defines" not in shadergen(*arguments).err


def test_a_custom_layer_is_to_be_defined_under_its_class(shadergen, tmp_path):
    model = altered(tmp_path, layer(1, class_name="Own", registered_name="mine>Own"))
    ran = shadergen("compile", model, "-o", tmp_path / "b", *SIZE)
    assert "for example: Own(x) = x * sigmoid(x)\n" in ran.err


def test_a_definition_that_was_not_used_is_said(shadergen, tmp_path):
    define = definitions(tmp_path, "conf1(x) = x\nother(x) = x")
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, *define)
    assert "definition conf1 was not used: did you mean 'conv1'?\n" in ran.out
    assert "definition other was not used\n" in ran.out


def test_one_array_for_two_inputs_is_refused_by_their_names(tmp_path):
    with pytest.raises(ShadergenError) as caught:
        named({"": np.zeros(3)}, ["left", "right"])
    assert (caught.value.what, caught.value.supported) == (
        "one .npy for 2 inputs", "an .npz with left, right"
    )  # fmt: skip


def test_nothing_heavy_is_imported_for_help():
    code = "import sys, shadergen.compiler.cli; print([m for m in sys.modules if m in sys.argv])"
    heavy = ("numpy", "lark", "h5py", "onnx", "jinja2", "keras", "OpenGL")
    ran = subprocess.run(
        [sys.executable, "-c", code, *heavy], capture_output=True, text=True, env=os.environ
    )
    assert ran.stdout == "[]\n"
