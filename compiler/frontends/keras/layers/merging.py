"""Layers that join several tensors."""

from __future__ import annotations

from string import ascii_letters
from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.graph import constant
from .....ir.ops import Concat, Einsum, LpNormalization
from .....ir.ops.base import unlike_text
from ..read.config import is_integer
from ..tensors import Tensor, arranged, of_model, own_order, pointwise, reshaped
from .masks import combined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .layer import Layer

LEAST_NORM = 1e-6  # the root of what Keras adds no square below


def merged(formula: str, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Combine any number of inputs element by element, in one kernel."""
    if not inputs:
        raise ShadergenError("SG0105", "the layer has no inputs", where=layer.described)
    text = "x0"
    for k in range(1, len(inputs)):
        text = formula.format(text, f"x{k}")
    return pointwise(text, _of_equal_rank(layer, inputs), layer.name)


def two(layer: Layer, inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the only two inputs.

    Raises:
        ShadergenError: SG0105 for another number.
    """
    if len(inputs) != 2:
        raise ShadergenError(
            "SG0105", f"the layer takes two inputs, not {len(inputs)}", where=layer.described
        )
    return inputs[0], inputs[1]


def subtract(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Subtract the second input from the first."""
    return merged("{0} - {1}", layer, list(two(layer, inputs)))


def average(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Average the inputs."""
    text = " + ".join(f"x{k}" for k in range(len(inputs)))
    operands = _of_equal_rank(layer, inputs)
    return pointwise(f"({text or 'x0'}) / {max(len(inputs), 1)}", operands, layer.name)


def _of_equal_rank(layer: Layer, inputs: list[Tensor]) -> list[Tensor]:
    """Insert axes after the batch, as merging layers do: unlike numpy, which has them in front."""
    rank = max((x.rank for x in inputs), default=0)
    return [
        x
        if x.rank == rank
        else reshaped(x, (x.shape[0], *(1,) * (rank - x.rank), *x.shape[1:]), layer.name)
        for x in inputs
    ]


def concatenate(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Join the inputs along ``axis``."""
    axis = layer.config.integer("axis", -1, least=-16)
    y = joined(layer, inputs, axis)
    if all(x.mask is None for x in inputs):
        return y
    return Tensor(y.value, y.axes, _joined_mask(layer, inputs, axis % y.rank))


def joined(layer: Layer, inputs: Sequence[Tensor], axis: int) -> Tensor:
    """Join tensors along an axis of the model."""
    if not inputs or any(x.rank != inputs[0].rank for x in inputs):
        raise ShadergenError("SG0205", "the inputs differ in rank", where=layer.described)
    logical = inputs[0].axis(axis, layer.described)
    rest = [[s for k, s in enumerate(x.shape) if k != axis % x.rank] for x in inputs]
    if any(shape != rest[0] for shape in rest):
        raise ShadergenError(
            "SG0205",
            unlike_text((x.shape for x in inputs), axis % inputs[0].rank),
            where=f"{layer.described}, inputs "
            + ", ".join("x".join(map(str, x.shape)) for x in inputs),
        )
    axes = inputs[0].axes
    values = [arranged(x, axes, layer.name) for x in inputs]
    return Tensor(layer.apply(Concat(logical), *values), axes)


def _joined_mask(layer: Layer, inputs: list[Tensor], axis: int) -> Tensor | None:
    """Return the mask of joined tensors, which Keras computes from masks joined in the same way.

    Joined along the features, a step counts if it does in all of them, since Keras 3 in any; what
    has no mask counts.
    """
    masks = [x.mask for x in inputs if x.mask is not None]
    if inputs[0].rank != 3 or any(m.rank != 2 for m in masks) or axis == 0:
        layer.config.refuse(
            "a mask on inputs of this rank or along this axis",
            "sequences of vectors with masks, joined along axis 1 or 2",
        )
    if axis == 2 and layer.version[0] < 3:
        return combined(masks, "min", layer.name)
    if axis == 2:
        return combined(masks, "max", layer.name) if len(masks) == len(inputs) else None
    every = [
        x.mask or of_model(constant(np.ones(x.shape[:2], np.bool_), f"{layer.name}/mask"))
        for x in inputs
    ]
    return joined(layer, every, 1)


def dot(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Multiply and add up along one axis of each input, sample by sample."""
    a, b = two(layer, inputs)
    entry = layer.config.value("axes")
    pair = [entry, entry] if is_integer(entry) else entry
    if not isinstance(pair, list) or len(pair) != 2 or not all(map(is_integer, pair)):
        layer.config.malformed("axes", "one axis or two")
    axes = [k % x.rank if -x.rank <= k < x.rank else 0 for k, x in zip(pair, (a, b), strict=True)]
    if not all(axes) or a.shape[axes[0]] != b.shape[axes[1]]:
        layer.config.malformed(
            "axes",
            "two axes of equal size other than the batch; the inputs have shapes "
            f"{a.shape} and {b.shape}",
        )
    values = [own_order(x, layer.name) for x in (a, b)]
    if layer.config.flag("normalize", False):
        values = [
            layer.apply(LpNormalization((k,), 2, LEAST_NORM), v)
            for k, v in zip(axes, values, strict=True)
        ]
    batch, shared, *letters = list(ascii_letters)
    first = [batch, *letters[: a.rank - 1]]
    second = [batch, *letters[a.rank - 1 :][: b.rank - 1]]
    first[axes[0]] = second[axes[1]] = shared
    rest = [letter for letter in (*first, *second[1:]) if letter != shared]
    equation = f"{''.join(first)},{''.join(second)}->{''.join(rest)}"
    y = of_model(layer.apply(Einsum(equation), *values))
    return reshaped(y, (*y.shape, 1), layer.name) if y.rank == 1 else y
