"""Resampling of images: resizing and upsampling, cropping to a size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....ir.dimensions import DynamicDimensionError, is_dynamic
from .....ir.ops import Pad, ResizeLinear, ResizeNearest
from .....ir.resampling import (
    GAUSSIAN,
    LINEAR,
    MITCHELL,
    Floats,
    Kernel,
    area_taps,
    cubic,
    kernel_taps,
    lanczos,
    resample,
    resample_cubic,
)
from ..tensors import Tensor
from .common import identity, one
from .movement import cropped, repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .....ir.graph import Value
    from .layer import Layer

KERNELS: dict[str, Kernel] = {
    "bicubic": cubic(-0.5),
    "bilinear": LINEAR,
    "gaussian": GAUSSIAN,
    "lanczos3": lanczos(3),
    "lanczos5": lanczos(5),
    "mitchellcubic": MITCHELL,
}
CUBIC_TABLE = 1024  # places between two pixels
METHODS = ("nearest", "area", *KERNELS)


def resized(layer: Layer, x: Value, size: Sequence[int], method: str, antialias: bool) -> Value:
    """Resample an image (N, C, H, W) to a size, as TensorFlow 2 and JAX do.

    Pixels are areas: the middle of the first is at 1/2. What a kernel reaches beyond the border
    counts for nothing, and its other weights are scaled to add up to 1.
    """
    n, c, *before = x.shape
    pairs = list(zip(before, size, strict=True))
    if method == "nearest":
        steps = ((1, 0, 1), (1, 0, 1), *((2 * b, b, 2 * a) for b, a in pairs))
        return layer.apply(ResizeNearest((n, c, *size), steps), x)
    if method == "area":
        tables = {2 + k: area_taps(*pair) for k, pair in enumerate(pairs) if pair[0] != pair[1]}
        return resample(x, tables, layer.name)
    stretched = antialias and any(b > a for b, a in pairs)
    if method == "bilinear" and not stretched:
        steps = ((1, 0, 1), (1, 0, 1), *((2 * b, b - a, 2 * a) for b, a in pairs))
        return layer.apply(ResizeLinear((n, c, *size), steps), x)
    tables = {}
    if any(map(is_dynamic, (*before, *size))):
        if method != "bicubic" or stretched or layer.version[0] < 3:
            raise DynamicDimensionError(f"a resize of method {method}")
        for k, (b, a) in enumerate(pairs, 2):
            x = resample_cubic(x, k, a, (2 * b, b - a, 2 * a), -0.5, "drop", layer.name)
        return x
    for k, (b, a) in enumerate(pairs):
        positions: Floats = (np.arange(a, dtype=np.float64) + 0.5) * (b / a) - 0.5
        stretch = max(b / a, 1.0) if antialias else 1.0
        if method == "bicubic" and layer.version[0] < 3 and not antialias:
            # TensorFlow looks the kernel up in a table.
            positions = np.round(positions * CUBIC_TABLE) / CUBIC_TABLE
        if a != b:
            tables[2 + k] = kernel_taps(positions, b, KERNELS[method], stretch, "drop")
    return resample(x, tables, layer.name)


def resizing(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Resize images; options first crop or pad them to the new aspect ratio."""
    config = layer.config
    x = layer.feature_map(one(layer, inputs))
    size = (config.integer("height"), config.integer("width"))
    method = config.choice("interpolation", METHODS, "bilinear")
    return layer.result(
        fitted(
            layer,
            x,
            size,
            method,
            crop=config.flag("crop_to_aspect_ratio", False),
            pad=config.flag("pad_to_aspect_ratio", False),
            value=config.number("fill_value", 0.0),
            antialias=config.flag("antialias", False),
        )
    )


def fitted(
    layer: Layer,
    x: Value,
    size: tuple[int, int],
    method: str = "bilinear",
    *,
    crop: bool = False,
    pad: bool = False,
    value: float = 0.0,
    antialias: bool = False,
) -> Value:
    """Resize an image to ``size``, whose ratio it is given first by cropping or padding it."""
    height, width = x.shape[2:]
    # As Keras computes them: rounded down, half of an odd rest rounded down.
    ratio = (int(width * size[0] / size[1]), int(height * size[1] / size[0]))
    if crop:
        kept = [max(min(s, r), 1) for s, r in zip((height, width), ratio, strict=True)]
        starts = [(s - k) // 2 for s, k in zip((height, width), kept, strict=True)]
        ends = zip((height, width), starts, kept, strict=True)
        x = cropped(layer, x, [(start, s - start - k) for s, start, k in ends])
    elif pad:
        wide = [max(s, r) for s, r in zip((height, width), ratio, strict=True)]
        # Both sides get the half that is rounded down: an odd rest is left out.
        before = (0, 0, *((w - s) // 2 for w, s in zip(wide, (height, width), strict=True)))
        x = layer.apply(Pad(before, before, "constant", value), x)
    return resized(layer, x, size, method, antialias)


def up_sampling2d(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Repeat rows and columns, or interpolate between them."""
    method = layer.config.choice("interpolation", METHODS, "nearest")
    factors = layer.config.sizes("size", 2, 2)
    x = layer.feature_map(one(layer, inputs))
    if method == "nearest":
        return layer.result(repeated(layer, x, factors))
    size = [s * f for s, f in zip(x.shape[2:], factors, strict=True)]
    return layer.result(resized(layer, x, size, method, False))


def center_crop(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Crop to the centre; crop smaller images to the new aspect ratio, then resize them."""
    config = layer.config
    x = layer.feature_map(one(layer, inputs))
    size = (config.integer("height"), config.integer("width"))
    rest = [s - k for s, k in zip(x.shape[2:], size, strict=True)]
    if min(rest) < 0:
        return layer.result(fitted(layer, x, size, crop=True))
    return layer.result(cropped(layer, x, [(r // 2, r - r // 2) for r in rest]))


def random_crop(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Keras 2: crop to the new aspect ratio, then resize. Keras 3: do nothing at inference."""
    if layer.version[0] >= 3:
        return identity(layer, inputs)
    config = layer.config
    x = layer.feature_map(one(layer, inputs))
    size = (config.integer("height"), config.integer("width"))
    return layer.result(fitted(layer, x, size, crop=True))
