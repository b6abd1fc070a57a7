"""Time each pass: on the GPU with EXT_disjoint_timer_query, or by waiting for it."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any

from .gl import asked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .objects import Objects
    from .recording import Call

EXTENSION = "GL_EXT_disjoint_timer_query"


def step_through(gl: Any, passes: Iterable[list[Call]]) -> tuple[float, ...]:
    """Draw passes one at a time; return the milliseconds of each.

    Passes do not overlap on the GPU, and each time includes the wait.
    """
    elapsed = []
    for *binds, (draw, arguments) in passes:
        for function, values in binds:
            function(*values)
        gl.glFinish()
        start = time.perf_counter()
        draw(*arguments)
        gl.glFinish()
        elapsed.append((time.perf_counter() - start) * 1e3)
    return tuple(elapsed)


class Timer:
    """Queries for the draws of a frame.

    A query spans the draw, not the binds before it: on some GPUs, binding a framebuffer finishes
    the pass before.
    """

    def __init__(self, gl: Any, objects: Objects, count: int) -> None:
        self._gl = gl
        self._queries = [objects.make("query") for _ in range(count)]
        self._used = False
        self._disturbed()

    def run(self, passes: Iterable[list[Call]]) -> None:
        """Draw passes and time the last call of each, which is the draw."""
        gl = self._gl
        begin, end, elapsed = gl.glBeginQueryEXT, gl.glEndQueryEXT, gl.GL_TIME_ELAPSED_EXT
        for query, calls in zip(self._queries, passes, strict=True):
            *binds, (draw, arguments) = calls
            for function, values in binds:
                function(*values)
            begin(elapsed, query)
            draw(*arguments)
            end(elapsed)
        self._used = True

    def milliseconds(self) -> tuple[float, ...]:
        """Return the time of each pass of the last frame; empty if the times are unreliable."""
        if not self._used:
            return ()
        gl = self._gl
        elapsed = []
        for query in self._queries:
            value = ctypes.c_uint64(0)
            gl.glGetQueryObjectui64vEXT(query, gl.GL_QUERY_RESULT_EXT, ctypes.byref(value))
            elapsed.append(value.value / 1e6)
        return () if self._disturbed() else tuple(elapsed)

    def _disturbed(self) -> bool:
        """Return, and reset, whether the GPU changed its clock meanwhile."""
        return bool(asked(self._gl.glGetIntegerv, self._gl.GL_GPU_DISJOINT_EXT))
