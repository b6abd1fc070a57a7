"""The command that writes a build, or a model, as one page: ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from .help import command
from .options import luma_option, model_or_build, report_options, target_option, to_options
from .output import bytes_text, echo, passes_text, progress_line

OF_BUILDS = {"path", "output", "device", "variant"}  # options of the command that a build takes


@command(
    short_help="Write a page about a build or model: one HTML file.",
    epilog="Examples: [bold]shadergen report model.onnx -o report.html[/bold]; "
    "[bold]shadergen report build/ -o report.html --device adreno-6xx[/bold]",
)
@click.argument("path", metavar="BUILD|MODEL", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="HTML file to write; replaces an earlier report there.",
)
@target_option
@luma_option
@report_options
@click.option("--variant", metavar="NAME", help="Show this variant of a build.")
def report(path: Path, output: Path, variant: str | None, **flags: Any) -> None:
    """Write a page about a BUILD, or about a MODEL compiled in memory: one HTML file.

    The page shows the network, each layer's GPU passes and shaders, texture memory and predicted
    times; for a MODEL, it also lists the compiler's decisions. With --target mpv, it shows the
    passes of a user shader for a picture of 1080x1920; --input-size dynamic:HxW sets another size.
    A BUILD takes no other options than --device and --variant.
    """
    from ..report.content import build_content, model_content
    from ..report.highlighting import lexer
    from ..report.page import check_report_file, write_report

    is_model, profile = model_or_build(path, variant, "report", OF_BUILDS)
    check_report_file(output)
    lexer(wgsl=False)  # a missing package is an error before the work
    with progress_line() as progress:
        if is_model:
            content = model_content(path, to_options(flags), profile, progress)
        else:
            content = build_content(path, profile, variant)
        progress("writing the report")
        write_report(content, output)
    size = bytes_text(output.stat().st_size) if output.is_file() else "written"
    echo(f"{output}: {size}, {passes_text(len(content.found.passes))}", *content.notes)
