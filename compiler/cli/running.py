"""The command that runs a build: ``run``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import rich_click as click

from .output import echo, passes_text, print_json, progress_line


@click.command(
    epilog="Examples: [bold]shadergen run build/ photo.png -o out.png[/bold]; "
    "[bold]shadergen run build/ in.npz -o out.npz[/bold]"
)
@click.argument("build", type=click.Path(path_type=Path))
@click.argument("input", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Picture, .npz or .npy to write.",
)
@click.option(
    "--variant", metavar="NAME", help="Run this variant; by default the one for the installed GL."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def run(build: Path, input: Path, output: Path, variant: str | None, as_json: bool) -> None:
    """Run BUILD on INPUT: a picture, an .npz with arrays named after the inputs, or one .npy.

    Arrays have the model's shape and axis order. A 1-channel network gets a picture's luma.
    """
    from ..running import run_file

    with progress_line() as progress:
        progress("running on OpenGL ES")
        result = run_file(build, input, output, variant)
    if as_json:
        print_json(asdict(result))
    else:
        of_variant = f" of variant {result.variant}" * bool(result.variant)
        echo(
            f"{output}: {passes_text(result.passes)}{of_variant} on {result.renderer}, "
            f"set-up {result.init_milliseconds:.0f} ms, first frame {result.milliseconds:.1f} ms "
            "(includes shader compilation)"
        )
