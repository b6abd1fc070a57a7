"""A real headless Chromium for tests, on pages served from this machine alone."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import pytest

from shadergen.compiler.serving import make_server

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
SCREENSHOTS = ROOT / ".build" / "screenshots"
INSECURE = "insecure.test"  # a name of this machine that browsers do not hold to be secure
ARGUMENTS = (
    f"--host-resolver-rules=MAP {INSECURE} 127.0.0.1",
    "--headless=new",
    "--ignore-gpu-blocklist",
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)


@contextmanager
def served(**folders: Path) -> Iterator[str]:
    """Serve folders by their names, and tests/web as the root; give the address."""
    server = make_server({"": ROOT / "tests" / "web", **folders})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def chromium(angle: str = "swiftshader") -> Iterator[Any]:
    """Start the system's Chromium, whose WebGL is ANGLE on SwiftShader, or skip without one."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = which("chromium") or which("chromium-browser") or which("google-chrome")
    if path is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as player:
        browser = player.chromium.launch(
            executable_path=path, args=[*ARGUMENTS, f"--use-angle={angle}"]
        )
        try:
            yield browser
        finally:
            browser.close()
