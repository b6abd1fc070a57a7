"""Pictures, textures, sizes and lost contexts in the web runtime, in a real Chromium."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from support.browser import INSECURE, ROOT, SCREENSHOTS, chromium, served
from support.picture_builds import (
    BUILDS,
    HEIGHT,
    PIXELS,
    RGB,
    RNG,
    TRANSPARENT,
    WIDTH,
    ask,
    both,
    check_straight,
    flat,
    picture,
)
from support.runtime_builds import FRAGMENT, RuntimeBuild
from support.schedule_fixtures import FIXTURES

from shadergen.compiler.pictures.picture import as_floats, luma, to_array, with_source
from shadergen.compiler.pictures.reading import from_pillow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("builds")
    for name, (model, options) in BUILDS.items():
        RuntimeBuild(name, model, {**FRAGMENT, **options}).write(folder / name)
    RuntimeBuild("wgsl", BUILDS["rgb"][0], {"device": "webgpu"}).write(folder / "wgsl")
    both(folder / "both")
    without_compute(folder / "open")
    folders = {
        "web": ROOT / "runtime_glue" / "web",
        "tests": ROOT / "tests" / "runtimes" / "web",
        "builds": folder,
        "fixtures": FIXTURES,
    }
    with served(**folders) as address, chromium() as browser:
        page = browser.new_page()
        page.goto(address)
        page.evaluate("async () => { window.t = await import('/tests/features.js'); }")
        page.builds = folder
        yield page


@pytest.mark.parametrize(
    ("name", "shape", "axes", "scale", "tolerance"),
    [
        ("rgb", RGB, (0, 1, 2, 3), 0.5, 1e-6),
        ("rgba", (1, 4, HEIGHT, WIDTH), (0, 1, 2, 3), 0.5, 1e-6),
        ("last", RGB, (0, 1, 2, 3), 1.0, 1e-6),
        ("arrays", RGB, (0, 1, 2, 3), 0.5, 1e-6),
        ("bytes", RGB, (0, 1, 2, 3), 0.5, 0.51 / 255),
        ("grey", (1, 1, HEIGHT, WIDTH), (0, 1, 2, 3), 0.5, 0.51 / 255),  # rows of 7 bytes
        ("half", RGB, (0, 1, 2, 3), 0.5, 1e-3),
        ("signed", (1, 1, HEIGHT, WIDTH), (0, 1, 2, 3), 0.5, 1e-6),
        ("uint8", RGB, (0, 1, 2, 3), 127.5, 1e-6),
        ("half uint8", RGB, (0, 1, 2, 3), 127.5, 1e-6),
        ("grey uint8", (1, 1, HEIGHT, WIDTH), (0, 1, 2, 3), 127.5, 0.26),  # integers of luma
    ],
)
def test_a_picture_means_what_it_means_to_shadergen_run(
    page: Any, name: str, shape: Any, axes: Any, scale: float, tolerance: float
) -> None:
    found = ask(
        page,
        "t.runAll(a[0], a[1], a[2], a[3])",
        f"/builds/{name}/build",
        flat(PIXELS),
        WIDTH,
        HEIGHT,
    )
    source = from_pillow(picture(mode="RGBA"), "the picture")
    expected = to_array(source, shape, axes, name) * scale
    assert set(found) == {"ImageData", "canvas", "image", "ImageBitmap"}
    for kind, values in found.items():
        assert np.abs(np.array(values) - expected.ravel()).max() <= tolerance, kind


def test_alpha_is_not_multiplied_into_a_picture_of_any_kind(page: Any) -> None:
    call = "t.runAll(a[0], a[1], a[2], a[3], t.transparentSources)"
    check_straight(ask(page, call, "/builds/rgba/build", flat(TRANSPARENT), WIDTH, HEIGHT))


@pytest.mark.parametrize(
    ("name", "scale"), [("rgb", 0.5), ("pair", 2), ("arrays", 0.5), ("half", 0.5), ("uint8", 127.5)]
)
def test_a_frame_drawn_to_warm_up_leaves_no_trace(page: Any, name: str, scale: float) -> None:
    call = "t.runner(a[0]).then((made) => t.warmedUp(made, a[1], a[2], a[3]))"
    found = ask(page, call, f"/builds/{name}/build", flat(PIXELS), WIDTH, HEIGHT)
    assert not any(found["blank"])
    expected = PIXELS[..., :3].transpose(2, 0, 1).ravel() / 255 * scale
    assert np.abs(np.array(found["shown"]) - expected).max() <= 1e-3


def test_wait_resolves_when_the_gpu_is_done_and_refuses_a_lost_context(page: Any) -> None:
    found = ask(page, "t.waited(...a)", "/builds/rgb/build")
    assert found["drawn"] >= 4
    assert found["stale"]["code"] == "SG0604"


@pytest.mark.parametrize("name", ["rgb", "uint8 out"])
def test_row_0_is_the_top_row_in_and_out(page: Any, name: str) -> None:
    pixels = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    pixels[..., 3] = 255
    pixels[0, :, 0] = 200  # the top row is red
    pixels[-1, :, 2] = 100
    found = ask(page, "t.shown(...a)", f"/builds/{name}/build", flat(pixels), WIDTH, HEIGHT)
    assert (found["columns"], found["rows"]) == (WIDTH, HEIGHT)
    for canvas in ("copied", "own"):
        seen = np.array(found[canvas]).reshape(HEIGHT, WIDTH, 4)
        expected = np.concatenate([pixels[..., :3] // 2, pixels[..., 3:]], axis=2)
        np.testing.assert_array_equal(seen, expected)


def test_luma_gets_the_chroma_of_the_picture_back(page: Any) -> None:
    found = ask(
        page, "t.shown(a[0], a[1], a[2], a[3])", "/builds/luma/build", flat(PIXELS), WIDTH, HEIGHT
    )
    source = from_pillow(picture(), "the picture")
    y = luma(as_floats(source.colours)).repeat(2, 0).repeat(2, 1)
    expected = with_source(y, (0, len(y)), y.shape[:2], source, 8).astype(np.float32)
    seen = np.array(found["own"]).reshape(2 * HEIGHT, 2 * WIDTH, 4)[..., :3]
    # Pillow rounds between its two passes and after
    assert np.abs(seen - expected).max() <= 2


def test_one_channel_of_a_picture_in_colours_is_grey(page: Any) -> None:
    call = "t.shown(a[0], a[1], a[2], a[3])"
    found = ask(page, call, "/builds/red/build", flat(PIXELS), WIDTH, HEIGHT)
    seen = np.array(found["own"]).reshape(HEIGHT, WIDTH, 4)[..., :3]
    assert np.abs(seen - PIXELS[..., :1].astype(int)).max() <= 1


def test_numbers_after_a_picture_have_none_of_its_colours(page: Any) -> None:
    arguments = ("/builds/luma/build", flat(PIXELS), WIDTH, HEIGHT)
    found = ask(page, "t.greyAgain(a[0], a[1], a[2], a[3])", *arguments)
    assert found == {way: [False, True] for way in ("upload", "run", "bindInput")}


def test_networks_of_numbers_and_ranges_without_zero_warm_up(page: Any) -> None:
    call = """import("/web/warm_up.js").then(async ({ warmUp }) => {
      const made = await t.runner(a[0]);
      for (const port of made.build.inputs) port.range = a[1];
      await warmUp(made);
      return [...made.read()];
    })"""
    for build in ("matrix", "int32"):
        assert not any(ask(page, call, f"/builds/{build}/build", None))
    assert set(ask(page, call, "/builds/rgb/build", [0.25, 0.5])) == {0.125}


def test_a_picture_beyond_the_range_of_the_build_is_refused(page: Any) -> None:
    call = "t.runner(a[0]).then((p) => t.refusal(() => p.run(t.imageData(a[1], a[2], a[3]))))"
    dark = PIXELS // [3, 3, 3, 1]
    arguments = ("/builds/narrow/build", flat(PIXELS), WIDTH, HEIGHT)
    error = ask(page, call, *arguments)
    assert error["code"] == "SG0605"
    assert "input 'x' holds values from 0" in error["what"]
    assert ask(page, call, arguments[0], flat(dark), WIDTH, HEIGHT) is None


@pytest.mark.parametrize(
    ("build", "call", "says"),  # p is a runner of the build
    [
        ("rgb", "p.run(t.imageData(Array(16), 2, 2))", "not width: 7, height: 5"),
        ("rgb", "p.run('cat.png')", "'cat.png' is no picture, or it is not loaded"),
        ("rgb", "p.run(null)", "null is no picture"),
        ("rgb", "p.run(undefined)", "undefined is no picture"),
        ("rgb", "(p.close(), p.run())", "the runner is not initialised, or closed"),
        ("rgb", "p.run(Symbol('x'))", "Symbol(x) is no picture"),
        ("rgb", "p.run(Object.create(null))", "an object is no picture"),
        ("rgb", "p.run(document.body)", "<body> is no picture"),
        ("rgb", "p.run(new Image())", "<img> is no picture, or it is not loaded"),
        ("rgb", "(p.upload('x', new Float32Array(105)), p.draw())", "no frame was run"),
        ("rgb", "(p.run(t.imageData(Array(140), 7, 5)), p.draw(null))", "a canvas, not null"),
        ("rgb", "p.draw(document.body)", "draw() takes a canvas, not <body>"),
        ("rgb", "p.run()", "the input 'x' has no texture"),
        ("rgb", "p.upload('z', new Float32Array(1))", "the build has no input 'z'"),
        ("rgb", "p.upload('x', new Float32Array(1))", "takes an array of 1x3x5x7"),
        ("rgb", "p.upload('x', new Float32Array(105).fill(1e39))", ""),
        ("rgb", "p.upload('x', new Float64Array(105).fill(1e39))", "the array holds 1e+39"),
        ("half", "p.upload('x', new Float32Array(105).fill(65520))", "the array holds 65520"),
        ("bytes", "p.upload('x', new Float32Array(105).fill(1.5))", "values outside 0 to 1"),
        ("bytes", "p.upload('x', new Int32Array(105))", "an image cannot be given as int32"),
        ("bytes", "p.upload('x', new Uint8Array(105))", ""),
        ("int32", "p.run(t.imageData(Array(140), 7, 5))", "is of type int32, and pictures have"),
        ("int32", "p.upload('x', new Int32Array(105))", ""),
        ("uint8", "p.upload('x', new Uint8Array(105))", ""),
        ("matrix", "p.run(t.imageData(Array(168), 7, 6))", "of shape [6, 7] is not a picture"),
        ("matrix", "(p.upload('x', new Float32Array(42)), p.run(), p.draw())", "'y' of shape"),
        ("pair", "p.run(t.imageData(Array(140), 7, 5))", "the build has 2 inputs: x, z"),
        ("rgb", "p.read('z')", "the build has no output 'z'"),
        ("rgb", "p.outputTexture('y', 3)", "the output 'y' has no texture 3"),
        ("rgb", "p.bindInput('x', 7)", "'x' takes a 2D texture"),
        (
            "rgb",
            "p.bindOutput('y', t.texture(p.gl, 'RGB9_E5', 7, 5))",
            "this GL cannot draw to the texture of 'y'",
        ),
        ("rgb", "(p.run(t.texture(p.gl, 'RGBA8UI', 7, 5)), p.check())", "GL_INVALID_OPERATION"),
        ("rgb", "(p.run(t.texture(p.gl, 'RGBA8', 7, 5)), p.check())", ""),
        (
            "rgb",
            "(() => { const both = t.texture(p.gl, 'RGBA8', 7, 5);"
            " p.bindInput('x', both); p.bindOutput('y', both); p.run(); })()",
            "the output 'y' has the texture of the input 'x'",
        ),
        ("rgb", "p.resize({height: 4})", "the build has no dynamic size 'height'"),
        ("rgb", "new t.Runner(p.build, document.body)", "needs a WebGL 2 context"),
        ("rgb", "new t.Runner(p.build, p.gl).run()", "the runner is not initialised, or closed"),
        ("rgb", "t.runner('/builds/absent')", "there is no build in"),
        ("rgb", "t.runner('/builds/wgsl/build')", "lacks support for WGSL"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(page: Any, build: str, call: str, says: str) -> None:
    error = ask(
        page, f"t.runner(a[0]).then((p) => t.refusal(() => {call}))", f"/builds/{build}/build"
    )
    if not says:
        assert error is None
        return
    assert says in error["what"]
    assert error["code"] in ("SG0605", "SG0604", "SG0602", "SG0601", "SG0502")


TILES = "make the picture smaller, or run it in tiles, with PictureNetwork of picture_network.js"
FILE = "createImageBitmap(blob) makes a picture of a file"
ACCELERATION = "turn on graphics acceleration in the browser's settings"


@pytest.mark.parametrize(
    ("build", "call", "what", "help_"),
    [
        (
            "open",
            "p.run(t.imageData(Array(40000), 100, 100))",
            "the picture has width: 100, height: 100, not width",
            "or resize({ width: 100, height: 100 }) a dynamic build",
        ),
        (
            "rgb/build",
            "p.run(t.imageData(Array(16), 2, 2))",
            "the picture has width: 2, height: 2",
            "draw it to a canvas of that size",
        ),
        ("open", "p.resize({width: 5000})", "width 5000 is not supported", TILES),
        ("open", "p.resize({width: 0})", "width 0 is not supported", None),
        ("open", "p.resize({height: '96'})", "height '96' is not supported", None),
        (
            "open",
            "p.resize(96, 128)",
            "sizes are an object, not 96",
            "{ height: 720, width: 1280 }",
        ),
        ("rgb/build", "p.resize()", "sizes are an object, not undefined", "{ height: 720"),
        ("rgb/build", "p.run('cat.png')", "'cat.png' is no picture", FILE),
        ("rgb/build", "p.run(new Blob())", "Blob is no picture", FILE),
        (
            "int32/build",
            "p.run(t.imageData(Array(140), 7, 5))",
            "input 'x' is of type int32, and pictures have values of 0 to 1",
            "upload() an array of numbers",
        ),
        ("rgb/build", "p.run(new Image())", "<img> is no picture", "await decode() of an img"),
        (
            "rgb/build",
            "(p.run(t.imageData(Array(140), 7, 5)), p.draw(t.context().canvas))",
            "the canvas has a context of another kind than 2d",
            "draw to another canvas",
        ),
        ("rgb/build", "new t.Runner(p.build, null)", "needs a WebGL 2 context", ACCELERATION),
        (
            "rgb/build",
            "t.load('/page', {}, {fetch: async () => new Response(' <!doctype html>')})",
            "schedule.json is not JSON",
            "the server may have answered with an HTML page: check the path of the build",
        ),
        (
            "rgb/build",
            "t.load('/page', {}, {fetch: async () => new Response('{')})",
            "schedule.json is not JSON",
            None,
        ),
    ],
)
def test_a_refusal_says_what_helps(
    page: Any, build: str, call: str, what: str, help_: str | None
) -> None:
    error = ask(page, f"t.runner(a[0]).then((p) => t.refusal(() => {call}))", f"/builds/{build}")
    assert what in error["what"]
    lines = [line for line in error["message"].splitlines() if line.startswith("  = help: ")]
    assert len(lines) == (help_ is not None)
    assert (help_ or "") in "".join(lines)


FOREIGN = """async (url) => {
    const image = Object.assign(new Image(), { src: url });
    await image.decode();
    return [image, await createImageBitmap(image)];
}"""


def test_a_picture_of_another_site_is_refused_with_the_cure_and_others_still_run(
    page: Any,
) -> None:
    picture(mode="RGB").save(page.builds / "foreign.png")
    url = page.url.replace("localhost", INSECURE) + "builds/foreign.png"
    found = ask(
        page,
        f"""(async () => {{
            const p = await t.runner(a[0]);
            const errors = [];
            for (const source of await ({FOREIGN})(a[1])) {{
                errors.push(await t.refusal(() => p.run(source)));
            }}
            p.run(await createImageBitmap(new ImageData(7, 5)));
            p.check();
            return {{ errors, numbers: p.read().length }};
        }})()""",
        "/builds/rgb/build",
        url,
    )
    assert found["numbers"] == 105
    for error, name in zip(found["errors"], ("<img>", "ImageBitmap"), strict=True):
        assert error["code"] == "SG0605"
        assert error["what"].startswith(f"{name} is of another site")
        assert 'help: set crossOrigin = "anonymous" before src' in error["message"]


def test_without_webgl_a_visitor_reads_how_to_turn_it_on(page: Any) -> None:
    script = """(async () => {
        const { open } = await import("/web/auto.js");
        const own = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = () => null;
        Object.defineProperty(navigator, "gpu", { value: undefined, configurable: true });
        try {
            return await t.refusal(() => open(a[0]));
        } finally {
            HTMLCanvasElement.prototype.getContext = own;
            delete navigator.gpu;
        }
    })()"""
    error = ask(page, script, "/builds/rgb/build")
    assert error["what"] == "this browser offers no WebGL 2"
    assert ACCELERATION in error["message"]


def test_the_applications_textures_are_read_and_written(page: Any) -> None:
    values = RNG.normal(size=(HEIGHT, WIDTH, 4)).astype(np.float32)
    found = ask(
        page,
        "t.zeroCopy(a[0], a[1], a[2], a[3])",
        "/builds/rgb/build",
        values.ravel().tolist(),
        WIDTH,
        HEIGHT,
    )
    expected = values[..., :3].transpose(2, 0, 1) * np.float32(0.5)
    np.testing.assert_allclose(found["result"], expected.ravel(), rtol=1e-6)
    assert found["bound"]
    assert found["error"] == 0


def test_a_lost_context_is_named_and_all_is_made_again(page: Any) -> None:
    found = ask(
        page, "t.lose(a[0], a[1], a[2], a[3])", "/builds/rgb/build", flat(PIXELS), WIDTH, HEIGHT
    )
    assert found["meanwhile"]["code"] == found["init"]["code"] == "SG0604"
    assert found["meanwhile"]["what"] == "the GL context was lost"
    assert "has no texture" in found["empty"]["what"]
    assert found["before"] == found["after"]


def test_a_frame_only_binds_and_draws(page: Any) -> None:
    script = """t.runner(a[0]).then(async (p) => {
        p.upload("x", new Float32Array(105));
        p.run();
        return t.traced(p.gl, () => p.run());
    })"""
    calls = ask(page, script, "/builds/rgb/build")
    assert calls.pop("drawArrays") == 1
    state = re.compile("bind|disable$|useProgram|viewport|activeTexture|colorMask")
    assert not [name for name in calls if not state.match(name)]


def without_compute(folder: Path) -> None:
    """Write the fixture of dynamic sizes without its compute pass, which browsers lack."""
    shutil.copytree(FIXTURES / "good_dynamic", folder)
    text = (folder / "schedule.json").read_text()
    schedule = json.loads(text.replace('"first": 2, "last": 3', '"first": 1, "last": 2'))
    schedule["requires"]["glsl"] = 300
    for name in ("compute_images", "compute_texture_units", "workgroup_invocations"):
        schedule["requires"]["limits"][name] = 0
    schedule["requires"]["limits"]["workgroup_count"] = 0
    for member in ("passes", "outputs", "textures"):
        schedule[member] = [m for m in schedule[member] if m["name"] not in ("corners", "y")]
    for texture in schedule["textures"]:
        if texture["name"] == "half":
            texture["first"] = 1
        texture["last"] = min(texture["last"], 2)
    (folder / "schedule.json").write_text(json.dumps(schedule))
    for shader in (folder / "shaders").iterdir():
        shader.write_text(shader.read_text().replace("310 es", "300 es"))


def test_a_build_of_dynamic_sizes_is_resized_without_compiling(page: Any) -> None:
    sizes = [(1, 4), (40, 6), (5, 130), (3, 4)]
    script = "t.resized(a[0], a[1])"
    asked = [{"height": height, "width": width} for height, width in sizes]
    for (height, width), found in zip(sizes, ask(page, script, "/builds/open", asked), strict=True):
        x = (np.arange(height * width * 4) % 50 / 8).reshape(1, height, width, 4)
        quotient, remainder = divmod(height - 100, 7)
        half = x[:, ::2, ::2] + height * width + np.array([quotient, remainder] * 2)
        np.testing.assert_allclose(found["up"], (2 * x.repeat(2, 1).repeat(2, 2)).ravel())
        np.testing.assert_allclose(found["half"], half.ravel(), rtol=1e-6)
        assert found["calls"]["texStorage3D"] == 2  # of three: the input is uploaded later
        assert not {"compileShader", "linkProgram", "bufferData"} & set(found["calls"])


def test_a_refused_size_leaves_the_runner_as_it_was(page: Any) -> None:
    script = """t.runner("/builds/open").then(async (p) => {
        p.upload("x", new Float32Array(48).fill(1));
        const codes = [];
        for (const sizes of [{ width: 5 }, { height: 0 }, { depth: 1 }, { height: 2.5 }]) {
            codes.push((await t.refusal(() => p.resize(sizes)))?.code);
        }
        p.run();
        return [codes, [...p.read("up")]];
    })"""
    codes, values = ask(page, script)
    assert codes == ["SG0605"] * 4
    assert values == [2.0] * 192


def test_no_gl_call_is_made_by_a_refused_build(page: Any) -> None:
    script = """(async () => {
        const gl = t.context();
        const calls = await t.traced(gl, () => t.refusal(() => t.runner(a[0], gl)));
        return calls;
    })()"""
    assert ask(page, script, "/fixtures/malformed/slot_clash") == {}


def test_a_shader_cut_off_is_answered_with_a_whole_copy(page: Any) -> None:
    script = """(async () => {
        const build = await t.load(a[0]);
        const { shaders } = build.files;
        const path = build.passes[0].shader;
        shaders.set(path, shaders.get(path).slice(0, shaders.get(path).length / 2));
        return t.refusal(() => new t.Runner(build, t.context()).init());
    })()"""
    refused = ask(page, script, "/builds/rgb/build")
    assert refused["code"] == "SG0603"
    assert refused["what"].endswith(".frag' does not compile")
    assert refused["message"].splitlines()[-2:] == [
        "  = help: copy the whole build folder again, or compile the model again",
        "  = help: if the build is intact, report this with the driver's name",
    ]


def test_progress_ends_with_all_shaders_even_if_the_browser_cannot_count(page: Any) -> None:
    script = """t.load(a[0]).then(async (build) => {
        const gl = t.context();
        const ask = gl.getExtension.bind(gl);
        gl.getExtension = (name) => (name === "KHR_parallel_shader_compile" ? null : ask(name));
        const counts = [];
        const made = new t.Runner(build, gl);
        made.onprogress = (...both) => counts.push(both);
        await made.init();
        return counts;
    })"""
    assert ask(page, script, "/builds/open") == [[0, 2], [2, 2]]


def test_external_textures_are_refused_before_a_shader_is_compiled(page: Any) -> None:
    script = """(async () => {
        const gl = t.context();
        let error;
        const calls = await t.traced(gl, async () => {
            error = await t.refusal(() => t.runner(a[0], gl));
        });
        return [error.code, error.what, calls.compileShader ?? 0];
    })()"""
    code, what, compiled = ask(page, script, "/fixtures/good_external")
    assert (code, compiled) == ("SG0602", 0)
    assert what == "this GL lacks GL_OES_EGL_image_external_essl3, which no browser has"


def test_timings_are_of_every_pass_or_none(page: Any) -> None:
    script = """t.runner(a[0]).then(async (p) => {
        p.run(t.imageData(a[1], a[2], a[3]), { timed: true });
        return [await p.timings(), p.gl.getExtension("EXT_disjoint_timer_query_webgl2") !== null];
    })"""
    times, offered = ask(page, script, "/builds/rgb/build", flat(PIXELS), WIDTH, HEIGHT)
    assert len(times) in ((0, 1) if offered else (0,))
    assert all(0 <= t < 10_000 for t in times)


def test_what_is_shown_is_what_a_person_sees(page: Any) -> None:
    """A screenshot, kept in .build/screenshots."""
    script = """(async () => {
        const gl = t.context(70, 50);
        document.body.replaceChildren(gl.canvas);
        const p = await t.runner(a[0], gl);
        p.run(t.imageData(a[1], a[2], a[3]));
        p.draw();
        await new Promise(requestAnimationFrame);
    })()"""
    pixels = PIXELS.copy()
    pixels[: HEIGHT // 2, :, :3] = (240, 20, 20)
    ask(page, script, "/builds/rgb/build", flat(pixels), WIDTH, HEIGHT)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / "picture.png"
    page.locator("canvas").screenshot(path=path)
    seen = np.asarray(Image.open(path).convert("RGB"))
    assert seen.shape == (50, 70, 3)
    assert np.abs(seen[5, 5].astype(int) - (120, 10, 10)).max() <= 1
    np.testing.assert_allclose(seen[45, 65], pixels[-1, -1, :3] / 2, atol=1)


def test_software_runs_webgl_where_there_is_a_choice(page: Any) -> None:
    values = (np.arange(105) / 105).tolist()
    page.evaluate("async () => { window.g = await import('/tests/webgpu_features.js'); }")
    for build, webgpu in (("both", False), ("rgb", False), ("wgsl", True)):
        found = ask(page, "g.opened(a[0], a[1])", f"/builds/{build}/build", values)
        assert found["webgpu"] == webgpu, build
        np.testing.assert_allclose(found["numbers"], np.array(values) * 0.5, atol=1e-6)
