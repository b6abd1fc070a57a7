"""Resize and Upsample.

Positions are exact fractions: in every mode, position i of the result lies at slope * i + offset
between the operand's elements. As in ONNX Runtime, an axis whose scale is 1 stays as it is, and so
do all when no size changes.
Sources: ONNX Resize-10, -11, -13, -18, -19 and Upsample-1, -7, -9, and the reference
implementation in the onnx package for antialiasing and exclude_outside.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.dimensions import DynamicDimensionError, hint, is_dynamic, is_one, statically_equal
from .....ir.expr import Num, substitute
from .....ir.formula_parser import parse
from .....ir.graph import Value, constant
from .....ir.ops import Expand, Pointwise, ResizeLinear, ResizeNearest
from .....ir.ops.resampling import MOST_LINEAR_AXES, Step
from .....ir.resampling import (
    LINEAR,
    Kernel,
    Taps,
    cubic,
    enlarge,
    kernel_taps,
    resample,
    resample_cubic,
    single_taps,
)
from .....ir.types import MAP_RANK
from .axes import in_place, of_maps
from .parameters import parameters
from .resize_dynamic import AnyAxis, DynamicAxis, dynamic_axes, scaled_axes
from .resize_nearest import COORDINATES, ROUNDINGS, Axis, nearest_step, nearest_table

if TYPE_CHECKING:
    from .elementwise import Handler
    from .node import OnnxNode

LARGEST_SIDE = 1 << 16
SIMPLE = 1 << 12  # the largest denominator of a scale that an exporter may have meant
EDGE = 1e-6  # how far beyond the border still counts as on it
MODES = ("nearest", "linear", "cubic")
CROP = "tf_crop_and_resize"
BY_LENGTH = ("align_corners", CROP)  # what divides by the length of the result


@in_place
@parameters(1, 2, 3)
def resize(node: OnnxNode) -> Value:
    """Resize; before operator set 11 positions are asymmetric."""
    mode = node.choice("mode", MODES if node.version >= 7 else ("nearest", "bilinear"))
    if node.op == "Upsample" or node.version < 11:
        mode = {"bilinear": "linear"}.get(mode, mode)
        if mode == "cubic":
            raise node.refusal("mode", mode, MODES[:2])
    coordinates = "asymmetric"
    if node.version >= 11:
        coordinates = node.choice("coordinate_transformation_mode", (*COORDINATES, CROP))
    x = node.operand(0) if mode == "nearest" else node.real(0)
    axes = _axes(node, x.shape)
    if coordinates == CROP:
        _read_regions(node, axes)
    value = node.number("extrapolation_value", 0.0)
    stay = all(hint(a.resized) == hint(a.size) for a in axes)
    if coordinates != CROP and stay and all(a.resized == a.size for a in axes):
        node.ignore(*_UNUSED)
        return x
    moving = {k: a for k, a in enumerate(axes) if not a.stays}
    if mode == "nearest":
        y = _nearest(node, x, moving, coordinates)
    else:
        y = _interpolated(node, x, moving, mode, coordinates)
    node.ignore(*_UNUSED)
    return y if coordinates != CROP else _extrapolated(node, y, moving, value)


ROI = 1  # the input with the region to crop
_UNUSED = ("nearest_mode", "cubic_coeff_a", "exclude_outside", "antialias", ROI)  # by some modes


def _nearest(node: OnnxNode, x: Value, moving: dict[int, AnyAxis], coordinates: str) -> Value:
    """Pick elements: by steps where the positions are regular, else by a table."""
    node.choice("antialias", (0,))
    rounding = node.choice("nearest_mode", tuple(ROUNDINGS)) if node.version >= 11 else ""
    sizes, steps = list(x.shape), [(1, 0, 1)] * x.type.rank
    tables: dict[int, Taps] = {}
    for k, axis in moving.items():
        if isinstance(axis, DynamicAxis):
            sizes[k], steps[k] = axis.resized, axis.nearest(coordinates, rounding)
            continue
        if coordinates == CROP:
            slope, offset = _line(axis, coordinates)
            position = np.array([float(slope * i + offset) for i in range(axis.resized)])
            table = np.clip(ROUNDINGS[rounding](position), 0, axis.size - 1).astype(int).tolist()
        else:
            table = nearest_table(axis, coordinates, rounding)
        step = nearest_step(axis, table)
        if step is None:
            tables[k] = single_taps(np.array(table))
        else:
            sizes[k], steps[k] = axis.resized, step
    if tuple(sizes) != x.shape or any(s != (1, 0, 1) for s in steps):
        x = node.apply(ResizeNearest(tuple(sizes), tuple(steps)), x)
    return resample(x, tables, node.layer)


def _interpolated(
    node: OnnxNode, x: Value, moving: dict[int, AnyAxis], mode: str, coordinates: str
) -> Value:
    kernel: Kernel = LINEAR
    a = node.number("cubic_coeff_a", -0.75) if mode == "cubic" else 0.0
    if mode == "cubic":
        kernel = cubic(a)
    drop = node.choice("exclude_outside", (0, 1)) == 1
    antialias = node.choice("antialias", (0, 1)) == 1
    if node.user_shader and mode == "cubic" and not drop and not antialias:
        whole = _whole(moving, coordinates) if x.type.rank == MAP_RANK else None
        if whole is not None:
            return enlarge(x, whole, kernel, node.layer)
    steps: dict[int, tuple[int, int, int]] = {}
    tables: dict[int, Taps] = {}
    repeated = [1] * x.type.rank  # of axes of one element, wherever the positions lie
    for k, axis in moving.items():
        if isinstance(axis, DynamicAxis) and is_one(axis.size):
            repeated[k] = axis.resized
            continue
        if isinstance(axis, DynamicAxis):
            line = axis.line(coordinates)
            if antialias:
                raise DynamicDimensionError("an antialiased resize")
            if mode == "cubic":
                x = resample_cubic(
                    x, k, axis.resized, line, a, "drop" if drop else "edge", node.layer
                )
                continue
            if drop or not ResizeLinear.takes(axis.size, axis.resized, line):
                raise DynamicDimensionError(f"a resize of mode {mode}")
            steps[k] = line
            continue
        slope, offset = _line(axis, coordinates)
        r = lcm(slope.denominator, offset.denominator)
        step = int(slope * r), int(offset * r), r
        stretch = max(1.0, float(1 / axis.exact)) if antialias else 1.0
        plain = mode == "linear" and not drop and stretch == 1
        if plain and ResizeLinear.takes(axis.size, axis.resized, step):
            steps[k] = step
        else:
            positions = np.array([float(slope * i + offset) for i in range(axis.resized)])
            outside = "drop" if drop else "edge"
            tables[k] = kernel_taps(positions, axis.size, kernel, stretch, outside)  # type: ignore[arg-type]
    x = resample(x, tables, node.layer)
    chosen = sorted(steps, key=lambda k: moving[k].growth)
    for first in range(0, len(chosen), MOST_LINEAR_AXES):
        now = chosen[first : first + MOST_LINEAR_AXES]
        sizes = tuple(moving[k].resized if k in now else s for k, s in enumerate(x.shape))
        lines = tuple(steps[k] if k in now else (1, 0, 1) for k in range(x.type.rank))
        x = node.apply(ResizeLinear(sizes, lines), x)
    return x if all(map(is_one, repeated)) else node.apply(Expand(tuple(repeated)), x)


def _whole(moving: dict[int, AnyAxis], coordinates: str) -> tuple[Step, Step] | None:
    """Return the steps along height and width if both are dynamic and grow by whole factors."""
    if sorted(moving) != [2, 3] or coordinates == "align_corners":
        return None
    steps = []
    for axis in (moving[2], moving[3]):
        if not isinstance(axis, DynamicAxis) or axis.exact is None or axis.exact.denominator > 1:
            return None
        if not statically_equal(axis.resized, axis.size * axis.exact.numerator):
            return None
        if is_one(axis.size):
            return None
        steps.append(axis.line(coordinates))
    return steps[0], steps[1]


def _line(axis: Axis, coordinates: str) -> tuple[Fraction, Fraction]:
    """Return the slope and the offset of the positions along an axis.

    Raises:
        ShadergenError: SG0202 where the length that they depend on is not agreed on.
    """
    half, inverse, last = Fraction(1, 2), 1 / axis.exact, Fraction(axis.size - 1)
    if coordinates in BY_LENGTH and axis.exact * axis.size != axis.resized:
        raise ShadergenError(
            "SG0202",
            f"resizing {axis.size} elements by {axis.scale!s} in mode {coordinates} is not "
            "implemented",
            why="the ONNX standard computes positions for an output size of "
            f"{float(axis.exact * axis.size):g}, ONNX Runtime for {axis.resized}",
            help="export the model with sizes instead of scales",
        )
    if coordinates == "asymmetric":
        return inverse, Fraction(0)
    if coordinates == "align_corners":
        return (last / (axis.resized - 1) if axis.resized > 1 else Fraction(0)), Fraction(0)
    if coordinates == CROP:
        start, end = Fraction(axis.start), Fraction(axis.end)
        if axis.resized == 1:
            return Fraction(0), (start + end) * last / 2
        return (end - start) * last / (axis.resized - 1), start * last
    if coordinates == "pytorch_half_pixel" and axis.resized == 1:
        return Fraction(0), Fraction(0)
    offset = half * inverse
    if coordinates != "tf_half_pixel_for_nn":
        offset -= half
    if coordinates == "half_pixel_symmetric":
        adjustment = axis.resized / (axis.exact * axis.size)
        offset += Fraction(axis.size, 2) * (1 - adjustment)
    return inverse, offset


def _extrapolated(node: OnnxNode, y: Value, moving: dict[int, AnyAxis], value: float) -> Value:
    """Put ``value`` where any position lies outside the operand."""
    masks = []
    for k, axis in moving.items():
        assert isinstance(axis, Axis)
        slope, offset = _line(axis, CROP)
        reach = axis.size - 1 + EDGE
        inside = [-EDGE <= float(slope * i + offset) <= reach for i in range(axis.resized)]
        if not all(inside):
            shape = [1] * y.type.rank
            shape[k] = axis.resized
            masks.append(constant(np.array(inside, np.float32).reshape(shape), "inside"))
    if not masks:
        return y
    test = " * ".join(f"x{k + 1}" for k in range(len(masks)))
    formula = substitute(parse(f"where({test}, x0, value)"), {"value": Num(value)})
    return node.apply(Pointwise(formula, y.type.dtype), y, *masks)


def _axes(node: OnnxNode, shape: tuple[int, ...]) -> list[AnyAxis]:
    """Return the sizes and scales of every axis, however the node states them."""
    rank = len(shape)
    chosen = tuple(range(rank))
    if node.has("axes"):
        chosen = node.axes(node.integers("axes"), rank)
    policy = node.choice("keep_aspect_ratio_policy", ("stretch", "not_larger", "not_smaller"))
    scales = _scales(node, rank)
    sizes_at = 3 if node.version >= 11 else 9
    exact: list[Fraction]
    if node.given(sizes_at) and not scales.size:
        sizes = node.known_integers(sizes_at, "sizes")
        _check_count(node, len(sizes), chosen)
        if any(map(is_dynamic, (*sizes, *shape))):
            if policy != "stretch":
                raise DynamicDimensionError(f"keep_aspect_ratio_policy={policy}")
            return dynamic_axes(shape, chosen, sizes)
        exact = [Fraction(s, shape[a]) for a, s in zip(chosen, sizes, strict=True)]
        if policy != "stretch" and exact:
            common = min(exact) if policy == "not_larger" else max(exact)
            exact = [common] * len(exact)
            sizes = tuple(int(common * shape[a] + Fraction(1, 2)) for a in chosen)
        rounded = [np.float32(e.numerator) / np.float32(e.denominator) for e in exact]
    else:
        _check_count(node, scales.size, chosen)
        if not ((scales > 0) & (scales < LARGEST_SIDE)).all():
            raise ShadergenError(
                "SG0105",
                f"scales {scales.tolist()} are invalid",
                supported=f"above 0 and below {LARGEST_SIDE}",
            )
        rounded = list(scales)
        exact = [_simple(s) for s in scales]
        if any(map(is_dynamic, shape)):
            return scaled_axes(shape, chosen, exact, scales)
        sizes = tuple(int(s * np.float32(shape[a])) for a, s in zip(chosen, scales, strict=True))
    result: list[AnyAxis] = [Axis(size, size, np.float32(1), Fraction(1)) for size in shape]
    for axis, size, scale, fraction in zip(chosen, sizes, rounded, exact, strict=True):
        if not 1 <= size <= LARGEST_SIDE:
            raise ShadergenError(
                "SG0401",
                f"{node.op} to size {size} is not supported",
                supported=f"1 to {LARGEST_SIDE}",
            )
        result[axis] = Axis(shape[axis], size, scale, fraction)
    return result


def _scales(node: OnnxNode, rank: int) -> np.ndarray:
    if node.version < 7:  # Upsample of images alone
        if rank != 4:
            raise ShadergenError("SG0105", f"{node.op} needs rank 4, not {rank}")
        pair = [node.number("height_scale"), node.number("width_scale")]
        return np.array([1, 1, *pair], np.float32)
    if node.version < 9:
        return np.array(node.numbers("scales"), np.float32)
    index = 2 if node.version >= 11 else 1
    if not node.given(index):
        return np.zeros(0, np.float32)
    return node.known(index, "scales").astype(np.float32).reshape(-1)


def _simple(scale: np.float32) -> Fraction:
    """Return the simple fraction that a scale is the nearest float32 to, or the scale itself."""
    exact = Fraction(float(scale))
    simple = exact.limit_denominator(SIMPLE)
    return simple if np.float32(simple.numerator / simple.denominator) == scale else exact


def _read_regions(node: OnnxNode, axes: list[AnyAxis]) -> None:
    """Put the region of interest, in parts of each axis, into the axes."""
    chosen = tuple(range(len(axes)))
    if node.has("axes"):
        chosen = node.axes(node.integers("axes"), len(axes))
    roi = node.known(1, "the region of interest").astype(np.float64).reshape(-1)
    if roi.size != 2 * len(chosen) or not np.isfinite(roi).all():
        raise ShadergenError(
            "SG0105", f"a region of interest of {roi.size} numbers does not fit {len(chosen)} axes"
        )
    for k, start, end in zip(chosen, roi[: len(chosen)], roi[len(chosen) :], strict=True):
        axis = axes[k]
        if isinstance(axis, DynamicAxis):
            raise DynamicDimensionError(f"a resize of mode {CROP}")
        axes[k] = axis.cropped(*(float(str(np.float32(v))) for v in (start, end)))


def _check_count(node: OnnxNode, count: int, axes: tuple[int, ...]) -> None:
    if count != len(axes):
        raise ShadergenError(
            "SG0105", f"{count} sizes or scales of {node.op} do not fit {len(axes)} axes"
        )


@of_maps
@parameters(1)
def upsample(node: OnnxNode) -> Value:
    """Upsample, the older name of Resize."""
    return resize(node)


RESIZE: dict[str, Handler] = {
    "Resize": resize,
    "Upsample": upsample,
}
