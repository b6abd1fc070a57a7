"""Compare this project with what people would use instead, and write docs/benchmarks.md.

    make bench                                   everything (half an hour on two cores)
    make bench ARGS="espcn u-net"                networks with one of these words in their name
    make bench ARGS="--frames 50 --seconds 600"  more rounds

The page, its JSON and its picture are written by a run of all networks; of some, or of those that
were measured before Ctrl-C, the tables are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from shadergen.compiler.doctor import examine, save_profile

from .bars import FRAME_SHARE, LAYER_SHARE
from .contenders import Setting, contenders
from .networks import ENTRIES, Entry, prepare
from .picture import draw
from .report import Machine, Run, as_data, as_page
from .results import OWN, NetworkResult
from .shares import shares
from .turns import Limits, compare

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured: benchmarks -->", "<!-- end of benchmarks -->"
CPUINFO = Path("/proc/cpuinfo")


def processor() -> str:
    """Return the processor's name, as far as the system tells."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", CPUINFO.read_text("utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def measure(entry: Entry, setting: Setting, limits: Limits, folder: Path) -> NetworkResult:
    """Measure an entry, or say why it cannot be."""
    if absent := entry.missing():
        return NetworkResult(entry.name, (), entry.timed, problem=f"needs {absent}")
    say(f"{entry.name}: is made")
    folder.mkdir()
    model = prepare(entry, folder)
    who = contenders(setting.software, entry.timed)
    timed = limits if entry.timed else None
    result = compare(entry.name, model, who, setting, timed, folder, say)
    if entry.name not in (*FRAME_SHARE, *LAYER_SHARE) or result.contenders[OWN].problem:
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


def write(run: Run, document: Path) -> None:
    """Write the page's measured part, and beside it the JSON and the picture."""
    picture = document.with_suffix(".svg")
    tables = as_page(run)
    if draw(run, picture):
        tables = f"![How many times as fast as ncnn]({picture.name})\n\n{tables}"
    document.with_suffix(".json").write_text(json.dumps(as_data(run), indent=1) + "\n", "utf-8")
    before, _, rest = document.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    document.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="parts of the names of the networks to measure")
    parser.add_argument("--list", action="store_true", help="name the networks and stop")
    parser.add_argument("--frames", type=int, default=Limits.frames, help="rounds to measure")
    parser.add_argument("--warm-up", type=int, default=Limits.warm_up, help="rounds before that")
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="for a network")
    chosen = parser.parse_args()
    words = [w.lower() for w in chosen.words]
    entries = [e for e in ENTRIES if not words or any(w in e.name.lower() for w in words)]
    if chosen.list:
        print("\n".join(e.name for e in entries))
        return 0
    found = examine()
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
                results.append(measure(entry, setting, limits, Path(scratch) / str(number)))
    say("")
    machine = Machine(processor(), cores, platform.platform(), found.renderer, found.gl_version)
    run = Run(machine, limits, tuple(results))
    print(as_page(run))
    if len(results) == len(ENTRIES):
        write(run, DOCUMENT)
    return 0 if len(results) == len(entries) else 130


if __name__ == "__main__":
    sys.exit(main())
