"""Random weights for Keras models that behave like trained ones: see :mod:`.torch_weights`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers

SEPARABLE = (layers.SeparableConv1D, layers.SeparableConv2D)
TRANSPOSED = (layers.Conv1DTranspose, layers.Conv2DTranspose)
LINEAR = (
    layers.Dense,
    layers.Conv1D,
    layers.Conv2D,
    layers.DepthwiseConv2D,
    *SEPARABLE,
    *TRANSPOSED,
)


def calibrate(model: Any, pictures: Any, seed: int = 0, logits: float = 0.0) -> Any:
    """Give a functional model weights, in place, and return it.

    Args:
        model: a functional or sequential model with one input.
        pictures: a batch to run through, in the model's own axis order.
        seed: of the weights.
        logits: for a classifier, the deviation wanted of its last layer before softmax; 0 is off.
    """
    rng = np.random.default_rng(seed)
    fit = _Fit(rng, _last_linear(model) if logits else None, logits)
    fit.run(model, pictures)
    return model


def _flat(model: Any) -> list[Any]:
    return [
        inner for layer in model.layers for inner in (_flat(layer) if _nested(layer) else [layer])
    ]


def _nested(layer: Any) -> bool:
    return isinstance(layer, keras.Model) and hasattr(layer, "_run_through_graph")


def _last_linear(model: Any) -> Any:
    return next(layer for layer in reversed(_flat(model)) if isinstance(layer, LINEAR))


def _shrunk(variance: Any) -> Any:
    """Draw variances towards their mean: a small map says little about a channel's."""
    return 0.5 * variance + 0.5 * variance.mean() + 1e-6


class _Fit:
    def __init__(self, rng: np.random.Generator, last: Any, logits: float) -> None:
        self.rng, self.last, self.logits = rng, last, logits
        self.seen: set[int] = set()

    def run(self, model: Any, inputs: Any) -> Any:
        if isinstance(model, keras.Sequential):
            for layer in model.layers:
                inputs = self.call(layer)(inputs)
            return inputs
        return model._run_through_graph(inputs, operation_fn=self.call)

    def call(self, operation: Any) -> Callable[..., Any]:
        """Return what runs an operation of the graph, fitting it first."""

        def run(*arguments: Any, **keywords: Any) -> Any:
            keywords.pop("training", None)
            if _nested(operation):
                return self.run(operation, *arguments)
            if isinstance(operation, layers.Layer) and id(operation) not in self.seen:
                self.seen.add(id(operation))
                self.randomise(operation)
                if isinstance(operation, layers.BatchNormalization):
                    return self.normalise(operation, np.asarray(arguments[0]))
                if isinstance(operation, LINEAR):
                    return self.rescale(operation, arguments[0])
            return operation(*arguments, **keywords)

        return run

    def randomise(self, layer: Any) -> None:
        """Give a layer random weights of the right order of magnitude."""
        for weight in layer.weights:
            name = weight.path.rpartition("/")[2]
            if name in ("gamma", "scale"):
                weight.assign(self.rng.uniform(0.5, 1.5, weight.shape))
            elif name == "alpha":
                weight.assign(self.rng.uniform(0.1, 0.4, weight.shape))
            elif name in ("beta", "bias"):
                weight.assign(self.rng.uniform(-0.2, 0.2, weight.shape))
            elif name.endswith("kernel"):
                weight.assign(self.rng.normal(size=weight.shape) / np.sqrt(weight.shape[-2]))

    def normalise(self, layer: Any, x: Any) -> Any:
        """Set the statistics of a batch normalisation and return its result.

        In numpy, as all arithmetic here that need not be Keras': JAX compiles each operation anew
        for every shape, which takes far longer than the operation.
        """
        axes = tuple(a for a in range(x.ndim) if a != layer.axis % x.ndim)
        mean, variance = x.mean(axes), _shrunk(x.var(axes))
        layer.moving_mean.assign(mean)
        layer.moving_variance.assign(variance)
        shape = [-1 if a == layer.axis % x.ndim else 1 for a in range(x.ndim)]
        scale = (np.asarray(layer.gamma) if layer.scale else 1) / np.sqrt(variance + layer.epsilon)
        shift = (np.asarray(layer.beta) if layer.center else 0) - mean * scale
        return x * scale.reshape(shape) + shift.reshape(shape)

    def rescale(self, layer: Any, x: Any) -> Any:
        """Bring each channel near mean 0 and deviation 1 and return the layer's result."""
        activation, layer.activation = layer.activation, None
        y = np.asarray(layer(x))
        layer.activation = activation
        first = getattr(layer, "data_format", "") == "channels_first"
        channel = 1 if first else y.ndim - 1
        axes = tuple(a for a in range(y.ndim) if a != channel)
        shape = [-1 if a == channel else 1 for a in range(y.ndim)]
        deviation = np.sqrt(_shrunk(y.var(axes)))
        factor = self.rng.uniform(0.7, 1.3, deviation.shape).astype(np.float32) / deviation
        if layer is self.last:
            factor = factor * np.float32(self.logits)
        kernel = layer.pointwise_kernel if isinstance(layer, SEPARABLE) else layer.kernel
        if isinstance(layer, layers.DepthwiseConv2D):  # (h, w, channels, multiplier)
            kernel.assign(np.asarray(kernel) * factor.reshape(kernel.shape[2:]))
        elif isinstance(layer, TRANSPOSED):  # (..., outputs, inputs)
            kernel.assign(np.asarray(kernel) * factor[:, None])
        else:
            kernel.assign(np.asarray(kernel) * factor)
        result = y * factor.reshape(shape)
        if layer.use_bias:
            shift = self.rng.uniform(-0.2, 0.2, deviation.shape).astype(np.float32)
            shift -= y.mean(axes) * factor
            layer.bias.assign(np.asarray(layer.bias) * factor + shift)
            result += shift.reshape(shape)
        return activation(result)
