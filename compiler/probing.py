"""Measure the fields of a device profile that no runtime can report."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from .. import __version__
from ..backends.kernels import KernelFamilies, lower
from ..backends.schedule import schedule
from ..backends.writer import write_build
from ..ir.graph import Graph, Input, Output, Port, Value, apply, constant
from ..ir.ops import Conv
from ..ir.types import TensorType
from ..passes.pipeline import optimise
from ..passes.placement.target import Fetch, Target
from ..passes.rule import Context
from ..runtime_glue.python.loading import load

if TYPE_CHECKING:
    from ..passes.placement.target import GlslVersion, Limits, Wgsl
    from .runtimes import Context as Adapter
    from .runtimes import Runner

CHANNELS, SIDE, LAYERS = 32, 64, 4
FRAMES = 10
CLEARLY = 0.9  # what is not texelFetch is taken where it needs no more of its time


def faster_fetch(
    context: Adapter, limits: Limits, glsl: GlslVersion, wgsl: Wgsl | None = None
) -> Fetch:
    """Run a few convolutions with each way of reading, in turns; return the faster way.

    What OpenGL ES leaves open is tried too: zero borders for free are only taken where they are
    zero.

    Args:
        context: of one of the Python runtimes.
        limits: of the context.
        glsl: the version to write.
        wgsl: what WGSL to write instead, on WebGPU.
    """
    ways: tuple[Fetch, ...] = ("texel", "image", "image-zero")
    if wgsl or Target(limits, glsl).lacks_compute:
        ways = ("texel", "sample")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shadergen-")))
        runners, results = {}, {}
        stage: Literal["auto", "fragment"] = "fragment" if wgsl else "auto"  # dispatches load
        for way in ways:
            target = Target(limits, glsl, fetch=way, weights="texture", stage=stage, wgsl=wgsl)
            placed = optimise(_network(), Context(KernelFamilies(target)))
            files = schedule(placed, lower(placed, target), target, f"shadergen {__version__}")
            write_build(files, folder / way)
            runner = context.runner(load(folder / way))
            stack.callback(runner.close)
            runner.init()
            runner.upload("x", np.ones((1, CHANNELS, SIDE, SIDE), np.float32))
            runner.run()  # compiles
            results[way] = runner.read("y")
            runners[way] = runner
        right = [w for w in ways if np.allclose(results[w], results["texel"], rtol=1e-4, atol=0.0)]
        times = {way: [_frame(runners[way]) for _ in range(FRAMES)] for way in right}
    best = {way: min(found) * (CLEARLY if way == "texel" else 1) for way, found in times.items()}
    return min(best, key=lambda way: best[way])


def _frame(runner: Runner) -> float:
    start = time.perf_counter()
    runner.run()
    runner.read("y")  # waits for the GPU
    return time.perf_counter() - start


def _network() -> Graph:
    x = Input(TensorType((1, CHANNELS, SIDE, SIDE)), "x", Port.plain(4))
    y: Value = x
    for k in range(LAYERS):
        weights = constant(np.full((CHANNELS, CHANNELS, 3, 3), 0.01), f"weights{k}")
        y = apply(Conv(pads=(1, 1, 1, 1)), y, weights, layer=f"conv{k}")
    return Graph("probe", (x,), (Output("y", y, Port.plain(4)),))
