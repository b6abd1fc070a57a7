"""The way in: the group of commands, and how every failure becomes an exit status."""

from __future__ import annotations

import gc
import sys
import traceback

import rich_click as click

from ... import __version__
from ...errors import (
    EXIT_DIFFERS,
    EXIT_INTERNAL_ERROR,
    EXIT_USER_ERROR,
    InternalError,
    ShadergenError,
)
from .comparing import diff
from .compiling import compile_command
from .demonstrating import demo
from .help import COMMAND_GROUPS, explained
from .inspecting import inspect
from .machine import doctor, ops, paths
from .measuring import bench
from .output import echo
from .reporting import report
from .running import run
from .serving import serve
from .tuning import tune
from .verifying import verify
from .viewing import view

ISSUES = "please report it, with the model or the IR named above"
# New objects after which Python looks for cycles. Modules, graphs and programs live to the end of a
# command, so that looking after every 700 takes 6 % of a compilation and finds hardly anything.
GC_THRESHOLD = 1_000_000
COMMANDS = (
    *(demo, compile_command, run, serve, verify, inspect, report, view, diff),
    *(bench, tune, doctor, ops, paths),
)

click.rich_click.SHOW_ARGUMENTS = True
click.rich_click.GROUP_ARGUMENTS_OPTIONS = True
click.rich_click.TEXT_MARKUP = "rich"
click.rich_click.MAX_WIDTH = 100
click.rich_click.COMMAND_GROUPS = {
    "shadergen": [{"name": n, "commands": list(c)} for n, c in COMMAND_GROUPS.items()]
}


def main() -> None:
    """Run the command line and exit: 0 well, 1 different from the reference, 2 mistake, 70 bug."""
    gc.set_threshold(GC_THRESHOLD)
    try:
        sys.exit(cli.main(prog_name="shadergen", standalone_mode=False))
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error = explained(error)
        error.show()
        sys.exit(error.exit_code)
    except ShadergenError as error:
        echo(*error.render().split("\n"), err=True)
        sys.exit(EXIT_DIFFERS if error.code == "SG0701" else EXIT_USER_ERROR)
    except InternalError as error:
        _report(f"internal error: {error}")
        sys.exit(EXIT_INTERNAL_ERROR)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:  # a bug as well, outside the pipeline that reports its own
        _report(f"{traceback.format_exc()}internal error: {error!r}")
        sys.exit(EXIT_INTERNAL_ERROR)
    finally:
        gc.freeze()  # freeing all objects one by one before the process ends takes 0.1 s


def _report(bug: str) -> None:
    echo(*bug.split("\n"), f"  = help: {ISSUES}", err=True)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: [bold]shadergen compile model.h5 -o build/[/bold]",
)
@click.version_option(__version__, message="shadergen %(version)s")
def cli() -> None:
    """Turn trained networks into GLSL ES or WGSL shaders and a JSON schedule.

    Networks are Keras or ONNX files. PyTorch: export to ONNX with torch.onnx.export(...,
    dynamo=True), or call shadergen.compile_model(module, example) in Python.
    """


for command in COMMANDS:
    cli.add_command(command)
