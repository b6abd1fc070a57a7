"""The page of ``report`` in a browser: without errors or requests, by keyboard, at all widths."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from support import ESPCN
from support.browser import chromium
from support.cli_models import SIZE

pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def opened(browser, shadergen, tmp_path):
    """Return a context manager that opens the report of the shipped network."""
    ran = shadergen("report", ESPCN, *SIZE, "-o", tmp_path / "report.html")
    assert ran.code == 0, ran.err

    @contextmanager
    def page(width=1440, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        shown, trouble = context.new_page(), []
        shown.on("console", lambda message: trouble.append(message.text))
        shown.on("pageerror", lambda error: trouble.append(str(error)))
        shown.on("request", lambda r: trouble.append(r.url) if "file:" not in r.url else None)
        shown.goto((tmp_path / "report.html").as_uri())
        yield shown
        assert trouble == []
        context.close()

    return page


FOCUS = """() => {
  const e = document.activeElement;
  return e.id || e.dataset.group && `card ${e.dataset.group}` || e.getAttribute("aria-label")
    || e.textContent.trim();
}"""


def chosen(page):
    return page.locator("article.chosen h3").inner_text()


def test_tab_goes_through_the_page_in_reading_order(opened):
    with opened() as page:
        seen = []
        for _ in range(20):
            page.keyboard.press("Tab")
            seen.append(page.evaluate(FOCUS))
        layers = "clamp1a, clamp1b, conv1"
        assert seen == [
            "Skip to the network",
            *("Network", "Memory", "Time", "Decisions", "Passes"),
            *("find", "smaller", "larger", "fit", "gpu", "graph", "card 0"),
            f"Textures and weights of {layers}",
            f"Decisions about {layers}",
            f"GPU passes of {layers}",
            "shaders/00_conv1.frag conv1",
            "Source of shaders/00_conv1.frag",
            "Predicted times",
            "Decisions of the compiler",
        ]


def test_arrow_keys_choose_layers_and_enter_goes_to_one(opened):
    with opened() as page:
        page.locator("#graph").focus()
        for key, title in (
            ("ArrowDown", "clamp2, conv2"),
            ("End", "subpixel"),
            ("ArrowUp", "clamp3, conv3"),
            ("Home", "clamp1a, clamp1b, conv1"),
        ):
            page.keyboard.press(key)
            assert chosen(page) == title
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert page.evaluate(FOCUS) == "group-1-title"
        assert "uniform sampler2DArray u_x" in page.locator("article.chosen pre").first.inner_text()


def test_layers_are_found_by_name(opened):
    with opened() as page:
        page.locator("#find").fill("CONV")
        assert page.locator("#found").inner_text() == "3 of 4"
        assert chosen(page) == "clamp1a, clamp1b, conv1"
        page.keyboard.press("Enter")
        assert chosen(page) == "clamp2, conv2"
        page.locator("#find").fill("subpixel")
        assert chosen(page) == "subpixel"
        page.locator("#find").fill("nothing")
        assert page.locator("#found").inner_text() == "0 of 4"


def test_the_drawing_zooms(opened):
    with opened() as page:
        width = "document.getElementById('drawing').width.baseVal.value"
        before = page.evaluate(width)
        page.locator("#larger").click()
        assert page.evaluate(width) == pytest.approx(1.25 * before, rel=1e-3)
        page.locator("#graph").focus()
        page.keyboard.press("-")
        assert page.evaluate(width) == pytest.approx(before, rel=1e-3)


def test_another_gpu_changes_the_times(opened):
    with opened() as page:
        cell = page.locator("#passes tbody tr:first-child td:last-child")
        texts = cell.get_attribute("data-gpu").split("|")
        assert cell.inner_text() == texts[0]
        page.locator("#gpu").select_option(index=13)
        assert cell.inner_text() == texts[13] != texts[0]


def test_a_pass_in_the_table_leads_to_its_layers(opened):
    with opened() as page:
        page.locator("#passes a", has_text="subpixel").click()
        assert chosen(page) == "subpixel"
        assert page.evaluate(FOCUS) == "group-3-title"


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_no_page_is_wider_than_the_window(opened, width):
    with opened(width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_texts_have_contrast_in_light_and_dark(opened):
    for scheme in ("light", "dark"):
        with opened(scheme=scheme) as page:
            for selector in (
                "body",
                "dt",
                "nav a",
                "pre .c",
                "pre .n",
                "pre .t",
                "pre .k",
                "pre .p",
            ):
                assert page.evaluate(CONTRAST, selector) >= 4.5, (scheme, selector)


CONTRAST = """selector => {
  const light = (color) => {
    const [r, g, b] = color.match(/[0-9.]+/g).slice(0, 3).map((v) => {
      const c = v / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const element = document.querySelector(selector);
  const back = (e) => getComputedStyle(e).backgroundColor;
  let behind = element;
  while (back(behind) === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
  const [a, b] = [getComputedStyle(element).color, back(behind)]
    .map(light).sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""
