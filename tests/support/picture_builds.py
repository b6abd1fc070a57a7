"""Small networks from pictures to pictures, and a picture, for tests of the web runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper
from PIL import Image

from shadergen.compiler.device_list import parse_devices
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from support.onnx_models import node, normal, typed_model
from support.runtime_models import Model

if TYPE_CHECKING:
    from pathlib import Path

HEIGHT, WIDTH = 5, 7
RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8)
PIXELS[..., 3] = 255
TRANSPARENT = PIXELS.copy()
TRANSPARENT[..., 3] = 7 * np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
SOURCE = (PIXELS.ravel().tolist(), WIDTH, HEIGHT)


def scaled(*shape: int) -> Model:
    half = {"half": np.array(0.5, np.float32)}
    return Model([node("Mul", "x", "half")], half, {"x": normal(*shape)})


def doubled() -> Model:
    nodes = [node("Resize", "x", "", "scales", mode="nearest")]
    scales = np.array([1, 1, 2, 2], np.float32)
    return Model(nodes, {"scales": scales}, {"x": normal(1, 1, HEIGHT, WIDTH)})


def integers(dtype: type, *shape: int, out: type = np.float32) -> Model:
    """Return a network that halves integers."""
    nodes = [
        node("Cast", "x", outputs=("f",), to=TensorProto.FLOAT),
        node("Mul", "f", "half", outputs=("h",)),
        node("Cast", "h", to=helper.np_dtype_to_tensor_dtype(np.dtype(out))),
    ]
    half = {"half": np.array(0.5, np.float32)}
    return Model(nodes, half, {"x": np.zeros(shape, dtype)}, {"y": out})


def last() -> Model:
    """Channels last, as frameworks of that order take pictures."""
    nodes = [node("Transpose", "x", outputs=("t",), perm=[0, 3, 1, 2]), node("Relu", "t")]
    return Model(nodes, {}, {"x": normal(1, HEIGHT, WIDTH, 3)})


def reddened() -> Model:
    """One channel of a picture in colours."""
    weights = {"w": np.array([[1, 0, 0]], np.float32)[..., None, None]}
    return Model([node("Conv", "x", "w")], weights, {"x": normal(*RGB)})


RGB = (1, 3, HEIGHT, WIDTH)
BUILDS = {
    "rgb": (lambda: scaled(*RGB), {}),
    "rgba": (lambda: scaled(1, 4, HEIGHT, WIDTH), {}),
    "luma": (doubled, {}),
    "red": (reddened, {}),
    "last": (last, {}),
    "arrays": (lambda: scaled(*RGB), {"textures": "array"}),
    "bytes": (lambda: scaled(*RGB), {"preprocess": "input=unorm8", "output_encoding": "unorm8"}),
    "grey": (lambda: scaled(1, 1, HEIGHT, WIDTH), {"output_encoding": "unorm8"}),
    "half": (lambda: scaled(*RGB), {"precision": "mediump"}),
    "narrow": (lambda: scaled(*RGB), {"precision": "auto", "input_range": (0.0, 0.5)}),
    "signed": (lambda: scaled(1, 1, HEIGHT, WIDTH), {"output_encoding": "y2rg_half"}),
    "uint8": (lambda: integers(np.uint8, *RGB), {}),
    "half uint8": (lambda: integers(np.uint8, *RGB), {"precision": "mediump"}),
    "grey uint8": (lambda: integers(np.uint8, 1, 1, HEIGHT, WIDTH), {}),
    "uint8 out": (lambda: integers(np.uint8, *RGB, out=np.uint8), {}),
    "int32": (lambda: integers(np.int32, *RGB), {}),
    "matrix": (lambda: scaled(6, 7), {}),
    "pair": (
        lambda: Model([node("Add", "x", "z")], {}, {"x": normal(*RGB), "z": normal(*RGB, seed=1)}),
        {},
    ),
}


def ask(page: Any, call: str, *arguments: Any) -> Any:
    return page.evaluate(f"(a) => {call}", list(arguments))


def flat(pixels: np.ndarray) -> list[int]:
    return pixels.ravel().tolist()


def check_straight(found: dict[str, list[float]]) -> None:
    """Check what "rgba" makes of TRANSPARENT, except for the bits that multiplied colours lose."""
    expected = TRANSPARENT.transpose(2, 0, 1) / 255
    alpha = expected[3]
    found.pop("VideoFrame", None)  # it has no alpha
    assert len(found) == 13
    for kind, values in found.items():
        difference = np.abs(2 * np.array(values).reshape(expected.shape) - expected)
        exact = kind in ("ImageData", "ImageBitmap as stored", "ImageBitmap flipped, none")
        if not exact:
            difference *= alpha
        assert difference.max() <= (1e-6 if exact else 1.01 / 255), kind


def picture(pixels: np.ndarray = PIXELS, mode: str = "RGB") -> Image.Image:
    return Image.fromarray(pixels).convert(mode)


def both(folder: Path) -> None:
    """Write a build of WebGL 2 with a variant for WebGPU."""
    model = BUILDS["rgb"][0]()
    proto = typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)
    folder.mkdir()
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    generic, variants = parse_devices("webgl2-min,webgpu")
    options = Options(device=generic, variants=variants, validate=False)
    compile_model(folder / "model.onnx", folder / "build", options)
