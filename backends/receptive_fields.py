"""The member ``receptive_field`` of a schedule's outputs: by how much tiles need to overlap."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..passes.reach import Unbounded
from ..passes.reach_of_graphs import reaches
from .picture_axes import picture_axes

if TYPE_CHECKING:
    from ..ir.graph import Graph, Output
    from ..passes.reach import Reach
    from .picture_axes import PictureAxes

LARGEST = 16384  # number in the member, as no texture is larger


def receptive_field_members(graph: Graph) -> dict[str, dict[str, Any]]:
    """Return the member of each output by name; none for models of several inputs or of no picture.

    Args:
        graph: after the mathematical passes.
    """
    found = picture_of(graph)
    if found is None:
        return {}
    (source,) = graph.inputs
    port = source.port
    rows = reaches(graph, source, port.axes[found.row])
    columns = reaches(graph, source, port.axes[found.column])
    members = {}
    for output in graph.outputs:
        row, column = (
            known.get(output.value) or Unbounded(output.name) for known in (rows, columns)
        )
        member: dict[str, Any] = {"input": source.name}
        if isinstance(row, Unbounded):
            member["unbounded_by"] = row.layer
        elif isinstance(column, Unbounded):
            member["unbounded_by"] = column.layer
        else:
            member["height"] = _axis(row, output, found.row)
            member["width"] = _axis(column, output, found.column)
            if not (_fits(member["height"]) and _fits(member["width"])):
                member = {"input": source.name, "unbounded_by": output.name}
        members[output.name] = member
    return members


def picture_of(graph: Graph) -> PictureAxes | None:
    """Return the axes of a graph's only input, if it is a picture, in the model's own order."""
    if len(graph.inputs) != 1:
        return None
    (source,) = graph.inputs
    return picture_axes([source.shape[a] for a in source.port.axes], source.port.axes)


def _fits(axis: dict[str, Any]) -> bool:
    numbers = (*axis["scale"], axis["before"], axis["after"], axis["period"])
    return all(number <= LARGEST for number in numbers)


def _axis(reach: Reach, output: Output, source: int) -> dict[str, Any]:
    """Return one axis: element i reads floor(scale * i) - before to floor(scale * i) + after."""
    dropped = 1 - Fraction(1, reach.scale.denominator)  # by floor(scale * i), at most
    return {
        "input_axis": source,
        "output_axis": output.port.axes.index(reach.axis),
        "scale": [reach.scale.numerator, reach.scale.denominator],
        "before": max(0, -math.floor(reach.low)),
        "after": max(0, math.ceil(reach.high + dropped)),
        "period": reach.period.numerator,
    }
