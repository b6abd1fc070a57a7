"""A real headless Chromium for tests, on pages served from this machine alone."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[1]
SCREENSHOTS = ROOT / ".build" / "screenshots"
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)


class Handler(SimpleHTTPRequestHandler):
    """Serves folders, each below a name of its own, and an empty page as the root."""

    def __init__(self, *rest: Any, folders: Mapping[str, Path], **more: Any) -> None:
        self._folders = folders
        super().__init__(*rest, **more)

    def translate_path(self, path: str) -> str:
        name, _, below = path.partition("?")[0].strip("/").partition("/")
        folder = self._folders.get(name)
        return str(folder / below) if folder else str(ROOT / "tests" / "web" / "empty.html")

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(**folders: Path) -> Iterator[str]:
    """Serve folders by their names; give the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, folders=folders))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the system's Chromium, or skip where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = which("chromium") or which("chromium-browser") or which("google-chrome")
    if path is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
