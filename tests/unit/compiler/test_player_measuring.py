"""How ``bench`` spends its time on a user shader."""

from __future__ import annotations

import pytest

from shadergen.compiler.player import measuring

FIRST, FRAME = 500.0, 100.0  # milliseconds


@pytest.mark.parametrize(
    ("frames", "seconds", "measured", "runs"),
    [
        (50, 60.0, 50, 8),  # three pairs of runs, after two
        (50, 5.05, 29, 4),  # one pair of 500 and 500 + 29 * 100, after 500 and 600
        (50, 0.5, 1, 2),
        (1, 60.0, 1, 8),
    ],
)
def test_frames_and_repeats_fit_the_time(monkeypatch, frames, seconds, measured, runs):
    now, done = 0.0, []

    def once(number: int) -> float:
        nonlocal now
        done.append(number)
        milliseconds = FIRST + (number - 1) * FRAME
        now += milliseconds / 1e3
        return milliseconds

    monkeypatch.setattr(measuring.time, "perf_counter", lambda: now)
    steps: list[str] = []
    first, frame, found = measuring._times(once, frames, seconds, steps.append)
    assert (first, frame) == (FIRST, pytest.approx(FRAME))
    assert (found, len(done)) == (measured, runs)
    assert now <= max(seconds, 1.1)
    assert steps[0] == "compiling"
