"""Write a build over another, again and again, with another call failing each time.

Run with the library of ``faults.c`` preloaded: ``interrupting.py FOLDER ERROR LASTING EXCHANGE``,
where ERROR is an errno, or 0 to be killed. Prints what was found as JSON:

- calls: how many there are that change files, and so how often it was interrupted.
- earlier, new, missing: how often the folder held which build right after.
- wrong: what else was found, by the number of the call.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
import traceback
from pathlib import Path

import numpy as np
from support import compile_graph, contents, conv, graph_of, image, pointwise

from shadergen.backends.replacing import prepare
from shadergen.backends.variants import Variant, with_variants
from shadergen.backends.writer import check_replaceable, write_build
from shadergen.compiler.driver import check_schedule
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python.loading import load

FAULTS = ctypes.CDLL(None)
REFUSED, CRASHED = 3, 4


def built(height: int, weights: str):
    x = image(1, 1, height, 8)
    y = conv(np.random.default_rng(0), x, 4, (3, 3), pads=(1, 1, 1, 1))
    return compile_graph(graph_of(pointwise("tanh(x0)", y), inputs=(x,)), weights=weights)[1]


def attempt(files, build: Path, call: int, error: int, lasting: int) -> int:
    """Write a build in a process of its own; return its status, or minus the signal."""
    child = os.fork()
    if child == 0:
        status = 0
        try:
            FAULTS.fault_at(call, error, lasting)
            write_build(files, build, check_schedule, embed=True)
        except ShadergenError:
            status = REFUSED
        except BaseException:
            traceback.print_exc()
            status = CRASHED
        finally:
            os._exit(status if FAULTS.fault_calls() >= call else 100 + status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path, error: int, lasting: int, exchange: int) -> None:
    FAULTS.fault_exchange(exchange)
    earlier, new = built(8, "texture"), built(6, "constants")
    earlier = with_variants(earlier, [Variant("other", built(8, "ubo"), ("other",), ())])
    build = folder / "b"
    write_build(new, build, check_schedule, embed=True)
    new_contents = contents(folder)
    write_build(earlier, folder.with_name("earlier"), check_schedule, embed=True)
    states = {
        "earlier": contents(folder.with_name("earlier")),
        "new": contents_of(new_contents),
    }
    found = {"calls": 0, "earlier": 0, "new": 0, "missing": 0, "wrong": []}
    while True:
        shutil.rmtree(folder)
        shutil.copytree(folder.with_name("earlier"), build)
        call = found["calls"] + 1
        status = attempt(new, build, call, error, lasting)
        if status == 100:
            break
        found["calls"] = call
        expected = (0, REFUSED) if error else (-signal.SIGKILL,)
        if status not in expected:
            found["wrong"].append(f"{call}: status {status}")
        if not build.exists():
            found["missing"] += 1
            prepare(build, check_replaceable)  # what the next compilation begins with
            if not build.exists() or contents(build) != states["earlier"]:
                found["wrong"].append(f"{call}: not recovered")
        now = next((name for name, state in states.items() if contents(build) == state), "")
        found[now or "wrong"] = found[now] + 1 if now else [*found["wrong"], f"{call}: neither"]
        if status == REFUSED and now != "earlier":
            found["wrong"].append(f"{call}: refused, and yet replaced")
        load(build)
        write_build(new, build, check_schedule, embed=True)
        if contents(folder) != new_contents:
            found["wrong"].append(f"{call}: left {sorted(contents(folder))}")
    print(json.dumps(found))


def contents_of(below: dict[str, str]) -> dict[str, str]:
    """Return the contents of the one folder in a folder."""
    return {path.partition("/")[2]: digest for path, digest in below.items() if "/" in path}


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
