"""A site that shows builds in a browser: the pages of examples/web, the web runtime, the builds.

Of a build, only the files that its schedule names are served, and only regular files in its folder:
no other files, and no targets of links.
"""

from __future__ import annotations

import json
import os
import shutil
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backends.build_folder import contents, open_regular
from ..backends.picture_axes import CHANNELS
from ..backends.replacing import prepare, replacing_folder
from ..errors import ShadergenError, reason
from ..runtime_glue.python.loading import load
from .installed import FOLDERS
from .pictures.kinds import network_of
from .pictures.results import check_labels
from .player.outline import refuse_user_shader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jinja2 import Environment

    from ..runtime_glue.python.schedule import Port
    from .pictures.kinds import Kind, Network
    from .runtimes import Build

PAGE, RUNTIME = FOLDERS["samples"], FOLDERS["web"]
HOME = "viewer.html.j2"
PAGES = {"index.html": HOME, "compare.html": "compare.html.j2"}
NETWORKS = "networks.json"
WEB_GLSL = 300
WEBGL, WEBGPU = "WebGL 2", "WebGPU"
MAP_RANK = 4  # N, C, H, W
PICTURE_DTYPES = ("float32", "uint8")  # of which the web runtime takes and draws pictures


def write_site(builds: Sequence[Path], folder: Path, labels: Sequence[str] = ()) -> None:
    """Write the page, the web runtime and builds as static files, all of them or nothing.

    Args:
        builds: the folders of builds.
        folder: the new folder.
        labels: the names of the classes, if given, of every build.

    Raises:
        ShadergenError: SG0501, when the folder is there or cannot be written; SG0505, when a file
            of a build is a link; others as :func:`networks_of`.
    """
    prepare(folder, _check_new)
    networks = networks_of(builds, labels)
    try:
        with replacing_folder(folder, _check_new) as site:
            write_pages(site, PAGES)
            for network, build in zip(networks, builds, strict=True):
                copy_build(build, site / network["url"])
            (site / NETWORKS).write_text(json.dumps(networks, indent=1), encoding="utf-8")
    except OSError as error:
        raise ShadergenError("SG0501", f"cannot write '{folder}'", why=reason(error)) from None


def write_pages(site: Path, pages: Mapping[str, str], **values: Any) -> None:
    """Write pages, the scripts of all pages and the web runtime to a folder.

    Args:
        site: the folder.
        pages: file names of templates, by file names of pages.
        values: what the templates need.

    Raises:
        OSError: when a file cannot be written.
    """
    home = next(page for page, template in pages.items() if template == HOME)
    for name, template in pages.items():
        page = _templates().get_template(template).render(home=home, **values)
        (site / name).write_text(page, encoding="utf-8")
    for source in (*PAGE.glob("*.js"), *PAGE.glob("*.css")):
        shutil.copyfile(source, site / source.name)
    for module in RUNTIME.rglob("*.js"):
        target = site / "shadergen" / module.relative_to(RUNTIME)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, target)


def _templates() -> Environment:
    """Return the environment of the pages' templates, which share one layout."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(PAGE),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
    )


def _check_new(folder: Path) -> None:
    if os.path.lexists(folder):
        raise ShadergenError(
            "SG0501",
            f"'{folder}' exists",
            help="remove it, or choose another folder with -o",
        )


def copy_build(build: Path, target: Path) -> None:
    """Copy the files that a build's schedule names.

    Raises:
        ShadergenError: SG0505, when one is not a regular file of the folder.
    """
    found = contents(build)
    if found.missing:
        raise ShadergenError(
            "SG0505",
            f"'{found.missing[0]}' is not a regular file",
            where=str(build),
            why="links are not served",
            help="copy the file itself into the build's folder, or compile the model again",
        )
    for path in found.files:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        with open_regular(build / path) as source, (target / path).open("wb") as copy:
            shutil.copyfileobj(source, copy)


def networks_of(builds: Sequence[Path], labels: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the page's list of builds.

    An entry has the name for people, the URL, what the build can run on, the kind of what it makes
    of a picture, and the labels of its classes.

    Raises:
        ShadergenError: SG05xx for what is no build, SG0602 for one that browsers cannot run,
            SG0605 for one whose input or output the page cannot show, SG0301 for a user shader and
            for labels that do not fit.
    """
    models, runs_on, kinds = [], [], []
    for folder in builds:
        refuse_user_shader(
            folder,
            "to get a build, compile the model with --device gles30,webgpu",
            "run the user shader in a video player, or: "
            f"shadergen run {folder} photo.png -o out.png",
        )
        build = load(folder)
        variants = [load(folder, variant=name) for name in build.variants]
        on_webgl = [WEBGL] if build.requires.glsl == WEB_GLSL else []
        on_webgpu = [WEBGPU] if any(b.requires.wgsl for b in (build, *variants)) else []
        runs_on.append(on_webgl + on_webgpu)
        if not runs_on[-1]:
            raise ShadergenError(
                "SG0602",
                f"the page cannot run '{folder}'",
                why=f"its shaders are GLSL ES {build.requires.glsl}, "
                f"WebGL 2 has GLSL ES {WEB_GLSL}",
                help="compile the model with --device gles30,webgpu",
            )
        kinds.append(_kind(folder, build, labels))
        models.append(build.model)
    names = _names(models, [folder.resolve() for folder in builds])
    return [
        {"name": name, "model": model, "url": f"builds/{i}", "runs_on": on, "kind": kind}
        | ({"labels": list(labels)} if labels else {})
        for i, (name, model, on, kind) in enumerate(zip(names, models, runs_on, kinds, strict=True))
    ]


def _names(models: Sequence[str], folders: Sequence[Path]) -> Iterator[str]:
    """Yield models' names; of several builds of one model with what of their folders differs."""
    for model, folder in zip(models, folders, strict=True):
        above = [f.parent.parts for m, f in zip(models, folders, strict=True) if m == model]
        shared = takewhile(lambda level: len(set(level)) == 1, zip(*above, strict=False))
        own = "/".join(folder.parts[len(list(shared)) :])
        yield f"{model} ({own})" if len(above) > 1 else model


def _kind(folder: Path, build: Build, labels: Sequence[str]) -> Kind:
    """Return the kind of what a build makes of a picture.

    Raises:
        ShadergenError: SG0605, if the page cannot show it; SG0301 for labels that do not fit.
    """
    try:
        network = network_of(build, labels)
        check_labels(labels, network.kind, network.depth)
    except ShadergenError as error:
        raise error.at(str(folder)) from None
    for what, port, fits in (
        ("input", network.input, _is_picture(network.input)),
        ("output", network.output, _is_shown(network)),
    ):
        if not fits:
            shape = "x".join(map(str, port.shape))
            raise ShadergenError(
                "SG0605",
                f"the page cannot show '{folder}'",
                why=f"its {what} '{port.name}' has the shape {shape} and the type {port.dtype}",
                supported="input: a picture of float32 or uint8 with 1, 3 or 4 channels; output: "
                "such a picture, or one number or class scores for each pixel",
                help="run the build with shadergen run",
            )
    return network.kind


def _logical(port: Port) -> tuple[int, ...]:
    """Return the shape of a port as N, C, H, W; of fewer axes as the last of these."""
    shape = tuple(port.shape[port.axes.index(axis)] for axis in range(len(port.shape)))
    return (1,) * (MAP_RANK - len(shape)) + shape


def _is_picture(port: Port) -> bool:
    """Whether the web runtime takes or draws a port as a picture."""
    batch, channels = _logical(port)[:2]
    fits = len(port.shape) == MAP_RANK and batch == 1 and channels in CHANNELS
    return fits and port.dtype in PICTURE_DTYPES


def _is_shown(network: Network) -> bool:
    """Whether the page can show an output, whose rows and columns it takes from the last axes."""
    output, rank = network.output, len(network.output.shape)
    if network.kind == "category" or rank > MAP_RANK:
        return False
    rows, columns = output.axes[network.row], output.axes[network.column]
    if (rows, columns) != (rank - 2, rank - 1) or _logical(output)[0] != 1:
        return False
    return network.kind != "picture" or _is_picture(output)
