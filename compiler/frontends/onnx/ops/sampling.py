"""GridSample, AffineGrid and RoiAlign."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.graph import constant
from .....ir.ops import AffineGrid, GridSample, RoiAlign
from ..operands import Known
from .axes import of_maps
from .parameters import parameters

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .elementwise import Handler
    from .node import OnnxNode

MOST_SAMPLES = 256  # along each axis of a bin: beyond, a GPU pass takes seconds


@of_maps
def grid_sample(node: OnnxNode) -> Value:
    """GridSample; before operator set 20 the modes are called bilinear and bicubic."""
    names = ("bilinear", "nearest", "bicubic")
    if node.version >= 20:
        names = ("linear", "nearest", "cubic")
    mode = node.choice("mode", names).removeprefix("bi")
    padding = node.choice("padding_mode", ("zeros", "border", "reflection"))
    op = GridSample(mode, padding, node.choice("align_corners", (0, 1)) == 1)
    return node.apply(op, node.real(0), node.real(1))


@parameters(1)
def affine_grid(node: OnnxNode) -> Value:
    """AffineGrid; its operand size is N, C, H, W or N, C, D, H, W."""
    size = node.known_integers(1, "the size")
    theta = node.real(0)
    if len(size) not in (4, 5) or size[0] != theta.shape[0] or min(size) < 1:
        raise ShadergenError(
            "SG0105",
            f"size {list(size)} does not fit theta of shape {list(theta.shape)}",
            supported="4 or 5 numbers above 0; "
            f"the first is {theta.shape[0]}, the batch size of theta",
        )
    return node.apply(AffineGrid(size[2:], node.choice("align_corners", (0, 1)) == 1), theta)


def roi_align(node: OnnxNode) -> Value:
    """RoiAlign; before operator set 16 regions were not moved by half an element."""
    modes = ("half_pixel", "output_half_pixel")
    half_pixel = node.version >= 16
    half_pixel = half_pixel and node.choice("coordinate_transformation_mode", modes) == modes[0]
    sizes = node.integer("output_height", 1), node.integer("output_width", 1)
    scale = node.number("spatial_scale", 1.0)
    mode = node.choice("mode", ("avg", "max"))
    ratio = node.integer("sampling_ratio", 0)
    if min(sizes) < 1 or ratio < 0:
        raise ShadergenError(
            "SG0105",
            f"{node.op} to {sizes[0]}x{sizes[1]} with sampling_ratio={ratio} is invalid",
            supported="sizes of at least 1, and a sampling_ratio of at least 0",
        )
    x, rois, batch = node.real(0), node.real(1), node.numeric(2)
    samples = ratio, ratio
    operands = [x, rois, batch]
    if not ratio:
        counts = _counts(node, sizes, scale, half_pixel)
        samples = max(1, int(counts[:, 0].max())), max(1, int(counts[:, 1].max()))
        operands.append(constant(counts, "samples"))
    if max(samples) > MOST_SAMPLES:
        raise ShadergenError(
            "SG0401",
            f"{node.op} with {samples[0]}x{samples[1]} samples for each element is not supported",
            supported=f"up to {MOST_SAMPLES}x{MOST_SAMPLES}",
        )
    return node.apply(RoiAlign(sizes, samples, scale, mode, half_pixel), *operands)


def _counts(node: OnnxNode, sizes: tuple[int, int], scale: float, half_pixel: bool) -> np.ndarray:
    """Return how many samples each region takes when that depends on its size.

    Raises:
        ShadergenError: SG0202 when regions are computed, and so have no known number of samples.
    """
    rois = node.item(1)
    if not isinstance(rois, Known):
        raise ShadergenError(
            "SG0202",
            f"attribute sampling_ratio=0 of {node.op} is not implemented for computed regions",
            why="the number of samples would depend on data",
            supported="sampling_ratio=1 and more, or regions known at compile time",
            help="set sampling_ratio to 2, which is what most detectors are trained with",
        )
    corners = rois.array.astype(np.float32) * np.float32(scale) - np.float32(0.5 * half_pixel)
    extent = corners[:, [3, 2]] - corners[:, [1, 0]]
    if not half_pixel:
        extent = np.maximum(extent, np.float32(1))
    counts = np.ceil(extent / np.array(sizes, np.float32))
    limited: np.ndarray = np.clip(counts, 0, MOST_SAMPLES + 1).astype(np.int32)
    return limited


SAMPLING: dict[str, Handler] = {
    "AffineGrid": affine_grid,
    "GridSample": grid_sample,
    "RoiAlign": roi_align,
}
