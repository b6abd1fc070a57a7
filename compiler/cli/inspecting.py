"""The command that shows GPU passes, and what limits them: ``inspect``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ...errors import ShadergenError
from ..pass_table import COLUMNS, pass_cells
from .help import command
from .options import inspect_options, luma_option, model_or_build, target_option, to_options
from .output import (
    bytes_text,
    echo,
    new_table,
    passes_text,
    print_json,
    print_table,
    progress_line,
    short_text,
    si_text,
)

if TYPE_CHECKING:
    from ..estimation import FrameEstimate, Unit
    from ..inspection import Inspection

OF_BUILDS = {"path", "device", "variant", "as_json"}  # options of the command that a build takes
UNITS: tuple[Unit, ...] = ("arithmetic", "textures", "memory", "render targets")


@command(
    short_help="Show the GPU passes of a build or model: work, memory, predicted times.",
    epilog="Examples: [bold]shadergen inspect build/ --device mali-valhall[/bold]; "
    "[bold]shadergen inspect model.onnx --input-size 360x640 --device adreno-6xx[/bold]",
)
@click.argument("path", metavar="BUILD|MODEL", type=click.Path(path_type=Path))
@target_option
@luma_option
@inspect_options
@click.option("--variant", metavar="NAME", help="Show this variant of a build.")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
def inspect(path: Path, variant: str | None, as_json: bool, **flags: Any) -> None:
    """Show the GPU passes of a BUILD, or of a MODEL compiled in memory: their work and memory.

    With --device, also estimate each pass's milliseconds and its bottleneck, from the published
    rates of GPUs. With a list of devices, a MODEL is compiled for each, and the results are
    compared.

    With --target mpv, show the passes of a user shader for a picture of 1080x1920; --input-size
    dynamic:HxW sets another size. User shaders are estimated for all GPUs, or for those of
    --device.

    A BUILD takes no other options than --device, --variant and --json.
    """
    from ...backends.devices import DEFAULT_DEVICE
    from ..device_list import device_names
    from ..inspection import inspect_build, inspect_model

    is_model, profile = model_or_build(path, variant, "inspect", OF_BUILDS, lists=True)
    if len(profiles := device_names(profile or "")) > 1:
        _compare(path, is_model, profiles, variant, as_json, flags)
        return
    if is_model:
        if flags["package"] == "mpv":
            profile = profile or DEFAULT_DEVICE
        with progress_line() as progress:
            found = inspect_model(path, to_options(flags), profile, progress)
    else:
        found = inspect_build(path, profile, variant)
    if as_json:
        print_json(asdict(found) | {"macs": found.macs})
        return
    _print_passes(found)
    if found.estimates:
        _print_estimates(found.estimates)


def _compare(
    path: Path,
    is_model: bool,
    profiles: list[str],
    variant: str | None,
    as_json: bool,
    flags: dict[str, Any],
) -> None:
    """Print figures, frame times and the layers' kernels, with a column for each device."""
    from ..device_comparison import compare_builds, compare_models
    from .device_columns import print_comparison

    if is_model:
        with progress_line() as progress:
            options = to_options(flags | {"device": profiles[0]})
            builds = compare_models(path, options, profiles, progress)
    elif variant is not None:
        raise ShadergenError(
            "SG0301",
            "--variant needs a single --device",
            why=f"each device of --device {','.join(profiles)} shows its own variant",
            help="leave one of the options out",
        )
    else:
        builds = compare_builds(path, profiles)
    if as_json:
        devices = zip(profiles, builds, strict=True)
        found = [{"device": p} | asdict(b) | {"macs": b.macs} for p, b in devices]
        print_json({"devices": found})
        return
    print_comparison(profiles, builds, is_model)


def _print_passes(found: Inspection) -> None:
    table = new_table("#", *COLUMNS)
    for k, p in enumerate(found.passes):
        table.add_row(str(k), *pass_cells(p))
    echo(f"{found.model}: {', '.join(found.inputs)} -> {', '.join(found.outputs)}")
    print_table(table, ("layers", "packing", "weights"))
    for line in found.sizes:
        echo(line)
    figures = f"{passes_text(len(found.passes))}, {si_text(found.macs)} multiply-adds"
    if found.hook:
        picture = found.passes[0]  # its copy
        echo(f"{figures}, {found.language}, for a picture of {picture.height}x{picture.width}")
        return
    echo(
        f"{figures}, {found.language}",
        f"textures: {bytes_text(found.texture_bytes_peak)} at the peak, "
        f"{bytes_text(found.texture_bytes_total)} without sharing; "
        f"weights: {bytes_text(found.weight_bytes) if found.weight_bytes else 'in the shaders'}",
    )
    if found.variants:
        shown = f"variant {found.variant}" if found.variant else "the generic build"
        echo(f"this is {shown}; variants: {', '.join(found.variants)}; --variant NAME shows one")
    if found.calibrated:
        echo(f"16-bit because of calibration: {', '.join(found.calibrated)}")


def _print_estimates(frames: tuple[FrameEstimate, ...]) -> None:
    """Print a table of GPUs, and for those of one family also what limits each pass."""
    if len({frame.family for frame in frames}) == 1:
        _print_limits(frames[0])
    echo("", "estimates from published rates, not measured:")
    table = new_table("GPU", "system", "ms", "without caches ms", "limited by")
    for frame in frames:
        limits = ", ".join(f"{unit} {share:.0%}" for unit, share in frame.limits.items())
        numbers = short_text(frame.milliseconds), short_text(frame.milliseconds_uncached)
        table.add_row(frame.gpu, frame.system, *numbers, limits)
    print_table(table)


def _print_limits(frame: FrameEstimate) -> None:
    echo("", f"estimate for {frame.gpu} ({frame.system}):")
    units = (f"{unit} ms" for unit in UNITS)
    table = new_table("#", "pass", "read", "fetched", "written", *units, "ms", "limit")
    for k, p in enumerate(frame.passes):
        moved = p.traffic
        table.add_row(
            str(k),
            p.name,
            *map(bytes_text, (moved.read, moved.fetched, moved.written)),
            *(short_text(p.units[unit]) for unit in UNITS),
            short_text(p.milliseconds),
            p.limit,
        )
    print_table(table)
    start = frame.passes[0].units["start"]
    echo(
        '"read" counts each texel and weight once, "fetched" counts every fetch; '
        f"ms includes {short_text(start)} ms to start a pass"
    )
