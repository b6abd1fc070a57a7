"""Networks and kernels with dynamic sizes: see ``dynamic_net``."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from support import dynamic_values  # noqa: F401 - its networks are among them
from support.dynamic_net import LAST, MODELS, Net, as_float, floats, model

__all__ = ["MODELS"]

# networks


@model
def espcn(net: Net) -> str:
    x = net("Tanh", net.conv("x", 3, 16, 5))
    x = net("Tanh", net.conv(x, 16, 8, 3))
    return net("DepthToSpace", net.conv(x, 8, 12, 3), blocksize=2, mode="CRD")


@model
def fsrcnn(net: Net) -> str:
    x = net("PRelu", net.conv("x", 3, 8, 5), net.known(np.full((8, 1, 1), 0.2, np.float32)))
    x = net("Relu", net.conv(x, 8, 8, 3))
    shape = {"strides": [2, 2], "pads": [4] * 4, "output_padding": [1, 1]}
    return net("ConvTranspose", x, net.weight(8, 3, 9, 9), **shape)


@model
def channel_attention(net: Net) -> str:
    first = net.conv("x", 3, 8, 3)
    x = net("Relu", net.conv(first, 8, 8, 3))
    gate = net("Relu", net.conv(net("GlobalAveragePool", x), 8, 4, 1))
    gate = net("Sigmoid", net.conv(gate, 4, 8, 1))
    x = net("Add", net("Mul", x, gate), first)
    return net("DepthToSpace", net.conv(x, 8, 12, 3), blocksize=2, mode="DCR")


@model
def style_transfer(net: Net) -> str:
    x = net("Pad", "x", net.whole(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect")
    for channels, before, stride in ((8, 3, 1), (16, 8, 2)):
        x = net.conv(x, before, channels, 3, strides=[stride] * 2, pads=[int(stride > 1)] * 4)
        x = net("Relu", net("InstanceNormalization", x, net.weight(channels), net.weight(channels)))
    nearest = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return net.conv(net.scaled(x, 2, 2, mode="nearest", **nearest), 16, 3, 3)


@model
def unet(net: Net) -> str:
    halves = {"kernel_shape": [2, 2], "strides": [2, 2]}
    a = net("Relu", net.conv("x", 3, 8, 3))
    b = net("Relu", net.conv(net("MaxPool", a, **halves), 8, 16, 3))
    c = net("Relu", net.conv(net("MaxPool", b, **halves), 16, 16, 3))
    up = net("ConvTranspose", c, net.weight(16, 8, 2, 2), strides=[2, 2])
    d = net("Relu", net.conv(net("Concat", up, b, axis=1), 24, 8, 3))
    up = net.scaled(d, 2, 2, mode="linear", coordinate_transformation_mode="half_pixel")
    return net.conv(net("Concat", up, a, axis=1), 16, 3, 3)


def halved_and_back(net: Net, coordinates: str) -> str:
    """Return a network that enlarges what it halved to the size that it had, read off a shape."""
    a = net("Relu", net.conv("x", 3, 8, 3))
    b = net.conv(net("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2]), 8, 8, 3)
    sizes = net("Concat", net.sizes(b, 0, 2), net.sizes(a, 2, 4), axis=0)
    mode = {"mode": "linear", "coordinate_transformation_mode": coordinates}
    up = net("Resize", b, "", "", sizes, **mode)
    return net.conv(net("Concat", up, a, axis=1), 16, 3, 3)


@model
def unet_by_shape(net: Net) -> str:
    return halved_and_back(net, "align_corners")


@model
def unet_by_half_pixels(net: Net) -> str:
    return halved_and_back(net, "half_pixel")


@model
def scaled_by_shape(net: Net) -> str:
    x = net.conv("x", 3, 8, 3)
    doubled = net("Mul", net.sizes(x, 2, 4), net.whole(2, 2))
    sizes = net("Concat", net.sizes(x, 0, 2), net("Cast", doubled, to=TensorProto.INT64), axis=0)
    return net("Resize", x, "", "", sizes, mode="nearest")


# kernels


@model
def convolutions(net: Net) -> str:
    x = net("Relu", net.conv("x", 3, 8, 3, strides=[2, 2]))
    x = net("HardSwish", net.conv(x, 8, 8, 3, group=8))
    x = net.conv(net.conv(x, 8, 16, 1), 16, 8, 3, dilations=[2, 2], pads=[2] * 4)
    return net("LeakyRelu", net.conv(x, 8, 8, 3, group=2, strides=[1, 2]), alpha=0.1)


@model
def valid_convolutions(net: Net) -> str:
    x = net("Relu", net.conv("x", 3, 6, 5, pads=[0] * 4))
    return net.conv(x, 6, 4, 3, pads=[0] * 4, strides=[3, 3])


@model
def same_convolution(net: Net) -> str:
    return net.conv("x", 3, 4, 3, strides=[2, 2], auto_pad="SAME_UPPER")


@model
def same_convolutions_by_threes(net: Net) -> str:
    x = net("Relu", net.conv("x", 3, 8, 3, strides=[3, 3], auto_pad="SAME_UPPER"))
    return net.conv(x, 8, 4, 4, strides=[2, 3], auto_pad="SAME_LOWER", group=4)


@model
def transposed_convolution_to_a_shape(net: Net) -> str:
    shape = {"strides": [2, 2], "output_shape": [60, 16]}
    return net("ConvTranspose", "x", net.weight(3, 5, 3, 3), **shape)


@model
def transposed_convolution(net: Net) -> str:
    return net("ConvTranspose", "x", net.weight(3, 5, 4, 4), strides=[3, 2], pads=[1, 0, 0, 1])


@model
def pools(net: Net) -> str:
    x = net("MaxPool", net.conv("x", 3, 8, 3), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    x = net("AveragePool", x, kernel_shape=[2, 2], strides=[1, 1])
    x = net("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    return net("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])


@model
def pools_that_round_up(net: Net) -> str:
    x = net("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    return net("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)


@model
def large_pool(net: Net) -> str:
    return net("MaxPool", "x", kernel_shape=[9, 9], strides=[1, 1], pads=[4] * 4)


@model
def dilated_pool(net: Net) -> str:
    return net("MaxPool", "x", kernel_shape=[3, 2], dilations=[2, 3], pads=[1, 1, 1, 1])


@model
def average_with_padding(net: Net) -> str:
    shape = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1] * 4}
    return net("AveragePool", "x", count_include_pad=1, **shape)


for _mode in ("nearest", "linear", "cubic"):
    for _factors in ((2, 3), (0.5, 0.5), (4, 1)):

        def resize(net: Net, mode: str = _mode, factors: tuple[float, ...] = _factors) -> str:
            return net.scaled(net.conv("x", 3, 4, 1), *factors, mode=mode)

        resize.__name__ = f"resize_{_mode}_{_factors[0]}x{_factors[1]}".replace(".", "_")
        model(resize)

for _coordinates in ("half_pixel", "align_corners", "asymmetric"):

    def cubic_to_skip(net: Net, coordinates: str = _coordinates) -> str:
        """Halved and back to a size that it is not a multiple of, by weights that are scaled."""
        half = net("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2])
        sizes = net("Concat", net.sizes("x", 0, 2), net.sizes("x", 2, 4), axis=0)
        mode = {"mode": "cubic", "coordinate_transformation_mode": coordinates}
        drop = {"exclude_outside": int(coordinates != "asymmetric")}
        up = net("Resize", half, "", "", sizes, cubic_coeff_a=-0.5, **mode, **drop)
        return net("Concat", up, "x", axis=1)

    cubic_to_skip.__name__ = f"cubic_to_skip_{_coordinates}"
    model(cubic_to_skip)

for _mode in ("reflect", "edge", "constant", "wrap"):

    def pad(net: Net, mode: str = _mode) -> str:
        widths = net.whole(0, 0, 2, 1, 0, 0, 1, 3)
        return net("Abs", net("Pad", net.conv("x", 3, 4, 1), widths, mode=mode))

    pad.__name__ = f"pad_{_mode}"
    model(pad)


@model
def reflecting_convolution(net: Net) -> str:
    return net.conv(net("Pad", "x", net.whole(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect"), 3, 5, 3)


@model
def pixel_unshuffle(net: Net) -> str:
    x = net("Relu", net.conv(net("SpaceToDepth", "x", blocksize=2), 12, 12, 3))
    return net("DepthToSpace", x, blocksize=2)


@model
def statistics(net: Net) -> str:
    x, axes = net.conv("x", 3, 6, 3), net.whole(2, 3)
    gate = net("Add", net("ReduceMean", x, axes), net("ReduceMax", x, axes))
    gate = net("Add", gate, net("ReduceL2", x, axes))
    return net("Softmax", net("Mul", x, gate), axis=1)


@model
def whole_mean(net: Net) -> str:
    """Add the rounded mean of integers: a quotient by a dynamic size."""
    levels = net("Cast", net("Mul", "x", floats(net, 4)), to=TensorProto.INT32)
    scale = net.known(np.array([99], np.int32))
    mean = net("ReduceMean", net("Mul", levels, scale), net.whole(2, 3), keepdims=0)
    mean = net("Cast", net("Unsqueeze", mean, net.whole(2, 3)), to=TensorProto.FLOAT)
    return net("Add", "x", mean)


@model
def sums_along_rows(net: Net) -> str:
    return net("Sub", "x", net("ReduceSum", "x", net.whole(3)))


@model
def layer_norm(net: Net) -> str:
    x = net("Transpose", net.conv("x", 3, 8, 3), perm=[0, 2, 3, 1])
    x = net("LayerNormalization", x, net.weight(8), net.weight(8), axis=-1)
    return net.conv(net("Transpose", x, perm=[0, 3, 1, 2]), 8, 3, 1)


@model
def group_norm(net: Net) -> str:
    x = net.conv("x", 3, 8, 3)
    return net("GroupNormalization", x, net.weight(8), net.weight(8), num_groups=2)


@model
def crop(net: Net) -> str:
    return net(
        "Slice", net.conv("x", 3, 4, 3), *(net.whole(*v) for v in ((1, 2), (-1, -2), (2, 3)))
    )


@model
def every_other_pixel(net: Net) -> str:
    bounds = ((0, 1), (LAST, LAST), (2, 3), (2, 2))
    return net("Slice", net.conv("x", 3, 4, 3), *(net.whole(*v) for v in bounds))


@model
def flipped(net: Net) -> str:
    bounds = ((-1,), (-LAST,), (3,), (-1,))
    return net("Slice", net.conv("x", 3, 4, 3), *(net.whole(*v) for v in bounds))


@model
def tokens(net: Net) -> str:
    maps = net.conv("x", 3, 8, 3)
    x = net("Transpose", net("Reshape", maps, net.whole(1, 8, -1)), perm=[0, 2, 1])
    x = net("Relu", net("MatMul", x, net.weight(8, 8)))
    shape = net("Concat", net.whole(1, 8), net.sizes(maps, 2, 4), axis=0)
    return net("Add", net("Reshape", net("Transpose", x, perm=[0, 2, 1]), shape), maps)


@model
def turned(net: Net) -> str:
    x = net("Relu", net.conv(net("Transpose", "x", perm=[0, 1, 3, 2]), 3, 4, 3))
    return net("Add", net("Transpose", x, perm=[0, 1, 3, 2]), net.conv("x", 3, 4, 3))


@model
def windows(net: Net) -> str:
    """Blocks of 2x2 become channels twice, by shapes that are computed: what is left is -1."""
    x = net.conv("x", 3, 4, 3)
    for channels in (4, 16):
        width = net.sizes(x, 3, 4)
        rows = net("Concat", net.whole(1, channels, -1, 2), width, axis=0)
        rows = net("Reshape", net("Unsqueeze", x, net.whole(3)), rows)
        half = net.sizes(rows, 2, 3)
        blocks = net("Concat", net.whole(1, channels), half, net.whole(2, -1, 2), axis=0)
        x = net("Transpose", net("Reshape", rows, blocks), perm=[0, 1, 3, 5, 2, 4])
        shape = net("Concat", net.whole(1, 4 * channels, -1), net.sizes(x, 5, 6), axis=0)
        x = net("Reshape", x, shape)
    return net.conv(x, 64, 4, 1)


@model
def padded_to_a_multiple(net: Net) -> str:
    """By integers, as networks are padded that halve: (8 - size % 8) % 8, cut off at the end."""
    size = net.sizes("x", 2, 4)
    more = net("Sub", net.whole(8), net("Mod", size, net.whole(8)))
    more = net("Concat", net.whole(0, 0, 0, 0, 0, 0), net("Mod", more, net.whole(8)), axis=0)
    x = net.conv(net("Pad", "x", more, mode="reflect"), 3, 8, 2, strides=[2, 2], pads=[0] * 4)
    x = net("ConvTranspose", x, net.weight(8, 4, 2, 2), strides=[2, 2])
    return net("Slice", x, net.whole(0, 0), size, net.whole(2, 3))


@model
def padded_by_fractions(net: Net) -> str:
    """Padding of "same" as TensorFlow has it, as PyTorch computes it: in floating point."""
    size = net.sizes("x", 2, 4)
    count = net("Ceil", net("Div", as_float(net, size), floats(net, 3)))
    steps = net("Sub", count, floats(net, 1))
    reach = net("Add", net("Mul", steps, floats(net, 3)), floats(net, 5))
    more = net("Cast", net("Sub", reach, as_float(net, size)), to=TensorProto.INT64)
    more = net("Clip", more, net.known(np.array(0)))
    before = net("Div", more, net.whole(2))
    after = net("Sub", more, before)
    zeros = net.whole(0, 0)
    pads = net("Concat", zeros, before, zeros, after, axis=0)
    return net.conv(net("Pad", "x", pads), 3, 4, 5, strides=[3, 3], pads=[0] * 4)


@model
def halves_by_fractions(net: Net) -> str:
    x = net.conv("x", 3, 4, 3)
    half = net("Floor", net("Mul", as_float(net, net.sizes(x, 2, 4)), floats(net, 0.5)))
    sizes = net("Cast", half, to=TensorProto.INT64)
    return net("Slice", x, net.whole(0, 0), sizes, net.whole(2, 3))


@model
def softmax_of_pixels(net: Net) -> str:
    flat = net("Reshape", net.conv("x", 3, 4, 3), net.whole(1, 4, -1))
    return net("Softmax", flat, axis=-1)


@model
def classifier(net: Net) -> str:
    x = net("Relu", net.conv("x", 3, 8, 3, strides=[2, 2]))
    return net("MatMul", net("Flatten", net("GlobalAveragePool", x)), net.weight(8, 5))
