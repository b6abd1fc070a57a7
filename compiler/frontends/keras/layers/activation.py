"""Activations that are layers, with parameters of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..tensors import Tensor, call, pointwise
from .common import axes_of, identity, one
from .named_activations import activate
from .softmax import masked_softmax

if TYPE_CHECKING:
    from .layer import Layer


def activation(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Apply a function by name; "linear" stays as a node that does nothing."""
    x = one(layer, inputs)
    y = activate(layer, x)
    return identity(layer, inputs) if y is x else y


def softmax_layer(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Softmax over one axis or several; elements excluded by a mask get 0."""
    x = one(layer, inputs)
    mask = x.mask
    if mask is not None and mask.shape != x.shape:
        layer.config.refuse(f"a mask of shape {mask.shape}", f"shape {x.shape}")
    return masked_softmax(layer, x, axes_of(layer, x), mask)


def relu(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Rectify, with the layer's ceiling, slope and threshold."""
    config = layer.config
    ceiling = config.get("max_value")
    return rectified(
        layer,
        one(layer, inputs),
        None if ceiling is None else config.number("max_value"),
        config.number("negative_slope", 0.0),
        config.number("threshold", 0.0),
    )


def rectified(
    layer: Layer, x: Tensor, ceiling: float | None, slope: float, threshold: float
) -> Tensor:
    """Apply Keras's relu: x above the threshold, slope * (x - threshold) below, at most ceiling."""
    if threshold:
        text = "thresholded_relu(x0, x1)"
    elif slope and ceiling is None:
        return pointwise(call("leaky_relu", slope), [x], layer.name)
    else:
        text = "relu(x0)"
    if ceiling is not None:
        text = "clamp(x0, 0, x3)" if not threshold else f"clamp({text}, 0, x3)"
    if slope:
        text += " - x2 * max(x1 - x0, 0)"
    return pointwise(text, [x, threshold, slope, ceiling or 0.0], layer.name)


def leaky_relu(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Rectify with a slope below zero: ``alpha`` in Keras 2, ``negative_slope`` in 3."""
    key = "negative_slope" if layer.config.get("negative_slope") is not None else "alpha"
    slope = layer.config.number(key, 0.3)
    return pointwise(call("leaky_relu", slope), [one(layer, inputs)], layer.name)


def elu(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Apply the exponential linear unit."""
    return pointwise(
        call("elu", layer.config.number("alpha", 1.0)), [one(layer, inputs)], layer.name
    )


def thresholded_relu(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Keep what exceeds ``theta``."""
    theta = layer.config.number("theta", 1.0)
    return pointwise(call("thresholded_relu", theta), [one(layer, inputs)], layer.name)


def prelu(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Apply a learned slope, shared along ``shared_axes`` (1 is the first after the batch)."""
    x = one(layer, inputs)
    shared = layer.config.integers("shared_axes", (), least=1)
    shape = tuple(1 if k in shared else s for k, s in enumerate(x.shape))[1:]
    order = np.argsort(x.axes)
    slope = layer.constants(
        {"alpha": shape}, lambda w: {"slope": w["alpha"][np.newaxis].transpose(order)}
    )["slope"]
    return pointwise("prelu(x0, x1)", [x, Tensor(slope, x.axes)], layer.name)
