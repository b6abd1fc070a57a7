"""The values of a parameter that a build takes, but for what its other constraints refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Grid:
    """Every ``step``-th value from ``first`` to ``last``."""

    first: int
    last: int
    step: int = 1

    @property
    def count(self) -> int:
        return (self.last - self.first) // self.step + 1

    @property
    def values(self) -> NDArray[np.int64]:
        return np.arange(self.first, self.last + 1, self.step, dtype=np.int64)
