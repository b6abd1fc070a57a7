"""What a runner computes on a real OpenGL ES context, and what it calls for that."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from schedules import fixed, members
from support.playing import (
    IMAGE,
    Tracer,
    X,
    expected,
    expected_sum,
    integer,
    write_and_load,
)

from shadergen.runtime_glue.python import Build, HeadlessContext, Runner
from shadergen.runtime_glue.python.pixels import FORMATS

pytestmark = pytest.mark.gl

# results


def test_the_good_build_computes_what_it_states(runner: Runner) -> None:
    runner.run()
    runner.check()
    np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)
    np.testing.assert_allclose(runner.read("inverted"), 1 - IMAGE / 255, atol=1e-6)
    np.testing.assert_allclose(runner.read("sum"), expected_sum(X), atol=1e-5)
    np.testing.assert_allclose(runner.read("signed"), expected_sum(X)[0, ..., 0] / 2, atol=1e-5)


def test_outputs_have_the_models_own_shape(runner: Runner) -> None:
    runner.run()
    assert runner.read("out").shape == (1, 3, 5, 5)
    assert runner.read("inverted").shape == (3, 5, 3)
    assert runner.read("signed").shape == (3, 5)


def test_the_next_frame_sees_the_next_upload(runner: Runner) -> None:
    runner.run()
    runner.upload("x", -X)
    runner.run()
    np.testing.assert_allclose(runner.read("out"), expected(-X), atol=1e-5)


def identity_build(format: str, channels: int, kind: str) -> Build:
    """Return a build that copies a batch of 2, layer by layer, in a format."""
    n, h, w = 2, 3, 5
    encoding = "unorm8" if format.endswith("8") else "float"
    layers = n * -(-channels // 4)
    plain = {"kind": kind, "format": format, "channels": channels, "batch": n, "layers": layers}
    port = {"shape": [n, channels, h, w], "axes": [0, 1, 2, 3], "dtype": "float32"}
    port |= {"encoding": encoding}
    schedule, files = fixed.small()
    reads = [
        [{"uniform": "u_x", "texture": "x"} | ({} if kind == "array" else {"layer": i})]
        for i in range(layers)
    ]
    schedule |= {
        "inputs": [{"name": "x", "texture": "x", **port, "range": None}],
        "outputs": [{"name": "y", "texture": "y", **port}],
        "textures": [
            members.texture("x", **plain, last=layers - 1),
            members.texture("y", **plain, slot=0, last=layers),
        ],
        "passes": [
            members.render_pass(
                f"copy_{i}",
                "copy",
                reads[i],
                [{"texture": "y", "layer": i}],
                uniforms=[{"name": "u_layer", "type": "int", "value": [i]}],
            )
            for i in range(layers)
        ],
    }
    schedule["requires"]["limits"]["array_texture_layers"] = layers
    sampler, place = (
        ("sampler2DArray", "ivec3(ivec2(gl_FragCoord.xy), u_layer)")
        if kind == "array"
        else ("sampler2D", "ivec2(gl_FragCoord.xy)")
    )
    files["shaders/copy.frag"] = (
        "#version 300 es\nprecision highp float;\nprecision highp int;\n"
        f"uniform highp {sampler} u_x;\nuniform int u_layer;\nout vec4 o;\n"
        f"void main() {{ o = texelFetch(u_x, {place}, 0); }}\n"
    ).encode()
    return write_and_load(schedule, files)


@pytest.mark.parametrize("kind", ["2d", "array"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 17])
def test_a_tensor_survives_every_format(context: HeadlessContext, channels: int, kind: str) -> None:
    rng = np.random.default_rng(channels)
    for format, (components, dtype) in FORMATS.items():
        if components < min(channels, 4):
            continue
        whole = rng.integers(0, 256, (2, channels, 3, 5))
        tensor = whole.astype(np.uint8) if dtype is np.uint8 else (whole - 100).astype(np.float32)
        with Runner(identity_build(format, channels, kind), context) as runner:
            runner.upload("x", tensor)
            runner.run()
            runner.check()
            scale = 255 if dtype is np.uint8 else 1
            np.testing.assert_allclose(runner.read("y") * scale, tensor, atol=1e-4, err_msg=format)


def test_row_0_of_a_texture_is_row_0_of_the_tensor(context: HeadlessContext) -> None:
    schedule, files = fixed.small()
    files["shaders/double.frag"] = (
        b"#version 300 es\nprecision highp float;\nuniform highp sampler2D u_x;\nout vec4 o;\n"
        b"void main() { o = vec4(floor(gl_FragCoord.xy), 0.0, 0.0); }\n"
    )
    with Runner(write_and_load(schedule, files), context) as runner:
        runner.upload("x", np.zeros((1, 4, 3, 5)))
        runner.run()
        y = runner.read("y")[0]
    np.testing.assert_array_equal(y[0], np.tile(np.arange(5), (3, 1)))
    np.testing.assert_array_equal(y[1], np.tile(np.arange(3)[:, None], (1, 5)))


# what a frame does

FRAME_CALLS = {
    "glActiveTexture",
    "glBindBufferBase",
    "glBindFramebuffer",
    "glBindImageTexture",
    "glBindSampler",
    "glBindTexture",
    "glBindVertexArray",
    "glColorMask",
    "glDisable",
    "glDispatchCompute",
    "glDrawArrays",
    "glMemoryBarrier",
    "glUniform4f",
    "glUseProgram",
    "glViewport",
}


def test_a_frame_only_binds_and_draws(good: Build, context: HeadlessContext) -> None:
    tracer = Tracer(context.gl)
    with Runner(good, context, gl=tracer) as runner:
        runner.upload("x", X)
        runner.upload("img", IMAGE)
        for _ in range(3):
            tracer.called.clear()
            runner.run()
            assert set(tracer.called) == FRAME_CALLS
            assert tracer.called.count("glDrawArrays") == len(good.passes) - 1
            assert tracer.called.count("glDispatchCompute") == 1
        tracer.called.clear()
        runner.run(timed=True)
        assert set(tracer.called) <= FRAME_CALLS | {"glBeginQueryEXT", "glEndQueryEXT"}
        runner.check()


def compute_build(**changes: Any) -> Build:
    """Return y = 4*x in two passes: a dispatch, and a draw that loads an image."""
    schedule, files = fixed.small_compute()
    return write_and_load(schedule | changes, files)


def dispatches() -> Build:
    """Return y = 4*x in two dispatches."""
    schedule, files = fixed.small_compute()
    first = schedule["passes"][0]
    reads = [{"uniform": "u_x", "texture": "middle"}]
    second = first | {"reads": reads, "writes": members.both("y"), "barriers": ["texture"]}
    return write_and_load(schedule | {"passes": [first, second]}, files)


X8 = np.random.default_rng(2).normal(size=(1, 8, 3, 5)).astype(np.float32)


def test_a_frame_of_dispatches_draws_nothing(context: HeadlessContext) -> None:
    tracer = Tracer(context.gl)
    with Runner(dispatches(), context, gl=tracer) as runner:
        runner.upload("x", X8)
        tracer.called.clear()
        runner.run()
        runner.check()
        drawing = {"glDrawArrays", "glViewport", "glUniform4f"}
        asking = {"glGetError", "glGetGraphicsResetStatusKHR"}  # of check
        assert set(tracer.called) - asking == FRAME_CALLS - drawing
        assert tracer.called.count("glDispatchCompute") == 2
        np.testing.assert_allclose(runner.read("y"), 4 * X8, atol=1e-5)


def has_fragment_images(context: HeadlessContext) -> bool:
    return context.info().limits["fragment_images"] > 0


def test_a_draw_may_load_what_a_dispatch_stored(context: HeadlessContext) -> None:
    if not has_fragment_images(context):
        pytest.skip("this GL has no images in fragment shaders")
    with Runner(compute_build(), context) as runner:
        for x in (X8, -X8):
            runner.upload("x", x)
            runner.run()
            runner.check()
            np.testing.assert_allclose(runner.read("y"), 4 * x, atol=1e-5)


def barrier_calls(build: Build, context: HeadlessContext) -> list[str | int]:
    """Return the names of draws and dispatches and the bits of barriers, in order, of a frame."""
    tracer = Tracer(context.gl)
    with Runner(build, context, gl=tracer) as runner:
        for port in build.inputs:
            dtype = np.uint8 if port.encoding == "unorm8" else np.float32
            runner.upload(port.name, np.zeros(port.shape, dtype))
        tracer.called.clear()
        tracer.arguments.clear()
        runner.run()
        runner.check()
    shown: list[str | int] = []
    for name, arguments in zip(tracer.called, tracer.arguments, strict=True):
        if name in ("glDrawArrays", "glDispatchCompute"):
            shown.append(name.removeprefix("gl"))
        elif name == "glMemoryBarrier":
            shown += arguments
    return shown


def test_barriers_are_issued_as_stated_and_all_of_them_after_the_frame(
    good: Build, context: HeadlessContext
) -> None:
    functions = context.gl
    texture, image = (
        functions.GL_TEXTURE_FETCH_BARRIER_BIT,
        functions.GL_SHADER_IMAGE_ACCESS_BARRIER_BIT,
    )
    framebuffer, everything = functions.GL_FRAMEBUFFER_BARRIER_BIT, functions.GL_ALL_BARRIER_BITS
    draws: list[str | int] = ["DrawArrays"] * 5
    end = ["DispatchCompute", texture, "DrawArrays", everything]
    assert barrier_calls(good, context) == [*draws, image, *end]
    stated = ("framebuffer", "image", "texture")
    passes = (*good.passes[:6], replace(good.passes[6], barriers=stated))
    end[1] = texture | image | framebuffer
    assert barrier_calls(replace(good, passes=passes), context) == [*draws, image, *end]


def test_a_frame_of_draws_alone_has_no_barriers(context: HeadlessContext) -> None:
    assert barrier_calls(write_and_load(*fixed.small()), context) == ["DrawArrays"] * 2


def test_a_frame_of_draws_that_load_images_ends_with_all_barriers(
    context: HeadlessContext,
) -> None:
    if not has_fragment_images(context):
        pytest.skip("this GL has no images in fragment shaders")
    # the next frame may draw to what these load
    whole = compute_build()
    constant = replace(
        whole.textures["middle"], data=replace(whole.buffers["scale"].range, size=480)
    )
    build = replace(
        whole,
        textures={**whole.textures, "middle": constant},
        passes=whole.passes[1:],
        weights=bytes(480),
    )
    assert barrier_calls(build, context)[-2:] == ["DrawArrays", context.gl.GL_ALL_BARRIER_BITS]


def test_identical_programs_are_linked_once(good: Build, context: HeadlessContext) -> None:
    tracer = Tracer(context.gl)
    with Runner(good, context, gl=tracer):
        pass
    assert tracer.called.count("glLinkProgram") == 6
    assert tracer.called.count("glCompileShader") == 7


def test_textures_of_a_slot_are_made_once(good: Build, context: HeadlessContext) -> None:
    tracer = Tracer(context.gl)
    with Runner(good, context, gl=tracer):
        pass
    # doubled and mixed share one; biased takes two; y, inverted, sum, signed, constant one each
    assert tracer.called.count("glGenTextures") == 1 + 2 + 5


def test_close_deletes_all_that_was_made(good: Build, context: HeadlessContext) -> None:
    tracer = Tracer(context.gl)
    with Runner(good, context, gl=tracer) as runner:
        runner.upload("x", X)
        runner.upload("img", IMAGE)
        runner.run()
    runner.close()
    for kind in ("Textures", "Buffers", "Framebuffers", "Samplers", "VertexArrays", "QueriesEXT"):
        made = tracer.called.count(f"glGen{kind}")
        assert made == tracer.called.count(f"glDelete{kind}") > 0
    assert tracer.called.count("glCreateProgram") == tracer.called.count("glDeleteProgram")
    assert tracer.called.count("glCreateShader") == tracer.called.count("glDeleteShader")


def test_a_frame_leaves_nothing_bound(runner: Runner, context: HeadlessContext) -> None:
    runner.run()
    names = [
        "GL_CURRENT_PROGRAM",
        "GL_DRAW_FRAMEBUFFER_BINDING",
        "GL_VERTEX_ARRAY_BINDING",
        "GL_UNIFORM_BUFFER_BINDING",
    ]
    for unit in range(3):
        context.gl.glActiveTexture(context.gl.GL_TEXTURE0 + unit)
        for name in ("TEXTURE_BINDING_2D", "TEXTURE_BINDING_2D_ARRAY", "SAMPLER_BINDING"):
            assert integer(context.gl, f"GL_{name}") == 0
    assert [integer(context.gl, name) for name in names] == [0] * len(names)
    for unit in range(2):
        value = ctypes.c_int(-1)
        context.gl.glGetIntegeri_v(context.gl.GL_IMAGE_BINDING_NAME, unit, ctypes.byref(value))
        assert value.value == 0


def test_the_applications_state_does_not_change_the_result(
    runner: Runner, context: HeadlessContext
) -> None:
    functions = context.gl
    for name in ("BLEND", "SCISSOR_TEST", "CULL_FACE", "RASTERIZER_DISCARD", "SAMPLE_COVERAGE"):
        functions.glEnable(getattr(functions, f"GL_{name}"))
    functions.glScissor(0, 0, 1, 1)
    functions.glBlendFunc(functions.GL_ZERO, functions.GL_ZERO)
    functions.glColorMask(0, 1, 0, 1)
    functions.glCullFace(functions.GL_FRONT_AND_BACK)
    runner.run()
    np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)


def test_passes_are_timed(runner: Runner) -> None:
    if not runner._ready().timer:
        pytest.skip("this GL has no EXT_disjoint_timer_query")
    assert runner.timings() == ()
    runner.run()
    assert runner.timings() == ()
    runner.run(timed=True)
    timings = runner.timings()
    assert len(timings) == len(runner.build.passes)
    assert all(0 < t < 60_000 for t in timings)
    np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)


def test_dispatches_are_timed(context: HeadlessContext) -> None:
    with Runner(dispatches(), context) as runner:
        if not runner._ready().timer:
            pytest.skip("this GL has no EXT_disjoint_timer_query")
        runner.upload("x", X8)
        for _ in range(2):
            runner.run(timed=True)
            timings = runner.timings()
            assert len(timings) == 2
            assert all(0 < t < 60_000 for t in timings)
        np.testing.assert_allclose(runner.read("y"), 4 * X8, atol=1e-5)


def test_where_gl_has_no_timer_a_timed_frame_is_an_untimed_one(
    good: Build, context: HeadlessContext
) -> None:
    def without_timer(enum: int, index: int) -> bytes:
        name: bytes = context.gl.glGetStringi(enum, index)
        return b"GL_none" if b"timer" in name else name

    with Runner(good, context, gl=Tracer(context.gl, glGetStringi=without_timer)) as runner:
        runner.upload("x", X)
        runner.upload("img", IMAGE)
        runner.run(timed=True)
        assert runner.timings() == ()
        np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)
