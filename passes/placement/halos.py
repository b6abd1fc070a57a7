"""The halo of a map that saves a convolution the border tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.dimensions import is_dynamic
from ...ir.ops import Conv
from ...ir.types import Halo
from ..kernel_ops import keeps_padding

if TYPE_CHECKING:
    from ...ir.graph import Value
    from ..kernel_ops import Parts

WIDEST = 16  # texels; with more, small pictures would be mostly halo


def halo_for(p: Parts) -> Halo | None:
    """Return the halo that holds the padding of a convolution, or None if none can.

    A halo of zeros does not help if a prologue or ``zero_guard`` changes the loaded zeros.
    """
    conv = p.kernel
    if not isinstance(conv, Conv) or conv.enlarged != (1, 1) or any(map(is_dynamic, conv.pads)):
        return None
    width = max(conv.pads)
    if not 0 < width <= WIDEST:
        return None
    zeros = conv.pad_mode == "constant" and conv.pad_value == 0.0
    if conv.pad_mode == "edge" or (
        zeros and keeps_padding(conv, p.prologue) and not conv.zero_guard
    ):
        return Halo("edge" if conv.pad_mode == "edge" else "zeros", width)
    return None


def holds_padding(x: Value, p: Parts) -> bool:
    """Whether the halo of a convolution's input holds all of its padding."""
    own = x.type.layout.halo if x.type.layout else None
    wanted = halo_for(p)
    if own is None or wanted is None:
        return False
    return own.content == wanted.content and own.width >= wanted.width
