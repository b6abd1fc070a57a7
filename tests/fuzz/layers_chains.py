"""Short chains of layers that passes rewrite: borders, enlargement, scales beside convolutions."""

from __future__ import annotations

from typing import Any

import keras

from .keras_layers import L, activation, layer
from .keras_net import KerasNet, Tensor


def bent(net: KerasNet, x: Tensor) -> Tensor:
    """Add what may stand between two layers: most often nothing."""
    kind = net.draw.one("nothing", "nothing", "function", "normalisation")
    if kind == "nothing":
        return x
    return net(L.BatchNormalization() if kind == "normalisation" else L.Activation("relu"), x)


def convolved(net: KerasNet, x: Tensor, padding: str) -> Tensor:
    draw = net.draw
    named: dict[str, Any] = {"padding": padding, "activation": activation(net)}
    named["use_bias"] = draw.chance(0.7)
    size = draw.one(3, 3, 1, 2, 5)
    if draw.chance(0.3):
        return net(L.DepthwiseConv2D(size, depth_multiplier=draw.one(1, 2), **named), x)
    strides = draw.one(1, 1, 2)
    return net(L.Conv2D(draw.integer(1, 9), size, strides=strides, **named), x)


@layer("borders before a convolution", weight=2.5, dynamic=True)
def bordered(net: KerasNet) -> Tensor:
    draw, x = net.draw, net.pick(4)
    for _ in range(draw.one(1, 1, 2)):
        low, high = (tuple(draw.integers(0, 2, 2)) for _ in range(2))
        if net.chain or draw.chance(0.4):
            x = net(L.ZeroPadding2D((low, high)), x)
        else:
            mode = draw.one("constant", "reflect", "symmetric", "symmetric")
            widths = [[0, 0], [*low], [*high], [0, 0]]
            if draw.chance(0.4):
                widths[1:3] = [[1, 1], [1, 1]]
            x = net(keras.ops.pad, x, pad_width=widths, mode=mode)
    return convolved(net, x, draw.one("valid", "same"))


@layer("depthwise and 1x1", weight=2, dynamic=True)
def pair(net: KerasNet) -> Tensor:
    draw, x = net.draw, net.pick(4)
    named = {"padding": draw.one("same", "same", "valid"), "use_bias": draw.chance(0.5)}
    x = net(L.DepthwiseConv2D(draw.one(3, 3, 5), strides=draw.one(1, 1, 2), **named), x)
    return bent(net, net(L.Conv2D(draw.integer(1, 9), 1, use_bias=draw.chance(0.5)), bent(net, x)))


@layer("enlarged before a convolution", weight=2, dynamic=True)
def upsampled(net: KerasNet) -> Tensor:
    draw = net.draw
    method = draw.one("nearest", "nearest", "nearest", "bilinear")
    x = net(L.UpSampling2D(draw.one(2, 3, (1, 2)), interpolation=method), net.pick(4))
    return convolved(net, bent(net, x), draw.one("valid", "same"))


@layer("convolution and scales", weight=2, dynamic=True)
def scaled(net: KerasNet) -> Tensor:
    """Scale before and behind a convolution that keeps the shape, and add what it read."""
    x = net.pick(4)
    y = bent(net, x) if net.draw.chance(0.5) else x
    y = net(L.Conv2D(x.shape[-1], 3, padding="same", use_bias=net.draw.chance(0.7)), y)
    y = bent(net, net(L.BatchNormalization(), y))
    return y if net.chain or net.draw.chance(0.4) else bent(net, net(L.Add(), x, y))
