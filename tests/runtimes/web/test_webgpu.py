"""The web runtime on WebGPU in a real Chromium: it plays what Python plays."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from support import ESPCN
from support.browser import ARGUMENTS, ROOT, SCREENSHOTS, VULKAN, chromium, served, write_video
from support.picture_builds import (
    BUILDS,
    HEIGHT,
    PIXELS,
    RGB,
    TRANSPARENT,
    WIDTH,
    ask,
    both,
    check_straight,
    flat,
    picture,
)
from support.runtime_builds import FRAGMENT, RuntimeBuild, webgpu_builds, write

import shadergen
from shadergen.compiler.pictures.picture import as_floats, luma, to_array, with_source
from shadergen.compiler.pictures.reading import from_pillow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    builds = tmp_path_factory.mktemp("builds")
    write(builds, webgpu_builds())
    shown = tmp_path_factory.mktemp("pictures")
    for name, (model, options) in BUILDS.items():
        RuntimeBuild(name, model, {"device": "webgpu", **options}).write(shown / name)
    RuntimeBuild("gl", BUILDS["rgb"][0], FRAGMENT).write(shown / "gl")
    both(shown / "both")
    shadergen.compile_model(
        ESPCN, shown / "dynamic", device="webgpu", input_size="dynamic", validate=False
    )
    folders = {
        "web": ROOT / "runtime_glue" / "web",
        "tests": ROOT / "tests" / "runtimes" / "web",
        "builds": builds,
        "pictures": shown,
    }
    with served(**folders) as address, chromium(*VULKAN) as browser:
        page = browser.new_page()
        page.goto(address)
        if not page.evaluate("async () => Boolean(await navigator.gpu?.requestAdapter())"):
            pytest.skip("this Chromium has no WebGPU adapter")
        page.pictures = shown
        yield page


@pytest.fixture(scope="module")
def played(page: Any) -> dict[str, dict[str, Any]]:
    script = "async (names) => (await import('/tests/play.js')).playAll(names, true)"
    result: dict[str, dict[str, Any]] = page.evaluate(script, [b.name for b in webgpu_builds()])
    return result


@pytest.mark.parametrize("case", webgpu_builds(), ids=lambda case: case.name)
def test_a_build_gives_what_onnxruntime_gives(case: Any, played: dict[str, dict[str, Any]]) -> None:
    result = played[case.name]
    assert "errors" in result, result["message"]
    assert max(result["errors"].values()) <= 1


@pytest.fixture(scope="module")
def features(page: Any) -> Any:
    page.evaluate("async () => { window.g = await import('/tests/webgpu_features.js'); }")
    return page


@pytest.mark.parametrize(
    ("name", "shape", "scale", "tolerance"),
    [
        ("rgb", RGB, 0.5, 1e-6),
        ("rgba", (1, 4, HEIGHT, WIDTH), 0.5, 1e-6),
        ("arrays", RGB, 0.5, 1e-6),
        ("bytes", RGB, 0.5, 0.51 / 255),
        ("grey", (1, 1, HEIGHT, WIDTH), 0.5, 0.51 / 255),
        ("half", RGB, 0.5, 1e-3),
        ("signed", (1, 1, HEIGHT, WIDTH), 0.5, 1e-6),
        ("uint8", RGB, 127.5, 1e-6),
        ("half uint8", RGB, 127.5, 1e-6),
        ("grey uint8", (1, 1, HEIGHT, WIDTH), 127.5, 0.26),  # integers of luma
    ],
)
def test_a_picture_means_what_it_means_to_shadergen_run(
    features: Any, name: str, shape: Any, scale: float, tolerance: float
) -> None:
    found = ask(
        features,
        "g.runAll(a[0], a[1], a[2], a[3])",
        f"/pictures/{name}/build",
        flat(PIXELS),
        WIDTH,
        HEIGHT,
    )
    source = from_pillow(picture(mode="RGBA"), "the picture")
    expected = to_array(source, shape, (0, 1, 2, 3), name) * scale
    assert len(found) == 6
    for kind, values in found.items():
        assert np.abs(np.array(values) - expected.ravel()).max() <= tolerance, kind


@pytest.mark.parametrize(
    ("name", "scale"), [("rgb", 0.5), ("pair", 2), ("arrays", 0.5), ("half", 0.5), ("uint8", 127.5)]
)
def test_a_frame_drawn_to_warm_up_leaves_no_trace(features: Any, name: str, scale: float) -> None:
    call = "g.runner(a[0]).then((made) => g.warmedUp(made, a[1], a[2], a[3]))"
    found = ask(features, call, f"/pictures/{name}/build", flat(PIXELS), WIDTH, HEIGHT)
    assert not any(found["blank"])
    expected = PIXELS[..., :3].transpose(2, 0, 1).ravel() / 255 * scale
    assert np.abs(np.array(found["shown"]) - expected).max() <= 1e-3


def test_frames_are_copied_where_a_browser_has_no_external_textures(features: Any) -> None:
    source = ("/pictures/rgb/build", flat(PIXELS), WIDTH, HEIGHT)
    found = ask(features, "g.copied(...a)", *source)
    expected = PIXELS[..., :3].transpose(2, 0, 1).ravel() / 510
    assert np.abs(np.array(found) - expected).max() <= 1e-6


def test_alpha_is_not_multiplied_into_a_picture_of_any_kind(features: Any) -> None:
    call = "g.runAll(a[0], a[1], a[2], a[3], g.transparentSources)"
    check_straight(ask(features, call, "/pictures/rgba/build", flat(TRANSPARENT), WIDTH, HEIGHT))


def test_the_alpha_of_a_frame_is_not_multiplied_in(features: Any) -> None:
    pixels = PIXELS.copy()
    pixels[..., 3] = 128 + np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
    source = ("/pictures/rgba/build", flat(pixels), WIDTH, HEIGHT)
    found = ask(features, "g.runAll(...a)", *source)
    expected = pixels.transpose(2, 0, 1).ravel() / 510
    for kind in ("ImageData", "canvas", "VideoFrame with alpha"):  # browsers keep 8 bits
        assert np.abs(np.array(found[kind]) - expected).max() <= 1.1 / 255, kind


def test_luma_gets_the_chroma_of_the_picture_back(features: Any) -> None:
    found = ask(features, "g.shown(...a)", "/pictures/luma/build", flat(PIXELS), WIDTH, HEIGHT)
    source = from_pillow(picture(), "the picture")
    y = luma(as_floats(source.colours)).repeat(2, 0).repeat(2, 1)
    expected = with_source(y, (0, len(y)), y.shape[:2], source, 8).astype(np.float32)
    for kind in ("canvas", "frame"):
        seen = np.array(found[kind]).reshape(2 * HEIGHT, 2 * WIDTH, 4)[..., :3]
        assert np.abs(seen - expected).max() <= 2, kind  # Pillow rounds between its passes
    grey = np.array(found["numbers"]).reshape(-1, 4)[:, :3]
    assert np.ptp(grey) <= 1


def test_one_channel_of_a_picture_in_colours_is_grey(features: Any) -> None:
    found = ask(features, "g.shown(...a)", "/pictures/red/build", flat(PIXELS), WIDTH, HEIGHT)
    for kind in ("canvas", "frame"):
        seen = np.array(found[kind]).reshape(HEIGHT, WIDTH, 4)[..., :3]
        assert np.abs(seen - PIXELS[..., :1].astype(int)).max() <= 1, kind


@pytest.mark.parametrize("name", ["rgb", "uint8 out"])
def test_row_0_is_the_top_row_in_and_out(features: Any, name: str) -> None:
    pixels = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    pixels[..., 3] = 255
    pixels[0, :, 0] = 200
    pixels[-1, :, 2] = 100
    found = ask(features, "g.shown(...a)", f"/pictures/{name}/build", flat(pixels), WIDTH, HEIGHT)
    for kind in ("canvas", "frame"):
        seen = np.array(found[kind]).reshape(HEIGHT, WIDTH, 4)
        expected = np.concatenate([pixels[..., :3] // 2, pixels[..., 3:]], axis=2)
        assert np.abs(seen - expected).max() <= 1, kind


def test_two_networks_share_an_encoder(features: Any) -> None:
    values = (np.arange(105) / 105).tolist()
    found = ask(features, "g.chained(a[0], a[1])", "/pictures/rgb/build", values)
    np.testing.assert_allclose(found["between"], np.array(values) * 0.5, atol=1e-6)
    np.testing.assert_allclose(found["together"], np.array(values) * 0.25, atol=1e-6)
    assert found["together"] == found["apart"]


def test_an_output_goes_to_a_texture_of_the_page(features: Any) -> None:
    values = (np.arange(105) / 105).tolist()
    found = ask(features, "g.bound(...a)", "/pictures/rgb/build", values, WIDTH, HEIGHT)
    assert found["same"]
    np.testing.assert_allclose(found["numbers"], np.array(values) * 0.5, atol=1e-6)


def test_a_lost_device_is_named_and_all_is_made_again(features: Any) -> None:
    values = (np.arange(105) / 105).tolist()
    found = ask(features, "g.lost(a[0], a[1])", "/pictures/rgb/build", values)
    assert found["reason"] == "destroyed"
    assert found["error"]["code"] == "SG0604"
    assert found["after"] == found["before"]
    np.testing.assert_allclose(found["after"], np.array(values) * 0.5, atol=1e-6)


def test_frames_make_no_objects(features: Any) -> None:
    found = ask(features, "g.objectsOf(...a)", "/pictures/rgb/build", [0.5] * 105, 10_000)
    assert found == {"found": {}, "finite": True}


def heap(page: Any) -> int:
    """Return the bytes of the page's JavaScript objects that are in use."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used: int = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return used


def test_pictures_that_are_run_and_drawn_leave_nothing_behind(features: Any) -> None:
    source = ("/pictures/rgb/build", flat(PIXELS), WIDTH, HEIGHT)
    before = ask(features, "g.soak(...a)", *source, 100)
    used = []
    for _ in range(4):
        assert ask(features, "g.soak(...a)", *source, 600) == before
        used.append(heap(features))
    assert not before["lost"]
    assert min(before["live"].values()) > 0
    growth = [later - earlier for earlier, later in pairwise(used)]
    assert min(growth) < 40_000  # bytes: what is left of a frame is left in every turn


def test_two_networks_run_side_by_side_and_one_outlives_the_other(features: Any) -> None:
    first, second, after = ask(features, "g.sideBySide(...a)", "/pictures/rgb/build", VALUES)
    np.testing.assert_allclose(first, np.array(VALUES) * 0.5, atol=1e-6)
    np.testing.assert_allclose(second, np.array(VALUES) * 0.25, atol=1e-6)
    assert after == second


def test_a_network_of_dynamic_sizes_is_resized_again_and_again(features: Any) -> None:
    sizes = [{"width": 9, "height": 6}, {"width": 33, "height": 20}]
    found = ask(features, "g.resizedOften(...a)", "/pictures/dynamic", sizes, 100)
    assert found["last"] == found["first"]
    assert found["after"] == 0
    assert found["shown"] == ["18x12", "66x40"]
    assert found["size"] == 66 * 40


def test_timings_are_of_every_pass_or_none(features: Any) -> None:
    found = ask(features, "g.timed(a[0], a[1])", "/pictures/luma/build", [0.5] * 35)
    assert found["without"] == []
    assert len(found["times"]) in (0, found["passes"])


@pytest.mark.parametrize(
    ("build", "call", "says"),  # p is a runner of the build
    [
        ("rgb", "p.run(g.imageData(Array(16), 2, 2))", "not width: 7, height: 5"),
        ("rgb", "p.run(null)", "null is no picture"),
        ("rgb", "p.run(undefined)", "undefined is no picture"),
        ("rgb", "p.run(document.body)", "<body> is no picture"),
        ("rgb", "p.draw(document.createElement('canvas'))", "no frame was run before draw()"),
        ("rgb", "(p.run(g.imageData(Array(140), 7, 5)), p.draw(null))", "canvas, not null"),
        ("rgb", "p.run('cat.png')", "'cat.png' is no picture, or it is not loaded"),
        ("rgb", "p.run()", "the input 'x' has no texture"),
        ("rgb", "p.upload('z', new Float32Array(1))", "the build has no input 'z'"),
        ("rgb", "p.upload('x', new Float32Array(1))", "takes an array of 1x3x5x7"),
        ("half", "p.upload('x', new Float32Array(105).fill(65520))", "the array holds 65520"),
        ("narrow", "p.run(g.imageData(Array(140), 7, 5))", "takes 0 to 0.5, a picture has 0 to 1"),
        ("int32", "p.run(g.imageData(Array(140), 7, 5))", "is of type int32, and pictures have"),
        ("matrix", "p.run(g.imageData(Array(168), 7, 6))", "of shape [6, 7] is not a picture"),
        ("pair", "p.run(g.imageData(Array(140), 7, 5))", "the build has 2 inputs: x, z"),
        ("rgb", "p.read('z')", "the build has no output 'z'"),
        ("rgb", "p.bindInput('x', 7)", "'x' takes a GPUTexture of 7x5x1"),
        ("rgb", "p.bindOutput('y', g.texture(p.device, 'rgba8unorm', 7, 5, 4))", "with usage"),
        ("rgb", "p.bindOutput('y', g.texture(p.device, 'rgba32uint', 7, 5))", "not rgba32uint"),
        (
            "rgb",
            "(p.bindOutput('y', g.texture(p.device, 'rgba8unorm', 7, 5)),"
            " p.run(g.imageData(Array(140), 7, 5)))",
            "are not compiled",
        ),
        (
            "rgb",
            "(p.bindOutput('y', g.texture(p.device, 'rgba16float', 7, 5)), p.read())",
            "cannot be read from the texture bound to it",
        ),
        (
            "rgb",
            "(p.run(g.imageData(Array(140), 7, 5)), (() => {"
            " const c = document.createElement('canvas'); c.getContext('2d'); p.draw(c); })())",
            "context of another kind",
        ),
        ("rgb", "p.resize({height: 4})", "the build has no dynamic size 'height'"),
        ("rgb", "new g.Runner(p.build, document.body)", "needs a WebGPU device"),
        ("rgb", "new g.Runner(p.build, p.device).run()", "the runner is not initialised"),
        ("gl", "0", "this WebGPU lacks support for GLSL ES"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(
    features: Any, build: str, call: str, says: str
) -> None:
    error = ask(
        features,
        f"g.refusal(async () => {{ const p = await g.runner(a[0]); await ({call}); }})",
        f"/pictures/{build}/build",
    )
    assert says in error["what"]
    assert error["code"] in ("SG0605", "SG0604", "SG0602", "SG0601")


VALUES = (np.arange(105) / 105).tolist()


@pytest.mark.parametrize(
    ("build", "on", "variant"),
    [
        ("both", "", ""),  # for WebGL 2: this WebGPU is computed by software
        ("both", "device", "webgpu"),
        ("both", "gl", ""),
        ("rgb", "", ""),
        ("rgb", "gl", "SG0602"),
        ("gl", "", ""),
        ("gl", "device", "SG0602"),
    ],
)
def test_one_import_chooses_or_takes_what_the_page_has(
    features: Any, build: str, on: str, variant: str
) -> None:
    given = {"device": "{device: await g.device()}", "gl": "{gl: g.context()}"}.get(on, "{}")
    call = f"g.refusal(async () => {{ window.found = await g.opened(a[0], a[1], {given}); }})"
    error = ask(features, call, f"/pictures/{build}/build", VALUES)
    if variant.startswith("SG"):
        assert error["code"] == variant
        return
    assert error is None
    found = features.evaluate("window.found")
    assert (found["variant"], found["webgpu"]) == (variant, on == "device" or build == "rgb")
    np.testing.assert_allclose(found["numbers"], np.array(VALUES) * 0.5, atol=1e-6)


def test_a_runner_of_the_generic_build_says_how_to_load_the_variant(features: Any) -> None:
    error = ask(features, "g.refusal(() => g.runner(a[0]))", "/pictures/both/build")
    assert error["what"] == "this WebGPU lacks support for GLSL ES, the build's shader language"
    assert "load(url, {}, { device }) with requestDevice()" in error["message"]


def test_a_device_that_cannot_run_the_variant_reads_why(features: Any) -> None:
    call = """(async () => {
        const { load } = await import("/web/webgpu/index.js");
        const limits = { maxTextureDimension2D: 4 };
        return g.refusal(() => load(a[0], {}, { device: { features: new Set(), limits } }));
    })()"""
    error = ask(features, call, "/pictures/both/build")
    assert error["code"] == "SG0602"
    assert error["what"].startswith("this WebGPU lacks texture size >= ")


@pytest.mark.parametrize("missing", ["**/both/build/shaders/*.frag", "**/web/shadergen.js"])
def test_a_missing_file_is_warned_of_before_the_other_api_is_tried(
    features: Any, missing: str
) -> None:
    page = features.context.browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: message.type == "warning" and said.append(message.text))
    try:
        page.route(missing, lambda route: route.fulfill(status=404))
        page.goto(features.url)
        found = page.evaluate(
            """async () => {
                const { open } = await import("/web/auto.js");
                return { webgpu: Boolean((await open("/pictures/both/build")).device) };
            }"""
        )
    finally:
        page.close()
    # this WebGPU is computed by software, so WebGL 2 is tried first
    assert found == {"webgpu": True}
    assert any(missing.rpartition("/")[2].strip("*") in text for text in said)


def test_networks_opened_on_one_device_share_an_encoder(features: Any) -> None:
    found = ask(features, "g.openedTogether(...a)", "/pictures/rgb/build", VALUES)
    np.testing.assert_allclose(found["numbers"], np.array(VALUES) * 0.25, atol=1e-6)
    assert found["shared"]


def test_without_an_adapter_a_page_reads_what_runs_everywhere(features: Any) -> None:
    script = """(async () => {
        const { requestDevice } = await import("/web/webgpu/index.js");
        Object.defineProperty(navigator, "gpu", { value: undefined, configurable: true });
        try {
            return await g.refusal(requestDevice);
        } finally {
            delete navigator.gpu;
        }
    })()"""
    error = ask(features, script)
    assert (error["code"], error["what"]) == ("SG0601", "this browser offers no WebGPU adapter")
    help_ = "open() of auto.js runs a build for --device gles30,webgpu here, on WebGL 2"
    assert f"help: {help_}" in error["message"]


def page_of_the_manual(folder: Path, number: int) -> str:
    """Write the page of the manual with errors, 0, the short one, 1, or the README's, 2."""
    manual = (ROOT / "docs" / "embedding.md").read_text()
    section = manual[manual.index("### A video page for all browsers") :]
    pages = [part.partition("```")[0] for part in section.split("```html\n")[1:3]]
    readme = (ROOT / "README.md").read_text().split("```html\n")[1].partition("```")[0]
    html = [*pages, readme.replace("video.mp4", "video.webm")][number]
    (folder / "index.html").write_text(html)
    (folder / "web").symlink_to(ROOT / "runtime_glue" / "web")
    return html


@pytest.mark.parametrize("number", [0, 1, 2], ids=["any size", "short", "README"])
@pytest.mark.parametrize("device", ["webgpu", "webgl2-min"])
def test_the_video_pages_of_the_manual_show_the_result(
    features: Any, tmp_path: Path, device: str, number: int
) -> None:
    html = page_of_the_manual(tmp_path, number)
    if number:
        assert html.count("\n", html.index("<script"), html.index("</script")) < 11
    size = "48x64" if number == 1 else "dynamic"
    options = {"device": device, "input_size": size, "validate": False}
    shadergen.compile_model(ESPCN, tmp_path / "build", **options)
    write_video(tmp_path / "video.webm", [(200, 100, 60)] * 10)
    with served(site=tmp_path) as address:
        page = features.context.browser.new_page()
        try:
            page.goto(f"{address}/site/index.html")
            page.wait_for_selector('#result[width="128"][height="96"]')
            page.wait_for_timeout(500)  # the canvas gets its size in the first frame
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            path = SCREENSHOTS / f"manual-{device}.png"
            page.screenshot(path=path)
            box = page.locator("#result").bounding_box()
        finally:
            page.close()
    at = (round(box["x"]) + 64, round(box["y"]) + 48)
    seen = np.array(Image.open(path).convert("RGB").getpixel(at), float)
    assert np.abs(seen - (200, 100, 60)).max() < 8  # of a compressed video


@pytest.mark.parametrize("lack", ["build", "video", "size"])
def test_the_page_of_the_manual_for_any_size_shows_errors(
    features: Any, tmp_path: Path, lack: str
) -> None:
    page_of_the_manual(tmp_path, 0)
    if lack != "build":
        options = {"input_size": "48x64" if lack == "size" else "dynamic", "validate": False}
        shadergen.compile_model(ESPCN, tmp_path / "build", device="webgl2-min", **options)
    if lack != "video":
        write_video(tmp_path / "video.webm", [(200, 100, 60)] * 10)
    expected = {"build": "error[SG05", "video": "MEDIA_ELEMENT_ERROR", "size": "error[SG0605]"}
    with served(site=tmp_path) as address:
        page = features.context.browser.new_page()
        try:
            page.goto(f"{address}/site/index.html")
            page.locator("#message", has_text=expected[lack]).wait_for(timeout=10_000)
        finally:
            page.close()


def test_a_hidden_tab_runs_what_it_is_asked_to_and_goes_on_when_shown(
    page: Any, tmp_path: Path
) -> None:
    node, program = shutil.which("node"), shutil.which("chromium")
    if node is None or program is None:
        pytest.skip("no node or no Chromium is installed")
    script = ROOT / "tests" / "runtimes" / "web" / "hidden.mjs"
    where = (program, tmp_path / "profile", page.url, "/pictures/rgb/build")
    arguments = [*ARGUMENTS, f"--use-angle={VULKAN[0]}", *VULKAN[1:]]
    done = subprocess.run(
        [node, "--experimental-websocket", script, *where, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "bad option" in done.stderr:
        pytest.skip("this node has no WebSocket")
    assert done.returncode == 0, done.stderr
    states = json.loads(done.stdout)
    assert [state["seen"] for state in states] == ["visible", "hidden", "hidden", "visible"]
    assert [state["errors"] for state in states] == [[]] * 4
    first, hidden, later, shown = states
    assert first["frames"] > 0
    assert later["frames"] == hidden["frames"]  # a hidden tab has no frames, but timers
    assert later["timers"] > hidden["timers"]
    assert shown["frames"] > later["frames"]
    for state, red in zip(states, (50, 100, 150, 200), strict=True):
        assert abs(state["value"] - red / 510) < 1e-6


def test_init_is_done_once_and_close_ends_it(features: Any) -> None:
    found = ask(features, "g.begun(a[0], a[1])", "/pictures/rgb/build", VALUES)
    np.testing.assert_allclose(found["numbers"], np.array(VALUES) * 0.5, atol=1e-6)
    assert found["ended"] == "SG0605"
    assert "the runner is not initialised, or closed" in found["after"]
