"""What commands print with: tables, numbers for people, the step at hand."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMBERS = {
    "#", "MACs", "bytes", "packing", "max error", "mean error", "bound", "at most", "memory", "ms",
    "ratio", "relative", "alike", "10..90 %", "passes", "GFLOP/s", "GB/s", "of max", "share",
}  # fmt: skip


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Show the step at hand on a terminal; say nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show the step at hand and how much is done on a terminal; say nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda step, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda step, done, total: bar.update(
            task, description=step, completed=done, total=total
        )


def new_table(*columns: str) -> Any:
    """Return an empty table; columns of numbers stand to the right."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, show_edge=False, pad_edge=False)
    for column in columns:
        right = column in NUMBERS or column.endswith(" ms")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    return table


def print_table(table: Any) -> None:
    """Print a table, and an empty line; in a pipe it is 160 columns wide."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(table, highlight=False)
    console.print()


def si_text(number: float) -> str:
    """Return a number with k, M, G or T."""
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{short_text(number / factor)} {unit}"
    return f"{number:.0f}"


def passes_text(number: int) -> str:
    """Return ``1 GPU pass`` or ``2 GPU passes``."""
    return f"{number} GPU pass{'es' * (number != 1)}"


def bytes_text(number: float) -> str:
    """Return bytes in KiB, MiB or GiB."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= factor:
            return f"{short_text(number / factor)} {unit}"
    return f"{number:.0f} B"


def short_text(number: float) -> str:
    """Return three digits, or as many as stand before the point."""
    return f"{number:.3g}" if number < 999.5 else f"{number:.0f}"
