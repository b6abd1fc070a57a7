"""Normalisation by stored statistics or by the sample's statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....ir.expr import Num, substitute
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.ops import (
    BatchNormalization,
    GroupNormalization,
    LayerNormalization,
    LpNormalization,
    Pointwise,
    RMSNormalization,
)
from .....ir.ops.normalization import mean_and_variance
from ..tensors import Tensor, arranged, channels_at
from .common import axes_of, one
from .merging import LEAST_NORM

if TYPE_CHECKING:
    from .....ir.graph import Constant
    from .layer import Layer


def batch_normalization(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Normalise along ``axis`` with the moving statistics."""
    x = one(layer, inputs)
    channel = _channel_axis(layer, x)
    size = x.shape[channel]
    w = layer.constants(
        dict.fromkeys([*_scale_and_shift(layer), "moving_mean", "moving_variance"], (size,)),
        lambda w: {"gamma": np.ones(size, "f4"), "beta": np.zeros(size, "f4")} | w,
    )
    order = x.axes if x.axes[channel] == 1 else channels_at(x.rank, channel)
    y = layer.apply(
        BatchNormalization(layer.config.number("epsilon", 1e-3)),
        arranged(x, order, layer.name),
        *(w[role] for role in ("gamma", "beta", "moving_mean", "moving_variance")),
    )
    return Tensor(y, order)


def _channel_axis(layer: Layer, x: Tensor) -> int:
    axes = axes_of(layer, x)
    if len(axes) != 1:
        layer.config.unsupported("axis", list(axes), "one axis")
    if x.rank < 2 or not axes[0]:
        layer.config.malformed("axis", f"an axis other than the first of a tensor of rank {x.rank}")
    return axes[0]


def _scale_and_shift(layer: Layer) -> list[str]:
    roles = ["gamma"] if layer.config.flag("scale", True) else []
    return [*roles, "beta"] if layer.config.flag("center", True) else roles


def group_normalization(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Normalise groups of neighbouring channels, each over its channels and all of space."""
    x = one(layer, inputs)
    channel = _channel_axis(layer, x)
    size = x.shape[channel]
    groups = layer.config.integer("groups", 32, least=-1)
    groups = size if groups == -1 else groups
    if groups < 1 or size % groups:
        layer.config.malformed("groups", f"a divisor of {size} channels, or -1")
    w = layer.constants(
        dict.fromkeys(_scale_and_shift(layer), (size,)),
        lambda w: {"gamma": np.ones(size, "f4"), "beta": np.zeros(size, "f4")} | w,
    )
    order = x.axes if x.axes[channel] == 1 else channels_at(x.rank, channel)
    op = GroupNormalization(groups, layer.config.number("epsilon", 1e-3))
    y = layer.apply(op, arranged(x, order, layer.name), w["gamma"], w["beta"])
    return Tensor(y, order)


def layer_normalization(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Normalise over ``axis``, one or several; ``rms_scaling`` divides by the deviation alone."""
    x = one(layer, inputs)
    axes = axes_of(layer, x)
    epsilon = layer.config.number("epsilon", 1e-3)
    only_scaled = layer.config.flag("rms_scaling", False)
    roles = ["gamma"] if only_scaled else _scale_and_shift(layer)
    w = _parameters(layer, x, axes, roles)
    over = _logical(x, axes)
    if only_scaled:
        _, variance = mean_and_variance(x.value, over)
        formula = substitute(parse("x0 / sqrt(x1 + e) * x2"), {"e": Num(epsilon)})
        return Tensor(layer.apply(Pointwise(formula), x.value, variance, w["gamma"]), x.axes)
    operands = [x.value]
    if roles:
        ones = constant(np.ones((1,) * x.rank, np.float32), "ones")
        operands.append(w.get("gamma", ones))
        operands += [w["beta"]] if "beta" in w else []
    return Tensor(layer.apply(LayerNormalization(over, epsilon), *operands), x.axes)


def rms_normalization(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Divide by the root of the mean square over ``axis``, then multiply by the scale."""
    x = one(layer, inputs)
    axes = axes_of(layer, x)
    # Keras broadcasts the scale to the last axes, whichever were reduced.
    last = tuple(range(x.rank - len(axes), x.rank))
    if tuple(x.shape[a] for a in axes) != tuple(x.shape[a] for a in last):
        layer.config.unsupported("axis", list(axes), "the last axes")
    shape = tuple(x.shape[a] for a in last)
    w = layer.constants({"scale": shape}, lambda w: {"scale": _spread(w["scale"], x, last)})
    op = RMSNormalization(_logical(x, axes), layer.config.number("epsilon", 1e-6))
    return Tensor(layer.apply(op, x.value, w["scale"]), x.axes)


def unit_normalization(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Give every vector along ``axis`` the length 1."""
    x = one(layer, inputs)
    over = _logical(x, axes_of(layer, x))
    return Tensor(layer.apply(LpNormalization(over, 2, LEAST_NORM), x.value), x.axes)


def layer_scale(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Scale the last axis by learned numbers: the layer that ConvNeXt of keras.applications has."""
    x = one(layer, inputs)
    size = layer.config.integer("projection_dim")
    last = x.rank - 1
    if x.shape[last] != size:
        layer.config.unsupported("projection_dim", size, f"{x.shape[last]}, the last axis's size")
    w = layer.constants({"gamma": (size,)}, lambda w: {"gamma": _spread(w["gamma"], x, (last,))})
    return Tensor(layer.apply(Pointwise(parse("x0 * x1")), x.value, w["gamma"]), x.axes)


def spectral_normalization(layer: Layer, inputs: list[Tensor]) -> list[Tensor]:
    """Apply the wrapped layer: its kernel was divided by its norm when it was trained.

    The last weight of the file is the vector that training uses.
    """
    inner = layer.part(layer.config.get("layer"), ("layer",), slice(0, -1))
    return inner.applied(*inputs)


def _logical(x: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(x.axes[a] for a in axes))


def _parameters(
    layer: Layer, x: Tensor, axes: tuple[int, ...], roles: list[str]
) -> dict[str, Constant]:
    """Return weights that have the sizes of ``axes``, shaped to broadcast to x."""
    shape = tuple(x.shape[a] for a in axes)
    return layer.constants(
        dict.fromkeys(roles, shape),
        lambda w: {role: _spread(array, x, axes) for role, array in w.items()},
    )


def _spread(array: np.ndarray, x: Tensor, axes: tuple[int, ...]) -> np.ndarray:
    """Give an array of the sizes of ``axes`` the shape that broadcasts to x's value."""
    in_order = array.transpose(np.argsort(axes))
    shape = tuple(size if k in axes else 1 for k, size in enumerate(x.shape))
    spread: np.ndarray = in_order.reshape(shape).transpose(np.argsort(x.axes))
    return spread
