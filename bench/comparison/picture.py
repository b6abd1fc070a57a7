"""The runs as a picture: a bar for each network, from the smallest ratio to the largest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shadergen.compiler import extras

from .results import OWN, PEER
from .runs import Recorded, smallest

HEIGHT = 0.7  # of a bar


def draw(runs: Sequence[Recorded], path: Path) -> bool:
    """Write the picture; return whether there was anything to compare with.

    Raises:
        ShadergenError: SG0606 when matplotlib is missing.
    """
    least = smallest(runs)
    if not least:
        return False
    figure = extras.figure().Figure(figsize=(8, 1 + 0.4 * len(least)), layout="constrained")
    axes = figure.subplots()
    for row, (name, ratio) in enumerate(least.items()):
        most = max(run.ratios[name] for run in runs if name in run.ratios and not run.superseded)
        axes.barh(row, ratio, HEIGHT, color="#228833")
        axes.plot([ratio, most], [row, row], color="#222222", linewidth=1, marker="|")
    axes.axvline(1, color="#222222", linewidth=1)
    axes.set_yticks(range(len(least)), list(least))
    axes.invert_yaxis()
    axes.set_xlabel(f"{OWN}, times as fast as {PEER}: smallest of all runs, line to the largest")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})
    return True
