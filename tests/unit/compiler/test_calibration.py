"""What inputs show of a network's numbers, and what --precision auto makes of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnxruntime import InferenceSession
from PIL import Image
from support import conv, graph_of, image, play, pointwise
from support.dynamic_models import MODELS
from support.onnx_models import model as onnx_model
from support.onnx_models import node

from shadergen.compiler.calibration import Samples, calibration, find_samples
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir.graph import Graph, Input, Port, apply, constant
from shadergen.ir.ops import Conv, Gather, Reduce
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType
from shadergen.passes.placement.calibration import MARGIN, observe, rounding_errors
from shadergen.passes.placement.target import TOLERANCES
from shadergen.passes.predict_error import relative_error
from shadergen.runtime_glue.python import load

if TYPE_CHECKING:
    from pathlib import Path

    from shadergen.backends.build_files import BuildFiles

RNG = np.random.default_rng(0)


def wide() -> Graph:
    """Return a network of which interval arithmetic can prove too little, with one layer it can.

    Its sums cancel: of 27 terms up to 256 in size that are 300 times as large, half the signs
    differ.
    """
    x = image(1, 3, 8, 10)
    first = conv(np.random.default_rng(1), x, 8, (3, 3), "proven")
    w = constant(300 * np.random.default_rng(2).choice([-1.0, 1.0], (8, 8, 3, 3)), "w")
    second = pointwise("x0 / 300", apply(Conv(), first, w, layer="seen"), layer="seen")
    return graph_of(second, inputs=(x,))


def samples(folder: Path, graph: Graph, *arrays: np.ndarray) -> Path:
    folder.mkdir(exist_ok=True)
    for k, array in enumerate(arrays):
        np.savez(folder / f"{k}.npz", **{graph.inputs[0].name: array})
    return folder


def unit(graph: Graph, count: int = 3) -> list[np.ndarray]:
    return [RNG.random(graph.inputs[0].shape, np.float32) for _ in range(count)]


def compiled(graph: Graph, folder: Path | None, **options: object) -> tuple[Graph, BuildFiles]:
    placed, files, _ = compile_graph(
        graph,
        Options(precision="auto", calibrate=folder, **options),  # type: ignore[arg-type]
    )
    return placed, files


def bits(files: BuildFiles) -> set[str]:
    return {t["format"][-3:] for t in files.schedule["textures"]}


def explained(graph: Graph, folder: Path) -> dict[str, tuple[str, str]]:
    _, _, context = compile_graph(graph, Options(precision="auto", calibrate=folder))
    chosen = [d for d in context.decisions if d.step == "choose precision"]
    return {d.subject: (d.decision, d.why) for d in chosen}


@pytest.mark.gl
def test_what_inputs_keep_in_16_bits_is_there_and_right(tmp_path):
    graph = wide()
    inputs = unit(graph)
    folder = samples(tmp_path / "in", graph, *inputs)
    placed, files = compiled(graph, folder)
    assert bits(files) == {"16f"}
    assert files.schedule["calibrated"] == ["seen"]
    assert bits(compiled(graph, None)[1]) == {"16f", "32f"}
    assert "calibrated" not in compiled(graph, None)[1].schedule

    found = calibration(placed, Samples(graph.inputs, find_samples(folder, graph.inputs).files), [])
    (error,) = found.errors.values()
    worst = 0.0
    for x in inputs:
        (got,), (want,) = play(files, {"x": x}).values(), evaluate_graph(graph, {"x": x}).values()
        worst = max(worst, float(np.abs(got - want).max()))
    assert 0 < worst <= error.most
    assert 0 < error.nearest < error.most
    assert error.relative == error.most / error.largest < 0.03


def test_room_is_left_for_numbers_twice_as_large(tmp_path):
    x = image(1, 4, 2, 2)
    graph = graph_of(pointwise("x0 * 1000", x, layer="y"), inputs=(x,))
    for largest, decision, cost in (
        (
            32.0,
            "mediump, by calibration",
            "; estimated error of the result 0; 16 bits save 0.0312 KiB",
        ),
        (33.0, "highp", ""),
    ):
        folder = samples(tmp_path / "in", graph, np.full(x.shape, largest, np.float32))
        assert explained(graph, folder)["y"] == (
            decision,
            f"values up to 2.56e+05; up to {largest * 1000:.4g} on calibration inputs" + cost,
        )


@pytest.mark.parametrize(
    "formula",
    ["(x0 * 1e6) / 1e6", "x0 / (x0 * 1e-5)", "exp(x0 * 12) - exp(x0 * 12)", "log(x0 - x0)"],
)
def test_numbers_on_the_way_count(tmp_path, formula):
    x = image(1, 4, 2, 2)
    graph = graph_of(pointwise(formula, x, layer="y"), inputs=(x,))
    folder = samples(tmp_path, graph, np.ones(x.shape, np.float32))
    assert explained(graph, folder)["y"][0] == "highp"


def test_products_and_sums_of_a_convolution_count():
    x = image(1, 2, 1, 1)
    w = constant(np.array([300.0, -300.0]).reshape(1, 2, 1, 1))
    for bias, value, largest in ((0.0, 200.0, 60000.0), (-6e4, 100.0, 6e4)):
        y = apply(Conv(), x, w, constant(np.array([bias])))
        pair = np.array([value, value if bias == 0 else 0.0], np.float32).reshape(x.shape)
        found = observe(graph_of(y, inputs=(x,)), [{"x": pair}])[y]
        assert found.largest == MARGIN * largest
    assert found.result.size == MARGIN * 30000


def test_the_formula_within_a_pair_of_convolutions_counts():
    """It is computed in 16 bits, though what is between the two is never stored."""
    x = image(1, 8, 16, 16)
    each = apply(Conv(groups=8), x, constant(np.full((8, 1, 1, 1), 1.0)), layer="first")
    lossy = pointwise("max(x0 + 2048, 0) - 2048", each, layer="first")
    y = apply(Conv(), lossy, constant(np.eye(8).reshape(8, 8, 1, 1)), layer="second")
    inputs = {"x": np.full(x.shape, 0.75, np.float32)}  # a multiple of 2 is left
    for fuse, count in (("on", 1), ("off", 2)):
        options = Options(
            device="gles31-min", precision="mediump", stage="compute", fuse_separable=fuse
        )
        placed, _, _ = compile_graph(graph_of(y, inputs=(x,)), options)
        assert len(placed.nodes) == count
        assert rounding_errors(placed, [inputs])["y0"].most == 0.75


def test_loops_compute_in_32_bits_and_only_their_result_counts(tmp_path):
    x = image(1, 4, 100, 100)
    graph = graph_of(apply(Reduce("sum", (2, 3)), x, layer="y"), inputs=(x,))
    rows = np.where(np.arange(100) < 50, 50.0, -49.0)
    folder = samples(tmp_path, graph, np.broadcast_to(rows[:, None], x.shape).astype(np.float32))
    assert explained(graph, folder)["y"] == (
        "mediump, by calibration",
        "values up to 2.56e+06; up to 5000 on calibration inputs; estimated error of the result "
        "0; 16 bits save 0.00781 KiB",
    )


def test_what_16_bits_would_lose_for_being_small_stays_in_32(tmp_path):
    x = image(1, 4, 2, 2)
    tiny = pointwise("x0 * x0 * x0 * 1e-3", x, layer="tiny")
    graph = graph_of(tiny, inputs=(x,))
    folder = samples(tmp_path, graph, np.full(x.shape, 0.1, np.float32))
    decision, why = explained(graph, folder)["tiny"]
    assert (decision, why) == (
        "highp",
        "values up to 1e-06 on calibration inputs, too small for 16 bits",
    )


def test_an_image_and_an_array_of_integers_need_no_range(tmp_path):
    x = Input(TensorType((2, 3), "int32"), "x", Port.plain(2))
    graph = graph_of(pointwise("x0 * 0.5", x, layer="y"), inputs=(x,))
    folder = samples(tmp_path, graph, np.full((2, 3), 7))
    _, files, _ = compile_graph(graph, Options(precision="auto", calibrate=folder))
    assert files.schedule["inputs"][0]["range"] is None
    assert files.schedule["calibrated"] == ["y"]


def test_indices_beyond_their_table_are_refused(tmp_path):
    x = Input(TensorType((3,), "int32"), "x", Port.plain(1))
    table = constant(np.ones((5, 4)), "table")
    graph = graph_of(apply(Gather(0), table, x, layer="y"), inputs=(x,))
    compiled(graph, samples(tmp_path, graph, np.array([0, 4, 1])))
    with pytest.raises(ShadergenError, match="cannot run on calibration input 2") as caught:
        compiled(graph, samples(tmp_path, graph, np.array([0, 4, 1]), np.array([0, 9, 1])))
    assert caught.value.code == "SG0605"


def test_samples_beyond_the_default_range_widen_it(tmp_path):
    x = image(1, 4, 2, 2)
    graph = graph_of(pointwise("tanh(x0)", x), inputs=(x,))
    for value, expected in ((255.0, [-256.0, 256.0]), (1000.0, [-1256.0, 2000.0])):
        folder = samples(tmp_path, graph, np.full(x.shape, value, np.float32))
        assert compiled(graph, folder)[1].schedule["inputs"][0]["range"] == expected


def test_samples_beyond_a_stated_range_are_refused(tmp_path):
    graph = wide()
    folder = samples(tmp_path, graph, *unit(graph))
    with pytest.raises(ShadergenError, match="in --calibrate exceed --input-range") as caught:
        compiled(graph, folder, input_range=(0.0, 0.5))
    assert re.match(r"they are 0.0\d* to 0.99\d*, the range is 0 to 0.5$", caught.value.why)


def test_pictures_and_arrays_are_read_as_run_reads_them(tmp_path):
    pixels = RNG.integers(0, 256, (4, 6, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.save(tmp_path / "b.npy", pixels.transpose(2, 0, 1)[None] / 255)
    (tmp_path / ".hidden").write_text("not looked at")
    x = image(1, 3, 4, 6)
    first, second = find_samples(tmp_path, (x,))
    np.testing.assert_array_equal(first["x"], second["x"])


def test_folders_named_as_inputs_are_paired_by_the_names_of_files(tmp_path):
    left, right = image(1, 1, 2, 2, name="left"), image(2, 2, name="right")
    for name, shape in (("left", (1, 1, 2, 2)), ("right", (2, 2))):
        (tmp_path / name).mkdir()
        for k in range(2):
            np.save(tmp_path / name / f"{k}.npy", np.full(shape, k, np.float32))
    found = list(find_samples(tmp_path, (left, right)))
    assert [(s["left"].max(), s["right"].min()) for s in found] == [(0, 0), (1, 1)]
    (tmp_path / "left" / "1.npy").unlink()
    with pytest.raises(ShadergenError, match="sample '1' has no file for input 'left'"):
        find_samples(tmp_path, (left, right))
    (tmp_path / "right").rename(tmp_path / "rigth")
    with pytest.raises(ShadergenError, match="are not the model's inputs") as caught:
        find_samples(tmp_path, (left, right))
    assert caught.value.why == "missing: right; unknown: rigth"
    assert caught.value.help == "did you mean 'right'?"


def test_what_is_no_folder_or_empty_is_refused(tmp_path):
    refusals = ((tmp_path / "none", "cannot read the folder"), (tmp_path, "has no pictures"))
    for folder, what in refusals:
        with pytest.raises(ShadergenError, match=what) as caught:
            find_samples(folder, (image(1, 1, 2, 2),))
        assert caught.value.code == "SG0301"


@pytest.mark.parametrize(
    ("dtype", "arrays", "what"),
    [
        ("float32", {"y": np.zeros((1, 1, 2, 2))}, "the arrays are not the build's inputs"),
        ("float32", {"x": np.zeros((1, 2, 2, 1))}, r"needs shape \(1, 1, 2, 2\)"),
        ("float32", {"x": np.full((1, 1, 2, 2), np.nan)}, "not finite"),
        ("float32", {"x": np.full((1, 1, 2, 2), 1e300)}, "not finite"),
        ("int32", {"x": np.full((1, 1, 2, 2), 0.5)}, "is int32; the array holds values"),
        ("uint8", {"x": np.full((1, 1, 2, 2), -1)}, "is uint8; the array holds values"),
        ("bool", {"x": np.full((1, 1, 2, 2), 2)}, "is bool; the array holds values"),
    ],
)
def test_what_is_no_input_is_refused_with_the_file(tmp_path, dtype, arrays, what):
    np.savez(tmp_path / "one.npz", **arrays)
    x = Input(TensorType((1, 1, 2, 2), dtype), "x", Port.plain(4))
    with pytest.raises(ShadergenError, match=what) as caught:
        list(find_samples(tmp_path, (x,)))
    assert caught.value.code == "SG0605"
    assert caught.value.where == (str(tmp_path / "one.npz"),)


def test_images_of_8_bits_are_bytes_or_lie_in_0_to_1(tmp_path):
    x = Input(TensorType((1, 1, 1, 2)), "x", Port((0, 1, 2, 3), "unorm8"))
    np.save(tmp_path / "a.npy", np.array([[[[0, 255]]]], np.uint8))
    assert [s["x"].ravel().tolist() for s in find_samples(tmp_path, (x,))] == [[0.0, 1.0]]
    np.save(tmp_path / "a.npy", np.array([[[[0, 255.0]]]]))
    with pytest.raises(ShadergenError, match="values outside 0 to 1"):
        list(find_samples(tmp_path, (x,)))


def test_one_picture_for_two_inputs_and_files_of_other_kinds_are_refused(tmp_path):
    Image.new("L", (2, 2)).save(tmp_path / "a.png")
    with pytest.raises(ShadergenError, match="one picture cannot fill 2 inputs"):
        list(find_samples(tmp_path, (image(1, 1, 2, 2), image(1, 1, 2, 2, name="b"))))
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ShadergenError, match=r"notes.txt' is neither a picture nor an array"):
        find_samples(tmp_path, (image(1, 1, 2, 2),))


def test_calibrating_without_precision_auto_is_refused(tmp_path):
    with pytest.raises(ShadergenError, match="--calibrate needs --precision auto"):
        Options(calibrate=tmp_path).target()


@pytest.fixture
def model(tmp_path):
    w = 300 * np.random.default_rng(2).choice([-1.0, 1.0], (4, 3, 3, 3)).astype(np.float32)
    proto = onnx_model(node("Conv", "x", "w", name="conv"), {"w": w}, {"x": (1, 3, 6, 8)}, 17)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    (tmp_path / "in").mkdir()
    for k in range(2):
        pixels = RNG.integers(0, 256, (6, 8, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "in" / f"{k}.png")
    return tmp_path / "model.onnx"


def test_the_command_says_what_rests_on_the_samples_and_what_it_costs(shadergen, model):
    build = model.parent / "build"
    command = ["compile", model, "-o", build, "--precision", "auto"]
    said = shadergen(*command, "--calibrate", model.parent / "in", "--explain")
    assert said.code == 0
    assert "16-bit because of calibration with 2 inputs: conv" in said.out
    assert "mediump, by calibration" in said.out
    assert "sums in 16 bits" in said.out
    assert "most GPUs" in said.out
    assert "relative" in said.out
    assert load(build).passes
    assert "16-bit because of calibration: conv" in shadergen("inspect", build).out

    found = shadergen(*command, "--calibrate", model.parent / "in", "--json").json["calibration"]
    assert (found["samples"], found["layers"]) == (2, ["conv"])
    assert 0 < found["errors"]["y"]["relative"] < 0.01
    assert "calibration" not in shadergen(*command, "--json").json


def test_the_command_refuses_pictures_of_another_size(shadergen, model):
    folder, build = model.parent / "in", model.parent / "b"
    Image.new("RGB", (9, 6)).save(folder / "wide.png")
    command = ["compile", model, "-o", build, "--precision", "auto"]
    said = shadergen(*command, "--calibrate", folder)
    assert said.code == 2
    assert "the picture is 6x9, the build takes 6x8" in said.err
    assert "wide.png" in said.err
    assert not build.exists()


@pytest.mark.gl
def test_dynamic_builds_are_calibrated_with_the_middle_of_larger_samples(
    shadergen, model, tmp_path
):
    folder, small = tmp_path / "large", model.parent / "in"
    folder.mkdir()
    for path in small.iterdir():
        pixels = np.pad(np.asarray(Image.open(path)), ((1, 2), (2, 3), (0, 0)), "reflect")
        Image.fromarray(pixels).save(folder / path.name)
    auto, size = ("--precision", "auto", "--calibrate"), ("--input-size", "dynamic:6x8")
    command = ["compile", model, "-o", tmp_path / "build", "--json", *auto]
    fixed = shadergen(*command, small).json
    found = shadergen(*command, folder, *size).json
    assert found["calibration"]["layers"] == ["conv"]
    assert found["calibration"] == fixed["calibration"]
    assert shadergen("verify", model, *size, *auto, folder).code == 0


def test_user_shaders_take_calibration_inputs(shadergen, tmp_path):
    w = 300 * np.random.default_rng(2).choice([-1.0, 1.0], (1, 1, 3, 3)).astype(np.float32)
    conv = node("Conv", "x", "w", outputs=("sums",), name="conv", pads=[1, 1, 1, 1])
    both = [conv, node("Mul", "sums", "tiny", name="scale")]
    tensors = {"w": w, "tiny": np.float32([1e-4])}
    proto = onnx_model(both, tensors, {"x": (1, 1, "h", "w0")}, 17)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    (tmp_path / "in").mkdir()
    Image.fromarray(RNG.integers(0, 256, (300, 400), np.uint8)).save(tmp_path / "in" / "a.png")
    command = ["compile", tmp_path / "model.onnx", "-o", tmp_path / "net.glsl", "--target", "mpv"]
    said = shadergen(*command, "--precision", "auto", "--calibrate", tmp_path / "in")
    assert said.code == 0
    assert "most GPUs" in said.out
    assert "with 1 input" in said.out


def test_samples_smaller_than_the_initial_size_are_refused(shadergen, model):
    command = ["compile", model, "-o", model.parent / "b", "--precision", "auto"]
    said = shadergen(*command, "--calibrate", model.parent / "in", "--input-size", "dynamic:7x8")
    assert said.code == 2
    assert "needs shape (1, 3, 7, 8), the array has (1, 3, 6, 8)" in said.err
    assert "calibrate with larger samples" in said.err
    assert "--input-size dynamic:HxW" in said.err


@pytest.mark.gl
def test_what_grows_with_the_picture_is_not_calibrated_at_its_initial_size(shadergen, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(MODELS["contrast"]().SerializeToString())
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "a.npy", RNG.random((1, 3, 60, 72), np.float32))
    build = tmp_path / "build"
    options = ["--precision", "auto", "--calibrate", tmp_path / "in"]
    size = ["--input-size", "dynamic:60x72"]
    said = shadergen("compile", model, "-o", build, *size, *options, "--json")
    assert said.code == 0
    x = RNG.random((1, 3, 480, 640), np.float32)
    (want,) = InferenceSession(model).run(None, {"x": x})
    np.save(tmp_path / "x.npy", x)
    assert shadergen("run", build, tmp_path / "x.npy", "-o", tmp_path / "y.npy").code == 0
    assert relative_error(np.load(tmp_path / "y.npy"), want) <= TOLERANCES["auto"]


def test_larger_samples_of_several_inputs_are_refused(tmp_path):
    both = [node("Conv", "x", "w", outputs=("a",)), node("Add", "a", "z")]
    inputs = {"x": (1, 1, "h", "v"), "z": (1, 1, "h", "v")}
    proto = onnx_model(both, {"w": np.ones((1, 1, 1, 1), np.float32)}, inputs, 17)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    (tmp_path / "in").mkdir()
    large, small = np.zeros((1, 1, 9, 9), np.float32), np.zeros((1, 1, 8, 8), np.float32)
    np.savez(tmp_path / "in" / "a.npz", x=large, z=small)
    options = Options(precision="auto", calibrate=tmp_path / "in", dynamic=True)
    graph = import_model(tmp_path / "model.onnx", options)
    with pytest.raises(ShadergenError, match="needs shape") as caught:
        compile_graph(graph, options)
    assert "compile with the samples' size" in caught.value.help
