"""Playing a build on a real OpenGL ES context, and on false ones."""

from __future__ import annotations

import ctypes
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import make
import numpy as np
import pytest
from maker import fixed, members
from schedule_fixtures import GOOD

from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import Build, HeadlessContext, Player, gl, load
from shadergen.runtime_glue.python.device import LIMITS
from shadergen.runtime_glue.python.pixels import FORMATS
from shadergen.runtime_glue.python.programs import interleave

X = np.random.default_rng(0).normal(size=(1, 3, 5, 5)).astype(np.float32)
IMAGE = np.random.default_rng(1).integers(0, 256, (3, 5, 3), dtype=np.uint8)
BIAS, GAIN, CONSTANT = (
    np.array(values[:5]) for values in (fixed.BIAS_VALUES, fixed.GAIN_VALUES, fixed.CONSTANT_VALUES)
)
pytestmark = pytest.mark.gl


def expected(x: np.ndarray) -> np.ndarray:
    return 0.5 * ((2 * x + BIAS) * GAIN + CONSTANT)


def expected_sum(x: np.ndarray) -> np.ndarray:
    return 2 * expected(x) + x


@pytest.fixture
def good() -> Build:
    return load(GOOD)


@pytest.fixture
def context() -> Iterator[HeadlessContext]:
    with HeadlessContext() as context:
        yield context


@pytest.fixture
def player(good: Build, context: HeadlessContext) -> Iterator[Player]:
    with Player(good, context) as player:
        player.upload("x", X)
        player.upload("img", IMAGE)
        yield player


class Tracer:
    """Passes GL calls on and writes them down; may change what some return."""

    def __init__(self, inner: Any, **replaced: Any) -> None:
        self._inner = inner
        self._replaced = replaced
        self.called: list[str] = []
        self.arguments: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        value = self._replaced.get(name) or getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*arguments: Any) -> Any:
            self.called.append(name)
            self.arguments.append(arguments)
            return value(*arguments)

        return call


def make_texture(
    functions: Any,
    width: int,
    height: int,
    layers: int = 0,
    format: str = "GL_RGBA32F",
    immutable: bool = True,
) -> int:
    """Make a texture as an application would: array with ``layers``, filtered linearly.

    Its storage can be mutable for arrays of RGBA32F.
    """
    target = functions.GL_TEXTURE_2D_ARRAY if layers else functions.GL_TEXTURE_2D
    name = ctypes.c_uint(0)
    functions.glGenTextures(1, ctypes.byref(name))
    functions.glBindTexture(target, name.value)
    internal = getattr(functions, format)
    if not immutable:
        size = (width, height, layers, 0)
        texels = (functions.GL_RGBA, functions.GL_FLOAT, None)
        functions.glTexImage3D(target, 0, internal, *size, *texels)
    elif layers:
        functions.glTexStorage3D(target, 1, internal, width, height, layers)
    else:
        functions.glTexStorage2D(target, 1, internal, width, height)
    functions.glTexParameteri(target, functions.GL_TEXTURE_MAG_FILTER, functions.GL_LINEAR)
    functions.glBindTexture(target, 0)
    return name.value


def integer(functions: Any, enum: str) -> int:
    value = ctypes.c_int(-1)
    functions.glGetIntegerv(getattr(functions, enum), ctypes.byref(value))
    return value.value


# results


def test_the_good_build_computes_what_it_states(player: Player) -> None:
    player.run()
    player.check()
    np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)
    np.testing.assert_allclose(player.read("inverted"), 1 - IMAGE / 255, atol=1e-6)
    np.testing.assert_allclose(player.read("sum"), expected_sum(X), atol=1e-5)
    np.testing.assert_allclose(player.read("signed"), expected_sum(X)[0, ..., 0] / 2, atol=1e-5)


def test_outputs_have_the_models_own_shape(player: Player) -> None:
    player.run()
    assert player.read("out").shape == (1, 3, 5, 5)
    assert player.read("inverted").shape == (3, 5, 3)
    assert player.read("signed").shape == (3, 5)


def test_the_next_frame_sees_the_next_upload(player: Player) -> None:
    player.run()
    player.upload("x", -X)
    player.run()
    np.testing.assert_allclose(player.read("out"), expected(-X), atol=1e-5)


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


def write_and_load(schedule: dict[str, Any], files: dict[str, bytes]) -> Build:
    with tempfile.TemporaryDirectory() as folder:
        make.write(Path(folder), {"schedule.json": make.to_bytes(schedule), **files})
        return load(folder)


@pytest.mark.parametrize("kind", ["2d", "array"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 17])
def test_a_tensor_survives_every_format(context: HeadlessContext, channels: int, kind: str) -> None:
    rng = np.random.default_rng(channels)
    for format, (components, dtype) in FORMATS.items():
        if components < min(channels, 4):
            continue
        whole = rng.integers(0, 256, (2, channels, 3, 5))
        tensor = whole.astype(np.uint8) if dtype is np.uint8 else (whole - 100).astype(np.float32)
        with Player(identity_build(format, channels, kind), context) as player:
            player.upload("x", tensor)
            player.run()
            player.check()
            scale = 255 if dtype is np.uint8 else 1
            np.testing.assert_allclose(player.read("y") * scale, tensor, atol=1e-4, err_msg=format)


def test_row_0_of_a_texture_is_row_0_of_the_tensor(context: HeadlessContext) -> None:
    schedule, files = fixed.small()
    files["shaders/double.frag"] = (
        b"#version 300 es\nprecision highp float;\nuniform highp sampler2D u_x;\nout vec4 o;\n"
        b"void main() { o = vec4(floor(gl_FragCoord.xy), 0.0, 0.0); }\n"
    )
    with Player(write_and_load(schedule, files), context) as player:
        player.upload("x", np.zeros((1, 4, 3, 5)))
        player.run()
        y = player.read("y")[0]
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
    with Player(good, context, gl=tracer) as player:
        player.upload("x", X)
        player.upload("img", IMAGE)
        for _ in range(3):
            tracer.called.clear()
            player.run()
            assert set(tracer.called) == FRAME_CALLS
            assert tracer.called.count("glDrawArrays") == len(good.passes) - 1
            assert tracer.called.count("glDispatchCompute") == 1
        tracer.called.clear()
        player.run(timed=True)
        assert set(tracer.called) <= FRAME_CALLS | {"glBeginQueryEXT", "glEndQueryEXT"}
        player.check()


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
    with Player(dispatches(), context, gl=tracer) as player:
        player.upload("x", X8)
        tracer.called.clear()
        player.run()
        player.check()
        drawing = {"glDrawArrays", "glViewport", "glUniform4f"}
        asking = {"glGetError", "glGetGraphicsResetStatusKHR"}  # of check
        assert set(tracer.called) - asking == FRAME_CALLS - drawing
        assert tracer.called.count("glDispatchCompute") == 2
        np.testing.assert_allclose(player.read("y"), 4 * X8, atol=1e-5)


def has_fragment_images(context: HeadlessContext) -> bool:
    return context.info().limits["fragment_images"] > 0


def test_a_draw_may_load_what_a_dispatch_stored(context: HeadlessContext) -> None:
    if not has_fragment_images(context):
        pytest.skip("this GL has no images in fragment shaders")
    with Player(compute_build(), context) as player:
        for x in (X8, -X8):
            player.upload("x", x)
            player.run()
            player.check()
            np.testing.assert_allclose(player.read("y"), 4 * x, atol=1e-5)


def barrier_calls(build: Build, context: HeadlessContext) -> list[str | int]:
    """Return the names of draws and dispatches and the bits of barriers, in order, of a frame."""
    tracer = Tracer(context.gl)
    with Player(build, context, gl=tracer) as player:
        for port in build.inputs:
            dtype = np.uint8 if port.encoding == "unorm8" else np.float32
            player.upload(port.name, np.zeros(port.shape, dtype))
        tracer.called.clear()
        tracer.arguments.clear()
        player.run()
        player.check()
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
    with Player(good, context, gl=tracer):
        pass
    assert tracer.called.count("glLinkProgram") == 6
    assert tracer.called.count("glCompileShader") == 7


def test_textures_of_a_slot_are_made_once(good: Build, context: HeadlessContext) -> None:
    tracer = Tracer(context.gl)
    with Player(good, context, gl=tracer):
        pass
    # doubled and mixed share one; biased takes two; y, inverted, sum, signed, constant one each
    assert tracer.called.count("glGenTextures") == 1 + 2 + 5


def test_close_deletes_all_that_was_made(good: Build, context: HeadlessContext) -> None:
    tracer = Tracer(context.gl)
    with Player(good, context, gl=tracer) as player:
        player.upload("x", X)
        player.upload("img", IMAGE)
        player.run()
    player.close()
    for kind in ("Textures", "Buffers", "Framebuffers", "Samplers", "VertexArrays", "QueriesEXT"):
        made = tracer.called.count(f"glGen{kind}")
        assert made == tracer.called.count(f"glDelete{kind}") > 0
    assert tracer.called.count("glCreateProgram") == tracer.called.count("glDeleteProgram")
    assert tracer.called.count("glCreateShader") == tracer.called.count("glDeleteShader")


def test_a_frame_leaves_nothing_bound(player: Player, context: HeadlessContext) -> None:
    player.run()
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
    player: Player, context: HeadlessContext
) -> None:
    functions = context.gl
    for name in ("BLEND", "SCISSOR_TEST", "CULL_FACE", "RASTERIZER_DISCARD", "SAMPLE_COVERAGE"):
        functions.glEnable(getattr(functions, f"GL_{name}"))
    functions.glScissor(0, 0, 1, 1)
    functions.glBlendFunc(functions.GL_ZERO, functions.GL_ZERO)
    functions.glColorMask(0, 1, 0, 1)
    functions.glCullFace(functions.GL_FRONT_AND_BACK)
    player.run()
    np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)


def test_passes_are_timed(player: Player) -> None:
    if not player._ready().timer:
        pytest.skip("this GL has no EXT_disjoint_timer_query")
    assert player.timings() == ()
    player.run()
    assert player.timings() == ()
    player.run(timed=True)
    timings = player.timings()
    assert len(timings) == len(player.build.passes)
    assert all(0 < t < 60_000 for t in timings)
    np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)


def test_dispatches_are_timed(context: HeadlessContext) -> None:
    with Player(dispatches(), context) as player:
        if not player._ready().timer:
            pytest.skip("this GL has no EXT_disjoint_timer_query")
        player.upload("x", X8)
        for _ in range(2):
            player.run(timed=True)
            timings = player.timings()
            assert len(timings) == 2
            assert all(0 < t < 60_000 for t in timings)
        np.testing.assert_allclose(player.read("y"), 4 * X8, atol=1e-5)


def test_where_gl_has_no_timer_a_timed_frame_is_an_untimed_one(
    good: Build, context: HeadlessContext
) -> None:
    def without_timer(enum: int, index: int) -> bytes:
        name: bytes = context.gl.glGetStringi(enum, index)
        return b"GL_none" if b"timer" in name else name

    with Player(good, context, gl=Tracer(context.gl, glGetStringi=without_timer)) as player:
        player.upload("x", X)
        player.upload("img", IMAGE)
        player.run(timed=True)
        assert player.timings() == ()
        np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)


# the application's textures


def test_the_applications_input_texture_is_read_and_left_as_it_is(
    player: Player, context: HeadlessContext
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
    player.bind_input("img", name)
    player.run()
    np.testing.assert_allclose(player.read("inverted"), 0.8, atol=1e-6)
    value = ctypes.c_int(0)
    functions.glBindTexture(functions.GL_TEXTURE_2D, name)
    functions.glGetTexParameteriv(
        functions.GL_TEXTURE_2D, functions.GL_TEXTURE_MAG_FILTER, ctypes.byref(value)
    )
    assert value.value == functions.GL_LINEAR
    player.upload("img", IMAGE)
    player.run()
    np.testing.assert_allclose(player.read("inverted"), 1 - IMAGE / 255, atol=1e-6)


def test_an_output_is_written_to_the_applications_texture(
    player: Player, context: HeadlessContext
) -> None:
    own = player.output_texture("out")
    name = make_texture(context.gl, 5, 3, layers=2)
    player.bind_output("out", name)
    assert player.output_texture("out") == name != own
    player.run()
    np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)


def test_a_dispatch_stores_to_the_applications_texture(
    player: Player, context: HeadlessContext
) -> None:
    own = player.output_texture("sum")
    name = make_texture(context.gl, 5, 3, layers=2)
    player.bind_output("sum", name)
    assert player.output_texture("sum") == name != own
    player.run()
    player.check()
    np.testing.assert_allclose(player.read("sum"), expected_sum(X), atol=1e-5)
    np.testing.assert_allclose(player.read("signed"), expected_sum(X)[0, ..., 0] / 2, atol=1e-5)


MUTABLE, HALF = {"immutable": False}, {"format": "GL_RGBA16F"}


@pytest.mark.parametrize(
    ("given", "says"), [(MUTABLE, "not immutable"), (HALF, "its format is 0x881a")]
)
def test_a_texture_that_cannot_be_stored_to_is_refused_and_the_old_one_kept(
    player: Player, context: HeadlessContext, given: dict[str, Any], says: str
) -> None:
    own = player.output_texture("sum")
    name = make_texture(context.gl, 5, 3, layers=2, **given)
    with pytest.raises(ShadergenError, match="cannot have this texture as the image") as caught:
        player.bind_output("sum", name)
    assert caught.value.code == "SG0602"
    assert says in caught.value.why
    assert "rgba32f" in caught.value.help
    assert player.output_texture("sum") == own
    player.run()
    player.check()
    np.testing.assert_allclose(player.read("sum"), expected_sum(X), atol=1e-5)


@pytest.mark.parametrize("given", [MUTABLE, HALF])
def test_an_output_that_is_drawn_and_then_loaded_must_be_an_image_too(
    context: HeadlessContext, good: Build, given: dict[str, Any]
) -> None:
    add, sign = good.passes[5:]
    reads = (replace(add.reads[0], texture="y"), add.reads[1])
    passes = (*good.passes[:5], replace(add, reads=reads), sign)
    with Player(replace(good, passes=passes), context) as player:
        player.upload("x", X)
        player.upload("img", IMAGE)
        with pytest.raises(ShadergenError, match="as the image 'y'") as caught:
            player.bind_output("out", make_texture(context.gl, 5, 3, layers=2, **given))
        assert caught.value.code == "SG0602"
        for bind in (False, True):
            if bind:
                player.bind_output("out", make_texture(context.gl, 5, 3, layers=2))
            player.run()
            player.check()
            np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)
            np.testing.assert_allclose(player.read("sum"), expected(X) + X, atol=1e-5)


def test_a_float_output_may_go_to_a_texture_of_bytes(
    player: Player, context: HeadlessContext
) -> None:
    player.bind_output("out", [make_texture(context.gl, 5, 3, layers=2, format="GL_RGBA8")])
    player.run()
    result = np.clip(expected(X), 0, 1)
    np.testing.assert_allclose(player.read("out"), result, atol=0.51 / 255)


@pytest.mark.parametrize(
    ("size", "says"), [((6, 3, 2), "width of 6, not 5"), ((5, 3, 3), "depth of 3, not 2")]
)
def test_a_texture_of_another_size_is_refused(
    player: Player, context: HeadlessContext, size: tuple[int, int, int], says: str
) -> None:
    name = make_texture(context.gl, *size)
    for bind, port in ((player.bind_input, "x"), (player.bind_output, "out")):
        with pytest.raises(ShadergenError, match=says) as caught:
            bind(port, name)
        assert caught.value.code == "SG0605"
    player.run()
    np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)


def test_a_texture_of_another_kind_is_refused(player: Player, context: HeadlessContext) -> None:
    with pytest.raises(ShadergenError) as caught:
        player.bind_input("x", make_texture(context.gl, 5, 3))
    assert caught.value.code in ("SG0604", "SG0605")


def test_a_texture_that_cannot_be_drawn_to_is_refused_and_the_old_one_kept(
    player: Player, context: HeadlessContext
) -> None:
    name = make_texture(context.gl, 5, 3, layers=2, format="GL_RGB9_E5")
    with pytest.raises(ShadergenError, match="cannot draw to 'y', 'y'") as caught:
        player.bind_output("out", name)
    assert caught.value.code == "SG0602"
    player.run()
    np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)


@pytest.mark.parametrize("given", [0, -1, [], [1, 2]])
def test_a_wrong_number_of_textures_is_refused(player: Player, given: Any) -> None:
    with pytest.raises(ShadergenError, match="takes an array texture") as caught:
        player.bind_input("x", given)
    assert caught.value.code == "SG0605"


# mistakes


def test_a_frame_without_its_inputs_is_refused(good: Build, context: HeadlessContext) -> None:
    with Player(good, context) as player:
        player.upload("x", X)
        with pytest.raises(ShadergenError, match="the input 'img' has no texture") as caught:
            player.run()
    assert caught.value.code == "SG0605"


@pytest.mark.parametrize("use", [lambda p: p.run(), lambda p: p.read("out"), lambda p: p.check()])
def test_a_player_that_is_not_ready_says_so(
    good: Build, context: HeadlessContext, use: Any
) -> None:
    with pytest.raises(ShadergenError, match="the player is not ready"):
        use(Player(good, context))


def test_a_misspelt_name_is_answered_with_the_right_one(player: Player) -> None:
    with pytest.raises(ShadergenError) as caught:
        player.read("invertd")
    assert caught.value.help == "did you mean 'inverted'?"


def test_an_array_of_another_shape_is_refused(player: Player) -> None:
    with pytest.raises(ShadergenError, match=re.escape("(1, 3, 5, 5), not (3, 5, 5)")):
        player.upload("x", X[0])


def spoil(build: Build, path: str, old: str, new: str) -> Build:
    assert old in build.shaders[path]
    return replace(build, shaders={**build.shaders, path: build.shaders[path].replace(old, new)})


def test_a_shader_that_does_not_compile_is_shown_with_its_source(
    good: Build, context: HeadlessContext
) -> None:
    broken = spoil(good, "shaders/mix.frag", "gain[1] +", "gian[1] +")
    with pytest.raises(ShadergenError) as caught, Player(broken, context):
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


def test_shaders_that_do_not_link_are_refused(good: Build, context: HeadlessContext) -> None:
    broken = spoil(good, "shaders/signed.frag", "void main", "in vec4 v_none;\nvoid main")
    broken = spoil(broken, "shaders/signed.frag", "float y =", "float y = v_none.x +")
    with pytest.raises(ShadergenError, match="pass 'sign' do not link") as caught:
        Player(broken, context).init()
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
    with pytest.raises(ShadergenError) as caught, Player(broken, context):
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
        Player(build, context).init()
    assert caught.value.code == "SG0503"


def test_a_workgroup_other_than_the_shaders_is_refused(
    good: Build, context: HeadlessContext
) -> None:
    broken = spoil(good, "shaders/sum.comp", "local_size_x = 4", "local_size_x = 8")
    says = re.escape("stated as (4, 2, 1), the shader's is (8, 2, 1)")
    with pytest.raises(ShadergenError, match=says) as caught:
        Player(broken, context).init()
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
        Player(good, gl=FalseGL()).init()
    error = caught.value
    assert error.code == "SG0602"
    text = error.render()
    assert "this GL lacks OpenGL ES 3.1 (this is 3.0)" in text
    assert "GL_EXT_color_buffer_float, to draw to 32-bit float textures" in text
    assert "texture size 5 (GL_MAX_TEXTURE_SIZE is 4)" in text
    assert "storage blocks 1 (GL_MAX_FRAGMENT_SHADER_STORAGE_BLOCKS is 0)" in text


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
        Player(build, gl=FalseGL("OpenGL ES 3.1 False")).init()
    assert caught.value.code == "SG0602"
    said = re.findall(r"[a-z ]+ \d+ \(GL_\w+ is \d+\)", caught.value.render())
    wanted = [
        f"{k.replace('_', ' ')} {n} ({enum} is {has})" for k, (enum, n, has) in needed.items()
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
    player = Player(replace(good, requires=requires), gl=FalseGL(extensions=extensions))
    # past the requirements, the first real call is refused by FalseGL itself
    with pytest.raises(AssertionError if enough else ShadergenError):
        player.init()


@pytest.mark.parametrize("version", ["OpenGL ES 2.0 False", "4.6.0 NVIDIA", ""])
def test_a_context_that_is_not_opengl_es_3_is_refused(good: Build, version: str) -> None:
    with pytest.raises(ShadergenError, match="no OpenGL ES 3 context is current") as caught:
        Player(good, gl=FalseGL(version)).init()
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
        with Player(good, one) as first, Player(good, two) as second:
            for player, x in ((first, X), (second, -X)):
                player.upload("x", x)
                player.upload("img", IMAGE)
            first.run()
            second.run()
            np.testing.assert_allclose(first.read("out"), expected(X), atol=1e-5)
            np.testing.assert_allclose(second.read("out"), expected(-X), atol=1e-5)
        one.close()
        assert two.info().es >= (3, 0)


def test_two_players_share_a_context(player: Player, context: HeadlessContext) -> None:
    with Player(load(GOOD), context) as other:
        other.upload("x", 2 * X)
        other.upload("img", IMAGE)
        player.run()
        other.run()
        np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)
    player.run()
    np.testing.assert_allclose(player.read("out"), expected(X), atol=1e-5)


def test_a_player_may_be_closed_after_its_context(good: Build) -> None:
    context = HeadlessContext()
    player = Player(good, context)
    player.init()
    context.close()
    player.close()
    with pytest.raises(ShadergenError, match="the GL context is closed"):
        context.info()


def test_an_unknown_platform_is_refused() -> None:
    with pytest.raises(ShadergenError) as caught:
        HeadlessContext("windows")
    assert caught.value.code == "SG0301"


def test_without_pyopengl_the_packages_to_install_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "OpenGL.platform", None)
    monkeypatch.setattr("shadergen.runtime_glue.python.context.load_egl", gl.load_egl.__wrapped__)
    with pytest.raises(ShadergenError) as caught:
        HeadlessContext()
    assert caught.value.code == "SG0601"
    assert "pip install PyOpenGL" in caught.value.help
    assert "libegl1" in caught.value.help


def test_a_lost_context_is_noticed(good: Build, context: HeadlessContext) -> None:
    lost = Tracer(context.gl, glGetGraphicsResetStatusKHR=lambda: 0x8253)
    with Player(good, context, gl=lost) as player:
        if "GL_KHR_robustness" not in context.info().extensions:
            pytest.skip("this GL has no KHR_robustness")
        with pytest.raises(ShadergenError, match="context was lost") as caught:
            player.check()
    assert caught.value.code == "SG0604"


def test_a_gl_error_is_reported_by_name(player: Player, context: HeadlessContext) -> None:
    context.gl.glEnable(0xFFFF)
    with pytest.raises(ShadergenError, match="GL_INVALID_ENUM while frames are drawn"):
        player.check()
    player.check()


def test_running_out_of_memory_says_what_may_help(good: Build, context: HeadlessContext) -> None:
    errors = iter([0, 0x0505, 0])
    full = Tracer(context.gl, glGetError=lambda: next(errors, 0))
    with pytest.raises(ShadergenError, match="GL_OUT_OF_MEMORY while textures are made") as caught:
        Player(good, context, gl=full).init()
    assert "smaller input size" in caught.value.help
