"""The Python runtime on WebGPU: textures of the application, several runners, sizes, refusals."""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import runtime_models as models
from support.onnx_models import typed_model
from support.runtime_builds import RuntimeBuild, webgpu_builds
from support.webgpu import context as context_of

from shadergen.compiler.device_list import parse_devices
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.compiler.verification import verify_model
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import HeadlessContext, load, webgpu
from shadergen.runtime_glue.python import Runner as GlRunner
from shadergen.runtime_glue.python.webgpu import DeviceInfo, Runner, query_device
from shadergen.runtime_glue.python.webgpu.device import TIMESTAMPS
from shadergen.runtime_glue.python.webgpu.textures import make_texture

if TYPE_CHECKING:
    from pathlib import Path

WEBGPU = {"device": "webgpu"}
PHOTOGRAPH = RuntimeBuild("photograph", models.photograph, WEBGPU)


@pytest.fixture(scope="module")
def context() -> Any:
    return context_of()


@pytest.fixture(scope="module")
def device(context: Any) -> DeviceInfo:
    return context.info()


@pytest.mark.parametrize("case", webgpu_builds(), ids=lambda case: case.name)
def test_a_build_gives_what_onnxruntime_gives(case, context, tmp_path):
    arrays = case.write(tmp_path / "case")
    build = load(tmp_path / "case" / "build")
    with Runner(build, context) as runner:
        if case.dynamic:
            height, width = next(iter(arrays["inputs"].values())).shape[-2:]
            runner.resize(height=height, width=width)
        for name, array in arrays["inputs"].items():
            runner.upload(name, array)
        runner.run()
        runner.check()
        for name, expected in arrays["outputs"].items():
            bound = case.tolerance * max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(runner.read(name), expected, rtol=0, atol=bound)


@pytest.fixture
def played(context: Any, tmp_path: Path) -> Any:
    """Return a runner of a network from a picture to a picture, its input and its output."""
    arrays = PHOTOGRAPH.write(tmp_path / "case")
    (name,) = arrays["inputs"]
    with Runner(load(tmp_path / "case" / "build"), context) as runner:
        yield runner, arrays["inputs"][name], next(iter(arrays["outputs"].values()))


def names_of(runner: Runner) -> tuple[str, str]:
    return runner.build.inputs[0].name, runner.build.outputs[0].name


def test_textures_of_the_application_are_read_and_written(played, context):
    runner, x, y = played
    source, result = names_of(runner)
    runner.upload(source, x)
    given = runner._textures[runner.build.inputs[0].texture]
    with Runner(runner.build, context.device) as other:
        other.bind_input(source, given)
        mine = other._make(other.build.outputs[0].texture, runner.output_texture(result).size[2])
        other.bind_output(result, mine)
        assert other.output_texture(result) is mine
        other.run()
        np.testing.assert_allclose(other.read(result), y, atol=1e-4)
    # closed, the other has left them alone
    runner.run()
    np.testing.assert_allclose(runner.read(result), y, atol=1e-4)
    mine.destroy()


def test_an_upload_takes_the_place_of_a_bound_texture(played):
    runner, x, y = played
    source, result = names_of(runner)
    texture = runner.build.inputs[0].texture
    strange = runner._make(texture, runner.build.textures[texture].layers)
    runner.bind_input(source, strange)
    runner.upload(source, x)
    runner.run()
    np.testing.assert_allclose(runner.read(result), y, atol=1e-4)


def test_two_runners_share_an_encoder(context, tmp_path):
    case = RuntimeBuild("residual", models.residual, WEBGPU)
    arrays = case.write(tmp_path / "case")
    build = load(tmp_path / "case" / "build")
    (x,) = arrays["inputs"].values()
    with Runner(build, context) as first, Runner(build, context) as second:
        source, result = names_of(first)
        first.upload(source, x)
        second.bind_input(source, first.output_texture(result))
        encoder = context.device.create_command_encoder()
        first.encode(encoder)
        second.encode(encoder)
        context.device.queue.submit([encoder.finish()])
        chained = second.read(result)
        second.upload(source, first.read(result))
        second.run()
        np.testing.assert_array_equal(second.read(result), chained)
        assert np.abs(chained - first.read(result)).max() > 0.1


def test_each_pass_is_timed(played, monkeypatch):
    build, x, _ = played[0].build, *played[1:]
    monkeypatch.setattr("shadergen.runtime_glue.python.webgpu.context.UNTIMED", ())
    with webgpu.HeadlessContext() as context, context.runner(build) as runner:
        runner.upload(names_of(runner)[0], x)
        runner.run()
        assert runner.timings() == ()
        runner.run(timed=True)
        times = runner.timings()
        assert len(times) == len(build.passes) * (TIMESTAMPS in context.info().features)
        assert all(time >= 0 for time in times)
        assert len(runner.run_stepwise()) == len(build.passes)


def test_software_writes_no_timestamps(played, device):
    runner, x, _ = played
    if "llvmpipe" not in device.renderer:
        pytest.skip("the adapter is a GPU")
    runner.upload(names_of(runner)[0], x)
    runner.run(timed=True)
    assert runner.timings() == ()


def test_what_the_device_lacks_is_named(played, device):
    requires = played[0].build.requires
    device.check(requires)
    poor = replace(device, features=frozenset(), limits={**device.limits, "texture_units": 0})
    with pytest.raises(ShadergenError, match="shader-f16") as caught:
        poor.check(replace(requires, wgsl="f16", limits={"texture_units": 2, "fragment_images": 1}))
    assert "max-sampled-textures-per-shader-stage is 0" in caught.value.why
    assert "fragment images >= 1" in caught.value.why
    with pytest.raises(ShadergenError, match="lacks support for GLSL ES"):
        device.check(replace(requires, wgsl=None, glsl=300))


def test_each_runtime_refuses_the_builds_of_the_other(played, context, tmp_path):
    with HeadlessContext() as gl, pytest.raises(ShadergenError, match="lacks support for WGSL"):
        GlRunner(played[0].build, gl).init()
    RuntimeBuild("gl", models.residual, {"device": "gles30"}).write(tmp_path / "gl")
    with pytest.raises(ShadergenError, match="lacks support for GLSL ES") as caught:
        Runner(load(tmp_path / "gl" / "build"), context).init()
    assert caught.value.code == "SG0602"


def test_mistakes_are_refused(played):
    runner, x, _ = played
    source, result = names_of(runner)
    with pytest.raises(ShadergenError, match=f"the input '{source}' has no texture"):
        runner.run()
    with pytest.raises(ShadergenError, match="has no input 'nothing'"):
        runner.upload("nothing", x)
    with pytest.raises(ShadergenError, match="takes an array of shape"):
        runner.upload(source, x[..., :-1])
    with pytest.raises(ShadergenError, match="is not a WebGPU texture"):
        runner.bind_input(source, 7)
    small = replace(runner.build.textures[runner.build.inputs[0].texture], width=1)
    texture = make_texture(runner._wgpu, runner._device, small, small.layers)
    with pytest.raises(ShadergenError, match=r"the texture has size 1x[\s\S]*or resize\(\)"):
        runner.bind_input(source, texture)
    with pytest.raises(ShadergenError, match="has no dynamic size"):
        runner.resize(height=3)
    runner.close()
    with pytest.raises(ShadergenError, match="not initialised"):
        runner.run()
    with pytest.raises(ShadergenError, match="not initialised"):
        runner.read(result)


def test_a_closed_device_is_named(tmp_path):
    arrays = PHOTOGRAPH.write(tmp_path / "case")
    made = webgpu.HeadlessContext()
    runner = Runner(load(tmp_path / "case" / "build"), made)
    runner.init()
    runner.upload(*next(iter(arrays["inputs"].items())))
    made.close()
    with pytest.raises(ShadergenError, match="WebGPU reports an error") as caught:
        runner.run()
    assert caught.value.code == "SG0604"


def test_an_output_of_another_format_is_not_read(played, context):
    runner, _, _ = played
    _, result = names_of(runner)
    texture = runner.build.textures[runner.build.outputs[0].texture]
    if texture.format != "rgba16f":
        texture = replace(texture, format="rgba16f")
    other = make_texture(runner._wgpu, runner._device, texture, texture.layers)
    stored = any(hasattr(p, "groups") for p in runner.build.passes[-1:])
    if stored:
        with pytest.raises(ShadergenError, match="the texture's format is rgba16float"):
            runner.bind_output(result, other)
        return
    runner.bind_output(result, other)
    with pytest.raises(ShadergenError, match="cannot be read: it is in a texture of format"):
        runner.read(result)


def test_a_shader_that_is_wrong_is_shown(context, tmp_path):
    RuntimeBuild("residual", models.residual, WEBGPU).write(tmp_path / "case")
    build = load(tmp_path / "case" / "build")
    path = build.passes[0].shader
    broken = build.shaders[path].replace("fn main", "let wrong = nothing;\nfn main")
    with pytest.raises(ShadergenError, match="does not compile") as caught:
        Runner(replace(build, shaders={**build.shaders, path: broken}), context).init()
    assert caught.value.code == "SG0603"
    assert "wrong" in caught.value.why


def test_without_wgpu_the_package_is_named(played, monkeypatch):
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == "wgpu":
            raise ImportError("No module named 'wgpu'")
        return real(name, *rest)

    import shadergen.runtime_glue.python.webgpu.package as module

    monkeypatch.setattr(module, "import_module", lambda name: without(name))
    with pytest.raises(ShadergenError, match="needs the Python package wgpu") as caught:
        Runner(played[0].build, None)
    assert "shadergen[webgpu]" in caught.value.help


def test_an_adapter_is_found_by_a_part_of_its_name(context):
    name = query_device(context.device).renderer
    with webgpu.HeadlessContext(name[:8].upper()) as found:
        assert name[:8] in found.info().renderer
    with pytest.raises(ShadergenError, match="no WebGPU adapter is called 'nothing like it'") as e:
        webgpu.HeadlessContext("nothing like it")
    assert name in e.value.supported


def test_a_variant_for_webgpu_is_for_webgpu_alone(context, device, tmp_path):
    case = RuntimeBuild("residual", models.residual, WEBGPU)
    model = case.model()
    proto = typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    generic, variants = parse_devices("gles30,webgpu")
    folder = tmp_path / "build"
    options = Options(device=generic, variants=variants, validate=False)
    compile_model(tmp_path / "model.onnx", folder, options)
    assert load(folder).requires.wgsl is None
    found = load(folder, device=device)
    assert (found.variant, found.requires.wgsl) == ("webgpu", "core")
    with HeadlessContext() as gl:
        assert load(folder, device=gl.info()).variant == ""
    report = verify_model(tmp_path / "model.onnx", options)
    assert report.ok
    assert {o.variant for o in report.outputs} == {"", "webgpu"}


def test_builds_for_webgpu_alone_may_differ_in_features(device, tmp_path):
    assert parse_devices("webgpu-f16,webgpu") == ("webgpu", ("webgpu-f16",))
    with pytest.raises(ShadergenError, match="not supported"):
        parse_devices("webgpu,adreno-7xx")
