"""``tune``: measured times of kernels against the predictions of the GPU's own device profile."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from comparison.markdown import NOTHING, table

from shadergen.compiler.options import Options
from shadergen.compiler.tuning.session import Session, tune_model
from shadergen.compiler.tuning.trials import Settings

from .jobs import run_jobs
from .samples import model_of, networks
from .setting import Record, Setting, file_name, reason

SHARE = 110
LIMIT = 120.0  # seconds for a network
BEGIN = 0.6  # of a network's time: then tune begins no other layer
KEPT = 0  # seconds of tuning: compares what the file has
AGAIN = 20.0  # seconds to read it
TRIALS = Settings(frames=10, warm_up=4, node_seconds=2.0)


def run(setting: Setting, seconds: float) -> Iterator[Record]:
    names = [entry.name for entry in networks(setting.quick)]
    began = time.monotonic()
    for number, name in enumerate(names):
        left = seconds - (time.monotonic() - began)
        if left <= 0:
            yield {"left": len(names) - number}
            return
        share = left / (len(names) - number)
        job = {"network": name, "seconds": round(share * BEGIN, 1)}
        (record,) = run_jobs(partial(_tune, setting), [job], share, LIMIT)
        if reason(record):  # what the tuning file holds by then still counts
            again = {"network": name, "seconds": KEPT}
            (kept,) = run_jobs(partial(_tune, setting), [again], AGAIN, AGAIN)
            record = {**kept, **record}
        yield record


def _tune(setting: Setting, job: Record) -> Record:
    model = model_of(job["network"], setting.quick, setting.folder / "models")
    folder = setting.folder / "tuning"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{file_name(job['network'])}.json"
    options = Options(device=setting.own)
    limit = job["seconds"]
    if limit != KEPT:
        file.unlink(missing_ok=True)
    found = tune_model(model.path, options, file, TRIALS, limit, True, lambda *what: None)
    return record_of(found)


def record_of(found: Session) -> Record:
    """Return the counts and correlations of a session."""
    overall, within, gain = found.correlation(), found.correlation_within(), found.gain()
    return {
        "layers": len(found.outcomes),
        "left_layers": found.left,
        "candidates": sum(len(o.measured) for o in found.outcomes),
        "overall": _rounded(overall),
        "within": _rounded(within),
        "gain": _rounded(gain),
        "fault": "; ".join(f"{layer}, {choice}: {what}" for layer, choice, what in found.wrong),
        "wrong": len(found.wrong),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def summary(records: Sequence[Record]) -> dict[str, Any]:
    return {"networks": list(records)}


def section(summary: Mapping[str, Any]) -> str:
    found = [r for r in summary["networks"] if "candidates" in r]
    rows = []
    for r in found:
        layers = f"{r['layers']} of {r['layers'] + r['left_layers']}"
        numbers = (_number(r[k]) for k in ("overall", "within", "gain"))
        rows.append((r["network"], layers, str(r["candidates"]), *numbers, str(r["wrong"])))
    head = ("network", "layers", "candidates", "overall", "within a layer", "tuning gains", "wrong")
    words = (
        "Spearman's rank correlation of predicted and measured times of kernels: over all "
        "candidates, and the mean of those among the candidates of each layer. Last, how many "
        "times as long the measured layers take without tuning, and how many candidates are wrong."
    )
    parts = ["### Prediction", words, table(head, rows)]
    problems = [f"- {r['network']}: {reason(r)}" for r in summary["networks"] if reason(r)]
    return "\n\n".join([*parts, *["\n".join(problems)] * bool(problems)])


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"
