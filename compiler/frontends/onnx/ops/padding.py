"""Pad and CenterCropPad: negative amounts crop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.dimensions import bounds, statically_equal
from .....ir.ops import Pad, Slice
from .axes import in_place
from .parameters import parameters

if TYPE_CHECKING:
    from .....ir.indexing import PadMode
    from ..operands import Tensor
    from .elementwise import Handler
    from .node import OnnxNode

MODES: tuple[PadMode, ...] = ("constant", "reflect", "edge", "wrap")
WRAP_SINCE = 19


@in_place
@parameters(1, 2, 3)
def pad(node: OnnxNode) -> Tensor:
    """Pad: amounts are an attribute before operator set 11, then an input."""
    rank = len(node.shape(0))
    value = 0.0
    if node.version < 11:
        amounts = node.integers("pads")
        value = node.number("value", 0.0)
    else:
        amounts = node.known_integers(1, "the padding")
        if node.given(2):
            value = _fill(node)
    axes = tuple(range(rank))
    if node.given(3):
        axes = node.axes(node.known_integers(3, "the axes"), rank)
    if len(amounts) != 2 * len(axes):
        raise ShadergenError(
            "SG0105", f"{len(amounts)} amounts of padding do not fit {len(axes)} axes"
        )
    modes = MODES if node.version >= WRAP_SINCE else MODES[:-1]
    mode: PadMode = node.choice("mode", modes)
    before, after = [0] * rank, [0] * rank
    for k, axis in enumerate(axes):
        before[axis], after[axis] = amounts[k], amounts[k + len(axes)]
    return _padded(node, before, after, mode, value if mode == "constant" else 0.0)


def _padded(
    node: OnnxNode, before: list[int], after: list[int], mode: PadMode, value: float
) -> Tensor:
    """Crop the first input by negative amounts, then pad it by positive amounts."""
    x = node.item(0)
    starts = tuple(_positive(-b) for b in before)
    sizes = tuple(
        size - start - _positive(-a) for size, start, a in zip(x.shape, starts, after, strict=True)
    )
    if sizes != x.shape:
        if min(sizes) < 1:
            raise ShadergenError("SG0206", "negative padding leaves no elements")
        x = node.moved(Slice(starts, (1,) * len(sizes), sizes), x)
    grown = tuple(map(_positive, before)), tuple(map(_positive, after))
    nothing = all(statically_equal(amount, 0) for amounts in grown for amount in amounts)
    return x if nothing else node.moved(Pad(*grown, mode, value), x)


def _positive(amount: int) -> int:
    """Return what is positive of an amount. Decides nothing where bounds say which sign it has."""
    low, high = bounds(amount)
    return 0 if high <= 0 else amount if low >= 0 else max(amount, 0)


def _fill(node: OnnxNode) -> float:
    array = node.known(2, "the constant value")
    if array.size == 0:
        return 0.0
    if array.size != 1:
        raise ShadergenError("SG0105", "the constant value of Pad must be one number")
    value = float(np.float32(array.reshape(())))
    if np.isnan(value):
        raise ShadergenError("SG0202", "padding with NaN is not implemented")
    return float(str(np.float32(value)))


@parameters(1)
def center_crop_pad(node: OnnxNode) -> Tensor:
    """CenterCropPad: an odd difference crops or pads one more element at the end."""
    shape = node.shape(0)
    axes = node.axes(node.integers("axes", tuple(range(len(shape)))), len(shape))
    sizes = node.known_integers(1, "the shape")
    if len(sizes) != len(axes) or min(sizes, default=1) < 1:
        raise ShadergenError("SG0105", f"sizes {list(sizes)} do not fit {len(axes)} axes")
    before, after = [0] * len(shape), [0] * len(shape)
    for axis, size in zip(axes, sizes, strict=True):
        larger = abs(size - shape[axis])
        sign = 1 if size > shape[axis] else -1
        before[axis], after[axis] = sign * (larger // 2), sign * (larger - larger // 2)
    return _padded(node, before, after, "constant", 0.0)


PADDING: dict[str, Handler] = {
    "CenterCropPad": center_crop_pad,
    "Pad": pad,
}
