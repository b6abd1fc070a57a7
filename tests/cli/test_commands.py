"""The command line: what it prints, what it writes, and how it exits."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from support import ESPCN, contents
from support.cli_models import (
    SIZE,
)
from support.onnx_models import model, node, write

from shadergen import __version__
from shadergen.backends.kernels import convolution
from shadergen.compiler import compilation, inspection, vocabulary
from shadergen.compiler.arrays import named
from shadergen.compiler.cli.output import bytes_text
from shadergen.compiler.frontends.onnx.ops.pytorch_names import PYTORCH
from shadergen.errors import ShadergenError
from shadergen.ir import text, text_parser


def test_compile_says_what_it_made(shadergen, tmp_path):
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--weights", "constants")
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
    assert "fragment, 1 plane, weights in texture" in ran.out  # few pixels
    assert re.search(r"the lowest of \d+ candidates", ran.out)


@pytest.mark.parametrize(("device", "measured"), [("gles30", False), ("llvmpipe", True)])
def test_explain_gives_milliseconds_only_where_costs_were_measured(
    shadergen, tmp_path, device, measured
):
    arguments = ("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--device", device)
    found = shadergen(*arguments, "--explain", "--json").json["decisions"]
    chosen = [d["why"] for d in found if d["step"] == "choose kernels"]
    compared = [why for why in chosen if why != "the only choice"]
    assert compared
    for why in compared:
        assert ("relative cost" in why, " ms" in why) == (not measured, measured), why


def test_dumped_ir_reads_back(shadergen, tmp_path):
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--dump-ir", tmp_path / "ir")
    assert ran.code == 0
    dumps = sorted((tmp_path / "ir").glob("*.ir"))
    assert [d.stem[3:] for d in dumps][:2] == ["import", "canonicalise"]
    assert dumps[-1].stem[3:] == "allocate_textures"
    for dump in dumps:
        with np.load(dump.with_name("constants.npz")) as arrays:
            printed = dump.read_text()
            assert text.to_text(text_parser.parse(printed, dict(arrays))) == printed


def test_inspect_lists_passes_and_memory(shadergen, build):
    ran = shadergen("inspect", build)
    assert ran.code == 0
    assert (
        "espcn_x2: low 1x16x24x1 (channel-packed) -> subpixel 1x32x48x1 (channel-packed)" in ran.out
    )
    assert "4 planes" in ran.out
    assert " HxW " in ran.out
    assert " 32x48 " in ran.out  # as the shapes above, and as --input-size
    assert "4 GPU passes, 1.26 M multiply-adds, GLSL ES 300" in ran.out
    found = shadergen("inspect", build, "--json").json
    assert [p["name"] for p in found["passes"]] == ["conv1", "conv2", "conv3", "subpixel"]
    assert found["texture_bytes_peak"] < found["texture_bytes_total"]
    assert found["macs"] == sum(p["macs"] for p in found["passes"])


def test_what_lies_in_rows_because_of_a_limit_is_said(shadergen, tmp_path):
    arguments = ("compile", ESPCN, "-o", tmp_path / "b", "--device", "webgl2-min")
    ran = shadergen(*arguments, "--input-size", "16x1200")
    assert "output subpixel is row-packed (see docs/schedule.md): 32x2400 texels, the" in ran.out
    assert "input" not in ran.out
    (last,) = (tmp_path / "b" / "shaders").glob("*_subpixel.frag")
    shader = last.read_text()
    assert "1x1x32x2400, rgba32f 2d of 32x600 texels, in rows\n" in shader
    assert " 32x600 " in shadergen("inspect", tmp_path / "b").out
    notes = shadergen(*arguments, "--input-size", "16x2049", "--json").json["notes"]
    assert notes[0] == (
        "input low is row-packed (see docs/schedule.md): "
        "16x2049 texels, the device profile allows 2048"
    )
    ran = shadergen("inspect", tmp_path / "b")
    assert "low 1x16x2049x1 (row-packed) -> subpixel 1x32x4098x1 (row-packed)" in ran.out
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
    ("word", "source", "says"),
    [
        ("hardswish", "keras activation", "y = hard_swish(x)"),
        ("HARD_SWISH", "onnx ai.onnx", "y = hard_swish(x)"),
        ("hardSwish", "formula", "hard_swish(x) = x * hard_sigmoid(x, 1 / 6, 0.5)"),
        ("torch.nn.PixelShuffle", "pytorch", "Exported to ONNX as DepthToSpace; mode CRD."),
        ("pixel_shuffle", "pytorch", "Exported to ONNX as DepthToSpace; mode CRD."),
        ("bicubic", "pytorch", "Exported to ONNX as Resize; mode cubic, cubic_coeff_a -0.75."),
        (
            "tf.keras.layers.Conv2D",
            "keras layer",
            "Convolve; the kernel has the input channels of one",
        ),
        ("subpixel", "ir", "Rearrange channel blocks into space (pixel shuffle, subpixel)."),
    ],
)
def test_ops_finds_a_name_however_it_is_spelled(shadergen, word, source, says):
    found = shadergen("ops", word, "--json").json
    assert any(e["source"] == source and e["summary"].startswith(says) for e in found), found


def test_ops_lists_the_name_itself_before_longer_ones(shadergen):
    found = [e["name"] for e in shadergen("ops", "linear", "--json").json]
    assert set(found[:2]) == {"linear", "Linear"}
    assert "QLinearConv" in found[2:]


COMMON = (
    "PixelShuffle", "PixelUnshuffle", "bicubic", "bilinear", "nearest", "hardswish",
    "Hardsigmoid", "hard_sigmoid", "GELU", "SiLU", "Swish", "Mish", "ELU", "SELU", "CELU",
    "GLU", "ReLU", "ReLU6", "PReLU", "LeakyReLU", "Hardtanh", "clamp", "clip", "Sigmoid",
    "Tanh", "Softplus", "Softsign", "softmax", "LogSoftmax", "LayerNorm", "BatchNorm2d",
    "GroupNorm", "InstanceNorm2d", "RMSNorm", "normalize", "Conv2d", "ConvTranspose2d",
    "DepthwiseConv2D", "SeparableConv2D", "Upsample", "UpSampling2D", "interpolate", "Resize",
    "AvgPool2d", "MaxPool2d", "AdaptiveAvgPool2d", "GlobalAveragePooling2D",
    "MultiheadAttention", "scaled_dot_product_attention", "LSTM", "GRU", "RNN", "Linear",
    "Dense", "Embedding", "Dropout", "Flatten", "Reshape", "permute", "cat", "Concatenate",
    "split", "matmul", "einsum", "grid_sample", "unfold", "fold", "ReflectionPad2d",
    "ZeroPadding2D", "argmax", "topk", "cumsum", "where",
)  # fmt: skip


@pytest.mark.gl
def test_run_hints_at_labels_where_classes_have_no_names(shadergen, tmp_path):
    nodes = [node("GlobalAveragePool", "x", outputs=("p",)), node("Flatten", "p")]
    path = write(tmp_path, model(nodes, {}, {"x": (1, 3, 8, 8)}, 17))
    Image.new("RGB", (8, 8), (200, 100, 50)).save(tmp_path / "p.png")
    assert shadergen("compile", path, "-o", tmp_path / "b", "--no-validate").code == 0
    hint = "note: --labels FILE gives the classes names"
    assert hint in shadergen("run", tmp_path / "b", tmp_path / "p.png").out
    named = shadergen("run", tmp_path / "b", tmp_path / "p.png", "--labels", "a,b,c").out
    assert hint not in named


def test_the_help_says_how_to_compile_a_network_of_pytorch(shadergen):
    said = shadergen("--help").out
    assert "PyTorch" in said
    assert "compile_model(module, example)" in " ".join(said.split())


def test_ops_finds_the_common_names_of_every_framework_and_says_what_they_are():
    assert len(COMMON) > 60
    for name in COMMON:
        assert vocabulary.matching(name), name
    unclear = [e for e in vocabulary.entries() if len(e.summary.split()) < 2]
    assert not unclear
    assert not [e for e in vocabulary.entries() if set("\n`{") & set(e.summary)]


def test_what_pytorch_exports_is_implemented():
    implemented = {e.name for e in vocabulary.entries() if e.source == "onnx ai.onnx"}
    for names, (operators, _) in PYTORCH.items():
        assert set(operators.split(", ")) <= implemented, names


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("NonMaxSuppression", "the number of boxes depends on their scores"),
        ("nonmax", "end the model before the operator with --outputs NAME,..."),
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


@pytest.mark.parametrize("word", ["svd", "aten.median"])
def test_ops_names_no_operators_that_are_hardly_alike(shadergen, word):
    ran = shadergen("ops", word)
    assert ran.code == 2
    assert "nearest" not in ran.err
    assert "did you mean" not in ran.err


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
    assert "not checked: how shadergen reads the model" in ran.out
    assert "matches numpy: 6 GPU passes" in ran.out


@pytest.mark.gl
def test_verify_prints_notes_of_several_lines_line_by_line(shadergen, monkeypatch):
    from shadergen.compiler import expectations

    own = expectations.choose_reference
    said = "keras cannot run this model: why\nset TENSORFLOW_PYTHON"
    monkeypatch.setattr(expectations, "choose_reference", lambda *a: (own(*a)[0], said))
    ran = shadergen("verify", ESPCN, *SIZE, "--reference", "numpy")
    assert f"\n{said}\n" in ran.out


@pytest.mark.gl
def test_verify_exits_with_1_when_results_differ(shadergen, monkeypatch):
    monkeypatch.setattr(convolution, "first_tap", lambda *known: convolution.PIXEL)
    ran = shadergen("verify", ESPCN, *SIZE, "--reference", "numpy")
    assert ran.code == 1
    assert "differs" in ran.out
    assert "DIFFERS FROM numpy" in ran.out
    hint = "--layers names the first wrong layer; --bisect finds what makes it wrong"
    assert ran.out.endswith(f"{hint}\n")
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


# --- bugs -----------------------------------------------------------------------------------------


def test_a_bug_exits_with_70_and_says_where_the_graph_was_left(
    shadergen, build, tmp_path, monkeypatch
):
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(compilation, "lower", broken)
    shutil.copytree(build, tmp_path / "build")
    before = contents(tmp_path / "build")
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "build", *SIZE, "--dump-ir", tmp_path / "ir")
    assert ran.code == 70
    left = tmp_path / "ir" / "failed_after_allocate_textures.ir"
    said = f"internal error: ZeroDivisionError: a bug\nthe graph was left in {left}\n"
    assert ran.err.startswith(said)
    assert "please report it" in ran.err
    assert left.is_file()
    assert contents(tmp_path / "build") == before


def test_a_bug_outside_the_pipeline_exits_with_70_and_a_traceback(shadergen, build, monkeypatch):
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(inspection, "inspection", broken)
    ran = shadergen("inspect", build)
    assert ran.code == 70
    assert ran.err.startswith("Traceback")
    assert "\ninternal error: ZeroDivisionError('a bug')\n" in ran.err


def test_one_array_for_two_inputs_is_refused_by_their_names(tmp_path):
    with pytest.raises(ShadergenError) as caught:
        named({"": np.zeros(3)}, ["left", "right"])
    assert (caught.value.what, caught.value.supported) == (
        "one .npy cannot fill 2 inputs", "an .npz with the arrays left, right"
    )  # fmt: skip


def test_nothing_heavy_is_imported_for_help():
    code = "import sys, shadergen.compiler.cli; print([m for m in sys.modules if m in sys.argv])"
    heavy = ("numpy", "lark", "h5py", "onnx", "jinja2", "keras", "OpenGL")
    ran = subprocess.run(
        [sys.executable, "-c", code, *heavy], capture_output=True, text=True, env=os.environ
    )
    assert ran.stdout == "[]\n"
