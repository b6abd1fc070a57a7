"""Try models, say what came of them, save what fails.

make fuzz ARGS="--minutes 60 --jobs 2"
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.workers import run_all

from shadergen.compiler.frontends import keras, onnx  # noqa: F401 - once, for all processes

from .case import FAILED, STATUSES, Case, Verdict
from .jobs import KINDS, MEMORY, found, run_job, tried, verdict_of
from .judging import head, judge

GRAPHS = 5000
EVERY = 30.0  # seconds between lines of progress
KERAS_EVERY = 5  # every so manieth model is one of Keras
MOST_FINDINGS = 25  # that are made small
RESTART = 400  # models that a process tries


def main() -> int:
    """Return the exit status: 1 when anything is wrong, crashes or hangs."""
    parser = argparse.ArgumentParser(prog="fuzz", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--graphs", type=int, default=GRAPHS, metavar="N")
    parser.add_argument("--minutes", type=float, help="end after so many, whatever --graphs says")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS)
    backends = {"choices": ("torch", "jax"), "default": "torch"}  # jax compiles for each shape
    parser.add_argument("--keras-backend", **backends, help="what Keras computes with")
    parser.add_argument("--index", type=int, help="the one model of this number, in this process")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that a model may take")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), metavar="FOLDER")
    parser.add_argument("--replay", type=Path, metavar="FOLDER", help="a finding, in this process")
    arguments = parser.parse_args()
    os.environ["KERAS_BACKEND"] = arguments.keras_backend
    if arguments.replay:
        return print_verdict(judge(Case.load(arguments.replay)))
    if arguments.index is not None:
        kind = arguments.only or kind_of(arguments.index)
        return print_verdict(tried(arguments.seed, arguments.index, kind))
    return run(arguments)


def print_verdict(verdict: Verdict) -> int:
    print(verdict.status, verdict.code, verdict.kind, ", ".join(verdict.made_of))
    print(verdict.text or "", verdict.fallback)
    return int(verdict.failed)


def kind_of(index: int) -> str:
    return "keras" if index % KERAS_EVERY == KERAS_EVERY - 1 else "onnx"


def run(arguments: argparse.Namespace) -> int:
    if arguments.only != "onnx":
        from . import keras_models  # noqa: F401 - once, for all processes

    started = time.monotonic()
    until = started + 60 * arguments.minutes if arguments.minutes else float("inf")

    def jobs() -> Iterator[tuple[Any, ...]]:
        for index in itertools.count() if arguments.minutes else range(arguments.graphs):
            if time.monotonic() > until or (arguments.graphs and index >= arguments.graphs):
                return
            yield (tried, arguments.seed, index, arguments.only or kind_of(index))

    tally, failures = Tally(), []
    shown = started
    results = run_all(run_job, jobs(), arguments.jobs, lambda job: arguments.limit, MEMORY, RESTART)
    with contextlib.suppress(KeyboardInterrupt):  # print what was found until then
        for job, result in results:
            verdict = verdict_of(result)
            tally.add(verdict)
            if verdict.failed:
                failures.append((job, verdict))
                print(f"{verdict.status} {job[2]}: {last(verdict)}", flush=True)
            if time.monotonic() > shown + EVERY:
                shown = time.monotonic()
                print(f"{shown - started:.0f} s: {tally.line()}", flush=True)
    for job, verdict in failures[:MOST_FINDINGS]:
        report(job, verdict, arguments)
    print("\n".join(tally.lines()))
    print(f"{tally.line()} in {time.monotonic() - started:.0f} s, seed {arguments.seed}")
    return int(bool(failures))


def report(job: tuple[Any, ...], verdict: Verdict, arguments: argparse.Namespace) -> None:
    """Make a failure small, save it, and say how to repeat it."""
    _, seed, index, kind = job
    folder = arguments.findings / f"{seed}-{index}"
    small = found(seed, index, kind, verdict, folder, arguments.limit)
    print(f"\n{verdict.status} {kind} {index}: {verdict.text.strip()}")
    if small is not None:
        case, verdict = small
        print(f"made small: {', '.join(case.made_of)}; {case.options}; {last(verdict)}")
        print(f'repeat with: make fuzz ARGS="--replay {os.path.relpath(folder)}"')
    print(f'the whole: make fuzz ARGS="--seed {seed} --index {index} --only {kind}"', flush=True)


def last(verdict: Verdict) -> str:
    return (verdict.text.strip().splitlines() or [verdict.code])[-1]


class Tally:
    """How many models came to what."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.refusals: Counter[tuple[str, str]] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.unsure: Counter[str] = Counter()
        self.made_of: Counter[str] = Counter()

    def add(self, verdict: Verdict) -> None:
        self.counts[verdict.kind, verdict.status] += 1
        self.made_of.update(verdict.made_of)
        if verdict.status == "refused":
            self.refusals[verdict.kind, f"{verdict.code} {head(verdict.text)}"] += 1
        if verdict.status == "inconclusive":
            self.unsure[verdict.code] += 1
        if verdict.fallback:
            self.fallbacks[verdict.fallback] += 1

    def line(self) -> str:
        counts: Counter[str] = Counter()
        for (_, status), number in self.counts.items():
            counts[status] += number
        shown = [f"{counts[s]} {s}" for s in STATUSES if counts[s] or s in FAILED]
        return f"{counts.total()} models: {', '.join(shown)}"

    def lines(self) -> Iterator[str]:
        """Return what was refused and why, and how each kind of model fared."""
        yield "\nrefused, of both kinds of models:"
        for (kind, text), number in self.refusals.most_common():
            yield f"{number:6} {kind}: {text}"
        yield f"\noptions refused, and the model tried without: {self.fallbacks.total()}"
        for text, number in self.fallbacks.most_common():
            yield f"{number:6} {text}"
        yield f"\ninconclusive: {dict(self.unsure)}"
        yield "made of: " + ", ".join(f"{name} {n}" for name, n in self.made_of.most_common())
        for kind in sorted({kind for kind, _ in self.counts}):
            shown = ", ".join(f"{self.counts[kind, s]} {s}" for s in STATUSES)
            yield f"{kind or 'ended'}: {shown}"


if __name__ == "__main__":
    sys.exit(main())
