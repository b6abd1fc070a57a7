"""Normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ShadergenError
from ..expr import parse
from ..graph import Constant, apply, constant
from ..types import TensorType
from .base import Array, Op, require
from .pointwise import Pointwise

if TYPE_CHECKING:
    from ..graph import Value


@dataclass(frozen=True)
class BatchNormalization(Op):
    """Batch normalisation at inference, over the channels (axis 1).

    y = gamma * (x - mean) / sqrt(variance + epsilon) + beta.

    x: (N, C, ...), gamma, beta, mean, variance: (C,) -> y: as x.
    Source: ONNX BatchNormalization-15.
    """

    epsilon: float = 1e-5

    def infer(self, x: TensorType, *parameters: TensorType) -> TensorType:
        require(x.rank >= 2, "batch normalisation takes a tensor of rank 2 or more")
        require(
            len(parameters) == 4 and all(p.shape == (x.shape[1],) for p in parameters),
            f"batch normalisation takes four parameters of shape ({x.shape[1]},)",
        )
        return TensorType(x.shape)

    def reference(self, x: Array, gamma: Array, beta: Array, mean: Array, variance: Array) -> Array:
        g, b, m, v = (p.reshape(-1, *(1,) * (x.ndim - 2)) for p in (gamma, beta, mean, variance))
        y: Array = g * (x - m) / np.sqrt(v + self.epsilon) + b
        return y

    def decompose(self, x: Value, *parameters: Value) -> Value:
        """Return x * scale + shift, computed in float64 from the parameters."""
        known = [p.data.astype(np.float64) for p in parameters if isinstance(p, Constant)]
        require(len(known) == 4, "the parameters must be known at compile time")
        gamma, beta, mean, variance = known
        if not (variance + self.epsilon > 0).all():
            raise ShadergenError(
                "SG0106",
                "a variance is negative, or 0 without an epsilon",
                why=f"batch normalisation divides by sqrt(variance + {self.epsilon:g})",
            )
        scale = gamma / np.sqrt(variance + self.epsilon)
        shape = (-1, *(1,) * (x.type.rank - 2))
        return apply(
            Pointwise(parse("x0 * x1 + x2")),
            x,
            constant(scale.reshape(shape), "scale"),
            constant((beta - mean * scale).reshape(shape), "shift"),
        )
