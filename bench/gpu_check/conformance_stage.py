"""A sample of the ONNX backend suite: as it comes, and with each kernel choice forced."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import onnx
from comparison.markdown import table
from conformance.matrix import CHOICES
from conformance.scoreboard import STATUSES, Scoreboard
from conformance.suite import Case, Suite
from support.forcing import forced

from .jobs import run_jobs
from .samples import CHOSEN, FEW, FORCED, QUICK_FEW, QUICK_FORCED, sample
from .setting import Record, Setting, reason

SHARE = 90
LIMIT = 30.0  # seconds for a case
OK = ("pass", "compile-time")


def run(setting: Setting, seconds: float) -> Iterator[Record]:
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
        os.environ["ONNX_MODELS"] = folder  # where the suite writes the data of networks
        suite = Suite()
        jobs = jobs_of(suite.cases, setting)
        cases = {case.name: case for case in suite.cases}
        yield from run_jobs(partial(_try, suite, cases, _expected()), jobs, seconds, LIMIT)


def jobs_of(cases: Sequence[Case], setting: Setting) -> list[Record]:
    """Return what to try: the sample, the same for the GPU's own profile, then forced choices.

    The forced choices take turns, so that each is tried if the time is short.
    """
    few, forced_few = (QUICK_FEW, QUICK_FORCED) if setting.quick else (FEW, FORCED)
    own = f"device={setting.own}"
    jobs = [{"forced": way, "case": c.name} for way in ("", own) for c in sample(cases, few)]
    chosen = sample(cases, forced_few, CHOSEN)
    return jobs + [{"forced": choice, "case": c.name} for c in chosen for choice in CHOICES]


def _expected() -> dict[str, str]:
    """Return the status of each case on the scoreboard; nothing for another version of onnx."""
    board = Scoreboard.load()
    known = board.version == onnx.__version__
    return {case.name: o.status for case, o in board.results.items()} if known else {}


def _try(
    suite: Suite, cases: Mapping[str, Case], expected: Mapping[str, str], job: Record
) -> Record:
    with forced(job["forced"]):
        outcome = suite.run(cases[job["case"]])
    lost = not job["forced"] and expected.get(job["case"]) in OK and not outcome.ok
    found: Record = {"status": outcome.status}
    if outcome.failed or lost:
        found["fault"] = f"{outcome.status} {outcome.code}: {outcome.reason}".replace(" :", ":")
    return found


def summary(records: Sequence[Record]) -> dict[str, Any]:
    counts: dict[str, Counter[str]] = {}
    for r in records:
        if "case" in r:
            counts.setdefault(r["forced"], Counter())[r.get("status", "broken")] += 1
    return {
        "counts": {choice: dict(c) for choice, c in counts.items()},
        "failed": [r for r in records if reason(r)],
        "left": sum(r.get("left", 0) for r in records),
    }


def section(summary: Mapping[str, Any]) -> str:
    rows = []
    for choice, counts in summary["counts"].items():
        numbers = (str(counts.get(status) or "") for status in STATUSES)
        rows.append((f"`{choice}`" if choice else "nothing", str(sum(counts.values())), *numbers))
    words = (
        "`compile-time`: the compiler computes the result. "
        "`broken`: no result and no refusal, for example because of a crash."
    )
    parts = ["### Conformance", words, table(("forced", "cases", *STATUSES), rows)]
    failed = [
        f"- {r['case']} ({r['forced'] or 'nothing forced'}): {reason(r)}" for r in summary["failed"]
    ]
    parts += ["\n".join(failed)] * bool(failed)
    parts += [f"Not tried for want of time: {summary['left']} cases."] * bool(summary["left"])
    return "\n\n".join(parts)
