"""Cycles of shaders on GPUs, with loops counted as often as they run. See :mod:`.loops`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path

from .drivers import Answer, compile_shaders
from .loops import Nest, emptied, find_nests
from .messages import code_size, spills, variants
from .shaders import Shader
from .table import KEPT, Gpu, Numbers, Units

NEARLY = 0.97  # of the multiply-adds that a shader must at least take


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
    """A shader, the same with all loops empty, and with all but one nest empty.

    ``seeds`` are the multiplications that each of these adds.
    """

    whole: Shader
    nests: list[Nest]
    empty: Shader | None = None
    single: tuple[Shader, ...] = ()
    seeds: tuple[int, ...] = ()

    @property
    def shaders(self) -> list[Shader]:
        return [self.whole, *filter(None, [self.empty]), *self.single]


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
    asked = [shader for made in every for shader in made.shaders]

    def counts(gpu: Gpu) -> list[Count]:
        answers = compile_shaders(gpu, asked, progress, kept)
        return [_count(gpu, made, answers) for made in every]

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process of its own
        return dict(zip((gpu.name for gpu in gpus), pool.map(counts, gpus), strict=True))


def _variants(shader: Shader) -> _Variants:
    nests = find_nests(shader.source, dict(shader.uniforms))
    if not nests or not all(nest.known for nest in nests):
        return _Variants(shader, nests)
    made = [emptied(shader.source, nests)]
    if len(nests) > 1:
        made += [emptied(shader.source, [n for n in nests if n is not kept]) for kept in nests]
    empty, *single = (replace(shader, source=source) for source, _ in made)
    return _Variants(shader, nests, empty, tuple(single), tuple(seeds for _, seeds in made))


def _count(gpu: Gpu, made: _Variants, answers: dict[str, Answer]) -> Count:
    answer = answers[made.whole.key]
    if answer.error:
        return Count(ms=answer.ms, error=answer.error)
    numbers = _numbers(gpu, made.whole, answers)
    if not numbers:
        return Count(ms=answer.ms, error="the driver tells no statistics")
    units = _units(gpu, made.whole, numbers)
    if made.empty is not None:
        units = _looped(gpu, made, answers) or units
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
    units = gpu.rates(numbers)
    if gpu.early_return != 1 and shader.stage == "compute" and "return;" in shader.source:
        return {unit: cycles / gpu.early_return for unit, cycles in units.items()}
    return units


def _looped(gpu: Gpu, made: _Variants, answers: dict[str, Answer]) -> Units:
    """Return the units of a shader with loops, or none where a variant does not compile."""
    assert made.empty is not None
    found = [_numbers(gpu, shader, answers) for shader in made.shaders]
    if not all(found):
        return {}
    units = [_units(gpu, made.whole, numbers) for numbers in found]
    rate = gpu.half_rate if made.whole.half else 1
    for variant, seeds in zip(units[1:], made.seeds, strict=True):
        first = next(iter(variant))
        variant[first] = max(0.0, variant[first] - seeds / rate)
    empty = units[1]
    # a single nest is what the whole shader has
    nests = list(zip(made.nests, found[2:] or found[:1], units[2:] or units[:1], strict=True))
    ranges = [_left(nest, numbers) for nest, numbers, _ in nests]

    def total(more: int) -> Units:
        """Return the units with some more loops left than there are at least."""
        sums = dict(empty)
        for (nest, numbers, taken), (least, most) in zip(nests, ranges, strict=True):
            left = min(least + more, most)
            depth = ceil(numbers.get("loops", left) / nest.copies)
            times = nest.trips(left) / gpu.loop_weight(depth)
            for unit, cycles in taken.items():
                sums[unit] += times * (cycles - empty[unit])
        return sums

    every = [total(more) for more in range(max(most - least for least, most in ranges) + 1)]
    enough = NEARLY * bound(gpu, made.whole)
    fits = (sums for sums in every if enough and next(iter(sums.values())) >= enough)
    return next(fits, every[-1])


def _left(nest: Nest, numbers: Numbers) -> tuple[int, int]:
    """Return the least and the most loops, of those that repeat, that a driver may have left."""
    repeating = len(nest.repeating)
    if "loops" not in numbers:
        return 0, repeating
    told = ceil(numbers["loops"] / nest.copies)
    once = len(nest.loops) - repeating
    most = min(told, repeating)
    return min(max(told - once, 0), most), most


def bound(gpu: Gpu, shader: Shader) -> float:
    """Return the cycles of a shader's multiply-adds alone, at the rate of its precision."""
    return shader.multiply_adds / (gpu.half_rate if shader.half else 1)
