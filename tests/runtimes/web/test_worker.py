"""The web runtime in a worker of a real Chromium: the page and worker of the manual."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from support.browser import ROOT, SCREENSHOTS, VULKAN, chromium, served
from support.picture_builds import BUILDS, HEIGHT, PIXELS, WIDTH, picture
from support.runtime_builds import FRAGMENT, RuntimeBuild

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(*VULKAN) as browser:
        yield browser


def files_of_the_manual(folder: Path) -> None:
    manual = (ROOT / "docs" / "embedding.md").read_text()
    section = manual[manual.index("### In a worker") :]
    for name, language in (("index.html", "html"), ("worker.js", "js")):
        code = section.partition(f"```{language}\n")[2].partition("```")[0]
        (folder / name).write_text(code)
    (folder / "web").symlink_to(ROOT / "runtime_glue" / "web")


@pytest.mark.parametrize("device", ["webgpu", "webgl2-min"])
def test_the_worker_of_the_manual_draws_and_answers(
    browser: Any, tmp_path: Path, device: str
) -> None:
    files_of_the_manual(tmp_path)
    model = BUILDS["rgb"][0]
    options = {"device": "webgpu"} if device == "webgpu" else FRAGMENT
    RuntimeBuild("rgb", model, options).write(tmp_path / "rgb")
    shutil.move(tmp_path / "rgb" / "build", tmp_path / "build")
    picture().save(tmp_path / "photo.png")
    with served(site=tmp_path) as address:
        page = browser.new_page()
        try:
            with page.expect_console_message(lambda m: m.type == "log", timeout=20_000) as message:
                page.goto(f"{address}/site/index.html")
            answer: list[float] = message.value.args[0].json_value()
            page.wait_for_timeout(500)  # the canvas is shown in a later frame
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            path = SCREENSHOTS / f"worker-{device}.png"
            page.locator(f'#result[width="{WIDTH}"]').screenshot(path=path)
        finally:
            page.close()
    expected = PIXELS[..., :3].transpose(2, 0, 1).ravel() / 510
    np.testing.assert_allclose(answer, expected, atol=1e-6)
    seen = np.asarray(Image.open(path).convert("RGB"))
    assert seen.shape == (HEIGHT, WIDTH, 3)
    assert np.abs(seen - PIXELS[..., :3] / 2).max() <= 1
