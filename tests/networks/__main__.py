"""Try every network in full size, on OpenGL ES, and write docs/networks.md.

    make networks                        those that have not been tried yet, or not well
    make networks ARGS="resnet unet"     those with one of these words in their name, again
    make networks ARGS=--list            name them, without trying any

Each runs in a process of its own. What came of it is kept in .build/networks/results, and the
table is written from that. Exits with 1 when a network is refused or differs from its framework.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from shadergen.errors import ShadergenError

from .cache import CACHE, missing
from .catalogue import Case, cases
from .runner import run_case

RESULTS = CACHE / "results"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "networks.md"
BEGIN, END = "<!-- measured: networks -->", "<!-- end of networks -->"
LIMIT = 3600  # seconds for one network
HEAD = (
    "network",
    "from",
    "input",
    "weights, M",
    "GPU passes",
    "multiply-adds, M",
    "compile, s",
    "run, s",
    "error / bound",
    "five best",
)


def try_one(name: str) -> None:
    """Run a case here and print what came of it as one line of JSON."""
    (case,) = [c for c in cases(everyday=False) if str(c) == name]
    try:
        result = run_case(case)
    except ShadergenError as error:
        print(json.dumps({"refused": error.render()}))
    else:
        print(json.dumps({**vars(result), "ok": result.ok}))


def in_process(case: Case) -> dict[str, Any]:
    command = [sys.executable, "-m", "networks", "--one", str(case)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {LIMIT} s"}
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return {"failed": said[-1] if said else f"ended with status {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def row(case: Case, result: dict[str, Any]) -> tuple[str, ...]:
    height, width = case.size
    start = (case.network.name, case.form, f"{case.network.channels}×{height}×{width}")
    if "ok" not in result:
        said = result.get("refused") or result.get("failed") or "not tried"
        return (*start, *[""] * 5, said.splitlines()[0].replace("|", "\\|"), "")
    ranked = {None: "", True: "same", False: "**differ**"}[result["top5"]]
    error = f"{result['error']:.3f}"
    if result["exact"] is not None:
        error += f" ({result['exact']:.3f}, {result['framework']:.3f})"
    if not result["ok"]:
        error = f"**{error}**"
    return (
        *start,
        f"{result['parameters'] / 1e6:.2f}",
        str(result["passes"]),
        f"{result['macs'] / 1e6:.0f}",
        f"{result['compile_seconds']:.1f}",
        f"{result['play_seconds']:.1f}",
        error,
        ranked,
    )


def stored(case: Case) -> dict[str, Any]:
    """Return what came of a case when it was last tried."""
    path = RESULTS / f"{case}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def table() -> str:
    rows = [HEAD, ("---",) * 3 + ("---:",) * 6 + ("---",)]
    rows += [row(case, stored(case)) for case in cases(everyday=False)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def write_document() -> None:
    text = DOCUMENT.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="parts of the names of those to try")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    parser.add_argument("--one", metavar="CASE", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        try_one(chosen.one)
        return 0
    RESULTS.mkdir(parents=True, exist_ok=True)
    status = 0
    for case in cases(everyday=False):
        name = str(case)
        wanted = any(w in name for w in chosen.words) if chosen.words else True
        if not wanted or (not chosen.words and stored(case).get("ok")):
            continue
        if chosen.list:
            print(name)
            continue
        absent = missing(case)
        result = {"failed": f"needs {absent}"} if absent else in_process(case)
        print(" | ".join(filter(None, row(case, result))), flush=True)
        status |= not result.get("ok")
        (RESULTS / f"{case}.json").write_text(json.dumps(result, indent=1), "utf-8")
    if not chosen.list:
        write_document()
    return status


if __name__ == "__main__":
    sys.exit(main())
