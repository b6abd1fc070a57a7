"""Where a command's model comes from: a file, standard input, or a file that is watched."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ...errors import ShadergenError
from .output import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

STDIN = "standard input"
KERAS_SUFFIXES = {b"\x89HDF": ".h5", b"PK\x03\x04": ".keras"}  # by which Keras chooses its reader
INTERVAL = 0.25  # seconds between looks at watched files
NOT_THE_MODEL = ("SG03", "SG05")  # errors of the options and the output, which no new model mends

model_argument = click.argument(
    "model",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Keras (.h5, .hdf5, .keras) or ONNX file; '-' for standard input.",
)


@contextmanager
def model_file(model: Path) -> Iterator[Path]:
    """Yield the path of a model; ``-`` is copied from standard input to a temporary file.

    Raises:
        ShadergenError: SG0101 for a terminal, or no bytes.
    """
    if str(model) != "-":
        yield model
        return
    stream = sys.stdin.buffer
    if stream.isatty():
        raise ShadergenError(
            "SG0101",
            "standard input is a terminal, not a model",
            help="pipe a model into the command, or redirect: < model.onnx",
        )
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
        path = Path(folder, STDIN)
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        if not path.stat().st_size:
            help = "check the command before the pipe"
            raise ShadergenError("SG0101", "standard input holds no bytes", help=help)
        with path.open("rb") as file:
            path = path.rename(path.with_suffix(KERAS_SUFFIXES.get(file.read(4), "")))
        try:
            yield path
        except ShadergenError as error:
            error.where = tuple(STDIN if where == str(path) else where for where in error.where)
            raise


def keep_making(
    make: Callable[[], Any], model: Path, others: Iterable[Path], wait: Callable[[float], Any]
) -> None:
    """Call a function with a model, and again whenever a file changes, until interrupted.

    Watched are the model, files beside it that start with its name (external data of ONNX), and
    ``others``. They are looked at four times a second: that needs no package, and works on network
    drives and in containers, where notifications of changes do not arrive.

    Args:
        make: reads the files; its errors about the model are printed.
        model: the model's file; it may be missing for a while.
        others: definitions, measured times.
        wait: ``time.sleep``.

    Raises:
        ShadergenError: SG03xx and SG05xx of the first time, which no other model mends.
    """
    others = tuple(others)
    first = True
    try:
        while True:
            seen = _states(model, others)
            try:
                make()
            except ShadergenError as error:
                if first and error.code.startswith(NOT_THE_MODEL):
                    raise
                kept = () if first else ("the earlier build is kept",)
                echo(*error.render().split("\n"), *kept, err=True)
            first = False
            echo(f"watching {model} (stop with Ctrl-C)")
            _wait_for_change(seen, model, others, wait)
            echo(f"{time.strftime('%H:%M:%S')} {model} changed")
    except KeyboardInterrupt:
        echo()


def _wait_for_change(
    seen: object, model: Path, others: tuple[Path, ...], wait: Callable[[float], Any]
) -> None:
    """Wait until the files differ from what was seen, and are no longer being written."""
    before = seen
    while True:
        wait(INTERVAL)
        now = _states(model, others)
        if now != seen and now == before:
            return
        before = now


def _states(model: Path, others: tuple[Path, ...]) -> dict[str, tuple[int, ...]]:
    """Return what tells whether files changed: their times, sizes and numbers."""
    found: dict[str, tuple[int, ...]] = {}
    beside = model.parent.glob(f"{_literal(model.name)}*")
    for path in (model, *beside, *others):
        try:
            at = path.stat()
        except OSError:
            continue
        found[str(path)] = (at.st_mtime_ns, at.st_size, at.st_ino)
    return found


def _literal(name: str) -> str:
    """Return a pattern of ``glob`` for a name."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
