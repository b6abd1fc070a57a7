"""Let the ports carry transposes at the border of the graph.

transpose(input) = an input whose port permutes differently; likewise before an output. Models
exported from an NHWC framework begin and end so. Refused when the input is also read untransposed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.graph import Graph, Input, Output, Port, Result, Value
from ..ir.ops import Transpose
from ..ir.types import TensorType

if TYPE_CHECKING:
    from .rule import Context


def absorb_transposes(graph: Graph, context: Context) -> Graph:
    """Move transposes of inputs and outputs into their ports."""
    graph = _absorb_inputs(graph, context)
    return _absorb_outputs(graph, context)


def _absorb_inputs(graph: Graph, context: Context) -> Graph:
    new: dict[Value, Input] = {}
    for i in graph.inputs:
        readers = [n for n in graph.nodes if any(v is i for v in n.inputs)]
        axes = {n.op.axes if isinstance(n.op, Transpose) else None for n in readers}
        read_as_output = any(o.value is i for o in graph.outputs)
        if len(axes) != 1 or None in axes or read_as_output:
            continue
        (perm,) = axes
        assert perm is not None
        # new = old.transpose(perm) and host = old.transpose(port): old axis a is new axis
        # perm.index(a), so host = new.transpose([perm.index(a) for a in port]).
        port = replace(i.port, axes=tuple(perm.index(a) for a in i.port.axes))
        shape = tuple(i.shape[a] for a in perm)
        new[i] = Input(TensorType(shape, i.type.dtype), i.name, port)
        context.explain("absorb transposes", i.name, f"the port permutes by {port.axes}")
    if not new:
        return graph
    forward = {n: new[n.inputs[0]] for n in graph.nodes if n.inputs and n.inputs[0] in new}
    rebuilt = graph.rewrite(lambda now, was: forward.get(was))
    return Graph(graph.name, tuple(new.get(i, i) for i in graph.inputs), rebuilt.outputs)


def _absorb_outputs(graph: Graph, context: Context) -> Graph:
    outputs: list[Output] = []
    for o in graph.outputs:
        value = o.value
        if isinstance(value, Result) and isinstance(value.node.op, Transpose):
            axes = value.node.op.axes
            port = Port(tuple(axes[a] for a in o.port.axes), o.port.encoding)
            o = Output(o.name, value.node.inputs[0], port)
            context.explain("absorb transposes", o.name, f"the port permutes by {port.axes}")
        outputs.append(o)
    if all(a is b for a, b in zip(outputs, graph.outputs, strict=True)):
        return graph
    return Graph(graph.name, graph.inputs, tuple(outputs))
