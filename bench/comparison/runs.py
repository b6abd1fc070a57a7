"""The record of all runs: speed relative to ncnn, by network.

One machine says little about another. ncnn, for one, takes four to six times as long where Mesa's
Vulkan driver may not use AVX-512, and this project at most a fifth longer.
So ratios are kept with where and when they were measured, and the smallest is what counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .bars import speed_bars
from .markdown import NOTHING, bar_table, table
from .results import OWN, PEER, NetworkResult, geometric_mean

CPUINFO = Path("/proc/cpuinfo")
OVERRIDE = "GALLIUM_OVERRIDE_CPU_CAPS"  # Mesa's variable; "avx" leaves AVX-512 alone unused


@dataclass(frozen=True)
class Recorded:
    """A run's ratios.

    Attributes:
        date: of the day, as 2026-11-22.
        machine: processor and driver.
        peer: the peer's version, where it is known.
        ratios: how many times as fast as the peer, by network.
        superseded: what has changed since, so that builds are no longer those; the run is shown and
            does not count.
    """

    date: str
    machine: str
    peer: str = ""
    ratios: dict[str, float] = field(default_factory=dict)
    superseded: str = ""


def vectors() -> str:
    """Return what the driver may use of the processor that decides how fast the peer is."""
    try:
        found = re.search(r"\bavx512f\b", CPUINFO.read_text("utf-8"))
    except OSError:
        return ""
    return "with AVX-512" if found and not os.environ.get(OVERRIDE) else "without AVX-512"


def recorded(date: str, machine: str, results: Sequence[NetworkResult]) -> Recorded:
    """Return what stays of a run."""
    ratios = {r.name: r.ratio(PEER, OWN) for r in results}
    known = {name: round(ratio.median, 2) for name, ratio in ratios.items() if ratio}
    versions = (r.contenders[PEER].version for r in results if PEER in r.contenders)
    return Recorded(date, machine, next(versions, ""), known)


def read_runs(data: dict[str, Any]) -> list[Recorded]:
    """Return the runs that a JSON file holds."""
    return [Recorded(**run) for run in data.get("runs", [])]


def with_run(runs: Sequence[Recorded], new: Recorded) -> list[Recorded]:
    """Return the runs and a new one; of two on one day and machine the smaller ratios stay."""
    merged = dict(new.ratios)
    others = []
    for run in runs:
        if (run.date, run.machine) != (new.date, new.machine):
            others.append(run)
            continue
        for name, ratio in run.ratios.items():
            merged[name] = min(ratio, merged.get(name, ratio))
    return [*others, Recorded(new.date, new.machine, new.peer, merged)]


def runs_data(runs: Sequence[Recorded]) -> list[dict[str, Any]]:
    """Return what JSON holds of the runs."""
    return [asdict(run) for run in runs]


def smallest(runs: Sequence[Recorded]) -> dict[str, float]:
    """Return the smallest ratio of each network in runs that count."""
    runs = [run for run in runs if not run.superseded]
    names = dict.fromkeys(name for run in runs for name in run.ratios)
    return {name: min(run.ratios[name] for run in runs if name in run.ratios) for name in names}


def mean_of(runs: Sequence[Recorded]) -> float:
    """Return the least geometric mean, of the smallest ratios or of any one run's that counts.

    A run may lack a network that is fast in others, so either may be the smaller.
    """
    each = [smallest(runs), *(run.ratios for run in runs if not run.superseded)]
    return min((geometric_mean(list(ratios.values())) for ratios in each if ratios), default=0.0)


def as_section(runs: Sequence[Recorded]) -> str:
    """Return the part of the page that is about all runs; those in parentheses do not count."""
    least = smallest(runs)
    names = [f"(run {k})" if run.superseded else f"run {k}" for k, run in enumerate(runs, 1)]
    head = ["network", "smallest", "largest", *names]
    rows = list(_rows(runs, least))
    lines = [
        f"{k}. "
        + "; ".join(filter(None, (f"{run.date}, {run.machine}", run.peer, _superseded(run))))
        for k, run in enumerate(runs, 1)
    ]
    return "\n\n".join(
        (table(head, rows), "\n".join(lines), bar_table(speed_bars(least, mean_of(runs))))
    )


def _rows(runs: Sequence[Recorded], least: dict[str, float]) -> Iterator[list[str]]:
    for name, ratio in least.items():
        each = [run.ratios.get(name) for run in runs]
        most = max(run.ratios[name] for run in runs if name in run.ratios and not run.superseded)
        yield [name, f"**{ratio:.1f}**", f"{most:.1f}", *map(_ratio, each)]
    means = [geometric_mean(list(run.ratios.values())) if run.ratios else None for run in runs]
    yield ["geometric mean", f"**{mean_of(runs):.1f}**", NOTHING, *map(_ratio, means)]


def _superseded(run: Recorded) -> str:
    return run.superseded and f"does not count: {run.superseded}"


def _ratio(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"
