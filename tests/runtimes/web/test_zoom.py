"""The two panes before and after: zoom, movement and the line, by mouse, keys and touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.browser import chromium, served
from support.web_pages import compiled, scaled, shown

from shadergen.compiler.serving import write_site

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("zoom")
    write_site(
        [compiled(scaled(1, 3, 360, 640), folder / "dark", device="swiftshader")], folder / "site"
    )
    with served(site=folder / "site") as address, chromium() as browser:
        context = browser.new_context(viewport={"width": 1000, "height": 800}, has_touch=True)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.goto(f"{address}/site/")
        shown(page)
        yield page


@pytest.fixture
def page(opened: Any) -> Any:
    """Return the page with the whole picture shown and the line in the middle."""
    if opened.get_attribute("button[name=sides]", "aria-pressed") == "true":
        opened.click("button[name=sides]")
    opened.focus(".panes")
    opened.keyboard.press("0")
    return opened


def placed(page: Any) -> tuple[float, float, float]:
    """Return the CSS pixels of a picture's pixel and where its corner is, alike in both panes."""
    script = """(canvas) => {
      const box = canvas.getBoundingClientRect();
      const pane = canvas.parentElement.getBoundingClientRect();
      const found = [box.width / 640, box.left - pane.left, box.top - pane.top];
      return found.map((n) => Math.round(n * 1e4) / 1e4);
    }"""
    before, after = (page.locator(name).evaluate(script) for name in (".before", ".after"))
    assert before == after
    return tuple(before)


def middle(page: Any) -> tuple[float, float]:
    box = page.locator(".panes").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_keys_zoom_to_pixels_and_back(page: Any) -> None:
    whole = placed(page)
    page.keyboard.press("1")
    assert placed(page)[0] == 1  # of a screen with one device pixel for each CSS pixel
    assert page.inner_text("output") == "100 %"
    for _ in range(30):
        page.keyboard.press("+")
    scale, x, _ = placed(page)
    assert (scale, page.inner_text("output")) == (32, "3200 %")
    assert page.locator(".pane canvas.pixels").count() == 2
    page.keyboard.press("ArrowRight")
    assert placed(page)[1] < x
    page.keyboard.press("0")
    assert placed(page) == whole
    assert page.locator(".pane canvas.pixels").count() == 0


def test_the_wheel_keeps_the_pixel_below_the_pointer(page: Any) -> None:
    box = page.locator(".panes").bounding_box()
    at = (box["width"] * 0.7, box["height"] * 0.3)
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    scale, x, y = placed(page)
    before = ((at[0] - x) / scale, (at[1] - y) / scale)
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(100)
    scale, x, y = placed(page)
    assert scale > 1.5
    after = ((at[0] - x) / scale, (at[1] - y) / scale)
    assert after == pytest.approx(before, abs=0.5)  # a pointer is at whole pixels


def test_a_drag_moves_both_pictures_and_never_beyond_their_ends(page: Any) -> None:
    page.keyboard.press("1")
    for _ in range(4):
        page.keyboard.press("+")
    x, y = middle(page)
    _, left, top = placed(page)
    page.mouse.move(x + 200, y)
    page.mouse.down()
    page.mouse.move(x + 170, y + 20)
    page.mouse.up()
    assert placed(page)[1:] == pytest.approx((left - 30, top + 20), abs=0.01)
    page.mouse.move(x + 200, y)
    page.mouse.down()
    page.mouse.move(x + 5000, y + 5000)
    page.mouse.up()
    assert placed(page)[1:] == (0, 0)


def test_keys_move_the_line(page: Any) -> None:
    page.focus(".line")
    page.keyboard.press("Home")
    assert page.get_attribute(".line", "aria-valuenow") == "0"
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute(".line", "aria-valuenow") == "29"
    assert page.get_attribute(".line", "aria-valuetext") == "29 % before"


def test_two_fingers_zoom(page: Any) -> None:
    scale = placed(page)[0]
    x, y = middle(page)
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *distances: float) -> None:
        points = [{"x": x + d, "y": y, "id": i} for i, d in enumerate(distances)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", -40)
    touch("touchStart", -40, 40)
    for step in range(1, 6):
        touch("touchMove", -40 - 8 * step, 40 + 8 * step)
    touch("touchEnd")
    assert placed(page)[0] == pytest.approx(2 * scale, rel=0.05)


def test_side_by_side_shows_the_same_part_in_both_panes(page: Any) -> None:
    page.keyboard.press("s")
    assert page.get_attribute("button[name=sides]", "aria-pressed") == "true"
    assert page.is_hidden(".line")
    boxes = [pane.bounding_box() for pane in page.locator(".pane").all()]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    scale, x, _ = placed(page)
    assert scale == 1
    assert x < 0
