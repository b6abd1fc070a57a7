"""Measure cold starts: from a build to its first frame, with no shader in any cache.

    python bench/cold_starts.py MODEL...                    prints a table
    python bench/cold_starts.py --before DIR MODEL...       compares with another checkout
    python bench/cold_starts.py --write docs/cold-starts.md --before DIR MODEL...

Every build starts in a process of its own, with Mesa's shader cache off. Seconds are processor
time: a rasteriser without threads (``LP_NUM_THREADS=0``) does all in one. A start is all that
drivers do: compile, link, generate code at the first draw, and draw. The two checkouts take turns.
``make networks`` leaves models in .build/networks; DIR holds a folder ``shadergen``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

DEVICES = ("gles30", "webgl2-min")
BEGIN, END = "<!-- measured: cold starts -->", "<!-- end of cold starts -->"
ROOT = Path(__file__).resolve().parents[2]
START = """
import json, sys, tempfile, time
from pathlib import Path
import numpy as np
import shadergen
from shadergen.runtime_glue.python import HeadlessContext, Runner
model, device = sys.argv[1:]
with tempfile.TemporaryDirectory() as scratch, HeadlessContext() as context:
    folder, options = Path(scratch, "build"), {"device": device, "validate": False}
    try:
        shadergen.compile_model(model, folder, **options)
    except shadergen.ShadergenError:  # its height and width are dynamic
        shadergen.compile_model(model, folder, input_size="256x256", **options)
    build = shadergen.load(folder)
    begun = time.process_time()
    with Runner(build, context) as runner:
        for port in build.inputs:
            runner.upload(port.name, np.random.default_rng(0).random(port.shape, "f4"))
        seconds = []
        for _ in range(3):
            runner.run()
            runner.wait()
            now = time.process_time()
            seconds.append(now - begun)
            begun = now
        runner.check()
shaders = {build.shaders[p.shader] for p in build.passes}
found = {"gpu_passes": len(build.passes), "programs": len(shaders), "first": seconds[0]}
print(json.dumps(found | {"frame": min(seconds[1:])}))
"""


def start(model: Path, device: str, package: Path) -> dict[str, Any]:
    """Compile and start a model with the package in a folder.

    Raises:
        RuntimeError: with the messages of a process that failed.
    """
    environment = os.environ | {
        "PYTHONPATH": str(package),
        "MESA_SHADER_CACHE_DISABLE": "true",
        "LP_NUM_THREADS": "0",
    }
    command = [sys.executable, "-c", START, str(model), device]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=package)
    if done.returncode:
        raise RuntimeError(f"{model} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def name_of(model: Path) -> str:
    """Return what a table calls a model: its file or, of ``make networks``, its folder."""
    if model.stem == "model":
        return re.sub(r"-[0-9a-f]{8}$", "", model.parent.name)
    return model.stem


def row(model: Path, device: str, now: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    cells = [name_of(model), device, str(now["gpu_passes"])]
    if before is None:
        return [*cells, str(now["programs"]), f"{now['first']:.1f}", f"{now['frame']:.2f}"]
    cells += [f"{before['programs']} → {now['programs']}"]
    cells += [f"{before['first']:.1f} → {now['first']:.1f}"]
    cells += [f"{before['frame']:.3f} → {now['frame']:.3f}"]
    return [*cells, f"{now['frame'] / before['frame']:.2f}"]


def markdown(rows: list[list[str]]) -> list[str]:
    head = ["network", "profile", "GPU passes", "programs", "cold first frame, s", "frame, s"]
    head += ["frame, ratio"] * (len(rows[0]) > len(head))
    rule = ["---", "---"] + ["---:"] * (len(head) - 2)
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--before", type=Path, help="folder of the package to compare with")
    parser.add_argument("--devices", nargs="+", default=DEVICES)
    parser.add_argument("--write", type=Path, help="put the table into this document")
    chosen = parser.parse_args()
    rows = []
    for device in chosen.devices:
        for model in map(Path.resolve, chosen.models):
            before = start(model, device, chosen.before.resolve()) if chosen.before else None
            rows.append(row(model, device, start(model, device, ROOT), before))
            print(" | ".join(rows[-1]), flush=True)
    if chosen.write:
        text = chosen.write.read_text("utf-8")
        table = "\n".join([BEGIN, "", *markdown(rows), "", END])
        text = re.sub(f"{BEGIN}.*{END}", lambda _: table, text, flags=re.DOTALL)
        chosen.write.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
