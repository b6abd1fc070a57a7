"""Printing builds side by side, a column for each device: ``inspect --device A,B``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..device_comparison import layer_rows
from .output import bytes_text, echo, new_table, print_table, short_text, si_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..device_comparison import Cell
    from ..inspection import Inspection

NOTHING = "-"


def print_comparison(profiles: Sequence[str], builds: Sequence[Inspection], is_model: bool) -> None:
    """Print the figures of builds, their frame times, and the kernels of each layer.

    Args:
        profiles: a device profile for each build.
        builds: with estimates for their profiles.
        is_model: whether a model was compiled for each device.
    """
    first = builds[0]
    echo(f"{first.model}: {', '.join(first.inputs)} -> {', '.join(first.outputs)}")
    for line in first.sizes:
        echo(line)
    _print_figures(profiles, builds, is_model)
    _print_times(profiles, builds)
    _print_layers(profiles, builds)


def _print_figures(profiles: Sequence[str], builds: Sequence[Inspection], is_model: bool) -> None:
    table = new_table("", *profiles)
    if not is_model:
        names = (f"variant {b.variant}" if b.variant else "generic" for b in builds)
        table.add_row("build", *names)
    for name, texts in (
        ("GPU passes", [str(len(b.passes)) for b in builds]),
        ("multiply-adds", [si_text(b.macs) for b in builds]),
        ("textures at the peak", [bytes_text(b.texture_bytes_peak) for b in builds]),
        (
            "weights",
            [bytes_text(b.weight_bytes) if b.weight_bytes else "in the shaders" for b in builds],
        ),
        ("shaders", [b.language for b in builds]),
    ):
        table.add_row(name, *texts)
    print_table(table)


def _print_times(profiles: Sequence[str], builds: Sequence[Inspection]) -> None:
    echo("predicted milliseconds of a frame, from published rates, not measured:")
    table = new_table("GPU", "system", *(f"{profile} ms" for profile in profiles))
    frames = [{frame.gpu: frame for frame in build.estimates} for build in builds]
    for gpu in dict.fromkeys(gpu for of_build in frames for gpu in of_build):
        system = next(of_build[gpu].system for of_build in frames if gpu in of_build)
        times = (
            short_text(of_build[gpu].milliseconds) if gpu in of_build else NOTHING
            for of_build in frames
        )
        table.add_row(gpu, system, *times)
    print_table(table)


def _print_layers(profiles: Sequence[str], builds: Sequence[Inspection]) -> None:
    timed = [len({frame.family for frame in build.estimates}) == 1 for build in builds]
    columns = []
    for profile, has_times in zip(profiles, timed, strict=True):
        columns += [profile, f"{profile} ms"] if has_times else [profile]
    table = new_table("layers", *columns)
    for row in layer_rows(builds):
        cells = []
        for cell, has_times in zip(row.cells, timed, strict=True):
            cells.append(_text(cell))
            if has_times:
                ms = cell.milliseconds
                cells.append(NOTHING if ms is None else short_text(ms))
        table.add_row(", ".join(row.layers), *cells)
    print_table(table)
    gpus = [
        f"{profile} on {build.estimates[0].gpu}"
        for profile, build, has_times in zip(profiles, builds, timed, strict=True)
        if has_times
    ]
    if gpus:
        echo(f"times of layers: {', '.join(gpus)}")


def _text(cell: Cell) -> str:
    if cell.fused_into:
        return f"in {cell.fused_into}"
    if not cell.passes:
        return NOTHING
    number = f"{cell.passes} passes: " if cell.passes > 1 else ""
    return number + " + ".join(cell.kernels)
