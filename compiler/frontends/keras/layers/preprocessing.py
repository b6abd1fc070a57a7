"""Layers that prepare numbers: rescaling, normalisation by a data set, categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.ops import OneHot, Reduce
from ..read.config import is_number
from ..tensors import Tensor, of_model, own_order, pointwise, reshaped
from .common import axes_of, one
from .dense import indices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .....ir.graph import Value
    from .layer import Layer

LEAST_DEVIATION = 1e-7  # keras.backend.epsilon()
ENCODINGS = ("int", "one_hot", "multi_hot", "count")


def rescaling(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Scale and shift, with one number for all channels or one for each channel."""
    factors = [_numbers(layer, key, value) for key, value in (("scale", 1.0), ("offset", 0.0))]
    return pointwise("x0 * x1 + x2", [one(layer, inputs), *factors], layer.name)


def _numbers(layer: Layer, key: str, default: float | None = None) -> np.ndarray | float:
    """Return a number, or an array of them from a list."""
    value = layer.config.value(key, default)
    if isinstance(value, list) and value and all(map(is_number, value)):
        return np.asarray([float(v) for v in value], np.float32)
    return layer.config.number(key, default)


def normalization(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Subtract the mean of a data set and divide by its deviation, or invert this."""
    x = one(layer, inputs)
    config = layer.config
    axes: tuple[int, ...] = ()
    if config.entries.get("axis") is not None:
        axes = tuple(sorted(axes_of(layer, x)))
    shape = tuple(x.shape[a] for a in axes)
    if config.get("mean") is not None:
        mean, variance = (
            _spread(_nested(layer, key), x, axes, layer) for key in ("mean", "variance")
        )
    else:
        w = layer.weights({"mean": shape, "variance": shape, "count": ()}, unread=("count",))
        mean, variance = (_spread(w[role], x, axes, layer) for role in ("mean", "variance"))
    if not (variance >= 0).all():
        raise ShadergenError("SG0106", "a variance is negative", where=layer.described)
    deviation = np.maximum(np.sqrt(variance), LEAST_DEVIATION)
    inverse = config.flag("invert", False)
    formula = "x1 + x0 * x2" if inverse else "(x0 - x1) / x2"
    return pointwise(formula, [x, mean, deviation], layer.name)


def _nested(layer: Layer, key: str) -> NDArray[np.float32]:
    """Return a number or nested lists of them."""
    value = layer.config.value(key)
    try:
        with np.errstate(over="ignore"):
            array = np.asarray(value, np.float32)
    except (ValueError, TypeError, OverflowError):
        layer.config.malformed(key, "a number or lists of numbers")
    if not np.isfinite(array).all():
        layer.config.malformed(key, "finite numbers")
    return array


def _spread(
    array: NDArray[np.float32], x: Tensor, axes: tuple[int, ...], layer: Layer
) -> NDArray[np.float32]:
    """Give statistics of ``axes``, aligned with the last of them, a shape that broadcasts to x."""
    wide = (1,) * (len(axes) - array.ndim) + array.shape
    if len(wide) > len(axes) or any(
        size not in (1, x.shape[axis]) for size, axis in zip(wide, axes, strict=True)
    ):
        layer.config.malformed("mean", f"an array that fits axes {list(axes)} of {x.shape}")
    shape = [1] * x.rank
    for axis, size in zip(axes, wide, strict=True):
        shape[axis] = size
    return array.reshape(shape)


def discretization(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Replace each number by its bin: the count of ``bin_boundaries`` up to the number."""
    x = one(layer, inputs)
    boundaries = _numbers(layer, "bin_boundaries")
    bounds = np.atleast_1d(np.asarray(boundaries, np.float32))
    wide = own_order(reshaped(x, (*x.shape, 1), layer.name), layer.name)
    reached = Reduce("sum", (x.rank,), False, parse("x1 <= x0"), "int32")
    y = of_model(layer.apply(reached, wide, constant(bounds, f"{layer.name}/boundaries")))
    return _encoded(layer, y, bounds.size + 1, layer.config.choice("output_mode", ENCODINGS, "int"))


def category_encoding(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Mark or count the categories of each sample."""
    if len(inputs) > 1 or layer.kwargs.get("count_weights") is not None:
        layer.config.refuse("count_weights")
    if layer.config.flag("sparse", False):
        layer.config.unsupported("sparse", True, "false")
    mode = layer.config.choice("output_mode", ENCODINGS[1:], "multi_hot")
    return _encoded(layer, one(layer, inputs), layer.config.integer("num_tokens"), mode)


def _encoded(layer: Layer, x: Tensor, depth: int, mode: str) -> Tensor:
    if mode == "int":
        return x
    if mode != "one_hot" and x.rank > 2:
        layer.config.unsupported("output_mode", mode, "one_hot for tensors of rank 3 or more")
    if mode == "one_hot" and x.rank > 1 and x.shape[-1] == 1:
        x = reshaped(x, x.shape[:-1], layer.name)
    y = one_hot(layer, x, depth)
    if mode == "one_hot":
        return of_model(y)
    over = (x.rank - 1,)
    op = Reduce("max", over, False) if mode == "multi_hot" else Reduce("sum", over, False)
    return of_model(layer.apply(op, y))


def one_hot(layer: Layer, x: Tensor, depth: int) -> Value:
    """Return 1 at the index of each element along a new last axis, 0 elsewhere."""
    # The operator counts negative indices from the end; here they mark nothing.
    known = pointwise(f"where(x0 < 0, {depth}, x0)", [indices(layer, x)], layer.name, "int32")
    at = own_order(known, layer.name)
    marks = constant(np.array([0, 1], np.float32), f"{layer.name}/marks")
    return layer.apply(OneHot(depth, x.rank), at, marks)
