"""Tables of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .bars import Bar

NOTHING = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 1) -> str:
    """Return a Markdown table whose columns from ``right`` on are numbers."""
    marks = ["---" if k < right else "---:" for k in range(len(head))]
    cells = [[c.replace("|", "\\|") for c in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, marks, *cells))


def bar_table(bars: Sequence[Bar]) -> str:
    """Return a table of goals and measurements."""
    words = {True: "met", False: "**missed**", None: NOTHING}
    rows = [(bar.asked, bar.found, words[bar.met]) for bar in bars]
    return table(("target", "measured", ""), rows)
