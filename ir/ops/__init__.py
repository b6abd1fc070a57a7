"""Every operator of the IR. Adding one means: its class, this table, its lowering, its test."""

from __future__ import annotations

from .base import Op
from .convolution import Conv, ConvTranspose
from .fused import Fused, Parts, assemble, parts
from .movement import (
    Concat,
    DepthToSpace,
    Movement,
    Pad,
    Rearrange,
    Reshape,
    ResizeNearest,
    Slice,
    Transpose,
)
from .normalization import BatchNormalization
from .pointwise import Pointwise

OPS: dict[str, type[Op]] = {
    op.__name__: op
    for op in (
        BatchNormalization,
        Concat,
        Conv,
        ConvTranspose,
        DepthToSpace,
        Fused,
        Pad,
        Pointwise,
        Rearrange,
        Reshape,
        ResizeNearest,
        Slice,
        Transpose,
    )
}

__all__ = [
    "OPS",
    "BatchNormalization",
    "Concat",
    "Conv",
    "ConvTranspose",
    "DepthToSpace",
    "Fused",
    "Movement",
    "Op",
    "Pad",
    "Parts",
    "Pointwise",
    "Rearrange",
    "Reshape",
    "ResizeNearest",
    "Slice",
    "Transpose",
    "assemble",
    "parts",
]
