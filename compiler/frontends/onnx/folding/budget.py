"""Limits on computing and unrolling during the import: a small file must not fill memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .....errors import ShadergenError

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPUTED_LIMIT = 1 << 24
COMPUTED_PER_WEIGHT = 4
UNROLLED_LIMIT = 1 << 15
WORK_PER_DYNAMIC_SIZE = 64  # elements that one counts as: it is an object of some arithmetic
WORK_PER_TERM = 8  # and each term of its expression


def work(*arrays: NDArray[Any]) -> int:
    """Return how many elements each counts as that is computed from such arrays."""
    return WORK_PER_DYNAMIC_SIZE if any(a.dtype.kind == "O" for a in arrays) else 1


@dataclass
class Budget:
    """The number of elements that the importer may still compute.

    Every weight that is really in the file adds to it, since exporters rearrange weights.
    """

    left: int = COMPUTED_LIMIT
    steps: int = UNROLLED_LIMIT

    def add_weight(self, elements: int) -> None:
        self.left += COMPUTED_PER_WEIGHT * elements

    def take(self, elements: int) -> None:
        """Allow for a tensor; raise SG0401 when all computed constants together are too large."""
        self.allow(elements)
        self.left -= elements

    def allow(self, elements: int) -> None:
        """Raise SG0401 when a tensor would be too large; it may turn out a view of another."""
        if elements > self.left:
            raise ShadergenError(
                "SG0401",
                "the constants that the model computes are too large",
                why=f"the limit is {COMPUTED_LIMIT} elements in total, plus "
                f"{COMPUTED_PER_WEIGHT} for each element of the weights",
            )

    def step(self) -> None:
        """Allow for a node of a loop or a function; raise SG0401 when there are too many."""
        self.steps -= 1
        if self.steps < 0:
            raise ShadergenError(
                "SG0401",
                "the loops and functions of the model give too many nodes",
                why="the compiler unrolls loops and inlines functions",
                supported=f"up to {UNROLLED_LIMIT} nodes and iterations in all",
            )
