"""The gallery that ``make gallery`` writes: its list, and its page in a browser."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest
import skimage.data
from PIL import Image
from support import ROOT
from support.browser import SCREENSHOTS, chromium, served
from support.web_pages import result

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")
        return importlib.import_module("make_gallery")


def test_the_list_names_what_there_is(tool: ModuleType) -> None:
    listed = tool.entries()
    assert len({entry.name for entry in listed}) == len(listed)
    for entry in listed:
        assert (ROOT / entry.model).is_file()
        assert entry.photograph in skimage.data.__all__
        assert entry.damage in tool.DAMAGES


def test_every_shipped_network_is_listed(tool: ModuleType) -> None:
    shipped = {p for kind in ("onnx", "h5") for p in (ROOT / "examples").rglob(f"*.{kind}")}
    assert {ROOT / entry.model for entry in tool.entries()} == shipped


def test_pictures_of_the_documents_are_small() -> None:
    pictures = [p for p in (ROOT / "docs" / "gallery").iterdir() if p.suffix == ".jpg"]
    assert pictures
    assert max(p.stat().st_size for p in pictures) < 200_000


def test_figures_show_a_row_in_bold_and_keep_the_others_for_the_rest(tool: ModuleType) -> None:
    entry = next(entry for entry in tool.entries() if entry.name == "upscale")
    table, rest = entry.figures
    assert "<strong>mean</strong>" in table
    assert table.count("<tr>") == 2  # the heading and this row
    assert "<td>astronaut</td>" in rest


def test_figures_without_a_row_in_bold_show_all_rows(tool: ModuleType) -> None:
    entry = next(entry for entry in tool.entries() if entry.name == "espcn")
    table, rest = entry.figures
    assert table.count("<tr>") == 4
    assert "<table>" not in rest
    assert "PSNR" in rest


@pytest.mark.gl
@pytest.mark.slow
def test_a_network_runs_on_the_page_and_axe_finds_nothing(tool: ModuleType, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    entry = next(entry for entry in tool.entries() if entry.name == "espcn")
    tool.write_gallery([entry], tmp_path / "site")
    made = Image.open(tmp_path / "site" / "pictures" / "espcn-after.png")
    with served(site=tmp_path / "site") as address, chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"{address}/site/")
        page.wait_for_selector('#espcn[data-shown="WebGL 2"]')
        assert page.inner_text("#espcn .state").startswith("Ran here in ")
        shown = Image.fromarray(result(page)).convert("RGB")
        assert shown.size == made.size
        differences = [abs(a - b) for a, b in zip(shown.tobytes(), made.tobytes(), strict=True)]
        assert max(differences) <= 2  # the page's result is that of `shadergen run`
        figures = page.locator("#espcn .figures").first
        assert "34.97" in figures.inner_text()
        assert figures.evaluate("e => e.scrollHeight <= e.clientHeight")  # no row is cut
        for width in (1440, 768, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                page.screenshot(path=SCREENSHOTS / f"gallery-{width}-{scheme}.png", full_page=True)
                found = axe.Axe().run(page)
                assert not found.response["violations"], found.generate_report()
