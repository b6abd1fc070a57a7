"""Element-wise operators: one op, any formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ShadergenError
from ..expr import Expr, check, evaluate, variables
from ..types import TensorType, broadcast
from .base import Op


@dataclass(frozen=True)
class Pointwise(Op):
    """y = expr(x0, x1, ...), element by element, operands broadcast as numpy does.

    x0, x1, ...: any shapes that broadcast together -> y: the broadcast shape.
    """

    expr: Expr

    def infer(self, *inputs: TensorType) -> TensorType:
        check(self.expr)
        known = {f"x{i}" for i in range(len(inputs))}
        if not set(variables(self.expr)) <= known:
            raise ShadergenError("SG0303", f"'{self.expr}' uses more than {len(inputs)} operands")
        shape = broadcast(*(t.shape for t in inputs))
        if shape is None:
            raise ShadergenError(
                "SG0205",
                "the operands' shapes do not broadcast",
                why="aligned at the right, sizes must be equal or 1",
            )
        return TensorType(shape)

    def reference(self, *inputs: Any) -> Any:
        # As on the GPU, integers become floats: no wrapping around, and booleans can be negated.
        floats = [np.asarray(x, np.result_type(x, np.float32)) for x in inputs]
        result = evaluate(self.expr, {f"x{i}": x for i, x in enumerate(floats)})
        shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
        return np.broadcast_to(result, shape)
