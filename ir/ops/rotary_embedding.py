"""Rotary position embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..expr import Expr
from ..indexing import add, clamp, coordinates, idiv, imod, less, mul, select, sub
from ..nest_builder import NestBuilder
from ..types import TensorType
from .base import Op, require

if TYPE_CHECKING:
    from ..nest import Nest


@dataclass(frozen=True)
class RotaryEmbedding(Op):
    """Rotate pairs of features by an angle that depends on their position.

    (y[i], y[j]) = (c*x[i] - s*x[j], s*x[i] + c*x[j]), where i and j are the features k and
    k + ``features``/2, or 2*k and 2*k + 1 if ``interleaved``, and c and s are cos[k] and sin[k] at
    the token's position. Features from ``features`` on are unchanged.

    x: (B, T, N, D), cos and sin: (B, T, features/2), or (P, features/2) with ids: (B, T) of
    integers, the positions -> y: the shape of x.
    Source: J. Su et al., "RoFormer" (2021); ONNX RotaryEmbedding-23.
    """

    row_packable = True

    features: int
    interleaved: bool = False

    def infer(
        self, x: TensorType, cos: TensorType, sin: TensorType, *ids: TensorType
    ) -> TensorType:
        require(x.rank == 4, "a rotary embedding needs rank 4")
        require(
            0 < self.features <= x.shape[3] and self.features % 2 == 0,
            f"the number of rotated features, {self.features}, must be even and 2 to {x.shape[3]}",
        )
        require(cos.shape == sin.shape, "cosines and sines differ in shape")
        half = self.features // 2
        if ids:
            require(len(ids) == 1 and ids[0].shape == x.shape[:2], "positions do not fit x")
            fits = cos.rank == 2 and cos.shape[1] == half
            require(fits, f"the cosine table needs rank 2 and {half} columns")
        else:
            shape = (*x.shape[:2], half)
            require(cos.shape == shape, f"cosines need shape {shape}, not {cos.shape}")
        return x

    def reference(self, x: Any, cos: Any, sin: Any, *ids: Any) -> Any:
        if ids:
            cos, sin = (table[np.asarray(ids[0]).astype(int)] for table in (cos, sin))
        cos, sin = cos[:, :, np.newaxis], sin[:, :, np.newaxis]
        half = self.features // 2
        first, second = slice(0, half), slice(half, self.features)
        if self.interleaved:
            first, second = slice(0, self.features, 2), slice(1, self.features, 2)
        y = np.array(x)
        y[..., first] = cos * x[..., first] - sin * x[..., second]
        y[..., second] = sin * x[..., first] + cos * x[..., second]
        return y

    def nest(self, x: TensorType, cos: TensorType, sin: TensorType, *ids: TensorType) -> Nest:
        b, t, n, i = coordinates(4)
        half = self.features // 2
        k: Expr
        if self.interleaved:
            k, second = idiv(i, 2), imod(i, 2)
            other = add(i, sub(1, mul(second, 2)))
            sign = f"4 * (0.5 * {i} - floor(0.5 * {i})) - 1"
        else:
            k, second = imod(i, half), less(half - 1, i)
            other = select(second, sub(i, half), add(i, half))
            sign = f"where({i} < {half}, -1, 1)"
        nest = NestBuilder()
        place: tuple[Expr, ...] = (b, t)
        if ids:
            place = (clamp(nest.load("position", 3, (b, t)), 0, cos.shape[0] - 1),)
        turned = () if self.features == x.shape[3] else (less(i, self.features),)
        nest.load("value", 0, (b, t, n, i))
        nest.load("partner", 0, (b, t, n, other), turned)
        nest.load("cosine", 1, (*place, k), turned, 1.0)
        nest.load("sine", 2, (*place, k), turned)
        return nest.give(f"value * cosine + ({sign}) * partner * sine")
