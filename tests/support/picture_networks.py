"""Small ONNX networks from pictures to pictures, of seeded weights, whose results are 0 to 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import ModelProto


class Network:
    """Nodes and weights in the order in which they are added."""

    def __init__(self, channels: int, seed: int = 7) -> None:
        self.channels = channels
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, op: str, *inputs: str, name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: Any) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def conv(self, x: str, into: int, out: int, size: int, name: str, gain: float = 1.0) -> str:
        """Add a convolution that pads with zeros."""
        scale = gain / np.sqrt(into * size * size)
        w = self.random.normal(0, scale, (out, into, size, size)).astype(np.float32)
        b = self.random.normal(0, 0.1, out).astype(np.float32)
        inputs = (x, self.constant(f"{name}.w", w), self.constant(f"{name}.b", b))
        return self.add("Conv", *inputs, name=name, pads=[size // 2] * 4)

    def edge_conv(
        self, x: str, into: int, out: int, size: int, name: str, gain: float = 1.0
    ) -> str:
        """Add a convolution that replicates the border."""
        half = size // 2
        pads = self.constant(f"{name}.pads", np.int64([0, 0, half, half] * 2))
        x = self.add("Pad", x, pads, name=f"{name}.padded", mode="edge")
        result = self.conv(x, into, out, size, name, gain)
        self.nodes[-1].attribute[0].CopyFrom(helper.make_attribute("pads", [0] * 4))
        return result

    def prelu(self, x: str, channels: int, name: str) -> str:
        """Add a PReLU of seeded slopes."""
        slopes = self.random.uniform(-0.3, 0.3, (channels, 1, 1)).astype(np.float32)
        return self.add("PRelu", x, self.constant(f"{name}.slopes", slopes), name=name)

    def enlarged(self, x: str, scale: int) -> str:
        """Add a linear resize, as players' textures have it."""
        scales = self.constant("scales", np.array([1, 1, scale, scale], np.float32))
        return self.add("Resize", x, "", scales, name="enlarged", mode="linear",
                        coordinate_transformation_mode="half_pixel")  # fmt: skip

    def model(self, scale: int, clips: bool = True) -> ModelProto:
        """Return the model, whose result is the last node's, clipped to 0..1 or not."""
        if clips:
            low, high = self.constant("low", np.float32(0)), self.constant("high", np.float32(1))
            self.add("Clip", self.nodes[-1].output[0], low, high, name="y")
        else:
            self.nodes[-1].output[0] = "y"
        shapes = ([1, self.channels, "h", "w"], [1, self.channels, f"{scale}h", f"{scale}w"])
        x, y = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in zip("xy", shapes, strict=True)
        )
        graph = helper.make_graph(self.nodes, "net", [x], [y], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        return model


def espcn(scale: int = 2) -> ModelProto:
    """Return an upscaler of luma: convolutions, tanh, a pixel shuffle."""
    net = Network(1)
    x = net.conv("x", 1, 16, 5, "conv1")
    x = net.conv(net.add("Tanh", x, name="tanh1"), 16, 8, 3, "conv2")
    x = net.conv(net.add("Tanh", x, name="tanh2"), 8, scale * scale, 3, "conv3")
    x = net.add("DepthToSpace", x, name="shuffle", blocksize=scale, mode="CRD")
    net.add("Add", x, net.constant("middle", np.float32(0.5)), name="shifted")
    return net.model(scale)


def affine(channels: int, gain: float, offset: float) -> ModelProto:
    """Return a network of one layer that gives gain * x + offset, of any size."""
    net = Network(channels)
    weights = gain * np.eye(channels, dtype=np.float32)[..., None, None]
    offsets = np.full(channels, offset, np.float32)
    operands = (net.constant("gain", weights), net.constant("offset", offsets))
    net.add("Conv", "x", *operands, name="affine")
    return net.model(1, clips=False)


def denoiser() -> ModelProto:
    """Return a residual network on RGB at its own size."""
    net = Network(3)
    x = net.add("Relu", net.conv("x", 3, 12, 3, "conv1"), name="relu1")
    x = net.add("Relu", net.conv(x, 12, 12, 3, "conv2"), name="relu2")
    net.add("Add", "x", net.conv(x, 12, 3, 3, "conv3", 0.3), name="residual")
    return net.model(1)


def wide(size: int = 1) -> ModelProto:
    """Return an upscaler of luma of 64 and 32 channels; with size 3, the paper's ESPCN."""
    net = Network(1)
    x = net.add("Tanh", net.conv("x", 1, 64, 5, "conv1"), name="tanh1")
    x = net.add("Tanh", net.conv(x, 64, 32, size, "conv2"), name="tanh2")
    x = net.add("DepthToSpace", net.conv(x, 32, 4, 3, "conv3"), name="shuffle", blocksize=2)
    net.add("Add", x, net.constant("middle", np.float32(0.5)), name="shifted")
    return net.model(2)


def residual(size: int = 1) -> ModelProto:
    """Return a network on RGB with a residual block of 32 channels."""
    net = Network(3)
    first = net.add("Relu", net.conv("x", 3, 32, 3, "conv1"), name="relu1")
    x = net.add("Relu", net.conv(first, 32, 32, size, "conv2"), name="relu2")
    x = net.add("Add", first, net.conv(x, 32, 32, size, "conv3", 0.3), name="block")
    net.add("Add", "x", net.conv(x, 32, 3, 3, "conv4", 0.3), name="residual")
    return net.model(1)


def artcnn() -> ModelProto:
    """Return an upscaler of luma of the shape of ArtCNN C4F16."""
    net = Network(1)
    first = x = net.conv("x", 1, 16, 3, "conv0")
    for k in range(1, 5):
        x = net.add("Relu", net.conv(x, 16, 16, 3, f"conv{k}"), name=f"relu{k}")
    x = net.add("Add", first, net.conv(x, 16, 16, 3, "conv5", 0.3), name="sum")
    x = net.add("DepthToSpace", net.conv(x, 16, 4, 3, "conv6"), name="shuffle", blocksize=2)
    net.add("Add", x, net.constant("middle", np.float32(0.5)), name="shifted")
    return net.model(2)


def fsrcnnx() -> ModelProto:
    """Return an upscaler of luma of the shape of FSRCNNX 8-0-4-1."""
    net = Network(1)
    first = x = net.edge_conv("x", 1, 8, 5, "features")
    for k in range(1, 5):
        x = net.prelu(net.edge_conv(x, 8, 8, 3, f"map{k}"), 8, f"prelu{k}")
    x = net.add("Add", first, net.conv(x, 8, 8, 1, "residual"), name="sum")
    x = net.edge_conv(net.prelu(x, 8, "prelu5"), 8, 4, 3, "last")
    net.add("DepthToSpace", x, name="shuffle", blocksize=2, mode="CRD")
    return net.model(2)


def anime4k() -> ModelProto:
    """Return an upscaler of RGB of the shape of Anime4K's Upscale CNN x2 M."""
    net = Network(3)
    x, both = net.edge_conv("x", 3, 4, 3, "conv0"), []
    for k in range(7):
        minus = net.add("Relu", net.add("Neg", x, name=f"neg{k}"), name=f"minus{k}")
        both += [net.add("Concat", net.add("Relu", x, name=f"plus{k}"), minus, name=f"crelu{k}",
                         axis=1)]  # fmt: skip
        if k < 6:
            x = net.edge_conv(both[-1], 8, 4, 3, f"conv{k + 1}")
    x = net.conv(net.add("Concat", *both, name="all", axis=1), 56, 4, 1, "last", 0.1)
    x = net.add("DepthToSpace", x, name="shuffle", blocksize=2, mode="CRD")
    net.add("Add", x, net.enlarged("x", 2), name="result")
    return net.model(2)


def cunny() -> ModelProto:
    """Return an upscaler of luma of the shape of CuNNy fast."""
    net = Network(1)
    low, high = net.constant("zero", np.float32(0)), net.constant("one", np.float32(1))
    x, channels = "x", 1
    for k, width in enumerate((12, 12, 8)):
        x = net.edge_conv(x, channels, width, 3, f"conv{k}")
        x, channels = net.add("Clip", x, low, high, name=f"clip{k}"), width
    x = net.edge_conv(x, 8, 4, 3, "last", 0.1)
    x = net.add("DepthToSpace", x, name="shuffle", blocksize=2, mode="CRD")
    net.add("Add", x, net.enlarged("x", 2), name="result")
    return net.model(2)


def enlarged_features(channels: int, splits: bool = False) -> ModelProto:
    """Return an upscaler of RGB that adds a layer, or its second half, enlarged linearly."""
    net = Network(3)
    first = second = net.conv("x", 3, channels, 3, "features")
    if splits:
        channels //= 2
        sizes = net.constant("halves", np.int64([channels, channels]))
        first, second = "first", "second"
        net.nodes.append(helper.make_node("Split", ["features", sizes], [first, second], axis=1))
    inner = net.add("Relu", net.conv(first, channels, 8, 3, "inner"), name="relu")
    inner = net.conv(inner, 8, channels, 3, "deep")
    net.enlarged(second, 2)
    net.add("Resize", inner, "", "scales", name="nearest", mode="nearest")
    net.conv(net.add("Add", "nearest", "enlarged", name="sum"), channels, 3, 1, "last")
    return net.model(2)


def upscaler(scale: int = 2) -> ModelProto:
    """Return an upscaler of RGB that adds what a linear resize gives."""
    net = Network(3)
    x = net.conv("x", 3, 8, 3, "conv1")
    x = net.prelu(x, 8, "prelu")
    x = net.conv(x, 8, 3 * scale * scale, 3, "conv2", 0.3)
    x = net.add("DepthToSpace", x, name="shuffle", blocksize=scale, mode="CRD")
    net.add("Add", x, net.enlarged("x", scale), name="sum")
    return net.model(scale)


def chroma(scale: int = 1, linear: bool = False) -> ModelProto:
    """Return a residual network on two channels, at its own size or larger."""
    net = Network(2)
    x = net.add("Relu", net.conv("x", 2, 8, 3, "conv1"), name="relu1")
    x = net.conv(x, 8, 2 * scale * scale, 3, "conv2", 0.1)
    x = net.add("DepthToSpace", x, name="shuffle", blocksize=scale)
    if linear:
        net.enlarged("x", scale)
    else:
        scales = net.constant("scales", np.array([1, 1, scale, scale], np.float32))
        net.add("Resize", "x", "", scales, name="enlarged", mode="nearest",
                coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    net.add("Add", "enlarged", x, name="sum")
    return net.model(scale)


def chroma_from_luma(scale: int = 2, luma_first: bool = True) -> ModelProto:
    """Return an upscaler of chroma to the size of luma, or a filter of chroma, that reads luma.

    Some layers have the size of luma, and others that of chroma.
    """
    net = Network(2)
    fine = net.add("Relu", net.conv("luma", 1, 4, 3, "conv1"), name="relu1")
    blocks = net.add("SpaceToDepth", fine, name="blocks", blocksize=2)
    x = net.add("Concat", blocks, "x", name="both", axis=1)
    x = net.add("Relu", net.conv(x, 18, 8, 3, "conv2"), name="relu2")
    if scale == 1:
        x = net.add("Add", "x", net.conv(x, 8, 2, 3, "conv3", 0.1), name="sum")
    else:
        x = net.add("DepthToSpace", x, name="shuffle", blocksize=2)
        x = net.conv(net.add("Concat", fine, x, name="all", axis=1), 6, 2, 3, "conv3", 0.1)
        scales = net.constant("scales", np.array([1, 1, 2, 2], np.float32))
        net.add("Resize", "x", "", scales, name="enlarged", mode="nearest",
                coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
        net.add("Add", "enlarged", x, name="sum")
    model = net.model(scale)
    sizes = [1, 1, "2h", "2w"]
    luma = helper.make_tensor_value_info("luma", TensorProto.FLOAT, sizes)
    model.graph.input.insert(0 if luma_first else 1, luma)
    return model


def unet() -> ModelProto:
    """Return a restorer of luma that halves the picture, rounded up, and resizes it back."""
    net = Network(1)
    x = net.add("Relu", net.conv("x", 1, 8, 3, "conv1"), name="relu1")
    half = net.add("MaxPool", x, name="half", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    half = net.add("Relu", net.conv(half, 8, 8, 3, "conv2"), name="relu2")
    shape = net.add("Shape", x, name="shape")
    net.add("Resize", half, "", "", shape, name="whole", mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    x = net.add("Concat", x, "whole", name="both", axis=1)
    net.add("Add", "x", net.conv(x, 16, 1, 3, "conv3", 0.3), name="residual")
    return net.model(1)


def halved() -> ModelProto:
    """Return a restorer of RGB that halves the picture and doubles the result: even sizes stay."""
    net = Network(3)
    half = net.add("Relu", net.conv("x", 3, 8, 3, "half"), name="relu")
    net.nodes[0].attribute.append(helper.make_attribute("strides", [2, 2]))
    w = net.random.normal(0, 0.3, (8, 3, 2, 2)).astype(np.float32)
    net.add("ConvTranspose", half, net.constant("up.w", w), name="up", strides=[2, 2])
    return net.model(1)


def transposed() -> ModelProto:
    """Return an upscaler of luma by 3, by a transposed convolution as FSRCNN has it."""
    net = Network(1)
    x = net.add("Relu", net.conv("x", 1, 8, 3, "conv"), name="relu")
    w = net.random.normal(0, 0.1, (8, 1, 9, 9)).astype(np.float32)
    net.add("ConvTranspose", x, net.constant("up.w", w), name="up", strides=[3, 3], pads=[4] * 4,
            output_padding=[2, 2])  # fmt: skip
    return net.model(3)


def grouped() -> ModelProto:
    """Return a restorer of RGB: groups, dilations, depthwise convolutions, hard swish."""
    net = Network(3)
    x = net.conv("x", 3, 12, 1, "conv1")
    for name, shape, pad in (("groups", (12, 4, 3, 3), 2), ("depthwise", (12, 1, 5, 5), 4)):
        w = net.constant(f"{name}.w", net.random.normal(0, 0.2, shape).astype(np.float32))
        x = net.add("Conv", x, w, name=name, group=12 // shape[1], pads=[pad] * 4,
                    dilations=[2, 2])  # fmt: skip
    x = net.conv(net.add("HardSwish", x, name="swish"), 12, 3, 1, "conv2", 0.3)
    net.add("Add", "x", x, name="residual")
    return net.model(1)


def gated() -> ModelProto:
    """Return a restorer of luma: norms across channels, split, gate, concatenation, reflection."""
    net = Network(1)
    pads = net.constant("pads", np.int64([0, 0, 2, 2, 0, 0, 2, 2]))
    x = net.add("Pad", "x", pads, name="reflected", mode="reflect")
    w = net.random.normal(0, 0.2, (10, 1, 5, 5)).astype(np.float32)
    x = net.add("Conv", x, net.constant("conv1.w", w), name="conv1")
    mean = net.add("ReduceMean", x, name="mean", axes=[1], keepdims=1)
    x = net.add("Sub", x, mean, name="centred")
    halves = net.constant("halves", np.int64([5, 5]))
    net.nodes.append(helper.make_node("Split", [x, halves], ["a", "b"], name="split", axis=1))
    x = net.add("Mul", "a", net.add("Sigmoid", "b", name="sigmoid"), name="gate")
    x = net.conv(net.add("Concat", x, "x", name="both", axis=1), 6, 1, 3, "conv2", 0.3)
    net.add("Add", "x", x, name="residual")
    return net.model(1)


def unshuffled() -> ModelProto:
    """Return a restorer of luma that works on blocks of 2x2 pixels, at even sizes."""
    net = Network(1)
    x = net.add("SpaceToDepth", "x", name="blocks", blocksize=2)
    x = net.conv(net.add("Relu", net.conv(x, 4, 8, 3, "conv1"), name="relu"), 8, 4, 3, "conv2", 0.3)
    net.add("Add", "x", net.add("DepthToSpace", x, name="pixels", blocksize=2), name="residual")
    return net.model(1)


def shuffled(channels: int, mode: str) -> ModelProto:
    """Return the end of an EDSR (Lim et al. 2017): a pixel shuffle of many channels."""
    net = Network(3)
    x = net.conv(
        net.add("Relu", net.conv("x", 3, 8, 3, "first"), name="relu"), 8, channels, 1, "wide"
    )
    x = net.add("DepthToSpace", x, name="shuffle", blocksize=2, mode=mode)
    net.conv(x, channels // 4, 3, 1, "last", 0.2)
    return net.model(3)


def padded() -> ModelProto:
    """Return a restorer of luma whose maps are padded in several ways, and read without padding."""
    net = Network(1)
    first = net.add("Relu", net.conv("x", 1, 6, 3, "conv1"), name="relu1")
    x = net.add("Sum", net.conv(first, 6, 6, 5, "zeros", 0.5),
                net.edge_conv(first, 6, 6, 3, "edge", 0.5),
                net.conv(first, 6, 6, 1, "none"), first, name="sum")  # fmt: skip
    x = net.add("Add", x, net.edge_conv(x, 6, 6, 3, "edge2"), name="sum2")
    net.add("Add", "x", net.conv(net.add("Tanh", x, name="tanh"), 6, 1, 3, "last", 0.3), name="end")
    return net.model(1)


def save(model: ModelProto, folder: Path) -> Path:
    """Write a model as net.onnx."""
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path
