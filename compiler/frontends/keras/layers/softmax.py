"""Activations over an axis: softmax and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.ops import CumSum, LogSoftmax, Reduce, Slice, Softmax, Sorted, SortOrder
from ..tensors import Tensor, pointwise

if TYPE_CHECKING:
    from .layer import Layer

# The score of what does not count. Keras adds it, which leaves nothing else of a float32.
MASKED = -1e9
LONGEST_SORTED = 4096


def softmax(layer: Layer, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Softmax over axes, which are numbered as in the model."""
    return Tensor(layer.apply(Softmax(_logical(x, axes)), x.value), x.axes)


def log_softmax(layer: Layer, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return the logarithm of the softmax."""
    return Tensor(layer.apply(LogSoftmax(_logical(x, axes)), x.value), x.axes)


def _logical(x: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(x.axes[a] for a in axes))


def masked_softmax(layer: Layer, x: Tensor, axes: tuple[int, ...], mask: Tensor | None) -> Tensor:
    """Softmax where ``mask`` holds, which broadcasts to x; elsewhere the shares are 0."""
    if mask is not None:
        x = pointwise(f"where(x1 == 0, {MASKED}, x0)", [x, mask], layer.name)
    return softmax(layer, x, axes)


def glu(layer: Layer, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Gate the first half of an axis by the second: a * sigmoid(b)."""
    (axis,) = _logical(x, axes)
    size = x.value.shape[axis]
    if size % 2:
        raise ShadergenError(
            "SG0205",
            f"GLU splits an axis into halves: the size must be even, not {size}",
            where=layer.described,
        )
    sizes = list(x.value.shape)
    sizes[axis] = size // 2
    halves = []
    for start in (0, size // 2):
        starts = tuple(start if k == axis else 0 for k in range(x.rank))
        half = layer.apply(Slice(starts, (1,) * x.rank, tuple(sizes)), x.value)
        halves.append(Tensor(half, x.axes))
    return pointwise("x0 * sigmoid(x1)", halves, layer.name)


def sparsemax(layer: Layer, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Sparsemax over an axis, as Keras computes it.

    The result is max(x - t, 0) with t = (s - 1) / k. Of the elements z of an axis in descending
    order, and their running sums c, the first k have z > (c - 1) / position; s is the sum of their
    c. (In the paper, s is the last of these c, which makes the result add up to 1.)

    Source: keras.ops.sparsemax; A. Martins and R. Astudillo, "From softmax to sparsemax" (2016).
    """
    (axis,) = _logical(x, axes)
    size = x.value.shape[axis]
    if size > LONGEST_SORTED:
        raise ShadergenError(
            "SG0202",
            f"sparsemax of {size} elements is not implemented",
            where=layer.described,
            why="each element is compared with all others",
            supported=f"up to {LONGEST_SORTED} elements",
        )
    order = layer.apply(SortOrder(axis, descending=True), x.value)
    z = layer.apply(Sorted(axis, size), x.value, order)
    c = layer.apply(CumSum(axis), z)
    shape = tuple(size if k == axis else 1 for k in range(x.rank))
    position = constant(np.arange(1, size + 1, dtype=np.float32).reshape(shape), "position")
    within = parse("where((x1 - 1) / x2 < x0, 1, 0)")
    counted = parse("where((x1 - 1) / x2 < x0, x1, 0)")
    k, s = (
        Tensor(layer.apply(Reduce("sum", (axis,), True, e), z, c, position), x.axes)
        for e in (within, counted)
    )
    return pointwise("max(x0 - (x1 - 1) / x2, 0)", [x, s, k], layer.name)
