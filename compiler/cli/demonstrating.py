"""The command that shows what the package does: ``demo``."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from .help import command
from .options import runtime_options
from .output import echo, passes_text, print_json, progress_line, psnr_lines, si_text

if TYPE_CHECKING:
    from ..demo import Demonstration


@command(
    short_help="Double a photograph's size with a network that comes with shadergen.",
    epilog="Example: [bold]shadergen demo[/bold]",
)
@click.option(
    "-o",
    "--output",
    default="demo",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder for the build and the pictures; replaces an earlier demo there.",
)
@click.option("--no-open", is_flag=True, help="Do not open the result in a viewer.")
@runtime_options("auto: the first one that runs here; the network is compiled for it.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON; open nothing.")
def demo(output: Path, no_open: bool, runtime: str, adapter: str, as_json: bool) -> None:
    """Enlarge a photograph two times with a trained network that comes with shadergen.

    The photograph is reduced to half its size, then enlarged by bicubic interpolation and by the
    network's shaders.
    """
    from ..demo import demonstrate

    with progress_line() as progress:
        result = demonstrate(output, runtime, adapter, progress)
    if as_json:
        print_json(asdict(result) | {"picture": str(result.picture)})
        return
    _print_result(result, output)
    if not no_open and _has_display():
        click.launch(str(result.picture))


def _print_result(result: Demonstration, output: Path) -> None:
    from ..demo import NETWORK

    height, width = result.size
    model = _shown(NETWORK)
    bicubic, network = result.psnr["bicubic"], result.psnr["network"]
    echo(
        f"photograph: {height}x{width}, halved; the network was not trained on it",
        f"compiled in {result.compile_seconds:.1f} s: {passes_text(result.passes)}, "
        f"{si_text(result.macs)} multiply-adds",
        f"ran on {result.renderer}: {result.first_milliseconds:.0f} ms with shader compilation, "
        f"then {result.frame_milliseconds:.0f} ms",
        "",
        *psnr_lines("the photograph", "bicubic", bicubic, network),
        "",
        f"{result.picture}: the same details in four versions: half size, bicubic, network, "
        "original",
        f"{output / 'build'}: the shaders and schedule.json",
        "",
        "Your own picture:",
        f"  shadergen compile {model} -o build --input-size dynamic",
        "  shadergen run build photo.png -o photo_x2.png",
    )


def _shown(path: Path) -> str:
    """Return a path as short as it can be typed here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _has_display() -> bool:
    """Whether a viewer could open a window."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
