"""Builds of dynamic sizes: at every size they are right, or refused by a constraint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from PIL import Image
from support.dynamic_builds import TARGETS, build_of, constraints, difference
from support.dynamic_models import MODELS
from support.dynamic_net import Net, network

from shadergen.backends.writer import write_build
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.driver import compile_model
from shadergen.compiler.inspection import inspect_build
from shadergen.compiler.option_parsing import parse_dynamic
from shadergen.compiler.options import Options
from shadergen.compiler.running import run_file
from shadergen.compiler.size_texts import size_text
from shadergen.compiler.verification import verify_model
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import Build, HeadlessContext, Runner, load

# the defaults, odd, tiny, tall, wide, square
SIZES = ((64, 96), (31, 47), (32, 32), (12, 100), (45, 8), (5, 7), (2, 3))
# of the sizes above, those that a model has to be refused at
REFUSED = {
    "unet": {(31, 47), (45, 8), (5, 7), (2, 3)},  # its halves do not fit together
    "unet_by_shape": {(5, 7), (2, 3)},  # align_corners of a line of two
    "pixel_unshuffle": {(31, 47), (45, 8), (5, 7), (2, 3)},
    "transposed_convolution_to_a_shape": {(12, 100), (5, 7), (2, 3)},  # which reach less far
    "valid_convolutions": {(5, 7), (2, 3)},
    "pools": {(2, 3)},
    "windows": {(31, 47), (45, 8), (5, 7), (2, 3)},
    "crop": {(2, 3)},
    "resize_cubic_0_5x0_5": {(45, 8)},  # its table of positions lies in more than a texel
}


@pytest.mark.gl
@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("name", sorted(MODELS))
def test_one_build_is_right_at_every_size_that_it_takes(
    name: str, target: str, tmp_path: Path, context: HeadlessContext
) -> None:
    model = MODELS[name]()
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    refused = set()
    build = build_of(model, tmp_path, dynamic=SIZES[0], **TARGETS[target])
    with Runner(build, context) as runner:
        for height, width in SIZES:
            if height == 2 and name in ("pad_reflect", "padded_to_a_multiple"):
                continue  # ONNX Runtime takes no such padding
            try:
                runner.resize(height=height, width=width)
            except ShadergenError as error:
                assert error.code == "SG0605"
                refused.add((height, width))
            else:
                assert difference(runner, session, (height, width)) < 1e-4, (height, width)
    tiny = {(5, 7), (2, 3)}  # may be refused by more than has to be
    assert refused - tiny == REFUSED.get(name, set()) - tiny
    assert refused >= REFUSED.get(name, set())


@pytest.mark.parametrize("name", ["espcn", "unet", "style_transfer", "statistics", "convolutions"])
def test_a_build_resolved_for_a_size_has_the_textures_of_one_compiled_for_it(
    name: str, tmp_path: Path
) -> None:
    """Of a device for which draws compute single pixels, which only fixed sizes let them pair."""
    model = MODELS[name]()
    size, device = (64, 96), "swiftshader"
    build = build_of(model, tmp_path, device=device)
    open_build = load(build.folder, dict(zip(("height", "width"), size, strict=True)))
    chosen = Options(input_size={"": size}, validate=False, device=device)
    _, files, _ = compile_graph(import_model(model, chosen), chosen)
    write_build(files, tmp_path / "fixed")
    fixed_build = load(tmp_path / "fixed")
    assert open_build.inputs == fixed_build.inputs
    assert open_build.outputs == fixed_build.outputs
    shared = open_build.textures.keys() & fixed_build.textures.keys()
    assert len(shared) >= len(open_build.textures) - 2
    for texture in shared:
        a, b = open_build.textures[texture], fixed_build.textures[texture]
        assert (a.width, a.height, a.layers, a.channels, a.batch) == (
            b.width, b.height, b.layers, b.channels, b.batch,
        )  # fmt: skip


def bounds(build: Build) -> list[tuple[int, int]]:
    assert build.sizes
    return [(p["min"], p["max"]) for p in build.sizes.document["sizes"]["parameters"]]


def test_a_network_that_takes_any_size_has_no_constraint(tmp_path: Path) -> None:
    for name in ("espcn", "fsrcnn", "convolutions", "pad_edge", "resize_linear_2x3"):
        assert not constraints(build_of(MODELS[name](), tmp_path)), name


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_build_that_is_square_at_first_takes_other_shapes(name: str, tmp_path: Path) -> None:
    build = build_of(MODELS[name](), tmp_path, dynamic=(64, 64))
    for height, width in ((64, 96), (96, 64)):
        load(build.folder, {"height": height, "width": width})


def test_the_limits_of_the_device_are_bounds_of_the_parameters(tmp_path: Path) -> None:
    build = build_of(MODELS["espcn"](), tmp_path)
    assert bounds(build) == [(1, 2048), (1, 2048)]
    assert sorted(constraints(build, of_one=True)) == [
        f"{name} must be at most 2048, for layer depthtospace5" for name in ("height", "width")
    ]
    assert bounds(build_of(MODELS["pad_edge"](), tmp_path)) == [(1, 4093), (1, 4092)]


def test_what_lies_in_rows_takes_small_pictures_and_large_ones(tmp_path: Path) -> None:
    """It is folded as the default size asks, but with room for others."""
    build = build_of(MODELS["attention_of_channels"](), tmp_path)
    for height, width in ((12, 8), (1080, 1920), (1920, 1080)):
        load(build.folder, {"height": height, "width": width})


def test_a_constraint_says_what_it_asks_of_which_layer(tmp_path: Path) -> None:
    found = constraints(build_of(MODELS["unet"](), tmp_path))
    layers = "for layers concat9 and concat13"
    assert found == [f"{name} must be a multiple of 4, {layers}" for name in ("height", "width")]


def test_the_defaults_are_those_asked_for_or_the_models_own(tmp_path: Path) -> None:
    shape = (1, 3, 24, 40)

    def tanh(net: Net) -> str:
        return net("Tanh", "x")

    declared = build_of(network(tanh, shape), tmp_path)
    assert declared.sizes
    assert declared.sizes.values == {"height": 24, "width": 40}
    asked = build_of(network(tanh, shape), tmp_path / "asked", dynamic=(50, 60))
    assert asked.inputs[0].shape == (1, 3, 50, 60)


def test_images_of_the_same_declared_size_share_their_sizes(tmp_path: Path) -> None:
    def blend(net: Net) -> str:
        return net("Add", "x", "mask")

    model = network(blend)
    mask = onnx.helper.make_tensor_value_info("mask", onnx.TensorProto.FLOAT, (1, 1, "H", "W"))
    model.graph.input.append(mask)
    build = build_of(model, tmp_path)
    resized = load(build.folder, {"height": 30, "width": 20})
    assert [p.shape for p in resized.inputs] == [(1, 3, 30, 20), (1, 1, 30, 20)]


def test_a_model_without_images_has_no_sizes_to_leave_open() -> None:
    def tanh(net: Net) -> str:
        return net("Tanh", "x")

    with pytest.raises(ShadergenError) as caught:
        import_model(network(tanh, (1, 8)), Options(dynamic=True))
    assert caught.value.code == "SG0301"


def test_the_option_is_read() -> None:
    assert parse_dynamic(["dynamic"]) == (True, [])
    assert parse_dynamic(["dynamic:360x640", "m=2x3"]) == ((360, 640), ["m=2x3"])
    assert parse_dynamic(["360x640"]) == (None, ["360x640"])
    for wrong in ("dynamic:360", "dynamic:axb"):
        with pytest.raises(ShadergenError) as caught:
            parse_dynamic([wrong])
        assert caught.value.code == "SG0301"


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for folder in ("a", "b"):
        build = build_of(MODELS["style_transfer"](), tmp_path / folder)
        texts.append((build.folder / "schedule.json").read_text())
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["sizes"]["parameters"][0]["name"] == "height"


# from the command line


@pytest.mark.gl
def test_a_picture_of_any_size_runs_on_one_build(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    onnx.save(MODELS["espcn"](), model)
    compile_model(model, tmp_path / "build", Options(dynamic=True, validate=False))
    for width, height in ((40, 30), (17, 25)):
        picture = Image.fromarray(np.full((height, width, 3), 99, np.uint8))
        picture.save(tmp_path / "in.png")
        run_file(tmp_path / "build", tmp_path / "in.png", tmp_path / "out.png")
        with Image.open(tmp_path / "out.png") as found:
            assert found.size == (2 * width, 2 * height)


@pytest.mark.gl
def test_verify_compares_at_the_default_sizes_or_those_of_arrays(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    onnx.save(MODELS["unet"](), model)
    options = Options(dynamic=(32, 48), validate=False)
    report = verify_model(model, options)
    assert report.ok
    assert report.outputs[0].shape == (1, 3, 32, 48)
    x = np.random.default_rng(0).random((1, 3, 20, 12), np.float32)
    report = verify_model(model, options, given={"x": x})
    assert report.ok
    assert report.outputs[0].shape == (1, 3, 20, 12)


def test_inspect_shows_sizes_as_people_write_them(tmp_path: Path) -> None:
    found = inspect_build(build_of(MODELS["unet_by_shape"](), tmp_path).folder)
    assert found.inputs == ("x 1 x 3 x height x width (channel-packed)",)
    assert found.sizes[0].startswith("sizes: height 256 (")
    found = inspect_build(build_of(MODELS["espcn"](), tmp_path / "other").folder)
    assert found.outputs == ("y 1 x 3 x height*2 x width*2 (channel-packed)",)
    assert (found.passes[-1].width, found.passes[-1].height) == (768, 512)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (7, "7"),
        (["height", 2, "*", 7, "+", 8, "/"], "(height*2 + 7)/8"),
        (["height", "width", 1, "-", "-"], "height - (width - 1)"),
        (["height", 2, "/", 2, "*"], "height/2*2"),
        (["height", 2, 3, "*", "/"], "height/(2*3)"),
        (["height", 1, "+", "width", "max"], "max(height + 1, width)"),
    ],
)
def test_an_expression_reads_as_people_write_it(entry: Any, text: str) -> None:
    assert size_text(entry) == text


@pytest.mark.gl
@pytest.mark.parametrize(
    ("name", "width"), [("statistics", 48), ("contrast", 48), ("resize_cubic_2x3", 1500)]
)
def test_verify_of_a_build_in_16_bits_that_proves_its_ranges(
    name: str, width: int, tmp_path: Path
) -> None:
    model = tmp_path / "m.onnx"
    onnx.save(MODELS[name](), model)
    assert verify_model(model, Options(dynamic=(32, width), precision="auto", validate=False)).ok


def test_no_more_is_added_up_at_once_than_float32_can_take(tmp_path: Path) -> None:
    """The 256 elements of the default size are one sum, and not those of any size."""
    nodes = [onnx.helper.make_node("GlobalAveragePool", ["x"], ["y"])]
    floats = onnx.TensorProto.FLOAT
    x = onnx.helper.make_tensor_value_info("x", floats, [1, 4, "h", "w"])
    y = onnx.helper.make_tensor_value_info("y", floats, None)
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [x], [y]))
    build = build_of(model, tmp_path, dynamic=(16, 16))
    assert constraints(build) == ["height*width must be at most 4096, for layer y"]
    assert load(build.folder, {"height": 64, "width": 64}).inputs[0].shape == (1, 4, 64, 64)
    with pytest.raises(ShadergenError, match="4096"):
        load(build.folder, {"height": 65, "width": 64})


@pytest.mark.parametrize("tiles", ["2x2", "4x4"])
def test_tiles_that_dynamic_sizes_have_no_room_for_are_left_out(tiles: str, tmp_path: Path) -> None:
    options = {"device": "gles31-min", "winograd": tiles, "dynamic": (256, 384)}
    build = build_of(MODELS["espcn"](), tmp_path, **options)
    assert build.sizes is not None


def residual_block(net: Net) -> str:
    first = net("Relu", net.conv("x", 3, 6, 3))
    again = net("Add", net("Tanh", net.conv(first, 6, 6, 3)), first)
    return net.conv(again, 6, 5, 3, pads=[0, 2, 1, 0])


@pytest.mark.gl
@pytest.mark.parametrize("model", [residual_block, "unet"])
def test_tiles_in_one_kernel_are_right_at_every_size(
    model: Any, tmp_path: Path, context: HeadlessContext
) -> None:
    proto = MODELS[model]() if isinstance(model, str) else network(model)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    options = {"device": "gles32-desktop", "winograd": "2x2", "weights": "constants"}
    build = build_of(proto, tmp_path, dynamic=(64, 96), **options)
    tiled = [p for p in build.passes if p.kernel == "winograd convolution"]
    assert len(tiled) >= 3
    with Runner(build, context) as runner:
        for height, width in set(SIZES) - REFUSED.get(str(model), set()):
            runner.resize(height=height, width=width)
            assert difference(runner, session, (height, width)) < 1e-4, (height, width)


def test_families_choose_tiles_in_one_kernel_without_being_asked(tmp_path: Path) -> None:
    """They limit no sizes: a tile is an invocation, and there are no maps of patches."""
    wide = network(lambda net: net("Relu", net.conv("x", 16, 16, 3)), (1, 16, 360, 640))
    sizes = {}
    for winograd in ("auto", "off"):
        build = build_of(wide, tmp_path / winograd, device="amd-rdna", winograd=winograd)
        sizes[winograd] = bounds(build)
        used = "winograd convolution" in {p.kernel for p in build.passes}
        assert used == (winograd == "auto")
    assert sizes["auto"] == sizes["off"]
