"""The application's own textures as inputs and outputs of a runner."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import compile_graph, conv, graph_of, image, pointwise
from support.playing import (
    IMAGE,
    X,
    expected,
    expected_sum,
    make_texture,
)

from shadergen.backends.writer import write_build
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import Build, HeadlessContext, Runner, load

pytestmark = pytest.mark.gl


def test_the_applications_input_texture_is_read_and_left_as_it_is(
    runner: Runner, context: HeadlessContext
) -> None:
    functions = context.gl
    name = make_texture(functions, 5, 3, format="GL_RGBA8")
    pixels = np.full((3, 5, 4), 51, np.uint8)
    functions.glBindTexture(functions.GL_TEXTURE_2D, name)
    functions.glTexSubImage2D(
        functions.GL_TEXTURE_2D,
        *(0, 0, 0, 5, 3),
        *(functions.GL_RGBA, functions.GL_UNSIGNED_BYTE, pixels.ctypes.data),
    )
    functions.glBindTexture(functions.GL_TEXTURE_2D, 0)
    runner.bind_input("img", name)
    runner.run()
    np.testing.assert_allclose(runner.read("inverted"), 0.8, atol=1e-6)
    value = ctypes.c_int(0)
    functions.glBindTexture(functions.GL_TEXTURE_2D, name)
    functions.glGetTexParameteriv(
        functions.GL_TEXTURE_2D, functions.GL_TEXTURE_MAG_FILTER, ctypes.byref(value)
    )
    assert value.value == functions.GL_LINEAR
    runner.upload("img", IMAGE)
    runner.run()
    np.testing.assert_allclose(runner.read("inverted"), 1 - IMAGE / 255, atol=1e-6)


def test_an_output_is_written_to_the_applications_texture(
    runner: Runner, context: HeadlessContext
) -> None:
    own = runner.output_texture("out")
    name = make_texture(context.gl, 5, 3, layers=2)
    runner.bind_output("out", name)
    assert runner.output_texture("out") == name != own
    runner.run()
    np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)


def test_a_dispatch_stores_to_the_applications_texture(
    runner: Runner, context: HeadlessContext
) -> None:
    own = runner.output_texture("sum")
    name = make_texture(context.gl, 5, 3, layers=2)
    runner.bind_output("sum", name)
    assert runner.output_texture("sum") == name != own
    runner.run()
    runner.check()
    np.testing.assert_allclose(runner.read("sum"), expected_sum(X), atol=1e-5)
    np.testing.assert_allclose(runner.read("signed"), expected_sum(X)[0, ..., 0] / 2, atol=1e-5)


def test_lanes_beyond_the_channels_of_an_output_are_zero(
    context: HeadlessContext, tmp_path: Path
) -> None:
    """Also in a texture of four channels, from an input that has colours in the other three."""
    gl, x = context.gl, image(1, 1, 3, 5)
    _, files, _ = compile_graph(graph_of(pointwise("x0 * 0.5", x), inputs=(x,)))
    write_build(files, tmp_path / "build")
    given, taken = (make_texture(gl, 5, 3, format="GL_RGBA8") for _ in range(2))
    texels = np.tile(np.array([102, 153, 204, 255], np.uint8), (3, 5, 1))
    whole = (gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, texels.ctypes.data)
    gl.glBindTexture(gl.GL_TEXTURE_2D, given)
    gl.glTexSubImage2D(gl.GL_TEXTURE_2D, *(0, 0, 0, 5, 3), *whole)
    gl.glBindTexture(gl.GL_TEXTURE_2D, 0)
    framebuffer = ctypes.c_uint(0)
    with Runner(load(tmp_path / "build"), context) as runner:
        runner.bind_input(runner.build.inputs[0].name, given)
        runner.bind_output(runner.build.outputs[0].name, taken)
        runner.run()
        gl.glGenFramebuffers(1, ctypes.byref(framebuffer))
        gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, framebuffer.value)
        gl.glFramebufferTexture2D(
            gl.GL_READ_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0, gl.GL_TEXTURE_2D, taken, 0
        )
        gl.glReadPixels(0, 0, 5, 3, *whole)
        gl.glDeleteFramebuffers(1, ctypes.byref(framebuffer))
    assert (texels == (51, 0, 0, 0)).all()


MUTABLE, HALF = {"immutable": False}, {"format": "GL_RGBA16F"}


@pytest.mark.parametrize(
    ("given", "says"), [(MUTABLE, "not immutable"), (HALF, "its format is 0x881a")]
)
def test_a_texture_that_cannot_be_stored_to_is_refused_and_the_old_one_kept(
    runner: Runner, context: HeadlessContext, given: dict[str, Any], says: str
) -> None:
    own = runner.output_texture("sum")
    name = make_texture(context.gl, 5, 3, layers=2, **given)
    with pytest.raises(ShadergenError, match="this texture cannot be bound as the image") as caught:
        runner.bind_output("sum", name)
    assert caught.value.code == "SG0602"
    assert says in caught.value.why
    assert "rgba32f" in caught.value.help
    assert runner.output_texture("sum") == own
    runner.run()
    runner.check()
    np.testing.assert_allclose(runner.read("sum"), expected_sum(X), atol=1e-5)


@pytest.mark.parametrize("given", [MUTABLE, HALF])
def test_an_output_that_is_drawn_and_then_loaded_must_be_an_image_too(
    context: HeadlessContext, good: Build, given: dict[str, Any]
) -> None:
    add, sign = good.passes[5:]
    reads = (replace(add.reads[0], texture="y"), add.reads[1])
    passes = (*good.passes[:5], replace(add, reads=reads), sign)
    with Runner(replace(good, passes=passes), context) as runner:
        runner.upload("x", X)
        runner.upload("img", IMAGE)
        with pytest.raises(ShadergenError, match="as the image 'y'") as caught:
            runner.bind_output("out", make_texture(context.gl, 5, 3, layers=2, **given))
        assert caught.value.code == "SG0602"
        for bind in (False, True):
            if bind:
                runner.bind_output("out", make_texture(context.gl, 5, 3, layers=2))
            runner.run()
            runner.check()
            np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)
            np.testing.assert_allclose(runner.read("sum"), expected(X) + X, atol=1e-5)


def test_a_float_output_may_go_to_a_texture_of_bytes(
    runner: Runner, context: HeadlessContext
) -> None:
    runner.bind_output("out", [make_texture(context.gl, 5, 3, layers=2, format="GL_RGBA8")])
    runner.run()
    result = np.clip(expected(X), 0, 1)
    np.testing.assert_allclose(runner.read("out"), result, atol=0.51 / 255)


@pytest.mark.parametrize(
    ("options", "own", "read", "error"),
    [
        ({}, "r32f", ("GL_RED", "GL_FLOAT"), 1e-6),
        ({"output_encoding": "unorm8"}, "r8", ("GL_RED", "GL_UNSIGNED_BYTE"), 0.51 / 255),
        ({"precision": "mediump"}, "r16f", ("GL_RGBA", "GL_FLOAT"), 1e-3),
    ],
)
def test_an_output_of_one_channel_is_read_in_its_own_format_but_for_halves(
    context: HeadlessContext,
    tmp_path: Path,
    options: dict[str, str],
    own: str,
    read: tuple[str, str],
    error: float,
) -> None:
    """Rows of 5 bytes have no gaps between them."""
    x = image(1, 1, 3, 5)
    _, files, _ = compile_graph(graph_of(pointwise("0.5 * x0", x), inputs=(x,)), **options)
    write_build(files, tmp_path / "build")
    values = np.linspace(0, 1, 15, dtype=np.float32).reshape(1, 1, 3, 5)
    with Runner(load(tmp_path / "build"), context) as runner:
        (port,) = runner.build.outputs
        assert runner.build.textures[port.texture].format == own
        runner.upload("x", values)
        runner.run()
        asked = []
        gl = Recorded(context.gl, lambda *a: asked.append(a[4:6]))
        runner._gl = gl
        np.testing.assert_allclose(runner.read(port.name), values / 2, atol=error)
    assert asked == [tuple(getattr(context.gl, name) for name in read)]


def test_an_output_in_the_texture_of_an_input_that_is_read_again_is_refused(
    runner: Runner, context: HeadlessContext
) -> None:
    name = make_texture(context.gl, 5, 3, layers=2)
    runner.bind_input("x", name)
    runner.bind_output("sum", name)  # its pass adds x again
    with pytest.raises(ShadergenError, match="'sum' has the texture of the input 'x'") as refused:
        runner.run()
    assert refused.value.code == "SG0605"
    assert "reads the input, and this pass or an earlier one writes the output" in refused.value.why
    runner.bind_output("sum", make_texture(context.gl, 5, 3, layers=2))
    runner.run()
    runner.check()


def test_an_output_may_replace_an_input_that_is_not_read_again(
    context: HeadlessContext, tmp_path: Path
) -> None:
    x = image(1, 1, 3, 5)
    rng, pads = np.random.default_rng(2), (1, 1, 1, 1)
    once = conv(rng, x, 1, (3, 3), pads=pads)
    twice = conv(rng, once, 1, (3, 3), pads=pads)
    _, files, _ = compile_graph(graph_of(twice, inputs=(x,)))
    write_build(files, tmp_path / "build")
    values = np.linspace(0, 1, 15, dtype=np.float32).reshape(1, 1, 3, 5)
    with Runner(load(tmp_path / "build"), context) as runner:
        (port,) = runner.build.outputs
        runner.upload("x", values)
        runner.run()
        wanted = runner.read(port.name)
        name = make_texture(context.gl, 5, 3)
        texels = np.repeat(values.reshape(3, 5, 1), 4, -1)
        gl = context.gl
        gl.glBindTexture(gl.GL_TEXTURE_2D, name)
        whole = (gl.GL_RGBA, gl.GL_FLOAT, texels.ctypes.data)
        gl.glTexSubImage2D(gl.GL_TEXTURE_2D, *(0, 0, 0, 5, 3), *whole)
        gl.glBindTexture(gl.GL_TEXTURE_2D, 0)
        runner.bind_input("x", name)
        runner.bind_output(port.name, name)
        runner.run()
        np.testing.assert_array_equal(runner.read(port.name), wanted)


class Recorded:
    """GL that tells of each call of glReadPixels."""

    def __init__(self, gl: Any, tell: Any) -> None:
        self._gl, self._tell = gl, tell

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._gl, name)
        if name != "glReadPixels":
            return function

        def called(*arguments: Any) -> Any:
            self._tell(*arguments)
            return function(*arguments)

        return called


@pytest.mark.parametrize(
    ("size", "says"), [((6, 3, 2), "width of 6, not 5"), ((5, 3, 3), "depth of 3, not 2")]
)
def test_a_texture_of_another_size_is_refused(
    runner: Runner, context: HeadlessContext, size: tuple[int, int, int], says: str
) -> None:
    name = make_texture(context.gl, *size)
    for bind, port in ((runner.bind_input, "x"), (runner.bind_output, "out")):
        with pytest.raises(ShadergenError, match=says) as caught:
            bind(port, name)
        assert caught.value.code == "SG0605"
        assert ("resize()" in caught.value.help) == ("width" in says)
    runner.run()
    np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)


def test_a_texture_that_cannot_be_drawn_to_is_refused_and_the_old_one_kept(
    runner: Runner, context: HeadlessContext
) -> None:
    name = make_texture(context.gl, 5, 3, layers=2, format="GL_RGB9_E5")
    with pytest.raises(ShadergenError, match="cannot draw to the texture of 'out'") as caught:
        runner.bind_output("out", name)
    assert ("GL_RGB9_E5" in caught.value.what) == (context.info().es >= (3, 1))
    assert caught.value.code == "SG0602"
    assert caught.value.where == ("output 'out'",)
    assert "GL_FRAMEBUFFER_" in caught.value.why
    runner.run()
    np.testing.assert_allclose(runner.read("out"), expected(X), atol=1e-5)


@pytest.mark.parametrize(
    ("format", "says"),
    [
        ("GL_RGBA8UI", "an integer format"),
        ("GL_R16I", "an integer format"),
        ("GL_DEPTH_COMPONENT24", "a depth or stencil format"),
        ("GL_DEPTH24_STENCIL8", "a depth or stencil format"),
        ("GL_R8", "has one component for 3 channels"),
        ("GL_RG16F", "has two components for 3 channels"),
    ],
)
def test_a_texture_without_the_colours_is_refused(
    runner: Runner, context: HeadlessContext, format: str, says: str
) -> None:
    if context.info().es < (3, 1):
        pytest.skip("this GL does not tell")
    name = make_texture(context.gl, 5, 3, format=format)
    for bind, port in ((runner.bind_input, "img"), (runner.bind_output, "inverted")):
        with pytest.raises(ShadergenError, match=says) as caught:
            bind(port, name)
        assert caught.value.code == "SG0605"
        assert caught.value.where == (port,)
    runner.run()
    np.testing.assert_allclose(runner.read("inverted"), 1 - IMAGE / 255, atol=1e-6)


def test_a_texture_may_fill_its_missing_components_by_a_swizzle(
    runner: Runner, context: HeadlessContext
) -> None:
    gl, name = context.gl, make_texture(context.gl, 5, 3, format="GL_R8")
    gl.glBindTexture(gl.GL_TEXTURE_2D, name)
    for color in "GB":
        gl.glTexParameteri(gl.GL_TEXTURE_2D, getattr(gl, f"GL_TEXTURE_SWIZZLE_{color}"), gl.GL_RED)
    gl.glBindTexture(gl.GL_TEXTURE_2D, 0)
    runner.bind_input("img", name)
    runner.run()
    runner.check()


@pytest.mark.parametrize("format", ["GL_RGB8", "GL_RGBA8_SNORM", "GL_SRGB8_ALPHA8", "GL_RGB9_E5"])
def test_a_texture_of_any_colours_is_read(
    runner: Runner, context: HeadlessContext, format: str
) -> None:
    runner.bind_input("img", make_texture(context.gl, 5, 3, format=format))
    runner.run()
    runner.check()


def test_a_texture_that_is_none_is_refused_and_not_made(
    runner: Runner, context: HeadlessContext
) -> None:
    for bind, port in ((runner.bind_input, "img"), (runner.bind_output, "inverted")):
        with pytest.raises(ShadergenError, match="there is no texture 4711") as caught:
            bind(port, 4711)
        assert caught.value.code == "SG0605"
        assert not context.gl.glIsTexture(4711)


@pytest.mark.parametrize(
    ("port", "layers", "said"),
    [("x", 0, "is not an array texture with storage"), ("img", 2, "is not a 2D texture")],
)
def test_a_texture_of_another_kind_is_refused(
    port: str, layers: int, said: str, runner: Runner, context: HeadlessContext
) -> None:
    name = make_texture(context.gl, 5, 3, layers=layers)
    with pytest.raises(ShadergenError, match=f"texture {name} {said}"):
        runner.bind_input(port, name)


@pytest.mark.parametrize("given", [0, -1, [], [1, 2], "x", "", None, 1.0, 2**32 + 1])
def test_a_wrong_number_of_textures_is_refused(runner: Runner, given: Any) -> None:
    with pytest.raises(ShadergenError, match="'x' takes an array texture, not ") as caught:
        runner.bind_input("x", given)
    assert caught.value.code == "SG0605"
    with pytest.raises(ShadergenError, match="'img' takes a 2D texture, not "):
        runner.bind_input("img", given)
