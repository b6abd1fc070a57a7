"""The reference interpreter in numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError
from .graph import Constant, Input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import DTypeLike, NDArray

    from .graph import Graph, Node, Value


class Machine:
    """The arithmetic of the interpreter: numpy's, unless a subclass overrides it."""

    def run(self, node: Node, operands: list[Any]) -> Any:
        """Return a node's results for operands: one array, or one per result."""
        return node.op.reference(*operands)

    def hold(self, value: Value, array: NDArray[Any]) -> NDArray[Any]:
        """Return a tensor after rounding to its storage format."""
        return array


EXACT = Machine()


def as_logical(graph: Graph, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays in the model's own axis order as :func:`evaluate_graph` takes them."""
    return {i.name: np.transpose(inputs[i.name], np.argsort(i.port.axes)) for i in graph.inputs}


def evaluate_graph(
    graph: Graph,
    inputs: Mapping[str, NDArray[Any]],
    dtype: DTypeLike = np.float64,
    machine: Machine = EXACT,
) -> dict[str, NDArray[Any]]:
    """Run the graph and return its outputs by name, inputs and outputs in logical NCHW.

    Args:
        graph: any graph, before or after optimisation.
        inputs: an array for each graph input, of its shape.
        dtype: the floating-point type to compute in.
        machine: what carries the nodes out.

    Raises:
        ShadergenError: SG0605 when an input is missing or has another shape.
    """
    values: dict[Value, NDArray[Any]] = {}
    for i in graph.inputs:
        if i.name not in inputs or inputs[i.name].shape != i.shape:
            got = inputs[i.name].shape if i.name in inputs else "nothing"
            raise ShadergenError("SG0605", f"input '{i.name}' needs shape {i.shape}, got {got}")
        floating = i.type.dtype == "float32"
        given = np.asarray(inputs[i.name], dtype if floating else i.type.dtype)
        values[i] = machine.hold(i, given)

    def value(v: Value) -> NDArray[Any]:
        if v not in values:
            if isinstance(v, Input):
                raise ShadergenError("SG0605", f"input '{v.name}' is not an input of the graph")
            if isinstance(v, Constant):
                data = v.data.astype(dtype) if v.data.dtype.kind == "f" else v.data
                values[v] = machine.hold(v, data)
        return values[v]

    remaining = graph.uses.copy()
    for node in graph.nodes:
        operands = [value(v) for v in node.inputs]
        results = machine.run(node, operands)
        results = results if isinstance(results, tuple) else (results,)
        for own, result in zip(node.results, results, strict=True):
            values[own] = machine.hold(own, result)
        for v in node.inputs:  # free what nobody reads again
            remaining[v] -= 1
            if not remaining[v]:
                values.pop(v, None)
    return {o.name: np.asarray(value(o.value)) for o in graph.outputs}
