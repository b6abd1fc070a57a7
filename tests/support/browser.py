"""A real headless Chromium for tests, on pages served from this machine alone."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SCREENSHOTS = ROOT / ".build" / "screenshots"
INSECURE = "insecure.test"  # a name of this machine that browsers do not hold to be secure
ARGUMENTS = (
    f"--host-resolver-rules=MAP {INSECURE} 127.0.0.1",
    "--headless=new",
    "--ignore-gpu-blocklist",
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)
# With these arguments, SwiftShader's WebGPU shows canvases and reads videos, beside WebGL 2.
# Without them, the GPU process of Chromium ends when it does.
VULKAN = ("swiftshader", "--use-vulkan=swiftshader", "--enable-features=Vulkan")


class _Folders(SimpleHTTPRequestHandler):
    """Gives files of folders by the first part of the path; other paths lie in the folder ""."""

    def __init__(self, *rest: Any, folders: Mapping[str, Path]) -> None:
        self._folders = folders
        super().__init__(*rest)

    def translate_path(self, path: str) -> str:
        name, _, below = path.lstrip("/").partition("/")
        known = name in self._folders
        self.directory = str(self._folders[name if known else ""])
        return super().translate_path(f"/{below}" if known else path)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")  # tests change files
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def served(**folders: Path) -> Iterator[str]:
    """Serve folders by their names, and tests/runtimes/web as the root; give the address."""
    root = {"": ROOT / "tests" / "runtimes" / "web", **folders}
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Folders, folders=root))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def chromium(angle: str = "swiftshader", *more: str) -> Iterator[Any]:
    """Start the system's Chromium, whose WebGL and WebGPU are SwiftShader, or skip without one."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = which("chromium") or which("chromium-browser") or which("google-chrome")
    if path is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as runner:
        browser = runner.chromium.launch(
            executable_path=path, args=[*ARGUMENTS, f"--use-angle={angle}", *more]
        )
        try:
            yield browser
        finally:
            browser.close()


def write_video(path: Path, colours: Sequence[int | tuple[int, int, int]]) -> Path:
    """Write a video of ten frames a second and 64x48 pixels, each frame of one grey or colour."""
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as video:
        stream = video.add_stream("libvpx", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for colour in colours:
            pixels = np.full((48, 64, 3), colour, np.uint8)
            video.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, "rgb24")))
        video.mux(stream.encode())
    return path
