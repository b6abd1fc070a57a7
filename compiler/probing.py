"""Measure what a device profile cannot ask GL for."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from .. import __version__
from ..backends.lower import lower
from ..backends.schedule import schedule
from ..backends.writer import write_build
from ..ir.graph import Graph, Input, Output, Port, Value, apply, constant
from ..ir.ops import Conv
from ..ir.target import Fetch, Target
from ..ir.types import TensorType
from ..passes.pipeline import optimise
from ..passes.rule import Context

if TYPE_CHECKING:
    from ..ir.target import GlslVersion, Limits

CHANNELS, SIDE, LAYERS = 32, 64, 4
FRAMES = 10
CLEARLY = 0.9  # images are taken where they need no more of the time of samplers


def faster_fetch(runtime: Any, context: Any, limits: Limits, glsl: GlslVersion) -> Fetch:
    """Play a few convolutions that read by samplers and as images, in turns; return what is better.

    Args:
        runtime: the Python runtime, ``runtime_glue.python``.
        context: a GL context of it.
        limits: of the context.
        glsl: the version to write.
    """
    ways: tuple[Fetch, ...] = get_args(Fetch)
    if Target(limits, glsl).lacks_compute:
        return "texel"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shadergen-")))
        players = {}
        for way in ways:
            target = Target(limits, glsl, fetch=way, weights="texture")
            placed = optimise(_network(), Context(target))
            files = schedule(placed, lower(placed, target), target, f"shadergen {__version__}")
            write_build(files, folder / way, lambda written: None)
            player = stack.enter_context(runtime.Player(runtime.load(folder / way), context))
            player.upload("x", np.zeros((1, CHANNELS, SIDE, SIDE), np.float32))
            player.run()  # compiles
            player.read("y")
            players[way] = player
        times = {way: [_frame(players[way]) for _ in range(FRAMES)] for way in ways}
    best = {way: min(found) for way, found in times.items()}
    return "image" if best["image"] < CLEARLY * best["texel"] else "texel"


def _frame(player: Any) -> float:
    start = time.perf_counter()
    player.run()
    player.read("y")  # waits for the GPU
    return time.perf_counter() - start


def _network() -> Graph:
    x = Input(TensorType((1, CHANNELS, SIDE, SIDE)), "x", Port.plain(4))
    y: Value = x
    for k in range(LAYERS):
        weights = constant(np.full((CHANNELS, CHANNELS, 3, 3), 0.01), f"weights{k}")
        y = apply(Conv(pads=(1, 1, 1, 1)), y, weights, layer=f"conv{k}")
    return Graph("probe", (x,), (Output("y", y, Port.plain(4)),))
