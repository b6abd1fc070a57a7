"""Quantised numbers: rounded to steps, kept as integers, multiplied as such."""

from __future__ import annotations

import numpy as np

from .net import Net
from .operators import operator


def scale_and_zero(net: Net, x: str, kind: type, axis: int | None) -> tuple[str, str]:
    """Return constants: for all elements, or for each index of an axis."""
    count = [] if axis is None else [net.shape(x)[axis]]
    scale = net.draw.uniform(0.02, 0.1, *count)
    zero = net.draw.whole(0 if kind == np.uint8 else -20, 30, *count, dtype=kind)
    return net.constant(scale), net.constant(zero)


@operator("QuantizeLinear", weight=2)
def there_and_back(net: Net) -> tuple[str, ...]:
    x, draw = net.pick(), net.draw
    kind = draw.one(np.uint8, np.int8)
    axis = draw.axis(net.rank(x)) if net.opset > 12 and draw.chance(0.3) else None
    scale, zero = scale_and_zero(net, x, kind, axis)
    q = net("QuantizeLinear", x, scale, zero, axis=axis)
    return q, net("DequantizeLinear", q, scale, zero, axis=axis)


@operator("DequantizeLinear", weight=1)
def from_integers(net: Net) -> str:
    x, draw = net.pick("u"), net.draw
    axis = draw.axis(net.rank(x)) if net.opset > 12 and draw.chance(0.3) else None
    scale, zero = scale_and_zero(net, x, net.values[x].dtype.type, axis)
    return str(net("DequantizeLinear", x, scale, zero, axis=axis))


@operator("DynamicQuantizeLinear", weight=0.5)
def dynamic(net: Net) -> str:
    q, scale, zero = net("DynamicQuantizeLinear", net.pick(), outputs=3)
    return str(net("DequantizeLinear", q, scale, zero))


@operator("MatMulInteger", "QLinearMatMul", weight=0.8)
def integer_product(net: Net) -> str:
    draw = net.draw
    x = net.pick("u", (2, 3), lambda a: a.dtype == np.uint8)
    inner = net.shape(x)[-1]
    w = net.constant(draw.whole(-20, 20, inner, draw.integer(1, 6), dtype=np.int8))
    if draw.chance(0.5):
        zeros = [net.constant(draw.integer(0, 30), np.uint8)] if draw.chance(0.6) else []
        return str(net("MatMulInteger", x, w, *zeros))
    a, b, y = (net.constant(np.float32(s)) for s in (0.02, 0.03, 0.3))
    zero, none = net.constant(draw.integer(0, 30), np.uint8), net.constant(0, np.int8)
    return str(net("QLinearMatMul", x, a, zero, w, b, none, y, zero))


@operator("ConvInteger", "QLinearConv", weight=0.8)
def integer_convolution(net: Net) -> str:
    draw = net.draw
    x = net.pick("u", 4, lambda a: a.dtype == np.uint8 and min(a.shape[2:]) > 2)
    filters = draw.integer(1, 5)
    w = net.constant(draw.whole(-9, 9, filters, net.shape(x)[1], 3, 3, dtype=np.int8))
    named = {"pads": draw.one(None, [1] * 4, [0, 1, 1, 0]), "strides": draw.one(None, [2, 1])}
    if draw.chance(0.5):
        zeros = [net.constant(draw.integer(0, 30), np.uint8)] if draw.chance(0.6) else []
        return str(net("ConvInteger", x, w, *zeros, **named))
    a, y = net.constant(np.float32(0.02)), net.constant(np.float32(0.2))
    b = net.constant(draw.uniform(0.01, 0.05, filters) if draw.chance(0.5) else np.float32(0.03))
    none = net.constant(np.zeros(net.shape(b), np.int8))
    zero = net.constant(draw.integer(0, 30), np.uint8)
    bias = [net.constant(draw.whole(-99, 99, filters, dtype=np.int32))] if draw.chance(0.5) else []
    return str(net("QLinearConv", x, a, zero, w, b, none, y, zero, *bias, **named))
