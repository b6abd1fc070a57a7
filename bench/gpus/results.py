"""The figures of networks on GPUs, and their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .builds import Pass
from .counts import Count, bound
from .drivers import compiler_of
from .table import Gpu

SLOW = 1000.0  # milliseconds to compile


@dataclass(frozen=True)
class Figures:
    """What a build takes on a GPU.

    Attributes:
        cycles: of a frame, in millions, on one lane; None if a shader does not compile.
        bound: the cycles of its multiply-adds alone, with direct convolutions.
        programs: distinct shaders; the figures below are of these.
        registers: the most that a shader takes; None where the driver does not tell.
        spills: of registers, summed.
        spilling: shaders with spills.
        code: KiB of machine code.
        ms: of compiling, here.
        slow: shaders that take over a second to compile.
        failed: why shaders do not compile.
        costliest: the pass whose cycles exceed its multiply-adds by most.
    """

    cycles: float | None
    bound: float
    programs: int
    registers: int | None = None
    spills: int = 0
    spilling: int = 0
    code: float = 0.0
    ms: float = 0.0
    slow: int = 0
    failed: tuple[str, ...] = ()
    costliest: str = ""

    @property
    def share(self) -> float | None:
        """The share of the multiply-add bound that the build reaches."""
        return self.bound / self.cycles if self.cycles else None


@dataclass
class NetworkResult:
    """A network's figures by device profile and GPU, or why there are none."""

    name: str
    size: tuple[int, int]
    own: dict[str, str] = field(default_factory=dict)  # GPU -> its device profile
    figures: dict[str, dict[str, Figures]] = field(default_factory=dict)
    problem: str = ""

    def of(self, gpu: str) -> Figures | None:
        """Return the figures of a GPU with its own profile."""
        return self.figures.get(self.own.get(gpu, ""), {}).get(gpu)


def summed(
    gpu: Gpu, passes: Sequence[Pass], counts: Sequence[Count], direct: Sequence[Pass] = ()
) -> Figures:
    """Add up the counts of a build's passes.

    Args:
        gpu: that the build is for.
        passes: of the build.
        counts: of the passes.
        direct: those of the same build with direct convolutions, if it has others.
    """
    distinct = {p.shader.key: (p, c) for p, c in zip(passes, counts, strict=True)}
    every = [count for _, count in distinct.values()]
    failed = [f"{p.name}: {c.error}" for p, c in distinct.values() if c.error]
    least = [bound(gpu, p.shader) * p.invocations for p in passes]
    taken = [c.cycles * p.invocations for p, c in zip(passes, counts, strict=True)]
    beyond = [most - low for most, low in zip(taken, least, strict=True)]
    worst = max(range(len(passes)), key=lambda k: beyond[k])
    registers = [c.registers for c in every if c.registers is not None]
    return Figures(
        None if failed else round(sum(taken) / 1e6, 3),
        round(sum(bound(gpu, p.shader) * p.invocations for p in direct or passes) / 1e6, 3),
        len(every),
        max(registers, default=None),
        sum(c.spills for c in every),
        sum(bool(c.spills) for c in every),
        round(sum(c.code for c in every) / 1024, 1),
        round(sum(c.ms for c in every)),
        sum(c.ms > SLOW for c in every),
        tuple(failed),
        f"{passes[worst].name}, {_share(least[worst], taken[worst])}",
    )


def _share(least: float, taken: float) -> str:
    return f"{least / taken:.0%} of the bound" if taken else "not counted"


def as_data(results: Iterable[NetworkResult], gpus: Iterable[Gpu]) -> dict[str, Any]:
    """Return what JSON holds."""
    return {
        "gpus": {gpu.name: compiler_of(gpu) for gpu in gpus},
        "networks": [asdict(result) for result in results],
    }


def from_data(data: Mapping[str, Any]) -> list[NetworkResult]:
    """Return the results in JSON."""
    return [_result(entry) for entry in data["networks"]]


def _result(entry: Mapping[str, Any]) -> NetworkResult:
    figures = {
        profile: {gpu: _figures(found) for gpu, found in by_gpu.items()}
        for profile, by_gpu in entry["figures"].items()
    }
    return NetworkResult(
        entry["name"], tuple(entry["size"]), entry["own"], figures, entry["problem"]
    )


def _figures(found: Mapping[str, Any]) -> Figures:
    return Figures(**{**found, "failed": tuple(found["failed"])})
