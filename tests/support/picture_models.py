"""Small networks from pictures to pictures, as functions of the size, and pictures for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from support.onnx_models import node
from support.runtime_models import Model


def mixing(outputs: int, inputs: int, side: int, seed: int = 1) -> np.ndarray:
    """Return weights of a convolution, OIHW, that keep numbers within 0 to 1."""
    weights = np.random.default_rng(seed).random((outputs, inputs, side, side)).astype(np.float32)
    return weights / weights.sum((1, 2, 3), keepdims=True)


def picture_model(nodes: list[Any], channels: int = 3, **weights: np.ndarray) -> Any:
    def at(height: int, width: int) -> Model:
        return Model(nodes, weights, {"x": np.zeros((1, channels, height, width), np.float32)})

    return at


def blurred() -> Any:
    return picture_model([node("Conv", "x", "w", pads=[3] * 4)], w=mixing(3, 3, 7))


def strided() -> Any:
    """Two convolutions with strides, and the way back: what a U-Net has."""
    halves = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    doubles = {"strides": [2, 2], "kernel_shape": [2, 2]}
    nodes = [
        node("Conv", "x", "a", outputs=("b",), **halves),
        node("Conv", "b", "c", outputs=("d",), **halves),
        node("ConvTranspose", "d", "e", outputs=("f",), **doubles),
        node("ConvTranspose", "f", "e", **doubles),
    ]
    back = np.full((3, 3, 2, 2), 1 / 3, np.float32) * [[[[1, 0.5], [0.7, 0.9]]]]
    return picture_model(nodes, a=mixing(3, 3, 3), c=mixing(3, 3, 3, 2), e=back.astype(np.float32))


def doubled() -> Any:
    nodes = [
        node("Conv", "x", "w", outputs=("h",), pads=[1] * 4),
        node("DepthToSpace", "h", blocksize=2),
    ]
    return picture_model(nodes, w=mixing(12, 3, 3))


def doubled_luma() -> Any:
    """A network of luma that reads a single pixel; its result keeps the picture's chroma."""
    nodes = [node("Conv", "x", "w", outputs=("h",)), node("DepthToSpace", "h", blocksize=2)]
    return picture_model(nodes, 1, w=mixing(4, 1, 1))


def cropped() -> Any:
    return picture_model([node("Conv", "x", "w")], w=mixing(3, 3, 5))


def pooled() -> Any:
    nodes = [node("GlobalAveragePool", outputs=("m",)), node("Mul", "x", "m")]
    return picture_model(nodes)


def pooled_and_doubled() -> Any:
    nodes = [
        node("GlobalAveragePool", outputs=("m",)),
        node("Mul", "x", "m", outputs=("s",)),
        node("Conv", "s", "w", outputs=("h",)),
        node("DepthToSpace", "h", blocksize=2),
    ]
    return picture_model(nodes, w=mixing(12, 3, 1))


def darkened(channels: int) -> Any:
    return picture_model([node("Mul", "x", "w")], channels, w=np.array(0.5, np.float32))


def picture(height: int, width: int, channels: int = 3) -> Image.Image:
    """Return a smooth picture, so that a wrong place shows, with some noise."""
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / 9 + c) * np.cos(y / 7 - c) * 90 + 128 for c in range(channels)]
    noise = np.random.default_rng(3).normal(0, 12, (height, width, channels))
    return Image.fromarray((np.stack(waves, 2) + noise).clip(0, 255).astype(np.uint8))
