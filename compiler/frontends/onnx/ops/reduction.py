"""Reductions, positions of extrema, softmax, running sums, and the largest elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.graph import constant
from .....ir.ops import (
    ArgMax,
    ArgMin,
    CumProd,
    CumSum,
    Hardmax,
    LogSoftmax,
    Reduce,
    Softmax,
    Sorted,
    SortOrder,
)
from .parameters import parameters

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .....ir.ops.reduction import Kind
    from ..operands import Tensor
    from .elementwise import Handler
    from .node import OnnxNode

ITSELF = ("sum", "mean", "prod", "max", "min")  # reductions that leave single elements alone


def reduce(kind: Kind) -> Handler:
    """Return the handler of a reduction.

    The axes are an attribute before operator set 18 (ReduceSum: 13), then an input. None at all
    means every axis, or with noop_with_empty_axes that each element is reduced by itself.
    """

    @parameters(1)
    def handler(node: OnnxNode) -> Tensor:
        rank = len(node.shape(0))
        keepdims = bool(node.choice("keepdims", (1, 0)))
        axes: tuple[int, ...] = ()
        each = False
        if node.version < (13 if kind == "sum" else 18):
            axes = node.integers("axes", ())
        else:
            each = bool(node.choice("noop_with_empty_axes", (0, 1)))
            if node.given(1):
                axes = node.known_integers(1, "the axes")
        if not axes and not each:
            axes = tuple(range(rank))
        axes = tuple(sorted(node.axes(axes, rank)))
        extremum = kind in ("max", "min")
        x = node.operand(0) if extremum and node.version >= 20 else node.numeric(0)
        if not axes and kind in ITSELF:
            return node.item(0)
        return node.apply(Reduce(kind, axes, keepdims), x)

    handler.__doc__ = f"{kind.replace('_', ' ')} over the given axes, all by default."
    return handler


def position(op: type[ArgMax]) -> Handler:
    """Return the handler of ArgMax or ArgMin."""

    def handler(node: OnnxNode) -> Value:
        x = node.numeric(0)
        axis = node.axis(node.integer("axis", 0), x.type.rank)
        keepdims = bool(node.choice("keepdims", (1, 0)))
        last = bool(node.choice("select_last_index", (0, 1)))
        return node.apply(op((axis,), keepdims, last), x)

    handler.__doc__ = op.__doc__
    return handler


def over_axis(op: type[Softmax | LogSoftmax | Hardmax]) -> Handler:
    """Return the handler of Softmax or its kin.

    Before operator set 13 they took the axes from ``axis`` on together.
    """

    def handler(node: OnnxNode) -> Value:
        x = node.real(0)
        rank = x.type.rank
        if node.version >= 13:
            return node.apply(op((node.axis(node.integer("axis", -1), rank),)), x)
        axis = node.integer("axis", 1)
        if axis == rank:  # single elements
            return node.apply(op(()), x)
        return node.apply(op(tuple(range(node.axis(axis, rank), rank))), x)

    handler.__doc__ = op.__doc__
    return handler


def running(op: type[CumSum]) -> Handler:
    """Return the handler of CumSum or CumProd."""

    @parameters(1)
    def handler(node: OnnxNode) -> Value:
        x = node.numeric(0)
        given = node.known_integers(1, "the axis")
        if len(given) != 1:
            raise ShadergenError(
                "SG0105", f"the axis of {node.op} must be one integer, not {list(given)}"
            )
        exclusive = bool(node.choice("exclusive", (0, 1)))
        reverse = bool(node.choice("reverse", (0, 1)))
        return node.apply(op(node.axis(given[0], x.type.rank), exclusive, reverse), x)

    handler.__doc__ = op.__doc__
    return handler


@parameters(1)
def top_k(node: OnnxNode) -> list[Tensor]:
    """TopK; the result is sorted even with sorted=0."""
    x = node.numeric(0)
    axis = node.axis(node.integer("axis", -1), x.type.rank)
    size = x.shape[axis]
    largest = bool(node.choice("largest", (1, 0)))
    node.choice("sorted", (1, 0))
    k = node.known_integers(1, "K")
    if len(k) != 1 or not 1 <= k[0] <= size:
        raise ShadergenError("SG0205", f"K={list(k)} does not fit an axis of {size} elements")
    order = node.apply(SortOrder(axis, largest), x)
    index = np.arange(size).reshape([size if a == axis else 1 for a in range(x.type.rank)])
    first = Sorted(axis, k[0])
    return [node.apply(first, x, order), node.apply(first, constant(index, "index"), order)]


REDUCTION: dict[str, Handler] = {
    "ArgMax": position(ArgMax),
    "ArgMin": position(ArgMin),
    "CumProd": running(CumProd),
    "CumSum": running(CumSum),
    "Hardmax": over_axis(Hardmax),
    "LogSoftmax": over_axis(LogSoftmax),
    "ReduceL1": reduce("l1"),
    "ReduceL2": reduce("l2"),
    "ReduceLogSum": reduce("log_sum"),
    "ReduceLogSumExp": reduce("log_sum_exp"),
    "ReduceMax": reduce("max"),
    "ReduceMean": reduce("mean"),
    "ReduceMin": reduce("min"),
    "ReduceProd": reduce("prod"),
    "ReduceSum": reduce("sum"),
    "ReduceSumSquare": reduce("sum_square"),
    "Softmax": over_axis(Softmax),
    "TopK": top_k,
}
