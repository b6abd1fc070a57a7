"""The loop of a worker: shaders come in as lines of JSON, what the driver says goes out.

The first line out has the ``version`` of the driver. The others hold its ``messages``, ``ms`` of
processor time, and ``error``. What a driver prints goes to standard error. A shader that takes too
long ends the process by SIGXCPU.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

ASLEEP = 10  # times the limit that a driver may take without computing


class Refused(Exception):
    """The driver does not accept a shader. The text says why."""


class Clock:
    """Processor time, in milliseconds, of what runs in ``with`` blocks."""

    def __init__(self) -> None:
        self.ms = 0.0

    def __enter__(self) -> None:
        self._begin = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.ms += (time.process_time() - self._begin) * 1e3


class Driver(Protocol):
    """A driver in this process; ``version`` is as "Mesa 25.0.7"."""

    version: str

    def compile(self, shader: Mapping[str, Any], clock: Clock) -> list[str]:
        """Compile a shader, within the clock; return what the driver says.

        Raises:
            Refused: when it does not accept the shader.
        """


def serve(start: Callable[[], Driver]) -> None:
    """Answer every line of standard input; never return."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    driver = start()
    answers.write(json.dumps({"version": driver.version}) + "\n")
    for line in sys.stdin:
        task = json.loads(line)
        _limit(task["seconds"])
        clock = Clock()
        answer: dict[str, Any]
        try:
            answer = {"messages": driver.compile(task["shader"], clock)}
        except Refused as refused:
            answer = {"error": str(refused)}
        answers.write(json.dumps({**answer, "ms": round(clock.ms, 1)}) + "\n")
    answers.flush()
    os._exit(0)  # drivers without a GPU may crash when they shut down


def _limit(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
    signal.alarm(ASLEEP * seconds)
