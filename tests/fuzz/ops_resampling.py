"""Resizing and sampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from .net import Net, Rejected
from .operators import operator

COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@operator("Resize", weight=4, dynamic=True)
def resize(net: Net) -> str:
    draw = net.draw
    x = net.pick(rank=4) if net.dynamic or draw.chance(0.8) else net.pick(rank=(2, 3, 5))
    rank = net.rank(x)
    mode = draw.one("nearest", "linear", "cubic")
    factors = [draw.one(1.0, 2.0, 3.0, 0.5, 1.5, draw.real(0.4, 2.5)) for _ in range(2)]
    if draw.chance(0.4):
        factors[1] = factors[0]
    scales = [1.0] * max(0, rank - 2) + factors
    if not net.dynamic and draw.chance(0.1):
        scales[0] = 2.0
    if net.opset == 10:
        mode = "linear" if mode == "cubic" else mode
        return str(net("Resize", x, net.constant(np.float32(scales)), mode=mode))
    named: dict[str, Any] = {"mode": mode}
    coordinates = [*COORDINATES, "half_pixel_symmetric"] if net.opset > 18 else [*COORDINATES]
    if net.opset < 13:
        coordinates.append("tf_half_pixel_for_nn")
    named["coordinate_transformation_mode"] = draw.one(None, *coordinates)
    if mode == "nearest":
        named["nearest_mode"] = draw.one(None, *NEAREST)
    if mode == "cubic":
        named["cubic_coeff_a"] = draw.one(None, -0.5, draw.real(-1, 0))
        named["exclude_outside"] = draw.one(None, 1)
    if net.opset > 17:
        if mode != "nearest" and draw.chance(0.3):
            named["antialias"] = 1
        if draw.chance(0.3):
            named["axes"] = [rank - 2, rank - 1] if draw.chance(0.5) else [-2, -1]
            scales = scales[-2:]
    region = net.constant(np.float32([])) if net.opset < 13 else ""
    if net.dynamic or draw.chance(0.5):
        return str(net("Resize", x, region, net.constant(np.float32(scales)), **named))
    shape = net.shape(x)[-len(scales) :]
    sizes = [max(1, int(n * s)) for n, s in zip(shape, scales, strict=True)]
    if net.opset > 17 and draw.chance(0.2):
        named["keep_aspect_ratio_policy"] = draw.one("stretch", "not_larger", "not_smaller")
        if "axes" in named:  # onnxruntime does not apply the policy to negative ones
            named["axes"] = [rank - 2, rank - 1]
    none = net.constant(np.float32([])) if net.opset < 13 else ""
    return str(net("Resize", x, region, none, net.constant(sizes, np.int64), **named))


@operator("Resize of a region", weight=0.5)
def region(net: Net) -> str:
    x, draw = net.pick(rank=4), net.draw
    if net.opset < 11:
        raise Rejected("no regions")
    low = [0.0, 0.0, draw.real(-0.2, 0.4), draw.real(-0.2, 0.4)]
    high = [1.0, 1.0, draw.real(0.6, 1.2), draw.real(0.6, 1.2)]
    scales = np.float32([1, 1, draw.real(0.6, 2), draw.real(0.6, 2)])
    named = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    named["extrapolation_value"] = draw.one(None, draw.real(-1, 1))
    mode = draw.one("nearest", "linear", "cubic")
    return str(
        net(
            "Resize",
            x,
            net.constant(np.float32(low + high)),
            net.constant(scales),
            mode=mode,
            **named,
        )
    )


@operator("Upsample", weight=1, dynamic=True)
def upsample(net: Net) -> str:
    x, draw = net.pick(rank=4), net.draw
    scales = [1.0, 1.0, draw.one(1.0, 2.0, 3.0, 1.5), draw.one(1.0, 2.0, 3.0, 1.5)]
    return str(net("Upsample", x, scales=scales, mode=draw.one("nearest", "linear")))


@operator("GridSample", weight=1)
def grid_sample(net: Net) -> str:
    x, draw = net.pick(rank=4), net.draw
    grid = draw.uniform(-1.3, 1.3, net.shape(x)[0], draw.integer(1, 6), draw.integer(1, 6), 2)
    modes = ("bilinear", "nearest", "bicubic") if net.opset < 20 else ("linear", "nearest", "cubic")
    named = {
        "mode": draw.one(None, *modes),
        "padding_mode": draw.one(None, "zeros", "border", "reflection"),
        "align_corners": draw.one(None, 0, 1),
    }
    return str(net("GridSample", x, net.constant(grid), **named))


@operator("AffineGrid", weight=0.5)
def affine_grid(net: Net) -> str:
    x, draw = net.pick(rank=4), net.draw
    batch, channels = net.shape(x)[:2]
    turns = draw.normal(batch, 2, 3, scale=0.4) + np.float32([[1, 0, 0], [0, 1, 0]])
    align = draw.one(None, 0, 1)
    # where the corners of a single pixel lie, the specification does not say
    sizes = net.constant([batch, channels, *draw.integers(2 if align else 1, 6, 2)], np.int64)
    grid = net("AffineGrid", net.constant(turns), sizes, align_corners=align)
    return str(net("GridSample", x, grid, align_corners=align))


@operator("RoiAlign", weight=0.5)
def regions(net: Net) -> str:
    x, draw = net.pick(rank=4), net.draw
    count, (batch, _, height, width) = draw.integer(1, 4), net.shape(x)
    corner = draw.uniform(0, min(height, width) / 2, count, 2)
    boxes = np.concatenate([corner, corner + draw.uniform(1, 5, count, 2)], 1)
    named = {
        "mode": draw.one(None, "avg", "max"),
        "output_height": draw.integer(1, 4),
        "output_width": draw.integer(1, 4),
        "sampling_ratio": draw.integer(1, 3),
        "spatial_scale": draw.real(0.4, 1.2),
        "coordinate_transformation_mode": draw.one(None, "half_pixel", "output_half_pixel"),
    }
    of = net.constant(draw.whole(0, batch - 1, count))
    return str(net("RoiAlign", x, net.constant(boxes), of, **named))
