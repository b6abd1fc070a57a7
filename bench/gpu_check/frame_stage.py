"""Frame times of the GPU's own device profile, of generic ones, and of 16 bits.

Builds of one network take turns, frame by frame (``compiler.benchmark.latency``). A frame is timed
by the processor's clock until the GPU is done; its passes by timer queries where the GL has them,
else by waiting for each. If a build crashes or hangs, each build of the network is tried alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from comparison.markdown import NOTHING, table

from shadergen.compiler.benchmark.ceilings import measure_ceilings
from shadergen.compiler.benchmark.latency import run_in_turns
from shadergen.compiler.benchmark.results import FLOPS, Spread
from shadergen.compiler.benchmark.shader_cache import without_shader_cache
from shadergen.compiler.benchmark.startup import start
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import HeadlessContext

from .jobs import first_line, run_jobs
from .samples import model_of, networks
from .setting import Record, Setting, reason

SHARE = 100
LIMIT = 60.0  # seconds for a network
FRAMES, WARM_UP = 50, 10
SECONDS, QUICK_SECONDS = 8.0, 2.0  # for the frames of a network
OWN = "own"  # the device profile of the GPU
BUILDS = {  # options of compile by the names in tables
    OWN: {},
    "own, 16 bits": {"precision": "mediump"},
    "gles30": {"device": "gles30"},
    "gles31-mobile": {"device": "gles31-mobile"},
    "webgl2-min": {"device": "webgl2-min"},
}
TIMED, ALONE = 0.6, 0.15  # of the stage's time: all builds of networks, single ones; rest: ceilings
CEILINGS: Record = {"ceilings": {}}


def run(setting: Setting, seconds: float) -> Iterator[Record]:
    jobs = [{"network": e.name, "builds": list(BUILDS)} for e in networks(setting.quick)]
    alone: list[Record] = []
    measure = partial(_measure, setting)
    for record in run_jobs(measure, jobs, TIMED * seconds, LIMIT):
        yield record
        if "fault" in record and len(record.get("builds", ())) > 1:
            alone += [{**record, "builds": [name]} for name in record["builds"]]
    for job in alone:
        del job["fault"]
    yield from run_jobs(measure, alone, ALONE * seconds, ALONE * LIMIT)
    yield from run_jobs(measure, [CEILINGS], (1 - TIMED - ALONE) * seconds, LIMIT)


def _measure(setting: Setting, job: Record) -> Record:
    with without_shader_cache(), HeadlessContext() as context:
        if "ceilings" in job:
            best = measure_ceilings(context, lambda what: None).best
            return {"ceilings": {kind: best(kind) for kind in ("multiply-add", "copy")}}
        return _frames(setting, job, context)


def _frames(setting: Setting, job: Record, context: HeadlessContext) -> Record:
    model = model_of(job["network"], setting.quick, setting.folder / "models")
    times: dict[str, Record] = {}
    runners = {}
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder, ExitStack() as stack:
        for name in job["builds"]:
            build = Path(folder) / name
            try:
                options = Options(**{"device": setting.own, **BUILDS[name]})
                compile_model(model.path, build, options)
                runner, startup = start(build, context, 0)
            except ShadergenError as error:
                times[name] = {"fault": first_line(error)}
                continue
            runners[name] = stack.enter_context(runner)
            times[name] = {
                "start_ms": round(startup.init_ms + startup.first_frame_ms, 1),
                "passes": len(runner.build.passes),
                "macs": sum(p.macs for p in runner.build.passes),
            }
        seconds = QUICK_SECONDS if setting.quick else SECONDS
        builds = list(runners.values())
        measured = run_in_turns(builds, FRAMES, WARM_UP, seconds, lambda what: None)
    for name, frames in zip(runners, measured, strict=True):
        times[name]["frame_ms"] = round(Spread.of(frames.latency).median, 4)
        times[name]["passes_ms"] = round(sum(frames.medians()), 4)
        times[name]["timed_by"] = "queries" if frames.queries else "waiting"
        times[name]["rounds"] = len(frames.latency)
    return {"input": list(model.x.shape[1:]), "times": times}


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """Return the ceilings and a record for each network, with the builds that ran alone."""
    ceilings: Record = {}
    found: dict[str, Record] = {}
    problems = []
    for r in records:
        if reason(r):
            problems.append(r)
        elif "ceilings" in r:
            ceilings = r["ceilings"]
        elif "network" in r:
            own = found.setdefault(r["network"], {**r, "times": {}})
            own["times"] |= r["times"]
            own.pop("builds", None)
    left = sum(r.get("left", 0) for r in records)
    return {
        "ceilings": ceilings,
        "networks": list(found.values()),
        "failed": problems,
        "left": left,
    }


def section(summary: Mapping[str, Any]) -> str:
    parts = ["### Frames, ms", _words(summary)]
    found = summary["networks"]
    rows = [
        (r["network"], "×".join(map(str, r["input"])), *(_cell(r["times"].get(b)) for b in BUILDS))
        for r in found
    ]
    parts.append(table(("network", "input", *BUILDS), rows, right=2))
    rates = [(r["network"], *_rates(r, summary["ceilings"])) for r in found]
    head = ("network", "GFLOP", "GFLOP/s", "of the ceiling", "passes", "start, ms", "timed by")
    parts.append(table(head, rates))
    problems = [
        f"- {', '.join((r.get('network', 'ceilings'), *r.get('builds', ())))}: {reason(r)}"
        for r in summary["failed"]
    ]
    problems += [
        f"- {r['network']}, {name}: {reason(t)}"
        for r in found
        for name, t in r["times"].items()
        if reason(t)
    ]
    parts += ["\n".join(problems)] * bool(problems)
    parts += [f"Not measured for want of time: {summary['left']} networks."] * bool(summary["left"])
    return "\n\n".join(parts)


def _words(summary: Mapping[str, Any]) -> str:
    words = (
        "A whole frame by the processor's clock, and in brackets the sum of its passes. "
        f"Medians of up to {FRAMES} frames. `{OWN}`: the build for the GPU's family. The "
        "second table describes this build; its GFLOP/s follow from the time of the passes."
    )
    ceilings = summary["ceilings"]
    if ceilings:
        rates = f"{ceilings['multiply-add']:.0f} GFLOP/s, copies {ceilings['copy']:.0f} GB/s"
        words += f" Ceilings measured with shaders: multiply-adds {rates}."
    return words


def _cell(times: Record | None) -> str:
    if times is None or "frame_ms" not in times:
        return NOTHING
    return f"{times['frame_ms']:.2f} ({times['passes_ms']:.2f})"


def _rates(record: Record, ceilings: Mapping[str, float]) -> tuple[str, ...]:
    times = record["times"].get(OWN, {})
    if "frame_ms" not in times:
        return (NOTHING,) * 6
    macs = max(t.get("macs", 0) for t in record["times"].values())  # Winograd multiplies less
    rate = FLOPS * macs / times["passes_ms"] / 1e6
    share = f"{rate / ceilings['multiply-add']:.0%}" if ceilings else NOTHING
    work = (f"{FLOPS * macs / 1e9:.2f}", f"{rate:.0f}", share)
    return (*work, str(times["passes"]), f"{times['start_ms']:.0f}", times["timed_by"])
