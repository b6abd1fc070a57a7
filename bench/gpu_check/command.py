"""Check and measure the GPU at hand, and write docs/gpu.md.

    make gpu                             everything, within ten minutes
    make gpu ARGS="--skip peers,frames"  some stages not
    make gpu ARGS="--only conformance"   some stages alone
    make gpu ARGS="--minutes 5"          in less time: fewer cases and networks
    make gpu ARGS=--software             try it on a software renderer, at small sizes
    make gpu ARGS="--add gpu.json"       measure nothing, add the results of another machine
    python bench/gpu_check               the same without installing anything

Results are added to docs/gpu.json and docs/gpu.md, by the name of the renderer. Those of a software
renderer are written to .build/gpu alone, unless --publish is given. Everything that a run leaves
(logs, records, tuning files) lies in .build/gpu. Exits with 1 when a result is wrong or a stage
does not end well, and with 2 when there is no GPU.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

from comparison.__main__ import processor

from shadergen.backends.devices import DEFAULT_DEVICE, PROFILE_SUFFIX

from .device_stage import DEFAULT
from .isolation import Ran, run_stage
from .report import as_section, write_page
from .results import DeviceResult, Machine, StageResult, read_results, write_results
from .setting import KEPT, PROJECT, Record, Setting, reason
from .stages import FIRST, STAGES

PAGE = PROJECT / "docs" / "gpu.md"
MINUTES = 9.5
UNKNOWN = "unknown"  # the renderer's name, before it is known
StageRunner = Callable[[str, Setting, float], Ran]


def look(run: StageRunner, seconds: float) -> tuple[Ran, Record | None]:
    """Run the first stage; return the record of the context that builds take, if there is one."""
    setting = Setting(UNKNOWN, "", False, os.cpu_count() or 1)
    ran = run(FIRST, setting, seconds)
    found = (r for r in ran.records if r.get("display") == DEFAULT and not reason(r))
    return ran, next(found, None)


def measure(
    run: StageRunner, setting: Setting, names: Sequence[str], seconds: float
) -> Iterator[tuple[str, StageResult]]:
    """Run stages and yield their results; each may take its share of the time that is left."""
    deadline = time.monotonic() + seconds
    for number, name in enumerate(names):
        left = deadline - time.monotonic()
        share = STAGES[name].SHARE / sum(STAGES[n].SHARE for n in names[number:])
        limit = max(1.0, left * share)
        print(f"{name}: at most {limit:.0f} s", file=sys.stderr, flush=True)
        yield name, as_result(name, run(name, setting, limit), setting.quick)


def as_result(name: str, ran: Ran, quick: bool) -> StageResult:
    """Return what a stage left as a result."""
    summary = STAGES[name].summary(ran.records)
    today = datetime.now(timezone.utc).date().isoformat()
    return StageResult(today, revision(), round(ran.seconds, 1), quick, ran.problem, summary)


@cache
def revision() -> str:
    """Return the checkout's commit, marked if files differ; nothing where git does not know.

    It is asked once, before the first results change the page.
    """
    command = ("git", "-C", str(PROJECT), "describe", "--always", "--dirty", "--exclude=*")
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine_of(default: Record, own: str) -> Machine:
    """Return what was measured, by the record of the context that builds take."""
    names = (default[k] for k in ("renderer", "vendor", "version", "platform"))
    own = "the limits of this GL" if own.endswith(PROFILE_SUFFIX) else own
    return Machine(*names, own, processor(), os.cpu_count() or 1, platform.platform())


def has_fault(summary: Any) -> bool:
    """Whether there is a fault anywhere in a summary."""
    if isinstance(summary, dict):
        return bool(summary.get("fault")) or any(map(has_fault, summary.values()))
    return isinstance(summary, list) and any(map(has_fault, summary))


def store(devices: Iterable[DeviceResult], page: Path) -> None:
    """Add devices to the JSON beside a page, and write the page anew."""
    page.parent.mkdir(parents=True, exist_ok=True)
    file = page.with_suffix(".json")
    results = read_results(file) if file.exists() else {}
    for device in devices:
        name = device.machine.renderer
        results[name] = device.with_stages(results.get(name))
    write_results(results, file)
    write_page(results, page)


def added(file: Path) -> list[DeviceResult]:
    """Return the results of another machine.

    Raises:
        ValueError: when the file holds no such results.
    """
    try:
        return list(read_results(file).values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} has no results of make gpu ({error!r})") from None


def chosen(only: str, skip: str) -> list[str]:
    """Return the names of the stages to run, the first one always.

    Raises:
        ValueError: for an unknown name.
    """
    wanted, unwanted = (list(filter(None, text.split(","))) for text in (only, skip))
    for name in (*wanted, *unwanted):
        if name not in STAGES:
            raise ValueError(f"stage {name!r} is unknown; there are {', '.join(STAGES)}")
    names = [n for n in STAGES if (not wanted or n in wanted) and n not in unwanted]
    return [FIRST, *(n for n in names if n != FIRST)]


def main(
    arguments: Iterable[str] | None = None, run: StageRunner = run_stage, page: Path = PAGE
) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help=f"stages: {', '.join(STAGES)}")
    parser.add_argument("--skip", default="", help="stages")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"in all; {MINUTES}")
    parser.add_argument("--software", action="store_true", help="allow a software renderer")
    parser.add_argument("--publish", action="store_true", help="also write its results to docs")
    parser.add_argument("--add", type=Path, metavar="FILE", help="add the results of FILE alone")
    flags = parser.parse_args(None if arguments is None else list(arguments))
    try:
        if flags.add:
            store(added(flags.add), page)
            return 0
        names = chosen(flags.only, flags.skip)
    except ValueError as error:
        parser.error(str(error))
    seconds = flags.minutes * 60
    share = STAGES[FIRST].SHARE / sum(stage.SHARE for stage in STAGES.values())
    ran, default = look(run, seconds * share)
    if default is None:
        print(f"make gpu: no OpenGL ES 3 through EGL: {_reason(ran)}", file=sys.stderr)
        return 2
    renderer = default["renderer"]
    if default["software"] and not flags.software:
        print(
            f"make gpu: '{renderer}' is a software renderer, not a GPU\n"
            f"EGL offers {_offered(ran)}\n"
            "install the GPU's driver, or try the measurement with: make gpu ARGS=--software",
            file=sys.stderr,
        )
        return 2
    print(f"{renderer}, {default['version']}, through EGL, {default['platform']}")
    own = default["profile"] or _probed(ran)
    setting = Setting(renderer, own, default["software"], os.cpu_count() or 1)
    stages = {FIRST: as_result(FIRST, ran, setting.quick)}
    device = DeviceResult(machine_of(default, own), stages)
    target = page if flags.publish or not default["software"] else KEPT / page.name
    store([device], target)  # now, to find out before the work whether it can be written
    for name, result in measure(run, setting, names[1:], seconds - ran.seconds):
        stages[name] = result
        store([device], target)  # a run that is broken off keeps what it has
    print(as_section(device))
    print(f"written: {target}", file=sys.stderr)
    return int(any(stage.problem or has_fault(stage.summary) for stage in stages.values()))


def _probed(ran: Ran) -> str:
    """Return the device profile of a GPU of an unknown family."""
    probed = (r["probed"] for r in ran.records if "probed" in r and not reason(r))
    return next(probed, DEFAULT_DEVICE)


def _reason(ran: Ran) -> str:
    reasons = filter(None, map(reason, ran.records))
    return next(reasons, ran.problem or "the stage left no records")


def _offered(ran: Ran) -> str:
    found = [f"{r['display']}: {r['renderer']}" for r in ran.records if "renderer" in r]
    return "; ".join(found)
