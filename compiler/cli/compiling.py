"""The command that compiles: ``compile``."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ...backends.user_shader.hooks import STAGES, UPSCALE_FROM
from ...errors import ShadergenError, count, few
from ..choices import CHOICES, EMBEDDINGS
from .help import command
from .model_files import keep_making, model_argument, model_file
from .options import compile_options, luma_option, target_option, to_options
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
from .running import IN_FFMPEG, print_shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..calibration import Calibration
    from ..compilation import Compilation
    from ..options import Options
    from ..player.pictures import Shown


@command(
    "compile",
    short_help="Compile a model into shaders, weights and a schedule, or into a user shader.",
    epilog="Examples: [bold]shadergen compile espcn_x2.h5 -o build/ --input-size 360x640[/bold]; "
    "[bold]shadergen compile net.onnx --target mpv -o net.glsl[/bold]",
)
@model_argument
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder to write, or with --target mpv a file such as net.glsl. An earlier build or user "
    "shader there is replaced.",
)
@target_option
@click.option(
    "--hook",
    type=click.Choice(tuple(STAGES)),
    help="Stage of the player's processing at which a user shader replaces the picture. Default: "
    "LUMA for networks of 1 channel, CHROMA for 2, MAIN for 3.",
)
@click.option(
    "--upscale-from",
    type=float,
    default=UPSCALE_FROM,
    show_default=True,
    metavar="FACTOR",
    help="An upscaling user shader runs if the player's output is more than FACTOR times as wide "
    "and as high as the picture.",
)
@click.option(
    "--license",
    default="",
    metavar="TEXT",
    help="License line of a user shader; by default the license in the ONNX metadata.",
)
@click.option(
    "--strength",
    type=float,
    default=1.0,
    show_default=True,
    metavar="SHARE",
    help="A user shader shows SHARE * network + (1 - SHARE) * picture, with SHARE from 0 to 1. The "
    "network must keep the picture's size.",
)
@click.option(
    "--live-strength",
    is_flag=True,
    help="Let the viewer of a user shader change the strength, in mpv with --vo=gpu-next and "
    "--glsl-shader-opts. libplacebo older than 5.233 refuses the file.",
)
@luma_option
@click.option(
    "--intermediates",
    type=click.Choice(CHOICES["intermediates"]),
    default="half",
    show_default=True,
    help="How a user shader stores values between passes. half: one 16-bit float for each value. "
    "split: two 16-bit floats for each value, for output of 10 bits or more; needs compute passes.",
)
@compile_options
@click.option(
    "--input-external",
    metavar="NAME",
    multiple=True,
    help="Read an input from an external texture: a camera or video frame of any size; the "
    "application also gives the texture matrix. OpenGL ES only.",
)
@click.option(
    "--embed",
    type=click.Choice(EMBEDDINGS),
    help="Also write the build as C source, for an application that ships without files.",
)
@click.option(
    "--preview",
    type=click.Path(path_type=Path),
    metavar="PICTURE",
    help="Also run the user shader on a picture, in FFmpeg's libplacebo filter. The result is "
    "written beside the shader as NAME.preview.png.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Compile again whenever the model's file changes. An error keeps the earlier build.",
)
@click.option("--explain", is_flag=True, help="Print each decision of the compiler and its reason.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def compile_command(
    model: Path,
    output: Path,
    preview: Path | None,
    watch: bool,
    explain: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Compile MODEL (.h5, .hdf5, .keras, .onnx) into a build: shaders, weights, schedule.json.

    With --target mpv, compile it into a user shader for mpv and libplacebo.
    """
    options = to_options(flags)
    if preview is not None and options.package != "mpv":
        why = "builds run on OpenGL, without FFmpeg"
        help = f"shadergen run {output} {preview} -o result.png"
        raise ShadergenError("SG0301", "--preview needs --target mpv", why=why, help=help)
    if not watch:
        with model_file(model) as path:
            _compile(path, output, options, preview, explain, as_json)
        return
    if str(model) == "-":
        raise ShadergenError("SG0301", "--watch needs a file", why="standard input is read once")
    others = [*options.define, *filter(None, (options.tuning,))]
    once = partial(_compile, model, output, options, preview, explain, as_json)
    keep_making(once, model, others, time.sleep)


def _compile(
    model: Path,
    output: Path,
    options: Options,
    preview: Path | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Compile a file, and print what came of it."""
    from ..driver import compile_model
    from ..inspection import peak_bytes
    from ..size_texts import at_defaults

    with progress_line() as progress:
        result = compile_model(model, output, options, progress)
    if as_json:
        schedule = at_defaults(result.files.schedule)
        passes = schedule["passes"]
        decisions = [asdict(d) for d in result.decisions] if explain else None
        data = {
            "output": str(output),
            "passes": len(passes),
            "macs": sum(p["macs"] for p in passes),
            "weight_bytes": result.files.weights.size,
            "texture_bytes_peak": peak_bytes(schedule),
            "validated": result.validated,
            "notes": result.notes,
            "sizes": result.files.schedule.get("sizes"),
        }
        if (written := result.user_shader) is not None:
            data["passes"] = len(written.blocks)
            data |= {"hook": written.hook, "condition": written.condition}
        if preview is not None:
            shown, path = _preview(output, preview)
            data["preview"] = asdict(shown) | {"output": str(path)}
        if result.variants:
            data["variants"] = list(result.variants)
        if (found := result.calibration) is not None:
            errors = {
                n: asdict(e) | {"relative": e.relative, "relative_nearest": e.relative_nearest}
                for n, e in found.errors.items()
            }
            data["calibration"] = asdict(found) | {"errors": errors}
        print_json(data | ({"decisions": decisions} if explain else {}))
        return
    if explain:
        _print_decisions(result)
        for name, variant in result.variants.items():
            echo(f"variant {name}:")
            _print_decisions(variant)
    if result.calibration is not None:
        _print_calibration(result.calibration)
    _print_compiled(result, output, options)
    if preview is not None:
        print_shown(*_preview(output, preview))


def _preview(shader: Path, picture: Path) -> tuple[Shown, Path]:
    """Run a user shader on a picture; return also where the result is."""
    from ..player.pictures import show_picture

    path = shader.with_suffix(".preview.png")
    with progress_line() as progress:
        progress(IN_FFMPEG)
        return show_picture(shader, picture, path), path


def _print_calibration(found: Calibration) -> None:
    table = new_table("output", "max error", "relative: worst GPU", "most GPUs")
    for name, error in found.errors.items():
        table.add_row(
            name, f"{error.most:.3g}", f"{error.relative:.2%}", f"{error.relative_nearest:.2%}"
        )
    print_table(table)
    inputs = count(found.samples, "input")
    if found.layers:
        echo(f"16-bit because of calibration with {inputs}: {few(found.layers)}")
    else:
        echo(f"calibration with {inputs} made no further layer 16-bit")


def _print_compiled(result: Compilation, output: Path, options: Options) -> None:
    from ..inspection import peak_bytes
    from ..size_texts import at_defaults, size_lines
    from ..user_shader_frame import work_per_pixel

    schedule = at_defaults(result.files.schedule)
    passes = schedule["passes"]
    macs = sum(p["macs"] for p in passes)
    size = result.files.weights.size
    textures = f"{bytes_text(peak_bytes(schedule))} of textures"
    shaders = sum(len(source.encode()) for source in result.files.shaders.values())
    weights = f"{bytes_text(size)} of weights, {bytes_text(shaders)} of shaders"
    weights = weights if size else "weights in the shaders"  # some are in the shaders in any case
    if (written := result.user_shader) is not None:
        what = f"{passes_text(len(written.blocks))} on {written.hook}"
        work = f"{work_per_pixel(result.files, written, options):.0f} multiply-adds per pixel"
        echo(f"{output}: {what}, {work}, {bytes_text(len(written.text))}")
    else:
        what = passes_text(len(passes))
        echo(f"{output}: {what}, {si_text(macs)} multiply-adds, {textures}, {weights}")
    for name, variant in result.variants.items():
        at_size = at_defaults(variant.files.schedule)["passes"]
        macs = si_text(sum(p["macs"] for p in at_size))
        echo(f"variant {name}: {passes_text(len(at_size))}, {macs} multiply-adds")
    sizes = written.notes if written else size_lines(result.files.schedule)
    for line in (*sizes, *result.notes):
        echo(line)
    for line in _validation_lines(result):
        echo(line)


def _validation_lines(result: Compilation) -> Iterator[str]:
    """Yield what each compiler says of its shaders, or how to get it."""
    from ...backends.validate import GLSLANG, NAGA, NAGA_F16, UNCHECKED, compiler_of

    shaders = Counter(starmap(compiler_of, result.files.all_shaders().items()))
    if result.user_shader is not None:
        shaders = Counter({GLSLANG: len(result.user_shader.blocks)})
    for name, there in result.validation.items():
        number = count(shaders[name], "shader")
        if there:
            yield f"{name} accepts {'all ' * (shaders[name] > 1)}{number}"
        elif name != NAGA_F16 or result.validation.get(NAGA, True):  # else said of all WGSL
            yield UNCHECKED[name]


def _print_decisions(result: Compilation) -> None:
    table = new_table("step", "node", "decision", "why")
    for d in result.decisions:
        table.add_row(d.step, d.subject, d.decision, d.why)
    print_table(table)
