"""The device's ceilings in each stage: multiply-adds and copied bytes per second.

A few shader shapes are tried and the best frame of each counts. Frames are made long enough that
launch and wait costs do not matter. Small copies fit the caches, as do the planes of a small
network, so this is the ceiling for small networks.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ...errors import count
from ...records import replace
from ..random_inputs import random_inputs_of_ports
from ..runtimes import WEBGPU
from .ceiling_builds import Shape, copy, multiply_adds
from .latency import latency
from .results import FLOPS, Ceiling, Ceilings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..runtimes import Build, Context

ENOUGH = 10.0  # milliseconds of a frame
LEAST_ROUNDS, MOST_ROUNDS = 64, 1 << 20  # of a loop: fewer would be unrolled, more a hung GPU
MOST_RUNS = 1000  # of a copy in a frame
GROWTH = 64  # at most, from one try to the next
FEWEST_FRAMES, FRAMES = 2, 8
LONG = 200.0  # milliseconds of all frames of a shape, on software renderers: enough
ARITHMETIC = ((1, 16), (2, 8), (3, 8), (4, 4), (8, 4), (16, 2))  # accumulators, times in a body
COPIES = ((512, 1, 16), (1024, 1, 8), (2048, 1, 4), (512, 4, 8))  # side, layers at once, passes
ARITHMETIC_SIZE = 512
GROUPS = ((8, 8), (64, 1))


def measure_ceilings(context: Context, progress: Callable[[str], None]) -> Ceilings:
    """Measure the ceilings of an adapter: of fragments always, of compute shaders if it has any.

    Raises:
        ShadergenError: SG06xx.
    """
    stages: dict[str, tuple[tuple[int, int] | None, ...]] = {"fragment": (None,)}
    if context.info().has_compute:
        stages["compute"] = GROUPS
    measured = []
    for stage, groups in stages.items():
        progress(f"measuring the peak rate of multiply-adds in {stage} shaders")
        measured.append(Ceiling(stage, "multiply-add", _arithmetic(groups, context)))
        progress(f"measuring the peak rate of copies in {stage} shaders")
        measured.append(Ceiling(stage, "copy", _copies(groups, context)))
    return Ceilings(tuple(measured))


def warm_up(context: Context) -> None:
    """Draw something, so that one-time work of the driver does not count for the first build."""
    _best(multiply_adds(_shape(context, 64))[0], context)


def _shape(context: Context, size: int) -> Shape:
    """Return a shape in the context's language and the widest format that it can draw to."""
    info = context.info()
    format = "rgba32f" if info.draws_float else "rgba16f" if info.draws_half_float else "rgba8"
    return Shape(format, size, wgsl="core" if context.runtime == WEBGPU else None)


def _arithmetic(groups: Sequence[tuple[int, int] | None], context: Context) -> dict[str, float]:
    """Return GFLOP/s by shape."""
    rates = {}
    work = LEAST_ROUNDS * 16  # uses of an accumulator in a frame that takes long enough
    for group, (width, body) in product(groups, ARITHMETIC):
        shape = replace(_shape(context, ARITHMETIC_SIZE), width=width, body=body, group=group)
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


def _copies(groups: Sequence[tuple[int, int] | None], context: Context) -> dict[str, float]:
    """Return GB/s by shape."""
    rates = {}
    for group, (size, layers, passes) in product(groups, COPIES):
        if group is None and layers > context.info().limits["draw_buffers"]:
            continue
        shape = _shape(context, size)
        build, copied = copy(replace(shape, width=layers, passes=passes, group=group))
        name = f"{size}x{size}, {count(layers, 'layer')} of {shape.format}{_workgroup(group)}"
        rates[name] = copied / _best(build, context, ENOUGH) / 1e6
    return rates


def _workgroup(group: tuple[int, int] | None) -> str:
    return f", workgroup {group[0]}x{group[1]}" if group else ""


def _best(build: Build, context: Context, enough: float = 0.0) -> float:
    """Return the milliseconds of a run, in the best frame of as many runs as take ``enough``."""
    with context.runner(build) as runner:
        for name, array in random_inputs_of_ports(build.inputs, 0).items():
            runner.upload(name, array)
        latency(runner)  # compiles what is left
        runs = min(MOST_RUNS, 1 + int(enough / latency(runner)))
        frames = [latency(runner, runs) for _ in range(FEWEST_FRAMES)]
        while len(frames) < FRAMES and sum(frames) < LONG:
            frames.append(latency(runner, runs))
        runner.check()
    return min(frames) / runs
