"""Builds of dynamic sizes: compiled, and compared with ONNX Runtime at a size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from shadergen.backends.writer import write_build
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.options import Options
from shadergen.runtime_glue.python import Build, Runner, load

COMPUTE = {"device": "llvmpipe", "stage": "compute", "fetch": "image"}
TARGETS: dict[str, dict[str, Any]] = {
    "fragment": {},
    "compute": COMPUTE,
    "tiles and pairs": {**COMPUTE, "winograd": "4x4", "fuse_separable": "on"},
}


def build_of(model: onnx.ModelProto | Path, folder: Path, **options: Any) -> Build:
    chosen = Options(**{"dynamic": True, "validate": False, **options})
    _, files, _ = compile_graph(import_model(model, chosen), chosen)
    write_build(files, folder / "build")
    return load(folder / "build")


def difference(runner: Runner, session: ort.InferenceSession, size: tuple[int, int]) -> float:
    """Return the error at a size, as a part of the largest number or of 1."""
    x = np.random.default_rng(sum(size)).random((1, 3, *size), np.float32)
    (wanted,) = session.run(None, {"x": x})
    runner.upload("x", x)
    runner.run()
    runner.check()
    found = runner.read("y")
    assert found.shape == wanted.shape
    return float(np.abs(found - wanted).max() / max(1, np.abs(wanted).max()))


def constraints(build: Build, *, of_one: bool = False) -> list[str]:
    """Return what the constraints say, those that give bounds of one parameter or the others."""
    assert build.sizes
    sizes = build.sizes.document["sizes"]
    names = [[p["name"]] for p in sizes["parameters"]]
    return [c["why"] for c in sizes["constraints"] if (c["value"] in names) == of_one]
