"""Which sizes of a model's inputs a build leaves open: ``--input-size dynamic``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ShadergenError
from ...ir.size import Trace, parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT = (256, 384)  # halved seven times without a rest, and no square


class Opening:
    """Puts open sizes in place of height and width of a model's images.

    The first image's height and width are the parameters ``height`` and ``width``. Further images
    share them where the model declares the same sizes for them; others keep their own.

    Args:
        most: of height and width, the largest texture of the device.
        default: height and width that the build has at first; None takes what the model declares.
    """

    def __init__(self, most: int, default: tuple[int, int] | None = None) -> None:
        self._most = most
        self._default = default
        self._first: tuple[int | None, int | None] | None = None
        self._sizes = (0, 0)

    def open(
        self, name: str, shape: Sequence[int | None], spatial: tuple[int, int]
    ) -> list[int | None]:
        """Return the shape of an input with its height and width open.

        Args:
            name: of the input.
            shape: as the model declares it; None where dynamic.
            spatial: the positions of height and width.

        Raises:
            ShadergenError: SG0301 for a default beyond the device.
        """
        height, width = (shape[axis] for axis in spatial)
        if self._first is None:
            self._first = height, width
            self._sizes = self._parameters(height, width)
        elif self._first != (height, width):
            return list(shape)
        result = list(shape)
        for axis, size in zip(spatial, self._sizes, strict=True):
            result[axis] = size
        return result

    def _parameters(self, height: int | None, width: int | None) -> tuple[int, int]:
        defaults = self._default or (height or DEFAULT[0], width or DEFAULT[1])
        if not all(1 <= size <= self._most for size in defaults):
            raise ShadergenError(
                "SG0301",
                f"a default size of {defaults[0]}x{defaults[1]}",
                supported=f"1 to {self._most}, the largest texture of the device",
            )
        names = ("height", "width")
        bounds = dict.fromkeys(names, (1.0, float(self._most)))
        trace = Trace(dict(zip(names, defaults, strict=True)), bounds)
        return parameter(trace, "height"), parameter(trace, "width")

    def check(self) -> None:
        """Refuse a model without an image.

        Raises:
            ShadergenError: SG0301.
        """
        if self._first is None:
            raise ShadergenError(
                "SG0301",
                "--input-size dynamic leaves the size of images open, and the model takes none",
                supported="inputs of rank 4",
            )
