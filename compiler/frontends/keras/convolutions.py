"""Convolution layers. Keras kernels are HWIO, the IR's OIHW."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import ShadergenError
from ....ir.ops import Conv, ConvTranspose
from .activations import activate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ....ir.graph import Value
    from ....ir.ops.convolution import Pads
    from .layer import Layer
    from .tensors import Tensor

PADDINGS = ("valid", "same")
_TO_OIHW = (3, 2, 0, 1)


def _only(layer: Layer, inputs: list[Tensor]) -> Value:
    if len(inputs) != 1:
        raise ShadergenError(
            "SG0105", f"the layer takes one input, not {len(inputs)}", where=layer.described
        )
    return layer.image(inputs[0])


def same_padding(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the padding before and after that TensorFlow's "same" gives an axis.

    Source: the result has ceil(size / stride) elements; an odd rest of padding comes after.
    """
    reach = (kernel - 1) * dilation + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def _conv(layer: Layer, x: Value, kernel: tuple[int, int], groups: int) -> Conv:
    """Return the operator that the configuration describes, for an input of that size."""
    config = layer.config
    strides, dilations = config.pair("strides", (1, 1)), config.pair("dilation_rate", (1, 1))
    pads: Pads = (0, 0, 0, 0)
    if config.choice("padding", PADDINGS, "valid") == "same":
        (top, bottom), (left, right) = (
            same_padding(x.shape[2 + k], kernel[k], strides[k], dilations[k]) for k in (0, 1)
        )
        pads = (top, left, bottom, right)
    return Conv(strides, dilations, pads, groups)


def _bias(layer: Layer, filters: int) -> dict[str, tuple[int, ...]]:
    return {"bias": (filters,)} if layer.config.flag("use_bias", True) else {}


def conv2d(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Convolve; the kernel is HWIO, its inputs those of one group."""
    x = _only(layer, inputs)
    kernel, filters = layer.config.pair("kernel_size"), layer.config.integer("filters")
    groups = layer.config.integer("groups", 1)
    channels = x.shape[1]
    if channels % groups or filters % groups:
        layer.config.malformed(
            "groups", f"a divisor of {channels} input channels and {filters} filters"
        )
    w = layer.constants(
        {"kernel": (*kernel, channels // groups, filters), **_bias(layer, filters)},
        lambda w: w | {"kernel": w["kernel"].transpose(_TO_OIHW)},
    )
    y = layer.apply(_conv(layer, x, kernel, groups), x, *w.values())
    return activate(layer, layer.result(y))


def depthwise_conv2d(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Convolve every channel on its own, with ``depth_multiplier`` kernels each."""
    x = _only(layer, inputs)
    kernel, multiplier = layer.config.pair("kernel_size"), _multiplier(layer)
    channels = x.shape[1]
    w = layer.constants(
        {
            "depthwise_kernel": (*kernel, channels, multiplier),
            **_bias(layer, channels * multiplier),
        },
        lambda w: w | {"depthwise_kernel": _depthwise(w["depthwise_kernel"])},
    )
    y = layer.apply(_conv(layer, x, kernel, channels), x, *w.values())
    return activate(layer, layer.result(y))


def separable_conv2d(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Convolve every channel on its own, then mix the channels with a 1x1 kernel."""
    x = _only(layer, inputs)
    kernel, filters = layer.config.pair("kernel_size"), layer.config.integer("filters")
    multiplier, channels = _multiplier(layer), x.shape[1]
    w = layer.constants(
        {
            "depthwise_kernel": (*kernel, channels, multiplier),
            "pointwise_kernel": (1, 1, channels * multiplier, filters),
            **_bias(layer, filters),
        },
        lambda w: (
            w
            | {
                "depthwise_kernel": _depthwise(w["depthwise_kernel"]),
                "pointwise_kernel": w["pointwise_kernel"].transpose(_TO_OIHW),
            }
        ),
    )
    depthwise, *pointwise = w.values()
    y = layer.apply(_conv(layer, x, kernel, channels), x, depthwise)
    return activate(layer, layer.result(layer.apply(Conv(), y, *pointwise)))


def _multiplier(layer: Layer) -> int:
    return layer.config.integer("depth_multiplier", 1)


def _depthwise(kernel: NDArray[Any]) -> NDArray[Any]:
    """HWCM -> (C*M)1HW: every channel is a group of its own."""
    h, w, c, m = kernel.shape
    rows: NDArray[Any] = kernel.transpose(2, 3, 0, 1)
    return rows.reshape(c * m, 1, h, w)


def conv2d_transpose(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Upsample by the gradient of a convolution.

    Source: keras Conv2DTranspose: the result's size comes first, then its padding is that of the
    convolution from the result to x; what no kernel reaches holds the bias alone.
    """
    x = _only(layer, inputs)
    config = layer.config
    kernel, filters = config.pair("kernel_size"), config.integer("filters")
    strides, dilations = config.pair("strides", (1, 1)), config.pair("dilation_rate", (1, 1))
    extra: tuple[int, int] | None = None
    if config.get("output_padding") is not None:
        extra = config.pair("output_padding", least=0)
    same = config.choice("padding", PADDINGS, "valid") == "same"
    before, after, beyond = [0, 0], [0, 0], [0, 0]
    for k in (0, 1):
        size, stride = x.shape[2 + k], strides[k]
        reach = (kernel[k] - 1) * dilations[k] + 1
        full = (size - 1) * stride + reach
        if extra is None:
            out = size * stride + (0 if same else max(reach - stride, 0))
        else:
            out = full + extra[k] - (2 * (reach // 2) if same else 0)
        total = max(full - out, 0) if same else 0
        before[k] = total // 2
        after[k] = total - total // 2
        beyond[k] = out - full + total
    if min(beyond) < 0:
        config.malformed("output_padding", "such that the result covers the input")
    w = layer.constants(
        {"kernel": (*kernel, filters, x.shape[1]), **_bias(layer, filters)},
        lambda w: w | {"kernel": w["kernel"].transpose(_TO_OIHW)},
    )
    pads: Pads = (before[0], before[1], after[0], after[1])
    op = ConvTranspose(strides, dilations, pads, (beyond[0], beyond[1]))
    return activate(layer, layer.result(layer.apply(op, x, *w.values())))
