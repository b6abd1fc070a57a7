"""Tensors in the model's own axis order over values in NCHW.

Keras puts channels last, the IR first. A :class:`Tensor` is a value and the permutation between
the two, so that layers can speak of axes as the model does: ``keras = logical.transpose(axes)``.
Permuting a tensor only changes ``axes``; a Transpose is made where an order is demanded.

A tensor may carry a mask, as in Keras: which steps of a sequence count. See ``layers.masks``.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ....errors import ShadergenError
from ....ir.expr import Call, Expr, Num, Var, substitute
from ....ir.formula_parser import parse
from ....ir.graph import apply, constant
from ....ir.ops import Pointwise, Reshape, Transpose
from ....ir.types import MAX_RANK
from ....records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....ir.graph import Value
    from ....ir.types import DType

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """A value and how the model sees it: ``keras = logical.transpose(axes)``.

    ``mask`` has the first axes of the tensor, mostly batch and steps; false is what does not count.
    """

    value: Value
    axes: Axes
    mask: Tensor | None = field(default=None, compare=False)

    @property
    def dtype(self) -> DType:
        return self.value.type.dtype

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in the model's axis order."""
        return tuple(self.value.shape[a] for a in self.axes)

    def axis(self, axis: int, where: str) -> int:
        """Return the logical axis that is ``axis`` in the model, which may be negative."""
        if not -self.rank <= axis < self.rank:
            raise ShadergenError(
                "SG0105", f"axis {axis} is out of range for rank {self.rank}", where=where
            )
        return self.axes[axis]


Operand = Tensor | np.ndarray | float


def plain(rank: int) -> Axes:
    """Return the permutation that changes nothing."""
    return tuple(range(rank))


def standard(rank: int, data_format: str) -> Axes:
    """Return how the IR holds a tensor of a model with that data format: images as NCHW."""
    return (0, 2, 3, 1) if rank == 4 and data_format == "channels_last" else plain(rank)


def features(rank: int, data_format: str) -> Axes:
    """Return the order that has batch and channels first, for any number of spatial axes."""
    return plain(rank) if data_format == "channels_first" else channels_at(rank, rank - 1)


def channels_at(rank: int, axis: int) -> Axes:
    """Return the order that has the model's ``axis`` as logical axis 1."""
    others = [0, *range(2, rank)]
    return tuple(1 if k == axis else others.pop(0) for k in range(rank))


def arranged(tensor: Tensor, axes: Axes, layer: str) -> Value:
    """Return the value that makes ``keras = value.transpose(axes)``, moving data if it must."""
    if tensor.axes == axes:
        return tensor.value
    inverse = np.argsort(axes)
    order = tuple(tensor.axes[int(i)] for i in inverse)
    return apply(Transpose(order), tensor.value, layer=layer)


def widened(tensor: Tensor, rank: int, layer: str) -> Tensor:
    """Return the tensor with axes of size 1 in front, as broadcasting aligns it."""
    if tensor.rank == rank:
        return tensor
    shape = (1,) * (rank - tensor.rank) + tensor.shape
    value = arranged(tensor, plain(tensor.rank), layer)
    return Tensor(apply(Reshape(shape), value, layer=layer), plain(rank))


def reshaped(tensor: Tensor, shape: tuple[int, ...], layer: str) -> Tensor:
    """Return the tensor with another shape in the model's own, row-major, order."""
    if len(shape) > MAX_RANK:
        raise too_deep(len(shape), layer)
    value = arranged(tensor, plain(tensor.rank), layer)
    return Tensor(apply(Reshape(shape), value, layer=layer), plain(len(shape)))


def pointwise(
    formula: str | Expr, operands: Sequence[Operand], layer: str, dtype: DType = "float32"
) -> Tensor:
    """Apply a formula of x0, x1, ... to tensors, arrays and numbers, broadcast as Keras does."""
    expr = parse(formula) if isinstance(formula, str) else formula
    tensors = [o for o in operands if isinstance(o, Tensor)]
    arrays = [o for o in operands if isinstance(o, np.ndarray)]
    rank = max([*(t.rank for t in tensors), *(a.ndim for a in arrays)], default=0)
    if rank > MAX_RANK:
        raise too_deep(rank, layer)
    if not tensors:
        raise ShadergenError("SG0105", "no operand is a tensor", where=f"layer '{layer}'")
    axes = next((t.axes for t in tensors if t.rank == rank), plain(rank))
    values: list[Value] = []
    bindings: dict[str, Expr] = {}
    for i, operand in enumerate(operands):
        if not isinstance(operand, (Tensor, np.ndarray)):
            bindings[f"x{i}"] = Num(float(operand))
            continue
        bindings[f"x{i}"] = Var(f"x{len(values)}")
        if isinstance(operand, Tensor):
            values.append(arranged(widened(operand, rank, layer), axes, layer))
        else:
            wide = operand.reshape((1,) * (rank - operand.ndim) + operand.shape)
            values.append(constant(wide.transpose(np.argsort(axes)), f"{layer}/constant"))
    op = Pointwise(substitute(expr, bindings), dtype)
    return Tensor(apply(op, *values, layer=layer), axes)


def own_order(tensor: Tensor, layer: str) -> Value:
    """Return the value in the model's own axis order."""
    return arranged(tensor, plain(tensor.rank), layer)


def of_model(value: Value) -> Tensor:
    """Return a value that is in the model's own axis order as a tensor."""
    return Tensor(value, plain(value.type.rank))


def call(function: str, *arguments: float) -> Expr:
    """Return ``function(x0, arguments...)``."""
    return Call(function, (Var("x0"), *(Num(float(a)) for a in arguments)))


def too_deep(rank: int, layer: str) -> ShadergenError:
    """Return the error for a tensor of too high a rank."""
    return ShadergenError(
        "SG0206",
        f"a tensor of rank {rank} is not supported",
        where=f"layer '{layer}'",
        supported=f"ranks up to {MAX_RANK}",
    )
