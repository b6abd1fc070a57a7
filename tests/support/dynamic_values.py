"""Networks that compute with their sizes, or sample where these say: see ``dynamic_net``."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

from support.dynamic_net import LAST, Net, as_float, floats, model

# what is repeated to a dynamic shape


@model
def pooled_context(net: Net) -> str:
    """As networks for segmentation enlarge what they pooled from the whole image."""
    x = net.conv("x", 3, 4, 3)
    mean = net("GlobalAveragePool", x)
    sizes = net("Concat", net.sizes(mean, 0, 2), net.sizes(x, 2, 4), axis=0)
    up = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    return net("Concat", net("Resize", mean, "", "", sizes, **up), x, axis=1)


@model
def learned_positions(net: Net) -> str:
    """A table of fixed size, enlarged to the map that it is added to."""
    x = net.conv("x", 3, 4, 3)
    table = net.weight(1, 4, 5, 6)
    sizes = net("Concat", net.whole(1, 4), net.sizes(x, 2, 4), axis=0)
    up = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    return net("Relu", net("Add", net("Resize", table, "", "", sizes, **up), x))


@model
def maps_of_one_number(net: Net) -> str:
    """As noise levels and masks come: by ConstantOfShape, Expand and Tile."""
    size = net.sizes("x", 2, 4)
    shape = net("Concat", net.whole(1, 1), size, axis=0)
    level = numpy_helper.from_array(np.array([0.3], np.float32))
    maps = [
        net("ConstantOfShape", shape, value=level),
        net("Expand", net.known(np.float32(2)), shape),
        net("Tile", net.weight(1, 2, 1, 1), shape),
    ]
    return net.conv(net("Concat", "x", *maps, axis=1), 7, 4, 3)


@model
def ones_alone(net: Net) -> str:
    """What no input is needed for, but its size: how many neighbours each pixel has."""
    shape = net("Concat", net.whole(1, 2), net.sizes("x", 2, 4), axis=0)
    ones = net("ConstantOfShape", shape, value=numpy_helper.from_array(np.ones(1, np.float32)))
    return net.conv(ones, 2, 3, 3)


# numbers that sizes are in


@model
def contrast(net: Net) -> str:
    """Deviations as exporters spell them, without bias: over n - 1; and a sum over n."""
    x = net.conv("x", 3, 4, 3)
    axes, count = net.whole(2, 3), net("ReduceProd", net.sizes(x, 2, 4), keepdims=0)
    count = as_float(net, count)
    square = net("Sub", x, net("Div", net("ReduceSum", x, axes), count))
    square = net("ReduceMean", net("Mul", square, square), axes)
    fewer = net("Sub", count, floats(net, 1))
    variance = net("Div", net("Mul", square, count), fewer)
    return net("Mul", x, net("Sqrt", variance))


@model
def coordinates(net: Net) -> str:
    """Maps that say where a pixel is: from 0 to 1 across, in pixels and halves down."""
    maps = ["x"]
    for axis, perm in ((2, [0, 1, 3, 2]), (3, [0, 1, 2, 3])):
        size = as_float(net, net("Squeeze", net.sizes("x", axis, axis + 1)))
        zero = net.known(np.float32(0))
        if axis == 2:
            places = net("Range", net.known(np.float32(-1.5)), size, net.known(np.float32(0.5)))
            places = net("Slice", places, net.whole(3), net.whole(LAST), net.whole(0), net.whole(2))
        else:
            places = net("Range", zero, size, net.known(np.float32(1)))
            places = net("Div", places, net("Sub", size, net.known(np.float32(0.5))))
        places = net("Reshape", places, net.whole(1, 1, 1, -1))
        shape = net("Concat", net.whole(1, 1), net.sizes("x", 2, 4), axis=0)
        maps.append(net("Expand", net("Transpose", places, perm=perm), shape))
    return net.conv(net("Concat", *maps, axis=1), 5, 4, 3)


@model
def gathered_windows(net: Net) -> str:
    """Neighbours of each row, gathered at places that are computed: as unfold is exported."""
    rows = net("Range", net.known(0), net("Squeeze", net.sizes("x", 2, 3)), net.known(1))
    places = net("Add", net("Unsqueeze", rows, net.whole(0)), net.known(np.arange(3)[:, None]))
    x = net("Pad", "x", net.whole(0, 0, 1, 0, 0, 0, 1, 0))
    windows = net("Gather", x, places, axis=2)
    return net("ReduceSum", windows, net.whole(2), keepdims=0)


@model
def downwards(net: Net) -> str:
    """Rows gathered from the last one up, and halves of places from the width down."""
    height, width = (net("Squeeze", net.sizes("x", k, k + 1)) for k in (2, 3))
    minus_one = net.known(-1)
    rows = net("Range", net("Add", height, minus_one), minus_one, minus_one)
    width = as_float(net, width)
    half = net.known(np.float32(-0.5))
    places = net("Range", width, net("Mul", width, net.known(np.float32(0.5))), half)
    # one axis more: ONNX Runtime makes an empty slice of a plain Gather by a range down to -1
    x = net("Gather", "x", net("Unsqueeze", rows, net.whole(0)), axis=2)
    return net("Mul", net("Squeeze", x, net.whole(2)), places)


@model
def sizes_as_numbers(net: Net) -> str:
    """Two sizes in one tensor, as floats and as integers."""
    size = net.sizes("x", 2, 4)
    scale = net("Concat", floats(net, 1), as_float(net, size), axis=0)
    x = net("Div", "x", net("Reshape", scale, net.whole(1, 3, 1, 1)))
    whole = net("Cast", net("Mul", x, floats(net, 50)), to=TensorProto.INT64)
    whole = net("Mod", whole, net("Reshape", size, net.whole(1, 2, 1, 1, 1)))
    return as_float(net, net("ReduceSum", whole, net.whole(1), keepdims=0))


@model
def weights_of_sizes(net: Net) -> str:
    sizes = net("Reshape", as_float(net, net.sizes("x", 1, 4)), net.whole(1, 3, 1, 1))
    return net("Conv", "x", sizes)


# sampling at places that are computed

for _corners in (0, 1):
    for _padding in ("zeros", "border", "reflection"):

        def warped(net: Net, corners: int = _corners, padding: str = _padding) -> str:
            """Each pixel from where a flow says, as frames are interpolated."""
            grid = []
            for axis, turned in ((3, [1, 1, 1, -1]), (2, [1, 1, -1, 1])):
                size = as_float(net, net("Squeeze", net.sizes("x", axis, axis + 1)))
                places = net("Range", net.known(np.float32(0)), size, net.known(np.float32(1)))
                grid.append(net("Reshape", places, net.whole(*turned)))
            shape = net("Concat", net.whole(1, 1), net.sizes("x", 2, 4), axis=0)
            grid = [net("Expand", places, shape) for places in grid]
            flow = net("Mul", net.conv("x", 3, 2, 3), floats(net, 4.0))
            places = net("Add", net("Concat", *grid, axis=1), flow)
            span = net("Sub", as_float(net, net.sizes("x", 2, 4)), floats(net, 1))
            span = net("Reshape", net("Gather", span, net.known([1, 0])), net.whole(1, 2, 1, 1))
            places = net(
                "Sub", net("Mul", net("Div", places, span), floats(net, 2)), floats(net, 1)
            )
            how = {"mode": "bilinear", "padding_mode": padding, "align_corners": corners}
            return net("GridSample", "x", net("Transpose", places, perm=[0, 2, 3, 1]), **how)

        warped.__name__ = f"warped_{_padding}_{_corners}"
        model(warped)


@model
def attention_of_channels(net: Net) -> str:
    """As networks for restoration attend: each channel to others, over all pixels."""
    x = net.conv("x", 3, 8, 3)
    maps = net("Reshape", x, net.whole(1, 8, -1))
    keys = net("Div", maps, net("ReduceL2", maps, net.whole(2)))
    weights = net("MatMul", keys, net("Transpose", keys, perm=[0, 2, 1]))
    y = net("MatMul", net("Softmax", weights, axis=-1), maps)
    return net("Add", net("Reshape", y, net("Shape", x)), x)


@model
def padded_to_its_skip(net: Net) -> str:
    """Halved twice; what comes back lacks a pixel where a size was odd, and is padded by it."""
    maps = [net("Relu", net.conv("x", 3, 4, 3))]
    for _ in range(2):
        half = net("MaxPool", maps[-1], kernel_shape=[2, 2], strides=[2, 2])
        maps.append(net("Relu", net.conv(half, 4, 4, 3)))
    y = maps.pop()
    for skip in reversed(maps):
        y = net("ConvTranspose", y, net.weight(4, 4, 2, 2), strides=[2, 2])
        missing = net("Sub", net.sizes(skip, 2, 4), net.sizes(y, 2, 4))
        y = net("Pad", y, net("Concat", net.whole(0, 0, 0, 0, 0, 0), missing, axis=0))
        y = net("Relu", net.conv(net("Concat", skip, y, axis=1), 8, 4, 3))
    return y


@model
def unshuffled_after_padding(net: Net) -> str:
    """Padded to even sizes, then blocks of 2x2 become channels, by shapes that begin with -1."""
    size = net.sizes("x", 2, 4)
    odd = net("Mod", size, net.whole(2))
    x = net("Pad", "x", net("Concat", net.whole(0, 0, 0, 0, 0, 0), odd, axis=0), mode="edge")
    x = net("Reshape", x, net("Concat", net.whole(-1), net.sizes(x, 1, 4), axis=0))
    two, half = net.whole(2), net("Div", net.sizes(x, 2, 4), net.whole(2))
    halves = [net("Slice", half, net.whole(k), net.whole(k + 1), net.whole(0)) for k in (0, 1)]
    shape = net("Concat", net.whole(-1, 3), halves[0], two, halves[1], two, axis=0)
    blocks = net("Transpose", net("Reshape", x, shape), perm=[0, 1, 3, 5, 2, 4])
    x = net("Reshape", blocks, net("Concat", net.whole(-1, 12), half, axis=0))
    x = net("DepthToSpace", net.conv(x, 12, 12, 3), blocksize=2, mode="CRD")
    return net("Slice", x, net.whole(0, 0), size, net.whole(2, 3))


@model
def evenly_spaced(net: Net) -> str:
    """Coordinates from -1 to 1, as linspace is exported: by steps of 2 / (size - 1)."""
    maps = ["x"]
    for axis, turned in ((2, [1, 1, -1, 1]), (3, [1, 1, 1, -1])):
        size = as_float(net, net("Squeeze", net.sizes("x", axis, axis + 1)))
        one, two = net.known(np.float32(1)), net.known(np.float32(2))
        step = net("Div", two, net("Sub", size, one))
        places = net("Mul", net("Range", net.known(np.float32(0)), size, one), step)
        places = net("Reshape", net("Sub", places, one), net.whole(*turned))
        shape = net("Concat", net.whole(1, 1), net.sizes("x", 2, 4), axis=0)
        maps.append(net("Expand", places, shape))
    return net.conv(net("Concat", *maps, axis=1), 5, 4, 3)
