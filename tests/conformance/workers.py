"""Run cases in other processes, so that one that crashes or hangs takes no other with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from .suite import Case, Outcome, Suite

FORK = multiprocessing.get_context("fork")  # the suite is loaded once, before
LIMITS = {"light": 300.0, "pytorch-operator": 300.0}  # seconds for a case of a kind
LIMIT = 60.0


class Worker:
    """A process that runs the cases it is given, one at a time."""

    def __init__(self, suite: Suite) -> None:
        self.pipe, theirs = FORK.Pipe()
        self.process: Any = FORK.Process(target=_serve, args=(suite, theirs), daemon=True)
        self.process.start()
        theirs.close()  # so that the pipe ends when the process does
        self.case: Case | None = None
        self.deadline = 0.0

    def start(self, case: Case) -> None:
        self.case = case
        self.deadline = time.monotonic() + LIMITS.get(case.kind, LIMIT)
        self.pipe.send(case)

    def outcome(self) -> Outcome | None:
        """Return what became of the case, or None while it runs."""
        if self.pipe.poll():
            try:
                return self.pipe.recv()  # type: ignore[no-any-return]
            except EOFError:
                self.process.join()
                return Outcome("broken", "", f"the process ended: {_ending(self.process.exitcode)}")
        if time.monotonic() > self.deadline:
            return Outcome("broken", "", f"it took more than {self.limit:g} seconds")
        return None

    @property
    def limit(self) -> float:
        return LIMITS.get(self.case.kind, LIMIT) if self.case else LIMIT

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(suite: Suite, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sees to interrupts
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            os._exit(0)  # without the handlers that were the parent's
        pipe.send(suite.run(case))


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def run_all(suite: Suite, cases: Sequence[Case], count: int) -> Iterator[tuple[Case, Outcome]]:
    """Yield each case and what became of it, as they end."""
    todo = iter(cases)
    workers = [Worker(suite) for _ in range(min(count, len(cases)))]
    try:
        for worker in workers:
            worker.start(next(todo))
        while busy := [w for w in workers if w.case is not None]:
            wait(
                [w.pipe for w in busy],
                timeout=max(0.0, min(w.deadline for w in busy) - time.monotonic()),
            )
            for worker in busy:
                outcome = worker.outcome()
                if outcome is None:
                    continue
                case, worker.case = worker.case, None
                assert case is not None
                if not worker.process.is_alive() or outcome.status == "broken":
                    worker.stop()
                    workers.remove(worker)
                    worker = Worker(suite)
                    workers.append(worker)
                following = next(todo, None)
                if following is not None:
                    worker.start(following)
                yield case, outcome
    finally:
        for worker in workers:
            worker.stop()
