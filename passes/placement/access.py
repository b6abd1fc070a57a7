"""Access patterns: the texels that four neighbours along the result's lane axis load.

An invocation computes four neighbours at once. A load is

- **uniform** if its index does not depend on the result's lane axis: all lanes read one element;
- **aligned** if the four lanes read one whole texel, along the operand's own lane axis;
- **shifted** if, of each source, they read consecutive elements along this axis which begin at the
  same lane of a texel everywhere: they lie in two texels;
- **scattered** otherwise: each lane reads an element of its own.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...ir.algebra import affine
from ...ir.dimensions import is_dynamic
from ...ir.evaluation import evaluate_formula
from ...ir.expr import Call, Expr, Num, variables
from ...ir.indexing import coordinates
from ...ir.types import LANES
from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ...ir.indexing import Load, Source
    from ...ir.types import TensorType

    Types = Sequence[TensorType] | Mapping[int, TensorType]  # of operands, by number

Kind = Literal["uniform", "aligned", "shifted", "scattered"]


def lane_coordinate(t: TensorType) -> str:
    """Return the coordinate that differs between the four elements of a result's texel."""
    return coordinates(max(t.rank, 1))[t.lane_axis].name


@dataclass(frozen=True)
class Access:
    """The result's lane axis, which decides the access pattern of loads.

    Attributes:
        lane: the variable of the result's lane axis.
        lanes: its size.
        varying: bindings, by name, that differ between the four lanes.
    """

    lane: str
    lanes: int
    varying: set[str] = field(default_factory=set)

    def depends(self, exprs: Iterable[Expr]) -> bool:
        """Whether any expression differs between the four lanes."""
        return any(
            name == self.lane or name in self.varying for e in exprs for name in variables(e)
        )

    def kind(self, sources: Sequence[Source], types: Types) -> Kind:
        """Return the access pattern of a load; ``types`` are the operands' types."""
        if not any(self.depends((*s.index, *s.valid)) for s in sources):
            return "uniform"
        if all(self.aligned(s, types[s.operand]) for s in sources):
            return "aligned"
        shifted = all(self.shifted(s, types[s.operand]) for s in sources)
        return "shifted" if shifted else "scattered"

    def aligned(self, source: Source, t: TensorType) -> bool:
        """Whether a source is read in whole texels."""
        between = (_between_texels(v, self.lane, self.lanes) for v in source.valid)
        return self.shift(source, t) == 0 and all(between)

    def shifted(self, source: Source, t: TensorType) -> bool:
        """Whether a source is read in consecutive elements, by consecutive lanes."""
        return self.shift(source, t) is not None and self.span(source) is not None

    def shift(self, source: Source, t: TensorType) -> int | None:
        """Return in which lane of a texel the first of four lanes reads.

        None if the four do not read consecutive elements, or not from the same lane everywhere.
        """
        axis = t.lane_axis
        if t.rank == 0 or self.depends(e for k, e in enumerate(source.index) if k != axis):
            return None
        line = affine(source.index[axis], self.lane)
        return _remainder(line[1], self.varying) if line and line[0] == Num(1.0) else None

    def span(self, source: Source) -> tuple[int, int] | None:
        """Return the start and the end of the lanes for which a source's conditions can hold.

        None if there are gaps, or if a condition joins the lane axis with other variables.
        """
        on_lanes = [v for v in source.valid if self.depends((v,))]
        if not on_lanes:
            return 0, self.lanes
        if is_dynamic(self.lanes) or any(set(variables(v)) != {self.lane} for v in on_lanes):
            return None
        holds = np.all([_holds(v, self.lane, self.lanes) for v in on_lanes], axis=0)
        places = np.flatnonzero(holds)
        if not places.size or np.diff(places).max(initial=1) > 1:
            return None
        return int(places[0]), int(places[-1]) + 1

    def along(self, counter: str, load: Load, types: Types, data: Collection[str] = ()) -> bool:
        """Whether a uniform load walks along its operand's own lanes with a loop counter.

        ``data`` are the bindings whose values are data. The answer is no if one of them is part of
        the index.
        """
        if len(load.sources) != 1 or load.sources[0].valid:
            return False
        (source,) = load.sources
        own = Access(counter, 0, self.varying)
        return (
            source.variables.isdisjoint(data)
            and not self.depends(source.index)
            and own.aligned(source, types[source.operand])
        )


def _remainder(offset: Expr, varying: set[str]) -> int | None:
    """Return an offset modulo four; None if it is not sure to be the same everywhere."""
    if isinstance(offset, Num):
        return int(offset.value % LANES)
    if not isinstance(offset, Call) or any(v in varying for v in variables(offset)):
        return None
    parts = [_remainder(a, varying) for a in offset.args]
    if offset.function == "mul" and 0 in parts:
        return 0
    if offset.function not in ("add", "sub") or None in parts:
        return None
    a, b = (part or 0 for part in parts)
    return (a + b if offset.function == "add" else a - b) % LANES


def _between_texels(condition: Expr, lane: str, size: int) -> bool:
    """Whether a condition on the lane axis changes only where one texel follows another."""
    names = variables(condition)
    if lane not in names:
        return True
    if names != (lane,) or is_dynamic(size):
        return False
    return not any((np.flatnonzero(np.diff(_holds(condition, lane, size))) + 1) % LANES)


def _holds(condition: Expr, lane: str, size: int) -> np.ndarray:
    """Return for which lanes a condition on the lane axis holds."""
    found = np.asarray(evaluate_formula(condition, {lane: np.arange(size)})) != 0
    return np.broadcast_to(found, (size,))
