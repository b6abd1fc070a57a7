"""Small ONNX models for the runtimes' tests, one for each family of kernels and then some."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from support.onnx_models import node, normal

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Model:
    """Nodes of an ONNX graph, its weights, its inputs' values, and its outputs' types."""

    nodes: list[Any]
    weights: dict[str, np.ndarray]
    feeds: dict[str, np.ndarray]
    outputs: dict[str, Any] = field(default_factory=lambda: {"y": np.float32})


def _weights(*shape: int, seed: int = 1) -> np.ndarray:
    """Weights of a convolution, OIHW, or a matrix, that keep magnitudes near 1."""
    fan_in = int(np.prod(shape[1:])) if len(shape) > 2 else shape[0]
    return normal(*shape, seed=seed) / np.float32(np.sqrt(fan_in))


def _conv(x: str, w: str, y: str, *bias: str, pads: int = 0, **attributes: Any) -> Any:
    return node("Conv", x, w, *bias, outputs=(y,), pads=[pads] * 4, **attributes)


def _one(*nodes: Any, x: np.ndarray, **weights: np.ndarray) -> Model:
    return Model(list(nodes), weights, {"x": x})


def conv_3x3() -> Model:
    w, b = _weights(17, 5, 3, 3), normal(17, seed=2)
    return _one(_conv("x", "w", "y", "b", pads=1), x=normal(1, 5, 13, 11), w=w, b=b)


def conv_strided() -> Model:
    w = _weights(6, 3, 3, 5)
    call = node("Conv", "x", "w", strides=[2, 3], dilations=[2, 1], pads=[2, 0, 1, 3])
    return _one(call, x=normal(2, 3, 14, 17), w=w)


def conv_grouped() -> Model:
    return _one(
        _conv("x", "w", "y", pads=1, group=2), x=normal(1, 10, 6, 7), w=_weights(6, 5, 3, 3)
    )


def conv_depthwise() -> Model:
    return _one(_conv("x", "w", "y", pads=1, group=9), x=normal(1, 9, 8, 9), w=_weights(9, 1, 3, 3))


def conv_transposed() -> Model:
    call = node("ConvTranspose", "x", "w", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0])
    return _one(call, x=normal(1, 6, 5, 7), w=_weights(6, 4, 3, 3))


def conv_1d() -> Model:
    return _one(node("Conv", "x", "w", pads=[1, 1]), x=normal(2, 3, 19), w=_weights(4, 3, 3))


def pixel_shuffle() -> Model:
    """ESPCN at a small size."""
    nodes = [
        _conv("x", "w1", "a", "b1", pads=2),
        node("Tanh", "a", outputs=("b",)),
        _conv("b", "w2", "c", pads=1),
        node("Tanh", "c", outputs=("d",)),
        _conv("d", "w3", "e", pads=1),
        node("DepthToSpace", "e", blocksize=2, mode="CRD"),
    ]
    x = np.random.default_rng(3).random((1, 1, 18, 22), np.float32)
    w = {"w1": _weights(16, 1, 5, 5), "w2": _weights(16, 16, 3, 3), "w3": _weights(4, 16, 3, 3)}
    return _one(*nodes, x=x, b1=normal(16, seed=4), **w)


def residual() -> Model:
    nodes = [
        _conv("x", "w1", "a", pads=1),
        node("Relu", "a", outputs=("b",)),
        _conv("b", "w2", "c", pads=1),
        node("Add", "c", "x", outputs=("d",)),
        node("Relu", "d"),
    ]
    return _one(*nodes, x=normal(1, 8, 9, 10), w1=_weights(8, 8, 3, 3), w2=_weights(8, 8, 3, 3))


def pointwise() -> Model:
    nodes = [
        node("Mul", "x", "s", outputs=("a",)),
        node("Elu", "a", outputs=("b",)),
        node("Erf", "b"),
    ]
    return _one(*nodes, x=normal(2, 5, 4, 6), s=normal(5, 1, 1))


def two_inputs() -> Model:
    """Two inputs that are broadcast, and two outputs."""
    nodes = [
        node("Add", "left", "right", outputs=("sum",)),
        node("Max", "left", "right", outputs=("largest",)),
    ]
    feeds = {"left": normal(1, 3, 5, 6), "right": normal(1, 3, 5, 1, seed=1)}
    return Model(nodes, {}, feeds, {"sum": np.float32, "largest": np.float32})


def dense() -> Model:
    nodes = [node("Gemm", "x", "w", "b", outputs=("h",)), node("Softmax", "h", axis=-1)]
    return _one(*nodes, x=normal(3, 30), w=_weights(30, 10), b=normal(10))


def matmul() -> Model:
    feeds = {"left": normal(2, 7, 9), "right": normal(2, 9, 5, seed=1)}
    return Model([node("MatMul", "left", "right")], {}, feeds)


def attention() -> Model:
    nodes = [
        node("Transpose", "k", outputs=("t",), perm=[0, 2, 1]),
        node("MatMul", "q", "t", outputs=("scores",)),
        node("Softmax", "scores", outputs=("p",), axis=-1),
        node("MatMul", "p", "v"),
    ]
    feeds = {name: normal(2, 6, 8, seed=k) for k, name in enumerate("qkv")}
    return Model(nodes, {}, feeds)


def pooling() -> Model:
    nodes = [
        node(
            "MaxPool", "x", outputs=("m",), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]
        ),
        node("AveragePool", "m", kernel_shape=[2, 3], pads=[0, 1, 0, 1]),
    ]
    return _one(*nodes, x=normal(1, 6, 11, 12))


def squeeze() -> Model:
    nodes = [
        node("GlobalAveragePool", "x", outputs=("g",)),
        _conv("g", "w", "s"),
        node("Sigmoid", "s", outputs=("a",)),
        node("Mul", "x", "a"),
    ]
    return _one(*nodes, x=normal(1, 7, 9, 8), w=_weights(7, 7, 1, 1))


def instance_norm() -> Model:
    return _one(
        node("InstanceNormalization", "x", "s", "b"),
        x=normal(2, 5, 12, 9),
        s=normal(5, seed=1),
        b=normal(5, seed=2),
    )


def layer_norm() -> Model:
    return _one(node("LayerNormalization", "x", "s"), x=normal(3, 4, 21), s=normal(21, seed=1))


def reduction() -> Model:
    return _one(
        node("ReduceLogSumExp", "x", "axes", keepdims=0), x=normal(2, 5, 6, 7), axes=_ints(1, 3)
    )


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def movement() -> Model:
    nodes = [
        node("Transpose", "x", outputs=("t",), perm=[0, 2, 3, 1]),
        node("Reshape", "t", "shape", outputs=("r",)),
        node("Slice", "r", "starts", "ends", "axes", "steps", outputs=("s",)),
        node("Concat", "s", "s", outputs=("c",), axis=1),
        node("Pad", "c", "pads", mode="reflect"),
    ]
    numbers = {
        "shape": _ints(1, 6, 35),
        "starts": _ints(-1),
        "ends": _ints(-100),
        "axes": _ints(2),
        "steps": _ints(-2),
        "pads": _ints(0, 2, 1, 0, 0, 3),
    }
    return _one(*nodes, x=normal(1, 6, 5, 7), **numbers)


def branches() -> Model:
    nodes = [
        _conv("x", "w1", "a"),
        _conv("x", "w3", "b", pads=1),
        node("Concat", "a", "b", outputs=("c",), axis=1),
        node("Split", "c", outputs=("d", "e"), axis=1, num_outputs=2),
        node("Sub", "d", "e"),
    ]
    return _one(*nodes, x=normal(1, 4, 7, 6), w1=_weights(4, 4, 1, 1), w3=_weights(8, 4, 3, 3))


def resize() -> Model:
    nodes = [
        node("Resize", "x", "", "", "large", outputs=("a",), mode="linear"),
        node("Resize", "a", "", "", "small", mode="cubic"),
    ]
    sizes = {"large": _ints(1, 3, 13, 10), "small": _ints(1, 3, 8, 17)}
    return _one(*nodes, x=normal(1, 3, 6, 7), **sizes)


def upsample() -> Model:
    """A decoder's step: nearest upsampling, then a convolution."""
    nodes = [node("Resize", "x", "", "scales", outputs=("a",)), _conv("a", "w", "y", pads=1)]
    scales = np.array([1, 1, 2, 2], np.float32)
    return _one(*nodes, x=normal(1, 5, 6, 5), scales=scales, w=_weights(3, 5, 3, 3))


def grid_sample() -> Model:
    grid = np.random.default_rng(5).uniform(-1.1, 1.1, (1, 5, 6, 2)).astype(np.float32)
    call = node("GridSample", "x", "grid", align_corners=1, mode="linear")
    return Model([call], {}, {"x": normal(1, 3, 7, 8), "grid": grid})


def recurrence() -> Model:
    w = {"w": _weights(1, 12, 5), "r": _weights(1, 12, 3, seed=2), "b": normal(1, 24, seed=3)}
    return _one(node("LSTM", "x", "w", "r", "b", hidden_size=3), x=normal(4, 2, 5), **w)


def selection() -> Model:
    """Integers in and out."""
    nodes = [node("ArgMax", "x", outputs=("y",), axis=1), node("Gather", "x", "i", outputs=("z",))]
    indices = np.array([[2, 0], [1, 2]], np.int64)
    feeds = {"x": normal(3, 6, 5), "i": indices}
    return Model(nodes, {}, feeds, {"y": np.int64, "z": np.float32})


def top_k() -> Model:
    call = node("TopK", "x", "k", outputs=("y", "i"))
    return Model([call], {"k": _ints(3)}, {"x": normal(4, 9)}, {"y": np.float32, "i": np.int64})


def coordinates() -> Model:
    """Each column times its part of the width: computed of the size alone where that is dynamic."""
    nodes = [
        node("Shape", "x", outputs=("sizes",), start=3),
        node("Squeeze", "sizes", outputs=("whole",)),
        node("Cast", "whole", outputs=("width",), to=1),
        node("Range", "zero", "width", "one", outputs=("columns",)),
        node("Div", "columns", "width", outputs=("parts",)),
        node("Mul", "x", "parts"),
    ]
    return _one(*nodes, x=normal(1, 5, 7, 9), zero=np.array(0, "f4"), one=np.array(1, "f4"))


MODELS: dict[str, Callable[[], Model]] = {
    name.__name__: name
    for name in (
        conv_3x3,
        coordinates,
        conv_strided,
        conv_grouped,
        conv_depthwise,
        conv_transposed,
        conv_1d,
        pixel_shuffle,
        residual,
        pointwise,
        two_inputs,
        dense,
        matmul,
        attention,
        pooling,
        squeeze,
        instance_norm,
        layer_norm,
        reduction,
        movement,
        branches,
        resize,
        upsample,
        grid_sample,
        recurrence,
        selection,
        top_k,
    )
}


def photograph() -> Model:
    """An 8-bit RGB image in 0..1, of values that bytes can hold."""
    bytes_ = np.random.default_rng(6).integers(0, 256, (1, 3, 10, 12))
    x = (bytes_ / 255).astype(np.float32)
    nodes = [_conv("x", "w", "a", pads=1), node("Sigmoid", "a")]
    return _one(*nodes, x=x, w=_weights(3, 3, 3, 3))


def luma() -> Model:
    return _one(_conv("x", "w", "y", pads=1), x=normal(1, 2, 9, 7), w=_weights(1, 2, 3, 3))


def shallow() -> Model:
    """As the first, with channels for two planes in, so that 2D textures are several."""
    return _one(_conv("x", "w", "y", pads=1), x=normal(1, 8, 6, 7), w=_weights(12, 8, 3, 3))
