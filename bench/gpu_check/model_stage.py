"""Makes the networks' files and the right outputs, so that no other stage spends time on that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from comparison.markdown import table

from .jobs import run_jobs
from .samples import model_of, networks
from .setting import Record, Setting, reason

SHARE = 100
LIMIT = 90.0  # seconds for a network


def run(setting: Setting, seconds: float) -> Iterator[Record]:
    jobs = [{"network": entry.name} for entry in networks(setting.quick)]
    yield from run_jobs(partial(_make, setting), jobs, seconds, LIMIT)


def _make(setting: Setting, job: Record) -> Record:
    model = model_of(job["network"], setting.quick, setting.folder / "models")
    return {"input": list(model.x.shape[1:])}


def summary(records: Sequence[Record]) -> dict[str, Any]:
    return {"networks": list(records)}


def section(summary: Mapping[str, Any]) -> str:
    rows = [
        (r["network"], reason(r) or "×".join(map(str, r["input"])))
        for r in summary["networks"]
        if "network" in r
    ]
    return "### Networks\n\n" + table(("network", "input"), rows)
