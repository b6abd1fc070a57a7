"""TensorFlow 2.15 as a reference, in a Python of its own: Keras 3 rejects many older files."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .frontends.keras.archive import open_archive

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ..ir.graph import Graph
    from .frontends import Request

VARIABLE = "TENSORFLOW_PYTHON"  # names an interpreter that has TensorFlow 2.15
RUNNER = Path(__file__).with_name("tensorflow_runner.py")
MINUTES = 10


def named_python() -> str:
    """Return the interpreter that the environment names, or nothing."""
    return os.environ.get(VARIABLE, "")


class TensorFlowReference:
    """Keras 2.15 in a process of its own, begun when the model is loaded."""

    name = "tensorflow"

    def __init__(self, model: Path, graph: Graph, request: Request) -> None:
        if not named_python():
            raise ValueError(f"{VARIABLE} does not name an interpreter with TensorFlow 2.15")
        if request.inputs:
            raise ValueError("it does not begin models at other inputs (--inputs)")
        with open_archive(model) as archive:
            if "Lambda" in _classes(archive.config):
                raise ValueError("it would run the Python code of a Lambda layer in the file")
        self.inputs = [i.name for i in graph.inputs]
        self.outputs = [o.name for o in graph.outputs]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        for variable in ("KERAS_BACKEND", "PYTHONPATH", "PYTHONHOME"):
            environment.pop(variable, None)
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - as long as it
        self._process = subprocess.Popen(
            [named_python(), str(RUNNER), str(model.resolve()), *request.outputs],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            self._fail()

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
            arrays = {f"x{k}": inputs[name] for k, name in enumerate(self.inputs)}
            np.savez(Path(folder) / "inputs.npz", **arrays)  # type: ignore[arg-type]
            said, _ = self._process.communicate(f"{folder}\n", timeout=60 * MINUTES)
            if said != "done\n":
                self._fail()
            with np.load(Path(folder) / "outputs.npz") as stored:
                results = [stored[f"y{k}"] for k in range(len(stored.files))]
        return dict(zip(self.outputs, results, strict=True))

    def _fail(self) -> None:
        """Raise the last line that the process wrote, its error."""
        self._process.kill()
        self._process.communicate()
        self._said.seek(0)
        lines = [line for line in self._said.read().splitlines() if line.strip()]
        raise RuntimeError(lines[-1] if lines else f"{named_python()} ended without a word")


def _classes(config: Any) -> set[str]:
    """Return the names of all classes in a configuration."""
    return set(_named(config))


def _named(config: Any) -> Iterator[str]:
    if isinstance(config, dict):
        if isinstance(config.get("class_name"), str):
            yield config["class_name"]
        config = list(config.values())
    if isinstance(config, list):
        for value in config:
            yield from _named(value)
