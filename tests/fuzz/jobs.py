"""The jobs of workers, and how a failure becomes a finding: made small and saved."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.workers import Ended, Worker

from .case import Case, Verdict
from .draw import Draw
from .graphs import onnx_case
from .judging import judge
from .shrink import parts_of, shrink

KINDS = ("onnx", "keras")
MEMORY = 6 * 2**30
SECONDS = 120.0  # to make a case small in


def case_of(seed: int, index: int, kind: str) -> Case:
    """Return the case of a seed, a number and a kind."""
    draw = Draw(seed, KINDS.index(kind), index)
    if kind == "onnx":
        return onnx_case(draw)
    from .keras_models import keras_case  # Keras takes seconds to import

    return keras_case(draw)


def tried(seed: int, index: int, kind: str) -> Verdict:
    """Return what comes of a case; where Keras on torch contradicts a build, JAX decides."""
    case = case_of(seed, index, kind)
    verdict = judge(case)
    if kind == "keras" and verdict.status == "wrong" and os.environ["KERAS_BACKEND"] == "torch":
        with tempfile.TemporaryDirectory() as folder:
            case.save(Path(folder))
            command = [sys.executable, "-m", "fuzz", "--keras-backend", "jax", "--replay", folder]
            if not subprocess.run(command, capture_output=True).returncode:
                return replace(verdict, status="inconclusive", code="Keras's backends differ")
    return verdict


def run_job(job: tuple[Any, ...]) -> Any:
    """Do a job: a function and its arguments."""
    return job[0](*job[1:])


class Asking:
    """A worker that is asked one thing at a time, and replaced when that ends it."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.worker: Worker[Any, Any] = Worker(run_job, MEMORY)

    def __call__(self, *job: Any) -> Any:
        """Return what comes of a job, or Ended."""
        self.worker.start(job, self.limit)
        while (result := self.worker.result()) is None:
            self.worker.pipe.poll(max(0.0, self.worker.deadline - time.monotonic()))
        if isinstance(result, Ended):
            self.worker.stop()
            self.worker = Worker(run_job, MEMORY)
        return result

    def judge(self, case: Case) -> Verdict:
        return verdict_of(self(judge, case), case)

    def parts(self, case: Case) -> list[Case]:
        found = self(parts_of, case)
        return [] if isinstance(found, Ended) else found

    def close(self) -> None:
        self.worker.stop()


def verdict_of(result: Verdict | Ended, case: Case | None = None) -> Verdict:
    """Return a verdict on a job whose process may have ended."""
    if isinstance(result, Verdict):
        return result
    status = "hang" if result.hung else "crash"
    made_of = case.made_of if case else ()
    return Verdict(status, "" if result.hung else "process", result.reason, made_of)  # type: ignore[arg-type]


def found(
    seed: int, index: int, kind: str, verdict: Verdict, folder: Path, limit: float
) -> tuple[Case, Verdict] | None:
    """Make a failure small and save it; None where the case cannot even be made."""
    asking = Asking(limit)
    try:
        case = asking(case_of, seed, index, kind)
        if isinstance(case, Ended):
            return None
        case.save(folder / "whole")
        if verdict.status == "hang":
            asking.limit = limit / 2
        small, verdict = shrink(case, verdict, asking.judge, asking.parts, SECONDS)
        small.save(folder)
        return small, verdict
    finally:
        asking.close()
