"""Compare this project with what people would use instead, and write docs/benchmarks.md.

    make bench                                   everything (half an hour on two cores)
    make bench ARGS="espcn u-net"                networks with one of these words in their name
    make bench ARGS="--frames 50 --seconds 600"  more rounds
    make bench ARGS=--short                      auto and ncnn alone, kept as one more run

The page's tables are written by a run of all networks; of some, or of those that were measured
before Ctrl-C, they are printed. The ratios of whole runs and of short ones, even of some networks,
are kept with the day and the machine: the page shows the smallest.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from shadergen.compiler.doctor import examine, save_profile

from .bars import FRAME_SHARE, LAYER_SHARE
from .contenders import Setting, contenders
from .networks import ENTRIES, Entry, prepare
from .picture import draw
from .report import Machine, Run, as_data, as_page
from .results import OWN, PEER, NetworkResult
from .runs import Recorded, as_section, read_runs, recorded, runs_data, vectors, with_run
from .shares import shares
from .turns import Limits, compare

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
CPUINFO = Path("/proc/cpuinfo")


def processor() -> str:
    """Return the processor's name, as far as the system tells."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", CPUINFO.read_text("utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def measure(
    entry: Entry, setting: Setting, limits: Limits, folder: Path, short: bool = False
) -> NetworkResult:
    """Measure an entry, or say why it cannot be; if short, only who is in every run."""
    if absent := entry.missing():
        return NetworkResult(entry.name, (), entry.timed, problem=f"needs {absent}")
    say(f"{entry.name}: is made")
    folder.mkdir()
    model = prepare(entry, folder)
    who = contenders(setting.software, entry.timed, short)
    timed = limits if entry.timed else None
    result = compare(entry.name, model, who, setting, timed, folder, say)
    if short or entry.name not in (*FRAME_SHARE, *LAYER_SHARE) or result.contenders[OWN].problem:
        return result
    build = folder / OWN / "build"
    found = shares(
        model, build, folder / "direct", setting, lambda what: say(f"{entry.name}: {what}")
    )
    return replace(result, shares=found)


def say(what: str) -> None:
    """Show what is at hand, in place of what was before where that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)


def write(run: Run | None, runs: Sequence[Recorded], document: Path) -> None:
    """Write the page's measured parts, the JSON and the picture beside it.

    Args:
        run: of everything, for its tables; None leaves those of the last one.
        runs: what is kept of this one and of those before.
        document: the page.
    """
    file, picture = document.with_suffix(".json"), document.with_suffix(".svg")
    data = as_data(run) if run else _read(file)
    data["runs"] = runs_data(runs)
    file.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    section = as_section(runs)
    if draw(runs, picture):
        section = f"![How many times as fast as ncnn]({picture.name})\n\n{section}"
    text = _replaced(document.read_text("utf-8"), "runs", section)
    document.write_text(_replaced(text, "benchmarks", as_page(run)) if run else text, "utf-8")


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def _replaced(text: str, part: str, measured: str) -> str:
    """Return a page with a measured part of it in place of the one before."""
    begin, end = f"<!-- measured: {part} -->", f"<!-- end of {part} -->"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{measured}\n\n{end}{rest.partition(end)[2]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="parts of the names of the networks to measure")
    parser.add_argument("--list", action="store_true", help="name the networks and stop")
    parser.add_argument(
        "--short", action="store_true", help=f"only {OWN} and {PEER}; kept as a run"
    )
    parser.add_argument("--frames", type=int, default=Limits.frames, help="rounds to measure")
    parser.add_argument("--warm-up", type=int, default=Limits.warm_up, help="rounds before that")
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="for a network")
    chosen = parser.parse_args()
    words = [w.lower() for w in chosen.words]
    entries = [e for e in ENTRIES if not words or any(w in e.name.lower() for w in words)]
    if chosen.short:
        entries = [e for e in entries if e.timed]
    if chosen.list:
        print("\n".join(e.name for e in entries))
        return 0
    found = examine("gles")
    if found.problem:
        print(found.problem, file=sys.stderr)
        return 1
    limits = Limits(chosen.frames, chosen.warm_up, chosen.seconds)
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="shadergen-") as scratch:
        profile = Path(scratch) / "device.json"
        save_profile(found, profile)
        setting = Setting(profile, found.renderer, cores)
        results: list[NetworkResult] = []
        with suppress(KeyboardInterrupt):  # what there is by then is shown
            for number, entry in enumerate(entries):
                folder = Path(scratch) / str(number)
                results.append(measure(entry, setting, limits, folder, chosen.short))
    say("")
    machine = Machine(processor(), cores, platform.platform(), found.renderer, found.gl_version)
    run = Run(machine, limits, tuple(results))
    print(as_page(run))
    whole = len(results) == len(ENTRIES)
    if whole or chosen.short:
        where = (machine.processor, f"{cores} cores", vectors(), found.renderer, found.gl_version)
        today = datetime.now(timezone.utc).date().isoformat()
        new = recorded(today, ", ".join(filter(None, where)), results)
        runs = with_run(read_runs(_read(DOCUMENT.with_suffix(".json"))), new)
        write(run if whole else None, runs, DOCUMENT)
    return 0 if len(results) == len(entries) else 130


if __name__ == "__main__":
    sys.exit(main())
