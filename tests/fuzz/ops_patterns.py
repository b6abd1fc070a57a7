"""What networks are made of: blocks of several operators, and sizes read off other tensors."""

from __future__ import annotations

import numpy as np

from .net import Net, Rejected
from .operators import operator

ACTIVATIONS = ("Relu", "Tanh", "Sigmoid", "HardSwish", "LeakyRelu", "Softplus", "Elu")


def same(net: Net, x: str, filters: int, size: int = 3) -> str:
    """Add a convolution that keeps the size."""
    channels = net.shape(x)[1]
    weights = net.weight(filters, channels, size, size, fan=channels * size * size)
    return str(net("Conv", x, weights, net.weight(filters), pads=[size // 2] * 4))


def activated(net: Net, x: str) -> str:
    return str(net(net.draw.one(*ACTIVATIONS), x))


@operator("residual", weight=2, dynamic=True)
def residual(net: Net) -> str:
    x = net.pick(rank=4)
    channels = net.shape(x)[1]
    inside = activated(net, same(net, x, channels + net.draw.integer(0, 3)))
    return str(net("Add", x, same(net, inside, channels, net.draw.one(1, 3))))


@operator("dense", weight=1, dynamic=True)
def dense(net: Net) -> str:
    x = net.pick(rank=4)
    for _ in range(net.draw.integer(1, 3)):
        x = net("Concat", x, activated(net, same(net, x, net.draw.integer(1, 4))), axis=1)
    return x


@operator("crelu", weight=1, dynamic=True)
def crelu(net: Net) -> str:
    """Read activations of a map and of its negative, the last layer perhaps those of all maps."""
    draw = net.draw
    x, joins = net.pick(rank=4), []
    channels = draw.one(4, 4, 8, 3)
    activation = draw.one("Relu", "Relu", "Abs", "LeakyRelu")
    for _ in range(draw.integer(1, 3)):
        x = same(net, x, channels, draw.one(1, 3))
        negative = net("Relu", net("Neg", x))
        joins.append(net("Concat", net(activation, x), negative, axis=1))
        x = joins[-1]
    if draw.chance(0.5):
        x = net("Concat", *joins, axis=1)
    return same(net, x, draw.integer(1, 5), draw.one(1, 3))


@operator("depthwise", weight=1, dynamic=True)
def separable(net: Net) -> str:
    x = net.pick(rank=4)
    channels = net.shape(x)[1]
    strides = [net.draw.one(1, 1, 2)] * 2
    w = net.weight(channels, 1, 3, 3, fan=9)
    x = net("Conv", x, w, net.weight(channels), group=channels, pads=[1] * 4, strides=strides)
    return same(net, activated(net, x) if net.draw.chance(0.6) else x, net.draw.integer(1, 9), 1)


@operator("gate", weight=1, dynamic=True)
def gate(net: Net) -> str:
    x = net.pick(rank=4)
    channels = net.shape(x)[1]
    squeezed = activated(net, same(net, net("GlobalAveragePool", x), 3, 1))
    return str(net("Mul", x, net("Sigmoid", same(net, squeezed, channels, 1))))


@operator("u-shape", weight=2, dynamic=True)
def u_shape(net: Net) -> str:
    """Halve a map, compute, bring it back to its size, join it with what it was."""
    draw = net.draw
    x = net.pick(rank=4, fits=lambda a: min(a.shape[2:]) > 3)
    channels = net.shape(x)[1]
    halves = {"kernel_shape": [2, 2], "strides": [2, 2]}
    small = net(draw.one("MaxPool", "AveragePool"), x, **halves)
    small = activated(net, same(net, small, draw.integer(1, 6)))
    filters = net.shape(small)[1]
    if draw.chance(0.4):
        up = net(
            "ConvTranspose", small, net.weight(filters, channels, 2, 2, fan=filters), strides=[2, 2]
        )
    elif draw.chance(0.5) and net.opset > 10:
        up = resized_like(net, small, x)
    elif net.opset > 10:
        none = net.constant(np.float32([])) if net.opset < 13 else ""
        scales = net.constant(np.float32([1, 1, 2, 2]))
        up = net("Resize", small, none, scales, mode=draw.one("nearest", "linear"))
    else:
        raise Rejected("no Resize")
    if net.shape(up)[2:] != net.shape(x)[2:]:
        raise Rejected("odd sizes")
    return str(net("Concat", up, x, axis=1))


def sizes_of(net: Net, x: str, start: int, end: int) -> str:
    """Add what reads some of a tensor's sizes."""
    return str(net("Slice", net("Shape", x), starts=[start], ends=[end], axes=[0]))


def resized_like(net: Net, x: str, like: str) -> str:
    """Resize a map to another's size, read off its shape."""
    draw = net.draw
    sizes = net("Concat", sizes_of(net, x, 0, 2), sizes_of(net, like, 2, 4), axis=0)
    none = net.constant(np.float32([])) if net.opset < 13 else ""
    mode = draw.one("nearest", "linear", "cubic")
    named = {
        "coordinate_transformation_mode": draw.one("half_pixel", "align_corners", "asymmetric")
    }
    return str(net("Resize", x, none, none, sizes, mode=mode, **named))


@operator("resize to the size of another", weight=1, dynamic=True)
def resize_like(net: Net) -> str:
    if net.opset < 11:
        raise Rejected("no sizes")
    return resized_like(net, net.pick(rank=4), net.pick(rank=4))


@operator("tokens and back", weight=1, dynamic=True)
def tokens(net: Net) -> str:
    """Take a map as rows of channels, and back to the shape that it had."""
    draw = net.draw
    x = net.pick(rank=4)
    batch, channels = net.shape(x)[:2]
    rows = net("Reshape", x, net.constant([batch, channels, -1], np.int64))
    rows = net("Transpose", rows, perm=[0, 2, 1])
    count = draw.integer(1, 6)
    rows = net("MatMul", rows, net.weight(channels, count, fan=channels))
    if draw.chance(0.5) and net.opset > 16:
        rows = net("LayerNormalization", rows, net.weight(count), axis=-1)
    rows = net("Transpose", activated(net, rows), perm=[0, 2, 1])
    shape = net("Concat", net.constant([batch, count], np.int64), sizes_of(net, x, 2, 4), axis=0)
    return str(net("Reshape", rows, shape))


@operator("channel shuffle", weight=0.7, dynamic=True)
def shuffle(net: Net) -> str:
    x = net.pick(rank=4, fits=lambda a: a.shape[1] in (4, 6, 8, 9))
    batch, channels, height, width = net.shape(x)
    groups = 3 if channels % 3 == 0 else 2
    if not net.dynamic:
        inside = net.constant([batch, groups, channels // groups, height, width], np.int64)
        turned = net("Transpose", net("Reshape", x, inside), perm=[0, 2, 1, 3, 4])
        return str(net("Reshape", turned, net.constant([batch, channels, height, width], np.int64)))
    sizes = sizes_of(net, x, 2, 4)
    inside = net(
        "Concat", net.constant([batch, groups, channels // groups], np.int64), sizes, axis=0
    )
    turned = net("Transpose", net("Reshape", x, inside), perm=[0, 2, 1, 3, 4])
    return str(
        net(
            "Reshape",
            turned,
            net("Concat", net.constant([batch, channels], np.int64), sizes, axis=0),
        )
    )


@operator("crop or flip of a map", weight=1, dynamic=True)
def crop(net: Net) -> str:
    x, draw = net.pick(rank=4, fits=lambda a: min(a.shape[2:]) > 4), net.draw
    axis = draw.one(2, 3, -1, -2)
    start, end, step = draw.one(
        (1, 2**31 - 1, 1), (0, -1, 1), (1, -1, 2), (-1, -(2**31), -1), (2, 2**31 - 1, 3)
    )
    if net.opset < 10:
        start, end, step = max(0, start), 2**31 - 1, 1
    return str(net("Slice", x, starts=[start], ends=[end], axes=[axis], steps=[step]))


@operator("turned map", weight=0.7, dynamic=True)
def turned(net: Net) -> str:
    return str(net("Transpose", net.pick(rank=4), perm=[0, 1, 3, 2]))


@operator("channels last and back", weight=0.7, dynamic=True)
def channels_last(net: Net) -> str:
    x = net("Transpose", net.pick(rank=4), perm=[0, 2, 3, 1])
    channels = net.shape(x)[3]
    if net.draw.chance(0.5):
        x = net("MatMul", x, net.weight(channels, channels, fan=channels))
    x = net("Add", x, net.weight(channels))
    return str(net("Transpose", activated(net, x), perm=[0, 3, 1, 2]))


@operator("channels of a map", weight=1, dynamic=True)
def some_channels(net: Net) -> tuple[str, ...]:
    x = net.pick(rank=4, fits=lambda a: a.shape[1] > 1)
    channels = net.shape(x)[1]
    first = net.draw.integer(1, channels - 1)
    return tuple(net("Split", x, outputs=2, axis=1, split=[first, channels - first]))
