"""Convolution layers, over one, two or three axes.

Keras kernels hold the taps first, then inputs and outputs; those of the IR hold O, I, taps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .....errors import ShadergenError
from .....ir.ops import Conv, ConvTranspose
from .....ir.ops.window import same_padding as padding_total
from .common import one
from .named_activations import activate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .....ir.graph import Value
    from ..tensors import Tensor
    from .layer import Layer

PADDINGS = ("valid", "same")


def same_padding(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the padding before and after that TensorFlow's "same" gives an axis.

    Source: the result has ceil(size / stride) elements; an odd rest of padding comes after.
    """
    total = padding_total(size, stride, (kernel - 1) * dilation + 1)
    return total // 2, total - total // 2


def padding(
    layer: Layer,
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[int, ...]:
    """Return the configured padding: before each axis, then after each."""
    modes = (*PADDINGS, "causal") if len(sizes) == 1 else PADDINGS
    mode = layer.config.choice("padding", modes, "valid")
    return padding_of(mode, sizes, kernel, strides, dilations)


def padding_of(
    mode: str,
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[int, ...]:
    """Return the padding of a name: before each axis, then after each."""
    pairs = [(0, 0)] * len(sizes)
    if mode == "same":
        along = zip(sizes, kernel, strides, dilations, strict=True)
        pairs = [same_padding(*numbers) for numbers in along]
    elif mode == "causal":
        pairs = [((kernel[0] - 1) * dilations[0], 0)]
    return (*(before for before, _ in pairs), *(after for _, after in pairs))


def _conv(layer: Layer, x: Value, kernel: Sequence[int], groups: int) -> Conv:
    """Return the operator that the configuration describes, for an input of that size."""
    config, axes = layer.config, len(kernel)
    strides = config.sizes("strides", axes, 1)
    dilations = config.sizes("dilation_rate", axes, 1)
    pads = padding(layer, x.shape[2:], kernel, strides, dilations)
    return Conv(strides, dilations, pads, groups)


def _bias(layer: Layer, filters: int) -> dict[str, tuple[int, ...]]:
    return {"bias": (filters,)} if layer.config.flag("use_bias", True) else {}


def outputs_first(kernel: NDArray[Any]) -> NDArray[Any]:
    """Taps, I, O -> O, I, taps; of a transposed convolution I, O, taps, as the IR has it."""
    rank = kernel.ndim
    moved: NDArray[Any] = kernel.transpose(rank - 1, rank - 2, *range(rank - 2))
    return moved


def conv(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Convolve; the kernel has the input channels of one group."""
    x = layer.feature_map(one(layer, inputs), axes)
    kernel, filters = layer.config.sizes("kernel_size", axes), layer.config.integer("filters")
    groups = layer.config.integer("groups", 1)
    channels = x.shape[1]
    if channels % groups or filters % groups:
        layer.config.malformed(
            "groups", f"a divisor of {channels} input channels and {filters} filters"
        )
    w = layer.constants(
        {"kernel": (*kernel, channels // groups, filters), **_bias(layer, filters)},
        lambda w: w | {"kernel": outputs_first(w["kernel"])},
    )
    y = layer.apply(_conv(layer, x, kernel, groups), x, *w.values())
    return activate(layer, layer.result(y))


def depthwise_conv(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Convolve every channel on its own, with ``depth_multiplier`` kernels each."""
    x = layer.feature_map(one(layer, inputs), axes)
    kernel, multiplier = layer.config.sizes("kernel_size", axes), _multiplier(layer)
    channels = x.shape[1]
    w = layer.constants(
        {
            "depthwise_kernel": (*kernel, channels, multiplier),
            **_bias(layer, channels * multiplier),
        },
        lambda w: w | {"depthwise_kernel": depthwise_kernel(w["depthwise_kernel"])},
    )
    y = layer.apply(_conv(layer, x, kernel, channels), x, *w.values())
    return activate(layer, layer.result(y))


def separable_conv(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Convolve every channel on its own, then mix the channels with a kernel of one tap."""
    x = layer.feature_map(one(layer, inputs), axes)
    kernel, filters = layer.config.sizes("kernel_size", axes), layer.config.integer("filters")
    multiplier, channels = _multiplier(layer), x.shape[1]
    w = layer.constants(
        {
            "depthwise_kernel": (*kernel, channels, multiplier),
            "pointwise_kernel": (*(1,) * axes, channels * multiplier, filters),
            **_bias(layer, filters),
        },
        lambda w: (
            w
            | {
                "depthwise_kernel": depthwise_kernel(w["depthwise_kernel"]),
                "pointwise_kernel": outputs_first(w["pointwise_kernel"]),
            }
        ),
    )
    depthwise, *pointwise = w.values()
    y = layer.apply(_conv(layer, x, kernel, channels), x, depthwise)
    mix = Conv((1,) * axes, (1,) * axes, (0,) * 2 * axes)
    return activate(layer, layer.result(layer.apply(mix, y, *pointwise)))


def _multiplier(layer: Layer) -> int:
    return layer.config.integer("depth_multiplier", 1)


def depthwise_kernel(kernel: NDArray[Any]) -> NDArray[Any]:
    """Taps, C, M -> C*M, 1, taps: every channel is a group of its own."""
    *taps, c, m = kernel.shape
    rank = kernel.ndim
    rows: NDArray[Any] = kernel.transpose(rank - 2, rank - 1, *range(rank - 2))
    return rows.reshape(c * m, 1, *taps)


def conv_transpose(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Upsample by the gradient of a convolution."""
    x = layer.feature_map(one(layer, inputs), axes)
    config = layer.config
    kernel, filters = config.sizes("kernel_size", axes), config.integer("filters")
    strides = config.sizes("strides", axes, 1)
    dilations = config.sizes("dilation_rate", axes, 1)
    extra = None
    if config.get("output_padding") is not None:
        extra = config.sizes("output_padding", axes, least=0)
    same = config.choice("padding", PADDINGS, "valid") == "same"
    pads, beyond = transposed_padding(same, x.shape[2:], kernel, strides, dilations, extra)
    if min(beyond) < 0:
        raise ShadergenError(
            "SG0105",
            "'output_padding' is too small: the result must cover the input",
            where=config.where,
        )
    w = layer.constants(
        {"kernel": (*kernel, filters, x.shape[1]), **_bias(layer, filters)},
        lambda w: w | {"kernel": outputs_first(w["kernel"])},
    )
    op = ConvTranspose(strides, dilations, pads, beyond)
    return activate(layer, layer.result(layer.apply(op, x, *w.values())))


def transposed_padding(
    same: bool,
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    extra: Sequence[int] | None,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding of a transposed convolution, and what its result has beyond that.

    Source: keras Conv2DTranspose: the result's size comes first, then its padding is that of the
    convolution from the result to x; what no kernel reaches holds the bias alone.
    """
    before, after, beyond = [], [], []
    for k, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        reach = (kernel[k] - 1) * dilations[k] + 1
        full = (size - 1) * stride + reach
        if extra is None:
            out = size * stride + (0 if same else max(reach - stride, 0))
        else:
            out = full + extra[k] - (2 * (reach // 2) if same else 0)
        total = max(full - out, 0) if same else 0
        before.append(total // 2)
        after.append(total - total // 2)
        beyond.append(out - full + total)
    return (*before, *after), tuple(beyond)
