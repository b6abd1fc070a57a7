"""TensorFlow 2.15 as a reference, in a Python of its own: Keras 3 rejects many older files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import zipfile
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from .frontends.keras.read.archive import open_archive
from .frontends.keras.read.config import shown
from .frontends.keras.read.zip_members import Directory
from .frontends.signatures import ZIP_SIGNATURE
from .tensorflow_classes import check_classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ..ir.graph import Graph
    from .frontends import Request

VARIABLE = "TENSORFLOW_PYTHON"  # names an interpreter that has TensorFlow 2.15
RUNNER = Path(__file__).with_name("tensorflow_runner.py")
LOADING = 300.0  # seconds; importing TensorFlow takes up to 30
RUNNING = 600.0
MEMBERS = ("config.json", "metadata.json", "model.weights.h5")


def named_python() -> str:
    """Return the interpreter that the environment names, or an empty string."""
    return os.environ.get(VARIABLE, "")


class TensorFlowReference:
    """Keras 2.15 in a process of its own, begun when the model is loaded; each run ends it."""

    name = "tensorflow"

    def __init__(self, model: Path, graph: Graph, request: Request) -> None:
        if not named_python():
            raise ValueError(f"{VARIABLE} does not name an interpreter with TensorFlow 2.15")
        if request.inputs:
            raise ValueError("it cannot start a model at other inputs (--inputs)")
        check_file(model)
        self.resized = bool(request.sizes)  # a size that replaces a declared one fails here
        self._command = [named_python(), str(RUNNER), str(model.resolve()), *request.outputs]
        self._inputs = [i.name for i in graph.inputs]
        self._outputs = [o.name for o in graph.outputs]
        self._loaded: _Process | None = self._load()

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        process, self._loaded = self._loaded or self._load(), None
        try:
            with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
                arrays = {f"x{k}": inputs[name] for k, name in enumerate(process.inputs)}
                np.savez(Path(folder) / "inputs.npz", **arrays)  # type: ignore[arg-type]
                process.ask(folder, RUNNING, "run the model")
                with np.load(Path(folder) / "outputs.npz") as stored:
                    return {name: stored[f"y{k}"] for k, name in enumerate(process.outputs)}
        finally:
            process.stop()

    def _load(self) -> _Process:
        process = _Process(self._command)
        try:
            said = process.ask("", LOADING, "load the model")
            process.inputs = by_name("inputs", said["inputs"], self._inputs)
            process.outputs = by_name("outputs", said["outputs"], self._outputs)
        except BaseException:
            process.stop()
            raise
        return process


def check_file(model: Path) -> None:
    """Demand that TensorFlow reads what we check and that the file names only allowed classes.

    Raises:
        ShadergenError: when it cannot be read.
        ValueError: when TensorFlow would read something else or load another class.
    """
    with open_archive(model) as archive:
        check_classes(archive.config)
    with model.open("rb") as file:  # one file can be an archive and an HDF5 file at once
        suffix = ".keras" if file.read(4) == ZIP_SIGNATURE[:4] else ".h5"
    if (model.suffix == ".keras") != (suffix == ".keras"):
        raise ValueError(
            f"TensorFlow chooses the format by the file name; rename the file to end in {suffix}"
        )
    if suffix == ".keras":
        _check_members(model)


def _check_members(model: Path) -> None:
    """Demand that an archive has only what Keras reads: it unpacks larger archives to disk.

    Raises:
        ValueError: for another member, or one that is there twice.
    """
    with zipfile.ZipFile(Directory(model)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    for k, name in enumerate(names):
        if name not in MEMBERS or name in names[:k]:
            raise ValueError(f"TensorFlow would unpack {shown(name)} from the archive to disk")


def by_name(what: str, theirs: Sequence[str], ours: Sequence[str]) -> list[str]:
    """Return our names in the order of theirs. One of each needs no name.

    Raises:
        ValueError: when they do not have the same names.
    """
    if len(theirs) == len(ours) == 1:
        return list(ours)
    if sorted(theirs) != sorted(ours):
        raise ValueError(
            f"the {what} are called {', '.join(theirs)} in TensorFlow but {', '.join(ours)} in "
            "the build, so they cannot be matched"
        )
    return list(theirs)


class _Process:
    """The runner in the interpreter that the environment names."""

    def __init__(self, command: list[str]) -> None:
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        for variable in ("KERAS_BACKEND", "PYTHONPATH", "PYTHONHOME"):
            environment.pop(variable, None)
        self.inputs: list[str] = []  # in TensorFlow's order
        self.outputs: list[str] = []
        self._python = command[0]
        self._stderr = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - see stop()
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,  # so that a pipe can be closed while it is read
            start_new_session=True,  # so that what a script started ends with it
        )

    def ask(self, line: str, seconds: float, what: str) -> Any:
        """Send a line unless it is empty, and return the answer.

        Raises:
            RuntimeError: when there is no answer, with the last line of what the process wrote.
            TimeoutError: when there is none in time.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        answers: SimpleQueue[bytes] = SimpleQueue()

        def listen() -> None:
            with suppress(OSError, ValueError):  # stop() closed it
                answers.put(stdout.readline())

        threading.Thread(target=listen, daemon=True).start()
        try:
            if line:
                stdin.write(os.fsencode(f"{line}\n"))
            return json.loads(answers.get(timeout=seconds))
        except Empty:
            self._kill()
            raise TimeoutError(
                f"{self._python} took more than {seconds:g} s to {what} and was stopped; "
                "give a smaller --input-size, or --reference numpy, which needs no TensorFlow"
            ) from None
        except (OSError, ValueError):  # it has ended: no line, or a pipe without a reader
            raise RuntimeError(self._error_line()) from None

    def stop(self) -> None:
        """End the process, if it has not ended.

        What it started in other process groups may live on and hold its end of the pipes.
        """
        self._kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            assert pipe is not None
            pipe.close()

    def _kill(self) -> None:
        if os.name != "posix":
            self._process.kill()
        elif self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _error_line(self) -> str:
        self._kill()
        self._process.wait()
        self._stderr.seek(0)
        lines = [line for line in self._stderr.read().splitlines() if line.strip()]
        return lines[-1] if lines else f"{self._python} exited without output"
