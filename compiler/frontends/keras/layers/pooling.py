"""Pooling over windows, over all of space, and into a given number of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .....errors import ShadergenError
from .....ir.ops import AdaptivePool, Pool, Reduce
from ..tensors import Tensor, of_model, own_order, pointwise, reshaped
from .common import one
from .convolution import PADDINGS, same_padding

if TYPE_CHECKING:
    from .layer import Layer

    Kind = Literal["max", "average"]


def pool(kind: Kind, axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Reduce each window; averages leave out the padding."""
    x = layer.feature_map(one(layer, inputs), axes)
    kernel = layer.config.sizes("pool_size", axes, 2)
    strides = layer.config.sizes("strides", axes, kernel)
    pairs = [(0, 0)] * axes
    if layer.config.choice("padding", PADDINGS, "valid") == "same":
        along = zip(x.shape[2:], kernel, strides, strict=True)
        pairs = [same_padding(size, taps, stride, 1) for size, taps, stride in along]
    pads = (*(before for before, _ in pairs), *(after for _, after in pairs))
    return layer.result(layer.apply(Pool(kind, kernel, strides, pads=pads), x))


def global_pool(kind: Kind, axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Reduce all positions of each channel; averages of a sequence leave out masked steps."""
    given = one(layer, inputs)
    keep = layer.config.flag("keepdims", False)
    if given.mask is not None and kind == "average" and axes == 1:
        return _masked_average(layer, given, given.mask, keep)
    x = layer.feature_map(given, axes)
    over = tuple(range(2, axes + 2))
    y = layer.apply(Reduce("mean" if kind == "average" else "max", over, keep), x)
    return layer.result(y) if keep else of_model(y)


def _masked_average(layer: Layer, x: Tensor, mask: Tensor, keep: bool) -> Tensor:
    if mask.rank != 2 or layer.data_format != "channels_last" or x.rank != 3:
        raise ShadergenError(
            "SG0202",
            "averaging under this mask is not implemented",
            where=layer.described,
            supported="sequences with their channels last, a mask of rank 2",
        )
    weights = reshaped(mask, (*mask.shape, 1), layer.name)
    steps = pointwise("x0 * x1", [x, weights], layer.name)
    sums = [
        of_model(layer.apply(Reduce("sum", (1,), keep), own_order(t, layer.name)))
        for t in (steps, pointwise("x0", [weights], layer.name))
    ]
    return pointwise("x0 / x1", sums, layer.name)


def adaptive_pool(kind: Kind, axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Divide the spatial axes into ``output_size`` parts and reduce each part."""
    x = layer.feature_map(one(layer, inputs), axes)
    sizes = layer.config.sizes("output_size", axes)
    return layer.result(layer.apply(AdaptivePool(kind, sizes), x))
