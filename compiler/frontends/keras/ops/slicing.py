"""Operations that take slices of tensors and put them together: indexing, splitting, stacking."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError
from .....ir.ops import Slice
from ...slicing import taken
from ..layers.merging import joined
from ..read.config import is_integer, shown
from ..tensors import Tensor, reshaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..layers.layer import Layer
    from .arguments import Arguments
    from .elementwise import Operation

MAX_PARTS = 4096


def sliced(layer: Layer, x: Tensor, slices: Sequence[slice]) -> Tensor:
    """Take a slice along every axis of the model's order."""
    starts, steps, sizes = [0] * x.rank, [1] * x.rank, [1] * x.rank
    for axis, size, part in zip(x.axes, x.shape, slices, strict=True):
        if part.step == 0:
            raise ShadergenError(
                "SG0105", "the step of a slice must not be 0", where=layer.described
            )
        starts[axis], steps[axis], sizes[axis] = taken(size, part)
        if not sizes[axis]:
            raise ShadergenError("SG0205", "a slice selects no elements", where=layer.described)
    op = Slice(tuple(starts), tuple(steps), tuple(sizes))
    return Tensor(layer.apply(op, x.value), x.axes)


def get_item(layer: Layer, a: Arguments) -> Tensor:
    """Index as Python does: integers, slices, an ellipsis, None for a new axis."""
    x = a.tensor(0, "x", "tensor")
    key = a.value(1, "key", "slice_spec")
    items: list[Any] = key if isinstance(key, list) else [key]
    real = sum(i is not None and i is not ... for i in items)
    if real > x.rank or sum(i is ... for i in items) > 1:
        a.malformed("key", f"an index of a tensor of rank {x.rank}")
    if not any(i is ... for i in items):
        items = [*items, ...]
    at = next(k for k, i in enumerate(items) if i is ...)
    items = [*items[:at], *[slice(None)] * (x.rank - real), *items[at + 1 :]]
    slices: list[slice] = []
    for item in items:
        if is_integer(item):
            size = x.shape[len(slices)]
            if not -size <= item < size:
                a.malformed("key", f"an index below {size}")
            slices.append(slice(item % size, item % size + 1))
        elif isinstance(item, slice):
            slices.append(item)
        elif item is not None:
            a.unsupported("key", shown(item), "integers, slices, an ellipsis, None")
    y = sliced(layer, x, slices)
    if all(isinstance(i, slice) for i in items):
        return y
    sizes = iter(y.shape)
    shape = []
    for item in items:
        size = 1 if item is None else next(sizes)
        if not is_integer(item):
            shape.append(size)
    return reshaped(y, tuple(shape), layer.name)


def slice_from(layer: Layer, a: Arguments) -> Tensor:
    """Take a part of given size; -1 is all that is left."""
    x = a.tensor(0, "inputs", "input_", "x")
    starts = a.integers(1, "start_indices", "begin", length=x.rank)
    sizes = a.integers(2, "shape", "size", length=x.rank, least=-1)
    parts = [slice(b, None if n == -1 else b + n) for b, n in zip(starts, sizes, strict=True)]
    return sliced(layer, x, parts)


def strided_slice(layer: Layer, a: Arguments) -> Tensor:
    """tf.strided_slice; a bit of begin_mask or end_mask means an omitted bound, as in x[:3]."""
    x = a.tensor(0, "input_", "input")
    begin, end = (
        a.integers(position, name, length=x.rank, least=-(2**31))
        for position, name in ((1, "begin"), (2, "end"))
    )
    given = a.value(3, "strides") is not None
    steps = a.integers(3, "strides", length=x.rank, least=-(2**31)) if given else (1,) * x.rank
    masks = [
        a.integer(position, name, default=0)
        for position, name in ((4, "begin_mask"), (5, "end_mask"))
    ]
    for position, name in ((6, "ellipsis_mask"), (7, "new_axis_mask"), (8, "shrink_axis_mask")):
        if a.value(position, name) not in (None, 0):
            a.unsupported(name, a.value(position, name), "0")
    a.ignore("var")
    parts = [
        slice(None if masks[0] >> k & 1 else b, None if masks[1] >> k & 1 else e, step)
        for k, (b, e, step) in enumerate(zip(begin, end, steps, strict=True))
    ]
    return sliced(layer, x, parts)


def split(layer: Layer, a: Arguments) -> list[Tensor]:
    """Split along an axis: into equal parts, at indices (keras.ops) or by sizes (TensorFlow)."""
    x = a.tensor(0, "x", "value")
    axis = _axis(x, a, a.integer(2, "axis", default=0, least=-x.rank))
    size = x.shape[axis]
    sizes = a.value(1, "num_or_size_splits")
    parts = a.value(None, "indices_or_sections") if sizes is None else sizes
    if isinstance(parts, np.ndarray):
        parts = parts.astype(int).tolist()
    if is_integer(parts) and 0 < parts <= MAX_PARTS and size % parts == 0:
        bounds = [k * size // parts for k in range(parts + 1)]
    elif not isinstance(parts, list) or not all(is_integer(p) and p >= 0 for p in parts):
        a.malformed("indices_or_sections", f"a divisor of {size} or a list of integers")
    elif sizes is None:
        bounds = [0, *parts, size]
    else:
        bounds = [0, *np.cumsum(parts).tolist()]
    if len(bounds) > MAX_PARTS:
        a.unsupported("indices_or_sections", len(bounds) - 1, f"at most {MAX_PARTS} parts")
    if any(low >= high for low, high in pairwise(bounds)) or bounds[-1] != size:
        a.malformed(
            "indices_or_sections",
            f"sections, or indices, that divide {size} elements into non-empty parts",
        )
    return [
        sliced(layer, x, [slice(low, high) if k == axis else slice(None) for k in range(x.rank)])
        for low, high in pairwise(bounds)
    ]


def _axis(x: Tensor, a: Arguments, axis: int) -> int:
    if not -x.rank <= axis < x.rank:
        a.malformed("axis", f"an axis of a tensor of rank {x.rank}")
    return axis % x.rank


def stack(layer: Layer, a: Arguments) -> Tensor:
    """Join tensors along a new axis."""
    tensors = a.tensors(0, "x", "values")
    rank = tensors[0].rank + 1
    axis = a.integer(1, "axis", default=0, least=-rank)
    if any(t.shape != tensors[0].shape for t in tensors) or axis >= rank:
        a.malformed("values", "a list of tensors of one shape")
    wide = [_expanded(layer, t, axis % rank) for t in tensors]
    return joined(layer, wide, axis)


def _expanded(layer: Layer, x: Tensor, axis: int) -> Tensor:
    return reshaped(x, (*x.shape[:axis], 1, *x.shape[axis:]), layer.name)


def unstack(layer: Layer, a: Arguments) -> list[Tensor]:
    """Split a tensor into its slices along an axis, and remove this axis."""
    x = a.tensor(0, "x", "value")
    axis = _axis(x, a, a.integer(2, "axis", default=0, least=-x.rank))
    count = a.integer(1, "num", default=x.shape[axis], least=1)
    if count != x.shape[axis]:
        a.malformed("num", f"{x.shape[axis]}")
    if count > MAX_PARTS:
        a.unsupported("num", count, f"at most {MAX_PARTS} parts")
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    parts = []
    for i in range(count):
        where = [slice(i, i + 1) if k == axis else slice(None) for k in range(x.rank)]
        parts.append(reshaped(sliced(layer, x, where), rest, layer.name))
    return parts


def expand_dims(layer: Layer, a: Arguments) -> Tensor:
    """Insert an axis of size 1."""
    x = a.tensor(0, "x", "input")
    axis = a.integer(1, "axis", least=-x.rank - 1)
    if axis > x.rank:
        a.malformed("axis", f"an axis of a tensor of rank {x.rank + 1}")
    return _expanded(layer, x, axis % (x.rank + 1))


def squeeze(layer: Layer, a: Arguments) -> Tensor:
    """Remove axes of size 1."""
    x = a.tensor(0, "x", "input")
    value = a.value(1, "axis", "squeeze_dims")
    axes = [k for k, s in enumerate(x.shape) if s == 1] if value is None else value
    axes = axes if isinstance(axes, list) else [axes]
    if not all(is_integer(k) and -x.rank <= k < x.rank and x.shape[k] == 1 for k in axes):
        a.malformed("axis", "axes of size 1")
    gone = {k % x.rank for k in axes}
    kept = tuple(s for k, s in enumerate(x.shape) if k not in gone)
    return reshaped(x, kept, layer.name)


SLICING: dict[str, Operation] = {
    "expand_dims": expand_dims,
    "get_item": get_item,
    "slice": slice_from,
    "split": split,
    "squeeze": squeeze,
    "stack": stack,
    "strided_slice": strided_slice,
    "unstack": unstack,
}
