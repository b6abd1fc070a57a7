"""The loop of a worker: shaders come in as lines of JSON, what the driver says goes out.

A line out holds ``messages`` of the driver, ``ms`` of processor time, and ``error``. What a driver
prints goes to standard error. A shader that takes too long ends the process by SIGXCPU.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

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


def serve(start: Callable[[], Any]) -> None:
    """Answer every line of standard input; never return.

    Args:
        start: returns a function of a shader as a dictionary and a clock, which returns messages
            and raises :class:`Refused`.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    compile = start()
    for line in sys.stdin:
        task = json.loads(line)
        _limit(task["seconds"])
        clock = Clock()
        try:
            answer = {"messages": compile(task["shader"], clock)}
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
