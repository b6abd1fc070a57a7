"""The share of the machine that other programs take during a benchmark."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
IDLE = (3, 4)  # of /proc/stat's numbers: idle, and idle for want of a disk
GUEST = 8  # from here on, counted twice


@dataclass(frozen=True)
class Moment:
    """Ticks since the system started: that all processors had, that were used, and by whom."""

    total: int
    busy: int
    own: int

    @classmethod
    def now(cls, processes: Iterable[int] = ()) -> Moment | None:
        """Read the counts; None where none are kept.

        Args:
            processes: beside this one, what counts as our own.
        """
        try:
            line = (PROC / "stat").read_text("ascii").splitlines()[0]
            own = sum(_ticks(p) for p in (os.getpid(), *processes))
        except OSError:
            return None
        counts = [int(n) for n in line.split()[1:]][:GUEST]
        idle = sum(counts[i] for i in IDLE)
        return cls(sum(counts), sum(counts) - idle, own)


def share_of_others(before: Moment | None, after: Moment | None) -> float | None:
    """Return the part of all processors that went to other programs between two moments."""
    if before is None or after is None or after.total <= before.total:
        return None
    foreign = (after.busy - before.busy) - (after.own - before.own)
    return max(0.0, foreign / (after.total - before.total))


def _ticks(process: int) -> int:
    """Return the processor time of a process and of its ended children.

    Its name, which may hold anything, stands in brackets.
    """
    fields = (PROC / str(process) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return sum(int(n) for n in fields[11:15])
