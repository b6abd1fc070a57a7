"""Indices that differ from the reference's: is it rounding that chose among nearly equal scores?

ArgMax and TopK pick among scores by comparing them. Where two scores are equal but for rounding,
either index is right. So what counts is the score at each of the two indices, as the interpreter
(``ir.reference``) computes it in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir import reference as interpreter
from ..ir.graph import Constant, Graph, Input, Output, Port, Result
from ..ir.ops import ArgMax, Movement, Pointwise, Sorted, SortOrder
from ..records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..ir.graph import Value


@dataclass(frozen=True)
class Pick:
    """The operation that computed an output's indices.

    Attributes:
        scores: what was compared.
        axes: of the scores, the last ones of ``rows``; an index counts along them together.
        row: the row of scores that each element of the output is about, in its logical shape.
    """

    scores: Value
    axes: tuple[int, ...]
    row: NDArray[Any]

    @property
    def layer(self) -> str:
        """The layer that computes the scores."""
        return _layer(self.scores)

    def rows(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return scores as (rows, choices)."""
        rest = [a for a in range(scores.ndim) if a not in self.axes]
        choices = int(np.prod([scores.shape[a] for a in self.axes]))
        rows: NDArray[Any] = scores.transpose(*rest, *self.axes).reshape(-1, choices)
        return rows


def find_pick(value: Value) -> Pick | None:
    """Return the comparison that a tensor holds indices of; None where it is something else."""
    moves: list[Any] = []
    while isinstance(value, Result):
        op, inputs = value.node.op, value.node.inputs
        if isinstance(op, ArgMax):
            axes = tuple(sorted(op.axes))
            shape = value.shape
            row = np.arange(int(np.prod(shape))).reshape(shape)
            return _moved(Pick(inputs[0], axes, row), moves)
        if isinstance(op, Sorted):
            return _moved(_sorted(value, op), moves)
        if not isinstance(op, (Movement, Pointwise)) or len(inputs) != 1:
            return None
        moves.append(op)
        value = inputs[0]
    return None


def _sorted(value: Result, op: Sorted) -> Pick | None:
    """Return the values by which a TopK chose its indices."""
    index, order = value.node.inputs
    if not (
        isinstance(index, Constant)
        and isinstance(order, Result)
        and isinstance(order.node.op, SortOrder)
        and np.array_equal(index.data.ravel(), np.arange(order.shape[op.axis]))
    ):
        return None
    shape = list(value.shape)
    shape[op.axis] = 1
    row = np.arange(int(np.prod(shape))).reshape(shape)
    return Pick(order.node.inputs[0], (op.axis,), np.broadcast_to(row, value.shape))


def _moved(pick: Pick | None, moves: list[Any]) -> Pick | None:
    """Follow indices through movement, and formulas that change none: casts."""
    if pick is None:
        return None
    row = pick.row
    indices = np.arange(np.prod([pick.scores.shape[a] for a in pick.axes]))
    for op in reversed(moves):
        if isinstance(op, Movement):
            if not op.zero_filled().reference(np.ones(row.shape)).all():
                return None  # some elements are no indices
            row = op.reference(row)
        elif not np.array_equal(op.reference(indices), indices):
            return None
    return Pick(pick.scores, pick.axes, row)


def only_ties(
    pick: Pick,
    graph: Graph,
    inputs: Mapping[str, NDArray[Any]],
    wanted: NDArray[Any],
    found: NDArray[Any],
    tolerance: float,
) -> bool:
    """Whether two tensors of indices differ only where scores are equal within a tolerance.

    Args:
        pick: what the indices came from.
        graph: as imported, of which the scores are a tensor.
        inputs: in the model's own axis order.
        wanted: the reference's indices, in the output's logical shape.
        found: those of the build.
        tolerance: of scores, in max(1, max|score|).
    """
    if isinstance(pick.scores, Input) or pick.scores.type.dtype != "float32":
        return False  # nothing was rounded before the comparison
    choices = int(np.prod([pick.scores.shape[a] for a in pick.axes]))
    first, second = (np.rint(np.nan_to_num(a, nan=-1)).astype(np.int64) for a in (wanted, found))
    if not all(bool(((i >= 0) & (i < choices)).all()) for i in (first, second)):
        return False
    if np.unique(pick.row * choices + first).size != np.unique(pick.row * choices + second).size:
        return False  # one choice stands twice
    part = Graph(graph.name, graph.inputs, (_as_output(pick.scores),))
    logical = interpreter.as_logical(graph, inputs)
    scores = pick.rows(interpreter.evaluate_graph(part, logical)["scores"])
    ours, theirs = scores[pick.row, second], scores[pick.row, first]
    finite = scores[np.isfinite(scores)]
    bound = tolerance * max(1.0, float(np.abs(finite).max(initial=0)))
    with np.errstate(invalid="ignore"):  # infinity less infinity
        return bool(((ours == theirs) | (np.abs(ours - theirs) <= bound)).all())


def _as_output(value: Value) -> Output:
    return Output("scores", value, Port.plain(value.type.rank))


def scores_behind(value: Value) -> str:
    """Return the nearest layer behind integers that computes real numbers; "" for none."""
    reached = {value: None}
    waiting = [value]
    for nearest in waiting:
        if not isinstance(nearest, Result):
            continue
        if nearest.type.dtype == "float32":
            return _layer(nearest)
        new = [v for v in nearest.node.inputs if v not in reached]
        reached.update(dict.fromkeys(new))
        waiting += new
    return ""


def _layer(value: Value) -> str:
    if not isinstance(value, Result):
        return value.name
    return value.node.layers[-1] if value.node.layers else value.name
