"""External inputs: a camera's frame of any size, through its matrix, into the first GPU pass."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from support import refusal
from support.cpp_runtime import compiled as programs
from support.cpp_runtime import run
from support.dynamic_models import MODELS
from support.external_frames import MATRICES, external_texture, seen
from support.playing import Tracer, make_texture
from support.schedule_fixtures import EXTERNAL

import shadergen
from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import Graph, Input, Output, Port, apply
from shadergen.ir.ops import Pointwise
from shadergen.ir.text import to_text
from shadergen.ir.text_parser import parse as parse_ir
from shadergen.ir.types import TensorType
from shadergen.passes.read_external import read_external
from shadergen.runtime_glue.python import HeadlessContext, Runner, load
from shadergen.runtime_glue.python.device import get_integer

HEIGHT, WIDTH = 12, 20
FRAME = np.random.default_rng(3).integers(0, 256, (9, 14, 4), dtype=np.uint8)  # of a camera
NEAR = 0.01  # of filtering in 8 bits of fraction
GL_TEXTURE_BINDING_EXTERNAL_OES, GL_SAMPLER_BINDING = 0x8D67, 0x8919
EXTENSION = "GL_OES_EGL_image_external_essl3"


def compiled(folder: Path, name: str = "reflecting_convolution", **options: Any) -> Path:
    model = folder / "model.onnx"
    onnx.save(MODELS[name](), model)
    sizes = {"input_size": f"{HEIGHT}x{WIDTH}"}
    shadergen.compile_model(model, folder / "build", input_external="x", **{**sizes, **options})
    return folder / "build"


def expected(folder: Path, image: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    x = image[..., :3].transpose(2, 0, 1)[None].astype(np.float32)
    return np.asarray(session.run(None, {"x": x})[0])


WAYS: dict[str, dict[str, Any]] = {
    "fragment": {},
    "fragment_auto": {"precision": "auto", "input_range": "0:1"},
    "fragment_310": {"device": "gles32-desktop", "stage": "fragment", "fetch": "image-zero"},
    "compute": {"device": "llvmpipe", "stage": "compute"},
    "compute_texel": {"device": "llvmpipe", "stage": "compute", "fetch": "texel"},
    "open": {"input_size": "dynamic:16x16"},
    "open_compute": {"input_size": "dynamic:16x16", "device": "llvmpipe", "stage": "compute"},
}


@pytest.mark.gl
@pytest.mark.parametrize("name", ["same_convolution", "flipped", "crop"])
@pytest.mark.parametrize("way", WAYS)
def test_a_frame_is_read_through_its_matrix(way: str, name: str, tmp_path: Path) -> None:
    build = compiled(tmp_path, name, **WAYS[way])
    sizes = {"height": HEIGHT, "width": WIDTH} if "open" in way else None
    with HeadlessContext() as context, Runner(load(build, sizes), context) as runner:
        texture = external_texture(FRAME)
        for matrix in MATRICES.values():
            runner.bind_input("x", texture, matrix)
            runner.run()
            runner.check()
            wanted = expected(tmp_path, seen(FRAME, matrix, HEIGHT, WIDTH))
            np.testing.assert_allclose(runner.read("y"), wanted, atol=NEAR * np.abs(wanted).max())


@pytest.mark.gl
def test_pixels_of_the_networks_size_are_read_as_they_are(tmp_path: Path) -> None:
    frame = np.random.default_rng(4).integers(0, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8)
    build = compiled(tmp_path)
    shadergen.compile_model(
        tmp_path / "model.onnx",
        tmp_path / "plain",
        input_size=f"{HEIGHT}x{WIDTH}",
        preprocess="input=unorm8",
    )
    found = []
    with HeadlessContext() as context:
        with Runner(load(build), context) as runner:
            runner.bind_input("x", external_texture(frame), MATRICES["flip"])
            runner.run()
            found.append(runner.read("y"))
        with Runner(load(tmp_path / "plain"), context) as runner:
            runner.upload("x", frame[None, ..., :3].transpose(0, 3, 1, 2))
            runner.run()
            found.append(runner.read("y"))
    np.testing.assert_allclose(*found, atol=1e-5)


@pytest.mark.gl
def test_preprocessing_goes_before_the_network(tmp_path: Path) -> None:
    build = compiled(tmp_path, preprocess="order=bgr,scale=255,mean=100/110/120,std=50")
    with HeadlessContext() as context, Runner(load(build), context) as runner:
        runner.bind_input("x", external_texture(FRAME), MATRICES["flip"])
        runner.run()
        image = seen(FRAME, MATRICES["flip"], HEIGHT, WIDTH)[..., 2::-1]
        wanted = expected(tmp_path, (255 * image - [100, 110, 120]) / 50)
        np.testing.assert_allclose(runner.read("y"), wanted, atol=NEAR * np.abs(wanted).max())


@pytest.mark.gl
def test_another_matrix_costs_no_call_and_a_frame_leaves_nothing_bound() -> None:
    with HeadlessContext() as context:
        trace = Tracer(context.gl)
        with Runner(load(EXTERNAL), context, gl=trace) as runner:
            frame = external_texture(FRAME)
            x = np.random.default_rng(5).random((1, 3, 5, 4), np.float32)
            runner.upload("x", x)
            for matrix in ("flip", "crop"):
                trace.called.clear()
                runner.bind_input("frame", frame, MATRICES[matrix])
                assert bool(trace.called) == (matrix == "flip")
                runner.run()
                for unit in range(2):
                    context.gl.glActiveTexture(context.gl.GL_TEXTURE0 + unit)
                    for binding in (GL_TEXTURE_BINDING_EXTERNAL_OES, GL_SAMPLER_BINDING):
                        assert get_integer(context.gl, binding) == 0
                wanted = 2 * (seen(FRAME, MATRICES[matrix], 3, 5) - x)
                np.testing.assert_allclose(runner.read("y"), wanted, atol=NEAR)


@pytest.mark.gl
def test_what_does_not_fit_is_refused_by_name() -> None:
    with (
        HeadlessContext() as context,
        Runner(load(EXTERNAL), context) as runner,
    ):
        frame = external_texture(FRAME)
        plain = make_texture(context.gl, 5, 3)
        flip = MATRICES["flip"]
        assert "takes no arrays" in refusal(runner.upload, "frame", np.zeros((1, 3, 5, 4))).what
        assert "and its matrix" in refusal(runner.bind_input, "frame", frame).what
        no_matrix = refusal(runner.bind_input, "x", plain, flip).what
        assert no_matrix == "'x' is not an external texture, and takes no matrix"
        matrix = refusal(runner.bind_input, "frame", frame, np.eye(4))
        assert "must be a flat list of 16 finite numbers, column by column" in matrix.what
        assert "NaN" in refusal(runner.bind_input, "frame", frame, [np.nan] * 16).why
        assert refusal(runner.bind_input, "frame", plain, flip).code == "SG0604"
        assert refusal(runner.bind_input, "frame", 0, flip).code == "SG0605"
        runner.upload("x", np.zeros((1, 3, 5, 4), np.float32))
        assert "'frame' has no texture" in refusal(runner.run).what


@pytest.mark.gl
def test_a_context_without_the_extension_is_refused_before_a_shader_is_compiled() -> None:
    with HeadlessContext() as context:
        real = context.gl.glGetStringi

        def without(*arguments: int) -> bytes:
            name: bytes = real(*arguments)
            return b"GL_OTHER" if name == EXTENSION.encode() else name

        trace = Tracer(context.gl, glGetStringi=without)
        error = refusal(Runner(load(EXTERNAL), context, gl=trace).init)
        assert (error.code, error.what) == (
            "SG0602",
            f"this GL lacks {EXTENSION}, needed to read the application's external textures",
        )
        assert "glCompileShader" not in trace.called


# compiling


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"input_external": "z"}, "input_external names 'z', which is not an input"),
        (
            {"device": "webgl2-min"},
            'input_external needs OpenGL ES, device="webgl2-min" is WebGL',
        ),
    ],
)
def test_what_cannot_be_external_is_refused(
    options: dict[str, Any], what: str, tmp_path: Path
) -> None:
    onnx.save(MODELS["crop"](), tmp_path / "model.onnx")
    arguments = {"input_size": "8x8", "input_external": "x", **options}
    with pytest.raises(ShadergenError, match=what) as caught:
        shadergen.compile_model(tmp_path / "model.onnx", tmp_path / "build", **arguments)
    assert caught.value.code == "SG0301"


def test_an_external_input_is_not_verified(tmp_path: Path) -> None:
    """Nobody but the application has frames."""
    path = tmp_path / "model.onnx"
    onnx.save(MODELS["crop"](), path)
    with pytest.raises(ShadergenError, match="input_external cannot be verified") as caught:
        shadergen.verify(path, input_size="8x8", input_external="x")
    assert caught.value.code == "SG0301"
    assert caught.value.help.startswith("verify without input_external")


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((1, 1, 8, 8), "float32"),
        ((2, 3, 8, 8), "float32"),
        ((1, 3, 8), "float32"),
        ((1, 3, 8, 8), "uint8"),
    ],
)
def test_an_input_that_is_no_picture_is_no_frame(shape: tuple[int, ...], dtype: Any) -> None:
    x = Input(TensorType(shape, dtype), "x", Port.plain(len(shape)))
    y = apply(Pointwise(parse("x0 * 2")), x)
    graph = Graph("g", (x,), (Output("y", y, Port.plain(len(shape))),))
    error = refusal(read_external, graph, ["x"])
    assert (error.code, error.what) == ("SG0301", "--input-external: 'x' is not a camera frame")


def test_a_frame_too_large_for_planes_is_refused(tmp_path: Path) -> None:
    onnx.save(MODELS["crop"](), tmp_path / "model.onnx")
    options = {"input_size": "8x5000", "input_external": "x", "device": "gles30"}
    with pytest.raises(ShadergenError, match="too large to be read from an external") as caught:
        shadergen.compile_model(tmp_path / "model.onnx", tmp_path / "build", **options)
    assert caught.value.code == "SG0401"


def test_the_ir_keeps_what_is_external() -> None:
    x = Input(TensorType((1, 3, 4, 4)), "x", Port((0, 2, 3, 1), "unorm8", external=True))
    y = apply(Pointwise(parse("x0 * 2")), x)
    text = to_text(Graph("g", (x,), (Output("y", y, Port.plain(4)),)))
    assert "external=true" in text
    assert parse_ir(text, {}).inputs[0].port == x.port


def test_the_command_line_compiles_and_run_refuses(shadergen: Any, tmp_path: Path) -> None:
    onnx.save(MODELS["crop"](), tmp_path / "model.onnx")
    line = ("compile", tmp_path / "model.onnx", "-o", tmp_path / "b", "--input-size", "8x8")
    ran = shadergen(*line, "--input-external", "x", "--embed", "c")
    assert ran.code == 0, ran.err
    schedule = json.loads((tmp_path / "b" / "schedule.json").read_text())
    assert schedule["requires"]["extensions"] == [EXTENSION]
    assert schedule["textures"][0]["kind"] == "external"
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    ran = shadergen("run", tmp_path / "b", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert ran.code != 0
    assert "is an external texture, which takes no arrays" in ran.err


# C++


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return programs(tmp_path_factory) / "external"


@pytest.mark.gl
@pytest.mark.parametrize("options", [(), ("--restore",)])
def test_cpp_reads_frames_as_python_does(
    options: tuple[str, ...], program: Path, tmp_path: Path
) -> None:
    for way in ("fragment", "compute", "open", "open_compute"):
        folder = tmp_path / way
        folder.mkdir()
        compiled(folder, "same_convolution", **WAYS[way])
        if "open" in way:
            (folder / "sizes.txt").write_text(f"height {HEIGHT}\nwidth {WIDTH}\n")
        (folder / "frame.txt").write_text(f"{FRAME.shape[1]} {FRAME.shape[0]}\n")
        FRAME.tofile(folder / "frame.rgba")
        np.array(list(MATRICES.values()), np.float32).tofile(folder / "matrices.f32")
    said = run(program, *options, *sorted(tmp_path.iterdir()))
    assert "failed" not in said, said
    for folder in tmp_path.iterdir():
        for k, matrix in enumerate(MATRICES.values()):
            wanted = expected(folder, seen(FRAME, matrix, HEIGHT, WIDTH))
            found = np.fromfile(folder / f"y.{k}.f32", np.float32).reshape(wanted.shape)
            np.testing.assert_allclose(found, wanted, atol=NEAR * np.abs(wanted).max())


@pytest.mark.gl
def test_desktop_opengl_is_refused_in_cpp(program: Path, tmp_path: Path) -> None:
    loaded = run(program.parent / "play", "--desktop", case(tmp_path))
    assert f"this GL lacks {EXTENSION}" in loaded


def case(folder: Path) -> Path:
    shutil.copytree(EXTERNAL, folder / "build")
    return folder
