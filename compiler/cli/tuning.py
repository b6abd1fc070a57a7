"""The command that measures kernels: ``tune``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.core import ParameterSource

from .options import compile_options, to_options
from .output import new_table, print_table, progress_bar, short_text

if TYPE_CHECKING:
    from ..tuning.session import Session

DEFAULT_FILE = Path("tuning.json")


@click.command(
    epilog="Example: [bold]shadergen tune model.onnx --tuning mine.json[/bold], then "
    "[bold]shadergen compile model.onnx -o build/ --device llvmpipe --tuning mine.json[/bold]"
)
@click.argument("model", type=click.Path(path_type=Path))
@compile_options
@click.option(
    "--frames",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Frames of each candidate to measure.",
)
@click.option(
    "--warm-up",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Frames of each candidate before that.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Begin no further layer after this time; the next run goes on from there.",
)
def tune(model: Path, frames: int, warm_up: int, seconds: float | None, **flags: Any) -> None:
    """Measure on the OpenGL ES at hand which kernels are best for the layers of MODEL.

    Layer by layer, the candidates that are predicted to be best are played in turns, and their
    times are added to --tuning (tuning.json if not given). Layers that are alike are measured once,
    those that the file knows not again. Without --device it is tuned for the GL at hand.
    """
    from ..tuning.session import tune_model
    from ..tuning.trials import Settings

    context = click.get_current_context()
    assert context is not None
    given = context.get_parameter_source("device") is not ParameterSource.DEFAULT
    options = to_options(flags)
    path = options.tuning or DEFAULT_FILE
    with progress_bar() as progress:
        session = tune_model(
            model, options, path, Settings(frames, warm_up), seconds, given, progress
        )
    _print_session(session, path)


def _print_session(session: Session, path: Path) -> None:
    table = new_table("layer", "alike", "predicted best", "ms", "measured best", "ms", "ratio")
    for o in session.outcomes:
        times = (o.measured[o.predicted_best], o.measured[o.best])
        first, best = (short_text(t / 1e6) for t in times)
        table.add_row(
            o.kind.node.name,
            str(o.kind.count),
            str(o.predicted_best),
            first,
            str(o.best),
            best,
            f"{o.loss:.2f}",
        )
    if session.outcomes:
        print_table(table)
        click.echo(
            f"the predicted choices take {session.loss():.2f} of the time of the measured ones; "
            f"rank correlation of prediction and measurement: {session.correlation():.2f} over "
            f"all, {session.correlation_within():.2f} among the candidates of a layer"
        )
    for layer, choice, why in session.wrong:
        click.echo(f"not used for {layer}: {choice}: {why}")
    if session.left:
        click.echo(f"{session.left} kinds of layers are left for another run")
    click.echo(f"{path}: use it with --device {session.device} --tuning {path}")
