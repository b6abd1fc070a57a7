"""The command that compares two builds: ``diff``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ...errors import EXIT_DIFFERS, ShadergenError
from .help import command
from .options import is_given
from .output import bytes_text, echo, new_table, print_json, print_table, short_text, si_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..build_diff import BuildDiff, Change, Step, Totals
    from ..user_shader_diff import UserShaderDiff


@command(
    short_help="Show what differs between two builds or user shaders.",
    epilog="Example: [bold]shadergen diff before/ after/ --shaders[/bold]",
)
@click.argument("first", metavar="BUILD", type=click.Path(path_type=Path))
@click.argument("second", metavar="BUILD", type=click.Path(path_type=Path))
@click.option("--shaders", is_flag=True, help="Also print the differences of the shaders, unified.")
@click.option(
    "--device",
    metavar="PROFILE",
    help="Estimate frame times on the GPUs of this device profile; by default, a range over all "
    "GPUs with published rates.",
)
@click.option("--variant", metavar="NAME", help="Compare this variant of both builds.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def diff(
    first: Path, second: Path, shaders: bool, device: str | None, variant: str | None, as_json: bool
) -> None:
    """Show what differs between two builds: GPU passes, work, memory, estimated times, shaders.

    Exits with 0 if the builds are equal, with 1 if they differ, and with 2 for an error, as Unix's
    diff does. Builds that differ only in the version of shadergen count as equal. Two user shaders
    (.glsl), including hand-written ones, are compared pass by pass.
    """
    from ..build_diff import diff_builds
    from ..player.outline import is_user_shader
    from ..user_shader_diff import diff_user_shaders

    found: BuildDiff | UserShaderDiff
    if is_user_shader(first) or is_user_shader(second):
        _check_both(first, second)
        found = diff_user_shaders(first, second)
    else:
        found = diff_builds(first, second, device, variant)
    if as_json:
        print_json(_data(found, shaders))
    elif found.is_equal:
        echo("the user shaders are equal" if is_user_shader(first) else "the builds are equal")
    else:
        _print(found, device is not None)
        if shaders:
            echo(*found.shaders)
    if not found.is_equal:
        sys.exit(EXIT_DIFFERS)


def _check_both(first: Path, second: Path) -> None:
    """Refuse a build beside a user shader, and options that are for builds."""
    from ..player.outline import is_user_shader

    if not (is_user_shader(first) and is_user_shader(second)):
        builds = [path for path in (first, second) if not is_user_shader(path)]
        raise ShadergenError(
            "SG0301",
            "diff compares two builds, or two user shaders",
            why=f"one of the two is a .glsl file, '{builds[0]}' is not",
            help="give two folders, or two .glsl files",
        )
    for name in ("device", "variant"):
        if is_given(name):
            what = f"--{name} does not apply to user shaders"
            raise ShadergenError(
                "SG0301", what, why=f"only builds have {name}s", help=f"omit --{name}"
            )


def _print(found: BuildDiff | UserShaderDiff, each_gpu: bool) -> None:
    from ..build_diff import BuildDiff

    if isinstance(found, BuildDiff):
        _print_changes(found)
        _print_totals(found, each_gpu)
    else:
        _print_user_shaders(found)


def _data(found: BuildDiff | UserShaderDiff, shaders: bool) -> dict[str, Any]:
    """Return the differences as data for JSON, without shaders' texts but for ``shaders``."""
    data = asdict(found) | {"equal": found.is_equal}
    changes: tuple[Change[Any], ...] = found.changes
    for entry, change in zip(data["changes"], changes, strict=True):
        entry["kind"] = change.kind
        for side in filter(None, (entry["before"], entry["after"])):
            del side["sources"]
    if not shaders:
        del data["shaders"]
    return data


SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def _print_changes(found: BuildDiff) -> None:
    if found.changes:
        table = new_table("", "tensor", "layers", "change")
        for change in found.changes:
            step = change.step
            details = "; ".join(change.details) or _described(step)
            table.add_row(SIGNS[change.kind], step.name, ", ".join(step.layers), details)
        print_table(table)
    if found.members:
        echo(f"the schedules also differ in: {', '.join(found.members)}")
    if not found.same_weights:
        echo("the weights differ")
    if found.shaders and not found.changes:
        echo("the shaders differ only in comments or in the order of passes: see --shaders")


def _described(step: Step) -> str:
    passes = f", {step.passes} GPU passes" * (step.passes > 1)
    return f"{step.kernel}{passes}, {step.texture}"


ROWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("GPU passes", "passes", str),
    ("shader files", "shaders", str),
    ("multiply-adds", "macs", si_text),
    ("bytes read and written", "bytes", bytes_text),
    ("textures at the peak", "texture_bytes_peak", bytes_text),
    ("textures without sharing", "texture_bytes_total", bytes_text),
    ("weights", "weight_bytes", bytes_text),
)


def _print_totals(found: BuildDiff, each_gpu: bool) -> None:
    table = new_table("", "before", "after", "ratio")
    for title, name, text in ROWS:
        before, after = getattr(found.before, name), getattr(found.after, name)
        table.add_row(title, text(before), text(after), _ratio(before, after))
    ratios = _time_ratios(found.before, found.after)
    if each_gpu:
        for gpu in ratios:
            times = (found.before.milliseconds[gpu], found.after.milliseconds[gpu])
            table.add_row(f"ms on {gpu}, estimated", *map(short_text, times), _ratio(*times))
    print_table(table)
    if ratios and not each_gpu:
        least, most = min(ratios.values()), max(ratios.values())
        echo(
            f"estimated frame time: {least:.2f} to {most:.2f} times that of the first build, on "
            f"{len(ratios)} GPUs; --device PROFILE shows milliseconds"
        )


SHADER_ROWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("GPU passes", "passes", str),
    ("compute passes", "compute_passes", str),
    ("textures of constants", "textures", str),
    ("code of the passes", "code_bytes", bytes_text),
    ("file", "file_bytes", bytes_text),
)


def _print_user_shaders(found: UserShaderDiff) -> None:
    if found.changes:
        table = new_table("", "name", "description", "change")
        for change in found.changes:
            section = change.step
            details = "; ".join(change.details) or section.text
            table.add_row(SIGNS[change.kind], section.name, section.description, details)
        print_table(table)
    else:
        echo("the user shaders differ only in comments or in the order of passes: see --shaders")
    table = new_table("", "before", "after", "ratio")
    for title, name, text in SHADER_ROWS:
        before, after = getattr(found.before, name), getattr(found.after, name)
        table.add_row(title, text(before), text(after), _ratio(before, after))
    print_table(table)


def _time_ratios(before: Totals, after: Totals) -> dict[str, float]:
    both = [gpu for gpu in before.milliseconds if gpu in after.milliseconds]
    return {gpu: after.milliseconds[gpu] / before.milliseconds[gpu] for gpu in both}


def _ratio(before: float, after: float) -> str:
    return "=" if before == after else f"{after / before:.2f}" if before else "-"
