"""Random choices, all from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Draw:
    """A source of random choices: equal seeds choose alike."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        """Return an integer of low..high, both included."""
        return int(self.rng.integers(low, high + 1))

    def integers(self, low: int, high: int, count: int) -> list[int]:
        return [self.integer(low, high) for _ in range(count)]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def one(self, *items: T) -> T:
        return items[self.integer(0, len(items) - 1)]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        shares = np.asarray(weights, float)
        return items[int(self.rng.choice(len(items), p=shares / shares.sum()))]

    def real(self, low: float, high: float) -> float:
        """Return a number that float32 holds."""
        return float(np.float32(self.rng.uniform(low, high)))

    def some(self, items: Sequence[T], least: int = 1) -> list[T]:
        """Return a random part of the items, in random order."""
        count = self.integer(least, len(items))
        return [items[k] for k in self.rng.permutation(len(items))[:count]]

    def axis(self, rank: int, least: int = 0) -> int:
        """Return an axis of least..rank-1, counted from either end."""
        axis = self.integer(least, rank - 1)
        return axis - rank if self.chance(0.5) else axis

    def axes(self, rank: int, least: int = 1) -> list[int]:
        """Return some axes in any order, each counted from either end."""
        return [a - rank if self.chance(0.4) else a for a in self.some(range(rank), least)]

    def normal(self, *shape: int, scale: float = 1.0) -> NDArray[np.float32]:
        return (self.rng.normal(size=shape) * scale).astype(np.float32)

    def uniform(self, low: float, high: float, *shape: int) -> NDArray[np.float32]:
        return self.rng.uniform(low, high, shape).astype(np.float32)

    def whole(self, low: int, high: int, *shape: int, dtype: Any = np.int64) -> NDArray[Any]:
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def divisor(self, number: int) -> int:
        return self.one(*(k for k in range(1, number + 1) if number % k == 0))
