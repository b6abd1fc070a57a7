"""Operations that pick elements by index or by size, and sort them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....ir.graph import Constant, constant
from .....ir.ops import Gather, GatherElements, Sorted, SortOrder
from ..layers.dense import indices
from ..layers.movement import reshape_all, transposed
from ..layers.preprocessing import one_hot as marked
from ..tensors import Tensor, of_model, own_order, pointwise
from .arguments import known

if TYPE_CHECKING:
    from .....ir.graph import Value
    from ..layers.layer import Layer
    from .arguments import Arguments
    from .elementwise import Operation


def take(layer: Layer, a: Arguments) -> Tensor:
    """Pick slices of an axis."""
    x = a.tensor(0, "x", "params")
    at = _indices(layer, a, a.value(1, "indices"))
    axis_given = a.value(None, "axis") is not None
    if not axis_given and layer.version[0] >= 3:
        x = reshape_all(layer, x)
    axis = a.axis(None, x, 0, "axis")
    if a.value(None, "batch_dims") not in (None, 0):
        a.unsupported("batch_dims", a.value(None, "batch_dims"), "0")
    a.ignore("validate_indices")
    return of_model(layer.apply(Gather(axis), own_order(x, layer.name), at))


def _indices(layer: Layer, a: Arguments, value: object) -> Value:
    """Return indices that are a tensor, or numbers that the call names."""
    if isinstance(value, Tensor) and not isinstance(value.value, Constant):
        return own_order(indices(layer, value), layer.name)
    array = np.asarray(known(value))
    if array.dtype.kind not in "iu":
        a.malformed("indices", "whole numbers")
    return constant(array.astype(np.int32), f"{layer.name}/indices")


def take_along_axis(layer: Layer, a: Arguments) -> Tensor:
    """Pick an element of an axis for each index."""
    x = a.tensor(0, "x")
    at = _indices(layer, a, a.value(1, "indices"))
    if a.value(None, "axis") is None:
        a.unsupported("axis", None, "an axis")
    axis = a.axis(None, x, -1, "axis")
    return of_model(layer.apply(GatherElements(axis), own_order(x, layer.name), at))


def sort(layer: Layer, a: Arguments) -> Tensor:
    """Sort an axis in ascending or (TensorFlow's ``direction``) descending order."""
    x = a.tensor(0, "x", "values")
    axis = x.axes[a.axis(1, x, -1, "axis")]
    order = SortOrder(axis, _descending(a))
    size = x.value.shape[axis]
    y = layer.apply(Sorted(axis, size), x.value, layer.apply(order, x.value))
    return Tensor(y, x.axes)


def _descending(a: Arguments) -> bool:
    direction = a.value(2, "direction")
    if direction not in (None, "ASCENDING", "DESCENDING"):
        a.unsupported("direction", direction, "ASCENDING, DESCENDING")
    return bool(direction == "DESCENDING")


def arg_sort(layer: Layer, a: Arguments) -> Tensor:
    """Return the indices that sort an axis."""
    x = a.tensor(0, "x", "values")
    axis = x.axes[a.axis(1, x, -1, "axis")]
    a.ignore("stable")
    return _places(layer, x, axis, x.value.shape[axis], layer.apply(_order(a, axis), x.value))


def _order(a: Arguments, axis: int) -> SortOrder:
    return SortOrder(axis, _descending(a))


def _places(layer: Layer, x: Tensor, axis: int, size: int, order: Value) -> Tensor:
    count = x.value.shape[axis]
    shape = tuple(count if k == axis else 1 for k in range(x.rank))
    place = constant(np.arange(count, dtype=np.int32).reshape(shape), f"{layer.name}/places")
    return Tensor(layer.apply(Sorted(axis, size), place, order), x.axes)


def top_k(layer: Layer, a: Arguments) -> list[Tensor]:
    """Return the largest elements of the last axis, largest first, and where they lie."""
    x = a.tensor(0, "x", "input")
    axis = x.axes[-1]
    size = a.integer(1, "k", default=1, least=1)
    a.ignore("sorted", "index_type")
    if size > x.value.shape[axis]:
        a.malformed("k", f"at most {x.value.shape[axis]}")
    order = layer.apply(SortOrder(axis, descending=True), x.value)
    largest = Tensor(layer.apply(Sorted(axis, size), x.value, order), x.axes)
    return [largest, _places(layer, x, axis, size, order)]


def one_hot(layer: Layer, a: Arguments) -> Tensor:
    """Mark the index of each element along a new axis."""
    x = a.tensor(0, "x", "indices")
    depth = a.integer(1, "num_classes", "depth", least=1)
    values = a.number(2, 1.0, "on_value"), a.number(3, 0.0, "off_value")
    a.ignore("dtype", "sparse")
    y = of_model(marked(layer, x, depth))
    if values != (1.0, 0.0):
        y = pointwise("where(x0 == 1, x1, x2)", [y, *values], layer.name)
    axis = a.integer(4 if layer.version[0] < 3 else None, "axis", default=-1, least=-1 - x.rank)
    order = list(range(x.rank))
    order.insert(axis % (x.rank + 1), x.rank)
    return transposed(layer, y, order)


SELECTION: dict[str, Operation] = {
    "argsort": arg_sort,
    "one_hot": one_hot,
    "sort": sort,
    "take": take,
    "take_along_axis": take_along_axis,
    "top_k": top_k,
}
