"""Convolutions and pools: of one to three dimensions, with every attribute that they have."""

from __future__ import annotations

from typing import Any

from .net import Net
from .operators import operator

AUTO = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def window(net: Net, x: str, largest: int = 4) -> dict[str, Any]:
    """Return kernel, strides, dilations and padding for the axes behind the second."""
    draw, spatial = net.draw, net.shape(x)[2:]
    count = len(spatial)
    most = [max(1, min(largest, size)) for size in spatial]
    kernel = [draw.integer(1, m) for m in most]
    if draw.chance(0.5):
        kernel = [min(3, m) for m in most]
    found: dict[str, Any] = {"kernel_shape": kernel}
    if draw.chance(0.5):
        found["strides"] = draw.integers(1, 3, count) if draw.chance(0.5) else [2] * count
    if draw.chance(0.25):
        found["dilations"] = draw.integers(1, 3, count)
    auto = draw.weighted(AUTO, (8, 1, 1, 0.5))
    if auto != "NOTSET":
        found["auto_pad"] = auto
    elif draw.chance(0.7):
        low = [draw.integer(0, k - 1) for k in kernel]
        high = low if draw.chance(0.6) else [draw.integer(0, k - 1) for k in kernel]
        found["pads"] = low + high
    return found


@operator("Conv", weight=6, dynamic=True)
def convolution(net: Net) -> str:
    x = net.pick(rank=(4, 4, 4, 3, 5))
    channels = net.shape(x)[1]
    groups = net.draw.one(1, 1, channels, net.draw.divisor(channels))
    filters = groups * net.draw.one(1, 1, 2, net.draw.integer(1, 8))
    shape = window(net, x)
    if net.draw.chance(0.2):
        shape["kernel_shape"] = [1] * (net.rank(x) - 2)
        shape.pop("pads", None)
    sizes = (filters, channels // groups, *shape["kernel_shape"])
    fan = sizes[1]
    for size in sizes[2:]:
        fan *= size
    operands = [x, net.weight(*sizes, fan=fan)]
    if net.draw.chance(0.6):
        operands.append(net.weight(filters))
    if net.draw.chance(0.3):
        del shape["kernel_shape"]
    return str(net("Conv", *operands, group=None if groups == 1 else groups, **shape))


@operator("ConvTranspose", weight=2.5, dynamic=True)
def transposed_convolution(net: Net) -> str:
    draw = net.draw
    x = net.pick(rank=(4, 4, 4, 3, 5))
    channels, spatial = net.shape(x)[1], net.shape(x)[2:]
    groups = draw.one(1, 1, channels, draw.divisor(channels))
    shape = window(net, x)
    strides = shape.get("strides", [1] * len(spatial))
    if draw.chance(0.25):
        shape["output_padding"] = [draw.integer(0, s - 1) for s in strides]
    sizes = (channels, draw.integer(1, 4), *shape["kernel_shape"])
    if draw.chance(0.15) and not net.dynamic and "pads" not in shape:
        # the excess over the plain size is less than the stride
        reach = [
            d * (k - 1) + 1
            for k, d in zip(shape["kernel_shape"], shape.get("dilations", [1] * 9), strict=False)
        ]
        shape["output_shape"] = [
            (n - 1) * s + r - draw.integer(0, min(r - 1, 2))
            for n, s, r in zip(spatial, strides, reach, strict=True)
        ]
        shape.pop("output_padding", None)
    operands = [x, net.weight(*sizes, fan=channels // groups * 4)]
    if draw.chance(0.6):
        operands.append(net.weight(groups * sizes[1]))
    return str(net("ConvTranspose", *operands, group=None if groups == 1 else groups, **shape))


def pool_window(net: Net, x: str) -> dict[str, Any]:
    """Return a window for which onnxruntime pads as ONNX says."""
    shape = window(net, x)
    if shape.get("auto_pad", "").startswith("SAME"):
        shape.pop("dilations", None)  # which onnxruntime leaves out of the padding
    return shape


@operator("MaxPool", "AveragePool", "LpPool", weight=4, dynamic=True)
def pool(net: Net) -> str:
    draw = net.draw
    name = draw.weighted(("MaxPool", "AveragePool", "LpPool"), (4, 4, 1))
    x = net.pick(rank=(4, 4, 4, 3, 5))
    shape = pool_window(net, x)
    if draw.chance(0.35):
        shape["ceil_mode"] = 1
    if name == "AveragePool" and draw.chance(0.5):
        shape["count_include_pad"] = 1
    if name == "LpPool":
        x, shape["p"] = net("Abs", x), draw.one(1, 2, 3)
    return str(net(name, x, **shape))


@operator("DeformConv", weight=0.5)
def deformed(net: Net) -> str:
    x, draw = net.pick(rank=4, fits=lambda a: min(a.shape[2:]) > 2), net.draw
    batch, channels, height, width = net.shape(x)
    groups = draw.divisor(channels)
    of_offsets = draw.divisor(channels)
    kernel = draw.integers(1, 3, 2)
    sizes = (height - kernel[0] + 1, width - kernel[1] + 1)
    taps = kernel[0] * kernel[1]
    filters = groups * draw.integer(1, 3)
    w = net.weight(filters, channels // groups, *kernel, fan=taps * channels // groups)
    offset = net.constant(draw.normal(batch, 2 * taps * of_offsets, *sizes, scale=0.7))
    operands = [x, w, offset, net.weight(filters) if draw.chance(0.5) else ""]
    if draw.chance(0.5):
        operands.append(net.constant(draw.uniform(0, 1, batch, taps * of_offsets, *sizes)))
    return str(net("DeformConv", *operands, group=groups, offset_group=of_offsets))


@operator("MaxPool with indices", weight=0.3)
def pool_indices(net: Net) -> tuple[str, ...]:
    x = net.pick(rank=4)
    shape = pool_window(net, x)
    return tuple(net("MaxPool", x, outputs=2, storage_order=net.draw.one(0, 1), **shape))


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", weight=1, dynamic=True)
def global_pool(net: Net) -> str:
    name = net.draw.one("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
    p = net.draw.one(1, 2, 3) if name == "GlobalLpPool" else None
    return str(net(name, net.pick(rank=(3, 4, 5)), p=p))
