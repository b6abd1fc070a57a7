"""The device's ceilings in each stage: multiply-adds and copied bytes per second.

A few shader shapes are tried and the best frame of each counts. Frames are made long enough that
launch and wait costs do not matter. Small copies fit the caches, as do the planes of a small
network, so this is the ceiling for small networks.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from ...errors import count
from ...runtime_glue.python import Runner
from ..random_inputs import random_inputs_of_ports
from .ceiling_builds import Shape, copy, multiply_adds
from .latency import latency
from .results import FLOPS, Ceiling, Ceilings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...runtime_glue.python import Build, HeadlessContext

ENOUGH = 10.0  # milliseconds of a frame
LEAST_ROUNDS, MOST_ROUNDS = 64, 1 << 20  # of a loop: fewer would be unrolled, more a hung GPU
MOST_RUNS = 1000  # of a copy in a frame
GROWTH = 64  # at most, from one try to the next
FRAMES = 8
ARITHMETIC = ((1, 16), (2, 8), (3, 8), (4, 4), (8, 4), (16, 2))  # accumulators, times in a body
COPIES = ((512, 1, 16), (1024, 1, 8), (2048, 1, 4), (512, 4, 8))  # side, layers at once, passes
ARITHMETIC_SIZE = 512
GROUPS = ((8, 8), (64, 1))
COMPUTE_SINCE = (3, 1)


def measure_ceilings(context: HeadlessContext, progress: Callable[[str], None]) -> Ceilings:
    """Measure the ceilings of a GL: of fragments always, of compute shaders from 3.1 on.

    Raises:
        ShadergenError: SG06xx.
    """
    format = _format(context)
    stages: dict[str, tuple[tuple[int, int] | None, ...]] = {"fragment": (None,)}
    if context.info().es >= COMPUTE_SINCE:
        stages["compute"] = GROUPS
    measured = []
    for stage, groups in stages.items():
        progress(f"measuring the ceiling of {stage} multiply-adds")
        measured.append(Ceiling(stage, "multiply-add", _arithmetic(format, groups, context)))
        progress(f"measuring the ceiling of {stage} copies")
        measured.append(Ceiling(stage, "copy", _copies(format, groups, context)))
    return Ceilings(tuple(measured))


def warm_up(context: HeadlessContext) -> None:
    """Draw something, so that one-time work of the driver does not count for the first build."""
    _best(multiply_adds(Shape(_format(context), 64))[0], context)


def _format(context: HeadlessContext) -> str:
    """Return the widest format that can be drawn to."""
    info = context.info()
    return "rgba32f" if info.draws_float else "rgba16f" if info.draws_half_float else "rgba8"


def _arithmetic(
    format: str, groups: Sequence[tuple[int, int] | None], context: HeadlessContext
) -> dict[str, float]:
    """Return GFLOP/s by shape."""
    rates = {}
    work = LEAST_ROUNDS * 16  # uses of an accumulator in a frame that takes long enough
    for group, (width, body) in product(groups, ARITHMETIC):
        shape = Shape(format, ARITHMETIC_SIZE, width, body, group=group)
        while True:
            rounds = min(MOST_ROUNDS, max(LEAST_ROUNDS, work // (width * body)))
            build, macs = multiply_adds(replace(shape, rounds=rounds))
            best = _best(build, context)
            if best >= ENOUGH / 2 or rounds == MOST_ROUNDS:
                break
            work = int(rounds * width * body * min(ENOUGH / best, GROWTH))
        name = f"{count(width, 'accumulator')}, {body} multiply-adds on each in the loop body"
        rates[name + _workgroup(group)] = FLOPS * macs / best / 1e6
    return rates


def _copies(
    format: str, groups: Sequence[tuple[int, int] | None], context: HeadlessContext
) -> dict[str, float]:
    """Return GB/s by shape."""
    rates = {}
    for group, (size, layers, passes) in product(groups, COPIES):
        build, copied = copy(Shape(format, size, layers, passes=passes, group=group))
        name = f"{size}x{size}, {count(layers, 'layer')} of {format}{_workgroup(group)}"
        rates[name] = copied / _best(build, context, ENOUGH) / 1e6
    return rates


def _workgroup(group: tuple[int, int] | None) -> str:
    return f", workgroup {group[0]}x{group[1]}" if group else ""


def _best(build: Build, context: HeadlessContext, enough: float = 0.0) -> float:
    """Return the milliseconds of a run, in the best frame of as many runs as take ``enough``."""
    with Runner(build, context) as runner:
        for name, array in random_inputs_of_ports(build.inputs, 0).items():
            runner.upload(name, array)
        latency(runner)  # compiles what is left
        runs = min(MOST_RUNS, 1 + int(enough / latency(runner)))
        best = min(latency(runner, runs) for _ in range(FRAMES)) / runs
        runner.check()
    return best
