"""The comparison as a picture: a bar for each contender on each network, longer where faster."""

from __future__ import annotations

from pathlib import Path

from shadergen.compiler import extras

from .report import Run
from .results import PEER

COLOURS = ("#4477aa", "#ee9933", "#228833", "#aa3377", "#999999", "#66ccee", "#bbaa33")
HEIGHT = 0.8  # of a network's bars together


def draw(run: Run, path: Path) -> bool:
    """Write the picture; return whether there was anything to compare with.

    Raises:
        ShadergenError: SG0606 when matplotlib is missing.
    """
    networks = [r for r in run.networks if r.times(PEER)]
    names = [n for n in run.names if n != PEER and any(r.times(n) for r in networks)]
    if not networks or not names:
        return False
    figure = extras.figure().Figure(figsize=(9, 1 + 0.75 * len(networks)), layout="constrained")
    axes = figure.subplots()
    thick = HEIGHT / len(names)
    for k, name in enumerate(names):
        for row, network in enumerate(networks):
            ratio = network.ratio(PEER, name)
            if ratio is None:
                continue
            y = row + (k - (len(names) - 1) / 2) * thick
            reach = [[ratio.median - ratio.p10], [ratio.p90 - ratio.median]]
            style = {"color": COLOURS[k % len(COLOURS)], "ecolor": "#222222", "capsize": 2}
            label = name if row == 0 else None
            axes.barh(y, ratio.median, thick * 0.9, xerr=reach, label=label, **style)
    axes.axvline(1, color="#222222", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(networks)), [r.name for r in networks])
    axes.invert_yaxis()
    axes.set_xlabel(f"times as fast as {PEER}, median of the rounds, 10 % to 90 %")
    axes.set_title(run.machine.renderer, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(names), fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})
    return True
