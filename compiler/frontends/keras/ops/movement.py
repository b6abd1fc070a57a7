"""Operations that move elements: reshaping, joining, reversing, repeating, padding."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.graph import constant
from .....ir.ops import (
    Expand,
    Pad,
    ResizeNearest,
    Tile,
)
from ..layers.merging import joined
from ..layers.movement import reshape_all, resolved, transposed
from ..tensors import Tensor, of_model, own_order, pointwise, reshaped
from .arguments import known
from .slicing import sliced

if TYPE_CHECKING:
    from ..layers.layer import Layer
    from .arguments import Arguments
    from .elementwise import Operation


def concatenate(layer: Layer, a: Arguments) -> Tensor:
    """Join tensors, or tensors and constants of the same rank, along ``axis``."""
    axis = a.integer(1, "axis", default=-1, least=-16)
    operands = a.operands(0, "xs", "values", "tensors")
    rank = max((o.rank for o in operands if isinstance(o, Tensor)), default=0)
    tensors = []
    for o in operands:
        if isinstance(o, np.ndarray) and o.ndim == rank:
            o = of_model(constant(o, f"{layer.name}/constant"))
        if not isinstance(o, Tensor):
            a.malformed("values", "a list of tensors")
        tensors.append(o)
    return joined(layer, tensors, axis)


def pad(layer: Layer, a: Arguments) -> Tensor:
    """Continue a tensor beyond its borders."""
    x = a.tensor(0, "x", "tensor")
    widths = a.value(1, "pad_width", "paddings")
    mode = a.value(2, "mode")
    mode = "constant" if mode is None else mode
    if not isinstance(mode, str) or mode.lower() not in ("constant", "reflect", "symmetric"):
        a.unsupported("mode", mode, "constant, reflect, symmetric")
    value = a.number(3, 0.0, "constant_values")
    pairs = a.pairs("pad_width", widths, x.rank)
    before, after = [0] * x.rank, [0] * x.rank
    for axis, (low, high) in zip(x.axes, pairs, strict=True):
        before[axis], after[axis] = low, high
    op = Pad(tuple(before), tuple(after), mode.lower(), value)  # type: ignore[arg-type]
    return Tensor(layer.apply(op, x.value), x.axes)


def reshape(layer: Layer, a: Arguments) -> Tensor:
    """Give a tensor another shape, the batch included."""
    x = a.tensor(0, "x", "tensor")
    shape = a.integers(1, "newshape", "shape", least=-1)
    return reshaped(x, resolved(layer, shape, x.value.type.size), layer.name)


def ravel(layer: Layer, a: Arguments) -> Tensor:
    """Return all elements in a row."""
    return reshape_all(layer, a.tensor(0, "x"))


def transpose(layer: Layer, a: Arguments) -> Tensor:
    """Permute the axes; without an order, reverse them."""
    x = a.tensor(0, "x", "a")
    a.ignore("conjugate")  # of real numbers
    if a.value(1, "axes", "perm") is None:
        return transposed(layer, x, tuple(reversed(range(x.rank))))
    return transposed(layer, x, a.axes(1, x, None, "axes", "perm"))


def swap_axes(layer: Layer, a: Arguments) -> Tensor:
    """Exchange two axes."""
    x = a.tensor(0, "x")
    order = list(range(x.rank))
    i, j = a.axis(1, x, 0, "axis1"), a.axis(2, x, 0, "axis2")
    order[i], order[j] = j, i
    return transposed(layer, x, order)


def move_axis(layer: Layer, a: Arguments) -> Tensor:
    """Put axes in other places."""
    x = a.tensor(0, "x")
    sources, places = a.axes(1, x, 0, "source"), a.axes(2, x, 0, "destination")
    if len(sources) != len(places):
        a.malformed("destination", "as long as 'source'")
    order = [k for k in range(x.rank) if k not in sources]
    for place, source in sorted(zip(places, sources, strict=True)):
        order.insert(place, source)
    return transposed(layer, x, order)


def flip(layer: Layer, a: Arguments) -> Tensor:
    """Reverse axes."""
    x = a.tensor(0, "x", "tensor", "image")
    return _flipped(layer, x, a.axes(1, x, None, "axis"))


def flip_image(axis: int, layer: Layer, a: Arguments) -> Tensor:
    """Reverse rows or columns of images, channels last."""
    x = a.tensor(0, "image", "x")
    return _flipped(layer, x, (x.rank + axis,))


def _flipped(layer: Layer, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    every = slice(None)
    return sliced(layer, x, [slice(None, None, -1) if k in axes else every for k in range(x.rank)])


def roll(layer: Layer, a: Arguments) -> Tensor:
    """Roll elements along axes; elements past the end reappear at the beginning."""
    x = a.tensor(0, "x", "input")
    shifts = known(a.value(1, "shift"))
    shifts = shifts if isinstance(shifts, list) else [shifts]
    if a.value(2, "axis") is None:
        a.unsupported("axis", None, "one axis or several")
    axes = a.axes(2, x, None, "axis")
    if len(shifts) != len(axes) or not all(isinstance(s, int) for s in shifts):
        a.malformed("shift", "a whole number for each axis")
    for shift, axis in zip(shifts, axes, strict=True):
        by = shift % x.shape[axis]
        if by:
            parts = [slice(x.shape[axis] - by, None), slice(0, x.shape[axis] - by)]
            x = joined(layer, [_along(layer, x, axis, part) for part in parts], axis)
    return pointwise("x0", [x], layer.name, x.dtype)


def _along(layer: Layer, x: Tensor, axis: int, part: slice) -> Tensor:
    return sliced(layer, x, [part if k == axis else slice(None) for k in range(x.rank)])


def tile(layer: Layer, a: Arguments) -> Tensor:
    """Repeat a whole tensor along its axes."""
    x = a.tensor(0, "x", "input")
    repeats = a.integers(1, "repeats", "multiples", least=1)
    if len(repeats) < x.rank:
        repeats = (*(1,) * (x.rank - len(repeats)), *repeats)
    if len(repeats) > x.rank:
        x = reshaped(x, (*(1,) * (len(repeats) - x.rank), *x.shape), layer.name)
    return of_model(layer.apply(Tile(repeats), own_order(x, layer.name)))


def repeat(layer: Layer, a: Arguments) -> Tensor:
    """Repeat every element."""
    x = a.tensor(0, "x", "input")
    times = a.integer(1, "repeats", least=1)
    if a.value(2, "axis") is None:
        x = reshape_all(layer, x)
    axis = x.axes[a.axis(2, x, 0, "axis")]
    a.ignore("total_repeat_length")
    sizes = tuple(s * times if k == axis else s for k, s in enumerate(x.value.shape))
    steps = tuple((1, 0, times if k == axis else 1) for k in range(x.rank))
    return Tensor(layer.apply(ResizeNearest(sizes, steps), x.value), x.axes)


def broadcast_to(layer: Layer, a: Arguments) -> Tensor:
    """Repeat along axes of size 1 and new ones in front."""
    x = a.tensor(0, "x", "input")
    shape = a.integers(1, "shape", least=1)
    return of_model(layer.apply(Expand(shape), own_order(x, layer.name)))


def mesh(layer: Layer, a: Arguments) -> list[Tensor]:
    """Spread vectors over the grid that they span."""
    vectors = [a.tensor(k, "x") for k in range(len(a.args))]
    if not vectors or any(v.rank != 1 for v in vectors):
        raise ShadergenError("SG0205", "the operation takes vectors", where=a.where)
    indexing = a.value(None, "indexing") or "xy"
    if indexing not in ("xy", "ij"):
        a.unsupported("indexing", indexing, "xy, ij")
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = tuple(vectors[k].shape[0] for k in order)
    results = []
    for k, vector in enumerate(vectors):
        wide = [1] * len(order)
        wide[order.index(k)] = vector.shape[0]
        row = own_order(reshaped(vector, tuple(wide), layer.name), layer.name)
        results.append(of_model(layer.apply(Expand(shape), row)))
    return results


def difference(layer: Layer, a: Arguments) -> Tensor:
    """Subtract each element of an axis from the next one, ``n`` times."""
    x = a.tensor(0, "a", "x")
    axis = a.axis(2, x, -1, "axis")
    for _ in range(a.integer(1, "n", default=1, least=1)):
        parts = [_along(layer, x, axis, p) for p in (slice(1, None), slice(0, -1))]
        x = pointwise("x0 - x1", parts, layer.name, x.dtype)
    return x


MOVEMENT: dict[str, Operation] = {
    "broadcast_to": broadcast_to,
    "concatenate": concatenate,
    "diff": difference,
    "flip": flip,
    "flip_left_right": partial(flip_image, -2),
    "flip_up_down": partial(flip_image, -3),
    "meshgrid": mesh,
    "moveaxis": move_axis,
    "pad": pad,
    "ravel": ravel,
    "repeat": repeat,
    "reshape": reshape,
    "roll": roll,
    "swapaxes": swap_axes,
    "tile": tile,
    "transpose": transpose,
}
