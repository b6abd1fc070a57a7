"""Small image-to-image networks whose sizes a build can leave open, as ONNX models.

``MODELS`` maps a name to a function that makes the model. The input is called x, of shape 1x3xHxW
with H and W open, the output y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Callable

MODELS: dict[str, Callable[[], ModelProto]] = {}
LAST = np.iinfo(np.int64).max


class Net:
    """Nodes and weights of a network under construction."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(44)
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}

    def weight(self, *shape: int) -> str:
        scale = np.sqrt(max(np.prod(shape[1:]), 1))
        return self.known((self.rng.normal(size=shape) / scale).astype(np.float32))

    def known(self, array: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def whole(self, *values: int) -> str:
        return self.known(np.array(values, np.int64))

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x: str, c: int, o: int, size: int, **attributes: Any) -> str:
        weight = self.weight(o, c // attributes.get("group", 1), size, size)
        if "auto_pad" not in attributes:
            attributes.setdefault("pads", [size // 2] * 4)
        return self("Conv", x, weight, self.weight(o), **attributes)

    def scaled(self, x: str, *factors: float, **attributes: Any) -> str:
        return self(
            "Resize", x, "", self.known(np.array([1, 1, *factors], np.float32)), **attributes
        )

    def sizes(self, x: str, first: int, last: int) -> str:
        shape = self("Shape", x)
        return self("Slice", shape, self.whole(first), self.whole(last), self.whole(0))


def network(
    build: Callable[[Net], str], shape: tuple[Any, ...] = (1, 3, "H", "W"), opset: int = 18
) -> ModelProto:
    """Return the model that ``build`` makes of its input x."""
    net = Net()
    net.nodes.append(helper.make_node("Identity", [build(net)], ["y"], name="y"))
    graph = helper.make_graph(
        net.nodes,
        build.__name__,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in net.weights.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def model(build: Callable[[Net], str]) -> Callable[[Net], str]:
    """Put a network into ``MODELS``."""
    MODELS[build.__name__] = lambda: network(build, opset=21 if "group_norm" in str(build) else 19)
    return build


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


def as_float(net: Net, size: str) -> str:
    return net("Cast", size, to=TensorProto.FLOAT)


def floats(net: Net, *values: float) -> str:
    return net.known(np.array(values, np.float32))


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


# what is repeated to an open shape


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
