"""Measurements as in the JSON, and values computed from them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shadergen.compiler.benchmark.results import Ratio

OWN, PEER = "auto", "ncnn"  # the ratio that counts
HALVES = ("auto, 16 bits", "ncnn, 16 bits")  # the same where both compute in 16 bits
BUSY = 0.2  # of all processors: beyond, other programs decide how long frames take


@dataclass(frozen=True)
class Cost:
    """Milliseconds that passed, and that processors worked on it."""

    wall: float
    cpu: float

    @classmethod
    def of(cls, work: Callable[[], Any]) -> Cost:
        """Do some work and return its cost."""
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        return cls((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3)


@dataclass
class ContenderResult:
    """One contender on one network.

    Attributes:
        version: of the program, and what it computes on.
        problem: why it was not timed, or nothing.
        convert: from the model file to what :attr:`start` reads.
        start: from there to the first output, shaders compiled anew.
        memory: bytes that the process grew by at most meanwhile.
        error: of the output, over the bound.
        options: that it was the fastest with, where it tells.
        passes: GPU passes, where it tells.
        macs: multiply-adds of a frame, where it tells.
        frames: of each round, with upload and download.
        resident: of each round, without; empty where it cannot.
    """

    version: str = ""
    problem: str = ""
    convert: Cost | None = None
    start: Cost | None = None
    memory: int = 0
    error: float | None = None
    options: str = ""
    passes: int | None = None
    macs: int | None = None
    frames: list[Cost] = field(default_factory=list)
    resident: list[Cost] = field(default_factory=list)


@dataclass(frozen=True)
class NetworkResult:
    """One network.

    Attributes:
        name: of the network.
        shape: of its input.
        timed: whether frames were to be measured.
        contenders: by name.
        operations: nodes of the model by operator.
        others: share of all processors that other programs took during the frames; None unknown.
        shares: of the multiply-add ceiling that OWN's convolutions reach, by layer; that of a frame
            under "". Empty where nothing is asked of them.
        problem: why nothing was measured, or nothing.
    """

    name: str
    shape: tuple[int, ...]
    timed: bool
    contenders: dict[str, ContenderResult] = field(default_factory=dict)
    operations: dict[str, int] = field(default_factory=dict)
    others: float | None = None
    shares: dict[str, float] = field(default_factory=dict)
    problem: str = ""

    @property
    def macs(self) -> int | None:
        """Multiply-adds of a frame that is computed directly, where a contender tells."""
        return max((c.macs for c in self.contenders.values() if c.macs), default=None)

    @property
    def clock(self) -> str:
        """The clock to go by: "wall", or "cpu" where other programs kept the machine busy."""
        return "cpu" if self.others is not None and self.others > BUSY else "wall"

    def times(self, contender: str, clock: str = "", resident: bool = False) -> list[float]:
        """Return the milliseconds of a contender's rounds; empty where it has none."""
        result = self.contenders.get(contender, ContenderResult())
        costs = result.resident if resident else result.frames
        return [getattr(c, clock or self.clock) for c in costs]

    def ratio(self, slow: str, fast: str, clock: str = "", resident: bool = False) -> Ratio | None:
        """Return how many times longer one takes than another, or None without both."""
        one, other = self.times(slow, clock, resident), self.times(fast, clock, resident)
        return Ratio.of(one, other) if one and other else None


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    p10: float
    p90: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        p10, median, p90 = np.percentile(values, (10, 50, 90)).tolist()
        return cls(median, p10, p90)


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))
