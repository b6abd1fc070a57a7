"""Element-wise operators: one op, any formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...records import dataclass
from ..evaluation import check, evaluate_formula, expand
from ..expr import Call, Expr, Var, named, substitute, variables, walk
from ..graph import apply
from ..indexing import broadcast_load
from ..nest_builder import NestBuilder
from ..primitives import PRIMITIVES
from ..types import DType, TensorType, broadcast
from .base import MOST_OPERANDS, Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..expr import Compute
    from ..graph import Value
    from ..nest import Nest


@dataclass(frozen=True)
class Pointwise(Op):
    """y = expr(x0, x1, ...), element by element, operands broadcast as numpy does.

    Everything is computed in floating point. Where ``dtype`` is an integer type, the expression
    must give whole numbers, and where it is "bool", 0 or 1.

    x0, x1, ...: any shapes that broadcast together -> y: the broadcast shape, of ``dtype``.
    """

    row_packable = True

    expr: Expr
    dtype: DType = "float32"

    @property
    def discontinuous_in(self) -> slice:
        calls = (e for e in walk(expand(self.expr)) if isinstance(e, Call))
        return slice(None if any(PRIMITIVES[e.function].discontinuous for e in calls) else 0)

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
        return TensorType(shape, self.dtype)

    def reference(self, *inputs: Any) -> Any:
        return self.carry_out(inputs, evaluate_formula)

    def carry_out(self, inputs: Sequence[Any], compute: Compute) -> Any:
        """Return the result, given who evaluates the formula."""
        result = compute(self.expr, {f"x{i}": as_floats(x) for i, x in enumerate(inputs)})
        shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
        return np.broadcast_to(as_type(result, self.dtype), shape)

    def decompose(self, *inputs: Value) -> Value | None:
        """Compute a part of the formula first where it has more operands than a shader can read."""
        if len(inputs) <= MOST_OPERANDS:
            return None
        uses = {e: set(variables(e)) for e in walk(self.expr) if isinstance(e, Call)}
        fitting = [e for e, names in uses.items() if 1 < len(names) <= MOST_OPERANDS]
        if not fitting:
            return None
        part = max(fitting, key=lambda e: len(uses[e]))
        numbers = named(range(len(inputs)))
        own = [numbers[name] for name in variables(part)]
        renamed: dict[str, Expr] = {f"x{i}": Var(f"x{k}") for k, i in enumerate(own)}
        first = apply(Pointwise(substitute(part, renamed)), *(inputs[i] for i in own))
        rest = replaced(self.expr, part, Var("part"))
        kept = [i for i in range(len(inputs)) if i not in own or f"x{i}" in variables(rest)]
        if len(kept) + 1 >= len(inputs):
            return None
        renamed = {f"x{i}": Var(f"x{k}") for k, i in enumerate(kept)}
        whole = substitute(rest, {**renamed, "part": Var(f"x{len(kept)}")})
        return apply(Pointwise(whole, self.dtype), *(inputs[i] for i in kept), first)

    def permuted(self, axes: tuple[int, ...]) -> Pointwise:
        return self

    def nest(self, *inputs: TensorType) -> Nest:
        rank = self.infer(*inputs).rank
        nest = NestBuilder()
        for k, t in enumerate(inputs):
            nest.bind(f"x{k}", broadcast_load(k, t.shape, rank))
        return nest.give(self.expr)


def replaced(expr: Expr, part: Expr, by: Expr) -> Expr:
    """Return an expression with a part of it replaced wherever it stands."""
    memo: dict[Expr, Expr] = {}
    for e in walk(expr):
        if e == part:
            memo[e] = by
        elif isinstance(e, Call):
            memo[e] = Call(e.function, tuple(memo[a] for a in e.args), e.attributes)
        else:
            memo[e] = e
    return memo[expr]


def as_floats(array: Any) -> Any:
    """Return what a formula computes with: integers and booleans become floats, as on the GPU.

    Integers then do not wrap around, and booleans can be negated.
    """
    return np.asarray(array, np.result_type(array, np.float32))


def as_type(result: Any, dtype: DType) -> Any:
    """Return a floating-point result as an array of ``dtype``; floats keep their precision."""
    return result if dtype == "float32" else np.asarray(result).astype(dtype)
