"""Evenly spaced numbers computed from sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...records import dataclass
from ..algebra import fold
from ..expr import Call, Expr, literal
from ..indexing import coordinates
from ..nest import Nest
from ..types import EXACT_INTEGERS, DType, TensorType
from .base import Op, require
from .pointwise import as_type


@dataclass(frozen=True)
class Range(Op):
    """Numbers that are evenly spaced: y[i] = (first + i * step) / divisor.

    Frontends compute ranges of known numbers. This operator is for ranges whose count or numbers
    depend on dynamic dimensions; the count may be 1.

    -> y: (count,) of ``dtype``.
    Source: ONNX Range-11.
    """

    count: int
    first: int = 0
    step: int = 1
    divisor: int = 1
    dtype: DType = "float32"

    def infer(self) -> TensorType:
        require(self.count >= 1, f"Range needs a count of 1 or more, not {self.count}")
        require(self.divisor >= 1, "the divisor of a range must be positive")
        span = (self.count - 1) * self.step  # computed first, by itself
        require(
            all(
                -EXACT_INTEGERS < n < EXACT_INTEGERS for n in (self.first, span, self.first + span)
            ),
            "float32 cannot represent all numbers of Range exactly",
        )
        return TensorType((self.count,), self.dtype)

    def reference(self) -> Any:
        return as_type((self.first + np.arange(self.count) * self.step) / self.divisor, self.dtype)

    def nest(self) -> Nest:
        (position,) = coordinates(1)
        # by no step, too: it says that 16 bits will not do
        steps = fold(Call("mul", (position, literal(self.step))))
        above: Expr = fold(Call("add", (steps, literal(self.first))))
        return Nest(fold(Call("div", (above, literal(self.divisor)))))
