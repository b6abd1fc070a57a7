"""Frames of several builds, in turns.

A frame is ``Runner.run`` and ``Runner.wait``, which reads one texel of each output back: nothing
less proves that the GPU is done. Every round draws one frame of each build, in an order of its own,
so that other load on the machine meets all of them; ratios compare frames of one round.

Frames whose passes are timed are drawn in rounds between and do not count as latency, since timing
keeps passes apart that a GPU would overlap. Timer queries are not believed blindly: Mesa's llvmpipe
has passes that take nothing (compute) or since the machine started (the first after a wait). Such a
build's passes are then drawn one by one, with a wait after each.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..runtimes import Runner

TIMED_EVERY = 5  # rounds
SHORTEST = 5e-4  # milliseconds; no GPU starts and ends a pass within less
LONGEST = 1.1  # of the frame, by the CPU's clock: the sum of its passes
WAITS = 20


@dataclass
class Frames:
    """Milliseconds of a build's frames, of the passes of its timed frames, and of idle waits.

    ``queries`` says whether the passes are timed by queries, or by waiting for each.
    """

    latency: list[float] = field(default_factory=list)
    passes: list[tuple[float, ...]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    queries: bool = True

    def medians(self) -> tuple[float, ...]:
        """Return the median time of each pass."""
        return tuple(np.median(self.passes, axis=0).tolist())

    def time_passes(self, runner: Runner) -> None:
        """Draw a frame for its passes' times."""
        if self.queries:
            start = time.perf_counter()
            runner.run(timed=True)
            runner.wait()
            whole = (time.perf_counter() - start) * 1e3
            passes = runner.timings()
            self.queries = believable(passes, whole)
            if self.queries:
                self.passes.append(passes)
                return
            self.passes.clear()
        self.passes.append(runner.run_stepwise())


def run_in_turns(
    runners: Sequence[Runner],
    frames: int,
    warm_up: int,
    seconds: float | None,
    progress: Callable[[str], None],
) -> list[Frames]:
    """Draw frames of every build.

    Args:
        runners: with their inputs bound.
        frames: rounds to measure.
        warm_up: rounds before that.
        seconds: end after this time, with one round at least; None for no limit.
        progress: told the round at hand.

    Raises:
        ShadergenError: SG0604.
    """
    rng = np.random.default_rng(0)
    results = [Frames() for _ in runners]
    limit = np.inf if seconds is None else time.perf_counter() + seconds
    for number in range(warm_up):
        progress(f"warming up, {number + 1} of {warm_up}")
        for runner in runners:
            latency(runner)
        if time.perf_counter() > limit:
            break
    for runner, result in zip(runners, results, strict=True):
        result.waits = [_idle(runner) for _ in range(WAITS)]
    for number in range(frames):
        progress(f"frame {number + 1} of {frames}")
        for k in rng.permutation(len(runners)):
            results[k].latency.append(latency(runners[k]))
        if number % TIMED_EVERY == 0:
            for k in rng.permutation(len(runners)):
                results[k].time_passes(runners[k])
        if time.perf_counter() > limit:
            break
    for runner in runners:
        runner.check()
    return results


def believable(passes: Sequence[float], whole: float) -> bool:
    """Return whether a timer's times are plausible for a frame of ``whole`` milliseconds."""
    return bool(passes) and min(passes) >= SHORTEST and sum(passes) <= LONGEST * whole


def latency(runner: Runner, runs: int = 1) -> float:
    """Draw a frame, or several and wait for them together; return the milliseconds."""
    start = time.perf_counter()
    for _ in range(runs):
        runner.run()
    runner.wait()
    return (time.perf_counter() - start) * 1e3


def _idle(runner: Runner) -> float:
    start = time.perf_counter()
    runner.wait()
    return (time.perf_counter() - start) * 1e3
