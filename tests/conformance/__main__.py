"""Run the suite, say how far it is, write the scoreboard.

make conformance                         every case
make conformance ARGS="--only conv"      those whose names match; stores nothing
make matrix                              every case with each kernel choice forced
make matrix ARGS="compute fetch=texel"   the choices with one of these words in them
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable

import onnx
from support.forcing import forced

from shadergen.runtime_glue.python import HeadlessContext

from .matrix import CHOICES, Matrix
from .scoreboard import DOCUMENT, STATUSES, Scoreboard
from .suite import Case, Outcome, Suite
from .workers import run_all

EVERY = 20.0  # seconds between lines of progress, where the output is no terminal


def main() -> int:
    """Return the exit status: 1 when a case is wrong or broken."""
    parser = argparse.ArgumentParser(prog="conformance", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("words", nargs="*", help="with --matrix: parts of the choices to force")
    parser.add_argument("--only", metavar="PATTERN", help="cases whose names match; stores nothing")
    parser.add_argument("--matrix", action="store_true", help="force each kernel choice in turn")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        os.environ["ONNX_MODELS"] = folder  # where the suite writes the data of networks
        suite = Suite()
        only = re.compile(arguments.only or "")
        cases = [case for case in suite.cases if only.search(case.name)]
        if not arguments.matrix:
            results = run(suite, cases, arguments.workers, "")
            if not arguments.only:
                store(results)
            return failures(results, arguments.only)
        failed = 0
        cases = [case for case in cases if case.kind != "light"]  # millions of constants in code
        for choice in CHOICES:
            if not arguments.words or any(word in choice for word in arguments.words):
                print(f"{choice}: ", end="", flush=True)
                results = run(suite, cases, arguments.workers, choice)
                failed |= failures(results, None)
                if not arguments.only:
                    Matrix.load().with_choice(choice, results).save()
    if not arguments.only:
        Scoreboard.load().save()
    return failed


def run(suite: Suite, cases: list[Case], workers: int, choice: str) -> dict[Case, Outcome]:
    """Run cases with a choice forced, and print how many came to what."""
    started = time.monotonic()
    with forced(choice):  # which workers inherit
        results = gathered(run_all(suite, cases, workers), len(cases))
    counts = Counter(o.status for o in results.values())
    print(", ".join(f"{counts[s]} {s}" for s in STATUSES), f"in {time.monotonic() - started:.0f} s")
    return results


def failures(results: dict[Case, Outcome], only: str | None) -> int:
    """Print what failed, and with ``only`` what was refused; return the exit status."""
    for case, outcome in results.items():
        if outcome.failed or (only and not outcome.ok):
            print(f"{outcome.status} {outcome.code} {case.name}: {outcome.reason}", flush=True)
    return int(any(outcome.failed for outcome in results.values()))


def store(results: dict[Case, Outcome]) -> None:
    """Write the scoreboard."""
    board = Scoreboard(onnx.__version__, renderer(), results)
    board.save()
    for name, totals in board.totals().items():
        print(f"{name}: {totals['pass']} of {totals.total()} pass")
    print(f"written: {DOCUMENT}")


def gathered(running: Iterable[tuple[Case, Outcome]], total: int) -> dict[Case, Outcome]:
    """Gather the results, showing progress."""
    results: dict[Case, Outcome] = {}
    counts: Counter[str] = Counter()
    shown = time.monotonic()
    for case, outcome in running:
        results[case] = outcome
        counts[outcome.status] += 1
        text = ", ".join(f"{counts[s]} {s}" for s in STATUSES if counts[s])
        if sys.stderr.isatty():
            print(f"\r{len(results)}/{total}: {text}\033[K", end="", file=sys.stderr, flush=True)
        elif time.monotonic() > shown + EVERY:
            shown = time.monotonic()
            print(f"{len(results)}/{total}: {text}", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return results


def renderer() -> str:
    """Return what GL runs on."""
    with HeadlessContext() as context:
        return str(context.info().renderer)


if __name__ == "__main__":
    sys.exit(main())
