"""Measurements as in the JSON. Times are milliseconds, GB are 10^9 bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

FLOPS = 2  # of a multiply-add


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing."""

    mean: float
    median: float
    p95: float
    min: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise one value or more."""
        median, p95 = np.percentile(values, (50, 95)).tolist()
        return cls(float(np.mean(values)), median, p95, float(np.min(values)))


@dataclass(frozen=True)
class Ratio:
    """A build's frames relative to the first build's frames of the same rounds."""

    median: float
    p10: float
    p90: float

    @classmethod
    def of(cls, frames: Sequence[float], first: Sequence[float]) -> Ratio:
        """Compare frames with the first build's frames, round by round."""
        p10, median, p90 = np.percentile(np.divide(frames, first), (10, 50, 90)).tolist()
        return cls(median, p10, p90)


@dataclass(frozen=True)
class Rates:
    """Work done in a time, and its share of the ceilings, which are 1."""

    gflops: float
    gigabytes: float
    of_arithmetic: float
    of_bandwidth: float

    @property
    def limit(self) -> str:
        """The ceiling that is nearer."""
        return "arithmetic" if self.of_arithmetic >= self.of_bandwidth else "bandwidth"


@dataclass(frozen=True)
class Ceiling:
    """The most that a stage does: the rate of each shape that was tried, in GFLOP/s or GB/s."""

    stage: str
    kind: str
    shapes: dict[str, float]

    @property
    def best(self) -> float:
        return max(self.shapes.values())


@dataclass(frozen=True)
class Ceilings:
    """The ceilings of a device."""

    measured: tuple[Ceiling, ...]

    def best(self, kind: str, stage: str | None = None) -> float:
        """Return the rate of a stage; without one, or for one not measured, of the best."""
        every = [c for c in self.measured if c.kind == kind]
        return max(c.best for c in [c for c in every if c.stage == stage] or every)

    def rates(
        self, macs: int, size: int, milliseconds: float, stage: str | None = None
    ) -> Rates | None:
        """Return what multiply-adds and bytes in a time come to; None for no time at all."""
        if milliseconds <= 0:
            return None
        gflops = FLOPS * macs / milliseconds / 1e6
        gigabytes = size / milliseconds / 1e6
        return Rates(
            gflops,
            gigabytes,
            gflops / self.best("multiply-add", stage),
            gigabytes / self.best("copy", stage),
        )


@dataclass(frozen=True)
class Memory:
    """By how many bytes the process grew."""

    load: int
    init: int
    first_frame: int


@dataclass(frozen=True)
class Startup:
    """From a folder to the first frame: read and check, make all objects, draw.

    ``memory`` is None where the system does not tell it.
    """

    load_ms: float
    init_ms: float
    first_frame_ms: float
    memory: Memory | None


@dataclass(frozen=True)
class PassResult:
    """One GPU pass and the median of its times."""

    name: str
    layers: tuple[str, ...]
    stage: str
    kernel: str
    macs: int
    bytes: int
    milliseconds: float
    rates: Rates | None


@dataclass(frozen=True)
class BuildResult:
    """One build.

    ``wait_ms`` is what a wait takes when there is nothing to wait for; ``passes_ms`` the sum of its
    passes' times, which are taken by "queries" to the GPU or by "waiting" for each pass.
    """

    name: str
    model: str
    macs: int
    bytes: int
    startup: Startup
    latency_ms: Spread
    wait_ms: float
    ratio: Ratio
    rates: Rates | None
    passes_ms: float
    passes_timed_by: str
    passes: tuple[PassResult, ...]
    frames_ms: tuple[float, ...]


@dataclass(frozen=True)
class Transfer:
    """Copies of one kind of image between memory and GPU, in GB/s at the mean time."""

    format: str
    width: int
    height: int
    bytes: int
    repeats: int
    upload_ms: Spread
    upload_gigabytes: float
    read_ms: Spread
    read_gigabytes: float
