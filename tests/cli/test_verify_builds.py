"""``verify --build``, ``verify --input PICTURE``, and what commands print while they work."""

from __future__ import annotations

import json
import re
import time

import numpy as np
import pytest
from PIL import Image
from support import ESPCN
from support.onnx_models import node, normal, typed_model, write

from shadergen.compiler import driver
from shadergen.compiler.cli import output

pytestmark = pytest.mark.gl
NUMPY = ("--reference", "numpy")


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    path = tmp_path_factory.mktemp("picture") / "photo.png"
    pixels = np.random.default_rng(5).integers(0, 256, (30, 44, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def halved(folder, *shape: object):
    """Write a network that halves a picture's numbers; its sizes may be names."""
    folder.mkdir(exist_ok=True)
    feeds = {"x": np.zeros([s if isinstance(s, int) else 8 for s in shape], np.float32)}
    proto = typed_model(
        [node("Mul", "x", "half")], {"half": np.float32([0.5])}, feeds, {"y": np.float32}, opset=17
    )
    for k, size in enumerate(shape):
        if not isinstance(size, int):
            proto.graph.input[0].type.tensor_type.shape.dim[k].dim_param = size
    return write(folder, proto)


def test_a_build_matches_the_model_it_was_made_of(shadergen, build):
    found = shadergen("verify", ESPCN, "--build", build, *NUMPY, "--json").json
    assert (found["ok"], found["reference"], found["passes"]) == (True, "numpy", 4)
    assert found["outputs"][0]["shape"] == [1, 32, 48, 1]
    assert 0 < found["outputs"][0]["max_error"] <= found["outputs"][0]["bound"] < 2e-4


def test_a_build_whose_shader_was_edited_differs(shadergen, tmp_path):
    driver.compile_model(ESPCN, tmp_path / "b", driver.Options(input_size={"": (16, 24)}))
    shader = tmp_path / "b" / "shaders" / "00_conv1.frag"
    text, edits = re.subn(r"exp\(2\.0", "exp(1.0", shader.read_text())
    assert edits
    shader.write_text(text)
    ran = shadergen("verify", ESPCN, "--build", tmp_path / "b", *NUMPY)
    assert ran.code == 1
    assert "DIFFERS FROM numpy" in ran.out
    before, _, after = ran.out.partition("DIFFERS FROM numpy")
    assert "give verify the same" not in before
    says = " ".join(after.split())
    assert f"if shadergen verify {ESPCN} --layers differs too, the compiler" in says
    assert f"shadergen diff {tmp_path / 'b'} fresh names the shaders that changed" in says
    assert "give verify the same --inputs, --outputs, --input-value" in says
    assert "--layers names" not in ran.out  # it does not go with --build


def test_the_build_of_another_model_is_refused(shadergen, build, tmp_path):
    for shape in ((1, 1, 16, 24), (1, 1, "h", "w")):
        ran = shadergen("verify", halved(tmp_path, *shape), "--build", build)
        assert ran.code == 2
        assert f"error[SG0605]: '{build}' is not a build of this model" in ran.err
        assert "= why: the build has the input low; the model has x" in ran.err


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        (("--precision", "mediump"), 1e-2),
        (("--weight-format", "float16", "--weights", "texture"), 1e-2),
        (("--weight-format", "int8", "--weights", "texture"), 1e-1),
        (("--output-encoding", "unorm8"), 1e-4 + 0.5 / 255),
        (("--output-encoding", "y2rg"), 1e-4),
        (("--device", "gles30,mali-valhall"), 1e-4),
    ],
    ids=lambda value: "-".join(value).strip("-") if isinstance(value, tuple) else None,
)
def test_errors_are_judged_by_the_formats_of_the_build(shadergen, tmp_path, options, bound):
    size = ("--input-size", "16x24", "--no-validate")
    assert shadergen("compile", ESPCN, "-o", tmp_path / "b", *size, *options).code == 0
    found = shadergen("verify", ESPCN, "--build", tmp_path / "b", *NUMPY, "--json").json
    assert found["ok"]
    assert bound <= found["outputs"][0]["bound"] < 2 * bound


def test_options_that_change_the_model_are_given_again(shadergen, tmp_path):
    model = halved(tmp_path, 1, 3, 16, 24)
    options = ("--preprocess", "scale=4,input=unorm8")
    build = tmp_path / "b"
    assert shadergen("compile", model, "-o", build, "--no-validate", *options).code == 0
    assert shadergen("verify", model, "--build", build, *NUMPY, *options).code == 0
    assert shadergen("verify", model, "--build", build, *NUMPY).code == 1


@pytest.mark.parametrize("option", ["--layers", "--bisect", "--no-validate"])
def test_what_compiles_does_not_go_with_a_build(shadergen, build, option):
    ran = shadergen("verify", ESPCN, "--build", build, option)
    assert ran.code == 2
    assert f"{option} does not go with --build" in ran.err
    if option != "--no-validate":
        assert f"help: shadergen verify {ESPCN} {option} shows whether the compiler" in ran.err


def test_a_build_in_place_of_the_model_is_refused_with_the_way_to_verify_it(shadergen, build):
    ran = shadergen("verify", build)
    assert ran.code == 2
    assert f"shadergen verify MODEL --build {build}" in ran.err


def test_a_dynamic_build_is_verified_at_the_size_of_a_picture(shadergen, picture, tmp_path):
    model = halved(tmp_path, 1, 3, "h", "w")
    dynamic = driver.Options(dynamic=True, validate=False)
    driver.compile_model(model, tmp_path / "b", dynamic)
    ran = shadergen("verify", model, "--build", tmp_path / "b", "--input", picture, *NUMPY)
    assert (ran.code, "1x3x30x44" in ran.out) == (0, True)
    assert "scaled" not in ran.out
    ran = shadergen("verify", model, "--build", tmp_path / "b", "--input-size", "8x8")
    assert "use --input FILE to set the size of a dynamic build" in ran.err


@pytest.mark.parametrize(
    ("shape", "options", "size"),
    [
        ((1, 3, "h", "w"), (), "30x44"),
        ((1, 3, "h", "w"), ("--input-size", "dynamic"), "30x44"),
        ((1, 3, "h", "w"), ("--input-size", "8x12"), "8x12"),
        ((1, 3, 8, 8), (), "8x8"),
    ],
    ids=["open", "dynamic", "chosen", "declared"],
)
def test_a_picture_is_an_input_of_verify(shadergen, picture, tmp_path, shape, options, size):
    model = halved(tmp_path, *shape)
    ran = shadergen("verify", model, "--input", picture, *options, *NUMPY)
    assert (ran.code, f"1x3x{size}" in ran.out) == (0, True)
    note = f"the picture of 30x44 was scaled to {size}"
    assert (note in ran.out) == (size != "30x44")


def test_a_picture_cannot_fill_two_inputs(shadergen, picture, tmp_path):
    feeds = {name: normal(1, 3, 8, 8) for name in ("a", "b")}
    model = write(
        tmp_path, typed_model([node("Add", "a", "b")], {}, feeds, {"y": np.float32}, opset=17)
    )
    ran = shadergen("verify", model, "--input", picture)
    assert "error[SG0605]: one picture cannot fill 2 inputs" in ran.err


def test_view_scales_a_picture_to_the_build(shadergen, build, picture, tmp_path):
    ran = shadergen("view", build, picture, "-o", tmp_path / "view.html")
    assert ran.code == 0
    assert "note: the picture of 30x44 was scaled to 16x24" in ran.out


def test_run_prints_the_note_of_several_pictures_once(shadergen, build, picture, tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "in" / f"{name}.png").write_bytes(picture.read_bytes())
    ran = shadergen("run", build, tmp_path / "in", "-o", tmp_path / "out")
    notes = [line for line in ran.out.splitlines() if line.startswith("note: ")]
    assert notes
    assert len(set(notes)) == len(notes)
    assert all(note.endswith(" (3 of 3 pictures)") for note in notes)


def test_height_and_width_replace_those_that_a_model_declares(shadergen, tmp_path):
    model = halved(tmp_path, 1, 3, 8, 8)
    for size in ("16x20", "1x3x16x20", "dynamic:16x20"):
        ran = shadergen("verify", model, "--input-size", size, "--reference", "onnxruntime")
        assert ran.code == 0, ran.err
        assert "1x3x16x20" in ran.out
    ran = shadergen("compile", model, "-o", tmp_path / "b", "--input-size", "16x20")
    assert "16x20 instead of the declared 8x8; height is axis 2, width axis 3" in ran.out
    schedule = json.loads((tmp_path / "b/schedule.json").read_text())
    assert schedule["inputs"][0]["shape"] == [1, 3, 16, 20]


def test_keras_computes_a_model_at_another_size_than_it_declares(shadergen, tmp_path):
    keras = pytest.importorskip("keras")
    x = keras.Input((8, 8, 3))
    small = keras.layers.Conv2D(4, 3, strides=2, padding="same")(x)
    both = keras.layers.Concatenate()([keras.layers.UpSampling2D(2)(small), x])
    keras.Model(x, keras.layers.Conv2D(3, 3, padding="same")(both)).save(tmp_path / "u.keras")
    ran = shadergen("verify", tmp_path / "u.keras", "--input-size", "12x20", "--reference", "keras")
    assert ran.code == 0, ran.err
    assert "1x12x20x3" in ran.out
    named = {"z": keras.layers.Conv2D(2, 1)(both), "a": keras.layers.Conv2D(3, 1)(small)}
    keras.Model(x, named).save(tmp_path / "n.keras")
    for outputs in ((), ("--outputs", "concatenate")):
        ran = shadergen(
            *("verify", tmp_path / "n.keras", "--input-size", "12x20", "--reference", "keras"),
            *outputs,
        )
        assert ran.code == 0, ran.err
    keras.Model(x, keras.layers.Dense(2)(keras.layers.Flatten()(x))).save(tmp_path / "d.keras")
    ran = shadergen("verify", tmp_path / "d.keras", "--input-size", "12x20")
    assert ran.code == 2
    assert (
        "the file may hold constants computed for its declared size: omit --input-size" in ran.err
    )


def test_only_height_and_width_of_a_declared_shape_can_be_replaced(shadergen, tmp_path):
    model = halved(tmp_path, 1, 3, 8, 8)
    for command in (("verify",), ("compile", "-o", tmp_path / "b")):
        ran = shadergen(command[0], model, *command[1:], "--input-size", "1x4x16x16")
        assert ran.code == 2
        assert "--input-size gives 4 for an axis of size 3" in ran.err
        assert "two kinds of sizes can be set: the height and width" in ran.err


def test_long_work_prints_its_steps_where_stderr_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(output, "LOG_INTERVAL", 0.05)
    with output.progress_line() as log:
        log("reading every tensor")
        time.sleep(0.2)
    assert re.search(r"^reading every tensor \(0 s\)$", capsys.readouterr().err, re.M)
    monkeypatch.setattr(output, "LOG_INTERVAL", 60)
    with output.progress_bar() as log:
        log("short work", 1, 2)
    assert capsys.readouterr().err == ""


def test_run_says_when_a_result_is_no_picture(shadergen, picture, tmp_path):
    x = {"x": np.zeros((1, 3, 30, 44), np.float32)}
    proto = typed_model(
        [node("Mul", "x", "f")], {"f": np.float32([255])}, x, {"y": np.float32}, opset=17
    )
    model = write(tmp_path, proto)
    assert shadergen("compile", model, "-o", tmp_path / "b").code == 0
    ran = shadergen("run", tmp_path / "b", picture, "-o", tmp_path / "y.png")
    assert ran.code == 0
    assert "of the values lie far outside 0..1 (0 to 255) and are clipped" in ran.out


def test_onnxruntime_computes_a_part_at_another_size_than_declared(shadergen, tmp_path):
    x = {"x": np.zeros((1, 3, 8, 8), np.float32)}
    nodes = [node("Relu", "x", outputs=("a",)), node("Neg", "a", outputs=("y",))]
    path = write(tmp_path, typed_model(nodes, {}, x, {"y": np.float32}, opset=17))
    ran = shadergen(
        *("verify", path, "--input-size", "12x20", "--outputs", "a"),
        *("--reference", "onnxruntime"),
    )
    assert ran.code == 0, ran.err


def test_inputs_that_no_reference_takes_are_refused_at_every_size(shadergen, tmp_path):
    x = {"x": np.zeros((1, 3, 8, 8), np.float32), "i": np.zeros(1, np.int64)}
    path = write(
        tmp_path,
        typed_model([node("Gather", "x", "i", axis=1)], {}, x, {"y": np.float32}, opset=17),
    )
    arrays = {"x": np.zeros((1, 3, 12, 12), np.float32), "i": np.int64([7])}
    np.savez(tmp_path / "in.npz", **arrays)
    ran = shadergen("verify", path, "--input-size", "x=12x12", "--input", tmp_path / "in.npz")
    assert ran.code == 2
    assert ran.err.startswith("error[SG0702]")


def test_a_size_without_a_name_says_which_input_it_may_be(shadergen, tmp_path):
    x = {"x": np.zeros((1, 3, 8, 8), np.float32), "k": np.zeros(1, np.float32)}
    path = write(tmp_path, typed_model([node("Mul", "x", "k")], {}, x, {"y": np.float32}, opset=17))
    ran = shadergen("verify", path, "--input-size", "12x12")
    assert ran.code == 2
    assert "name the input: --input-size x=12x12" in ran.err
    assert shadergen("verify", path, "--input-size", "x=12x12").code == 0
