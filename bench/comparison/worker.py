"""A contender in a process of its own, which answers one request after the other.

Memory is then the contender's alone, its time by the processor's clock too, and one that crashes or
hangs costs its own row. Driver shader caches are off: a start is as on the first day.
"""

from __future__ import annotations

import os
import re
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

from shadergen.compiler.benchmark.shader_cache import without_shader_cache

from .contenders import Array, Contender, Running, Setting
from .networks import Model
from .results import Cost

LIMIT = 900.0  # seconds for one request
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Failed(Exception):
    """A contender could not do what was asked. The text says why."""


class Worker:
    """The near end of a contender's process. Use it in a ``with`` block.

    Args:
        contender: what runs there.
        model: the network.
        folder: for what the contender converts, and its messages.
        setting: what all contenders share.
        limit: seconds for one request.
    """

    def __init__(
        self,
        contender: Contender,
        model: Model,
        folder: Path,
        setting: Setting,
        limit: float = LIMIT,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._limit, self._hung = limit, False
        self._log = folder / "messages.txt"
        self._pipe, far = get_context("spawn").Pipe()
        arguments = (far, contender, model, folder, setting, self._log)
        self._process = get_context("spawn").Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        far.close()

    def ask(self, request: str) -> Any:
        """Send a request, the name of a method of :class:`_Session`; return the answer.

        Raises:
            Failed: when it fails, ends the process, or takes more than the limit.
        """
        try:
            self._pipe.send(request)
            if not self._pipe.poll(self._limit):
                self._hung = True
                raise Failed(f"{request}: took more than {self._limit:g} s")
            good, answer = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(10)
            said = self._log.read_text("utf-8", "replace").strip().splitlines()
            last = f": {said[-1]}" if said else ""
            raise Failed(f"{request}: ended with {self._process.exitcode}{last}") from None
        if not good:
            raise Failed(answer)
        return answer

    @property
    def process(self) -> int:
        """The process's number."""
        return self._process.pid or 0

    def close(self) -> None:
        """End the process. A second call does nothing."""
        self._pipe.close()
        self._process.join(0 if self._hung else 10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(10)  # one inside a hung driver may never end

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Session:
    """The requests that a worker answers."""

    def __init__(self, contender: Contender, model: Model, folder: Path, setting: Setting) -> None:
        self._contender, self._model = contender, model
        self._folder, self._setting = folder, setting
        self._running: Running | None = None

    def version(self) -> str:
        return self._contender.version(self._setting)

    def convert(self) -> tuple[Cost, dict[str, Any]]:
        """Convert the model; return the cost, imports included, and the contender's notes."""
        told: dict[str, Any] = {}

        def convert() -> None:
            told.update(self._contender.convert(self._model, self._folder, self._setting))

        return Cost.of(convert), told

    def start(self) -> tuple[Cost, int, Array]:
        """Go from files to the first output; return the cost, bytes of memory and the output.

        Versions are asked first, which imports what it takes: Python's time for that is not
        the contender's.
        """
        self.version()
        outputs: list[Array] = []
        before = _forget_peak()

        def start() -> None:
            self._running = self._contender.start(self._model, self._folder, self._setting)
            outputs.append(self._running.frame(self._model.x))

        cost = Cost.of(start)
        return cost, max(0, _memory("VmHWM") - before), outputs[0]

    def frame(self) -> Cost:
        assert self._running is not None
        run = self._running.frame
        return Cost.of(lambda: run(self._model.x))

    def resident(self) -> Cost | None:
        assert self._running is not None
        return Cost.of(self._running.resident) if self._running.resident else None


def _memory(field: str) -> int:
    """Return bytes of this process by the kernel's count; 0 where it does not tell."""
    try:
        found = re.search(rf"{field}:\s+(\d+) kB", STATUS.read_text("ascii"))
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def _forget_peak() -> int:
    """Let the peak of memory begin here; return the bytes that are held."""
    try:
        CLEAR.write_text("5", "ascii")
    except OSError:
        return _memory("VmHWM")
    return _memory("VmRSS")


def _serve(
    pipe: Connection,
    contender: Contender,
    model: Model,
    folder: Path,
    setting: Setting,
    log: Path,
) -> None:
    """Answer until the other end closes. What drivers print goes to the log."""
    with log.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    session = _Session(contender, model, folder, setting)
    with without_shader_cache():
        while True:
            try:
                request = pipe.recv()
            except EOFError:
                return
            try:
                answer = (True, getattr(session, request)())
            except Exception as error:
                answer = (False, str(error) or repr(error))
            pipe.send(answer)
