"""The tensors that a build stores, by the interpreter of the compiled graph.

The interpreter shares no code with kernels, shaders and runtimes. In float64, and of exact
operands, it says what a tensor should be. With ``rounded`` each tensor is rounded as its texture
does: so it says what a kernel should make of the operands that textures hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.graph import Graph
from ...ir.reference import Machine, as_logical, evaluate_graph
from ...passes.placement.kinds import at_default

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from numpy.typing import NDArray

    from ...ir.graph import Node, Value


class Recorder(Machine):
    """An interpreter that keeps the tensors that are wanted, and can round as textures do."""

    def __init__(self, wanted: Container[Value], rounded: bool = False) -> None:
        self.wanted = wanted
        self.rounded = rounded
        self.kept: dict[Value, NDArray[Any]] = {}

    def run(self, node: Node, operands: list[Any]) -> Any:
        return at_default(node).op.reference(*operands)

    def hold(self, value: Value, array: NDArray[Any]) -> NDArray[Any]:
        array = np.asarray(array)
        if self.rounded and array.dtype.kind == "f":
            half = value.type.component_bits == 16
            with np.errstate(over="ignore"):
                array = array.astype(np.float16 if half else np.float32).astype(np.float64)
        if value in self.wanted:
            exact = self.rounded and array.dtype.kind == "f"  # half of the memory
            self.kept[value] = array.astype(np.float32) if exact else array
        return array


def interpreted(
    graph: Graph,
    inputs: Mapping[str, NDArray[Any]],
    wanted: Container[Value],
    rounded: bool = False,
) -> dict[Value, NDArray[Any]]:
    """Return tensors of a graph, in their logical shapes.

    Args:
        graph: as compiled.
        inputs: by the names of the graph's inputs, in the model's own axis order.
        wanted: the tensors to keep.
        rounded: round each tensor as its texture does.

    Raises:
        ShadergenError: SG0605 if an index is out of range, or a shape is not the default one.
    """
    recorder = Recorder(wanted, rounded)
    with np.errstate(all="ignore"):
        evaluate_graph(graph, as_logical(graph, inputs), machine=recorder)
    return recorder.kept
