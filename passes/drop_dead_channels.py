"""Set weights to zero that nothing depends on: kernels leave zeros out.

- A weight below the least normal float32 is zero: GLSL ES may flush it, and GPUs do.
- An output channel c of a convolution is dead if every reader multiplies it by zero: convolutions
  whose weights W[:, c] are zero for all output channels that are alive themselves, directly or
  after element-wise functions. Then the weights and the bias of c do not matter.

The channels stay, so that no shape changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.graph import Constant, constant
from ..ir.ops import Conv, Pointwise
from ..ir.types import MAP_RANK

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from .rule import Context

LEAST = float(np.finfo(np.float32).tiny)


def drop_dead_channels(graph: Graph, context: Context) -> Graph:
    """Zero the weights of every convolution that are too small or that nothing reads."""
    alive = _alive(graph)

    def rewrite(now: Node, was: Node) -> Node | None:
        found = _parameters(was)
        if not found or was.result not in alive:
            return None
        dead = ~alive[was.result]
        kept = [_without(data, dead) for data in found]
        zeros = sum(map(np.count_nonzero, found)) - sum(map(np.count_nonzero, kept))
        if not zeros:
            return None
        why = f"nothing reads {np.count_nonzero(dead)} of its {len(dead)} channels"
        if not dead.any():
            why = f"they are below {LEAST:.3g}"
        context.explain("drop dead channels", now.name, f"{zeros} weights become zero", why)
        x, *parameters = now.inputs
        fresh = (constant(data, v.name) for data, v in zip(kept, parameters, strict=True))
        return now.reading((x, *fresh))

    return graph.rewrite(rewrite)


def _without(data: np.ndarray, dead: np.ndarray) -> np.ndarray:
    """Return weights or biases with zeros for those of dead channels and those that are tiny."""
    kept = np.where(np.abs(data) < LEAST, np.zeros_like(data), data)
    kept[dead] = 0.0
    return kept


def _parameters(node: Node) -> list[np.ndarray]:
    """Return the weights and the bias of a convolution if they are constant and finite."""
    if not isinstance(node.op, Conv):
        return []
    found = [v.data for v in node.inputs[1:] if isinstance(v, Constant)]
    whole = len(found) == len(node.inputs) - 1 and all(np.isfinite(data).all() for data in found)
    return found if whole else []


def _alive(graph: Graph) -> dict[Value, np.ndarray]:
    """Return which channels of each map matter to an output of the graph."""
    alive: dict[Value, np.ndarray] = {}
    for output in graph.outputs:
        alive[output.value] = _every(output.value)
    for node in reversed(graph.nodes):
        for position, value in enumerate(node.inputs):
            if not isinstance(value, Constant):
                read = _read(node, position, alive)
                alive[value] = alive[value] | read if value in alive else read
    return {v: channels for v, channels in alive.items() if v.type.rank == MAP_RANK}


def _every(value: Value) -> np.ndarray:
    return np.ones(value.shape[1] if value.type.rank == MAP_RANK else 1, bool)


def _read(node: Node, position: int, alive: dict[Value, np.ndarray]) -> np.ndarray:
    """Return which channels of an operand matter to what matters of the node's result."""
    value, result = node.inputs[position], node.results[0]
    if len(node.results) != 1 or value.type.rank != MAP_RANK or result not in alive:
        return _every(value)
    if position == 0 and isinstance(node.op, Conv) and node.op.groups == 1:
        for weights in _parameters(node)[:1]:
            matters: np.ndarray = (np.abs(weights[alive[result]]) >= LEAST).any(axis=(0, 2, 3))
            return matters
    if isinstance(node.op, Pointwise) and value.shape[1] == len(alive[result]):
        return alive[result]
    return _every(value)
