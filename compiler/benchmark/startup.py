"""Start-up of a build: loading, making GL objects, the first frame, and what memory they take.

The driver's shader cache is off meanwhile (``shader_cache``).
"""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ..random_inputs import random_inputs_of_ports
from ..runtimes import load_for
from .results import Memory, Startup

if TYPE_CHECKING:
    from ..runtimes import Context, Runner

_STATM = Path("/proc/self/statm")


def start(folder: Path, context: Context, seed: int) -> tuple[Runner, Startup]:
    """Start a build whose files the system has read before; return a runner that has its inputs.

    The inputs are made and uploaded between, outside all times. The first frame is where most
    drivers do what is left of compiling.

    Raises:
        ShadergenError: SG05xx, SG06xx.
    """
    memory = [_resident()]
    times = [time.perf_counter()]

    def mark() -> float:
        memory.append(_resident())
        times.append(time.perf_counter())
        return times[-1] - times[-2]

    build = load_for(folder, context)
    loading = mark()
    runner = context.runner(build)
    try:
        runner.init()
        runner.wait()
        making = mark()
        for name, array in random_inputs_of_ports(build.inputs, seed).items():
            runner.upload(name, array)
        mark()
        runner.run()
        runner.wait()
        drawing = mark()
        runner.check()
    except BaseException:
        runner.close()
        raise
    grown = [max(0, b - a) for a, b in pairwise(memory)]
    told = Memory(grown[0], grown[1], grown[3]) if memory[-1] else None
    return runner, Startup(loading * 1e3, making * 1e3, drawing * 1e3, told)


def _resident() -> int:
    """Return the bytes of memory that this process has; 0 where the system is not Linux."""
    try:
        pages = int(_STATM.read_text("ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
