"""Quantised networks on the GPU: whole numbers are as exact as in onnxruntime."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from support import play
from support.onnx_models import node, typed_model

from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.options import Options

pytestmark = pytest.mark.gl


@pytest.mark.parametrize(
    ("channels", "side", "device"), [(4, 16, "gles30"), (64, 56, "llvmpipe")], ids=str
)
def test_sums_between_two_integers_are_rounded_as_whole_sums_times_the_scale(
    channels: int, side: int, device: str
) -> None:
    """Of so many sums some lie there; tiles of 4x4, which thirds get into, would move them."""
    rng = np.random.default_rng(5)
    inits = {
        "xs": np.float32(0.1),
        "xz": np.uint8(8),
        "w": rng.integers(-9, 10, (channels, channels, 3, 3)).astype(np.int8),
        "ws": np.float32(0.1),
        "wz": np.int8(0),
        "ys": np.float32(0.025 * channels),
        "yz": np.uint8(128),
    }
    x = rng.integers(0, 30, (1, channels, side, side)).astype(np.uint8)
    model = typed_model(node("QLinearConv", "x", *inits), inits, {"x": x}, {"y": np.uint8}, 13)
    (want,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    options = Options(device=device, validate=False)
    _, files, _ = compile_graph(import_model(model, options), options)
    np.testing.assert_array_equal(play(files, {"x": x})["y"], want)
