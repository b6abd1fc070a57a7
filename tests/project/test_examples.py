"""The sample applications do what their READMEs say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
import skimage.data
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from support import ESPCN, ROOT
from support.cpp_runtime import compiled, need

import shadergen
from shadergen.compiler.inspection import inspect_build
from shadergen.compiler.running import run_file
from shadergen.runtime_glue.python import HeadlessContext, Runner, load
from shadergen.runtime_glue.python.schedule import ComputePass

if TYPE_CHECKING:
    from collections.abc import Callable

    Tool = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.gl, pytest.mark.slow]
NATIVE = ROOT / "examples" / "native"
HEIGHT, WIDTH = 48, 64


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "build"
    size = f"{HEIGHT}x{WIDTH}"
    shadergen.compile_model(ESPCN, folder, input_size=size, validate=False)
    return folder


# examples/executor

UPSCALE = ROOT / "examples" / "networks" / "upscale" / "upscale.onnx"
EXECUTED = {
    "multiple render targets": (ESPCN, {"device": "gles30"}),
    "uniform blocks": (ESPCN, {"device": "gles30", "weights": "ubo", "textures": "2d"}),
    "many passes": (UPSCALE, {"device": "gles30"}),
    "compute shaders": (UPSCALE, {"device": "mali-valhall"}),
    "samples beyond the border": (UPSCALE, {"device": "mali-valhall", "stage": "fragment"}),
}


@pytest.fixture(scope="module")
def execute(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    headers = ("EGL/egl.h", "GLES3/gl31.h", "nlohmann/json.hpp")
    missing = [name for name in headers if not (Path("/usr/include") / name).exists()]
    if missing:
        pytest.skip(f"no {', '.join(missing)} here: make test installs what C++ needs")
    options = ("-DCMAKE_CXX_FLAGS=-Werror",)
    folder = compiled(tmp_path_factory, ROOT / "examples" / "executor", *options, name="executor")

    def tool(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(folder / "executor"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True)

    return tool


@pytest.mark.parametrize("name", EXECUTED)
def test_the_executor_computes_what_the_runner_computes(execute, tmp_path, name):
    model, options = EXECUTED[name]
    folder = tmp_path / "build"
    shadergen.compile_model(model, folder, input_size="36x64", validate=False, **options)
    build = load(folder)
    if name == "samples beyond the border":
        shaders = (folder / "shaders").glob("*.frag")
        assert any(re.search(r"\btexture(Lod)?\(", path.read_text()) for path in shaders)
    assert ("blocks" in name) == any(p.blocks for p in build.passes)
    assert ("compute" in name) == any(isinstance(p, ComputePass) for p in build.passes)
    (given,), (result,) = build.inputs, build.outputs
    x = np.random.default_rng(0).random(given.shape, dtype=np.float32)
    with HeadlessContext() as context, Runner(build, context) as runner:
        runner.upload(given.name, x)
        runner.run()
        expected = runner.read(result.name)
    x.tofile(tmp_path / "in.f32")  # one channel: NHWC is NCHW
    done = execute(folder, tmp_path / "in.f32", tmp_path / "out.f32")
    assert done.returncode == 0, done.stderr
    found = np.fromfile(tmp_path / "out.f32", np.float32).reshape(expected.shape)
    assert np.array_equal(found, expected)


def test_the_executor_names_what_it_does_not_support(execute, tmp_path):
    shadergen.compile_model(ESPCN, tmp_path / "build", input_size="dynamic", validate=False)
    done = execute(tmp_path / "build", tmp_path / "in.f32", tmp_path / "out.f32")
    assert (done.returncode, done.stderr) == (1, "executor: dynamic sizes are not supported\n")


# examples/native


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("cmake", "c++")
    headers = ("EGL/egl.h", "GLES3/gl3.h", "stb/stb_image.h")
    missing = [name for name in headers if not (Path("/usr/include") / name).exists()]
    if missing:
        pytest.skip(f"no {', '.join(missing)} here: make test installs what C++ needs")
    compiler = tmp_path_factory.mktemp("compiler") / "shadergen"
    compiler.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shadergen "$@"\n')
    compiler.chmod(0o755)
    return compiled(tmp_path_factory, NATIVE, f"-DSHADERGEN={compiler}", name="samples")


@pytest.fixture
def upscale(native: Path) -> Tool:
    def tool(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(native / "upscale"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True)

    return tool


def photograph(path: Path, mode: str = "RGB", size: tuple[int, int] = (WIDTH, HEIGHT)) -> Path:
    picture = Image.fromarray(skimage.data.astronaut()).resize((160, 160)).crop((40, 20, 140, 100))
    picture.crop((0, 0, *size)).convert(mode).save(path)
    return path


def difference(found: Path, expected: Path) -> int:
    """Return the largest difference of two pictures of one size and mode, in 0..255."""
    with Image.open(found) as a, Image.open(expected) as b:
        assert (a.size, a.mode) == (b.size, b.mode)
        return int(np.abs(np.asarray(a, np.int16) - np.asarray(b, np.int16)).max())


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA"])
def test_the_upscaler_makes_the_picture_that_run_makes(upscale, build, tmp_path, mode):
    source = photograph(tmp_path / "in.png", mode)
    run_file(build, source, tmp_path / "expected.png")
    if mode == "RGBA":  # run keeps alpha, the sample writes colours only
        with Image.open(tmp_path / "expected.png") as kept:
            kept.convert("RGB").save(tmp_path / "expected.png")
    for name, options in (("embedded", ()), ("fixed", ("--build", build))):
        done = upscale(source, tmp_path / f"{name}.png", *options)
        assert done.returncode == 0, done.stderr
        assert difference(tmp_path / f"{name}.png", tmp_path / "expected.png") <= 1


def colour_model(path: Path) -> Path:
    """Write a 3x3 convolution of RGB that halves the size."""
    w = np.random.default_rng(0).uniform(0, 0.07, (3, 3, 3, 3)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1])
    shapes = {"x": [1, 3, "h", "w"], "y": [1, 3, None, None]}
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items())
    graph = helper.make_graph([node], "half", [x], [y], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_the_upscaler_plays_colours_at_sizes_left_open(upscale, tmp_path):
    model = colour_model(tmp_path / "half.onnx")
    folder = tmp_path / "half"
    shadergen.compile_model(model, folder, input_size="dynamic", validate=False)
    shadergen.compile_model(model, tmp_path / "fixed", input_size="50x70", validate=False)
    source = photograph(tmp_path / "in.png", size=(70, 50))
    done = upscale(source, tmp_path / "out.png", "--build", folder)
    assert done.returncode == 0, done.stderr
    run_file(tmp_path / "fixed", source, tmp_path / "expected.png")
    assert difference(tmp_path / "out.png", tmp_path / "expected.png") <= 1


def test_the_upscaler_says_what_it_took(upscale, build, tmp_path):
    source = photograph(tmp_path / "in.png")
    said = []
    options = ("--build", build, "--cache", tmp_path / "cache")
    for _ in range(2):
        done = upscale(source, tmp_path / "out.png", *options)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert "programs compiled" in said[0]
    if any((tmp_path / "cache").iterdir()):  # not every GL gives programs
        assert "programs from the cache" in said[1]
    parts = re.search(r"start-up +([\d.]+) ms: load ([\d.]+), init ([\d.]+)", said[0])
    assert parts
    assert float(parts[1]) == pytest.approx(float(parts[2]) + float(parts[3]), abs=0.11)
    taken = re.search(r"([\d.]+) MB at the peak of the process; ([\d.]+) MB of textures", said[0])
    assert taken
    assert float(taken[1]) > float(taken[2])
    low = WIDTH * HEIGHT * 4  # the input, r32f, is not the runner's
    of_runner = inspect_build(build).texture_bytes_peak - low
    assert float(taken[2]) == pytest.approx(of_runner / 1e6, abs=0.06)


def test_the_upscaler_refuses_in_words(upscale, build, tmp_path):
    source = photograph(tmp_path / "in.png")
    small = photograph(tmp_path / "small.png", size=(32, 32))
    out = tmp_path / "out.png"
    for arguments, words in (
        ((source,), "usage: upscale"),
        ((source, out, "--bild", build), "there is no option --bild\nusage: upscale"),
        ((source, out, "--build"), "--build takes a value"),
        ((source, out, "--frames", "abc"), "--frames takes a number from 1 to 1000000, not abc"),
        ((source, out, "--cache", source), "in.png"),
        ((source, out, "--cache", "/proc"), "/proc: programs cannot be kept there"),
        ((source, out.with_suffix(".jpg")), "out.jpg: pictures are written as .png alone"),
        ((tmp_path / "none.png", out), "none.png: cannot be opened"),
        ((Path(__file__), out), "cannot be read as a picture"),
        ((source, out, "--build", tmp_path), "error[SG0502]"),
        (
            (small, out, "--build", build),
            "error[SG0605]: the picture is 32x32, the build takes 48x64",
        ),
        ((source, tmp_path / "nowhere" / "out.png"), "cannot be written"),
    ):
        done = upscale(*arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert not out.exists()
    done = upscale("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: upscale")


def test_the_viewer_shows_before_and_after_upright(native, tmp_path):
    if not (native / "viewer").exists() or shutil.which("xvfb-run") is None:
        pytest.skip("no GLFW or no Xvfb here: make test installs them")
    folder = tmp_path / "frames"
    folder.mkdir()
    photograph(folder / "0.png", size=(100, 80))
    photograph(folder / "1.jpg", size=(100, 80))
    shot = tmp_path / "shot.png"
    viewer = ["xvfb-run", "-a", native / "viewer", folder, "--fps", "1000"]
    environment = {k: v for k, v in os.environ.items() if k != "EGL_PLATFORM"}
    done = subprocess.run(
        [*viewer, "--screenshot", "2", shot], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    with Image.open(shot) as window, Image.open(folder / "1.jpg") as frame:
        shown = np.asarray(window, np.float64)
        before = np.asarray(frame.resize(window.size, Image.Resampling.BILINEAR), np.float64)
        run_file(_build_of(tmp_path, frame.size), folder / "1.jpg", tmp_path / "after.png")
    with Image.open(tmp_path / "after.png") as picture:
        after = np.asarray(picture.resize(window.size, Image.Resampling.BILINEAR), np.float64)
    middle = window.size[0] // 2
    assert (shown[:, middle - 1 : middle + 1] == 255).all()
    left, right = np.s_[:, : middle - 2], np.s_[:, middle + 2 :]
    assert np.abs(shown[left] - before[left]).mean() < 1.5
    assert np.abs(shown[right] - after[right]).mean() < 1.5
    assert np.abs(shown[right] - before[right]).mean() > 2
    assert np.abs(shown[::-1][left] - before[left]).mean() > 20


def _build_of(folder: Path, size: tuple[int, int]) -> Path:
    build = folder / "build"
    shadergen.compile_model(ESPCN, build, input_size=f"{size[1]}x{size[0]}", validate=False)
    return build
