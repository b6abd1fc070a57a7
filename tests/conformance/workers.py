"""Run the cases of the suite in other processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from support import workers

from .suite import Case, Outcome, Suite

LIMITS = {"light": 300.0, "pytorch-operator": 300.0}  # seconds for a case of a kind
LIMIT = 60.0


def run_all(suite: Suite, cases: Sequence[Case], count: int) -> Iterator[tuple[Case, Outcome]]:
    """Yield each case and what became of it, as they end."""
    for case, outcome in workers.run_all(suite.run, cases, count, _limit):
        if isinstance(outcome, workers.Ended):
            outcome = Outcome("broken", "", outcome.reason)
        yield case, outcome


def _limit(case: Case) -> float:
    return LIMITS.get(case.kind, LIMIT)
