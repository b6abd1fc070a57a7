"""Candidates of one node run in turns, and the time that each takes.

A frame draws the node several times, so that launch costs count as little as in a network. A runner
without the node measures the rest of the frame (copies and the wait); its median is subtracted.
Each round draws a frame of every candidate in random order, so that other load affects all equally.
Clearly slower candidates are left out of later rounds. Idle GPUs run at low clock speeds, so frames
of different rounds do not compare: a candidate that is left out takes as many times as long as the
best one as it did in its own rounds. Times come from timer queries if plausible, otherwise from the
CPU's clock after a wait.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import ShadergenError
from ...ir.reference import evaluate_graph
from ...passes.placement.target import TOLERANCES
from ...records import dataclass
from ..benchmark.latency import believable, latency
from ..judging import error_and_bound
from ..random_inputs import random_inputs
from .isolation import MEASURED, build_of, isolate, repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ir.graph import Choice, Node
    from ...passes.placement.target import Target
    from ..runtimes import Build, Context, Runner

ENOUGH = 5.0  # milliseconds of the node in a frame
LEAST_FRAME, MOST_SERIES = 0.01, 128  # milliseconds that a node alone is taken to need, times drawn
FIRST_ROUNDS, FAR, CLEARLY = 2, 3.0, 1.5  # out of the running: early, and after the warm-up
LEAST_ROUNDS = 3  # of frames that count, whatever time is left
MEMORY = 1 << 30  # bytes of textures and weights of all candidates together
LEAST = 100.0  # nanoseconds: noise must not make a node free or less


@dataclass(frozen=True)
class Settings:
    """Settings of a measurement; see ``shadergen tune --help``."""

    frames: int = 20
    warm_up: int = 10
    node_seconds: float = 20.0
    seed: int = 0


class Trial(NamedTuple):
    """A measured candidate: its time in nanoseconds, or its error."""

    choice: Choice
    nanoseconds: float
    wrong: str = ""


@dataclass(eq=False)
class _Candidate:
    """A runner and the milliseconds of its frames.

    ``slowdown`` is how many times as long as the best candidate it took when it was left out.
    """

    runner: Runner
    times: list[float] = field(default_factory=list)
    queried: list[float] = field(default_factory=list)
    slowdown: float | None = None

    def draw(self) -> None:
        self.times.append(latency(self.runner))

    def query(self) -> bool:
        """Draw a frame for its passes' times; return whether they can be believed."""
        start = time.perf_counter()
        self.runner.run(timed=True)
        self.runner.wait()
        whole = (time.perf_counter() - start) * 1e3
        passes = self.runner.timings()
        if not believable(passes, whole):
            return False
        own = (MEASURED in p.layers for p in self.runner.build.passes)
        self.queried.append(sum(t for t, mine in zip(passes, own, strict=True) if mine))
        return True


def measure(
    node: Node,
    choices: Sequence[Choice],
    target: Target,
    context: Context,
    settings: Settings,
    progress: Callable[[str], None],
) -> list[Trial]:
    """Measure choices of a placed node, likely ones first.

    Choices that this adapter cannot carry out, or whose result differs from the reference, are
    wrong. Where all of them together would take too much memory the last ones are not tried.

    Raises:
        ShadergenError: SG0604 when the context is lost.
    """
    trials: list[Trial] = []
    correct: dict[Choice, _Candidate] = {}
    plain = isolate(node, choices[0], target)
    inputs = random_inputs(plain, settings.seed)
    expected = evaluate_graph(plain, inputs, np.float32)
    with ExitStack() as stack:

        def start(build: Build) -> Runner:
            runner = context.runner(build)
            stack.callback(runner.close)
            runner.init()
            for name, array in inputs.items():
                runner.upload(name, array)
            latency(runner)
            return runner

        series, size, baseline = 0, 0, None
        for number, choice in enumerate(choices, 1):
            progress(f"compiling candidate {number} of {len(choices)}: {choice}")
            try:
                build = build_of(isolate(node, choice, target), target)
                size += len(build.weights) + sum(t.bytes for t in build.textures.values())
                if correct and size > MEMORY:
                    break
                if not series:
                    first, rest = start(build), start(repeated(build, 0))
                    once = _shortest(first) - _shortest(rest)
                    series = max(1, min(MOST_SERIES, int(ENOUGH / max(once, LEAST_FRAME))))
                    baseline = _Candidate(rest)
                runner = start(repeated(build, series))
                runner.check()
                wrong = _difference(runner, expected, choice)
            except ShadergenError as error:
                if error.code == "SG0604":
                    raise
                wrong = error.what
            if wrong:
                trials.append(Trial(choice, np.inf, wrong))
            else:
                correct[choice] = _Candidate(runner)
        if correct:
            assert baseline is not None
            _measure_in_turns(list(correct.values()), baseline, settings, progress)
            trials += _results(correct, baseline, series)
    return trials


def _shortest(runner: Runner) -> float:
    return min(latency(runner) for _ in range(FIRST_ROUNDS))


def _difference(runner: Runner, expected: dict[str, np.ndarray], choice: Choice) -> str:
    """Return how a drawn frame differs from the reference, or nothing."""
    for name, want in expected.items():
        got = runner.read(name)
        finite = np.isfinite(want)
        tolerance = TOLERANCES[choice.precision or "highp"]
        errors, bound = error_and_bound(np.abs(got - want), want, tolerance)
        error = float(errors[finite].max(initial=0))
        if not error <= bound:
            return f"it differs from the reference by {error:.3g}, at most {bound:.3g} is allowed"
    return ""


def _measure_in_turns(
    candidates: list[_Candidate],
    baseline: _Candidate,
    settings: Settings,
    progress: Callable[[str], None],
) -> None:
    rng = np.random.default_rng(0)
    limit = time.perf_counter() + settings.node_seconds
    live = candidates
    rounds = settings.warm_up + settings.frames
    queries = True
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}, {len(live)} candidates")
        late = time.perf_counter() > limit
        if late and len(baseline.times) >= LEAST_ROUNDS:
            break
        for k in rng.permutation(len(live) + 1):
            (baseline, *live)[k].draw()
        if number == settings.warm_up - 1:
            live = _nearest(live, CLEARLY, baseline)
            for one in (baseline, *live):
                one.times.clear()
        elif FIRST_ROUNDS <= number + 1 < settings.warm_up:
            live = _nearest(live, FAR, baseline)
        if number >= settings.warm_up and queries:
            queries = all(one.query() for one in live)
    if not queries:
        for one in candidates:
            one.queried.clear()
    for one in candidates:
        one.runner.check()


def _nearest(live: list[_Candidate], times: float, baseline: _Candidate) -> list[_Candidate]:
    """Return the candidates whose best frame is within a factor of the overall best."""
    frames = {one: min(one.times) for one in live}
    best = min(frames.values())
    rest = min(min(baseline.times), best / 2)  # the node takes the most of a frame
    for one, frame in frames.items():
        if frame > times * best:
            one.slowdown = (frame - rest) / (best - rest)
    return [one for one in live if one.slowdown is None]


def _results(correct: dict[Choice, _Candidate], baseline: _Candidate, series: int) -> list[Trial]:
    rest = float(np.median(baseline.times))

    def milliseconds(one: _Candidate) -> float:
        return float(np.median(one.queried or one.times)) - (0.0 if one.queried else rest)

    least = LEAST * series / 1e6
    best = max(least, min(milliseconds(o) for o in correct.values() if o.slowdown is None))
    results = []
    for choice, one in correct.items():
        whole = milliseconds(one) if one.slowdown is None else best * one.slowdown
        results.append(Trial(choice, float(round(max(least, whole) / series * 1e6))))
    return results
