"""The reference interpreter: what a graph means, in numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError
from .graph import Constant, Graph, Input, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import DTypeLike, NDArray


def evaluate(
    graph: Graph, inputs: Mapping[str, NDArray[Any]], dtype: DTypeLike = np.float64
) -> dict[str, NDArray[Any]]:
    """Run the graph and return its outputs by name, inputs and outputs in logical NCHW.

    Args:
        graph: any graph, before or after optimisation.
        inputs: an array for each graph input, of its shape.
        dtype: the floating-point type to compute in.

    Raises:
        ShadergenError: SG0605 when an input is missing or has another shape.
    """
    values: dict[Value, NDArray[Any]] = {}
    for i in graph.inputs:
        if i.name not in inputs or inputs[i.name].shape != i.shape:
            got = inputs[i.name].shape if i.name in inputs else "nothing"
            raise ShadergenError("SG0605", f"input '{i.name}' needs shape {i.shape}, got {got}")
        floating = i.type.dtype == "float32"
        values[i] = np.asarray(inputs[i.name], dtype if floating else i.type.dtype)

    def value(v: Value) -> NDArray[Any]:
        if v not in values:
            if isinstance(v, Input):
                raise ShadergenError("SG0605", f"input '{v.name}' is not an input of the graph")
            if isinstance(v, Constant):
                values[v] = v.data.astype(dtype) if v.data.dtype.kind == "f" else v.data
        return values[v]

    remaining = graph.uses.copy()
    for node in graph.nodes:
        operands = [value(v) for v in node.inputs]
        results = node.op.reference(*operands)
        results = results if isinstance(results, tuple) else (results,)
        values.update(zip(node.results, results, strict=True))
        for v in node.inputs:  # free what nobody reads again
            remaining[v] -= 1
            if not remaining[v]:
                values.pop(v, None)
    return {o.name: np.asarray(value(o.value)) for o in graph.outputs}
