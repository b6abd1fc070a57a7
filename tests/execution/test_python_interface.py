"""Models as objects: compiled, called, verified and saved from Python."""

from __future__ import annotations

import gc
import inspect
from dataclasses import fields
from typing import Any

import numpy as np
import onnx
import pytest
from PIL import Image
from support import refusal as refused

import shadergen
from shadergen.compiler.face import CompileOptions
from shadergen.compiler.options import Options

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


def test_builds_are_saved(build, upscaler, image, tmp_path):
    build.save(tmp_path / "saved")
    result = shadergen.run(tmp_path / "saved", image)
    np.testing.assert_allclose(result, expected(upscaler, image), atol=1e-6)
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


def test_sizes_follow_the_image_in_a_dynamic_build(upscaler, image):
    dynamic = shadergen.compile_model(upscaler, example=image, input_size="dynamic")
    for height, width in ((24, 40), (17, 9), (17, 9), (30, 50)):
        other = torch.rand(1, 3, height, width)
        np.testing.assert_allclose(dynamic(other), expected(upscaler, other), atol=1e-6)


def test_pictures_give_pictures(build, upscaler, image):
    pixels = (image[0].permute(1, 2, 0).numpy() * 255).astype(np.uint8)
    found = build(Image.fromarray(pixels))
    floats = torch.from_numpy(pixels.astype(np.float32) / 255).permute(2, 0, 1)[None]
    want = expected(upscaler, floats)[0].transpose(1, 2, 0).clip(0, 1) * 255
    assert found.size == (80, 48)
    assert np.abs(np.asarray(found, np.float32) - want).max() <= 0.51
    assert "compile with --input-size 8x8" in refusal(build, Image.new("RGB", (8, 8)))


def test_several_inputs_and_outputs_have_names():
    first, second = torch.rand(2, 4, 5, 3), torch.rand(2, 4, 5, 3)
    for example in ((first, second), {"second": second, "first": first}):
        build = shadergen.compile_model(Sum(), example=example)
        found = build(first, second=second)
        want = [first + 2 * second, first - second]
        for array, tensor in zip(found.values(), want, strict=True):
            np.testing.assert_allclose(array, tensor.numpy(), atol=1e-6)
    assert "one of each" in refusal(build, Image.new("RGB", (8, 8)), second)


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


def test_user_shaders_are_files_for_players(upscaler, image, tmp_path):
    shader = shadergen.compile_model(
        upscaler, tmp_path / "net.glsl", example=image, input_size="dynamic", package="mpv"
    )
    assert "video players run it" in refusal(shader, image)
    shader.save(tmp_path / "other.glsl")
    assert (tmp_path / "other.glsl").read_bytes() == (tmp_path / "net.glsl").read_bytes()
    assert "//!HOOK" in shader._repr_html_()


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
    assert "takes 1 inputs, not 2" in refusal(build, image, image)
    assert "not 1x3x5x5" in refusal(build, image[:, :, :5, :5])


def test_functions_list_their_options():
    hidden = {"array_shapes", "strings", "dynamic", "variants"}
    assert set(CompileOptions.__annotations__) == {f.name for f in fields(Options)} - hidden
    for function in (shadergen.compile_model, shadergen.verify):
        assert set(CompileOptions.__annotations__) < set(inspect.signature(function).parameters)
