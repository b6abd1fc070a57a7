"""The shares of the multiply-add bound as a picture: networks in rows, GPUs in columns."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from shadergen.compiler import extras

from .results import NetworkResult
from .table import Gpu

DARK = 0.55  # shares above this have light letters


def draw(results: Sequence[NetworkResult], gpus: Sequence[Gpu], path: Path) -> bool:
    """Write the picture; return whether there was anything to draw.

    Raises:
        ShadergenError: SG0606 when matplotlib is missing.
    """
    rows = [r for r in results if not r.problem]
    if not rows or not gpus:
        return False
    size = (2 + 0.75 * len(gpus), 1.2 + 0.4 * len(rows))
    figure = extras.figure().Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    shares = [[(f.share if (f := r.of(gpu.name)) else None) for gpu in gpus] for r in rows]
    axes.pcolormesh(
        [[share or 0.0 for share in row] for row in shares],
        cmap="Greens",
        vmin=0,
        vmax=1,
        edgecolors="white",
        linewidth=1,
    )
    for y, row in enumerate(shares):
        for x, share in enumerate(row):
            text = "–" if share is None else f"{share:.0%}"
            color = "white" if (share or 0) > DARK else "#222222"
            axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", color=color, fontsize=9)
    middles = [k + 0.5 for k in range(max(len(rows), len(gpus)))]
    axes.set_yticks(middles[: len(rows)], [r.name for r in rows])
    axes.set_xticks(middles[: len(gpus)], [gpu.name for gpu in gpus], rotation=35, ha="right")
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("Share of the multiply-add bound", fontsize=10)
    with import_module("matplotlib").rc_context({"svg.hashsalt": path.stem}):  # ids do not vary
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})
    return True
