"""The receptive fields of a build's outputs, proven at two sizes of the input.

In a graph of one size, a number that the model computes from the picture's size looks like any
other: the scale of a resize with aligned corners, the first of the last 20 rows, the start of a
crop in the centre. What such numbers say of the receptive field is true at this size alone. So the
model is read again at a larger size, and what differs there is unbounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..backends.receptive_fields import picture_of, receptive_field_members
from ..errors import ShadergenError
from ..ir.dimensions import hint
from ..passes.reach import Reach
from ..passes.reach_of_graphs import reaches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..ir.graph import Graph, Output, Value

# Reads the model at another size: the input's name, shape in the model's order, height and width.
Larger = Callable[[str, tuple[int, ...], tuple[int, int]], "Graph"]
GROWTH = 64  # at least, of height and width: more than what a model divides its size by


def proven_members(graph: Graph, larger: Larger) -> dict[str, dict[str, Any]]:
    """Return the member ``receptive_field`` of each output by name.

    Args:
        graph: after the mathematical passes.
        larger: gives the same graph at another size, or raises ShadergenError.
    """
    members = receptive_field_members(graph)
    bounded = {name: m for name, m in members.items() if "height" in m}
    axes = picture_of(graph)
    if not bounded or axes is None:
        return members
    (source,) = graph.inputs
    shape = [int(hint(source.shape[a])) for a in source.port.axes]
    growth = {}
    for axis, side in ((axes.row, "height"), (axes.column, "width")):
        period = math.lcm(*(m[side]["period"] for m in bounded.values()))
        growth[axis] = -(-GROWTH // period) * period
        shape[axis] += growth[axis]
    try:
        other = larger(source.name, tuple(shape), (shape[axes.row], shape[axes.column]))
        others = receptive_field_members(other)
    except ShadergenError:  # the model has one size only
        other, others = None, {}
    for output in graph.outputs:
        member = members[output.name]
        if output.name not in bounded:
            continue
        if other is not None and others.get(output.name) == member:
            twin = next(o for o in other.outputs if o.name == output.name)
            if all(_grows(output, twin, member[s], growth) for s in ("height", "width")):
                continue
        layer = output.name if other is None else _differing(graph, other, output)
        members[output.name] = {"input": source.name, "unbounded_by": layer}
    return members


def _grows(output: Output, twin: Output, reach: Mapping[str, Any], growth: dict[int, int]) -> bool:
    """Whether the output at the larger size has as many more elements as the input."""
    axis = output.port.axes[reach["output_axis"]]
    p, q = reach["scale"]
    more = int(hint(twin.value.shape[axis])) - int(hint(output.value.shape[axis]))
    return bool(more * p == growth[reach["input_axis"]] * q)


def _differing(graph: Graph, other: Graph, output: Output) -> str:
    """Return the first layer before an output whose reach differs at another size."""
    before: set[Value] = {output.value}
    for node in reversed(graph.nodes):
        if not before.isdisjoint(node.results):
            before.update(node.inputs)
    axes = picture_of(graph)
    assert axes is not None
    pairs = []
    for axis in (axes.row, axes.column):
        found = []
        for each in (graph, other):
            (source,) = each.inputs
            known = reaches(each, source, source.port.axes[axis])
            found.append({n.name: known.get(n.result) for n in each.nodes})
        pairs.append(found)
    for node in graph.nodes:
        if before.isdisjoint(node.results):
            continue
        for own, twins in pairs:
            reach = own[node.name]
            if isinstance(reach, Reach) and reach != twins.get(node.name, reach):
                return node.name
    return output.name
