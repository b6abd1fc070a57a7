"""Cycles of shaders on GPUs, with loops counted as often as they run. See :mod:`.loops`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

from .drivers import Answer, compile_shaders
from .loops import Loop, Nest, doubled, find_nests, longer
from .messages import code_size, spills, variants
from .shaders import Shader
from .table import KEPT, Gpu, Numbers, Units


@dataclass(frozen=True)
class Count:
    """What a shader takes on a GPU.

    Attributes:
        cycles: of one invocation, on the unit that takes longest.
        unit: which one that is.
        units: cycles of each unit.
        registers: that an invocation takes; None where the driver does not tell.
        spills: stores and loads of registers in the program, or what the driver tells instead.
        code: bytes.
        ms: of compiling, here.
        error: why there is nothing else, or nothing.
        counted: whether the trips of all loops are known.
    """

    cycles: float = 0.0
    unit: str = ""
    units: Units = field(default_factory=dict)
    registers: int | None = None
    spills: int = 0
    code: int = 0
    ms: float = 0.0
    error: str = ""
    counted: bool = True


@dataclass(frozen=True)
class _Variants:
    """A shader, its loop nests, and the same shader with one of its loops changed.

    ``doubled`` has each loop twice, ``longer`` each loop of constant trips with one trip more.
    """

    whole: Shader
    nests: list[Nest]
    doubled: dict[Loop, Shader] = field(default_factory=dict)
    longer: dict[Loop, Shader] = field(default_factory=dict)

    def shaders(self, gpu: Gpu) -> list[Shader]:
        """Return what a GPU's driver must compile."""
        changed = () if gpu.tells_loops else self.longer.values()
        return [self.whole, *self.doubled.values(), *changed]


def measure(
    shaders: Sequence[Shader],
    gpus: Sequence[Gpu],
    progress: Callable[[str], None] = lambda what: None,
    kept: Path = KEPT,
) -> dict[str, list[Count]]:
    """Count what shaders take.

    Args:
        shaders: with the uniforms that loops depend on.
        gpus: from :mod:`.table`; their drivers must be installed.
        progress: is told what is at hand.
        kept: the folder of answers of earlier calls.

    Returns:
        For each GPU by its name, the counts in the order of the shaders.
    """
    every = [_variants(shader) for shader in shaders]

    def counts(gpu: Gpu) -> list[Count]:
        asked = [shader for made in every for shader in made.shaders(gpu)]
        answers = compile_shaders(gpu, asked, progress, kept)
        return [_count(gpu, made, answers) for made in every]

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process of its own
        return dict(zip((gpu.name for gpu in gpus), pool.map(counts, gpus), strict=True))


def _variants(shader: Shader) -> _Variants:
    nests = find_nests(shader.source, dict(shader.uniforms))
    if not all(nest.known for nest in nests):
        return _Variants(shader, nests)
    loops = [loop for nest in nests for loop in nest.loops]
    twice = {loop: replace(shader, source=doubled(shader.source, loop)) for loop in loops}
    more = {
        loop: replace(shader, source=longer(shader.source, loop)) for loop in loops if loop.constant
    }
    return _Variants(shader, nests, twice, more)


def _count(gpu: Gpu, made: _Variants, answers: dict[str, Answer]) -> Count:
    answer = answers[made.whole.key]
    if answer.error:
        return Count(ms=answer.ms, error=answer.error)
    numbers = _numbers(gpu, made.whole, answers)
    if not numbers:
        return Count(ms=answer.ms, error="the driver tells no statistics")
    units = _units(gpu, made.whole, numbers)
    if made.doubled:
        units = _looped(gpu, made, numbers, units, answers) or units
    unit = max(units, key=lambda name: units[name])
    return Count(
        units[unit],
        unit,
        units,
        gpu.registers_of(numbers),
        spills(numbers),
        code_size(numbers),
        answer.ms,
        counted=all(nest.known for nest in made.nests),
    )


def _numbers(gpu: Gpu, shader: Shader, answers: dict[str, Answer]) -> Numbers:
    found = variants(answers[shader.key].messages, shader.stage)
    return gpu.variant(found) if found else {}


def _units(gpu: Gpu, shader: Shader, numbers: Numbers) -> Units:
    rates = gpu.half_rates if shader.half and gpu.half_rates else gpu.rates
    units = rates(numbers)
    if numbers.get("loops"):
        return units
    if gpu.early_return != 1 and shader.stage == "compute" and "return;" in shader.source:
        return {unit: cycles / gpu.early_return for unit, cycles in units.items()}
    return units


def _looped(
    gpu: Gpu, made: _Variants, numbers: Numbers, whole: Units, answers: dict[str, Answer]
) -> Units:
    """Return the units of a shader with loops, or none where a variant does not compile."""
    found = {loop: _numbers(gpu, shader, answers) for loop, shader in made.doubled.items()}
    if not all(found.values()):
        return {}
    bodies = {}
    for loop, both in found.items():
        taken = _units(gpu, made.doubled[loop], both)
        bodies[loop.begin] = {
            unit: max(0.0, taken[unit] - cycles) for unit, cycles in whole.items()
        }
    more = {loop: both.get("loops", 0) - numbers.get("loops", 0) for loop, both in found.items()}

    def total(kept: Sequence[Loop]) -> Units:
        """Return the units with some loops left and the others unrolled."""
        sums = dict(whole)
        for loop in kept:
            around = [k for k in kept if k.begin <= loop.begin < k.end]
            trips, outer = (prod(k.trips or 1 for k in of) for of in (around, around[:-1]))
            for unit, cycles in bodies[loop.begin].items():
                sums[unit] += (trips - outer) * cycles
        return sums

    if gpu.tells_loops:
        return total([loop for nest in made.nests for loop in nest.remaining(more)])
    left = {
        loop: _units(gpu, shader, _numbers(gpu, shader, answers)) == whole
        for loop, shader in made.longer.items()
    }
    return total([loop for nest in made.nests for loop in nest.loops if left.get(loop, True)])


def bound(gpu: Gpu, shader: Shader) -> float:
    """Return the cycles of a shader's multiply-adds alone, at the rate of its precision."""
    return shader.multiply_adds / (gpu.half_rate if shader.half else 1)
