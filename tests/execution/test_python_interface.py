"""Models as objects: compiled, called, verified and saved from Python."""

from __future__ import annotations

import gc
import importlib.util
import inspect
import logging
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import fields
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from PIL import Image
from support import ESPCN
from support import refusal as refused
from support.players import filters, require

import shadergen
from shadergen.compiler.array_shapes import check_shapes
from shadergen.compiler.inspection import inspect_build
from shadergen.compiler.keywords import CompileOptions, make_options
from shadergen.compiler.models import EXPORTERS
from shadergen.compiler.options import Options
from shadergen.runtime_glue.python.schedule import Port

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")


class Upscaler(torch.nn.Module):
    """Doubles an image; its dropout shows the mode that it runs in."""

    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Conv2d(3, 12, 3, padding=1)
        self.dropout = torch.nn.Dropout(0.5)
        self.shuffle = torch.nn.PixelShuffle(2)

    def forward(self, image: Any) -> Any:
        return self.shuffle(self.dropout(torch.relu(self.features(image))))


class Sum(torch.nn.Module):
    def forward(self, first: Any, second: Any) -> Any:
        return first + 2 * second, first - second


@pytest.fixture(scope="module")
def upscaler() -> Any:
    torch.manual_seed(5)
    return Upscaler()


@pytest.fixture(scope="module")
def image() -> Any:
    return torch.rand(1, 3, 24, 40, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def build(upscaler, image) -> Any:
    return shadergen.compile_model(upscaler, example=image)


@pytest.fixture(scope="module")
def dynamic_build(upscaler, image) -> Any:
    return shadergen.compile_model(upscaler, example=image, input_size="dynamic")


def refusal(call: Any, *args: Any) -> str:
    return refused(call, *args).render()


def expected(module: Any, *inputs: Any) -> Any:
    module.eval()
    with torch.no_grad():
        return module(*inputs).numpy()


def test_pytorch_modules_are_called_like_themselves(build, upscaler, image):
    for given in (image, image.numpy(), image.clone().requires_grad_()):
        np.testing.assert_allclose(build(given), expected(upscaler, image), atol=1e-6)
    np.testing.assert_allclose(build(image=image), expected(upscaler, image), atol=1e-6)
    np.testing.assert_allclose(shadergen.run(build, image), expected(upscaler, image), atol=1e-6)


def test_builds_verify_themselves(build):
    report = build.verify()
    assert report.ok
    assert report.reference == "onnxruntime"
    assert report.model == "Upscaler.onnx"


def test_builds_are_verified_on_given_inputs(build, image):
    same = build.verify(image)
    assert same
    assert build.verify(image).outputs == same.outputs != build.verify(10 * image).outputs
    assert "input" in refused(build.verify, image, image).render()


def test_builds_are_saved(build, upscaler, image, tmp_path):
    build.save(tmp_path / "saved")
    result = shadergen.run(tmp_path / "saved", image)
    np.testing.assert_allclose(result, expected(upscaler, image), atol=1e-6)
    with shadergen.Session(str(tmp_path / "saved")) as session:
        for x in (image, 1 - image):
            np.testing.assert_allclose(session(x), expected(upscaler, x), atol=1e-6)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    assert "SG0501" in refusal(build.save, tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep"


def test_temporary_builds_go_with_their_object(upscaler, image):
    built = shadergen.compile_model(upscaler, example=image)
    folder = built.output
    assert (folder / "schedule.json").exists()
    del built
    gc.collect()
    assert not folder.parent.exists()


def test_compiling_leaves_a_module_in_its_modes(image):
    module = Upscaler()
    module.train()
    module.features.eval()
    shadergen.compile_model(module, example=image)
    assert [m.training for m in module.modules()] == [True, False, True, True]


def test_a_module_in_training_mode_gets_a_note(image):
    note = "the module is in training mode: compiled as after eval()"
    made = shadergen.compile_model(Upscaler().train(), example=image, validate=False)
    assert made.notes[0] == note
    assert repr(made).endswith(f"note:     {note}")
    made = shadergen.compile_model(Upscaler().eval(), example=image, validate=False)
    assert note not in made.notes


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.act = torch.nn.ReLU()

    def forward(self, x: Any) -> Any:
        return x + self.act(self.norm(self.conv(x)))


class Nested(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 4, 1)
        self.body = torch.nn.Sequential(Block(), Block())

    def forward(self, image: Any) -> Any:
        x = self.body(self.first(image))
        return self.body[1].act(x.abs()).mean((2, 3))


def test_layers_have_the_names_of_modules(image):
    module = Nested()
    made = shadergen.compile_model(module, example=image, validate=False)
    layers = [p["layers"] for p in made.files.schedule["passes"]]
    assert layers[0] == ["first"]
    assert layers[1] == ["body.0.conv+norm", "body.0.act", "body.0/add"]
    assert layers[2][:1] == ["body.1.conv+norm"]
    named = {re.split("[/@+]", name)[0] for found in layers for name in found}
    assert named <= {"abs", "mean", *dict(module.named_modules())}
    assert "body.1.act@1" in {name for found in layers for name in found}
    first = (made.build / "shaders" / "00_first.frag").read_text()
    assert "// first: convolution 1x1, 3 to 4 channels" in first
    cut = shadergen.compile_model(made.source, outputs="body.0.conv+norm", validate=False)
    block = module.eval().body[0]
    normalised = block.norm(block.conv(module.first(image)))
    np.testing.assert_allclose(cut(image), normalised.detach().numpy(), atol=1e-5)


def test_what_exporters_say_of_absent_packages_is_not_printed(image, monkeypatch, caplog):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: "vision" not in name and found(name, *rest)
    )
    logger = logging.getLogger(EXPORTERS[0])
    level = logger.level
    shadergen.compile_model(Nested(), example=image, validate=False)
    assert "torchvision" not in caplog.text
    assert logger.level == level


def test_sizes_follow_the_image_in_a_dynamic_build(dynamic_build, upscaler):
    for height, width in ((24, 40), (17, 9), (17, 9), (30, 50)):
        other = torch.rand(1, 3, height, width)
        np.testing.assert_allclose(dynamic_build(other), expected(upscaler, other), atol=1e-6)


class Merged(torch.nn.Module):
    """Assigns weights in ``forward``, as networks do that merge branches for inference."""

    def __init__(self) -> None:
        super().__init__()
        self.trained = torch.nn.Conv2d(3, 4, 3)
        self.merged = torch.nn.Conv2d(3, 4, 3)
        self.factor = torch.tensor(2.0)

    def forward(self, image: Any) -> Any:
        self.factor = self.factor.type_as(image)
        self.weight = self.trained.weight.data.clone() * self.factor
        self.merged.weight.data = self.weight.contiguous()
        return self.merged(image)


def test_a_module_that_assigns_weights_compiles_and_still_runs(image):
    module = Merged()
    before = expected(module, image)
    build = shadergen.compile_model(module, example=image, validate=False)
    np.testing.assert_array_equal(expected(module, image), before)
    np.testing.assert_allclose(build(image=image), expected(module, image), atol=1e-5)


class Branch(torch.nn.Module):
    def forward(self, image: Any) -> Any:
        return image if image.mean() > 0 else -image


@pytest.mark.parametrize("size", [None, "dynamic"])
def test_code_that_depends_on_values_is_named_with_its_line(image, size, capfd):
    module = torch.nn.Sequential(Upscaler(), Branch())
    text = refusal(partial(shadergen.compile_model, module, example=image, input_size=size))
    line = inspect.getsourcelines(Branch)[1] + 2
    assert f"{__file__}:{line} in forward: return image if image.mean() > 0 else -image" in text
    assert "why: torch.export cannot follow an `if`, a loop or a number that depends on the" in text
    assert "help: choose between results with torch.where" in text
    assert capfd.readouterr() == ("", "")
    build = shadergen.compile_model(module[0], example=image, validate=False)
    assert build.model.inputs[0].shape == (1, 3, 24, 40)  # no marks are left on the example


def test_an_error_of_a_module_is_named_with_its_line(image):
    class Wrong(torch.nn.Module):
        def forward(self, image: Any) -> Any:
            return image @ image

    text = refusal(partial(shadergen.compile_model, Wrong(), example=image))
    assert "PyTorch cannot run this module on the example" in text
    assert "in forward: return image @ image" in text
    assert "help: first make this work in PyTorch without shadergen" in text


def test_an_error_in_a_layer_of_pytorch_has_no_empty_place():
    colours = torch.nn.Conv2d(3, 8, 3)
    example = torch.rand(1, 4, 8, 8)
    assert "-->" not in refusal(partial(shadergen.compile_model, colours, example=example))


class Median(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.median(dim=1, keepdim=True).values


@pytest.mark.parametrize("size", [None, "dynamic"])
def test_an_operator_that_pytorch_cannot_export_is_named_with_its_module(image, size, capfd):
    module = torch.nn.Sequential(Upscaler(), Median())
    text = refusal(partial(shadergen.compile_model, module, example=image, input_size=size))
    assert text.startswith("error[SG0201]: PyTorch's aten.median is not supported\n  --> module 1")
    assert "why: PyTorch's exporter has no ONNX operator for aten.median" in text
    assert len(text.split("\n")) == 4
    assert capfd.readouterr() == ("", "")


class Noisy(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x + torch.randn_like(x)


def test_random_numbers_are_refused_and_named_by_the_model_and_not_by_a_temporary_file(image):
    text = refusal(partial(shadergen.compile_model, Noisy(), example=image))
    assert "--> model Noisy: node randn_like (RandomNormalLike), PyTorch's aten.randn_like" in text
    assert "why: random numbers are not supported" in text
    assert "let the network take them as an input" in text
    assert "model Noisy: node" in refusal(partial(shadergen.verify, Noisy(), example=image))


def test_an_unknown_option_is_answered_with_the_nearest_or_else_with_all(image):
    unknown = partial(shadergen.compile_model, Upscaler(), example=image)
    near = refusal(partial(unknown, outptus="x")).split("\n")
    assert near[1:] == ["  = help: did you mean 'outputs'?"]
    assert "supported: calibrate, define, device" in refusal(partial(unknown, zzz=1))


class Baked(Merged):
    """Reads numbers of its input in ways that an export of one run would hold as constants."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, image: Any) -> Any:
        result = super().forward(image)
        if self.kind == "branch":
            return result if image.sum() > 0 else -result
        if self.kind == "data":
            return result * image.data.mean()
        return result * image[0, 0, 0].tolist()[0]


@pytest.mark.parametrize("kind", ["branch", "data", "tolist"])
def test_a_module_whose_export_would_hold_the_examples_values_is_refused(kind, image):
    error = refusal(partial(shadergen.compile_model, Baked(kind), example=image))
    assert error.startswith("error[SG0102]: PyTorch cannot export this module")


class Sizes(torch.nn.Module):
    """Computes with the size of its input, which an export must not hold as numbers."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, x: Any) -> Any:
        height, width = x.shape[2:]
        if self.kind == "scaled":
            return x * height
        if self.kind == "mean":
            return x - x.sum((2, 3), keepdim=True) / (height * width)
        if self.kind == "cut":
            return x[:, :, : height - 1]
        small = torch.nn.functional.interpolate(x, scale_factor=0.5)
        return torch.nn.functional.interpolate(small, size=(height, width), mode="bilinear")


@pytest.mark.parametrize("kind", ["scaled", "mean", "cut", "resized"])
def test_modules_compute_with_the_size_of_a_dynamic_input(kind):
    module = Sizes(kind)
    build = shadergen.compile_model(
        module, example=torch.rand(1, 3, 8, 12), input_size="dynamic", validate=False
    )
    for height, width in ((8, 12), (16, 20)):
        x = torch.rand(1, 3, height, width)
        np.testing.assert_allclose(build(x), expected(module, x), atol=1e-5)


def test_windows_of_a_fixed_number_are_refused_at_dynamic_sizes():
    x = torch.rand(1, 3, 8, 12)
    for size in (2, (1, 3)):
        module = torch.nn.AdaptiveAvgPool2d(size)
        call = partial(shadergen.compile_model, module, example=x, input_size="dynamic")
        assert "error[SG0207]: adaptive_avg_pool2d to " in refusal(call)
        build = shadergen.compile_model(module, example=x, validate=False)
        np.testing.assert_allclose(build(x), expected(module, x), atol=1e-6)
    mean = torch.nn.AdaptiveAvgPool2d(1)
    build = shadergen.compile_model(mean, example=x, input_size="dynamic", validate=False)
    other = torch.rand(1, 3, 14, 6)
    np.testing.assert_allclose(build(other), expected(mean, other), atol=1e-6)


def test_threads_take_turns(build, upscaler):
    wrong = []
    module = torch.nn.Conv2d(3, 3, 1)
    second = shadergen.compile_model(module, example=torch.rand(1, 3, 8, 8), validate=False)

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for _ in range(10):
            x = torch.rand(1, 3, 8, 8, generator=generator)
            with torch.no_grad():
                if np.abs(second(x) - module(x).numpy()).max() > 1e-5:
                    wrong.append(seed)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert not wrong
    work(9)
    assert not wrong
    assert build(torch.zeros(1, 3, 24, 40)).shape == (1, 3, 48, 80)


def test_another_build_in_the_folder_is_refused(tmp_path, image):
    first = shadergen.compile_model(torch.nn.ReLU(), tmp_path / "b", image, validate=False)
    page = first._repr_html_()
    second = shadergen.compile_model(torch.nn.Tanh(), tmp_path / "b", image, validate=False)
    for call in (first, partial(shadergen.run, first), lambda _: first._repr_html_()):
        assert "holds another build than the one that was compiled" in refusal(call, image)
    np.testing.assert_allclose(second(image), np.tanh(image.numpy()), atol=1e-6)
    first.save(tmp_path / "first")
    np.testing.assert_array_equal(shadergen.run(tmp_path / "first", image), image.numpy())
    assert "<table>" in page


def test_verify_takes_the_model_that_was_compiled(image):
    module = torch.nn.Conv2d(3, 3, 1)
    build = shadergen.compile_model(module, example=image, validate=False)
    with torch.no_grad():
        before = module(image).numpy()
        module.weight *= 5
    np.testing.assert_allclose(build(image), before, atol=1e-5)
    assert build.verify().ok
    assert copy(build)(image).shape == before.shape


def test_pillow_images_are_read_as_files_are(tmp_path):
    identity = shadergen.compile_model(
        torch.nn.Identity(), example=torch.rand(1, 1, 4, 8), validate=False
    )
    deep = np.full((4, 8), 32768, np.uint16)
    assert np.asarray(identity(Image.fromarray(deep))).tolist() == deep.tolist()
    for mode in ("I", "F"):
        assert "32-bit pixels of unknown range" in refusal(identity, Image.new(mode, (8, 4)))
    turned = Image.new("L", (4, 8))
    turned.getexif()[0x0112] = 6
    turned.save(tmp_path / "turned.jpg", exif=turned.getexif())
    assert identity(Image.open(tmp_path / "turned.jpg")).size == (8, 4)


def test_large_models_in_memory_stay_whole(monkeypatch):
    weight = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]> g (float[1,64] x) => (float[1,64] y)'
        " { y = MatMul(x, w) }"
    )
    model.graph.initializer.append(weight)
    before = model.SerializeToString()
    monkeypatch.setattr(onnx.checker, "MAXIMUM_PROTOBUF", 1000)
    build = shadergen.compile_model(model, validate=False)
    assert model.SerializeToString() == before
    assert build.verify().ok


def test_options_are_read_as_the_command_line_reads_them():
    assert make_options(glsl="310", mrt="2", device=None) == make_options(glsl=310, mrt=2)
    assert "SG0301" in refusal(lambda: make_options(mrt="two"))
    assert make_options(target="mpv").package == "mpv"
    with pytest.warns(DeprecationWarning, match="package is now called target"):
        assert make_options(package="mpv") == make_options(target="mpv")


def test_pictures_give_pictures(build, upscaler, image):
    pixels = (image[0].permute(1, 2, 0).numpy() * 255).astype(np.uint8)
    found = build(Image.fromarray(pixels))
    floats = torch.from_numpy(pixels.astype(np.float32) / 255).permute(2, 0, 1)[None]
    want = expected(upscaler, floats)[0].transpose(1, 2, 0).clip(0, 1) * 255
    assert found.size == (80, 48)
    assert np.abs(np.asarray(found, np.float32) - want).max() <= 0.51
    with pytest.warns(UserWarning, match="8x8 was padded to 24x40"):
        assert build(Image.new("RGB", (8, 8))).size == (16, 16)


def test_several_inputs_and_outputs_have_names():
    first, second = torch.rand(2, 4, 5, 3), torch.rand(2, 4, 5, 3)
    for example in ((first, second), {"second": second, "first": first}):
        build = shadergen.compile_model(Sum(), example=example)
        found = build(first, second=second)
        want = [first + 2 * second, first - second]
        for array, tensor in zip(found.values(), want, strict=True):
            np.testing.assert_allclose(array, tensor.numpy(), atol=1e-6)
    assert "only if the build has one input" in refusal(build, Image.new("RGB", (8, 8)), second)


def test_onnx_models_in_memory(tmp_path):
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]> g (float[1,2,4,4] x) => (float[1,2,4,4] y)'
        " { y = Relu(x) }"
    )
    x = np.random.default_rng(3).normal(size=(1, 2, 4, 4)).astype(np.float32)
    build = shadergen.compile_model(model, tmp_path / "build")
    np.testing.assert_array_equal(build(x), np.maximum(x, 0))
    assert (tmp_path / "build" / "schedule.json").exists()
    assert shadergen.verify(model).ok


def test_keras_models():
    keras = pytest.importorskip("keras")
    model = keras.Sequential(
        [keras.Input((8, 9, 3)), keras.layers.Conv2D(4, 3, activation="relu")], name="small"
    )
    x = np.random.default_rng(3).uniform(size=(1, 8, 9, 3)).astype(np.float32)
    build = shadergen.compile_model(model)
    np.testing.assert_allclose(build(x), np.asarray(model(x)), atol=1e-6)
    assert build.verify().model == "small.keras"


def test_notebooks_show_passes_with_their_shaders(build):
    page = build._repr_html_()
    assert page.count("<details>") == len(build.files.schedule["passes"])
    assert "precision highp float" in page
    assert "&lt;" not in page.partition("<table>")[0]


def test_compiled_models_and_builds_print_what_they_take_and_cost(build, tmp_path):
    lines = [
        "inputs:   image 1x3x24x40",
        "outputs:  pixel_shuffle 1x3x48x80",
        "work:     2 GPU passes, 311 k multiply-adds",
        "memory:   122 KiB of textures, 1.5 KiB of weights",
    ]
    title = "<CompiledModel 'Upscaler' for gles30>"
    assert repr(build).split("\n") == [title, *lines, f"note:     {build.notes[0]}"]
    build.save(tmp_path / "saved")
    title = f"<Build 'Upscaler' in '{tmp_path / 'saved'}', GLSL ES 300>"
    assert repr(shadergen.load(tmp_path / "saved")).split("\n") == [title, *lines]
    session = repr(shadergen.Session(tmp_path / "saved"))
    assert session.split("\n") == [title.replace("Build", "Session"), *lines]


def test_dynamic_builds_for_several_devices_print_sizes_and_variants(tmp_path):
    made = shadergen.compile_model(
        ESPCN, tmp_path / "b", device="gles30,webgpu", input_size="dynamic", validate=False
    )
    printed = [line for line in repr(made).split("\n") if not line.startswith("note: ")]
    assert len(printed) + len(made.notes) == len(repr(made).split("\n"))
    assert printed[0] == "<CompiledModel 'espcn_x2' for gles30>"
    sizes = ["sizes:    height 256 (1 to 2048), width 384 (1 to 2048)", "variants: webgpu"]
    assert printed[-2:] == repr(shadergen.load(tmp_path / "b")).split("\n")[-2:] == sizes
    variant = shadergen.load(tmp_path / "b", variant="webgpu")
    assert repr(variant).startswith(f"<Build 'espcn_x2' in '{tmp_path / 'b'}', WGSL, variant 'web")


def test_the_printed_texture_memory_is_the_one_that_inspect_prints(build):
    assert (
        shadergen.load(build.build).texture_bytes == inspect_build(build.build).texture_bytes_peak
    )


def test_compiled_user_shaders_print_their_passes(upscaler, image):
    made = shadergen.compile_model(upscaler, example=image, target="mpv", hook="MAIN")
    title = "<CompiledModel 'Upscaler' for gles30, a user shader: 5 GPU passes on MAIN, "
    assert repr(made).startswith(title)


def test_user_shaders_are_files_for_players(upscaler, build, image, tmp_path):
    shader = shadergen.compile_model(
        upscaler, tmp_path / "net.glsl", example=image, input_size="dynamic", target="mpv"
    )
    for call in (shader, partial(shadergen.run, shader)):
        assert "video players run it" in refusal(call, image)
    assert "//!HOOK MAIN" in shader.text
    assert "is a build, not a user shader" in refusal(lambda: build.text)
    shader.save(tmp_path / "other.glsl")
    assert (tmp_path / "other.glsl").read_bytes() == (tmp_path / "net.glsl").read_bytes()
    assert "//!HOOK" in shader._repr_html_()


def test_an_example_may_be_a_part_of_a_tensor(upscaler, image):
    part = image.repeat(2, 1, 2, 2)[:1, :, : image.shape[2], : image.shape[3]]
    assert not part.is_contiguous()
    shader = shadergen.compile_model(upscaler, example=part, target="mpv", validate=False)
    assert "//!HOOK MAIN" in shader.text


def test_user_shaders_are_verified_in_ffmpeg(upscaler, image):
    require("ffmpeg")
    if "libplacebo" not in filters():
        pytest.skip("this FFmpeg has no libplacebo filter")
    shader = shadergen.compile_model(upscaler, example=image, target="mpv")
    report = shader.verify()
    assert (bool(report), report.reference) == (True, "onnxruntime")
    assert report.renderer == "FFmpeg's libplacebo"
    assert "takes no runtime" in refusal(lambda: shader.verify(runtime="gles"))
    assert shadergen.verify(upscaler, example=image, target="mpv").passes == report.passes


@pytest.mark.parametrize(
    ("model", "example", "says"),
    [
        (Upscaler(), None, "needs an example of its inputs"),
        (Upscaler(), torch.rand(1, 2, 8, 8), "expected input[1, 2, 8, 8] to have 3 channels"),
        ("model.onnx", 1, "only a PyTorch module takes an example"),
        (3, None, "a model cannot be of the type int"),
        (Upscaler().forward, None, "a model cannot be of the type method"),
    ],
)
def test_what_is_no_model_is_refused(model, example, says):
    assert says in refusal(shadergen.compile_model, model, None, example)


def test_wrong_inputs_are_refused(build, image):
    assert "no input 'picture'" in refusal(lambda: build(picture=image))
    assert "input 'image' has no array" in refusal(build)
    assert "takes 1 input, not 2" in refusal(build, image, image)
    assert "not 1x3x5x5" in refusal(build, image[:, :, :5, :5])
    assert "input 'image' is given twice" in refusal(lambda: build(image, image=image))
    assert "input 'image' is no array" in refusal(build, [[1, 2], [3]])
    assert "help: open it first: PIL.Image.open(path)" in refusal(build, "photo.png")
    half = image.to(torch.bfloat16)
    np.testing.assert_array_equal(build(half), build(half.float()))


def test_values_of_arrays_stay_as_they_are_and_those_of_pictures_become_0_to_1():
    example = torch.rand(1, 3, 4, 8)
    double = shadergen.compile_model(Sizes("scaled"), example=example, validate=False)
    pixels = np.arange(96, dtype=np.uint8).reshape(4, 8, 3)
    np.testing.assert_array_equal(
        double(pixels.transpose(2, 0, 1)[None]), 4.0 * pixels.transpose(2, 0, 1)[None]
    )
    picture = np.asarray(double(Image.fromarray(pixels)))
    np.testing.assert_array_equal(picture, np.minimum(4 * pixels.astype(int), 255))


ADD = "add the batch axis: array[None]"
IN_TURN = "run the entries of the batch one after another"
ALL_SIZES = 'for arrays of all sizes, compile with input_size="dynamic"'
FROM_PICTURE = "array.transpose(2, 0, 1)[None], or pass the Pillow image"


@pytest.mark.parametrize(
    ("shape", "fixed", "dynamic"),
    [
        ((24, 40, 3), [FROM_PICTURE], [FROM_PICTURE]),
        ((9, 7, 3), [FROM_PICTURE, ALL_SIZES], [FROM_PICTURE]),
        ((1, 24, 40, 3), ["array.transpose(0, 3, 1, 2)"], ["array.transpose(0, 3, 1, 2)"]),
        ((3, 24, 40), [ADD], [ADD]),
        ((2, 3, 24, 40), [IN_TURN], [IN_TURN]),
        ((1, 3, 9, 7), [ALL_SIZES], None),
        ((1, 4, 24, 40), [], []),
        ((40,), [], []),
    ],
)
def test_a_shape_that_does_not_fit_is_refused_with_a_way_to_make_it_fit(
    build, dynamic_build, shape, fixed, dynamic
):
    array = np.zeros(shape, np.float32)
    for made, takes, wanted in (
        (build, "1x3x24x40, not", fixed),
        (dynamic_build, "1 x 3 x height x width, not", dynamic),
    ):
        if wanted is None:
            assert made(array).shape == (1, 3, 2 * shape[2], 2 * shape[3])
            continue
        text = refusal(made, array)
        assert f"the input takes an array of shape {takes}" in text
        helps = [line for line in text.split("\n") if line.startswith("  = help: ")]
        assert len(helps) == len(wanted)
        assert all(part in line for part, line in zip(wanted, helps, strict=True))


@pytest.mark.parametrize(
    ("shape", "axes", "array", "help"),
    [
        ((1, 8, 9, 3), (0, 2, 3, 1), (3, 8, 9), "array.transpose(1, 2, 0)[None]"),
        ((1, 8, 9, 3), (0, 2, 3, 1), (8, 9, 3), ADD),
        ((1, 8, 9, 3), (0, 2, 3, 1), (1, 3, 8, 9), "array.transpose(0, 2, 3, 1)"),
        ((1, 8, 9, 1), (0, 2, 3, 1), (8, 9), "array[None, :, :, None]"),
        ((1, 1, 8, 9), (0, 1, 2, 3), (8, 9), "array[None, None]"),
        ((1, 5), (0, 1), (5,), ADD),
    ],
)
def test_the_help_gives_an_array_the_axes_of_the_input(shape, axes, array, help):
    port = Port("x", "x", shape, axes, "float", "float32")
    build = SimpleNamespace(inputs=(port,), sizes=None)
    assert help in refusal(check_shapes, build, {"x": array})


def test_the_default_size_of_a_dynamic_build_is_the_examples(upscaler, image, dynamic_build):
    assert "sizes:    height 24 (1 to " in repr(dynamic_build)
    assert dynamic_build.options.dynamic == (24, 40)
    stated = shadergen.compile_model(
        upscaler, example=image, input_size="dynamic:16x24", validate=False
    )
    assert stated.options.dynamic == (16, 24)


@pytest.mark.parametrize("size", ["12x20", (12, 20), {"image": (1, 3, 12, 20)}])
def test_a_size_other_than_the_examples_is_refused(upscaler, image, size):
    call = partial(shadergen.compile_model, upscaler, example=image, input_size=size)
    text = refusal(call)
    assert "12x20 is not the example's size" in text
    assert "example of 'image', 1x3x24x40" in text
    assert "pass an example of size " in text
    assert '; or input_size="dynamic" for all sizes' in text
    assert "/" not in text


def test_functions_list_their_options():
    hidden = {"array_shapes", "strings", "dynamic", "variants"}
    named = {f.name for f in fields(Options)} - hidden - {"package"} | {"target"}
    assert set(CompileOptions.__annotations__) == named
    for function in (shadergen.compile_model, shadergen.verify):
        assert set(CompileOptions.__annotations__) < set(inspect.signature(function).parameters)


ON_PYTORCH = """
import keras, shadergen
model = keras.Sequential([keras.Input((16, 24, 3)), keras.layers.Conv2D(4, 3, name="edges")])
build = shadergen.compile_model(model, "build", validate=False)
print(keras.backend.backend(), *build.model.inputs[0].port.axes)
"""


@pytest.mark.slow
def test_a_keras_model_on_pytorch_is_a_keras_model(tmp_path):
    environment = os.environ | {"KERAS_BACKEND": "torch"}
    done = subprocess.run(
        [sys.executable, "-c", ON_PYTORCH],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "torch 0 2 3 1"  # Keras' order: channels last


class Named(torch.nn.Module):
    """Gives two results with names, in a dictionary or a named tuple."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.kind = kind

    def forward(self, x: Any) -> Any:
        y = self.conv(x)
        return self.kind(image=y[:, :3].clamp(0, 1), mask=y[:, 3:].sigmoid())


class Two(NamedTuple):
    image: Any
    mask: Any


@pytest.mark.parametrize("size", [{}, {"input_size": "dynamic"}])
@pytest.mark.parametrize("kind", [dict, Two])
def test_outputs_have_the_names_that_the_module_gives_them(kind, size):
    module, x = Named(kind), torch.rand(1, 3, 16, 24)
    results = shadergen.compile_model(module, example=x, **size)(x.numpy())
    assert list(results) == ["image", "mask"]
    wanted = module(x) if kind is dict else module(x)._asdict()
    for name, value in wanted.items():
        np.testing.assert_allclose(results[name], value.detach().numpy(), atol=1e-5)


def test_a_module_that_is_no_layer_is_refused_with_its_last_layer(image):
    block = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
    module = torch.nn.Sequential(block, torch.nn.Conv2d(4, 3, 1))
    said = refused(lambda: shadergen.compile_model(module, example=image, outputs="0"))
    assert "the last layer of the module '0' is '0.1'" in said.render()


class Negative(torch.nn.Module):
    """Takes and gives a picture of bytes, channels last."""

    def forward(self, x: Any) -> Any:
        y = 1 - x.permute(0, 3, 1, 2).float() / 255
        return (y * 255).round().to(torch.uint8).permute(0, 2, 3, 1)


def test_pictures_of_bytes_have_0_to_255(tmp_path):
    x = torch.randint(0, 256, (1, 8, 12, 3), dtype=torch.uint8)
    negative = shadergen.compile_model(Negative(), example=x)
    assert (negative(x.numpy()) == 255 - x.numpy()).all()
    made = negative(Image.fromarray(x[0].numpy()))
    assert (np.asarray(made) == 255 - x[0].numpy()).all()
