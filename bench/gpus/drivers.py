"""Have shaders compiled by the drivers, each in a process of its own; answers are kept.

A driver that crashes or hangs on a shader costs that shader only: a new process takes the next.
Answers are kept in ``.build/gpus``, a file for each GPU, so that only new shaders are compiled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO

from .messages import about
from .shaders import Shader
from .table import KEPT, LIBRARIES, PROJECT, Gpu, icd_file

SECONDS = 30  # of processor time for a shader
OUT_OF_TIME = f"takes over {SECONDS} s to compile"
QUIET = {  # no caches, no threads
    "EGL_PLATFORM": "surfaceless",
    "MESA_SHADER_CACHE_DISABLE": "true",
    "GALLIUM_THREAD": "0",
    "mesa_glthread": "false",
}


@dataclass(frozen=True)
class Answer:
    """What a driver says of a shader: messages, milliseconds of processor time, an error."""

    messages: tuple[str, ...] = ()
    ms: float = 0.0
    error: str = ""


class DriverMissing(Exception):
    """A GPU's driver does not start. The text says why."""


@cache
def compiler_of(gpu: Gpu) -> str:
    """Return the name and version of a GPU's compiler.

    Raises:
        DriverMissing: when it does not start.
    """
    if gpu.own_mesa:
        return gpu.compiler
    with _Process(gpu) as process:
        return f"{gpu.compiler}, {process.version()}"


def environment(gpu: Gpu) -> dict[str, str]:
    """Return the environment of a GPU's worker."""
    folders = [str(PROJECT / "bench"), os.environ.get("PYTHONPATH", "")]
    variables = {**os.environ, **QUIET, **gpu.environment}
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    if gpu.vulkan:
        variables["VK_ICD_FILENAMES"] = icd_file(gpu.icd)
    if gpu.shim:
        variables["LD_PRELOAD"] = str(LIBRARIES / f"lib{gpu.shim}_noop_drm_shim.so")
    if gpu.own_mesa:
        variables["LD_LIBRARY_PATH"] = str(LIBRARIES)
        variables["LIBGL_DRIVERS_PATH"] = str(LIBRARIES / "dri")
        variables["GBM_BACKENDS_PATH"] = str(LIBRARIES / "gbm")
    if not gpu.draws:
        variables["GPUS_NO_DRAW"] = "1"
    return variables


def compile_shaders(
    gpu: Gpu,
    shaders: Iterable[Shader],
    progress: Callable[[str], None] = lambda what: None,
    kept: Path = KEPT,
) -> dict[str, Answer]:
    """Compile shaders with a GPU's driver.

    Args:
        gpu: whose driver.
        shaders: may repeat.
        progress: is told what is at hand.
        kept: the folder of answers of earlier calls.

    Returns:
        The answers by :attr:`Shader.key`.

    Raises:
        DriverMissing: when it does not start.
    """
    kept.mkdir(parents=True, exist_ok=True)
    file = kept / f"{gpu.name}.jsonl"
    compiler = compiler_of(gpu)
    answers = _read(file, compiler)
    new = {s.key: s for s in shaders if s.key not in answers}
    with _Process(gpu) as process, file.open("a", encoding="utf-8") as lines:
        for number, (key, shader) in enumerate(new.items()):
            progress(f"{gpu.name}: shader {number + 1} of {len(new)}")
            answer = process.ask(shader)
            if not (answer.messages or answer.error):
                process.close()  # drivers say nothing of a program that equals an earlier one
                answer = process.ask(shader)
            answers[key] = answer
            line = {"compiler": compiler, "key": key, **asdict(answer)}
            lines.write(json.dumps(line) + "\n")
            lines.flush()
    return answers


def _read(file: Path, compiler: str) -> dict[str, Answer]:
    answers = {}
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        found = json.loads(line)
        if found["compiler"] == compiler:
            answers[found["key"]] = Answer(tuple(found["messages"]), found["ms"], found["error"])
    return answers


class _Process:
    """A driver's process, started when there is something to ask."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[str] = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._log.close()

    def close(self) -> None:
        """End the process; the next question starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def version(self) -> str:
        """Start the driver; return its version."""
        self._process = self._start()
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise DriverMissing(self._reason(self._process.wait()))
        version: str = json.loads(line)["version"]
        return version

    def ask(self, shader: Shader) -> Answer:
        """Compile a shader."""
        if self._process is None:
            self.version()
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        task: Mapping[str, object] = {"seconds": SECONDS, "shader": shader.compiled()}
        line = ""
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            pass
        if line:
            said = json.loads(line)
            messages = about(said.get("messages", ()), shader.stage)
            return Answer(messages, said["ms"], said.get("error", ""))
        status = process.wait()
        self._process = None
        if -status in (signal.SIGXCPU, signal.SIGALRM):
            return Answer(ms=SECONDS * 1e3, error=OUT_OF_TIME)
        return Answer(error=self._reason(status))

    def _start(self) -> subprocess.Popen[str]:
        self._log.seek(0)
        self._log.truncate()
        module = "vulkan_worker" if self._gpu.vulkan else "gl_worker"
        return subprocess.Popen(
            [sys.executable, "-m", f"gpus.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment(self._gpu),
        )

    def _reason(self, status: int) -> str:
        self._log.seek(0)
        last = ([line for line in self._log.read().splitlines() if line.strip()] or [""])[-1]
        ended = signal.Signals(-status).name if status < 0 else f"status {status}"
        return f"the driver ended with {ended}: {last[:200]}".rstrip(": ")
