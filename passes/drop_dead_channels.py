"""Set weights to zero that no output depends on: constants that are zero need no code.

- A weight below the least normal float32 is zero: GLSL ES may flush it, and GPUs do.
- An output channel c of a convolution is dead if no output of the graph depends on it: only
  convolutions read it, and their weights W[:, c] are zero for all channels that are not dead. The
  weights and the bias of c become zero.
- A formula may stand between the two convolutions if it is finite for finite arguments. With 1 / x
  the dead channel would become infinite, and its product with a zero weight NaN.

The channels stay, so that no shape changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.dimensions import is_dynamic
from ..ir.evaluation import expand
from ..ir.expr import Call, Expr, Num, walk
from ..ir.graph import Constant, constant
from ..ir.ops import Conv, Pointwise
from ..ir.types import MAP_RANK

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from .rule import Context

LEAST = float(np.finfo(np.float32).tiny)
FINITE = ("add", "sub", "mul", "neg", "abs", "min", "max", "tanh")  # at finite arguments


def drop_dead_channels(graph: Graph, context: Context) -> Graph:
    """Zero the weights of every convolution that are too small or that nothing reads."""
    alive = _alive(graph)
    made: dict[tuple[Constant, bytes], Constant] = {}  # convolutions may share weights

    def without(value: Constant, dead: np.ndarray) -> Constant:
        """Return weights or biases with zeros for those of dead channels and those too small."""
        if value.magnitudes[0] >= LEAST and not dead.any():
            return value
        key = value, dead.tobytes()
        if key not in made:
            kept = np.where(np.abs(value.data) < LEAST, np.zeros_like(value.data), value.data)
            kept[dead] = 0.0
            same = np.count_nonzero(kept) == np.count_nonzero(value.data)
            made[key] = value if same else constant(kept, value.name)
        return made[key]

    def rewrite(now: Node, was: Node) -> Node | None:
        found = _parameters(was)
        if not found:
            return None
        dead = ~alive[was.result] if was.result in alive else np.zeros(len(found[0].data), bool)
        kept = [without(value, dead) for value in found]
        if kept == found:
            return None
        zeros = sum(np.count_nonzero(a.data) - np.count_nonzero(b.data)
                    for a, b in zip(found, kept, strict=True))  # fmt: skip
        tiny = sum(np.count_nonzero((v.data != 0) & (np.abs(v.data) < LEAST)) for v in found)
        unread = np.count_nonzero(dead)
        why = f"{tiny} weights are below {LEAST:.3g}; {unread} channels are never read"
        context.explain("drop dead channels", now.name, f"{zeros} weights become zero", why)
        return now.reading((now.inputs[0], *kept))

    return graph.rewrite(rewrite)


def _parameters(node: Node) -> list[Constant]:
    """Return the weights and the bias of a convolution if they are constant and finite."""
    if not isinstance(node.op, Conv):
        return []
    found = [v for v in node.inputs[1:] if isinstance(v, Constant) and v.type.dtype == "float32"]
    whole = len(found) == len(node.inputs) - 1 and all(v.magnitudes[1] < np.inf for v in found)
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
    return {v: channels for v, channels in alive.items() if len(channels) > 1}


def _every(value: Value) -> np.ndarray:
    """Return that all channels matter; one stands for all where there is no number of them."""
    known = value.type.rank == MAP_RANK and not is_dynamic(value.shape[1])
    return np.ones(value.shape[1] if known else 1, bool)


def _read(node: Node, position: int, alive: dict[Value, np.ndarray]) -> np.ndarray:
    """Return which channels of an operand matter to what matters of the node's result."""
    value, result = node.inputs[position], node.results[0]
    every = _every(value)
    if len(node.results) != 1 or len(every) == 1 or result not in alive:
        return every
    if position == 0 and isinstance(node.op, Conv) and node.op.groups == 1:
        for weights in _parameters(node)[:1]:
            if weights.magnitudes[0] >= LEAST:
                return every & alive[result].any()
            matters: np.ndarray = (np.abs(weights.data[alive[result]]) >= LEAST).any(axis=(0, 2, 3))
            return matters
    through = isinstance(node.op, Pointwise) and _is_finite(node.op.expr)
    return alive[result] if through and len(alive[result]) == len(every) else every


def _is_finite(formula: Expr) -> bool:
    """Whether a formula has finite values for finite arguments, as far as floats reach."""
    parts = list(walk(expand(formula)))
    calls = [e for e in parts if isinstance(e, Call)]
    numbers = [e.value for e in parts if isinstance(e, Num)]
    return all(e.function in FINITE for e in calls) and all(np.isfinite(numbers))
