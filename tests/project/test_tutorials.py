"""The tutorials work: every command and program in them runs, and gives what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import ROOT
from support.browser import chromium, served, write_video
from support.cpp_runtime import need
from support.players import filters, require, vulkan_device
from support.tutorials import Tutorial

pytestmark = [pytest.mark.slow, pytest.mark.gl]
TESTED = {"pytorch.md", "renderer.md", "video.md", "web.md"}


def photo(folder: Path, width: int, height: int) -> np.ndarray:
    """Put a photograph into the folder of a tutorial, and return it."""
    images = pytest.importorskip("PIL.Image")
    chelsea = pytest.importorskip("skimage.data").chelsea()
    picture = images.fromarray(chelsea).resize((width, height))
    picture.save(folder / "photo.png")
    return np.asarray(picture)


def test_every_tutorial_is_tested() -> None:
    assert {p.name for p in (ROOT / "docs" / "tutorials").glob("*.md")} == TESTED


def test_from_pytorch_to_shaders(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    photo(tmp_path, 640, 360)
    Tutorial(tmp_path, {"range(150)": "range(3)"}).follow("pytorch.md")
    assert (tmp_path / "denoiser" / "schedule.json").is_file()


def test_a_network_in_your_renderer(tmp_path: Path) -> None:
    need("cmake", "c++", "bash")
    Tutorial(tmp_path).follow("renderer.md")
    scene = pytest.importorskip("PIL.Image").open(tmp_path / "scene_x2.png").convert("RGB")
    pixels = np.asarray(scene).astype(int)
    assert pixels.shape == (360, 640, 3)
    red, green, blue = pixels[5, 5]  # the sky
    assert red < green < blue
    red, green, blue = pixels[355, 5]  # the floor, so the picture is not upside down
    assert red > green > blue
    # Between two bright and dark pixels, interpolation by two has steps of at most half their
    # difference, here 88 of 255; what the network adds is sharper.
    assert np.abs(np.diff(pixels @ (0.299, 0.587, 0.114), axis=1)).max() > 120


def test_a_web_page_with_a_network(tmp_path: Path) -> None:
    Tutorial(tmp_path).follow("web.md")
    photo(tmp_path, 320, 180)
    with served(page=tmp_path / "page") as address, chromium() as browser:
        page = browser.new_page()
        page.goto(f"{address}/page/index.html")
        page.wait_for_function("note.textContent != 'loading'", timeout=120_000)
        assert page.inner_text("#note").startswith("1024x1024 on WebG")
        waits: list[bool] = []  # whether no file can be chosen while the build is fetched

        def fetched(route: Any) -> None:
            waits.append(page.is_disabled("#file"))
            route.continue_()

        page.route("**/build/schedule.json", fetched)
        page.goto(f"{address}/page/any.html")
        page.wait_for_function("note.textContent == 'choose a file'", timeout=120_000)
        assert waits == [True]
        page.dispatch_event("#file", "change")  # without a file, as after a cancelled dialog
        assert page.inner_text("#note") == "choose a file"
        write_video(tmp_path / "small.webm", [(200, 100, 60)] * 10)
        (tmp_path / "broken.webm").write_bytes(b"no video")
        files = {"photo.png": "640x360", "small.webm": "128x96", "broken.webm": ""}
        for chosen, shown in (*files.items(), ("photo.png", "640x360")):
            page.set_input_files("#file", tmp_path / chosen)
            if not shown:
                page.wait_for_function("note.textContent.includes('supported source')")
                continue
            page.wait_for_function(f"note.textContent.startsWith('{shown}')", timeout=120_000)
            page.wait_for_function("before.width == result.width / 2")
            if chosen == "small.webm":  # it plays, though it is hidden
                page.wait_for_function("video.currentTime > 0.2")
        assert page.evaluate("video.paused")
        page.locator("#line").fill("20")
        assert "20%" in page.evaluate("view.style.cssText")


def test_a_network_in_mpv(tmp_path: Path) -> None:
    require("ffmpeg")
    require("mpv")
    if "libplacebo" not in filters():
        pytest.skip("this FFmpeg has no libplacebo filter")
    vulkan_device()
    images = pytest.importorskip("PIL.Image")
    Tutorial(tmp_path).follow("video.md")
    assert images.open(tmp_path / "photo.png").size == (240, 180)
    assert images.open(tmp_path / "photo_x2.png").size == (480, 360)
    assert (tmp_path / "large.mkv").stat().st_size > 0
