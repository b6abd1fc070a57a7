"""The commands that take a build: ``inspect`` and ``run``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import rich_click as click

from .output import (
    bytes_text,
    echo,
    new_table,
    passes_text,
    print_json,
    print_table,
    progress_line,
    si_text,
)


@click.command(epilog="Example: [bold]shadergen inspect build/[/bold]")
@click.argument("build", type=click.Path(path_type=Path))
@click.option("--variant", metavar="NAME", help="Show this variant instead of the generic build.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def inspect(build: Path, variant: str | None, as_json: bool) -> None:
    """Show the GPU passes of BUILD, their work, and its memory."""
    from ..inspection import inspect_build

    found = inspect_build(build, variant)
    if as_json:
        print_json(asdict(found) | {"macs": found.macs})
        return
    table = new_table("#", "pass", "layers", "stage", "HxW", "packing", "weights", "MACs", "bytes")
    for k, p in enumerate(found.passes):
        table.add_row(
            str(k),
            p.name,
            ", ".join(p.layers),
            f"{p.stage} {p.kernel}",
            f"{p.height}x{p.width}",
            f"{p.planes} plane{'s' * (p.planes > 1)}" if p.packing == "planes" else p.packing,
            p.weights,
            si_text(p.macs) if p.macs else "-",
            bytes_text(p.bytes_read + p.bytes_written),
        )
    echo(f"{found.model}: {', '.join(found.inputs)} -> {', '.join(found.outputs)}")
    print_table(table)
    for line in found.sizes:
        echo(line)
    echo(
        f"{passes_text(len(found.passes))}, {si_text(found.macs)} multiply-adds, "
        f"GLSL ES {found.glsl}",
        f"textures: {bytes_text(found.texture_bytes_peak)} at the peak, "
        f"{bytes_text(found.texture_bytes_total)} without sharing; "
        f"weights: {bytes_text(found.weight_bytes) if found.weight_bytes else 'in the shaders'}",
    )
    if found.variants:
        echo(f"variants: {', '.join(found.variants)}; --variant NAME shows one")
    if found.calibrated:
        echo(f"16-bit because of calibration: {', '.join(found.calibrated)}")


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
