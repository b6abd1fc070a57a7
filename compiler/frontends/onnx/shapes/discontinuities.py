"""Rounding or comparing floats computed from dynamic dimensions: refused where a digit may differ.

At a fixed size these numbers are computed when compiling, as in the model's framework. With dynamic
sizes the GPU computes them, and a quotient may be off by its last digit. Continuous operators are
hardly affected, but rounding or comparing may give another number or another position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....ir.dimensions import DynamicDimensionError
from .....ir.expr import Var
from .....ir.graph import Constant, Result
from .....ir.ops import Movement, Pointwise, Range
from ..operands import behind, is_computed_from_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .....ir.graph import Value
    from .....ir.ops import Op


def refuse_discontinuities(op: Op, operands: Sequence[Value]) -> None:
    """Refuse to round or compare floats that were computed from dynamic dimensions alone.

    Raises:
        DynamicDimensionError: for the layer at hand.
    """
    compared = [v for v in operands[op.discontinuous_in] if not isinstance(v, Constant)]
    if all(map(is_computed_from_sizes, compared)) and any(map(_is_rounded, compared)):
        raise DynamicDimensionError(
            "rounding or comparing coordinates computed from dynamic sizes",
            why="float division of sizes is inexact: a small error could change what rounding or "
            "comparing gives",
        )


def _is_rounded(value: Value) -> bool:
    """Whether a tensor of floats, or one on the way to it, may not be what exact arithmetic has."""
    if value.type.dtype != "float32":
        return False
    floats = (v for v in behind(value) if v.type.dtype == "float32" and isinstance(v, Result))
    return not all(_is_exact(v.node.op) for v in floats)


def _is_exact(op: Op) -> bool:
    if isinstance(op, Range):
        return op.divisor & (op.divisor - 1) == 0
    return isinstance(op, Movement) or (isinstance(op, Pointwise) and isinstance(op.expr, Var))
