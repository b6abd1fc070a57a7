"""Compile a network, play it on OpenGL ES and compare it with its own framework."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.compiler.verification import run_build
from shadergen.ir.reference import evaluate_graph
from shadergen.passes.placement.target import TOLERANCES

from .cache import model_file
from .catalogue import Case
from .exporting import in_float64
from .reference import best, read_reference

if TYPE_CHECKING:
    from shadergen.ir.graph import Graph

Array = NDArray[Any]


@dataclass(frozen=True)
class Result:
    """What became of one case.

    Attributes:
        error: the largest absolute difference of any output, over its bound.
        exact: where that is above 1, the distance from the same in float64, over the bound.
        framework: then the framework's own distance: what 32 bits lose in this network.
        peak: the largest magnitude of any output of the reference.
        top5: whether the five best classes are the same, in order; None if it ranks nothing.
        parameters: elements of the constants that the graph holds before it is optimised.
        passes: GPU passes.
        macs: multiply-adds of a frame.
        compile_seconds: from file to build, validation by glslang included.
        play_seconds: making the GL programs, one frame, and reading back.
    """

    error: float
    exact: float | None
    framework: float | None
    peak: float
    top5: bool | None
    parameters: int
    passes: int
    macs: int
    compile_seconds: float
    play_seconds: float

    @property
    def ok(self) -> bool:
        near = self.error <= 1
        if self.exact is not None and self.framework is not None:
            # A framework that is itself too far from the exact result allows us nothing.
            lost = self.framework if self.framework <= 1 else 0.0
            near = self.exact <= max(1.0, ROUNDING * lost)
        return near and self.top5 is not False


SUSPICIOUS = 10  # bounds away is no rounding
ROUNDING = 3  # times what the framework loses, at most: it adds in blocks, shaders one by one


def _from_exact(
    case: Case, graph: Graph, x: Array, expected: list[Array], got: list[Array], tolerance: float
) -> tuple[float, float]:
    """Return how far results, and those of the framework, are from the same in float64.

    It is the largest distance over its bound. Torch computes its own networks. Elsewhere the
    imported graph is computed; that the framework is near it says that it was imported right.
    """
    if case.framework == "torch":
        exact = in_float64(case, x)
    else:
        (entry,) = graph.inputs
        found = evaluate_graph(graph, {entry.name: x.transpose(np.argsort(entry.port.axes))})
        exact = [found[o.name].transpose(o.port.axes) for o in graph.outputs]

    def distance(results: list[Array]) -> float:
        bounds = (tolerance * max(1.0, float(np.abs(want).max())) for want in exact)
        pairs = zip(results, exact, bounds, strict=True)
        return max(float(np.abs(have - want).max()) / bound for have, want, bound in pairs)

    return distance(got), distance(expected)


def run_case(case: Case, options: Options | None = None) -> Result:
    """Build, compile, play and compare.

    Raises:
        ShadergenError: when it does not compile or play.
        AssertionError: when the network is degenerate, so that comparing would prove nothing.
    """
    options = options or Options()
    path = model_file(case)
    x, expected = read_reference(path.with_name("reference.npz"))
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
        start = time.perf_counter()
        compiled = compile_model(path, Path(folder) / "build", options)
        compile_seconds = time.perf_counter() - start
        start = time.perf_counter()
        (entry,) = compiled.graph.inputs
        got, _ = run_build(Path(folder) / "build", {entry.name: x})
        play_seconds = time.perf_counter() - start
    error = peak = 0.0
    exact = framework = top5 = None
    tolerance = TOLERANCES[options.target().precision]
    for output, want in zip(compiled.graph.outputs, expected, strict=True):
        have = got[output.name]
        assert have.shape == want.shape, f"{case}: {output.name} is {have.shape}, not {want.shape}"
        largest = float(np.abs(want).max())
        difference = float(np.abs(have.astype(np.float64) - want).max())
        bound = tolerance * max(1.0, largest)
        error = max(error, difference / bound) if np.isfinite(difference) else float("inf")
        peak = max(peak, largest)
        if case.network.classifier:
            top5 = bool((best(have) == best(want)).all())
    if 1 < error < SUSPICIOUS:
        results = [got[o.name] for o in compiled.graph.outputs]
        exact, framework = _from_exact(case, compiled.model, x, expected, results, tolerance)
    passes = compiled.files.schedule["passes"]
    return Result(
        error,
        exact,
        framework,
        peak,
        top5,
        sum(c.data.size for c in compiled.model.constants),
        len(passes),
        sum(p["macs"] for p in passes),
        compile_seconds,
        play_seconds,
    )
