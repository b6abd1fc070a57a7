"""Convolutions as operations, with kernels that the model's file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .....ir.graph import constant
from .....ir.ops import Conv
from ..layers.common import real
from ..layers.convolution import depthwise_kernel, outputs_first, padding_of
from ..tensors import Tensor, arranged, features, pointwise
from .images import sizes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .....ir.graph import Value
    from ..layers.layer import Layer
    from .arguments import Arguments
    from .elementwise import Operation


class _Call:
    """The arguments of a convolution: feature map, kernel, and how it moves."""

    def __init__(self, layer: Layer, a: Arguments) -> None:
        self.layer, self.a = layer, a
        x = real(a.tensor(0, "inputs", "input", "value"), layer.name)
        self.axes = x.rank - 2
        if not 1 <= self.axes <= 3:
            a.malformed("inputs", "feature maps of rank 3 to 5")
        self.data_format = a.data_format(None, layer.around.data_format)
        self.order = features(x.rank, self.data_format)
        self.x = arranged(x, self.order, layer.name)
        self.kernel = self.known(
            1, "kernel", "filters", "filter", "depthwise_kernel", "depthwise_filter"
        )
        a.ignore("use_cudnn_on_gpu")
        strides = a.value(2, "strides")
        self.strides = self.sizes("strides", 1 if strides is None else strides)
        mode = a.value(3, "padding")
        mode = "valid" if mode is None else mode
        if not isinstance(mode, str) or mode.lower() not in ("valid", "same"):
            a.unsupported("padding", mode, "valid, same")
        self.mode = mode.lower()
        dilations = a.value(None, "dilation_rate", "dilations")
        self.dilations = self.sizes("dilation_rate", 1 if dilations is None else dilations)

    def known(self, position: int | None, *names: str) -> NDArray[Any]:
        """Return a kernel: taps, inputs, outputs."""
        array = self.a.operand(position, *names)
        if not isinstance(array, np.ndarray) or array.ndim != self.axes + 2:
            self.a.malformed(names[0], f"a constant array of rank {self.axes + 2}")
        return array

    def sizes(self, name: str, value: Any) -> tuple[int, ...]:
        return sizes_of(self.a, value, name, self.axes, self.data_format)

    def pads(self, kernel: NDArray[Any]) -> tuple[int, ...]:
        taps = kernel.shape[: self.axes]
        return padding_of(self.mode, self.x.shape[2:], taps, self.strides, self.dilations)

    def apply(self, op: Conv, x: Value, kernel: NDArray[Any]) -> Value:
        w = constant(np.ascontiguousarray(kernel), f"{self.layer.name}/kernel")
        return self.layer.apply(op, x, w)

    def result(self, y: Value) -> Tensor:
        return Tensor(y, self.order)


def conv(layer: Layer, a: Arguments) -> Tensor:
    """Convolve; in groups if the kernel has fewer input channels than the tensor."""
    c = _Call(layer, a)
    inputs = c.kernel.shape[-2]
    groups = c.x.shape[1] // max(inputs, 1)
    if inputs * groups != c.x.shape[1] or c.kernel.shape[-1] % groups:
        a.malformed("kernel", f"a kernel for {c.x.shape[1]} input channels")
    op = Conv(c.strides, c.dilations, c.pads(c.kernel), groups)
    return c.result(c.apply(op, c.x, outputs_first(c.kernel)))


def depthwise_conv(layer: Layer, a: Arguments) -> Tensor:
    """Convolve every channel on its own."""
    c = _Call(layer, a)
    return c.result(_depthwise(c))


def _depthwise(c: _Call) -> Value:
    channels = c.x.shape[1]
    if c.kernel.shape[-2] != channels:
        c.a.malformed("kernel", f"a kernel for {channels} input channels")
    op = Conv(c.strides, c.dilations, c.pads(c.kernel), channels)
    return c.apply(op, c.x, depthwise_kernel(c.kernel))


def separable_conv(layer: Layer, a: Arguments) -> Tensor:
    """Convolve every channel on its own, then mix the channels."""
    if len(a.args) > 2:  # it comes before the strides
        a.kwargs["pointwise_kernel"] = a.args.pop(2)
    c = _Call(layer, a)
    y = _depthwise(c)
    ones = (1,) * c.axes
    kernel = c.known(None, "pointwise_kernel", "pointwise_filter")
    return c.result(c.apply(Conv(ones, ones, (0,) * 2 * c.axes), y, outputs_first(kernel)))


def bias_add(layer: Layer, a: Arguments) -> Tensor:
    """Add a vector along the channels."""
    x, bias = a.tensor(0, "value", "x"), a.operand(1, "bias")
    data_format = a.data_format(2, layer.around.data_format)
    if data_format == "channels_first" and x.rank > 2:
        if isinstance(bias, Tensor):
            a.unsupported("data_format", data_format, "channels_last")
        bias = np.reshape(np.asarray(bias), (-1, *(1,) * (x.rank - 2)))
    return pointwise("x0 + x1", [x, bias], layer.name)


CONVOLUTION: dict[str, Operation] = {
    "bias_add": bias_add,
    "conv": conv,
    "depthwise_conv": depthwise_conv,
    "separable_conv": separable_conv,
}
