"""Rounding or comparing floats computed from dynamic dimensions: refused where a digit may differ.

At a fixed size these numbers are computed when compiling, as in the model's framework. With dynamic
sizes the GPU computes them, and a quotient may be off by its last digit. Continuous operators are
hardly affected, but rounding or comparing may give another number or another position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....ir.dimensions import DynamicDimensionError
from .....ir.evaluation import expand
from .....ir.expr import Call, Var, walk
from .....ir.graph import Constant, Result
from .....ir.ops import ArgMax, GridSample, Hardmax, Movement, Pointwise, Range
from ..operands import behind, is_computed_from_sizes

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .....ir.ops import Op
    from ..operands import Item

DISCONTINUOUS = {"floor", "ceil", "round_even", "trunc", "mod", "sign", "lt", "le", "eq"}


def refuse_discontinuities(result: Item | None) -> None:
    """Refuse to round or compare floats that were computed from dynamic dimensions alone.

    Raises:
        DynamicDimensionError: for the layer at hand.
    """
    if not isinstance(result, Result) or not _is_discontinuous(op := result.node.op):
        return
    inputs = result.node.inputs[1:] if isinstance(op, GridSample) else result.node.inputs
    operands = [v for v in inputs if not isinstance(v, Constant)]
    if all(map(is_computed_from_sizes, operands)) and any(map(_is_rounded, operands)):
        raise DynamicDimensionError(
            "rounding or comparing coordinates computed from dynamic sizes",
            why="float division of sizes is inexact: a small error could change what rounding or "
            "comparing gives",
        )


def _is_discontinuous(op: Op) -> bool:
    if isinstance(op, Pointwise):
        return any(
            isinstance(e, Call) and e.function in DISCONTINUOUS for e in walk(expand(op.expr))
        )
    if isinstance(op, GridSample):
        return op.mode == "nearest"
    return isinstance(op, (ArgMax, Hardmax))


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
