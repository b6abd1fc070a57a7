"""The command that compares a model's build with a reference: ``verify``."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click import get_current_context as current_context

from ...errors import EXIT_DIFFERS, ShadergenError
from ...records import replace
from ..choices import REFERENCES
from .help import command
from .layer_texts import bisection_data, bisection_lines, layers_data, print_layers
from .model_files import model_argument, model_file
from .options import is_given, runtime_options, to_options, verify_options
from .output import echo, new_table, passes_text, print_json, print_table, progress_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..debugging.bisection import Bisection
    from ..debugging.layers import Layers
    from ..options import Options
    from ..verification import Report

# Parameters that go with --build: of the comparison, and of what the model computes.
WITH_BUILD = {
    "model",
    "build",
    "reference",
    "seed",
    "given",
    "runtime",
    "adapter",
    "as_json",
    "input_value",
    "input_range",
    "inputs",
    "outputs",
    "preprocess",
    "define",
    "zero_guard",
}
# Help for options that do not go with --build.
LAYERS = (
    "shadergen verify {model} --layers shows whether the compiler is wrong; if not, compile the "
    "model to a new folder, and shadergen diff {build} NEW names the shaders that differ"
)
INSTEAD = {
    "input_size": "use --input FILE to set the size of a dynamic build",
    "layers": LAYERS,
    "bisecting": LAYERS.replace("--layers", "--bisect"),
}
FLAGS = {"bisecting": "bisect"}  # options of other names than their parameters


@command(
    short_help="Compile a model, run it, and compare the results with a reference.",
    epilog="Examples: [bold]shadergen verify model.onnx[/bold]; "
    "[bold]shadergen verify model.onnx --build build/[/bold]",
)
@model_argument
@verify_options
@click.option(
    "--reference",
    type=click.Choice(REFERENCES),
    default="auto",
    show_default=True,
    help="Reference to compare with.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    help="Seed of the random inputs: floats uniform in 0..1 or in --input-range, indices uniform "
    "over the rows of the table they index.",
)
@click.option(
    "--input",
    "given",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Picture, .npz or .npy in place of random inputs. It also sets dynamic sizes.",
)
@click.option(
    "--build",
    type=click.Path(path_type=Path),
    metavar="BUILD",
    help="Do not compile: compare this build or user shader (.glsl) with its MODEL. FFmpeg's "
    "libplacebo filter renders user shaders.",
)
@runtime_options(
    "auto: what --device asks for; without --device, gles if installed, else webgpu. With several "
    "devices, gles verifies only the builds that run on gles, and webgpu those that run on webgpu. "
    "With --runtime webgpu, --device is webgpu by default."
)
@click.option(
    "--layers",
    is_flag=True,
    help="Also compare every stored tensor and name the first wrong one. Not with --build.",
)
@click.option(
    "--heat-maps",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --layers: write the errors of each tensor as a PNG to this folder; replaces earlier "
    "heat maps there.",
)
@click.option(
    "--bisect",
    "bisecting",
    is_flag=True,
    help="Find the cause of a wrong output, and options that avoid the fault. Not with --build.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(
    model: Path,
    reference: str,
    seed: int,
    given: Path | None,
    build: Path | None,
    runtime: str,
    adapter: str,
    layers: bool,
    heat_maps: Path | None,
    bisecting: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Compile MODEL, run it on OpenGL ES or WebGPU, and compare with a reference implementation.

    Exits with 1 if an error exceeds 1e-4 (highp) or 1e-2 (mediump) times max(1, max|reference|).
    Indices (ArgMax, TopK) may differ only if their scores are equal within this bound.
    """
    from ..runtimes import default_device
    from ..verification import verifying

    _check_operands(model, build)
    if not is_given("device"):
        flags["device"] = default_device(runtime)
    options = to_options(flags)
    if heat_maps is not None:
        from ..debugging.heat_maps import check_heat_maps

        if not layers:
            raise ShadergenError("SG0301", "--heat-maps needs --layers")
        check_heat_maps(heat_maps)
    if build is not None:
        from ..build_verification import verify_build
        from ..player.outline import is_user_shader
        from ..player.verification import verify_user_shader

        with progress_line() as progress, model_file(model) as path:
            if is_user_shader(build):
                report = verify_user_shader(path, build, options, reference, seed, given, progress)
            else:
                report = verify_build(
                    path, build, options, reference, seed, given, progress, runtime, adapter
                )
        _finish(report, None, None, False, as_json)
        return
    found = cause = None
    with progress_line() as progress, model_file(model) as path, ExitStack() as stack:
        arrays, note = _read_inputs(path, options, given)
        verified = stack.enter_context(
            verifying(path, options, reference, seed, arrays, progress, runtime, adapter)
        )
        report = verified.report
        if note:
            report = replace(report, note="\n".join(filter(None, (note, report.note))))
        if layers:
            from ..debugging.layers import compare_layers

            found = compare_layers(verified, progress)
            if heat_maps is not None:
                from ..debugging.heat_maps import write_heat_maps

                progress("writing heat maps")
                write_heat_maps(found.tensors, heat_maps)
        if bisecting:
            from ..debugging.bisection import bisect

            cause = bisect(verified, progress)
    _finish(report, found, cause, bisecting, as_json)


def _check_operands(model: Path, build: Path | None) -> None:
    """Refuse a build in place of a model, and options that do not go with ``--build``.

    Raises:
        ShadergenError: SG0301.
    """
    from ..player.outline import is_user_shader

    if model.is_dir() or is_user_shader(model):
        kind, made = ("folder", "build") if model.is_dir() else ("user shader",) * 2
        raise ShadergenError(
            "SG0301",
            f"'{model}' is a {kind}, not a model",
            why=f"a {made} does not hold the model that it was compiled from",
            help=f"name the model too: shadergen verify MODEL --build {model}",
        )
    for name in ("runtime", "adapter"):
        if build is not None and is_user_shader(build) and is_given(name):
            what = f"--{name} is for builds; a user shader runs in FFmpeg"
            raise ShadergenError("SG0301", what, help=f"omit --{name}")
    for name in current_context().params if build is not None else ():
        if name not in WITH_BUILD and is_given(name):
            raise ShadergenError(
                "SG0301",
                f"--{FLAGS.get(name, name.replace('_', '-'))} does not go with --build",
                why="a build is compared as it is: nothing is compiled",
                help=INSTEAD.get(name, "omit one of them").format(model=model, build=build),
            )


def _read_inputs(
    model: Path, options: Options, given: Path | None
) -> tuple[dict[str, NDArray[Any]] | None, str]:
    """Return the arrays of ``--input`` by name, and a note about them or nothing."""
    from ..arrays import read_arrays
    from ..pictures.reading import SUFFIXES

    if given is None:
        return None, ""
    if given.suffix.lower() in SUFFIXES:
        from ..picture_inputs import picture_input

        return picture_input(model, options, given)
    return read_arrays(given), ""


def _finish(
    report: Report,
    found: Layers | None,
    cause: Bisection | None,
    bisecting: bool,
    as_json: bool,
) -> None:
    """Print the results; exit with 1 if something differs."""
    if as_json:
        data = asdict(report) | {"ok": report.ok}
        for entry, o in zip(data["outputs"], report.outputs, strict=True):
            entry["ok"] = o.ok
        if found is not None:
            data["layers"] = layers_data(found)
        if bisecting:
            data["bisection"] = bisection_data(cause) if cause else None
        print_json(data)
    else:
        _print_report(report)
        if found is not None:
            print_layers(found, report.ok)
        if cause is not None:
            echo(*bisection_lines(cause))
        elif bisecting:
            echo("all outputs are right: nothing to bisect")
        elif not report.ok and found is None and not is_given("build"):
            echo("--layers names the first wrong layer; --bisect finds what makes it wrong")
        elif not report.ok and is_given("build"):
            _print_causes()
    if not report.ok or (found is not None and not found.ok):
        sys.exit(EXIT_DIFFERS)


def _print_causes() -> None:
    """Print why a build may differ from its model, and how to find out."""
    from ..build_verification import SAME_OPTIONS
    from ..player.outline import is_user_shader

    given = current_context().params
    model, build = given["model"], given["build"]
    fresh = "fresh.glsl" if is_user_shader(build) else "fresh"
    echo(
        f"- if shadergen verify {model} --layers differs too, the compiler or the driver is wrong",
        f"- otherwise compile the model again: shadergen diff {build} {fresh} names the shaders "
        "that changed",
        f"- if options changed what the model computes: {SAME_OPTIONS}",
    )


def _print_report(report: Report) -> None:
    table = new_table("output", "shape", "max error", "mean error", "bound", "")
    for o in report.outputs:
        shape = "x".join(map(str, o.shape))
        numbers = (f"{o.max_error:.3g}", f"{o.mean_error:.3g}", f"{o.bound:.3g}")
        name = f"{o.name} ({o.variant})" if o.variant else o.name
        table.add_row(name, shape, *numbers, "ok" if o.ok else "differs", red=not o.ok)
    print_table(table)
    if report.note:
        echo(*report.note.split("\n"))
    if report.reference == "numpy":
        echo(
            "not checked: how shadergen reads the model file. The reference is its own numpy "
            "interpreter, which reads the file in the same way"
        )
    compared = f"{'matches' if report.ok else 'DIFFERS FROM'} {report.reference}"
    through = f" ({' and '.join(report.runtimes)})" * ("WebGPU" in report.runtimes)
    echo(
        f"{compared}: {passes_text(report.passes)} in {report.precision} on "
        f"{report.renderer}{through}"
    )
