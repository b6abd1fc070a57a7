"""What runners and contexts refuse, on a real OpenGL ES context and on false ones."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.playing import (
    IMAGE,
    Tracer,
    X,
    expected,
)
from support.schedule_fixtures import GOOD

from shadergen.errors import ShadergenError
from shadergen.runtime_glue import python
from shadergen.runtime_glue.python import Build, HeadlessContext, Runner, gl, load
from shadergen.runtime_glue.python.device import LIMITS
from shadergen.runtime_glue.python.programs import interleave

pytestmark = pytest.mark.gl

# mistakes


def test_a_frame_without_its_inputs_is_refused(good: Build, context: HeadlessContext) -> None:
    with Runner(good, context) as runner:
        runner.upload("x", X)
        with pytest.raises(ShadergenError, match="the input 'img' has no texture") as caught:
            runner.run()
    assert caught.value.code == "SG0605"


@pytest.mark.parametrize("use", [lambda p: p.run(), lambda p: p.read("out"), lambda p: p.check()])
def test_a_runner_that_is_not_ready_says_so(
    good: Build, context: HeadlessContext, use: Any
) -> None:
    with pytest.raises(ShadergenError, match="the runner is not initialised"):
        use(Runner(good, context))


def test_the_earlier_name_of_the_class_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="now called Runner"):
        assert python.Player is Runner
    with pytest.raises(AttributeError, match="no attribute 'Play'"):
        python.Play  # noqa: B018


def test_a_misspelt_name_is_answered_with_the_right_one(runner: Runner) -> None:
    with pytest.raises(ShadergenError) as caught:
        runner.read("invertd")
    assert caught.value.help == "did you mean 'inverted'?"


def test_an_array_of_another_shape_is_refused(runner: Runner) -> None:
    with pytest.raises(ShadergenError, match="takes an array of shape 1x3x5x5, not 3x5x5"):
        runner.upload("x", X[0])


def spoil(build: Build, path: str, old: str, new: str) -> Build:
    assert old in build.shaders[path]
    return replace(build, shaders={**build.shaders, path: build.shaders[path].replace(old, new)})


def test_a_shader_that_does_not_compile_is_shown_with_its_source(
    good: Build, context: HeadlessContext
) -> None:
    broken = spoil(good, "shaders/mix.frag", "gain[1] +", "gian[1] +")
    with pytest.raises(ShadergenError) as caught, Runner(broken, context):
        pass
    error = caught.value
    assert error.code == "SG0603"
    assert error.what == "the shader 'shaders/mix.frag' does not compile"
    assert error.where[1:] == ("shaders/mix.frag", "pass mix", "layers mix")
    line = 1 + broken.shaders["shaders/mix.frag"].splitlines().index(
        "    o_1 = texelFetch(u_b, p, 0) * gian[1] + texelFetch(u_constant, ivec2(1, 0), 0);"
    )
    assert f"{line:4d} |     o_1 = texelFetch(u_b, p, 0) * gian[1]" in error.why
    assert re.search(r"\^ .*gian", error.why)


def test_a_shader_cut_off_is_answered_with_a_whole_copy(
    good: Build, context: HeadlessContext
) -> None:
    source = good.shaders["shaders/mix.frag"]
    cut = replace(good, shaders=good.shaders | {"shaders/mix.frag": source[: len(source) // 2]})
    with pytest.raises(ShadergenError, match="frag' does not compile") as caught:
        Runner(cut, context).init()
    assert caught.value.help.splitlines() == [
        "copy the whole build folder again, or compile the model again",
        "if the build is intact, report this with the driver's name, which 'shadergen doctor' "
        "shows",
    ]


def test_shaders_that_do_not_link_are_refused(good: Build, context: HeadlessContext) -> None:
    broken = spoil(good, "shaders/signed.frag", "void main", "in vec4 v_none;\nvoid main")
    broken = spoil(broken, "shaders/signed.frag", "float y =", "float y = v_none.x +")
    with pytest.raises(ShadergenError, match="pass 'sign' do not link") as caught:
        Runner(broken, context).init()
    assert caught.value.code == "SG0603"


@pytest.mark.parametrize(
    "line", ["0:2(5): error: no", "ERROR: 0:2: 'no'", "0(2) : error C1: no", "0:2: S0001: no"]
)
def test_the_complaints_of_every_driver_are_put_under_their_lines(line: str) -> None:
    shown = interleave(f"{line}\nall is lost\n", "first\nsecond\nthird").splitlines()
    assert shown == ["   1 | first", "   2 | second", f"     ^ {line}", "all is lost"]


def test_a_compute_shader_that_does_not_compile_is_shown_with_its_source(
    good: Build, context: HeadlessContext
) -> None:
    broken = spoil(good, "shaders/sum.comp", "imageLoad(i_mixed", "imageLoad(i_mix")
    with pytest.raises(ShadergenError) as caught, Runner(broken, context):
        pass
    assert caught.value.code == "SG0603"
    assert caught.value.where[1:] == ("shaders/sum.comp", "pass add", "layers add")
    assert re.search(r"\^ .*i_mix", caught.value.why)


@pytest.mark.parametrize(("buffer", "block"), [("bias", "Bias"), ("gain", "Gain")])
def test_a_buffer_smaller_than_its_block_is_refused(
    good: Build, context: HeadlessContext, buffer: str, block: str
) -> None:
    whole = good.buffers[buffer]
    small = replace(whole, range=replace(whole.range, size=16))
    build = replace(good, buffers={**good.buffers, buffer: small})
    with pytest.raises(ShadergenError, match=f"16 bytes, the block {block} takes 32") as caught:
        Runner(build, context).init()
    assert caught.value.code == "SG0503"


def test_a_workgroup_other_than_the_shaders_is_refused(
    good: Build, context: HeadlessContext
) -> None:
    broken = spoil(good, "shaders/sum.comp", "local_size_x = 4", "local_size_x = 8")
    with pytest.raises(
        ShadergenError, match="states workgroup 4x2x1, the shader has 8x2x1"
    ) as caught:
        Runner(broken, context).init()
    assert caught.value.code == "SG0503"
    assert caught.value.where[1:] == ("shaders/sum.comp", "pass add")


# requirements, on a GL that does not exist


class FalseGL:
    """A GL that answers questions and refuses to do anything."""

    def __init__(self, version: str = "OpenGL ES 3.0 False", extensions: tuple[str, ...] = ()):
        self._version = version
        self._extensions = extensions
        self._limits = dict.fromkeys((enum for enum, _ in LIMITS.values()), 4)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("GL_"):
            return name
        raise AssertionError(f"{name} was called")

    def glGetString(self, enum: str) -> bytes:
        return self._version.encode() if enum == "GL_VERSION" else b"False GL"

    def glGetStringi(self, enum: str, index: int) -> bytes:
        return self._extensions[index].encode()

    def glGetIntegerv(self, enum: str, value: Any) -> None:
        known = self._limits | {"GL_NUM_EXTENSIONS": len(self._extensions)}
        value._obj.value = known.get(enum, 4)

    def glGetIntegeri_v(self, enum: str, axis: int, value: Any) -> None:
        assert enum == "GL_MAX_COMPUTE_WORK_GROUP_COUNT"
        value._obj.value = (4, 1, 4)[axis]


def test_a_missing_version_extension_and_limit_are_all_named(good: Build) -> None:
    with pytest.raises(ShadergenError) as caught:
        Runner(good, gl=FalseGL()).init()
    error = caught.value
    assert error.code == "SG0602"
    text = error.render()
    assert "this GL lacks OpenGL ES 3.1 (this is 3.0)" in text
    assert "GL_EXT_color_buffer_float, needed to draw to 32-bit float textures" in text
    assert "texture size >= 5 (GL_MAX_TEXTURE_SIZE is 4)" in text
    assert "storage blocks >= 1 (GL_MAX_FRAGMENT_SHADER_STORAGE_BLOCKS is 0)" in text


def test_missing_limits_of_compute_shaders_are_all_named(good: Build) -> None:
    needed = {
        "fragment_images": ("GL_MAX_FRAGMENT_IMAGE_UNIFORMS", 5, 4),
        "compute_images": ("GL_MAX_COMPUTE_IMAGE_UNIFORMS", 6, 4),
        "compute_texture_units": ("GL_MAX_COMPUTE_TEXTURE_IMAGE_UNITS", 7, 4),
        "compute_uniform_blocks": ("GL_MAX_COMPUTE_UNIFORM_BLOCKS", 8, 4),
        "workgroup_invocations": ("GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS", 9, 4),
        # the least of the three axes
        "workgroup_count": ("GL_MAX_COMPUTE_WORK_GROUP_COUNT", 2, 1),
    }
    limits = dict.fromkeys(LIMITS, 0) | {name: n for name, (_, n, _) in needed.items()}
    build = replace(good, requires=replace(good.requires, color_buffer="none", limits=limits))
    with pytest.raises(ShadergenError) as caught:
        Runner(build, gl=FalseGL("OpenGL ES 3.1 False")).init()
    assert caught.value.code == "SG0602"
    said = re.findall(r"[a-z ]+ >= \d+ \(GL_\w+ is \d+\)", caught.value.render())
    wanted = [
        f"{k.replace('_', ' ')} >= {n} ({enum} is {has})" for k, (enum, n, has) in needed.items()
    ]
    assert len(said) == len(wanted)
    assert all(text.endswith(want) for text, want in zip(said, wanted, strict=True))


@pytest.mark.parametrize(
    ("color_buffer", "extensions", "enough"),
    [
        ("none", (), True),
        ("half_float", (), False),
        ("half_float", ("GL_EXT_color_buffer_half_float",), True),
        ("half_float", ("GL_EXT_color_buffer_float",), True),
        ("float", ("GL_EXT_color_buffer_half_float",), False),
        ("float", ("GL_EXT_color_buffer_float",), True),
    ],
)
def test_drawing_to_floats_needs_its_extension(
    good: Build, color_buffer: str, extensions: tuple[str, ...], enough: bool
) -> None:
    limits = dict.fromkeys(LIMITS, 0)
    requires = replace(good.requires, glsl=300, color_buffer=color_buffer, limits=limits)
    runner = Runner(replace(good, requires=requires), gl=FalseGL(extensions=extensions))
    # past the requirements, the first real call is refused by FalseGL itself
    with pytest.raises(AssertionError if enough else ShadergenError):
        runner.init()


@pytest.mark.parametrize("version", ["OpenGL ES 2.0 False", "4.6.0 NVIDIA", ""])
def test_a_context_that_is_not_opengl_es_3_is_refused(good: Build, version: str) -> None:
    with pytest.raises(ShadergenError, match="no OpenGL ES 3 context is current") as caught:
        Runner(good, gl=FalseGL(version)).init()
    assert caught.value.code == "SG0601"


# contexts


def test_a_context_tells_what_it_is(context: HeadlessContext) -> None:
    info = context.info()
    assert info.es >= (3, 0)
    assert info.version.startswith("OpenGL ES 3.")
    assert info.vendor
    assert info.renderer
    assert info.limits["texture_size"] >= 2048
    assert info.limits["draw_buffers"] >= 4


def test_two_contexts_live_side_by_side(good: Build) -> None:
    with HeadlessContext() as one, HeadlessContext() as two:
        with Runner(good, one) as first, Runner(good, two) as second:
            for runner, x in ((first, X), (second, -X)):
                runner.upload("x", x)
                runner.upload("img", IMAGE)
            first.run()
            second.run()
            np.testing.assert_allclose(first.read("out"), expected(X), atol=1e-5)
            np.testing.assert_allclose(second.read("out"), expected(-X), atol=1e-5)
        one.close()
        assert two.info().es >= (3, 0)


def test_two_runners_share_a_context(runner: Runner, context: HeadlessContext) -> None:
    with Runner(load(GOOD), context) as other:
        other.upload("x", 2 * X)
        other.upload("img", IMAGE)
        runner.run()
        other.run()
        np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)
    runner.run()
    np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)


def test_a_runner_may_be_closed_after_its_context(good: Build) -> None:
    context = HeadlessContext()
    runner = Runner(good, context)
    runner.init()
    context.close()
    runner.close()
    with pytest.raises(ShadergenError, match="the GL context is closed"):
        context.info()


def test_an_unknown_platform_is_refused() -> None:
    with pytest.raises(ShadergenError) as caught:
        HeadlessContext("windows")
    assert caught.value.code == "SG0301"


class _Devices:
    """An EGL of a software and a hardware device, and of the surfaceless platform, all broken."""

    EGL_EXTENSIONS = 0x3055
    offered = b"EGL_EXT_platform_device EGL_EXT_device_base EGL_MESA_platform_surfaceless"

    def eglQueryString(self, display: object, name: int) -> bytes:
        return self.offered

    def eglQueryDevicesEXT(self, most: int, handles: Any, count: Any) -> None:
        handles[0], handles[1], count._obj.value = 11, 12, 2

    def eglQueryDeviceStringEXT(self, handle: int, name: int) -> bytes:
        return {11: b"EGL_MESA_device_software EGL_X", 12: b"EGL_EXT_device_drm"}[handle]

    def eglGetPlatformDisplayEXT(self, *arguments: object) -> int:
        return 1

    def eglGetDisplay(self, native: object) -> int:
        return 1

    def eglInitialize(self, *arguments: object) -> int:
        return 0

    def eglGetError(self) -> int:
        return 0x3001


@pytest.mark.parametrize(
    ("arguments", "order"),
    (
        ((), ["device 1", "surfaceless", "device 0", "default"]),
        (("device",), ["device 0", "device 1"]),
        (("device", 1), ["device 1"]),
        (("surfaceless",), ["surfaceless"]),
    ),
)
def test_gpus_are_tried_before_software(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[Any, ...], order: list[str]
) -> None:
    monkeypatch.setattr("shadergen.runtime_glue.python.context.load_egl", _Devices)
    monkeypatch.setattr("shadergen.runtime_glue.python.context.load_gles", object)
    with pytest.raises(ShadergenError) as caught:
        HeadlessContext(*arguments)
    tried = [line.partition(":")[0] for line in caught.value.why.splitlines()]
    assert tried == order


@pytest.mark.parametrize(
    ("offered", "order"),
    (
        (b"EGL_MESA_platform_surfaceless", ["surfaceless", "default"]),
        (b"EGL_EXT_platform_device", ["default"]),
        (
            b"EGL_EXT_platform_device EGL_EXT_device_enumeration",
            ["device 0", "device 1", "default"],
        ),
    ),
)
def test_an_egl_is_asked_nothing_that_it_does_not_offer(
    monkeypatch: pytest.MonkeyPatch, offered: bytes, order: list[str]
) -> None:
    monkeypatch.setattr(_Devices, "offered", offered)
    if b"device_enumeration" in offered:
        monkeypatch.delattr(_Devices, "eglQueryDeviceStringEXT")
    else:
        monkeypatch.delattr(_Devices, "eglQueryDevicesEXT")
    test_gpus_are_tried_before_software(monkeypatch, (), order)


def test_without_pyopengl_the_packages_to_install_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "OpenGL.platform", None)
    monkeypatch.setattr("shadergen.runtime_glue.python.context.load_egl", gl.load_egl.__wrapped__)
    with pytest.raises(ShadergenError) as caught:
        HeadlessContext()
    assert caught.value.code == "SG0601"
    assert "pip install 'shadergen[run]'" in caught.value.help
    assert "libegl1" in caught.value.help


def test_a_lost_context_is_noticed(good: Build, context: HeadlessContext) -> None:
    lost = Tracer(context.gl, glGetGraphicsResetStatusKHR=lambda: 0x8253)
    with Runner(good, context, gl=lost) as runner:
        if "GL_KHR_robustness" not in context.info().extensions:
            pytest.skip("this GL has no KHR_robustness")
        with pytest.raises(ShadergenError, match="context was lost") as caught:
            runner.check()
    assert caught.value.code == "SG0604"


def test_a_gl_error_is_reported_by_name(runner: Runner, context: HeadlessContext) -> None:
    context.gl.glEnable(0xFFFF)
    says = "GL_INVALID_ENUM while frames are drawn or the application calls GL"
    with pytest.raises(ShadergenError, match=says):
        runner.check()
    runner.check()


def test_running_out_of_memory_says_what_may_help(good: Build, context: HeadlessContext) -> None:
    errors = iter([0, 0x0505, 0])
    full = Tracer(context.gl, glGetError=lambda: next(errors, 0))
    with pytest.raises(ShadergenError, match="GL_OUT_OF_MEMORY while textures are made") as caught:
        Runner(good, context, gl=full).init()
    assert "smaller input size" in caught.value.help
