"""Constants computed when a model is imported: all that the frontends compute with numbers.

An operator of the IR on known arrays, a formula on a known array, and a value of the graph that
depends on constants alone. What optimisation finds constant later is computed by
``passes.fold_constants``.

``fold_op`` also computes ONNX nodes that only move known elements, in the arrays' own types. ONNX
nodes that compute new numbers from known ones are computed by ``onnx.folding``: it keeps integers
beyond 24 bits, float64 and dynamic dimensions, which constants of the IR do not hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...ir.evaluation import evaluate_formula
from ...ir.graph import Constant, Graph, Output, Port, constant
from ...ir.reference import evaluate_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...ir.expr import Expr
    from ...ir.graph import Value
    from ...ir.ops import Op


def fold_op(op: Op, arrays: Sequence[NDArray[Any]], name: str) -> NDArray[Any]:
    """Return the result of an operator on arrays, computed in their own types.

    Args:
        op: has one result.
        arrays: its operands.
        name: what the model calls the operator.

    Raises:
        ShadergenError: SG0205 when the arrays do not fit.
    """
    try:
        with np.errstate(all="ignore"):
            return np.asarray(op.reference(*arrays))
    except (IndexError, TypeError, ValueError) as error:  # of too few axes or no elements
        raise ShadergenError(
            "SG0205", f"the operands do not fit {name}", why=str(error).partition("\n")[0]
        ) from None


def fold_formula(expr: Expr, x: NDArray[Any]) -> NDArray[Any]:
    """Return a formula of x0, computed in the type of an array that x0 stands for."""
    return np.asarray(evaluate_formula(expr, {"x0": x}))


def fold_value(value: Value) -> Constant:
    """Return a value that depends on no input as a constant, computed in float64.

    Args:
        value: of one element type, which stays.
    """
    if isinstance(value, Constant):
        return value
    graph = Graph("known", (), (Output("y", value, Port.plain(value.type.rank)),))
    array = evaluate_graph(graph, {})["y"].astype(value.type.dtype)
    return constant(array, value.name)
