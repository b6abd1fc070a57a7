"""The server of ``shadergen serve``, asked as browsers, other sites and attackers ask."""

from __future__ import annotations

import os
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from shadergen.compiler.site_server import make_server
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = b"<!doctype html>"


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    site = tmp_path / "site"
    (site / "builds" / "0").mkdir(parents=True)
    (site / "index.html").write_bytes(PAGE)
    (site / "page.js").write_text("1;")
    (site / "builds" / "0" / "weights.bin").write_bytes(bytes(70_000))
    (tmp_path / "secret").write_text("secret")
    (site / "secret").symlink_to(tmp_path / "secret")
    (site / "folder").symlink_to(tmp_path)
    with make_server(site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (site / "later.txt").write_text("later")
        yield server.server_port
        server.shutdown()


def answer(port: int, request: bytes) -> bytes:
    """Send bytes; return what comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def asked(port: int, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes; return the status, the headers and the body of the answer."""
    head, _, body = answer(port, request).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


def get(port: int, path: str, host: str = "localhost", method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST"])
def test_files_of_the_site_are_given(port: int, host: str) -> None:
    status, headers, body = asked(port, get(port, "/", host))
    assert (status, body) == (200, PAGE)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "Python" not in headers["Server"]
    status, headers, body = asked(port, get(port, "/page.js?again", host))
    assert (status, body) == (200, b"1;")
    assert headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert asked(port, get(port, "/builds/0/weights.bin", host))[2] == bytes(70_000)


def test_a_head_is_answered_without_a_body(port: int) -> None:
    status, headers, body = asked(port, get(port, "/builds/0/weights.bin", method="HEAD"))
    assert (status, headers["Content-Length"], body) == (200, "70000", b"")


@pytest.mark.parametrize(
    "path",
    [
        "/secret",
        "/folder/secret",
        "/../secret",
        "/%2e%2e/secret",
        "/builds/../../secret",
        "//etc/passwd",
        "/etc/passwd",
        "/later.txt",
        "/builds",
        "/builds/",
        "/builds/0/",
        "/index.html/",
        "/%00",
        "/%",
        "/%zz",
        "/\\..\\secret",
        "http://localhost/index.html",
        "*",
        "/" + "a" * 60_000,
    ],
    ids=lambda path: path[:30],
)
def test_anything_else_is_not_found(port: int, path: str, capfd: pytest.CaptureFixture) -> None:
    status, headers, body = asked(port, get(port, path))
    assert status == 404
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert b"secret" not in body
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        ["evil.example:{port}"],
        ["localhost"],
        ["localhost:1"],
        ["localhost:{port}.evil.example"],
        ["localhost:{port}@evil.example"],
        ["localhost:{port}", "evil.example:{port}"],
        ["0.0.0.0:{port}"],
    ],
    ids=", ".join,
)
def test_other_hosts_get_nothing(port: int, hosts: list[str]) -> None:
    lines = "".join(f"Host: {host.format(port=port)}\r\n" for host in hosts)
    status, _, body = asked(port, f"GET / HTTP/1.1\r\n{lines}\r\n".encode())
    assert status == 404
    assert PAGE not in body


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (b"GET\r\n\r\n", 400),
        (b"\x00\xff\r\n\r\n", 400),
        (b"GET / HTTP/x\r\n\r\n", 400),
        (b"GET /" + b"a" * 65_600 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\na: " + b"b" * 65_600 + b"\r\n\r\n", 431),
        (b"POST / HTTP/1.1\r\n\r\n", 405),
        (b"OPTIONS / HTTP/1.1\r\n\r\n", 405),
        (b"__init__ / HTTP/1.1\r\n\r\n", 405),
    ],
    ids=lambda value: str(value)[:24],
)
def test_malformed_requests_are_refused_without_a_traceback(
    port: int, request_bytes: bytes, expected: int, capfd: pytest.CaptureFixture
) -> None:
    assert f"Error code: {expected}".encode() in answer(port, request_bytes)
    assert asked(port, get(port, "/"))[0] == 200
    assert capfd.readouterr().err == ""


def test_a_browser_that_goes_away_is_no_error(port: int, capfd: pytest.CaptureFixture) -> None:
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            reset = b"\1\0\0\0\0\0\0\0"  # close at once, with what was not read thrown away
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            connection.sendall(get(port, "/builds/0/weights.bin"))
    assert asked(port, get(port, "/"))[0] == 200
    assert capfd.readouterr().err == ""


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with make_server(tmp_path) as server, pytest.raises(ShadergenError) as caught:
        make_server(tmp_path, server.server_port)
    assert caught.value.code == "SG0301"


def test_a_request_for_another_host_is_told_which_address_is_answered(port: int) -> None:
    request = f"GET / HTTP/1.1\r\nHost: localhost:{port + 1}\r\n\r\n".encode()
    status, _, body = asked(port, request)
    said = f"This server accepts requests for http://localhost:{port}/ only."
    assert status == 404
    assert said in body.decode()
    assert b"accepts requests" not in asked(port, get(port, "/missing"))[2]


def test_a_user_shader_is_refused_and_the_command_that_runs_it_is_named(shadergen, tmp_path):
    shader = tmp_path / "net.glsl"
    shader.write_text("//!HOOK LUMA\n//!BIND HOOKED\nvec4 hook() { return vec4(0); }\n")
    refused = shadergen("serve", shader, "-o", tmp_path / "site")
    assert refused.code == 2
    assert refused.err.startswith(f"error[SG0301]: '{shader}' is a user shader, not a build")
    assert f"shadergen run {shader} photo.png" in refused.err
    assert not (tmp_path / "site").exists()


def test_a_pipe_in_place_of_a_build_is_not_waited_for(shadergen, tmp_path):
    pipe = tmp_path / "net.glsl"
    os.mkfifo(pipe)
    refused = shadergen("serve", pipe, "-o", tmp_path / "site")
    assert (refused.code, refused.err[:14]) == (2, "error[SG0502]:")


def test_a_folder_around_a_build_is_refused_and_the_build_is_suggested(shadergen, tmp_path):
    (tmp_path / "page" / "build").mkdir(parents=True)
    (tmp_path / "page" / "build" / "schedule.json").write_text("{}")
    refused = shadergen("serve", tmp_path / "page", "-o", tmp_path / "site")
    assert refused.err.startswith(f"error[SG0502]: there is no build in '{tmp_path / 'page'}'")
    assert f"did you mean '{tmp_path / 'page' / 'build'}'?" in refused.err
    nothing = shadergen("serve", tmp_path / "absent", "-o", tmp_path / "site")
    assert "did you mean" not in nothing.err
