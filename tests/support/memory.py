"""How much memory reading or compiling a model takes, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import json, sys
from pathlib import Path
from shadergen.compiler.frontends import Request, load
from shadergen.errors import ShadergenError

try:
    graph = load(Path(sys.argv[1]), Request())
    outcome, weights = "", sum(c.data.nbytes for c in graph.constants)
except ShadergenError as error:
    outcome, weights = error.render(), 0
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([outcome, weights, int(peak.split()[1]) * 1024]))
"""


def reading(path):
    """Return the error, or "", the bytes of the weights and the most memory in use, in bytes."""
    command = [sys.executable, "-c", SCRIPT, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return json.loads(done.stdout)


def within_bounds(path):
    """Return the error, or "", of reading a file in 2.5 times its weights and 300 MB."""
    outcome, weights, peak = reading(path)
    assert peak <= 2.5 * weights + 300e6, f"{peak >> 20} MiB for weights of {weights >> 20} MiB"
    return outcome
