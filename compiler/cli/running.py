"""The command that runs a build: ``run``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from ...errors import ShadergenError
from .help import command
from .options import is_given, runtime_options
from .output import echo, passes_text, print_json, progress_line

if TYPE_CHECKING:
    from ..player import Shown


@command(
    short_help="Run a build, or a user shader, on a picture or on arrays.",
    epilog="Examples: [bold]shadergen run build/ photo.png -o out.png[/bold]; "
    "[bold]shadergen run build/ in.npz -o out.npz[/bold]",
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
    "--variant", metavar="NAME", help="Run this variant; by default the one for the adapter."
)
@runtime_options("auto: the first one installed that the build has shaders for.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def run(
    build: Path,
    input: Path,
    output: Path,
    variant: str | None,
    runtime: str,
    adapter: str,
    as_json: bool,
) -> None:
    """Run BUILD on INPUT: a picture, an .npz with arrays named after the inputs, or one .npy.

    Arrays have the model's shape and axis order. A 1-channel network gets a picture's luma.

    BUILD may also be a user shader (.glsl): FFmpeg's libplacebo filter then runs it on a picture.
    """
    from ..player import is_user_shader
    from ..running import run_file

    if is_user_shader(build):
        for name in ("variant", "runtime", "adapter"):
            if is_given(name):
                what = f"--{name} is for builds; a user shader runs in FFmpeg"
                raise ShadergenError("SG0301", what, help=f"omit --{name}")
        _show(build, input, output, as_json)
        return
    with progress_line() as progress:
        progress("running the build")
        result = run_file(build, input, output, variant, runtime, adapter)
    if as_json:
        print_json(asdict(result))
    else:
        of_variant = f" of variant {result.variant}" * bool(result.variant)
        echo(
            f"{output}: {passes_text(result.passes)}{of_variant} on {result.renderer}, "
            f"set-up {result.init_milliseconds:.0f} ms, first frame {result.milliseconds:.1f} ms "
            "(includes shader compilation)"
        )


def _show(shader: Path, input: Path, output: Path, as_json: bool) -> None:
    from ..player import show

    with progress_line() as progress:
        progress("running in FFmpeg")
        shown = show(shader, input, output)
    if as_json:
        print_json(asdict(shown))
    else:
        print_shown(shown, output)


def print_shown(shown: Shown, output: Path) -> None:
    """Print what a user shader made of a picture."""
    echo(
        f"{output}: {'x'.join(map(str, shown.size))}, {passes_text(shown.passes)} in FFmpeg's "
        f"libplacebo, {shown.milliseconds:.0f} ms with start and shader compilation"
    )
