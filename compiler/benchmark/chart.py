"""A benchmark as a picture: a bar for each build, made of its passes, and its latency beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...backends.replacing import replacing_file
from ...errors import ShadergenError, printable, reason
from .. import extras

if TYPE_CHECKING:
    from pathlib import Path

    from .report import Report
    from .results import BuildResult

SUFFIXES = (".svg", ".png")
COLOURS = {"fragment": "#4477aa", "compute": "#ee9933"}
LETTERS = 110  # across the picture
FEW = 5  # letters that still say which pass it is
BAR, FRAMES = 0.42, 0.34  # height of the bar, and how far above it the frames are


def check_chart(path: Path) -> None:
    """Find out before the work whether a chart can be drawn.

    Raises:
        ShadergenError: SG0301, SG0501, SG0606.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ShadergenError(
            "SG0301", f"--chart {path} is not supported", supported=", ".join(SUFFIXES)
        )
    if not path.absolute().parent.is_dir():
        raise ShadergenError("SG0501", f"'{path.parent}' is not a folder")
    extras.figure()


def draw_chart(report: Report, path: Path) -> None:
    """Write the chart as SVG or PNG.

    Raises:
        ShadergenError: SG0501 when it cannot be written, SG0606 when matplotlib is missing.
    """
    count = len(report.builds)
    figure = extras.figure().Figure(figsize=(10, 1.6 + 0.9 * count), layout="constrained")
    axes = figure.subplots()
    widest = max(max(b.passes_ms, b.latency_ms.p95) for b in report.builds)
    for row, build in enumerate(report.builds):
        _draw_passes(axes, row, build, widest)
        _draw_frames(axes, row, build)
    names = [printable(b.name) for b in report.builds]
    axes.set_yticks(range(count), names, parse_math=False)
    axes.set_ylim(count - 0.6, -0.6)
    axes.set_xlim(0, widest * 1.03)
    axes.set_xlabel("milliseconds")
    axes.set_title(report.machine.renderer, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    _legend(figure, axes, report)
    try:
        date = {"Date": None} if path.suffix.lower() == ".svg" else {}
        with replacing_file(path) as fresh:
            figure.savefig(fresh, dpi=150, metadata=date)
    except OSError as error:
        raise ShadergenError("SG0501", f"cannot write '{path}'", why=reason(error)) from None


def _draw_passes(axes: Any, row: int, build: BuildResult, widest: float) -> None:
    """Draw the passes from left to right, as they run."""
    left = 0.0
    for p in build.passes:
        axes.barh(
            row, p.milliseconds, BAR, left, color=COLOURS[p.stage], edgecolor="white", linewidth=0.8
        )
        room, name = int(LETTERS * p.milliseconds / widest), printable(p.name)
        if room >= min(len(name), FEW):
            shown = name if len(name) <= room else name[: room - 1] + "…"
            style = {"ha": "center", "va": "center", "color": "white", "fontsize": 8}
            axes.text(left + p.milliseconds / 2, row, shown, parse_math=False, **style)
        left += p.milliseconds


def _draw_frames(axes: Any, row: int, build: BuildResult) -> None:
    """Draw every frame as a dot, from the median a line to the 95th percentile."""
    y, latency = row - FRAMES, build.latency_ms
    frames = [f for f in build.frames_ms if f <= latency.p95]
    axes.plot(frames, [y] * len(frames), ".", color="#222222", alpha=0.25, markeredgewidth=0)
    axes.plot([latency.median, latency.p95], [y, y], "-", color="#222222", linewidth=1)
    axes.plot(latency.median, y, "D", color="#222222", markersize=5)


def _legend(figure: Any, axes: Any, report: Report) -> None:
    stages = {p.stage for b in report.builds for p in b.passes}
    for stage in sorted(stages, reverse=True):
        axes.barh(0, 0, color=COLOURS[stage], label=f"{stage} passes, median of each")
    axes.plot(
        [], [], "D-", color="#222222", markersize=5, label="frame: median and 95th percentile"
    )
    axes.plot([], [], ".", color="#222222", alpha=0.4, markeredgewidth=0, label="one frame")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
