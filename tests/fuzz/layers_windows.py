"""Convolutions, pools, borders and sizes of images, signals and volumes."""

from __future__ import annotations

from typing import Any

from .keras_layers import L, activation, layer
from .keras_net import KerasNet, Tensor


def dimensions(net: KerasNet, *allowed: int) -> tuple[Tensor, int]:
    """Return an image, a signal or a volume, and how many axes it has in space."""
    x = net.pick(tuple(n + 2 for n in allowed or (2, 2, 2, 1, 3)))
    return x, x.value.ndim - 2


def spread(net: KerasNet, count: int, low: int, high: int) -> int | tuple[int, ...]:
    """Return a number for all axes, or one for each."""
    if net.draw.chance(0.6):
        return net.draw.integer(low, high)
    return tuple(net.draw.integers(low, high, count))


def windowed(net: KerasNet, x: Tensor, count: int, dilated: bool = True) -> dict[str, Any]:
    """Return the arguments of convolutions."""
    draw = net.draw
    found: dict[str, Any] = {
        "kernel_size": 3 if draw.chance(0.4) else spread(net, count, 1, 4),
        "padding": draw.one("valid", "same"),
        "use_bias": draw.chance(0.7),
        "activation": activation(net),
    }
    if draw.chance(0.4):
        found["strides"] = draw.integer(1, 3) if draw.chance(0.7) else spread(net, count, 1, 3)
    elif dilated and draw.chance(0.3):
        found["dilation_rate"] = draw.integer(1, 3)
    if draw.chance(0.08):
        found["data_format"] = "channels_first"
    return found


def channels(x: Tensor, named: dict[str, Any]) -> int:
    return x.shape[0 if named.get("data_format") == "channels_first" else -1]


@layer("Conv", weight=5, dynamic=True)
def convolution(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    named = windowed(net, x, count)
    groups = net.draw.one(1, 1, 1, net.draw.divisor(channels(x, named)))
    filters = groups * net.draw.integer(1, 5)
    kind = (L.Conv1D, L.Conv2D, L.Conv3D)[count - 1]
    return net(kind(filters, groups=groups, **named), x)


@layer("DepthwiseConv", "SeparableConv", weight=2.5, dynamic=True)
def depthwise(net: KerasNet) -> Tensor:
    x, count = dimensions(net, 2, 2, 1)
    named = windowed(net, x, count)
    if isinstance(named.get("strides"), tuple):
        named["strides"] = named["strides"][0]
    named["depth_multiplier"] = net.draw.one(1, 1, 2, 3)
    if net.draw.chance(0.5):
        return net((L.DepthwiseConv1D, L.DepthwiseConv2D)[count - 1](**named), x)
    kind = (L.SeparableConv1D, L.SeparableConv2D)[count - 1]
    return net(kind(net.draw.integer(1, 6), **named), x)


@layer("ConvTranspose", weight=2, dynamic=True)
def transposed(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    named = windowed(net, x, count)
    kind = (L.Conv1DTranspose, L.Conv2DTranspose, L.Conv3DTranspose)[count - 1]
    return net(kind(net.draw.integer(1, 6), **named), x)


@layer("MaxPooling", "AveragePooling", weight=3, dynamic=True)
def pooling(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    named: dict[str, Any] = {"padding": net.draw.one("valid", "same")}
    if net.draw.chance(0.5):
        named["strides"] = spread(net, count, 1, 3)
    if net.draw.chance(0.08):
        named["data_format"] = "channels_first"
    name = net.draw.one("MaxPooling", "AveragePooling")
    return net(getattr(L, f"{name}{count}D")(spread(net, count, 1, 3), **named), x)


@layer("GlobalMaxPooling", "GlobalAveragePooling", weight=1, dynamic=True)
def global_pooling(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    name = net.draw.one("GlobalMaxPooling", "GlobalAveragePooling")
    return net(getattr(L, f"{name}{count}D")(keepdims=net.draw.chance(0.5)), x)


@layer("AdaptivePooling", weight=0.4)
def adaptive(net: KerasNet) -> Tensor:
    x, count = dimensions(net, 2, 1)
    name = net.draw.one("AdaptiveMaxPooling", "AdaptiveAveragePooling")
    return net(getattr(L, f"{name}{count}D")(spread(net, count, 1, 4)), x)


@layer("UpSampling", weight=1.5, dynamic=True)
def upsampling(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    if count == 1:
        return net(L.UpSampling1D(net.draw.integer(1, 3)), x)
    size = spread(net, count, 1, 3)
    if count == 3:
        return net(L.UpSampling3D(size), x)
    methods = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")
    method = net.draw.weighted(methods, (4, 3, 0.4, 0.2, 0.2))
    return net(L.UpSampling2D(size, interpolation=method), x)


@layer("ZeroPadding", "Cropping", weight=1.5, dynamic=True)
def borders(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    pairs: Any = tuple((net.draw.integer(0, 2), net.draw.integer(0, 2)) for _ in range(count))
    pairs = net.draw.one(pairs, net.draw.integer(0, 2)) if count > 1 else pairs[0]
    return net(getattr(L, f"{net.draw.one('ZeroPadding', 'Cropping')}{count}D")(pairs), x)


@layer("Resizing", "CenterCrop", weight=1)
def resizing(net: KerasNet) -> Tensor:
    x, draw = net.pick(4), net.draw
    height, width = draw.integers(1, 14, 2)
    if draw.chance(0.3):
        return net(L.CenterCrop(min(height, x.shape[0]), min(width, x.shape[1])), x)
    methods = ("bilinear", "nearest", "bicubic", "lanczos3")
    named: dict[str, Any] = {"interpolation": draw.weighted(methods, (3, 3, 0.5, 0.3))}
    named["antialias"] = draw.chance(0.2)
    if draw.chance(0.2):
        named[draw.one("crop_to_aspect_ratio", "pad_to_aspect_ratio")] = True
    return net(L.Resizing(height, width, **named), x)
