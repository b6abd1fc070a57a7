"""A convolution whose invocations compute several pixels: one map for each pixel of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.ops.base import require
from ...ir.ops.convolution import Conv
from ...ir.types import LANES, TensorType
from ...records import dataclass

if TYPE_CHECKING:
    from ...ir.nest import Nest
    from ...ir.ops.base import Mask
    from ...ir.ops.window import Sizes


@dataclass(frozen=True)
class ConvBlocks(Conv):
    """A convolution in blocks of pixels; each pixel of a block is stored in separate maps.

    y[n, (i*across + j)*P + o, r, c] = conv(x)[n, o, r*down + i, c*across + j], where ``block`` is
    (down, across) and P is O in whole planes. Pixels and channels beyond the convolution's result
    are arbitrary.

    x: (N, C, H, W), w: (O, C/groups, kernel), b: (O,), optional -> (N, down*across*P, rows,
    columns) of blocks.
    """

    for_kernels = True

    block: Sizes = (1, 1)

    def infer(self, x: TensorType, w: TensorType, *bias: TensorType) -> TensorType:
        whole = super().infer(x, w, *bias)
        require(whole.rank == 4, "blocks of pixels need a feature map of rank 4")
        require(min(self.block) >= 1, f"block {self.block} is not supported", supported="1 or more")
        return TensorType(apart_shape(whole.shape, self.block))

    def reference(self, x: Any, w: Any, *bias: Any) -> Any:
        return pixels_apart(super().reference(x, w, *bias), self.block)

    def determined(self, *known: Mask) -> Any:
        shape = super().infer(*(TensorType(k.shape) for k in known)).shape
        return pixels_apart(np.ones(shape, bool), self.block)

    def nest(self, x: TensorType, w: TensorType, *bias: TensorType) -> Nest | None:
        return None


def apart_shape(shape: tuple[int, ...], block: Sizes) -> tuple[int, ...]:
    """Return the shape of :func:`pixels_apart` of a map of some shape."""
    n, o, height, width = shape
    down, across = block
    return n, down * across * (o + -o % LANES), -(-height // down), -(-width // across)


def pixels_apart(y: Any, block: Sizes) -> Any:
    """Return a map with the pixels of each block in separate planes, row by row.

    y: (N, O, H, W) -> (N, down*across*P, rows, columns), where P is O in whole planes.
    """
    down, across = block
    n, o, height, width = y.shape
    y = np.pad(y, ((0, 0), (0, -o % LANES), (0, -height % down), (0, -width % across)))
    blocks = y.reshape(n, y.shape[1], y.shape[2] // down, down, y.shape[3] // across, across)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, -1, *blocks.shape[2:5:2])
