"""A view as one HTML page, or as a folder of PNGs."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...backends.replacing import check_own_file, replace_own_file
from ...errors import count, few
from ...number_texts import short_text
from ..html_pages import script_hash, templates
from ..own_folders import OwnFolder, png_names

if TYPE_CHECKING:
    from pathlib import Path

    from .content import Shown, View

MADE = b'<meta name="generator" content="shadergen view '  # in files from shadergen
HELP = "name a file or a folder with -o, for example -o view.html"
FOLDER_HELP = "name another folder with -o, or a page: -o view.html"
WIDTH, HEIGHT = 1000, 480  # pixels that a sheet is enlarged to at most, by a whole factor
MOST_ZOOM = 16
LEAST = 12  # pixels of a sheet's height: a row of numbers is stretched


def is_page(output: Path) -> bool:
    """Whether a page is to be written, and not a folder."""
    return output.suffix.lower() in (".html", ".htm")


def check_output(output: Path) -> None:
    """Refuse to write over a file that is not an earlier page, or over a folder of other files.

    Raises:
        ShadergenError: SG0501.
    """
    if is_page(output):
        check_own_file(output, MADE, "view", HELP)
    else:
        _folder(output).check()


def write_view(view: View, output: Path) -> None:
    """Write a page, or PNGs with their figures in ``layers.json``.

    Raises:
        ShadergenError: SG0501.
    """
    if is_page(output):
        replace_own_file(output, html(view), MADE, "view", HELP)
        return
    names = png_names([t.name for t in view.tensors])
    pairs = list(zip(names, view.tensors, strict=True))
    data = {
        "model": view.title,
        "input": view.source,
        "scale": view.scale,
        "tensors": [{"file": name} | _figures(t) for name, t in pairs],
    }
    _folder(output).replace({name: t.png for name, t in pairs}, data)


def _folder(output: Path) -> OwnFolder:
    return OwnFolder(output, "shadergen view", "layers.json", FOLDER_HELP)


def _figures(t: Shown) -> dict[str, Any]:
    names = ("name", "layers", "kernels", "passes", "shape", "low", "high", "mean", "not_finite")
    more = ("constant", "ranges", "map_size", "averaged", "columns")
    return {name: getattr(t, name) for name in (*names, *more)}


def html(view: View) -> str:
    """Return a view as one HTML page."""
    script = templates().get_template("view.js.j2").render()
    scale = "of each channel" if view.scale == "channel" else "of the whole layer"
    return (
        templates()
        .get_template("view.html.j2")
        .render(
            version=__version__,
            script=script,
            script_hash=script_hash(script),
            title=view.title,
            facts=[
                ("input", view.source or "random numbers"),
                ("GPU passes", str(view.passes)),
                ("renderer", view.renderer),
                ("range of colours", scale),
            ],
            tensors=[_entry(t) for t in view.tensors],
        )
    )


def _entry(t: Shown) -> dict[str, Any]:
    """Return what the template needs of a tensor."""
    kernels = ", ".join(t.kernels)
    what = f"{kernels}, {_passes(t.passes)}" if t.passes else "input"
    mean = f"mean {short_text(t.mean)}"
    about = f"{what}; {'x'.join(map(str, t.shape))}; {_range(t)}, {mean}"
    height, width = t.size
    zoom = max(1, min(MOST_ZOOM, WIDTH // width, HEIGHT // height))
    return {
        "title": ", ".join(t.layers) or t.name,
        "names": " ".join((*t.layers, t.name)),
        "about": about + f"; texture '{t.name}'" * (t.name not in t.layers),
        "notes": _notes(t),
        "alt": f"{count(len(t.ranges), 'map')} of {t.map_size[0]}x{t.map_size[1]}",
        "columns": t.columns,
        "map_size": t.map_size,
        "averaged": t.averaged,
        "size": t.size,
        "width": width * zoom,
        "height": max(LEAST, height * zoom),
        "ranges": json.dumps([[float(f"{x:.6g}") for x in pair] for pair in t.ranges]),
        "png": b64encode(t.png).decode(),
        "picture": b64encode(t.picture).decode(),
    }


def _passes(positions: tuple[int, ...]) -> str:
    if len(positions) == 1:
        return f"GPU pass {positions[0]}"
    return f"GPU passes {positions[0]} to {positions[-1]}"


def _range(t: Shown) -> str:
    if t.low == t.high:
        return f"only {short_text(t.low)}"
    return f"{short_text(t.low)} to {short_text(t.high)}"


def _notes(t: Shown) -> list[str]:
    notes = []
    if t.not_finite:
        notes.append(f"{t.not_finite:,} numbers are infinite or NaN")
    if t.constant:
        channels = few(list(map(str, t.constant)))
        notes.append(f"{count(len(t.constant), 'constant map')}: {channels}")
    if t.averaged > 1:
        notes.append(f"a pixel is the mean of {t.averaged}x{t.averaged} numbers")
    return notes
