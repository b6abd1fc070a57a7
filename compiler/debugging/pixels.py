"""The worst pixel of a tensor, and the line of the shader that wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.types import LANES
from ...records import dataclass
from ...runtime_glue.python.schedule import ComputePass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...runtime_glue.python.schedule import Build
    from .stored import Stored

AXES = ("batch entry", "channel", "y", "x")


@dataclass(frozen=True)
class Pixel:
    """An element of a tensor.

    Attributes:
        index: in the tensor's logical shape.
        place: the index as text, such as "channel 3, y 7, x 12".
        got: the build's value.
        expected: the interpreter's.
        gpu_pass: the name of the GPU pass that wrote it.
        position: of this pass in the schedule.
        shader: the file of its shader, in the build.
        line: of the shader that stores it.
    """

    index: tuple[int, ...]
    place: str
    got: float
    expected: float
    gpu_pass: str
    position: int
    shader: str
    line: int

    @property
    def where(self) -> str:
        """The shader, and the line."""
        return f"{self.shader}:{self.line}"


def difference(got: NDArray[Any], expected: NDArray[Any]) -> NDArray[Any]:
    """Return absolute errors; equal infinities and two NaNs have none, one NaN an infinite one."""
    with np.errstate(invalid="ignore"):
        error = np.abs(got - expected)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    found: NDArray[Any] = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
    return found


def worst_pixel(
    stored: Stored,
    got: NDArray[Any],
    expected: NDArray[Any],
    error: NDArray[Any],
    build: Build,
    store_lines: Sequence[Sequence[int]],
) -> Pixel:
    """Return the element of a tensor with the largest error.

    Args:
        stored: the tensor.
        got: as the build computes it.
        expected: as it should be.
        error: the difference; not empty.
        build: that stores the tensor.
        store_lines: of the build's GPU passes (:class:`~...backends.build_files.BuildFiles`).
    """
    index = tuple(int(i) for i in np.unravel_index(int(error.argmax()), error.shape))
    position, attachment = _writer(stored, index, build)
    gpu_pass, lines = build.passes[position], store_lines[position]
    return Pixel(
        index,
        place_text(stored, index),
        float(got[index]),
        float(expected[index]),
        gpu_pass.name,
        position,
        gpu_pass.shader,
        lines[0 if isinstance(gpu_pass, ComputePass) else attachment],
    )


def place_text(stored: Stored, index: tuple[int, ...]) -> str:
    """Return an index as people read it."""
    if not stored.is_planes:
        return f"index {', '.join(map(str, index))}" if index else "the only number"
    named = list(zip(AXES, index, strict=True))
    return ", ".join(f"{axis} {i}" for axis, i in named[stored.shape[0] == 1 :])


def _writer(stored: Stored, index: tuple[int, ...], build: Build) -> tuple[int, int]:
    """Return the position of the pass that writes an element, and which of its writes does."""
    if stored.is_planes:
        n, channel = index[:2]
        layer = stored.first + n * stored.value.type.planes + channel // LANES
        for position in stored.passes:
            for attachment, write in enumerate(build.passes[position].writes):
                if write.layer == layer:
                    return position, attachment
    return stored.passes[0], 0
