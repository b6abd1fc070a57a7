"""Layers that move data: reshaping, padding, cropping, repeating."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.ops import Expand, Pad, ResizeNearest, Slice
from ..tensors import Tensor, of_model, own_order, reshaped
from .common import identity, one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .....ir.graph import Value
    from .layer import Layer


def reshape(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Reshape the axes after the batch, in the model's axis order."""
    x = one(layer, inputs)
    target = layer.config.integers("target_shape", least=-1)
    shape = resolved(layer, target, x.value.type.size // x.shape[0])
    return reshaped(x, (x.shape[0], *shape), layer.name)


def resolved(layer: Layer, shape: Sequence[int], size: int) -> tuple[int, ...]:
    """Fill the one -1 of a shape of ``size`` elements."""
    known = 1
    for s in shape:
        known *= s if s != -1 else 1
    if list(shape).count(-1) > 1 or known < 1 or size % known or known > size:
        raise ShadergenError(
            "SG0105", f"{size} elements do not fill the shape {list(shape)}", where=layer.described
        )
    return tuple(size // known if s == -1 else s for s in shape)


def reshape_all(layer: Layer, x: Tensor) -> Tensor:
    """Return all elements in a row."""
    return reshaped(x, (x.value.type.size,), layer.name)


def permute(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Permute the axes after the batch; in ``dims``, 1 is the first of these axes."""
    x = one(layer, inputs)
    return transposed(layer, x, (0, *layer.config.integers("dims", least=1)))


def transposed(layer: Layer, x: Tensor, order: Sequence[int]) -> Tensor:
    """Permute the model's axes: no data moves."""
    if sorted(order) != list(range(x.rank)):
        raise ShadergenError(
            "SG0105", f"{list(order)} is not an order of {x.rank} axes", where=layer.described
        )
    named = identity(layer, [x])
    return Tensor(named.value, tuple(x.axes[k] for k in order))


def flatten(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Merge all axes after the batch into one."""
    x = one(layer, inputs)
    if layer.config.get("data_format") == "channels_first" and x.rank > 2:
        x = transposed(layer, x, (0, *range(2, x.rank), 1))
    return reshaped(x, (x.shape[0], x.value.type.size // x.shape[0]), layer.name)


def repeat_vector(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Make a sequence of ``n`` equal steps."""
    x = one(layer, inputs)
    if x.rank != 2:
        raise ShadergenError(
            "SG0205",
            f"the layer takes vectors, not a tensor of rank {x.rank}",
            where=layer.described,
        )
    batch, size = x.shape
    row = reshaped(x, (batch, 1, size), layer.name)
    count = layer.config.integer("n")
    return of_model(layer.apply(Expand((batch, count, size)), own_order(row, layer.name)))


def zero_padding(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Put zeros around a feature map."""
    borders = layer.config.borders("padding", axes)
    x = layer.feature_map(one(layer, inputs), axes)
    before, after = ((0, 0, *(pair[k] for pair in borders)) for k in (0, 1))
    return layer.result(layer.apply(Pad(before, after), x))


def cropping(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Cut a feature map's borders off."""
    borders = layer.config.borders("cropping", axes)
    x = layer.feature_map(one(layer, inputs), axes)
    return layer.result(cropped(layer, x, borders))


def cropped(layer: Layer, x: Value, borders: Sequence[tuple[int, int]]) -> Value:
    """Cut off what ``borders`` says before and after each spatial axis."""
    starts = (0, 0, *(before for before, _ in borders))
    ends = zip(x.shape[2:], borders, strict=True)
    sizes = (*x.shape[:2], *(size - before - after for size, (before, after) in ends))
    return layer.apply(Slice(starts, (1,) * len(starts), sizes), x)


def repeated(layer: Layer, x: Value, factors: Sequence[int]) -> Value:
    """Repeat every element along the spatial axes."""
    steps = ((1, 0, 1), (1, 0, 1), *((1, 0, factor) for factor in factors))
    sizes = tuple(size * r for size, (_, _, r) in zip(x.shape, steps, strict=True))
    return layer.apply(ResizeNearest(sizes, steps), x)


def up_sampling(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Repeat every element of a sequence or volume."""
    x = layer.feature_map(one(layer, inputs), axes)
    return layer.result(repeated(layer, x, layer.config.sizes("size", axes, 2)))
