"""Running a model that is linear up to a constant on parts of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import ShadergenError
from ..frontends.onnx.read.graph_body import subgraphs
from .linear_part import linear_part
from .parts import LARGEST, joined, split

if TYPE_CHECKING:
    from onnx import ModelProto

    from ...ir.graph import Graph
    from ..onnx_values import Arrays

Run = Callable[["Arrays"], "Arrays"]


class WideRunner:
    """Runs a model on arrays with numbers beyond float32; keeps its linear part."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._linear: tuple[frozenset[str], Run] | None = None

    def run(
        self,
        arrays: Arrays,
        wide: frozenset[str],
        whole: Run,
        compiled: Callable[[Callable[[Graph], Graph]], Run],
    ) -> Arrays:
        """Return the results for arrays.

        Args:
            arrays: all that the model takes.
            wide: the names of those beyond float32.
            whole: runs the compiled model.
            compiled: compiles a change of the model's graph, and returns what runs that.

        Raises:
            ShadergenError: SG0605 for a model that is not linear in these.
        """
        if self._linear is None or self._linear[0] != wide:
            try:
                _refuse_casts(self._model)
                self._linear = wide, compiled(lambda graph: linear_part(graph, wide))
            except ShadergenError as error:
                if error.code != "SG0202":
                    raise
                raise ShadergenError(
                    "SG0605",
                    f"input '{min(wide)}' holds numbers beyond {LARGEST:g}",
                    where=error.where,
                    why="float32 cannot hold these numbers; only models that are linear in this "
                    f"input support them, and here {error.what}",
                    help="scale the input down",
                ) from None
        parts = split(arrays, wide)
        results = {0: whole(parts.pop(0))}
        return joined(results | {power: self._linear[1](p) for power, p in parts.items()})


def _refuse_casts(model: ModelProto) -> None:
    """Refuse models that may go on in float32, whose infinity is then the right result."""
    todo = [*model.graph.node, *(node for f in model.functions for node in f.node)]
    while todo:
        node = todo.pop()
        if node.op_type in ("Cast", "CastLike"):
            raise ShadergenError("SG0202", f"{node.op_type} may convert float64 to a narrower type")
        todo.extend(inner for graph in subgraphs(node) for inner in graph.node)
