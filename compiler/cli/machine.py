"""``doctor``, ``ops`` and ``paths``: what the machine, the compiler and the package have."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import rich_click as click

from .completion import operators
from .help import command
from .options import runtime_options
from .output import echo, new_table, print_json, print_table


@command(
    short_help="Show the installed packages, GPUs and their limits.",
    epilog="Example: [bold]shadergen doctor --save mine.json[/bold], then "
    "[bold]shadergen compile model.h5 -o build/ --device mine.json[/bold]",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Write the limits of the installed GL, or of WebGPU, as a device profile.",
)
@runtime_options(
    "auto: both; --save then writes the limits of OpenGL ES or, if it is not installed, of WebGPU.",
    "Examine only OpenGL ES (gles) or WebGPU (webgpu).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(save: Path | None, runtime: str, adapter: str, as_json: bool) -> None:
    """Show this machine's packages, glslang, OpenGL ES, and WebGPU's adapters, with their limits.

    For each WebGPU adapter, it lists the device profiles that run there, and what the adapter lacks
    for the others.
    """
    from ..doctor import examine, save_profile

    found = examine(runtime, adapter)
    if as_json:
        print_json(asdict(found))
    else:
        table = new_table("what", "found")
        for name, value in found.rows():
            table.add_row(name, value)
        print_table(table)
        if found.adapters:
            table = new_table("WebGPU adapter", *(a.name for a in found.adapters))
            for row in found.adapter_rows():
                table.add_row(*row)
            print_table(table)
    if save is not None:
        save_profile(found, save, adapter)
        echo(f"{save}: use it with --device {save}", err=as_json)


@command(
    short_help="Find operators, layers and functions by name, PyTorch's names included.",
    epilog="Example: [bold]shadergen ops pool[/bold]",
)
@click.argument("pattern", default="", metavar="[NAME]", shell_complete=operators)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def ops(pattern: str, as_json: bool) -> None:
    """List the implemented operators, layers and functions, or those whose name contains NAME.

    NAME may come from ONNX, Keras or PyTorch, or be a function for the formulas of --define. Case
    and underscores do not matter.
    """
    from ..vocabulary import matching

    found = matching(pattern)
    if as_json:
        print_json([asdict(e) for e in found])
        return
    table = new_table("source", "name", "description")
    for e in found:
        table.add_row(e.source, e.name, e.summary)
    print_table(table)


@command(
    short_help="Show where the runtimes are installed.",
    epilog="Example, in a CMakeLists.txt: [bold]find_program(SHADERGEN shadergen REQUIRED)[/bold], "
    "[bold]execute_process(COMMAND ${SHADERGEN} paths --cmake OUTPUT_VARIABLE runtime "
    "OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)[/bold], then "
    "[bold]add_subdirectory(${runtime} shadergen)[/bold]",
)
@click.option("--cmake", "which", flag_value="cmake", help="The folder for add_subdirectory().")
@click.option(
    "--include",
    "which",
    flag_value="include",
    help="The headers, shadergen.h for C and shadergen.hpp for C++.",
)
@click.option("--web", "which", flag_value="web", help="The JavaScript runtime.")
@click.option("--samples", "which", flag_value="samples", help="The sample web pages.")
@click.option("--networks", "which", flag_value="networks", help="The trained networks.")
@click.option("--json", "as_json", is_flag=True, help="Print all folders as JSON.")
def paths(which: str | None, as_json: bool) -> None:
    """Print the folders of the C++, C and JavaScript runtimes, to build with them or serve them."""
    from ..installed import FOLDERS

    if as_json:
        print_json({name: str(path) for name, path in FOLDERS.items()})
    elif which:
        echo(str(FOLDERS[which]))
    else:
        table = new_table("option", "folder")
        for name, path in FOLDERS.items():
            table.add_row(f"--{name}", str(path))
        print_table(table)
