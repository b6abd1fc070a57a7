"""Serve builds to a browser: the page of examples/web, the web runtime, and the builds.

The server listens on this machine alone. Everything it gives is a file of one of its folders, or
the list of networks.
"""

from __future__ import annotations

import json
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ShadergenError, reason
from ..runtime_glue.python.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "examples" / "web"
RUNTIME = ROOT / "runtime_glue" / "web"
PAGE_FILES = ("index.html", "style.css", "page.js", "sample.js")
NETWORKS = "networks.json"
WEB_GLSL = 300
PICTURE_CHANNELS = (1, 3, 4)
MAP_RANK = 4


class _Handler(SimpleHTTPRequestHandler):
    """Gives files of folders by the first part of the path; other paths lie in the folder ""."""

    def __init__(self, *rest: Any, folders: Mapping[str, Path], **more: Any) -> None:
        self._folders = folders
        super().__init__(*rest, **more)

    def translate_path(self, path: str) -> str:
        name, _, below = path.lstrip("/").partition("/")
        known = name in self._folders
        self.directory = str(self._folders[name if known else ""])
        return super().translate_path(f"/{below}" if known else path)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")  # the next site may have the same port
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing: what goes wrong stands on the page."""


def make_server(folders: Mapping[str, Path], port: int = 0) -> ThreadingHTTPServer:
    """Return a server of folders by their names, on this machine alone.

    Args:
        folders: by the first part of the path; that of "" has all other paths.
        port: 0 for any that is free.

    Raises:
        ShadergenError: SG0301, when the port cannot be had.
    """
    handler = partial(_Handler, folders=folders)
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        raise ShadergenError(
            "SG0301",
            f"--port: {port} cannot be listened on",
            why=reason(error),
            help="give another",
        ) from None


def write_site(builds: Sequence[Path], folder: Path) -> None:
    """Write the page, the web runtime and builds as static files.

    Raises:
        ShadergenError: SG0501, when the folder is there or cannot be written; others as
            :func:`networks_of`.
    """
    if folder.exists():
        raise ShadergenError(
            "SG0501",
            f"'{folder}' exists",
            help="remove it, or choose another folder with -o",
        )
    networks = networks_of(builds)
    try:
        folder.mkdir(parents=True)
        for name in PAGE_FILES:
            shutil.copyfile(PAGE / name, folder / name)
        (folder / "shadergen").mkdir()
        for module in RUNTIME.glob("*.js"):
            shutil.copyfile(module, folder / "shadergen" / module.name)
        for network, build in zip(networks, builds, strict=True):
            shutil.copytree(build, folder / network["url"])
        (folder / NETWORKS).write_text(json.dumps(networks, indent=1), encoding="utf-8")
    except OSError as error:
        raise ShadergenError("SG0501", f"cannot write '{folder}'", why=reason(error)) from None


def networks_of(builds: Sequence[Path]) -> list[dict[str, str]]:
    """Return the page's list of builds: names for people and URLs.

    Raises:
        ShadergenError: SG05xx for what is no build, SG0602 for one that browsers cannot play,
            SG0605 for one that does not make a picture of a picture.
    """
    models = []
    for folder in builds:
        build = load(folder)
        if build.requires.glsl > WEB_GLSL:
            raise ShadergenError(
                "SG0602",
                f"browsers cannot play '{folder}'",
                why=f"its shaders are GLSL ES {build.requires.glsl}, WebGL 2 has {WEB_GLSL}",
                help="compile the model with --device webgl2-min",
            )
        for kind, ports in (("input", build.inputs), ("output", build.outputs)):
            if len(ports) != 1 or not _is_picture(ports[0]):
                shapes = ", ".join("x".join(map(str, port.shape)) for port in ports)
                raise ShadergenError(
                    "SG0605",
                    f"'{folder}' does not make one picture of one picture",
                    why=f"{kind} of {shapes}",
                    supported="1, 3 or 4 channels, one picture at a time",
                )
        models.append(build.model)
    names = _names(models, [folder.resolve() for folder in builds])
    return [{"name": name, "url": f"builds/{i}"} for i, name in enumerate(names)]


def _names(models: Sequence[str], folders: Sequence[Path]) -> Iterator[str]:
    """Yield models' names; of several builds of one model with what of their folders differs."""
    for model, folder in zip(models, folders, strict=True):
        above = [f.parent.parts for m, f in zip(models, folders, strict=True) if m == model]
        shared = takewhile(lambda level: len(set(level)) == 1, zip(*above, strict=False))
        own = "/".join(folder.parts[len(list(shared)) :])
        yield f"{model} ({own})" if len(above) > 1 else model


def _is_picture(port: Any) -> bool:
    if len(port.shape) != MAP_RANK:
        return False
    batch, channels, *_ = (port.shape[port.axes.index(axis)] for axis in range(MAP_RANK))
    return batch == 1 and channels in PICTURE_CHANNELS
