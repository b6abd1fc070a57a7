"""Activations over an axis: softmax and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import ShadergenError
from ....ir.expr import parse
from ....ir.ops import LogSoftmax, Reduce, Reshape, Slice, Softmax
from .tensors import Tensor, pointwise

if TYPE_CHECKING:
    from .layer import Layer

# The score of what does not count. Keras adds it, which leaves nothing else of a float32.
MASKED = -1e9


def softmax(layer: Layer, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Turn scores into shares along axes of the model's order."""
    return Tensor(layer.apply(Softmax(_logical(x, axes)), x.value), x.axes)


def log_softmax(layer: Layer, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return the logarithm of the shares."""
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
            "SG0205", f"an axis of {size} elements has no halves", where=layer.described
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
    """Project the scores of one axis onto the simplex: max(x - t, 0), where these add up to 1.

    t is the largest of (s(v) - 1) / n(v), v an element, n(v) the number of those not below it and
    s(v) their sum: with the elements in order, the quotient grows until it exceeds the next one.

    Source: A. Martins and R. Astudillo, "From softmax to sparsemax" (2016), algorithm 1.
    """
    (axis,) = _logical(x, axes)
    shape = x.value.shape
    each = layer.apply(Reshape((*shape[: axis + 1], 1, *shape[axis + 1 :])), x.value)
    others = layer.apply(Reshape((*shape[:axis], 1, *shape[axis:])), x.value)
    # Counted along the axis behind: each element against all of them.
    sums = Reduce("sum", (axis + 1,), False, parse("where(x0 <= x1, x1, 0)"))
    counts = Reduce("sum", (axis + 1,), False, parse("where(x0 <= x1, 1, 0)"))
    s, n = (layer.apply(op, each, others) for op in (sums, counts))
    threshold = layer.apply(Reduce("max", (axis,), True, parse("(x0 - 1) / x1")), s, n)
    return pointwise("max(x0 - x1, 0)", [x, Tensor(threshold, x.axes)], layer.name)
