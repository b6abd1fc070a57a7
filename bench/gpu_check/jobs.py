"""Jobs of a stage, one after the other, each lost alone when it crashes, hangs or fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from support.workers import Ended, run_all

from .samples import Missing
from .setting import Record

GRACE = 0.1  # of the time for all jobs, which the last one may take longer
OUT_OF_TIME = "not finished: the time of the stage was up"


def run_jobs(
    run: Callable[[Record], Record], jobs: Sequence[Record], seconds: float, limit: float
) -> Iterator[Record]:
    """Yield the record of each job: the job with what ``run`` adds to it, or why that failed.

    Args:
        run: does a job in another process, which jobs share until one crashes or hangs.
        jobs: in order.
        seconds: for all of them. No job begins later; the last record then says how many were
            ``left``. The job that runs at that time is ended a little later.
        limit: seconds for one.
    """
    deadline = time.monotonic() + seconds
    begun = 0

    def in_time() -> Iterator[Record]:
        nonlocal begun
        for job in jobs:
            if time.monotonic() > deadline:
                return
            begun += 1
            yield job

    last = deadline + GRACE * seconds

    def time_for(job: Record) -> float:
        return min(limit, last - time.monotonic())

    for job, result in run_all(partial(_attempt, run), in_time(), 1, time_for):
        if not isinstance(result, Ended):
            yield result
        elif result.hung and time.monotonic() >= last:
            yield {**job, "problem": OUT_OF_TIME}
        else:
            yield {**job, "fault": result.reason}
    if begun < len(jobs):
        yield {"left": len(jobs) - begun}


def _attempt(run: Callable[[Record], Record], job: Record) -> Record:
    try:
        return {**job, **run(job)}
    except Missing as error:
        return {**job, "problem": str(error)}
    except Exception as error:  # of any of the programs that are measured
        return {**job, "fault": first_line(error)}


def first_line(error: Exception) -> str:
    """Return what an error says, in a line."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
