"""The viewer and the comparison when a person chooses again before the first choice is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from support.browser import chromium, served
from support.onnx_models import node
from support.runtime_models import Model
from support.web_pages import compiled, result, scaled, shown

from shadergen.compiler.serving import write_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.gl
DARK, BRIGHT, WHOLE = "builds/0", "builds/1", "builds/2"
GREY = 100  # of the pictures given: DARK makes it 50, BRIGHT 200
# Holds files back before they are decoded, and webcams before they start, until the page is told.
HELD = """globalThis.held = new Map();
const isHeld = (name) => new Promise((go) => held.set(name, go));
const decode = createImageBitmap;
globalThis.createImageBitmap = async (thing, ...rest) => {
  if (thing.name?.startsWith("slow")) await isHeld(thing.name);
  return decode(thing, ...rest);
};
const start = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (...rest) => {
  const stream = await start(...rest);
  globalThis.track = stream.getTracks()[0];
  await isHeld("webcam");
  return stream;
};"""


class Door:
    """Holds back the requests of a page that match, until it is opened."""

    def __init__(self, page: Any, pattern: str) -> None:
        self.page = page
        self.is_open = False
        self.waiting: list[Any] = []
        page.route(pattern, lambda route: self.take(route))

    def take(self, route: Any) -> None:
        if self.is_open:
            route.continue_()
        else:
            self.waiting.append(route)

    def wait(self) -> None:
        """Wait for the first request."""
        for _ in range(1200):
            if self.waiting:
                return
            self.page.wait_for_timeout(25)
        raise TimeoutError

    def open(self) -> None:
        self.is_open = True
        for route in self.waiting:
            route.continue_()


def whole() -> Model:
    """Return a network that sees the whole picture and enlarges it: no tiles, nothing smaller."""
    nodes = [
        node("GlobalAveragePool", outputs=("m",)),
        node("Mul", "x", "m", outputs=("s",)),
        node("Conv", "s", "w", outputs=("h",)),
        node("DepthToSpace", "h", blocksize=2),
    ]
    weights = np.full((12, 3, 1, 1), 1 / 3, np.float32)
    return Model(nodes, {"w": weights}, {"x": np.zeros((1, 3, 48, 64), np.float32)})


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("choices")
    sizes = (1, 3, 360, 640)  # of the sample: it is run at once
    models = {"dark": scaled(*sizes), "bright": scaled(*sizes), "whole": whole()}
    models["bright"].weights["half"] = np.array(2, np.float32)
    builds = [
        compiled(model, folder / name, device="swiftshader") for name, model in models.items()
    ]
    write_site(builds, folder / "site")
    with served(site=folder / "site") as address:
        yield f"{address}/site/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.set_default_timeout(60_000)
    page.add_init_script(HELD)
    yield page
    page.close()


def picture(path: Path, width: int, height: int = 48) -> Path:
    Image.new("RGB", (width, height), (GREY, GREY, GREY)).save(path)
    return path


def give(page: Any, path: Path) -> None:
    """Give the page a file; what it shows until then does not count."""
    page.evaluate("delete document.body.dataset.shown")
    page.set_input_files("#file", path)


def is_shown(page: Any, url: str, width: int, height: int = 48) -> None:
    """Wait for a picture of a size to be shown through a network; check the pixels."""
    page.locator("#size", has_text=f"{width} × {height} →").wait_for()
    shown(page, url)
    expected = {DARK: GREY // 2, BRIGHT: GREY * 2}[url]
    found = result(page)
    assert found.shape == (height, width, 4)
    assert np.abs(found[..., :3].astype(int) - expected).max() <= 1
    assert page.is_hidden("#message")
    assert page.is_hidden("#progress")


def go_on(page: Any, name: str) -> None:
    """Let what is held back go on, and give the page time to show it if it would."""
    for _ in range(1200):
        if page.evaluate("(name) => held.has(name)", name):
            break
        page.wait_for_timeout(25)
    page.evaluate("(name) => held.get(name)()", name)
    page.wait_for_timeout(200)


def test_a_picture_given_before_the_first_network_is_open_is_shown(
    page: Any, address: str, tmp_path: Path
) -> None:
    door = Door(page, f"**/{DARK}/schedule.json")
    page.goto(address)
    door.wait()
    give(page, picture(tmp_path / "given.png", 90))
    page.wait_for_timeout(200)  # decoded, and shown without a result
    assert result(page, ".before").shape == (48, 90, 4)
    door.open()
    is_shown(page, DARK, 90)


def test_a_picture_given_while_a_network_opens_is_shown_through_this_network(
    page: Any, address: str, tmp_path: Path
) -> None:
    page.goto(address)
    shown(page, DARK)
    door = Door(page, f"**/{BRIGHT}/schedule.json")
    page.select_option("#network", BRIGHT)
    door.wait()
    give(page, picture(tmp_path / "given.png", 90))
    page.wait_for_timeout(200)
    assert page.get_attribute("body", "data-shown") is None  # no result yet
    assert page.inner_text("#size") == "–"
    door.open()
    is_shown(page, BRIGHT, 90)


def test_a_network_chosen_while_a_picture_is_decoded_is_the_one_shown(
    page: Any, address: str, tmp_path: Path
) -> None:
    page.goto(address)
    shown(page, DARK)
    give(page, picture(tmp_path / "slow.png", 90))
    door = Door(page, f"**/{BRIGHT}/schedule.json")
    page.select_option("#network", BRIGHT)
    door.wait()
    go_on(page, "slow.png")
    door.open()
    is_shown(page, BRIGHT, 90)


def test_what_a_network_refuses_is_said_however_quickly_it_was_chosen(
    page: Any, address: str, tmp_path: Path
) -> None:
    page.goto(address)
    shown(page, DARK)
    give(page, picture(tmp_path / "slow.png", 180, 132))
    door = Door(page, f"**/{WHOLE}/schedule.json")
    page.select_option("#network", WHOLE)
    door.wait()
    go_on(page, "slow.png")
    door.open()
    page.locator("#message", has_text="the build takes width: 64, height: 48").wait_for()
    give(page, picture(tmp_path / "small.png", 64))
    page.locator("#size", has_text="64 × 48 → 128 × 96").wait_for()
    assert page.is_hidden("#message")


def test_of_two_networks_the_last_one_chosen_is_shown(page: Any, address: str) -> None:
    page.goto(address)
    shown(page, DARK)
    door = Door(page, f"**/{WHOLE}/schedule.json")
    page.select_option("#network", WHOLE)
    door.wait()
    page.select_option("#network", BRIGHT)
    shown(page, BRIGHT)
    door.open()
    page.wait_for_timeout(300)
    assert page.get_attribute("body", "data-shown") == BRIGHT
    assert page.inner_text("#size") == "640 × 360 → 640 × 360"
    assert page.is_hidden("#message")


def test_of_two_pictures_the_last_one_given_is_shown(
    page: Any, address: str, tmp_path: Path
) -> None:
    page.goto(address)
    shown(page, DARK)
    give(page, picture(tmp_path / "slow.png", 70))
    give(page, picture(tmp_path / "given.png", 90))
    is_shown(page, DARK, 90)
    go_on(page, "slow.png")
    is_shown(page, DARK, 90)


def test_an_earlier_file_that_is_no_picture_says_nothing(
    page: Any, address: str, tmp_path: Path
) -> None:
    (tmp_path / "slow.txt").write_text("nothing to see")
    page.goto(address)
    shown(page, DARK)
    give(page, tmp_path / "slow.txt")
    give(page, picture(tmp_path / "given.png", 90))
    is_shown(page, DARK, 90)
    go_on(page, "slow.txt")
    is_shown(page, DARK, 90)


def test_a_webcam_that_starts_after_a_picture_was_given_is_turned_off(
    page: Any, address: str, tmp_path: Path
) -> None:
    page.goto(address)
    shown(page, DARK)
    page.click("#webcam")
    give(page, picture(tmp_path / "given.png", 90))
    is_shown(page, DARK, 90)
    go_on(page, "webcam")
    assert page.evaluate("track.readyState") == "ended"
    assert page.get_attribute("#webcam", "aria-pressed") == "false"
    is_shown(page, DARK, 90)


def test_a_network_that_could_not_be_loaded_is_loaded_for_the_next_picture(
    page: Any, address: str, tmp_path: Path
) -> None:
    page.goto(address)
    shown(page, DARK)
    page.route(f"**/{BRIGHT}/schedule.json", lambda route: route.abort())
    page.select_option("#network", BRIGHT)
    page.wait_for_selector("#message:not([hidden])")
    give(page, picture(tmp_path / "given.png", 80))
    page.wait_for_timeout(200)
    page.wait_for_selector("#message:not([hidden])")  # it is said again, and nothing else is shown
    assert page.inner_text("#size") == "–"
    page.unroute(f"**/{BRIGHT}/schedule.json")
    give(page, picture(tmp_path / "other.png", 90))
    is_shown(page, BRIGHT, 90)


def test_noise_is_added_to_pictures_until_it_is_switched_off(
    page: Any, address: str, tmp_path: Path
) -> None:
    page.goto(address)
    shown(page, DARK)

    def deviation(selector: str) -> float:
        return float(result(page, selector)[..., :3].std())

    for width in (90, 80):  # the second picture is given while noise is on
        give(page, picture(tmp_path / "given.png", width))
        if width == 90:
            is_shown(page, DARK, width)
            page.evaluate("delete document.body.dataset.shown")
            page.click("#noise")
        page.locator("#size", has_text=f"{width} × 48 →").wait_for()
        shown(page, DARK)
        assert deviation(".before") == pytest.approx(15, rel=0.1)
        assert deviation(".after") == pytest.approx(7.5, rel=0.1)
        assert page.get_attribute("#noise", "aria-pressed") == "true"
    clear = tmp_path / "clear.png"
    Image.new("RGBA", (70, 48), (GREY, GREY, GREY, 0)).save(clear)
    give(page, clear)
    page.locator("#size", has_text="70 × 48 →").wait_for()
    shown(page, DARK)
    assert not result(page)[..., 3].any()  # noise leaves alpha alone
    give(page, tmp_path / "given.png")
    page.locator("#size", has_text="80 × 48 →").wait_for()
    shown(page, DARK)  # else its end would be taken for that of what follows
    page.evaluate("delete document.body.dataset.shown")
    page.click("#noise")
    is_shown(page, DARK, 80)
    assert deviation(".before") == 0


def test_the_comparison_shows_a_picture_given_while_it_opens_a_network(
    page: Any, address: str, tmp_path: Path
) -> None:
    door = Door(page, f"**/{DARK}/schedule.json")
    page.goto(f"{address}compare.html?network={DARK}")
    door.wait()
    give(page, picture(tmp_path / "given.png", 90))
    page.wait_for_timeout(200)
    door.open()
    page.locator("#size", has_text="90 × 48 → 90 × 48").wait_for()
    shown(page, DARK)
