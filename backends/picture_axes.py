"""Which axes of a tensor are a picture's channels, rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.dimensions import is_dynamic
from ..records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

CHANNELS = (1, 3, 4)  # of pictures: grey, RGB, RGBA


@dataclass(frozen=True)
class PictureAxes:
    """Axes of a tensor in the model's own order; ``channel`` is None for a plain (H, W)."""

    channel: int | None
    row: int
    column: int


def picture_axes(shape: Sequence[int], axes: Sequence[int]) -> PictureAxes | None:
    """Return the axes of one picture of 1, 3 or 4 channels; None if the tensor is no picture.

    Args:
        shape: in the model's own order: (1, C, H, W), (1, H, W, C), the same without the batch, or
            (H, W).
        axes: the port's permutation: host = logical.transpose(axes).
    """
    if len(shape) == 2:
        return PictureAxes(None, 0, 1)
    if len(shape) not in (3, 4) or (len(shape) == 4 and not _is(shape[0], (1,))):
        return None
    first, last = len(shape) - 3, len(shape) - 1
    possible = [axis for axis in (first, last) if _is(shape[axis], CHANNELS)]
    if not possible:
        return None
    logical = 1 if len(shape) == 4 else 0
    channel = next((axis for axis in possible if axes[axis] == logical), possible[0])
    row, column = (a for a in range(first, last + 1) if a != channel)
    return PictureAxes(channel, row, column)


def _is(size: int, allowed: tuple[int, ...]) -> bool:
    return not is_dynamic(size) and size in allowed
