"""Builds that every runtime must play alike: Python, C++ and the browser.

Each is a small ONNX model, compiled for one target, with inputs and what ONNX Runtime makes of
them. :func:`write` lays them out for a runtime that is no Python::

    ROOT/NAME/build/
    ROOT/NAME/inputs/INPUT.f32       float32, little-endian, in the model's own shape, C order
    ROOT/NAME/expected/OUTPUT.f32
    ROOT/NAME/case.json              {"compute": bool, "tolerance": number, "sizes": {SIZE: number},
                                      "inputs": {INPUT: shape}, "outputs": {OUTPUT: shape}}
    ROOT/NAME/sizes.txt              the sizes again, each a line: SIZE number

A build that leaves its sizes open begins with others, and is to be given ``sizes`` first. The
largest difference allowed is ``tolerance * max(1, max|expected|)``. Builds of ``compute`` use what
OpenGL ES 3.1 has over 3.0; a browser must refuse them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
from onnx_models import node, normal, typed_model

from shadergen.backends.writer import write_build
from shadergen.compiler.driver import compile_graph, import_model
from shadergen.compiler.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TARGETS: dict[str, dict[str, Any]] = {
    "fragment": {"device": "webgl2-min"},
    "compute": {"device": "gles32-desktop", "stage": "compute"},
}


@dataclass(frozen=True)
class Model:
    """Nodes of an ONNX graph, its weights, its inputs' values, and its outputs' types."""

    nodes: list[Any]
    weights: dict[str, np.ndarray]
    feeds: dict[str, np.ndarray]
    outputs: dict[str, Any] = field(default_factory=lambda: {"y": np.float32})


@dataclass(frozen=True)
class RuntimeBuild:
    """A model with the options it is compiled with."""

    name: str
    model: Callable[[], Model]
    options: dict[str, Any]
    tolerance: float = 1e-4

    @property
    def dynamic(self) -> bool:
        """Whether it leaves its sizes open."""
        return "dynamic" in self.options

    @property
    def compute(self) -> bool:
        """Whether it needs OpenGL ES 3.1, which a browser has not."""
        return self.options["device"] != TARGETS["fragment"]["device"]

    def write(self, folder: Path) -> dict[str, dict[str, np.ndarray]]:
        """Write it as the module says; return its inputs and expected outputs."""
        model = self.model()
        proto = typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)
        options = Options(**self.options)
        _, files, _ = compile_graph(import_model(proto, options), options)
        folder.mkdir(parents=True)
        write_build(files, folder / "build", lambda written: None)
        arrays = {"inputs": model.feeds, "outputs": _expected(proto, model)}
        shapes = {}
        for kind, place in (("inputs", "inputs"), ("outputs", "expected")):
            (folder / place).mkdir()
            for name, array in arrays[kind].items():
                array.astype("<f4").tofile(folder / place / f"{name}.f32")
            shapes[kind] = {name: list(array.shape) for name, array in arrays[kind].items()}
        height, width = next(iter(model.feeds.values())).shape[-2:]
        sizes = {"height": height, "width": width} if self.dynamic else {}
        lines = "".join(f"{name} {size}\n" for name, size in sizes.items())
        (folder / "sizes.txt").write_text(lines, encoding="utf-8")
        case = {"compute": self.compute, "tolerance": self.tolerance, "sizes": sizes, **shapes}
        (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")
        return arrays


def _expected(proto: Any, model: Model) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(proto.SerializeToString(), options)
    return dict(zip(model.outputs, session.run(None, model.feeds), strict=True))


def write(root: Path) -> None:
    """Write every build below ``root``."""
    for build in runtime_builds():
        build.write(root / build.name)


# the models, one for each family of kernels and then some


def _weights(*shape: int, seed: int = 1) -> np.ndarray:
    """Weights of a convolution, OIHW, or a matrix, that keep magnitudes near 1."""
    fan_in = int(np.prod(shape[1:])) if len(shape) > 2 else shape[0]
    return normal(*shape, seed=seed) / np.float32(np.sqrt(fan_in))


def _conv(x: str, w: str, y: str, *bias: str, pads: int = 0, **attributes: Any) -> Any:
    return node("Conv", x, w, *bias, outputs=(y,), pads=[pads] * 4, **attributes)


def _one(*nodes: Any, x: np.ndarray, **weights: np.ndarray) -> Model:
    return Model(list(nodes), weights, {"x": x})


def _conv_3x3() -> Model:
    w, b = _weights(17, 5, 3, 3), normal(17, seed=2)
    return _one(_conv("x", "w", "y", "b", pads=1), x=normal(1, 5, 13, 11), w=w, b=b)


def _conv_strided() -> Model:
    w = _weights(6, 3, 3, 5)
    call = node("Conv", "x", "w", strides=[2, 3], dilations=[2, 1], pads=[2, 0, 1, 3])
    return _one(call, x=normal(2, 3, 14, 17), w=w)


def _conv_grouped() -> Model:
    return _one(
        _conv("x", "w", "y", pads=1, group=2), x=normal(1, 10, 6, 7), w=_weights(6, 5, 3, 3)
    )


def _conv_depthwise() -> Model:
    return _one(_conv("x", "w", "y", pads=1, group=9), x=normal(1, 9, 8, 9), w=_weights(9, 1, 3, 3))


def _conv_transposed() -> Model:
    call = node("ConvTranspose", "x", "w", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0])
    return _one(call, x=normal(1, 6, 5, 7), w=_weights(6, 4, 3, 3))


def _conv_1d() -> Model:
    return _one(node("Conv", "x", "w", pads=[1, 1]), x=normal(2, 3, 19), w=_weights(4, 3, 3))


def _pixel_shuffle() -> Model:
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


def _residual() -> Model:
    nodes = [
        _conv("x", "w1", "a", pads=1),
        node("Relu", "a", outputs=("b",)),
        _conv("b", "w2", "c", pads=1),
        node("Add", "c", "x", outputs=("d",)),
        node("Relu", "d"),
    ]
    return _one(*nodes, x=normal(1, 8, 9, 10), w1=_weights(8, 8, 3, 3), w2=_weights(8, 8, 3, 3))


def _pointwise() -> Model:
    nodes = [
        node("Mul", "x", "s", outputs=("a",)),
        node("Elu", "a", outputs=("b",)),
        node("Erf", "b"),
    ]
    return _one(*nodes, x=normal(2, 5, 4, 6), s=normal(5, 1, 1))


def _two_inputs() -> Model:
    """Two inputs that are broadcast, and two outputs."""
    nodes = [
        node("Add", "left", "right", outputs=("sum",)),
        node("Max", "left", "right", outputs=("largest",)),
    ]
    feeds = {"left": normal(1, 3, 5, 6), "right": normal(1, 3, 5, 1, seed=1)}
    return Model(nodes, {}, feeds, {"sum": np.float32, "largest": np.float32})


def _dense() -> Model:
    nodes = [node("Gemm", "x", "w", "b", outputs=("h",)), node("Softmax", "h", axis=-1)]
    return _one(*nodes, x=normal(3, 30), w=_weights(30, 10), b=normal(10))


def _matmul() -> Model:
    feeds = {"left": normal(2, 7, 9), "right": normal(2, 9, 5, seed=1)}
    return Model([node("MatMul", "left", "right")], {}, feeds)


def _attention() -> Model:
    nodes = [
        node("Transpose", "k", outputs=("t",), perm=[0, 2, 1]),
        node("MatMul", "q", "t", outputs=("scores",)),
        node("Softmax", "scores", outputs=("p",), axis=-1),
        node("MatMul", "p", "v"),
    ]
    feeds = {name: normal(2, 6, 8, seed=k) for k, name in enumerate("qkv")}
    return Model(nodes, {}, feeds)


def _pooling() -> Model:
    nodes = [
        node(
            "MaxPool", "x", outputs=("m",), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]
        ),
        node("AveragePool", "m", kernel_shape=[2, 3], pads=[0, 1, 0, 1]),
    ]
    return _one(*nodes, x=normal(1, 6, 11, 12))


def _squeeze() -> Model:
    nodes = [
        node("GlobalAveragePool", "x", outputs=("g",)),
        _conv("g", "w", "s"),
        node("Sigmoid", "s", outputs=("a",)),
        node("Mul", "x", "a"),
    ]
    return _one(*nodes, x=normal(1, 7, 9, 8), w=_weights(7, 7, 1, 1))


def _instance_norm() -> Model:
    return _one(
        node("InstanceNormalization", "x", "s", "b"),
        x=normal(2, 5, 12, 9),
        s=normal(5, seed=1),
        b=normal(5, seed=2),
    )


def _layer_norm() -> Model:
    return _one(node("LayerNormalization", "x", "s"), x=normal(3, 4, 21), s=normal(21, seed=1))


def _reduction() -> Model:
    return _one(
        node("ReduceLogSumExp", "x", "axes", keepdims=0), x=normal(2, 5, 6, 7), axes=_ints(1, 3)
    )


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _movement() -> Model:
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


def _branches() -> Model:
    nodes = [
        _conv("x", "w1", "a"),
        _conv("x", "w3", "b", pads=1),
        node("Concat", "a", "b", outputs=("c",), axis=1),
        node("Split", "c", outputs=("d", "e"), axis=1, num_outputs=2),
        node("Sub", "d", "e"),
    ]
    return _one(*nodes, x=normal(1, 4, 7, 6), w1=_weights(4, 4, 1, 1), w3=_weights(8, 4, 3, 3))


def _resize() -> Model:
    nodes = [
        node("Resize", "x", "", "", "large", outputs=("a",), mode="linear"),
        node("Resize", "a", "", "", "small", mode="cubic"),
    ]
    sizes = {"large": _ints(1, 3, 13, 10), "small": _ints(1, 3, 8, 17)}
    return _one(*nodes, x=normal(1, 3, 6, 7), **sizes)


def _upsample() -> Model:
    """A decoder's step: nearest upsampling, then a convolution."""
    nodes = [node("Resize", "x", "", "scales", outputs=("a",)), _conv("a", "w", "y", pads=1)]
    scales = np.array([1, 1, 2, 2], np.float32)
    return _one(*nodes, x=normal(1, 5, 6, 5), scales=scales, w=_weights(3, 5, 3, 3))


def _grid_sample() -> Model:
    grid = np.random.default_rng(5).uniform(-1.1, 1.1, (1, 5, 6, 2)).astype(np.float32)
    call = node("GridSample", "x", "grid", align_corners=1, mode="linear")
    return Model([call], {}, {"x": normal(1, 3, 7, 8), "grid": grid})


def _recurrence() -> Model:
    w = {"w": _weights(1, 12, 5), "r": _weights(1, 12, 3, seed=2), "b": normal(1, 24, seed=3)}
    return _one(node("LSTM", "x", "w", "r", "b", hidden_size=3), x=normal(4, 2, 5), **w)


def _selection() -> Model:
    """Integers in and out."""
    nodes = [node("ArgMax", "x", outputs=("y",), axis=1), node("Gather", "x", "i", outputs=("z",))]
    indices = np.array([[2, 0], [1, 2]], np.int64)
    feeds = {"x": normal(3, 6, 5), "i": indices}
    return Model(nodes, {}, feeds, {"y": np.int64, "z": np.float32})


def _top_k() -> Model:
    call = node("TopK", "x", "k", outputs=("y", "i"))
    return Model([call], {"k": _ints(3)}, {"x": normal(4, 9)}, {"y": np.float32, "i": np.int64})


MODELS: dict[str, Callable[[], Model]] = {
    name.__name__.removeprefix("_"): name
    for name in (
        _conv_3x3,
        _conv_strided,
        _conv_grouped,
        _conv_depthwise,
        _conv_transposed,
        _conv_1d,
        _pixel_shuffle,
        _residual,
        _pointwise,
        _two_inputs,
        _dense,
        _matmul,
        _attention,
        _pooling,
        _squeeze,
        _instance_norm,
        _layer_norm,
        _reduction,
        _movement,
        _branches,
        _resize,
        _upsample,
        _grid_sample,
        _recurrence,
        _selection,
        _top_k,
    )
}


def _photograph() -> Model:
    """An 8-bit RGB image in 0..1, of values that bytes can hold."""
    bytes_ = np.random.default_rng(6).integers(0, 256, (1, 3, 10, 12))
    x = (bytes_ / 255).astype(np.float32)
    nodes = [_conv("x", "w", "a", pads=1), node("Sigmoid", "a")]
    return _one(*nodes, x=x, w=_weights(3, 3, 3, 3))


def _luma() -> Model:
    return _one(_conv("x", "w", "y", pads=1), x=normal(1, 2, 9, 7), w=_weights(1, 2, 3, 3))


def _shallow() -> Model:
    """As the first, with channels for two planes in, so that 2D textures are several."""
    return _one(_conv("x", "w", "y", pads=1), x=normal(1, 8, 6, 7), w=_weights(12, 8, 3, 3))


FRAGMENT = TARGETS["fragment"]
HALF_STEP = 0.5 / 255 + 1e-4  # what rounding to a byte may lose
SPECIAL = (
    RuntimeBuild("bytes-in", _photograph, {**FRAGMENT, "preprocess": "input=unorm8"}),
    RuntimeBuild("bytes-out", _photograph, {**FRAGMENT, "output_encoding": "unorm8"}, HALF_STEP),
    RuntimeBuild("y2rg", _luma, {**FRAGMENT, "output_encoding": "y2rg"}),
    RuntimeBuild("y2rg-half", _luma, {**FRAGMENT, "output_encoding": "y2rg_half"}),
    RuntimeBuild("half", _residual, {**FRAGMENT, "precision": "mediump"}, 1e-2),
    RuntimeBuild("planes-2d", _shallow, {**FRAGMENT, "textures": "2d"}),
    RuntimeBuild("one-target", _shallow, {**FRAGMENT, "mrt": 1}),
    RuntimeBuild("weights-ubo", _shallow, {**FRAGMENT, "weights": "ubo"}),
    RuntimeBuild("weights-texture", _shallow, {**FRAGMENT, "weights": "texture"}),
    RuntimeBuild(
        "weights-int8", _shallow, {**FRAGMENT, "weights": "texture", "weight_format": "int8"}, 2e-2
    ),
    RuntimeBuild("parameters-ubo", _conv_3x3, {**FRAGMENT, "parameters": "ubo"}),
    RuntimeBuild(
        "weights-ssbo",
        _shallow,
        {"device": "gles32-desktop", "glsl": 310, "stage": "fragment", "weights": "ssbo"},
    ),
    RuntimeBuild(
        "fetch-image",
        _residual,
        {**TARGETS["compute"], "fetch": "image"},
    ),
    RuntimeBuild(
        "mixed-stages",
        _pixel_shuffle,
        {"device": "llvmpipe", "glsl": 310, "stage": "auto", "fetch": "image"},
    ),
)


FIRST = (12, 20)  # height and width that builds of open sizes begin with
OPEN: tuple[Callable[[], Model], ...] = (
    _conv_3x3,
    _conv_strided,
    _conv_transposed,
    _pixel_shuffle,
    _residual,
    _pooling,
    _squeeze,
    _instance_norm,
    _branches,
    _upsample,
)


@cache
def runtime_builds() -> tuple[RuntimeBuild, ...]:
    """Return every build, those of both targets first."""
    found = []
    for target, options in TARGETS.items():
        found += [RuntimeBuild(f"{name}-{target}", m, options) for name, m in MODELS.items()]
        open_sizes = {**options, "dynamic": FIRST}
        found += [
            RuntimeBuild(f"{name}-{target}-dynamic", model, open_sizes)
            for name, model in MODELS.items()
            if model in OPEN
        ]
    return (*found, *SPECIAL)
