"""The command line. Everything heavy is imported inside the commands, so ``--help`` is quick."""

from __future__ import annotations

import json
import sys
import traceback
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from .. import __version__
from ..errors import EXIT_INTERNAL_ERROR, EXIT_USER_ERROR, InternalError, ShadergenError
from .choices import CHOICES, GLSL_VERSIONS, REFERENCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .driver import Compilation
    from .options import Options

EXIT_DIFFERS = 1
ISSUES = "please report it, with the model or the IR named above"

click.rich_click.SHOW_ARGUMENTS = True
click.rich_click.GROUP_ARGUMENTS_OPTIONS = True
click.rich_click.TEXT_MARKUP = "rich"
click.rich_click.MAX_WIDTH = 100


def main() -> None:
    """Run the command line and exit: 0 well, 1 different from the reference, 2 mistake, 70 bug."""
    try:
        sys.exit(cli.main(prog_name="shadergen", standalone_mode=False))
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ShadergenError as error:
        click.echo(error.render(), err=True)
        sys.exit(EXIT_DIFFERS if error.code == "SG0701" else EXIT_USER_ERROR)
    except InternalError as error:
        click.echo(f"internal error: {error}\n  = help: {ISSUES}", err=True)
        sys.exit(EXIT_INTERNAL_ERROR)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:  # a bug as well, outside the pipeline that reports its own
        traceback.print_exc()
        click.echo(f"internal error: {error!r}\n  = help: {ISSUES}", err=True)
        sys.exit(EXIT_INTERNAL_ERROR)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: [bold]shadergen compile model.h5 -o build/[/bold]",
)
@click.version_option(__version__, message="shadergen %(version)s")
def cli() -> None:
    """Turn trained networks (Keras, ONNX) into GLSL ES shaders and a pass schedule."""


def compile_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a compilation."""
    options = (
        click.option(
            "--input-size",
            "input_size",
            metavar="HxW",
            multiple=True,
            help="Size of a dynamic input: HxW or the whole shape; NAME=HxW,NAME=HxW with several "
            "inputs.",
        ),
        click.option(
            "--input-value",
            "input_value",
            metavar="NAME=1,2,3",
            multiple=True,
            help="Fix an input of an ONNX model, such as the shape that a Reshape takes; it is "
            "then no input of the build.",
        ),
        click.option(
            "--inputs",
            metavar="NAME,...",
            multiple=True,
            help="Begin the model at these values or layers: what computes them is dropped. "
            "NAME=HxW, or the whole shape, where the size is not known.",
        ),
        click.option(
            "--outputs",
            metavar="NAME,...",
            multiple=True,
            help="End the model at these values or layers: what is behind them is dropped.",
        ),
        click.option(
            "--device",
            default="gles30",
            show_default=True,
            metavar="PROFILE",
            help="Limits to stay within: gles30, gles30-min, webgl2-min, gles31-min, "
            "gles31-mobile, gles32-desktop, or a file from shadergen doctor --save.",
        ),
        click.option(
            "--glsl",
            type=click.Choice(GLSL_VERSIONS),
            default=None,
            help="GLSL ES version, by default the device's.",
        ),
        click.option(
            "--precision",
            type=click.Choice(CHOICES["precision"]),
            default="highp",
            show_default=True,
            help="Arithmetic and storage: highp is fp32, mediump is fp16, auto takes fp16 where no "
            "number can exceed it.",
        ),
        click.option(
            "--input-range",
            default=None,
            metavar="LOW:HIGH",
            help="What float inputs hold: --precision auto relies on it (-256:256 if not given), "
            "and verify draws from it (0:1).",
        ),
        click.option(
            "--textures",
            type=click.Choice(CHOICES["textures"]),
            default="auto",
            show_default=True,
            help="sampler2D for each plane, or one sampler2DArray.",
        ),
        click.option(
            "--stage",
            type=click.Choice(CHOICES["stage"]),
            default="auto",
            show_default=True,
            help="Where kernels run; compute needs GLSL 310 and a --device that has it.",
        ),
        click.option(
            "--fetch",
            type=click.Choice(CHOICES["fetch"]),
            default="auto",
            show_default=True,
            help="Read intermediate textures by samplers, or as images (GLSL 310).",
        ),
        click.option(
            "--weights",
            type=click.Choice(CHOICES["weights"]),
            default="auto",
            show_default=True,
            help="Where convolution weights live.",
        ),
        click.option(
            "--parameters",
            type=click.Choice(CHOICES["parameters"]),
            default="constants",
            show_default=True,
            help="Where biases and batch normalisation live.",
        ),
        click.option(
            "--mrt",
            type=int,
            default=None,
            metavar="N",
            help="Render targets in a GPU pass; all the device has if not given.",
        ),
        click.option(
            "--output-encoding",
            type=click.Choice(CHOICES["output_encoding"]),
            default="float",
            show_default=True,
            help="How outputs are written: as they are; 0..1 in 8 bits; signed values in two "
            "channels; both signs in two unsigned channels.",
        ),
        click.option(
            "--zero-guard",
            type=float,
            default=0.0,
            metavar="VALUE",
            help="Convolutions read exact zeros as this, 0.001 say.",
        ),
        click.option(
            "--preprocess",
            default="",
            metavar="SPEC",
            help="Compile in image preprocessing: "
            "order=bgr,scale=255,mean=104/117/124,std=1,input=unorm8.",
        ),
        click.option(
            "--define",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Formulas for custom operators, layers and Lambdas.",
        ),
        click.option("--no-validate", is_flag=True, help="Do not run glslang over the shaders."),
        click.option(
            "--dump-ir",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Write the graph after every pass.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _options(flags: dict[str, Any]) -> Options:
    from .options import Options, parse_cut, parse_range, parse_sizes, parse_values

    inputs, outputs, sizes = parse_cut(flags.pop("inputs"), flags.pop("outputs"))
    within = flags.pop("input_range")
    return Options(
        input_size={**parse_sizes(flags.pop("input_size")), **sizes},
        input_range=None if within is None else parse_range(within),
        inputs=inputs,
        outputs=outputs,
        input_value=parse_values(flags.pop("input_value")),
        glsl=int(glsl) if (glsl := flags.pop("glsl")) else None,  # type: ignore[arg-type]
        define=tuple(flags.pop("define")),
        validate=not flags.pop("no_validate"),
        **flags,
    )


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show the step at hand on a terminal; say nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update


@cli.command(
    "compile",
    epilog="Example: [bold]shadergen compile espcn_x2.h5 -o build/ --input-size 360x640[/bold]",
)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder to write; an earlier build there is replaced.",
)
@compile_options
@click.option("--explain", is_flag=True, help="Say what each pass decided, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def compile_command(model: Path, output: Path, explain: bool, as_json: bool, **flags: Any) -> None:
    """Compile MODEL (.h5, .hdf5, .keras, .onnx) into a build: shaders, weights, schedule.json."""
    from .driver import compile_model
    from .inspection import peak_bytes

    options = _options(flags)
    with _progress() as progress:
        result = compile_model(model, output, options, progress)
    if as_json:
        passes = result.files.schedule["passes"]
        decisions = [asdict(d) for d in result.decisions] if explain else None
        data = {
            "output": str(output),
            "passes": len(passes),
            "macs": sum(p["macs"] for p in passes),
            "weight_bytes": result.files.weights.size,
            "texture_bytes_peak": peak_bytes(result.files.schedule),
            "validated": result.validated,
            "notes": result.notes,
        }
        click.echo(json.dumps(data | ({"decisions": decisions} if explain else {}), indent=1))
        return
    if explain:
        _print_decisions(result)
    _print_compiled(result, output, options)


def _print_compiled(result: Compilation, output: Path, options: Options) -> None:
    from .inspection import peak_bytes

    passes = result.files.schedule["passes"]
    macs = sum(p["macs"] for p in passes)
    size = result.files.weights.size
    textures = f"{_bytes(peak_bytes(result.files.schedule))} of textures"
    weights = f"{_bytes(size)} of weights" if size else "weights in the shaders"
    click.echo(
        f"{output}: {len(passes)} GPU passes, {_si(macs)} multiply-adds, {textures}, {weights}"
    )
    for note in result.notes:
        click.echo(note)
    if result.validated:
        click.echo(f"glslang accepts all {len(result.files.shaders)} shaders")
    elif options.validate:
        click.echo("glslang is not installed (Debian: glslang-tools), shaders were not validated")


def _print_decisions(result: Compilation) -> None:
    table = _table("pass", "node", "decision", "why")
    for d in result.decisions:
        table.add_row(d.step, d.subject, d.decision, d.why)
    _show(table)


@cli.command(
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
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def run(build: Path, input: Path, output: Path, as_json: bool) -> None:
    """Run BUILD on INPUT: a picture, an .npz with arrays named as the inputs, or one .npy.

    Arrays are in the model's own shape and layout. A 1-channel network gets a picture's luma.
    """
    from .running import run_file

    with _progress() as progress:
        progress("running on OpenGL ES")
        result = run_file(build, input, output)
    if as_json:
        click.echo(json.dumps(asdict(result), indent=1))
    else:
        click.echo(
            f"{output}: {result.passes} GPU passes on {result.renderer}, "
            f"{result.milliseconds:.1f} ms after {result.init_milliseconds:.0f} ms of set-up"
        )


@cli.command(epilog="Example: [bold]shadergen verify model.onnx --input-size 360x640[/bold]")
@click.argument("model", type=click.Path(path_type=Path))
@compile_options
@click.option(
    "--reference",
    type=click.Choice(REFERENCES),
    default="auto",
    show_default=True,
    help="What to compare with.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    help="Of the random inputs: uniform in 0..1 or in --input-range, indices over their tables.",
)
@click.option(
    "--input",
    "given",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="An .npz or .npy to use instead of random inputs; it also says open sizes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(
    model: Path, reference: str, seed: int, given: Path | None, as_json: bool, **flags: Any
) -> None:
    """Compile MODEL, run it on OpenGL ES, and compare with a reference implementation.

    Exits with 1 when an error is beyond 1e-4 (highp) or 1e-2 (mediump) of max(1, max|reference|).

    Random inputs are uniform: floats in 0..1 or in --input-range, integers of 8 bits over their
    type, indices over the entries of their table, other integers in --input-range or 0 or 1.
    """
    from .verification import verify_model

    options = _options(flags)
    arrays = None
    if given is not None:
        from .running import read_arrays

        arrays = read_arrays(given)
    with _progress() as progress:
        report = verify_model(model, options, reference, seed, arrays, progress)
    if as_json:
        data = asdict(report) | {"ok": report.ok}
        for entry, o in zip(data["outputs"], report.outputs, strict=True):
            entry["ok"] = o.ok
        click.echo(json.dumps(data, indent=1))
    else:
        table = _table("output", "shape", "max error", "mean error", "bound", "")
        for o in report.outputs:
            shape = "x".join(map(str, o.shape))
            numbers = (f"{o.max_error:.3g}", f"{o.mean_error:.3g}", f"{o.bound:.3g}")
            table.add_row(o.name, shape, *numbers, "ok" if o.ok else "[red]differs[/red]")
        _show(table)
        if report.note:
            click.echo(report.note)
        compared = f"{'matches' if report.ok else 'DIFFERS FROM'} {report.reference}"
        unchecked = " (how the model was read is not checked)" * (report.reference == "numpy")
        click.echo(
            f"{compared}{unchecked}: {report.passes} GPU passes in {report.precision} on "
            f"{report.renderer}"
        )
    if not report.ok:
        sys.exit(EXIT_DIFFERS)


@cli.command(epilog="Example: [bold]shadergen inspect build/[/bold]")
@click.argument("build", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def inspect(build: Path, as_json: bool) -> None:
    """Show what BUILD does: its GPU passes, their work, and the memory it takes."""
    from .inspection import inspect_build

    found = inspect_build(build)
    if as_json:
        click.echo(json.dumps(asdict(found) | {"macs": found.macs}, indent=1))
        return
    table = _table("#", "pass", "layers", "stage", "size", "packing", "weights", "MACs", "bytes")
    for k, p in enumerate(found.passes):
        table.add_row(
            str(k),
            p.name,
            ", ".join(p.layers),
            f"{p.stage} {p.kernel}",
            f"{p.width}x{p.height}",
            f"{p.planes} plane{'s' * (p.planes > 1)}" if p.packing == "planes" else p.packing,
            p.weights,
            _si(p.macs) if p.macs else "-",
            _bytes(p.bytes_read + p.bytes_written),
        )
    click.echo(f"{found.model}: {', '.join(found.inputs)} -> {', '.join(found.outputs)}")
    _show(table)
    click.echo(
        f"{len(found.passes)} GPU passes, {_si(found.macs)} multiply-adds, GLSL ES {found.glsl}\n"
        f"textures: {_bytes(found.texture_bytes_peak)} at the peak, "
        f"{_bytes(found.texture_bytes_total)} without sharing; "
        f"weights: {_bytes(found.weight_bytes) if found.weight_bytes else 'in the shaders'}"
    )


@cli.command(
    epilog="Example: [bold]shadergen doctor --save mine.json[/bold], then "
    "[bold]shadergen compile model.h5 -o build/ --device mine.json[/bold]"
)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Write the limits of the GL found as a device profile.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(save: Path | None, as_json: bool) -> None:
    """Say what this machine has for running and validating shaders."""
    from .doctor import examine, save_profile

    found = examine()
    if as_json:
        click.echo(json.dumps(asdict(found), indent=1))
    else:
        table = _table("what", "found")
        for name, value in found.rows():
            table.add_row(name, value)
        _show(table)
    if save is not None:
        save_profile(found, save)
        click.echo(f"{save}: use it with --device {save}", err=as_json)


@cli.command(epilog="Example: [bold]shadergen ops pool[/bold]")
@click.argument("pattern", default="", metavar="[NAME]")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def ops(pattern: str, as_json: bool) -> None:
    """List the operators and layers that are implemented, or those with NAME in their name."""
    from .vocabulary import matching

    found = matching(pattern)
    if as_json:
        click.echo(json.dumps([asdict(e) for e in found], indent=1))
        return
    table = _table("source", "name", "what it does, within which limits")
    for e in found:
        table.add_row(e.source, e.name, e.summary)
    _show(table)


def _table(*columns: str) -> Any:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, show_edge=False, pad_edge=False)
    right = {"MACs", "bytes", "packing", "max error", "mean error", "bound", "#"}
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def _show(table: Any) -> None:
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(table, highlight=False)
    console.print()


def _si(number: float) -> str:
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{_short(number / factor)} {unit}"
    return f"{number:.0f}"


def _bytes(number: float) -> str:
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= factor:
            return f"{_short(number / factor)} {unit}"
    return f"{number:.0f} B"


def _short(number: float) -> str:
    """Return three digits, or as many as stand before the point."""
    return f"{number:.3g}" if number < 999.5 else f"{number:.0f}"
