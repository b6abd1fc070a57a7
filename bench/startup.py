"""Measure waiting times: cold command lines, and ESPCN frames on the installed GL.

ESPCN x2 at 360x640, once as the compiler chooses and once for every number of render targets and
weight storage. Builds take turns frame by frame, in mixed order, so that other load slows all of
them; "default" equals "--mrt 4 --weights constants": their ratio shows the noise. In milliseconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import shadergen
from shadergen.runtime_glue.python import HeadlessContext, Runner

MODEL = Path(__file__).resolve().parents[1] / "examples" / "espcn" / "espcn_x2.h5"
SIZE, DEFAULT, WARM_UP = "360x640", "default", 2
BUILDS = {DEFAULT: {}} | {
    f"--mrt {mrt} --weights {weights}": {"mrt": mrt, "weights": weights}
    for weights in ("constants", "ubo", "texture")
    for mrt in (1, 2, 4)
}


def summary(times: list[float]) -> dict[str, float]:
    values = np.percentile(times, (10, 50, 90)).tolist()
    return dict(zip(("p10", "median", "p90"), values, strict=True))


def cold(runs: int, *arguments: str | Path) -> dict[str, float]:
    """Time a command in processes of their own, after one that fills the disk's cache."""
    arguments, times = ("-m", "shadergen", *arguments), []
    for _ in range(runs + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - start) * 1e3)
    return summary(times[1:])


def frame(runner: Runner) -> tuple[float, ...]:
    """Draw a frame and return the milliseconds of each pass, or of the frame as a whole."""
    start = time.perf_counter()
    runner.run(timed=True)
    if passes := runner.timings():
        return passes
    runner.read("subpixel")  # waits for the GPU
    return ((time.perf_counter() - start) * 1e3,)


def play(scratch: Path, frames: int) -> dict[str, dict[str, object]]:
    results: dict[str, dict[str, object]] = {}
    with HeadlessContext() as context, ExitStack() as stack:
        runners = {}
        for number, (name, options) in enumerate(BUILDS.items()):
            folder = scratch / str(number)
            shadergen.compile_model(MODEL, folder, input_size=SIZE, **options)
            start = time.perf_counter()
            runners[name] = stack.enter_context(Runner(shadergen.load(folder), context))
            results[name] = {"init": (time.perf_counter() - start) * 1e3}
            runners[name].upload("low", np.random.default_rng(0).random((1, 360, 640, 1), "f4"))
        rng, names = np.random.default_rng(0), list(BUILDS)
        rounds = [{n: frame(runners[n]) for n in rng.permutation(names)} for _ in range(frames)]
        for name, runner in runners.items():
            runner.check()
            times = [r[name] for r in rounds[WARM_UP:]]
            ratios = [sum(r[name]) / sum(r[DEFAULT]) for r in rounds[WARM_UP:]]
            passes = runner.build.passes
            medians = np.median(times, axis=0) if all(len(t) > 1 for t in times) else ()
            results[name] |= {
                "renderer": context.info().renderer,
                "gpu_passes": len(passes),
                "frame": summary([sum(t) for t in times]),
                "passes": {p.name: float(ms) for p, ms in zip(passes, medians, strict=False)},
                "ratio": float(np.median(ratios)),
            }
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--runs", type=int, default=10, help="cold starts of each command")
    parser.add_argument("--frames", type=int, default=10, help="frames of each build, after a few")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        command = ("compile", MODEL, "-o", Path(scratch, "cold"), "--input-size", SIZE)
        starts = {"--help": cold(chosen.runs, "--help"), "compile": cold(chosen.runs, *command)}
        builds = play(Path(scratch), WARM_UP + chosen.frames)
    if chosen.json:
        print(json.dumps({"cold": starts, "frames": builds}, indent=1))
        return
    console = Console(width=100)
    table = Table("cold start", "median ms", "10..90 %", title=f"espcn_x2.h5, {SIZE}")
    for name, t in starts.items():
        table.add_row(f"shadergen {name}", f"{t['median']:.0f}", f"{t['p10']:.0f}..{t['p90']:.0f}")
    console.print(table)
    columns = ("build", "GPU passes", "init ms", "frame ms", "10..90 %", "ratio")
    table = Table(*columns, title=f"frames of {SIZE} on {builds[DEFAULT]['renderer']}")
    for name, b in builds.items():
        t, spread = b["frame"], "{p10:.1f}..{p90:.1f}".format(**b["frame"])
        numbers = (f"{b['init']:.0f}", f"{t['median']:.1f}", spread, f"{b['ratio']:.2f}")
        table.add_row(name, str(b["gpu_passes"]), *numbers)
    console.print(table)
    passes = "; ".join(f"{n} {ms:.1f}" for n, ms in builds[DEFAULT]["passes"].items())
    print(f"default, ms of each GPU pass: {passes or 'this GL has no timer'}")


if __name__ == "__main__":
    main()
