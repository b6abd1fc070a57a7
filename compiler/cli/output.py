"""Output of the commands: lines, tables, formatted numbers, progress.

Commands print through this file only. Names in models and builds are untrusted, so
text is printed through :func:`~shadergen.errors.printable`, and is never taken as rich's markup.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import field
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import rich_click as click

from ...errors import printable
from ...number_texts import bytes_text as bytes_text
from ...number_texts import passes_text as passes_text
from ...number_texts import short_text as short_text
from ...number_texts import si_text as si_text
from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMBERS = {
    "#", "MACs", "bytes", "packing", "max error", "mean error", "bound", "at most", "memory", "ms",
    "ratio", "relative: worst GPU", "most GPUs", "nodes", "10..90 %", "passes", "GFLOP/s", "GB/s",
    "of max", "share", "read", "fetched", "written",
}  # fmt: skip
WIDTH = 160  # of tables in a pipe
GAP = 3  # spaces between the columns of a table
LOG_INTERVAL = 10.0  # seconds between lines about progress, where stderr is no terminal


def echo(*lines: str, err: bool = False) -> None:
    """Print lines, to stderr where ``err`` says so; a line break within one is a name's own."""
    click.echo("\n".join(map(printable, lines)), err=err)


def print_help(context: click.Context) -> None:
    """Print the help of a command, in colours on a terminal."""
    click.echo(context.get_help(), color=context.color)


def print_json(data: Any) -> None:
    """Print data as JSON, in ASCII, whatever the names in it."""
    click.echo(json.dumps(data, indent=1))


@contextmanager
def step_log() -> Iterator[Callable[[str], None]]:
    """Print the step at hand to stderr every ``LOG_INTERVAL``; short work prints nothing.

    A thread prints, so that one long step is seen too.
    """
    start, step, ended = time.monotonic(), "starting", threading.Event()

    def set_step(text: str) -> None:
        nonlocal step
        step = text

    def print_steps() -> None:
        while not ended.wait(LOG_INTERVAL):
            echo(f"{step} ({time.monotonic() - start:.0f} s)", err=True)

    thread = threading.Thread(target=print_steps, daemon=True)
    thread.start()
    try:
        yield set_step
    finally:
        ended.set()
        thread.join()


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Show the step at hand on a terminal; elsewhere print it now and then."""
    if not sys.stderr.isatty():
        with step_log() as log:
            yield log
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("starting") as status:
        yield lambda step: status.update(Text(printable(step)))


def _step_text(step: str, done: int, total: int) -> str:
    """Return a step with how much of it is done; the total is 0 if it is unknown."""
    if total:
        return f"{step}: {done} of {total}"
    return f"{step}: {done}" if done else step


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show the step at hand and how much is done on a terminal; elsewhere print it now and then."""
    if not sys.stderr.isatty():
        with step_log() as log:
            yield lambda step, done, total: log(_step_text(step, done, total))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda step, done, total: bar.update(
            task, description=printable(step), completed=done, total=total
        )


@dataclass(frozen=True)
class Table:
    """The rows of a table; ``red`` says which of them are bad news."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    red: set[int] = field(default_factory=set)

    def add_row(self, *cells: str, red: bool = False) -> None:
        """Add a row of plain text."""
        if red:
            self.red.add(len(self.rows))
        self.rows.append(cells)


def psnr_lines(original: str, plain_name: str, plain: float, network: float) -> tuple[str, ...]:
    """Return the lines that compare a network's result and a plain one with an original.

    Args:
        original: what both are compared with.
        plain_name: what the plain result is.
        plain: its peak signal-to-noise ratio in dB.
        network: that of the network's result.
    """
    gain = f" ({network - plain:+.2f} dB)" if isfinite(plain) and isfinite(network) else ""
    first, second = (f"{db:.2f} dB" if isfinite(db) else "equal" for db in (plain, network))
    return (
        f"PSNR on luma against {original}",
        f"  {plain_name:8} {first}",
        f"  network  {second}{gain}",
    )


def new_table(*columns: str) -> Table:
    """Return an empty table; columns of numbers stand to the right."""
    return Table(columns)


def print_table(table: Table, spare: tuple[str, ...] = ()) -> None:
    """Print a table, and an empty line.

    In a pipe, the table has all columns, and is at most ``WIDTH`` wide. The environment variable
    ``COLUMNS`` makes it narrower, as far as no word is broken.

    Args:
        table: what to print.
        spare: columns to leave out of a narrow terminal, the first one first, so that no word is
            broken. A line names them.
    """
    from rich import box
    from rich import table as rich
    from rich.console import Console
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        asked = os.environ.get("COLUMNS", "")
        narrow = asked.isdecimal() and 0 < int(asked) < WIDTH
        most = max(int(asked), _needed(_least(table))) if narrow else WIDTH
        console = Console(width=most)
    left_out = _left_out(table, spare, console.width) if console.is_terminal else ()
    table = _without(table, left_out)
    widths = _widths(table, console.width) if spare else [None] * len(table.columns)
    drawn = rich.Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for column, width in zip(table.columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if _is_number(column) else "left"
        drawn.add_column(column, justify=justify, overflow="fold", width=width)
    for number, row in enumerate(table.rows):
        cells = (Text(printable(cell)) for cell in row)
        drawn.add_row(*cells, style="red" if number in table.red else None)
    if console.is_terminal:
        console.print(drawn, highlight=False)
    else:  # rich fills the last column with spaces
        with console.capture() as captured:
            console.print(drawn, highlight=False)
        click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
    console.print()
    if left_out:
        names = ", ".join(left_out)
        echo(f"left out to fit {console.width} columns: {names}; a wider terminal shows more", "")


def _is_number(column: str) -> bool:
    return column.split(" (")[0] in NUMBERS or column.endswith(" ms")


def _without(table: Table, names: tuple[str, ...]) -> Table:
    """Return a table without some columns."""
    kept = [k for k, column in enumerate(table.columns) if column not in names]
    rows = [tuple(row[k] for k in kept) for row in table.rows]
    return Table(tuple(table.columns[k] for k in kept), rows, table.red)


def _left_out(table: Table, spare: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Return the spare columns without which a table fits a width and breaks no words."""
    count = 0
    while count < len(spare) and _needed(_least(_without(table, spare[:count]))) > width:
        count += 1
    return spare[:count]


def _widths(table: Table, width: int) -> list[int | None]:
    """Return the widths of columns that break no words; None for rich's choice, if none do."""
    from rich.cells import cell_len

    widths, full = _least(table), [max(map(cell_len, texts)) for texts in _texts(table)]
    left = width - _needed(widths)
    if left < 0:
        return [None] * len(widths)
    for _ in range(min(left, sum(full) - sum(widths))):  # to the column that lacks most
        lacking = [most - own for most, own in zip(full, widths, strict=True)]
        widths[lacking.index(max(lacking))] += 1
    return [*widths]


def _least(table: Table) -> list[int]:
    """Return the widths of columns that only just break no words, and no numbers' lines."""
    from rich.cells import cell_len

    return [
        max(cell_len(w) for t in texts for w in ([t] if _is_number(column) else t.split() or [t]))
        for column, texts in zip(table.columns, _texts(table), strict=True)
    ]


def _needed(widths: list[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _texts(table: Table) -> list[list[str]]:
    """Return the texts of each column, its name among them."""
    rows = (map(printable, row) for row in table.rows)
    return [list(texts) for texts in zip(table.columns, *rows, strict=True)]
