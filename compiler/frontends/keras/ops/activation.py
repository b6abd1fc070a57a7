"""Activations of keras.ops, tf.nn and keras.backend, with their parameters.

Activations that are layers are in :mod:`..layers.activation`, those that layers name in
:mod:`..layers.named_activations`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...activations import activation
from ..layers.activation import rectified
from ..layers.named_activations import ACTIVATIONS as NAMED
from ..layers.softmax import glu, log_softmax, softmax, sparsemax
from ..tensors import Tensor, call, pointwise
from .elementwise import unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..layers.layer import Layer
    from .arguments import Arguments
    from .elementwise import Operation


def relu(layer: Layer, a: Arguments) -> Tensor:
    """keras.backend.relu with its options; without them, relu."""
    x = a.tensor(0, "x", "features")
    slope = a.number(None, 0.0, "alpha", "negative_slope")
    ceiling = a.number(None, float("inf"), "max_value")
    threshold = a.number(None, 0.0, "threshold")
    return rectified(layer, x, None if np.isinf(ceiling) else ceiling, slope, threshold)


def parametric(
    function: str, default: float, names: tuple[str, ...], layer: Layer, a: Arguments
) -> Tensor:
    """Apply a formula with one numeric parameter."""
    x = a.tensor(0, "x", "features", "value")
    return pointwise(call(function, a.number(1, default, *names)), [x], layer.name)


def formula_with(text: str, default: float, name: str, layer: Layer, a: Arguments) -> Tensor:
    """Apply a formula of x0 and one numeric parameter, x1."""
    x = a.tensor(0, "x")
    return pointwise(text, [x, a.number(1, default, name)], layer.name)


def gelu(default: bool, layer: Layer, a: Arguments) -> Tensor:
    """Apply the Gaussian error linear unit, exactly or through tanh."""
    x = a.tensor(0, "x", "features")
    approximate = a.flag(1, default, "approximate")
    return pointwise("gelu_tanh(x0)" if approximate else "gelu(x0)", [x], layer.name)


def hard_sigmoid(layer: Layer, a: Arguments) -> Tensor:
    """Apply hard_sigmoid, whose slope changed between Keras 2 and 3."""
    slope = 0.2 if layer.version[0] < 3 else 1 / 6
    return pointwise(call("hard_sigmoid", slope, 0.5), [a.tensor(0, "x")], layer.name)


def threshold(layer: Layer, a: Arguments) -> Tensor:
    """Keep values above the threshold, and replace all others by one value."""
    x = a.tensor(0, "x")
    limit, other = (
        a.number(1, 0.0, "threshold", "threshold_value"),
        a.number(2, 0.0, "value", "default_value"),
    )
    return pointwise("where(x1 < x0, x0, x2)", [x, limit, other], layer.name)


def over_axis(
    function: Callable[[Layer, Tensor, tuple[int, ...]], Tensor], layer: Layer, a: Arguments
) -> Tensor:
    """Apply an activation over axes: softmax and the like."""
    x = a.tensor(0, "x", "logits", "input")
    return function(layer, x, a.axes(1, x, -1, "axis", "dim"))


ACTIVATIONS: dict[str, Operation] = {
    **{
        name: partial(unary, NAMED[name])
        for name in (
            *("hard_silu", "hard_tanh", "log_sigmoid", "relu6", "selu", "sigmoid", "softplus"),
            *("softsign", "sparse_plus", "sparse_sigmoid", "tanh_shrink"),
        )
    },
    "celu": partial(parametric, "celu", 1.0, ("alpha",)),
    "elu": partial(parametric, "elu", 1.0, ("alpha",)),
    "gelu": partial(gelu, True),
    "glu": partial(over_axis, glu),
    "hard_shrink": partial(
        formula_with, activation("hard_shrink", threshold="x1"), 0.5, "threshold"
    ),
    "hard_sigmoid": hard_sigmoid,
    "leaky_relu": partial(parametric, "leaky_relu", 0.2, ("negative_slope", "alpha")),
    "log_softmax": partial(over_axis, log_softmax),
    "relu": relu,
    "silu": partial(parametric, "swish", 1.0, ("beta",)),
    "soft_shrink": partial(
        formula_with, activation("soft_shrink", threshold="x1"), 0.5, "threshold"
    ),
    "softmax": partial(over_axis, softmax),
    "sparsemax": partial(over_axis, sparsemax),
    "squareplus": partial(formula_with, activation("squareplus", b="x1"), 4.0, "b"),
    "tf_gelu": partial(gelu, False),
    "threshold": threshold,
}
