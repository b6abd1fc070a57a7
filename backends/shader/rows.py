"""Rows of four floats that follow a kernel's weights: biases and other parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ir.types import LANES, fits_half
from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

EPILOGUE_ROWS = 64  # at most, of biases and parameters of the planes that a draw writes
ARRAY_LENGTHS = (48, 192, 448, 1024)  # of weights in uniform blocks of programs that share sizes


@dataclass(frozen=True)
class Rows:
    """Rows of parameters: all, or that of one plane, counted from the first that a pass writes."""

    all: np.ndarray
    plane: int | None = None

    @property
    def count(self) -> int:
        return len(self.all) if self.plane is None else 1

    def at(self, first: int) -> np.ndarray:
        """Return the rows of the pass that writes from a plane on."""
        if self.plane is None:
            return self.all
        return self.all[first + self.plane :][:1]

    @property
    def fit_half(self) -> bool:
        """Whether 16-bit floats hold the rows, of whichever plane."""
        return all(map(fits_half, self.all)) if self.plane is not None else fits_half(self.all)


def rows_at(tail: Iterable[Rows], first: int) -> list[np.ndarray]:
    """Return the parameters beside the weights of the pass that writes from a plane on."""
    return [rows.at(first) for rows in tail]


def plane_rows(data: np.ndarray) -> np.ndarray:
    """Return a per-channel vector as rows of four lanes, zero-padded: (ceil(C/4), 4)."""
    flat = np.asarray(data, np.float32).reshape(-1)
    rows = np.zeros((-(-len(flat) // LANES), LANES), np.float32)
    rows.reshape(-1)[: len(flat)] = flat
    return rows


def array_length(rows: int, most: int) -> int:
    """Return the length of an array of weights: a few lengths serve all, so that programs agree.

    Args:
        rows: of weights.
        most: that a uniform block holds.
    """
    return next((n for n in ARRAY_LENGTHS if rows <= n <= most), rows)
