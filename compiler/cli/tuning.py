"""The command that measures kernels: ``tune``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ...errors import ShadergenError, count
from .help import command
from .options import is_given, measuring_options, runtime_options, to_options, tune_options
from .output import echo, new_table, print_table, progress_bar, short_text

if TYPE_CHECKING:
    from ..tuning.session import Session


@command(
    short_help="Find the fastest kernels of a model on this GPU; compile --tuning uses them.",
    epilog="Example: [bold]shadergen tune model.onnx --tuning mine.json[/bold], then "
    "[bold]shadergen compile model.onnx -o build/ --device llvmpipe --tuning mine.json[/bold]",
)
@click.argument("model", type=click.Path(path_type=Path))
@tune_options
@measuring_options(
    "candidate",
    20,
    "After N seconds, measure no further layers; the next run continues from there.",
)
@runtime_options("auto: what --device asks for; without --device, gles if installed, else webgpu.")
def tune(
    model: Path,
    frames: int,
    warm_up: int,
    seconds: float | None,
    runtime: str,
    adapter: str,
    **flags: Any,
) -> None:
    """Measure kernels for the layers of MODEL on the installed OpenGL ES or WebGPU.

    For each layer, the candidates with the best predictions run in turns, and their times are added
    to the --tuning file. Equal layers, and layers in the file, are not measured again. Without
    --device, the profile is the installed GPU's on OpenGL ES, and "webgpu" on WebGPU.
    """
    from ..tuning.session import tune_model
    from ..tuning.trials import Settings

    given = is_given("device")
    options = to_options(flags)
    if options.variants:
        raise ShadergenError(
            "SG0301",
            f"tune measures for one device, not for {1 + len(options.variants)}",
            help="omit --device to tune for the installed GL",
        )
    path = options.tuning
    assert path is not None  # there is a default
    with progress_bar() as progress:
        session = tune_model(
            model, options, path, Settings(frames, warm_up), seconds, given, progress, runtime,
            adapter,
        )  # fmt: skip
    _print_session(session, path)


def _print_session(session: Session, path: Path) -> None:
    differ = any(o.kind.count != o.count for o in session.outcomes)
    nodes = "nodes (untuned -> tuned)" if differ else "nodes"
    table = new_table("layer", nodes, "untuned", "ms", "tuned", "ms", "ratio")
    for o in session.outcomes:
        counts = dict.fromkeys((o.kind.count, o.count))
        table.add_row(
            o.kind.name,
            " -> ".join(map(str, counts)),
            str(o.kind.chosen) if o.kind.count else "-",
            _milliseconds(o.before),
            str(o.tuned or "-"),
            _milliseconds(o.after),
            _number(o.gain),
        )
    if session.outcomes:
        print_table(table)
        echo(
            f"tuning made these layers {_gain(session.gain())}; rank correlation of "
            f"predicted and measured times: {_number(session.correlation())} overall, "
            f"{_number(session.correlation_within())} among the candidates of a layer"
        )
    for layer, choice, why in session.wrong:
        echo(f"{layer}: {choice} is not used: {why}")
    if session.left:
        echo(f"{count(session.left, 'kind')} of layers not measured yet: run tune again")
    if path.exists():
        echo(f"{path}: use it with --device {session.device} --tuning {path}")
    else:
        echo(f"{path} was not written: nothing was measured")


def _milliseconds(nanoseconds: float | None) -> str:
    return "-" if nanoseconds is None else short_text(nanoseconds / 1e6)


def _gain(gain: float | None) -> str:
    return f"{_number(gain)}x faster" if gain is None or gain >= 1 else f"{1 / gain:.2f}x slower"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
