"""Resampling along an axis: the elements and weights of each new position.

A position c between the elements x[j] of an axis has the value

    sum over j of kernel((j - c) / stretch) * x[j]

where the kernel is 0 beyond its reach. Antialiasing stretches the kernel by 1 / scale when an axis
shrinks. This module computes the tables for ``ops.Resample`` in float64.

Sources: R. Keys, "Cubic convolution interpolation for digital image processing" (1981), for the
cubic kernel; D. Mitchell and A. Netravali, "Reconstruction filters in computer graphics" (1988);
C. Duchon, "Lanczos filtering in one and two dimensions" (1979); TensorFlow's ScaleAndTranslate for
the Gaussian's width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..records import dataclass
from .dimensions import DynamicDimensionError
from .evaluation import evaluate_formula
from .expr import Num, substitute
from .formula_parser import parse
from .graph import Value, apply, constant
from .ops import Conv, DepthToSpace, Pointwise, Range, Reduce, Reshape
from .ops.resampling import Resample, ResizeLinear, Step

Floats = NDArray[np.float64]
Outside = Literal["edge", "drop"]


@dataclass(frozen=True)
class Kernel:
    """An interpolation kernel: an even function that is 0 from ``reach`` on."""

    reach: float
    weight: Callable[[Floats], Any]


# Factored, since sums of larger terms lose half of the digits in 16 bits.
NEAR, FAR = "(1 - d) * (1 + d - (a + 2) * d * d)", "(d - 1) * (d - 2) * (d - 2) * a"
CUBIC = parse(f"where(d < 1, {NEAR}, {FAR})")  # up to its reach, where it is 0


def _cubic(d: Floats, a: float) -> Any:
    return np.where(d < 2, evaluate_formula(CUBIC, {"d": d, "a": a}), 0)


def _lanczos(d: Floats, reach: int) -> Any:
    return np.where(d < reach, np.sinc(d) * np.sinc(d / reach), 0)


def _mitchell(d: Floats) -> Any:
    near = (7 * d - 12) * d * d + 16 / 3
    return np.where(d < 1, near, np.where(d < 2, ((12 - 7 / 3 * d) * d - 20) * d + 32 / 3, 0)) / 6


def _gaussian(d: Floats) -> Any:
    return np.where(d < 1.5, np.exp(-2 * d * d), 0)  # a standard deviation of one half


LINEAR = Kernel(1, lambda d: np.maximum(1 - d, 0))
MITCHELL = Kernel(2, _mitchell)
GAUSSIAN = Kernel(1.5, _gaussian)


def cubic(a: float) -> Kernel:
    """Return Keys's cubic kernel: -0.5 is Catmull-Rom, -0.75 what PyTorch uses."""
    return Kernel(2, lambda d: _cubic(d, a))


def lanczos(reach: int) -> Kernel:
    """Return the sinc function under a window of its own, ``reach`` elements to either side."""
    return Kernel(reach, lambda d: _lanczos(d, reach))


@dataclass(frozen=True)
class Taps:
    """Position i is made of the elements ``starts[i]``, ``starts[i] + 1``, ...

    Elements beyond the axis are the nearest ones in it.

    Attributes:
        starts: int32 (out,).
        weights: float64 (out, taps).
    """

    starts: NDArray[np.int32]
    weights: Floats


def kernel_taps(
    positions: Floats,
    size: int,
    kernel: Kernel,
    stretch: float = 1.0,
    outside: Outside = "edge",
) -> Taps:
    """Return the taps of a kernel at ``positions``, which count elements of an axis.

    Args:
        positions: (out,).
        size: of the axis.
        kernel: what to interpolate with.
        stretch: by how much it is widened, 1 or more; then its weights are scaled to a sum of 1.
        outside: what stands beyond the axis: its last element ("edge"), or nothing ("drop"), the
            other weights being scaled to a sum of 1.
    """
    reach = kernel.reach * stretch
    starts = np.floor(positions - reach).astype(np.int64) + 1
    j = starts[:, np.newaxis] + np.arange(int(np.ceil(2 * reach)))
    weights = np.asarray(kernel.weight(np.abs(j - positions[:, np.newaxis]) / stretch))
    if stretch > 1:
        weights = weights / weights.sum(1, keepdims=True)
    if outside == "drop":
        weights = np.where((j >= 0) & (j < size), weights, 0)
        total = weights.sum(1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    return _trimmed(starts, weights, size)


def area_taps(size: int, out: int) -> Taps:
    """Return the taps that make each of ``out`` equal parts of an axis its mean."""
    edges = np.arange(out + 1) * (size / out)
    starts = np.floor(edges[:-1] + 1e-9).astype(np.int64)
    count = int((np.ceil(edges[1:] - 1e-9).astype(np.int64) - starts).max())
    j = starts[:, np.newaxis] + np.arange(count)
    shared = np.minimum(j + 1, edges[1:, np.newaxis]) - np.maximum(j, edges[:-1, np.newaxis])
    weights = np.maximum(shared, 0)
    return _trimmed(starts, weights / weights.sum(1, keepdims=True), size)


def single_taps(index: NDArray[Any]) -> Taps:
    """Return the taps that pick one element for each position."""
    return Taps(index.astype(np.int32), np.ones((index.size, 1)))


def resample_cubic(
    x: Value,
    axis: int,
    out: int,
    step: Step,
    a: float,
    outside: Outside = "edge",
    layer: str | tuple[str, ...] = (),
) -> Value:
    """Resample an axis with a dynamic dimension by Keys's cubic kernel.

    The tables that :func:`kernel_taps` makes are computed where the model runs. Numerators and
    quotients are integers, which are exact, so the quotient rounded down is: see ``ResizeLinear``.

    Args:
        x: the tensor.
        axis: of it.
        out: the size after.
        step: p, q and r: position i lies at (p*i + q) / r between the elements.
        a: of the kernel.
        outside: as of :func:`kernel_taps`.
        layer: the names of the result.

    Raises:
        DynamicDimensionError: where float32 does not hold the numerators.
    """
    size = x.shape[axis]
    if not ResizeLinear.takes(size, out, step):
        raise DynamicDimensionError(
            "a cubic resize with positions that float32 cannot hold exactly"
        )
    p, q, r = step

    def computed(text: str, *operands: Value, whole: bool = False, **known: float) -> Value:
        expr = substitute(parse(text), {name: Num(value) for name, value in known.items()})
        return apply(Pointwise(expr, "int32" if whole else "float32"), *operands, layer=layer)

    def number(value: int) -> Value:
        return apply(Range(1, value, 0, dtype="int32"), layer=layer)

    above, below = apply(Range(out, q, p, dtype="int32"), layer=layer), number(r)
    down = computed("floor(x0 / x1)", above, below, whole=True)
    low = computed("x2 + floor((x0 - x1 * x2) / x1)", above, below, down, whole=True)
    share = computed("(x0 - x1 * x2) / x1", above, below, low)
    taps = constant(np.arange(-1, 3, dtype=np.float32), "taps")
    kernel = substitute(CUBIC, {"d": parse("abs(x1 - x0)"), "a": Num(a)})
    weights = apply(
        Pointwise(kernel), apply(Reshape((out, 1)), share, layer=layer), taps, layer=layer
    )
    if outside == "drop":
        start = apply(Reshape((out, 1)), low, layer=layer)
        inside = "where(x1 + x2 < 0, 0, where(x1 + x2 < x3, x0, 0))"
        weights = computed(inside, weights, start, taps, number(size))
        weights = computed("x0 / x1", weights, apply(Reduce("sum", (1,)), weights, layer=layer))
    starts = computed("x0 - 1", low, whole=True)
    return apply(Resample(axis), x, starts, weights, layer=layer)


def enlarge(
    x: Value, steps: tuple[Step, Step], kernel: Kernel, layer: str | tuple[str, ...] = ()
) -> Value:
    """Resample height and width of a map by whole factors; beyond the map, its border repeats.

    Args:
        x: (N, C, H, W).
        steps: of height and width: p, q and r, where r is a multiple of p.
        kernel: what to interpolate with.
        layer: the names of the result.
    """
    factors = steps[0][2] // steps[0][0], steps[1][2] // steps[1][0]
    blocks = enlarged_blocks(x, steps, kernel, layer=layer)
    return apply(DepthToSpace(factors, "crd"), blocks, layer=layer)


def enlarged_blocks(
    x: Value,
    steps: tuple[Step, Step],
    kernel: Kernel,
    order: Literal["crd", "dcr"] = "crd",
    layer: str | tuple[str, ...] = (),
) -> Value:
    """Return the blocks of pixels that :func:`enlarge` puts side by side.

    A pixel of x becomes a block of pixels, each at a fixed distance from the pixels of x around
    it: a convolution of each channel, whose weights are those of the kernel. ``order`` is that of
    the channels for ``DepthToSpace``.
    """
    shares = [_shares(step, kernel) for step in steps]
    (by, ky), (bx, kx) = (each.shape for each in shares)
    one = np.einsum("ik,jl->ijkl", *shares).reshape(by * bx, 1, ky, kx)
    channels = x.shape[1]
    if order == "crd":
        groups, weights = channels, np.tile(one, (channels, 1, 1, 1))
    else:
        groups, weights = 1, np.kron(one, np.eye(channels)[:, :, np.newaxis, np.newaxis])
    pads = (ky // 2, kx // 2, ky // 2, kx // 2)
    conv = Conv(groups=groups, pads=pads, pad_mode="edge")
    return apply(conv, x, constant(weights.astype(np.float32), "shares"), layer=layer)


def _shares(step: Step, kernel: Kernel) -> Floats:
    """Return what each pixel of a block takes of the pixels around the block's own.

    Pixel k of block n samples (p*(n*size + k) + q) / r, which is n + (p*k + q) / r.
    """
    p, q, r = step
    at = (p * np.arange(r // p) + q) / r
    reach = int(np.ceil(kernel.reach + np.abs(at).max())) - 1
    distances: Floats = np.abs(at[:, np.newaxis] - np.arange(-reach, reach + 1))
    return np.asarray(kernel.weight(distances))


def _trimmed(starts: NDArray[np.int64], weights: Floats, size: int) -> Taps:
    """Leave out columns of zeros at either end; keep starts where floats hold them."""
    used = np.flatnonzero((weights != 0).any(0))
    first, last = (int(used[0]), int(used[-1])) if used.size else (0, 0)
    taps = last - first + 1
    starts = np.clip(starts + first, -taps, size)  # beyond, all taps are the same element
    return Taps(starts.astype(np.int32), weights[:, first : last + 1])


def resample(x: Value, tables: Mapping[int, Taps], layer: str | tuple[str, ...] = ()) -> Value:
    """Resample the axes of ``tables``, the most shrinking first, which makes the rest cheaper."""

    def growth(axis: int) -> float:
        return tables[axis].starts.size / x.shape[axis]

    for axis in sorted(tables, key=growth):
        taps = tables[axis]
        operands = [constant(taps.starts, "starts")]
        if taps.weights.shape[1] > 1 or not (taps.weights == 1).all():
            operands.append(constant(taps.weights, "weights"))
        x = apply(Resample(axis), x, *operands, layer=layer)
    return x
