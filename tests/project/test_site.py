"""The documentation as a site: it builds without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT
from support.browser import SCREENSHOTS, chromium, served

import shadergen

sys.path.insert(0, str(ROOT / "tools"))
import make_drawings

# What a page loads at once, by tag and attribute; links to follow are no part of this.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=[\"']?([^\"' >]+)"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|icon|preload|preconnect|modulepreload))"
    r"[^>]*\bhref=[\"']?([^\"' >]+)"
)
IN_CSS = re.compile(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')\s]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly, as ``make docs`` does."""
    pytest.importorskip("material", reason="pip install '.[docs]'")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "WARNING" not in ran.stderr, ran.stderr
    return folder


@pytest.mark.slow
def test_no_page_loads_anything_from_another_server(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        for found in LOADED.findall(page.read_text("utf-8")):
            address = "".join(found)
            assert not re.match(r"(https?:)?//", address), f"{page.name} loads {address}"
    for sheet in site.rglob("*.css"):
        assert not IN_CSS.findall(sheet.read_text("utf-8")), sheet


@pytest.mark.slow
def test_a_browser_asks_no_other_server(site: Path) -> None:
    asked: list[str] = []
    with served(site=site) as address, chromium() as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index.html", "cli.html", "architecture.html", "reference/python.html"):
            page.goto(f"{address}/site/{name}", wait_until="load")
            page.wait_for_timeout(300)
    own = (address, "data:", "blob:")
    assert len(asked) > 4
    others = [url for url in asked if not url.startswith(own)]
    assert not others


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", "comparison", "tutorials/web", "embedding"])
def test_axe_finds_nothing_and_nothing_is_too_wide(site: Path, name: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with served(site=site) as address, chromium() as browser:
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme)
            page.goto(f"{address}/site/{name}.html", wait_until="load")
            for width in (1440, 768, 390):
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                SCREENSHOTS.mkdir(parents=True, exist_ok=True)
                file = f"docs-{name.replace('/', '-')}-{width}-{scheme}.png"
                page.screenshot(path=SCREENSHOTS / file)
                found = axe.Axe().run(page)
                assert not found.response["violations"], found.generate_report()


@pytest.mark.slow
def test_generated_pages_hold_what_they_describe(site: Path) -> None:
    texts = {p.stem: p.read_text("utf-8") for p in (site / "reference").glob("*.html")}
    assert "PixelShuffle" in texts["operators"]
    assert "bind_output_framebuffer" in texts["cpp"]
    assert "bindOutput" in texts["javascript"]
    assert 'id="texture"' in texts["schema"]
    for name in ("compile_model", "Runner", "ShadergenError"):
        assert re.search(rf'id="shadergen\.[\w.]*{name}"', texts["python"]), name


def test_drawings_are_up_to_date() -> None:
    for name, draw in make_drawings.DRAWINGS.items():
        drawn = (make_drawings.FOLDER / f"{name}.svg").read_text("utf-8")
        assert drawn == draw().svg(), "run: python tools/make_drawings.py"


def test_the_packages_have_one_version() -> None:
    web = json.loads((ROOT / "runtime_glue" / "web" / "package.json").read_text("utf-8"))
    assert web["version"] == shadergen.__version__
    assert f"\n## {shadergen.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
