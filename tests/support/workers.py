"""Run jobs in other processes, so that one that crashes or hangs takes no other with it."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

STUCK = 10.0  # seconds for a killed process to end; one inside a hung driver may never
FORK = multiprocessing.get_context("fork")  # what is loaded before, every process has
Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ended:
    """What is left of a job whose process had to be replaced: why, and whether it took too long."""

    reason: str
    hung: bool = False


class Worker(Generic[Job, Result]):
    """A process that runs the jobs it is given, one at a time.

    Args:
        run: does a job; it runs in the process, which has what was loaded before.
        memory: bytes that the process may have of its own; 0 for as many as it likes.
    """

    def __init__(self, run: Callable[[Job], Result], memory: int = 0) -> None:
        self.pipe, theirs = FORK.Pipe()
        arguments = (run, theirs, self.pipe, memory)
        self.process: Any = FORK.Process(target=_serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()  # so that the pipe ends when the process does
        self.job: Job | None = None
        self.done = 0
        self.limit = self.deadline = 0.0

    def start(self, job: Job, limit: float) -> None:
        """Give it a job, for at most so many seconds."""
        self.job, self.limit = job, limit
        self.deadline = time.monotonic() + limit
        self.pipe.send(job)

    def result(self) -> Result | Ended | None:
        """Return what came of the job, or None while it runs."""
        if self.pipe.poll():
            try:
                self.done += 1
                return self.pipe.recv()  # type: ignore[no-any-return]
            except EOFError:
                self.process.join()
                return Ended(f"the process ended: {_ending(self.process.exitcode)}")
        if time.monotonic() > self.deadline:
            return Ended(f"it took more than {self.limit:g} seconds", hung=True)
        return None

    def stop(self) -> None:
        self.process.kill()
        self.process.join(STUCK)
        self.pipe.close()


def _serve(run: Callable[[Any], Any], pipe: Connection, theirs: Connection, memory: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sees to interrupts
    theirs.close()  # else the pipe would not end with the parent
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            os._exit(0)  # without the handlers that were the parent's
        pipe.send(run(job))


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def run_all(
    run: Callable[[Job], Result],
    jobs: Iterable[Job],
    count: int,
    limit: Callable[[Job], float],
    memory: int = 0,
    most: int = 0,
) -> Iterator[tuple[Job, Result | Ended]]:
    """Yield each job and what came of it, as they end.

    Args:
        run: does a job.
        jobs: what to do.
        count: of the processes.
        limit: seconds that a job may take.
        memory: see :class:`Worker`.
        most: jobs that a process does before another takes its place; 0 for all.
    """
    todo = iter(jobs)
    workers: list[Worker[Job, Result]] = []
    try:
        for _, job in zip(range(count), todo, strict=False):
            workers.append(Worker(run, memory))
            workers[-1].start(job, limit(job))
        while busy := [w for w in workers if w.job is not None]:
            first = min(w.deadline for w in busy) - time.monotonic()
            wait([w.pipe for w in busy], timeout=max(0.0, first))
            for worker in busy:
                result = worker.result()
                if result is None:
                    continue
                done, worker.job = worker.job, None
                if isinstance(result, Ended) or worker.done == most:
                    worker.stop()
                    workers.remove(worker)
                    worker = Worker(run, memory)
                    workers.append(worker)
                for job in todo:
                    worker.start(job, limit(job))
                    break
                assert done is not None
                yield done, result
    finally:
        for worker in workers:
            worker.stop()
