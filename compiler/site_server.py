"""The server of ``shadergen serve``: a table of files by URL path, for this machine alone.

``http.server`` reads requests and writes answers. The path of a URL is looked up, and never made
into the path of a file: no folder is listed, no link followed, and ``..`` or ``%2e`` mean nothing.
A page of another site whose name leads to this machine (DNS rebinding) names another host, and gets
nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from ..errors import ShadergenError, reason

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HOSTS = ("localhost", "127.0.0.1")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".vert": "text/plain; charset=utf-8",
    ".frag": "text/plain; charset=utf-8",
    ".wgsl": "text/plain; charset=utf-8",
}
OTHER_TYPE = "application/octet-stream"
HEADERS = {
    "Allow": "GET, HEAD",
    "Cache-Control": "no-cache",  # the next site may have the same port
    # The page's own scripts, styles and files; an icon that is in the page, files a person opens.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data: blob:; media-src blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
HTTP_PORT = 80  # browsers leave it out


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD for the files of a table."""

    server_version, sys_version = "shadergen", ""
    timeout = 60  # seconds, for a request to come whole

    def __init__(self, *rest: Any, files: Mapping[str, Path]) -> None:
        self._files = files
        super().__init__(*rest)

    def do_GET(self) -> None:
        path = self._files.get(self.path.partition("?")[0])
        if not self._is_for_us():
            url = f"http://{HOSTS[0]}:{self.connection.getsockname()[1]}/"
            say = (
                f"This server accepts requests for {url} only. When forwarding ports, use the same "
                "port on both sides."
            )
            self.send_error(HTTPStatus.NOT_FOUND, explain=say)
            return
        if path is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            file = path.open("rb")
        except OSError:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with file:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", TYPES.get(path.suffix, OTHER_TYPE))
            self.send_header("Content-Length", str(os.fstat(file.fileno()).st_size))
            self.end_headers()
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile)

    do_HEAD = do_GET

    def _is_for_us(self) -> bool:
        """Return whether the one host that the request names is this server."""
        port = self.connection.getsockname()[1]
        own = {f"{host}:{port}" for host in HOSTS}
        if port == HTTP_PORT:
            own |= set(HOSTS)
        named = self.headers.get_all("Host", [])
        return len(named) == 1 and named[0].lower() in own

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse; a method that is not implemented is a mistake of the client's."""
        unknown = code == HTTPStatus.NOT_IMPLEMENTED
        super().send_error(HTTPStatus.METHOD_NOT_ALLOWED if unknown else code, message, explain)

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing: what goes wrong stands on the page."""


def make_server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the regular files below a folder, on this machine alone.

    Args:
        folder: what lies there now is served; "/" is its index.html.
        port: 0 for any that is free.

    Raises:
        ShadergenError: SG0301, when the port cannot be had.
    """
    paths = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    files = {f"/{p.relative_to(folder).as_posix()}": p for p in paths}
    files["/"] = folder / "index.html"
    try:
        return _Server(("127.0.0.1", port), partial(_Handler, files=files))
    except (OSError, OverflowError) as error:
        raise ShadergenError(
            "SG0301",
            f"cannot listen on port {port}",
            why=reason(error),
            help="choose another with --port",
        ) from None
