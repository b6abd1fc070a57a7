"""``shadergen serve`` and its page, used as a person would; screenshots in .build/screenshots."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from support import ESPCN
from support.browser import SCREENSHOTS, VULKAN, chromium, write_video
from support.onnx_models import node, normal
from support.picture_builds import integers
from support.runtime_builds import FRAGMENT, RuntimeBuild
from support.runtime_models import Model
from support.web_pages import compiled, result, scaled, shown

import shadergen
from shadergen.compiler.serving import networks_of, write_site
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("builds")
    options = {"input_size": "90x160", "device": "swiftshader,webgl2-min", "validate": False}
    shadergen.compile_model(ESPCN, folder / "espcn", **options)
    RuntimeBuild("dark", lambda: scaled(1, 3, 48, 64), FRAGMENT).write(folder / "dark")
    options["input_size"] = "dynamic"
    shadergen.compile_model(ESPCN, folder / "open", **options)
    RuntimeBuild("wgsl", lambda: scaled(1, 3, 48, 64), {"device": "webgpu"}).write(folder / "wgsl")
    compiled(scaled(1, 3, 360, 640), folder / "both", device="webgl2-min,webgpu")
    RuntimeBuild("wide", lambda: scaled(1, 3, 480, 640), FRAGMENT).write(folder / "wide")
    nodes = [node("Mul", "x", "large", outputs=("h",)), node("Add", "h", "h")]
    endless = Model(nodes, {"large": np.array(3e38, np.float32)}, {"x": normal(1, 3, 48, 64)})
    compiled(endless, folder / "endless", device="webgl2-min,webgpu")
    dark, wgsl, wide = (folder / name / "build" for name in ("dark", "wgsl", "wide"))
    both, endless = folder / "both", folder / "endless"
    return [folder / "espcn", dark, folder / "open", wgsl, both, wide, endless]


@pytest.fixture(scope="module")
def address(builds: list[Path]) -> Iterator[str]:
    command = [sys.executable, "-m", "shadergen", "serve", "--no-browser", "--port", "0", *builds]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout
        yield process.stdout.readline().split()[0]
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture(scope="module")
def refused() -> list[str]:
    """Return what the browser refused by the page's policy, as it goes on."""
    return []


@pytest.fixture(scope="module")
def page(address: str, refused: list[str]) -> Iterator[Any]:
    with chromium(*VULKAN) as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.set_default_timeout(20_000)
        policy = "Content Security Policy"
        page.on("console", lambda m: policy in m.text and refused.append(m.text))
        page.add_init_script(DEVICES)
        page.goto(address)
        yield page


# The page keeps its devices to itself; a test takes one away.
DEVICES = """globalThis.devices = [];
const request = globalThis.GPUAdapter?.prototype.requestDevice;
if (request) GPUAdapter.prototype.requestDevice = async function (...rest) {
  devices.push(await request.apply(this, rest));
  return devices.at(-1);
};"""


def keep(page: Any, name: str) -> np.ndarray:
    """Save the page as a picture; return the part that shows the two pictures.

    It is cut out here: a screenshot of an element waits until it is still, which may take for ever
    while a camera is drawn into it by a processor.
    """
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path)
    box = page.locator(".panes").bounding_box()
    left, top = round(box["x"]), round(box["y"])
    corners = (left, top, left + round(box["width"]), top + round(box["height"]))
    return np.asarray(Image.open(path).convert("RGB").crop(corners), float)


def timed(page: Any) -> None:
    """Wait for the time of a frame; not by a function in the page, which its policy refuses."""
    for _ in range(400):
        if page.inner_text("#time") != "–":
            return
        page.wait_for_timeout(50)
    raise TimeoutError


def test_the_page_shows_a_picture_at_once(page: Any) -> None:
    shown(page)
    assert page.inner_text("#size") == "640 × 360 → 1280 × 720"
    assert page.inner_text("#note").startswith("5 × 5 tiles of 160 × 90")
    assert page.inner_text("#passes") == "4"
    assert page.inner_text("#macs") == "1.18 G"  # of 25 tiles with 47.3 million each
    assert page.inner_text("#time").endswith((" ms", " s"))
    assert "on WebGL 2: SwiftShader Device (Subzero) (soft" in page.inner_text("footer p")
    assert page.get_attribute("#renderer", "title").startswith("ANGLE (Google, Vulkan")
    assert "software rendering on the CPU" in page.inner_text("footer p")
    assert page.is_hidden("#message")
    stage = keep(page, "page")
    assert page.is_hidden("#progress")
    assert stage.std() > 20  # a picture, not a blank


@pytest.mark.parametrize(("url", "api"), [("builds/1", "WebGL 2"), ("builds/3", "WebGPU")])
def test_the_slider_moves_the_line_between_before_and_after(
    page: Any, tmp_path: Path, url: str, api: str
) -> None:
    page.select_option("#network", url)  # which makes pictures darker
    shown(page, url)
    assert page.inner_text("#api") == api
    Image.new("RGB", (64, 48), (200, 100, 60)).save(tmp_path / "plain.png")
    page.evaluate("delete document.body.dataset.shown")
    page.set_input_files("#file", tmp_path / "plain.png")
    shown(page, url)
    for at in (20, 80):
        box = page.locator(".panes").bounding_box()
        page.mouse.click(box["x"] + box["width"] * at / 100, box["y"] + 20)
        assert page.get_attribute(".line", "aria-valuenow") == str(at)
        stage = keep(page, f"slider-{api}-{at}")
        row = stage[stage.shape[0] // 4]
        line = len(row) * at // 100
        before, after = row[2 : line - 12], row[line + 12 : -2]  # the line has a shadow
        assert np.abs(before - (200, 100, 60)).max() <= 1
        assert np.abs(after - (100, 50, 30)).max() <= 1


def test_a_picture_with_an_orientation_is_shown_upright(page: Any, tmp_path: Path) -> None:
    lying = Image.new("RGB", (64, 48), (200, 100, 60))
    lying.paste((20, 40, 220), (0, 0, 32, 48))  # the left half, which upright is on top
    exif = lying.getexif()
    exif[0x0112] = 6  # to be shown turned clockwise
    lying.save(tmp_path / "lying.jpg", exif=exif, quality=95)
    page.select_option("#network", "builds/2")
    shown(page, "builds/2")
    page.evaluate("delete document.body.dataset.shown")
    page.set_input_files("#file", tmp_path / "lying.jpg")
    shown(page, "builds/2")
    assert page.inner_text("#size") == "48 × 64 → 96 × 128"
    blue = result(page)[..., 2]
    assert blue[8:56, 8:-8].min() > 180
    assert blue[72:-8, 8:-8].max() < 100


def test_a_page_compares_webgl_with_webgpu(page: Any) -> None:
    page.select_option("#network", "builds/3")
    shown(page, "builds/3")
    assert page.is_hidden("#compare")
    page.select_option("#network", "builds/4")
    shown(page, "builds/4")
    other = page.context.browser.new_page(viewport={"width": 1200, "height": 800})
    try:
        other.goto(page.evaluate("document.getElementById('compare').href"))
        shown(other, "builds/4")
        assert other.inner_text("#size") == "640 × 360 → 640 × 360"
        times = other.locator(".time").all_inner_texts()
        assert all(text.endswith((" ms", " s")) for text in times)
        renderer = other.locator(".renderer").all_inner_texts()[1]
        assert renderer.startswith("google swiftshader (software rendering")
        assert other.inner_text("#ratio").endswith(" times as fast")
        difference = other.inner_text("#difference")
        assert difference == "none" or float(difference) < 1e-4
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        other.screenshot(path=SCREENSHOTS / "compare.png")
        pictures = []
        for canvas in other.locator(".shown").all():
            box = canvas.bounding_box()
            corners = [box["x"] + 9, box["y"] + 9, box["x"] + box["width"] - 9, box["y"] + 300]
            drawn = Image.open(SCREENSHOTS / "compare.png").convert("RGB").crop(corners)
            pictures.append(np.asarray(drawn, float))
        assert pictures[0].std() > 20  # a picture, not a blank
        assert np.abs(pictures[0] - pictures[1]).mean() < 2  # side by side, not on the same pixels
        other.select_option("#network", "builds/3")
        shown(other, "builds/3")
        assert "lacks support for WGSL" in other.locator(".wrong").all_inner_texts()[0]
        assert other.locator(".shown").first.is_hidden()
        assert other.inner_text("#ratio") == "–"
    finally:
        other.close()


STEPS = """window.steps = [];
new MutationObserver(() => {
  const view = document.getElementById("view");
  const text = document.getElementById("doing")?.textContent;
  steps.push([text, view ? view.classList.contains("waiting") : null]);
}).observe(document, { subtree: true, childList: true });"""


def test_what_a_page_waits_for_is_said_and_nothing_is_called_the_result(page: Any) -> None:
    other = page.context.browser.new_page()
    try:
        other.add_init_script(STEPS)
        other.goto(page.url.partition("?")[0] + "?network=builds/4")
        shown(other, "builds/4")
        steps = other.evaluate("steps")
        assert ["Running the network", True] in steps
        assert ["Running the network", False] not in steps
        assert other.locator("#view:not(.waiting)").count() == 1
        other.goto(page.url.partition("?")[0] + "compare.html?network=builds/4")
        shown(other, "builds/4")
        said = {text for text, _ in other.evaluate("steps")}
        assert {"Running the network on WebGL 2", "Running the network on WebGPU"} <= said
        assert other.is_hidden("#progress")
    finally:
        other.close()


LOST_AT_ONCE = """const request = globalThis.GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (...rest) {
  const device = await request.apply(this, rest);
  device.destroy();
  return device;
};"""


def test_a_lost_webgpu_device_leaves_webgl_running_in_the_comparison(page: Any) -> None:
    other = page.context.browser.new_page(viewport={"width": 1200, "height": 800})
    try:
        other.add_init_script(LOST_AT_ONCE)
        other.goto(page.url.partition("?")[0] + "compare.html?network=builds/4")
        shown(other, "builds/4")
        webgl, webgpu = other.locator(".wrong").all_inner_texts()
        assert webgl == ""
        assert webgpu.startswith("WebGPU failed in this browser; reload to try again.")
        assert "await" not in webgpu  # which is for programmers
        assert other.locator(".shown").nth(0).is_visible()
        assert other.locator(".shown").nth(1).is_hidden()
        times = other.locator(".time").all_inner_texts()
        assert times[0].endswith((" ms", " s"))
        assert times[1] == other.inner_text("#ratio") == other.inner_text("#difference") == "–"
        assert other.is_hidden("#message")
        other.screenshot(path=SCREENSHOTS / "compare-lost.png")
    finally:
        other.close()


def test_a_webgpu_device_lost_while_frames_are_drawn_is_said_on_its_side(page: Any) -> None:
    other = page.context.browser.new_page()
    try:
        other.add_init_script(DEVICES)
        other.goto(page.url.partition("?")[0] + "compare.html?network=builds/4")
        shown(other, "builds/4")
        other.evaluate("globalThis.devices.at(-1).destroy()")
        other.locator(".wrong", has_text="WebGPU failed in this browser").wait_for()
        assert other.locator(".shown").nth(0).is_visible()
        assert other.locator(".time").all_inner_texts()[1] == "–"
    finally:
        other.close()


LOSABLE = """const get = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  const context = get.call(this, kind, ...rest);
  if (kind === "webgl2") globalThis.losing = context.getExtension("WEBGL_lose_context");
  return context;
};"""


def test_a_webgl_context_lost_in_the_comparison_is_said_until_it_is_restored(page: Any) -> None:
    other = page.context.browser.new_page()
    try:
        other.add_init_script(LOSABLE)
        other.goto(page.url.partition("?")[0] + "compare.html?network=builds/4")
        shown(other, "builds/4")
        other.evaluate("losing.loseContext()")
        other.locator(".wrong", has_text="WebGL 2 failed in this browser").wait_for()
        assert other.locator(".shown").nth(0).is_hidden()
        assert other.locator(".time").all_inner_texts()[0] == "–"
        other.evaluate("delete document.body.dataset.shown")
        other.evaluate("losing.restoreContext()")
        shown(other, "builds/4")
        assert other.locator(".wrong").all_inner_texts()[0] == ""
        assert other.locator(".shown").nth(0).is_visible()
        other.evaluate(
            """() => {
              globalThis.said = [];
              const wrong = document.querySelector(".wrong");
              const told = new MutationObserver(() => said.push(wrong.textContent));
              told.observe(wrong, { childList: true });
            }"""
        )
        other.select_option("#network", "builds/6")  # which closes the other, and loses its context
        shown(other, "builds/6")
        assert not any(other.evaluate("said"))
    finally:
        other.close()


def test_without_webgpu_there_is_no_link_to_the_comparison(page: Any) -> None:
    other = page.context.browser.new_page()
    try:
        other.add_init_script("if (navigator.gpu) navigator.gpu.requestAdapter = async () => null")
        other.goto(page.url.partition("?")[0] + "?network=builds/4")  # which has both
        shown(other, "builds/4")
        assert other.inner_text("#api") == "WebGL 2"
        assert other.is_hidden("#compare")
    finally:
        other.close()


def test_the_picture_is_seen_while_a_network_gets_ready(page: Any) -> None:
    other = page.context.browser.new_page()
    try:
        other.route("**/weights.bin", lambda route: None)  # which never comes
        other.goto(page.url.partition("?")[0] + "?network=builds/0")
        other.wait_for_selector("#progress:not([hidden])")
        assert result(other, ".before")[..., :3].std() > 20
        assert not other.is_visible(".line")
        assert not other.is_visible(".after")
        assert other.is_disabled("button[name=save]")
    finally:
        other.close()


def test_the_difference_of_infinite_results_is_not_none(page: Any) -> None:
    other = page.context.browser.new_page()
    try:
        other.goto(page.url.partition("?")[0] + "compare.html?network=builds/6")
        shown(other, "builds/6")
        assert other.locator(".wrong").all_inner_texts() == ["", ""]
        assert other.inner_text("#difference") == "NaN"
    finally:
        other.close()


def test_a_lost_gpu_is_taken_again(page: Any) -> None:
    page.select_option("#network", "builds/3")
    shown(page, "builds/3")
    page.evaluate("delete document.body.dataset.shown")
    page.evaluate("globalThis.devices.at(-1).destroy()")
    shown(page, "builds/3")
    assert page.is_hidden("#message")


def test_a_file_that_is_no_picture_is_named(page: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing to see")
    page.set_input_files("#file", tmp_path / "notes.txt")
    page.wait_for_selector("#message:not([hidden])")
    assert "notes.txt is no picture" in page.inner_text("#message")
    keep(page, "message")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ANGLE (NVIDIA, NVIDIA GeForce RTX 3080 (0x00002206) Direct3D11 vs_5_0 ps_5_0, D3D11)",
         "NVIDIA GeForce RTX 3080"),
        ("ANGLE (Apple, ANGLE Metal Renderer: Apple M1, Unspecified Version)", "Apple M1"),
        ("ANGLE (Qualcomm, Adreno (TM) 640, OpenGL ES 3.2)", "Adreno (TM) 640"),
        ("ANGLE (Intel, Vulkan 1.3.0 (Intel(R) UHD Graphics 620 (0x00003EA0)), Intel)",
         "Intel(R) UHD Graphics 620"),
        ("Mali-G78", "Mali-G78"),
    ],
)  # fmt: skip
def test_a_renderer_is_shown_by_the_name_of_its_gpu(page: Any, name: str, shown: str) -> None:
    script = "name => import('./texts.js').then(({ rendererText }) => rendererText(name))"
    assert page.evaluate(script, name) == shown


def test_a_video_is_played(page: Any, tmp_path: Path) -> None:
    video = write_video(tmp_path / "grey.webm", [128] * 10)
    page.select_option("#network", "builds/2")
    shown(page, "builds/2")
    page.evaluate("document.getElementById('time').textContent = '–'")
    page.set_input_files("#file", video)
    timed(page)
    keep(page, "video")
    assert page.is_hidden("#message")


def test_a_video_is_paused_and_another_place_of_it_is_shown(page: Any, tmp_path: Path) -> None:
    video = write_video(tmp_path / "two.webm", [40] * 20 + [200] * 20)
    Image.new("RGB", (64, 48)).save(tmp_path / "black.png")
    page.set_input_files("#file", tmp_path / "black.png")
    page.select_option("#network", "builds/1")  # which halves numbers
    shown(page, "builds/1")
    assert page.is_hidden("#video")
    page.set_input_files("#file", video)
    page.click("#play")
    page.locator("#play", has_text="Play").wait_for()
    for at, grey in ((3.5, 100), (0.5, 20)):
        page.locator("#seek").fill(str(at))
        page.locator("#clock", has_text=f"0:0{int(at)} / 0:04").wait_for()
        for _ in range(100):
            if abs(int(result(page)[24, 32, 0]) - grey) <= 4:
                break
            page.wait_for_timeout(50)
        else:
            raise AssertionError(result(page)[24, 32])
    keep(page, "video-paused")
    page.click("#play")
    page.locator("#play", has_text="Pause").wait_for()
    page.set_input_files("#file", tmp_path / "black.png")
    page.locator("#video").wait_for(state="hidden")


def test_the_webcam_is_played_and_stopped(page: Any) -> None:
    page.select_option("#network", "builds/5")  # of the camera's size
    page.wait_for_selector("#progress", state="hidden")
    page.click("#webcam")
    page.wait_for_selector('#webcam[aria-pressed="true"]')
    timed(page)
    keep(page, "webcam")
    page.evaluate("delete document.body.dataset.shown")
    page.click("#webcam", timeout=120_000)  # between frames, each of which takes a while
    shown(page, page.input_value("#network"))
    assert page.get_attribute("#webcam", "aria-pressed") == "false"
    assert page.is_hidden("#message")


def test_a_build_of_dynamic_sizes_takes_pictures_as_they_are(page: Any, tmp_path: Path) -> None:
    x = np.linspace(0, 1, 100)[np.newaxis] * np.linspace(0.2, 1, 61)[:, np.newaxis]
    Image.fromarray((x * 255).astype(np.uint8)).convert("RGB").save(tmp_path / "ramp.png")
    page.set_input_files("#file", tmp_path / "ramp.png")
    page.select_option("#network", "builds/2")
    page.locator("#size", has_text="100 × 61 → 200 × 122").wait_for()  # decoded meanwhile
    shown(page, "builds/2")
    assert page.is_hidden("#message")
    found = result(page)[4:-4, 4:-4, 0] / 255
    smooth = Image.fromarray((x * 255).astype(np.uint8)).resize(
        (200, 122), Image.Resampling.BICUBIC
    )
    assert np.abs(found - np.asarray(smooth)[4:-4, 4:-4] / 255).max() < 0.05


def test_the_page_breaks_no_rule_of_its_own_policy(page: Any, refused: list[str]) -> None:
    page.evaluate("fetch('https://example.com/').catch(() => {})")
    page.wait_for_timeout(200)
    assert refused  # this, and nothing else that these tests did
    assert all("https://example.com/" in message for message in refused)


def test_a_site_holds_what_schedules_name_and_nothing_else(
    builds: list[Path], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(builds[0], copy)
    (copy / "secret").symlink_to("/etc/passwd")
    (copy / "shaders" / "notes.txt").write_text("mine")
    (copy / "more").mkdir()
    write_site([copy], tmp_path / "site")
    below = {str(p.relative_to(tmp_path / "site")) for p in (tmp_path / "site").rglob("*.*")}
    own = {p for p in below if p.startswith("builds/")}
    expected = {p.relative_to(builds[0]).as_posix() for p in builds[0].rglob("*.*")}
    assert own == {f"builds/0/{p}" for p in expected}
    assert {"index.html", "viewer.js", "networks.json", "shadergen/shadergen.js"} < below
    assert {"compare.html", "shadergen/auto.js", "shadergen/webgpu/index.js"} < below
    assert not [p for p in below if p.endswith(".j2")]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy", "site"]


@pytest.mark.parametrize("name", ["schedule.json", "weights.bin", "shaders"])
def test_a_build_with_a_link_for_a_file_is_not_given_away(
    builds: list[Path], tmp_path: Path, name: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(builds[0], copy)
    (copy / name).rename(copy / "elsewhere")
    (copy / name).symlink_to("elsewhere")
    with pytest.raises(ShadergenError) as caught:
        write_site([copy], tmp_path / "site")
    assert caught.value.code == "SG0505"
    assert "is not a regular file" in caught.value.what
    assert [p.name for p in tmp_path.iterdir()] == ["copy"]


def test_builds_of_one_model_in_folders_of_one_name_are_told_apart(
    builds: list[Path], tmp_path: Path
) -> None:
    copies = [tmp_path / "small" / "build", tmp_path / "large" / "build"]
    for copy in copies:
        shutil.copytree(builds[0], copy)
    assert [n["name"] for n in networks_of(copies)] == [
        "espcn_x2 (small/build)", "espcn_x2 (large/build)"
    ]  # fmt: skip
    assert [n["name"] for n in networks_of(copies[:1])] == ["espcn_x2"]


@pytest.mark.parametrize(
    ("shape", "options", "code", "says"),
    [
        ((1, 5, 6, 7), {}, "SG0605", "'x' of shape (1, 5, 6, 7) is not a picture"),
        ((6, 7), {}, "SG0605", "its input 'x' has the shape 6x7"),
        ((1, 3, 6, 7), {"device": "gles32-desktop", "stage": "compute"}, "SG0602", "gles30,webgpu"),
    ],
)
def test_a_build_that_the_page_cannot_show_is_refused(
    tmp_path: Path, shape: tuple[int, ...], options: dict[str, Any], code: str, says: str
) -> None:
    case = RuntimeBuild("case", lambda: scaled(*shape), {**FRAGMENT, **options})
    case.write(tmp_path / "case")
    with pytest.raises(ShadergenError) as caught:
        networks_of([tmp_path / "case" / "build"])
    assert caught.value.code == code
    assert says in caught.value.render()


@pytest.mark.parametrize(
    ("channels", "labels", "kind"),
    [
        (3, (), "picture"),
        (3, ("a", "b", "c"), "scores"),
        (3, ("a", "b"), "--labels is for networks with classes"),
        (1, (), "map"),
        (2, (), "scores"),
        (2, ("a", "b", "c"), "--labels has 3 names, the network has 2 classes"),
    ],
)
def test_the_list_of_networks_says_what_run_makes_of_an_output(
    tmp_path: Path, channels: int, labels: tuple[str, ...], kind: str
) -> None:
    weights = {"w": np.ones((channels, 3, 1, 1), np.float32)}
    model = Model([node("Conv", "x", "w")], weights, {"x": normal(1, 3, 6, 7)})
    build = compiled(model, tmp_path / "build", device="webgl2-min")
    if kind.startswith("--"):
        with pytest.raises(ShadergenError, match=kind) as caught:
            networks_of([build], labels)
        assert caught.value.code == "SG0301"
        assert str(build) in caught.value.render()
        return
    (network,) = networks_of([build], labels)
    assert network["kind"] == kind
    assert network.get("labels", []) == list(labels)


def test_pictures_of_bytes_are_shown_and_of_other_integers_are_refused(tmp_path: Path) -> None:
    for dtype in ("uint8", "int32"):
        compiled(integers(np.dtype(dtype).type, 1, 3, 6, 7), tmp_path / dtype)
    compiled(integers(np.uint8, 1, 3, 6, 7, out=np.uint8), tmp_path / "both")
    assert [n["kind"] for n in networks_of([tmp_path / "uint8", tmp_path / "both"])] == [
        "picture", "picture"
    ]  # fmt: skip
    with pytest.raises(ShadergenError, match="has the shape 1x3x6x7 and the type int32"):
        networks_of([tmp_path / "int32"])


def test_an_output_with_rows_and_columns_exchanged_is_refused(tmp_path: Path) -> None:
    turned = Model([node("Transpose", perm=[0, 1, 3, 2])], {}, {"x": normal(1, 3, 6, 7)})
    build = compiled(turned, tmp_path / "build")
    with pytest.raises(ShadergenError, match="rows and columns exchanged") as caught:
        networks_of([build])
    assert str(build) in caught.value.render()


def test_scores_of_the_whole_picture_are_refused(tmp_path: Path) -> None:
    nodes = [node("Conv", "x", "w", outputs=("h",)), node("GlobalAveragePool", "h")]
    weights = {"w": np.ones((5, 3, 1, 1), np.float32)}
    build = compiled(Model(nodes, weights, {"x": normal(1, 3, 6, 7)}), tmp_path / "build")
    with pytest.raises(ShadergenError, match="the page cannot show") as caught:
        networks_of([build])
    assert "its output 'y' has the shape 1x5x1x1" in caught.value.render()


def test_a_site_is_not_written_over_another_folder(builds: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ShadergenError) as caught:
        write_site(builds, tmp_path)
    assert caught.value.code == "SG0501"
