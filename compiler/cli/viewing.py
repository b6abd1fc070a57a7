"""The command that shows what a build computes on the way: ``view``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import rich_click as click

from ...records import replace
from ..choices import SCALES
from .help import command
from .options import is_given, model_or_build, runtime_options, to_options, view_options
from .output import bytes_text, echo, progress_line

# Options of the command that a build takes.
OF_BUILDS = {
    "path",
    "source",
    "output",
    "scale",
    "map_side",
    "seed",
    "variant",
    "runtime",
    "adapter",
}


@command(
    short_help="Write every channel of every layer as pictures.",
    epilog="Examples: [bold]shadergen view build/ photo.png -o view.html[/bold]; "
    "[bold]shadergen view model.onnx --input-size 64x64 -o view.html[/bold]",
)
@click.argument("path", metavar="BUILD|MODEL", type=click.Path(path_type=Path))
@click.argument("source", metavar="[INPUT]", required=False, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Page to write (.html), or folder for PNGs; replaces an earlier view there.",
)
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="channel",
    show_default=True,
    help="Let the colours span the range of each channel, or of the whole layer.",
)
@click.option(
    "--map-side",
    type=click.IntRange(min=1),
    metavar="PIXELS",
    help="Longest side of a channel's picture; larger ones are averaged. Default: 192 on a page, "
    "no limit in a folder.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    help="Seed of the random inputs that replace a missing INPUT.",
)
@view_options
@click.option(
    "--variant", metavar="NAME", help="Show this variant; by default the one for the adapter."
)
@runtime_options("auto: gles if installed and the build has shaders for it, else webgpu.")
def view(
    path: Path,
    source: Path | None,
    output: Path,
    scale: str,
    map_side: int | None,
    seed: int,
    variant: str | None,
    runtime: str,
    adapter: str,
    **flags: Any,
) -> None:
    """Run a BUILD or a MODEL, and write every channel of every layer as pictures.

    INPUT is a picture, an .npz with arrays named after the inputs, or one .npy; without INPUT,
    inputs are random. A MODEL is compiled first, with the options of compile; a BUILD takes none of
    these.
    """
    from ..driver import compile_model
    from ..extras import pillow
    from ..runtimes import default_device
    from ..view.content import MAP_SIDE, view_build
    from ..view.page import check_output, is_page, write_view

    is_model, _ = model_or_build(path, variant, "view", OF_BUILDS)
    check_output(output)
    pillow()  # a missing package is an error before the work
    side = MAP_SIDE if map_side is None and is_page(output) else map_side
    with progress_line() as progress, tempfile.TemporaryDirectory(prefix="shadergen-") as scratch:
        folder = path
        if is_model:
            if not is_given("device"):
                flags["device"] = default_device(runtime)
            folder = Path(scratch) / "build"
            compile_model(path, folder, replace(to_options(flags), validate=False), progress)
        found = view_build(folder, source, scale, side, variant, runtime, adapter, seed, progress)
        progress("writing the view")
        write_view(found, output)
    if found.note:
        echo(f"note: {found.note}")
    maps = sum(len(t.ranges) for t in found.tensors)
    size = f"{bytes_text(output.stat().st_size)}, " if output.is_file() else ""
    echo(f"{output}: {size}{len(found.tensors)} tensors, {maps} maps, on {found.renderer}")
