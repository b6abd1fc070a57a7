"""The catalogue of Keras layers and arguments on GL, against what Keras itself computes.

Files of Keras 2.15 and its results lie in files/; those of the Keras 3 that is installed
are made when the tests start. tools/make_keras_cases.py makes both.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from keras_cases import Case, of_keras
from support import KERAS_FIXTURES, ROOT, compile_graph, play

from shadergen.compiler.frontends import Request, load
from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse_definitions
from shadergen.ir.text import to_text

pytestmark = pytest.mark.gl

KERAS_2 = KERAS_FIXTURES / "keras2_cases.tar.xz"
MAKER = ROOT / "tools" / "make_keras_cases.py"
PARTS = 2
SECONDS = 600


class Saved:
    """Models that a Keras saved, and what it computed from them."""

    def __init__(self, archives: list[Path]) -> None:
        self.files: dict[str, bytes] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.index: dict[str, dict] = {}
        for path in archives:
            with tarfile.open(path) as archive:
                files = {m.name: archive.extractfile(m).read() for m in archive.getmembers()}
            self.arrays |= np.load(io.BytesIO(files.pop("arrays.npz")))
            self.index |= json.loads(files.pop("index.json"))["cases"]
            self.files |= files

    def models(self, name: str, folder: Path) -> list[Path]:
        """Write the files of a case."""
        entry, paths = self.index[name], []
        for suffix in (".h5", ".keras"):
            if suffix not in entry:  # there: why Keras itself could not write it
                paths.append(folder / f"model{suffix}")
                paths[-1].write_bytes(self.files[f"{entry['number']}/model{suffix}"])
        return paths

    def results(self, name: str, kind: str) -> list[np.ndarray]:
        prefix = f"{self.index[name]['number']}/{kind}"
        found = []
        while f"{prefix}{len(found)}" in self.arrays:
            found.append(self.arrays[f"{prefix}{len(found)}"])
        return found


@pytest.fixture(scope="session")
def keras_2() -> Saved:
    return Saved([KERAS_2])


@pytest.fixture(scope="session")
def keras_3(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Let Keras save the models, once for all workers of pytest-xdist."""
    if find_spec("keras") is None or int(version("keras").split(".")[0]) < 3:
        pytest.skip("Keras 3 is not installed")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    parts = [folder / f"keras3_{k}.tar" for k in range(PARTS)]
    try:
        (folder / "keras3").mkdir()
    except FileExistsError:
        end = time.monotonic() + SECONDS
        while not (folder / "keras3" / "done").exists():
            assert time.monotonic() < end, "another worker does not finish"
            time.sleep(0.2)
    else:
        commands = [
            [sys.executable, str(MAKER), str(p), "--part", f"{k}/{PARTS}"]
            for k, p in enumerate(parts)
        ]
        try:
            makers = [subprocess.Popen(c, stderr=subprocess.PIPE, text=True) for c in commands]
            errors = [maker.communicate(timeout=SECONDS)[1] for maker in makers]
        finally:
            (folder / "keras3" / "done").touch()
        assert not any(maker.returncode for maker in makers), "\n".join(errors)
    return Saved(parts)


def definitions(case: Case) -> dict:
    return parse_definitions(case.define) if case.define else {}


def check(case: Case, name: str, saved: Saved, folder: Path) -> None:
    """Play the case on GL and compare; both files must give one and the same graph."""
    request = Request(definitions=definitions(case))
    paths = saved.models(name, folder)
    assert paths
    if case.refused:
        for path in paths:
            with pytest.raises(ShadergenError) as caught:
                load(path, request)
            assert caught.value.code == case.refused, caught.value.render()
        return
    graph, *others = (load(path, request) for path in paths)
    for other in others:
        assert to_text(other) == to_text(graph)
    inputs, wanted = saved.results(name, "in"), saved.results(name, "out")
    feed = {i.name: x for i, x in zip(graph.inputs, inputs, strict=True)}
    _, files, _ = compile_graph(graph)
    found = play(files, feed)
    assert len(graph.outputs) == len(wanted)
    for output, expected in zip(graph.outputs, wanted, strict=True):
        result = found[output.name]
        assert result.shape == expected.shape
        wide = expected.astype(np.float64)
        error = float(np.abs(result - wide).max())
        assert error <= case.tolerance * max(1.0, float(np.abs(wide).max())), output.name


@pytest.mark.parametrize("name", of_keras(2))
def test_a_model_of_keras_2(keras_2: Saved, tmp_path: Path, name: str) -> None:
    check(of_keras(2)[name], name, keras_2, tmp_path)


@pytest.mark.parametrize("name", of_keras(3))
def test_a_model_of_keras_3(keras_3: Saved, tmp_path: Path, name: str) -> None:
    check(of_keras(3)[name], name, keras_3, tmp_path)


def test_the_archive_of_keras_2_holds_the_catalogue(keras_2: Saved) -> None:
    assert set(keras_2.index) == set(of_keras(2)), "run tools/make_keras_cases.py with Keras 2"
    for name, case in of_keras(2).items():
        drawn = case.inputs()
        for made, stored in zip(drawn, keras_2.results(name, "in"), strict=True):
            assert np.array_equal(made, stored), f"{name} has changed since it was saved"
