"""``--runtime`` and ``--adapter``: what runs a build that OpenGL ES and WebGPU can run."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import pytest
from support import ESPCN
from support.cli_models import SIZE
from support.webgpu import context as webgpu_context

import shadergen as package
from shadergen.compiler import onnx_backend
from shadergen.compiler.options import Options
from shadergen.compiler.runtimes import _shared
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python.webgpu import DeviceInfo

BOTH = ("--device", "webgl2-min,webgpu")
NUMPY = ("--reference", "numpy")
RELU = '<ir_version: 8, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { y = Relu(x) }'


@pytest.fixture(scope="module", autouse=True)
def adapter():
    """Return the WebGPU adapter's name; there are no such tests without one."""
    return webgpu_context().info().renderer


def compiled(folder, device):
    package.compile_model(ESPCN, folder, device=device, input_size=(16, 24), validate=False)
    return folder


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Return a build for both runtimes."""
    return compiled(tmp_path_factory.mktemp("runtimes") / "both", "webgl2-min,webgpu")


@pytest.fixture
def played(shadergen, build, tmp_path):
    """Return a function that runs the build, or another one, and gives the JSON and the result."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((1, 16, 24, 1), np.float32))

    def run(*flags, of=build):
        result = tmp_path / "y.npy"
        ran = shadergen("run", of, tmp_path / "x.npy", "-o", result, "--json", *flags)
        return (ran.json, np.load(result)) if ran.code == 0 else ran

    return run


def without(monkeypatch, *packages):
    for name in packages:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.gl
def test_run_takes_the_runtime_that_is_asked_for(played):
    gles, expected = played("--runtime", "gles")
    webgpu, result = played("--runtime", "webgpu")
    auto, _ = played()
    named, _ = played("--variant", "webgpu")
    assert [(r["runtime"], r["variant"]) for r in (gles, webgpu, auto, named)] == [
        ("gles", ""), ("webgpu", "webgpu"), ("gles", ""), ("webgpu", "webgpu"),
    ]  # fmt: skip
    np.testing.assert_allclose(result, expected, atol=1e-4)


def test_run_takes_webgpu_without_pyopengl(played, monkeypatch):
    without(monkeypatch, "OpenGL")
    run, _ = played()
    assert (run["runtime"], run["variant"]) == ("webgpu", "webgpu")
    refused = played("--runtime", "gles")
    assert refused.code == 2
    assert "error[SG0606]: running on OpenGL ES needs the Python package PyOpenGL" in refused.err
    assert "without OpenGL ES: compile with --device webgpu" in refused.err


def test_verify_takes_webgpu_without_pyopengl(shadergen, monkeypatch):
    without(monkeypatch, "OpenGL")
    assert shadergen("verify", ESPCN, *SIZE, *NUMPY, "--json").json["runtimes"] == ["WebGPU"]
    assert package.verify(ESPCN, input_size=(16, 24), reference="numpy").runtimes == ("WebGPU",)
    refused = shadergen("verify", ESPCN, *SIZE, *NUMPY, "--device", "gles30")
    assert "error[SG0606]: running on OpenGL ES needs the Python package PyOpenGL" in refused.err


@pytest.mark.gl
def test_run_takes_opengl_es_without_wgpu(played, monkeypatch):
    without(monkeypatch, "wgpu")
    run, _ = played()
    assert (run["runtime"], run["variant"]) == ("gles", "")
    refused = played("--runtime", "webgpu")
    assert "error[SG0606]: running on WebGPU needs the Python package wgpu" in refused.err


def test_without_either_package_both_are_named(played, monkeypatch):
    without(monkeypatch, "OpenGL", "wgpu")
    refused = played()
    assert refused.code == 2
    assert "help: pip install '.[run]'" in refused.err
    assert "help: pip install '.[webgpu]'" in refused.err


@pytest.mark.parametrize(
    ("device", "runtime", "has"), [("gles30", "webgpu", "gles"), ("webgpu", "gles", "webgpu")]
)
def test_a_runtime_that_the_build_has_no_shaders_for_is_refused(
    played, tmp_path, device, runtime, has
):
    folder = compiled(tmp_path / "one", device)
    refused = played("--runtime", runtime, of=folder)
    assert refused.code == 2
    assert f"error[SG0301]: --runtime {runtime} cannot run '{folder}'" in refused.err
    assert f"= supported: --runtime {has}" in refused.err


def test_a_variant_that_the_adapter_lacks_something_for_says_what(played, monkeypatch):
    monkeypatch.setattr(DeviceInfo, "missing", lambda *_: ["texture units >= 16 (this is 8)"])
    refused = played("--runtime", "webgpu")
    assert refused.code == 2
    assert "error[SG0602]: this WebGPU lacks texture units >= 16 (this is 8)" in refused.err


def test_an_adapter_is_named(played, adapter):
    run, _ = played("--runtime", "webgpu", "--adapter", adapter[:6].upper())
    assert run["renderer"] == adapter
    refused = played("--runtime", "webgpu", "--adapter", "nothing like it")
    assert "error[SG0601]: no WebGPU adapter is called 'nothing like it'" in refused.err
    assert adapter in refused.err


@pytest.mark.gl
def test_a_renderer_of_opengl_es_is_named(played):
    run, _ = played("--runtime", "gles")
    name = run["renderer"]
    assert played("--runtime", "gles", "--adapter", name.lower())[0]["renderer"] == name
    refused = played("--runtime", "gles", "--adapter", "nothing like it")
    assert "error[SG0601]: no OpenGL ES renderer is called 'nothing like it'" in refused.err
    assert f"= supported: {name}" in refused.err


@pytest.mark.parametrize("option", ["--runtime", "--adapter"])
def test_user_shaders_have_no_runtime(shadergen, tmp_path, option):
    ran = shadergen("run", "net.glsl", "x.png", "-o", tmp_path / "y.png", option, "webgpu")
    assert ran.code == 2
    assert f"{option} is for builds; a user shader runs in FFmpeg" in ran.err


def test_verify_compiles_for_the_runtime(shadergen):
    ran = shadergen("verify", ESPCN, *SIZE, *NUMPY, "--runtime", "webgpu", "--json")
    assert (ran.code, ran.json["runtimes"]) == (0, ["WebGPU"])
    assert "(WebGPU)" in shadergen("verify", ESPCN, *SIZE, *NUMPY, "--runtime", "webgpu").out
    report = package.verify(ESPCN, input_size="16x24", reference="numpy", runtime="webgpu")
    assert report.ok
    assert report.runtimes == ("WebGPU",)


def test_verify_refuses_a_device_of_the_other_runtime(shadergen):
    flags = ("--device", "gles31-min", "--runtime", "webgpu")
    ran = shadergen("verify", ESPCN, *SIZE, *flags)
    assert ran.code == 2
    assert "--runtime webgpu cannot run a build for --device gles31-min" in ran.err
    assert "= help: compile with --device webgpu" in ran.err


@pytest.mark.gl
def test_verify_checks_the_builds_of_both_runtimes_or_of_one(shadergen):
    ran = shadergen("verify", ESPCN, *SIZE, *BOTH, *NUMPY, "--json").json
    assert [o["variant"] for o in ran["outputs"]] == ["", "webgpu"]
    assert ran["runtimes"] == ["OpenGL ES", "WebGPU"]
    for runtime, variant in (("gles", ""), ("webgpu", "webgpu")):
        ran = shadergen("verify", ESPCN, *SIZE, *BOTH, *NUMPY, "--json", "--runtime", runtime).json
        assert [o["variant"] for o in ran["outputs"]] == [variant]


def test_verify_says_how_to_do_without_the_missing_runtime(shadergen, monkeypatch):
    without(monkeypatch, "OpenGL")
    ran = shadergen("verify", ESPCN, *SIZE, *BOTH, *NUMPY)
    assert ran.code == 2
    assert "error[SG0606]: running on OpenGL ES needs the Python package PyOpenGL" in ran.err
    assert "help: to verify only the builds for WebGPU: --runtime webgpu" in ran.err
    ran = shadergen("verify", ESPCN, *SIZE, *BOTH, *NUMPY, "--runtime", "webgpu", "--json")
    assert [o["variant"] for o in ran.json["outputs"]] == ["webgpu"]


def test_the_onnx_backend_takes_a_runtime(monkeypatch):
    model, x = onnx.parser.parse_model(RELU), np.array([-1, 2], np.float32)
    rep = onnx_backend.prepare(model, runtime="webgpu")
    np.testing.assert_array_equal(rep.run([x]).y, [0, 2])
    assert rep._context.runtime == "webgpu"
    _shared.cache_clear()
    without(monkeypatch, "OpenGL")
    assert onnx_backend.prepare(model)._context.runtime == "webgpu"
    with pytest.raises(ShadergenError, match="SG0301") as caught:
        onnx_backend.prepare(model, options=Options(device="gles30"), runtime="webgpu")
    assert caught.value.supported == "--runtime gles"
    with pytest.raises(ShadergenError, match="no runtime is called 'webgl'") as caught:
        onnx_backend.prepare(model, runtime="webgl")
    assert caught.value.supported == "auto, gles, webgpu"


def test_a_build_is_read_without_any_runtime(build, monkeypatch):
    without(monkeypatch, "OpenGL", "wgpu")
    assert package.load(build, variant="webgpu").requires.wgsl == "core"


def test_a_build_is_called_on_a_runtime(build, played, monkeypatch):
    x = np.random.default_rng(0).random((1, 16, 24, 1), np.float32)
    _, expected = played("--runtime", "webgpu")
    np.testing.assert_array_equal(package.run(build, x, runtime="webgpu"), expected)
    without(monkeypatch, "OpenGL")
    _shared.cache_clear()
    np.testing.assert_array_equal(package.run(build, x), expected)
    with pytest.raises(ShadergenError, match="PyOpenGL"):
        package.run(build, x, runtime="gles")
    with pytest.raises(ShadergenError, match="no WebGPU adapter is called 'nothing'"):
        package.run(build, x, runtime="webgpu", adapter="nothing")


def test_a_compiled_model_is_verified_on_webgpu():
    compiled = package.compile_model(ESPCN, device="gles30,webgpu", input_size="16x24")
    report = compiled.verify(runtime="webgpu", reference="numpy")
    assert (report.ok, report.runtimes) == (True, ("WebGPU",))


def test_run_takes_webgpu_without_a_driver_of_opengl_es(played, monkeypatch):
    def load_egl():
        raise ShadergenError("SG0601", "there is no EGL")

    monkeypatch.setattr("shadergen.runtime_glue.python.context.load_egl", load_egl)
    assert played()[0]["runtime"] == "webgpu"
    refused = played("--runtime", "gles")
    assert "error[SG0601]: there is no EGL" in refused.err
