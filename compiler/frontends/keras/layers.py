"""Layers of Keras by class name: one short function for each family."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ....errors import ShadergenError
from ....ir.ops import BatchNormalization, Concat, Pad, ResizeNearest, Slice
from .activations import activate
from .config import is_number
from .convolutions import conv2d, conv2d_transpose, depthwise_conv2d, separable_conv2d
from .tensors import Tensor, arranged, call, channels_at, pointwise, reshaped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .layer import Layer

    Handler = Callable[[Layer, list[Tensor]], Tensor]


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
    """Do nothing: what dropout and noise layers do when a model is used."""
    return pointwise("x0", [one(layer, inputs)], layer.name)


def activation(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Apply a function by name; "linear" stays as a node that does nothing."""
    x = one(layer, inputs)
    y = activate(layer, x)
    return identity(layer, inputs) if y is x else y


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
    """Apply a learned slope, shared along ``shared_axes`` (the batch does not count as one)."""
    x = one(layer, inputs)
    shared = layer.config.integers("shared_axes", (), least=1)
    shape = tuple(1 if k in shared else s for k, s in enumerate(x.shape))[1:]
    order = np.argsort(x.axes)
    slope = layer.constants(
        {"alpha": shape}, lambda w: {"slope": w["alpha"][np.newaxis].transpose(order)}
    )["slope"]
    return pointwise("prelu(x0, x1)", [x, Tensor(slope, x.axes)], layer.name)


def batch_normalization(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Normalise along ``axis`` with the moving statistics."""
    x = one(layer, inputs)
    axes = layer.config.integers("axis", -1, least=-x.rank)
    if len(axes) != 1:
        layer.config.unsupported("axis", list(axes), "one axis")
    channel = axes[0] % max(x.rank, 1)
    if x.rank < 2 or not channel or not -x.rank <= axes[0] < x.rank:
        layer.config.malformed("axis", f"an axis of a tensor of rank {x.rank} after the first")
    size = x.shape[channel]
    roles = ["gamma"] if layer.config.flag("scale", True) else []
    roles += ["beta"] if layer.config.flag("center", True) else []
    roles += ["moving_mean", "moving_variance"]
    w = layer.constants(
        dict.fromkeys(roles, (size,)),
        lambda w: {"gamma": np.ones(size, "f4"), "beta": np.zeros(size, "f4")} | w,
    )
    order = x.axes if x.axes[channel] == 1 else channels_at(x.rank, channel)
    y = layer.apply(
        BatchNormalization(layer.config.number("epsilon", 1e-3)),
        arranged(x, order, layer.name),
        *(w[role] for role in ("gamma", "beta", "moving_mean", "moving_variance")),
    )
    return Tensor(y, order)


def zero_padding2d(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Put zeros around an image."""
    top, left, bottom, right = layer.config.borders("padding")
    x = layer.image(one(layer, inputs))
    return layer.result(layer.apply(Pad((0, 0, top, left), (0, 0, bottom, right)), x))


def cropping2d(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Cut an image's borders off."""
    top, left, bottom, right = layer.config.borders("cropping")
    x = layer.image(one(layer, inputs))
    n, c, h, w = x.shape
    sizes = (n, c, h - top - bottom, w - left - right)
    return layer.result(layer.apply(Slice((0, 0, top, left), (1,) * 4, sizes), x))


def up_sampling2d(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Repeat rows and columns."""
    layer.config.choice("interpolation", ("nearest",), "nearest")
    sy, sx = layer.config.pair("size", (2, 2))
    x = layer.image(one(layer, inputs))
    n, c, h, w = x.shape
    steps = ((1, 0, 1), (1, 0, 1), (1, 0, sy), (1, 0, sx))
    return layer.result(layer.apply(ResizeNearest((n, c, h * sy, w * sx), steps), x))


def merged(formula: str, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Combine any number of inputs pairwise, two at a time: all in one expression."""
    if not inputs:
        raise ShadergenError("SG0105", "the layer has no inputs", where=layer.described)
    text = "x0"
    for k in range(1, len(inputs)):
        text = formula.format(text, f"x{k}")
    return pointwise(text, _of_equal_rank(layer, inputs), layer.name)


def subtract(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Subtract the second input from the first."""
    if len(inputs) != 2:
        raise ShadergenError(
            "SG0105", f"the layer takes two inputs, not {len(inputs)}", where=layer.described
        )
    return merged("{0} - {1}", layer, inputs)


def average(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Average the inputs."""
    text = " + ".join(f"x{k}" for k in range(len(inputs)))
    operands = _of_equal_rank(layer, inputs)
    return pointwise(f"({text or 'x0'}) / {max(len(inputs), 1)}", operands, layer.name)


def _of_equal_rank(layer: Layer, inputs: list[Tensor]) -> list[Tensor]:
    """Refuse ranks that differ: merge layers insert axes after the batch, unlike broadcasting."""
    if len({x.rank for x in inputs}) > 1:
        ranks = ", ".join(str(x.rank) for x in inputs)
        raise ShadergenError("SG0206", f"inputs of ranks {ranks}", where=layer.described)
    return inputs


def concatenate(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Join the inputs along ``axis``."""
    axis = layer.config.integers("axis", -1, least=-16)
    return joined(layer, inputs, axis[0] if axis else -1)


def joined(layer: Layer, inputs: Sequence[Tensor], axis: int) -> Tensor:
    """Concatenate along an axis of the model's order."""
    if not inputs:
        raise ShadergenError("SG0105", "nothing to concatenate", where=layer.described)
    first = inputs[0]
    if len({x.rank for x in inputs}) > 1:
        raise ShadergenError("SG0105", "tensors of several ranks", where=layer.described)
    values = [arranged(x, first.axes, layer.name) for x in inputs]
    return Tensor(layer.apply(Concat(first.axis(axis, layer.described)), *values), first.axes)


def rescaling(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Scale and shift, all channels alike or each by its own."""
    factors = [_per_channel(layer, key, value) for key, value in (("scale", 1.0), ("offset", 0.0))]
    return pointwise("x0 * x1 + x2", [one(layer, inputs), *factors], layer.name)


def _per_channel(layer: Layer, key: str, default: float) -> np.ndarray | float:
    value = layer.config.get(key, default=default)
    if isinstance(value, list) and value and all(map(is_number, value)):
        return np.asarray([float(v) for v in value], np.float32)
    return layer.config.number(key, default)


def reshape(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Give what follows the batch another shape, channels last as the model has them."""
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


def permute(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Permute the axes after the batch, which ``dims`` counts from 1."""
    x = one(layer, inputs)
    return transposed(layer, x, (0, *layer.config.integers("dims", least=1)))


def transposed(layer: Layer, x: Tensor, order: Sequence[int]) -> Tensor:
    """Permute the model's axes: no data moves."""
    if sorted(order) != list(range(x.rank)):
        raise ShadergenError(
            "SG0105", f"{list(order)} is no order of {x.rank} axes", where=layer.described
        )
    named = identity(layer, [x])
    return Tensor(named.value, tuple(x.axes[k] for k in order))


def flatten(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Give all that follows the batch one axis."""
    x = one(layer, inputs)
    if layer.config.get("data_format") == "channels_first" and x.rank > 2:
        x = transposed(layer, x, (0, *range(2, x.rank), 1))
    return reshaped(x, (x.shape[0], x.value.type.size // x.shape[0]), layer.name)


LAYERS: dict[str, Handler] = {
    "Activation": activation,
    "ActivityRegularization": identity,
    "Add": partial(merged, "{0} + {1}"),
    "AlphaDropout": identity,
    "Average": average,
    "BatchNormalization": batch_normalization,
    "BatchNormalizationV1": batch_normalization,
    "BatchNormalizationV2": batch_normalization,
    "Concatenate": concatenate,
    "Conv2D": conv2d,
    "Conv2DTranspose": conv2d_transpose,
    "Convolution2D": conv2d,
    "Convolution2DTranspose": conv2d_transpose,
    "Cropping2D": cropping2d,
    "DepthwiseConv2D": depthwise_conv2d,
    "Dropout": identity,
    "ELU": elu,
    "Flatten": flatten,
    "GaussianDropout": identity,
    "GaussianNoise": identity,
    "Identity": identity,
    "LeakyReLU": leaky_relu,
    "Maximum": partial(merged, "max({0}, {1})"),
    "Minimum": partial(merged, "min({0}, {1})"),
    "Multiply": partial(merged, "{0} * {1}"),
    "PReLU": prelu,
    "Permute": permute,
    "ReLU": relu,
    "Rescaling": rescaling,
    "Reshape": reshape,
    "SeparableConv2D": separable_conv2d,
    "SeparableConvolution2D": separable_conv2d,
    "SpatialDropout1D": identity,
    "SpatialDropout2D": identity,
    "Subtract": subtract,
    "ThresholdedReLU": thresholded_relu,
    "UpSampling2D": up_sampling2d,
    "ZeroPadding2D": zero_padding2d,
}
