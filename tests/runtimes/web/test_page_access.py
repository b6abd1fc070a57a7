"""Pages by keyboard, for screen readers and at all widths; screenshots in .build/screenshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.browser import SCREENSHOTS, VULKAN, chromium, served
from support.web_pages import compiled, scaled, shown

from shadergen.compiler.serving import write_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

axe = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = pytest.mark.gl
LONG = "a" * 300


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(*VULKAN) as found:
        yield found


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("access")
    dark = compiled(scaled(1, 3, 360, 640), folder / "dark", device="webgl2-min,webgpu")
    write_site([dark], folder / "site")
    with served(site=folder / "site") as found:
        yield f"{found}/site/"


@pytest.fixture(params=["index.html", "compare.html"])
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.goto(address + request.param)
    shown(page)
    page.name = request.param.partition(".")[0]
    yield page
    context.close()


def check(page: Any) -> None:
    """Assert that axe finds nothing, in light and dark, and that nothing is wider than the page."""
    for width in (1440, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=SCREENSHOTS / f"{page.name}-{width}-{scheme}.png", full_page=True)
            found = axe.Axe().run(page)
            assert not found.response["violations"], found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_axe_finds_nothing_and_nothing_is_too_wide(page: Any) -> None:
    check(page)


def test_an_error_of_any_length_keeps_the_layout(page: Any, tmp_path: Path) -> None:
    (tmp_path / f"{LONG[:200]}.png").write_text("no picture")
    page.set_viewport_size({"width": 390, "height": 700})
    page.set_input_files("#file", tmp_path / f"{LONG[:200]}.png")
    page.wait_for_selector("#message:not([hidden])")
    page.evaluate("document.getElementById('message').textContent += `\\n${'long '.repeat(900)}`")
    assert page.locator("#message").bounding_box()["height"] <= 0.4 * 700 + 1
    page.name += "-message"
    check(page)


def test_every_control_is_reached_by_keyboard(page: Any) -> None:
    names, seen = [], []
    for control in page.locator("a, button, select, input, [tabindex='0']").all():
        if control.is_visible() and control.is_enabled():
            names.append(control.evaluate("e => e.id || e.name || e.className"))
    for _ in range(len(names) + 2):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("(e => e.id || e.name || e.className)(document.activeElement)"))
    assert set(names) <= set(seen)


def test_shaders_report_how_many_are_compiled(browser: Any, address: str) -> None:
    page = browser.new_page()
    try:
        page.add_init_script("""globalThis.said = [];
          addEventListener("DOMContentLoaded", () => {
            const doing = document.getElementById("doing");
            const note = () => said.push(doing.textContent);
            new MutationObserver(note).observe(doing, { childList: true });
          });""")
        page.goto(address)
        shown(page)
        said = page.evaluate("said")
        assert any(text.startswith("Loading ") for text in said)
        assert "Compiling shaders: 0 of 1" in said
        assert page.is_hidden("#progress")
    finally:
        page.close()
