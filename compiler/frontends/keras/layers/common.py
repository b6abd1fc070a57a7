"""Shared helpers of layer handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError
from ..tensors import Tensor, pointwise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .layer import Layer

    Handler = Callable[[Layer, list[Tensor]], Tensor | list[Tensor]]


def one(layer: Layer, inputs: Sequence[Tensor]) -> Tensor:
    """Return the only input.

    Raises:
        ShadergenError: SG0105 when there are more or none.
    """
    if len(inputs) != 1:
        raise ShadergenError(
            "SG0105", f"the layer takes one input, not {len(inputs)}", where=layer.described
        )
    return inputs[0]


def identity(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Do nothing: dropout, noise and augmentation apply only in training."""
    x = one(layer, inputs)
    return pointwise("x0", [x], layer.name, x.dtype)


def real(x: Tensor, layer: str) -> Tensor:
    """Return a tensor of floating-point numbers; others are converted."""
    return x if x.dtype == "float32" else pointwise("x0", [x], layer)


def axes_of(layer: Layer, x: Tensor, default: object = -1, key: str = "axis") -> tuple[int, ...]:
    """Return the axes that the configuration names, counted from the left, in its order.

    Raises:
        ShadergenError: SG0105 when x has no such axes, or one is named twice.
    """
    axes = layer.config.integers(key, default, least=-x.rank)
    found = tuple(a % x.rank for a in axes if a < x.rank)
    if len(set(found)) < len(axes):
        layer.config.malformed(key, f"axes of a tensor of rank {x.rank}")
    return found
