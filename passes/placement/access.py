"""Access patterns: the texels that four neighbours along the result's lane axis load.

An invocation computes four neighbours at once. A load is

- **uniform** if its index does not depend on the result's lane axis: all lanes read one element;
- **aligned** if the four lanes read one whole texel, along the operand's own lane axis;
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

Kind = Literal["uniform", "aligned", "scattered"]


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
        aligned = all(self.aligned(s, types[s.operand]) for s in sources)
        return "aligned" if aligned else "scattered"

    def aligned(self, source: Source, t: TensorType) -> bool:
        """Whether a source is read in whole texels."""
        axis = t.lane_axis
        if t.rank == 0 or self.depends(e for k, e in enumerate(source.index) if k != axis):
            return False
        line = affine(source.index[axis], self.lane)
        if line is None or line[0] != Num(1.0) or not _whole_texels(line[1], self.varying):
            return False
        return all(_between_texels(v, self.lane, self.lanes) for v in source.valid)

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


def _whole_texels(offset: Expr, varying: set[str]) -> bool:
    """Whether an offset is surely a multiple of four, the same for all lanes."""
    if isinstance(offset, Num):
        return offset.value % LANES == 0
    if not isinstance(offset, Call) or any(v in varying for v in variables(offset)):
        return False
    parts = [_whole_texels(a, varying) for a in offset.args]
    if offset.function in ("add", "sub"):
        return all(parts)
    return offset.function == "mul" and any(parts)


def _between_texels(condition: Expr, lane: str, size: int) -> bool:
    """Whether a condition on the lane axis changes only where one texel follows another."""
    names = variables(condition)
    if lane not in names:
        return True
    if names != (lane,) or is_dynamic(size):
        return False
    holds = np.broadcast_to(
        np.asarray(evaluate_formula(condition, {lane: np.arange(size)})) != 0, (size,)
    )
    return not any((np.flatnonzero(np.diff(holds)) + 1) % LANES)
