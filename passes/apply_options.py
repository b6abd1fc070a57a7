"""Build the user's options into the graph: output encodings and the zero guard.

An output y in "y2rg" becomes (max(y, 0), min(y, 0)), in "y2rg_half" (max(y, 0), max(-y, 0)), in
"unorm8" clamp(y, 0, 1). An output that is an input, a constant, or another output too is copied,
since every output needs a texture of its own. Convolutions take the zero guard as an attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShadergenError
from ..ir.formula_parser import parse
from ..ir.graph import Graph, Output, Result, Value, apply, constant
from ..ir.ops import Conv, Pointwise
from ..records import replace

if TYPE_CHECKING:
    from ..ir.graph import Node
    from .rule import Context


def apply_options(graph: Graph, context: Context) -> Graph:
    """Apply the target's encoding and guard.

    Raises:
        ShadergenError: SG0301 when an encoding for one channel meets an output with more.
    """
    guard = context.target.zero_guard

    def guarded(now: Node, was: Node) -> Node | None:
        if isinstance(now.op, Conv) and now.op.zero_guard != guard:
            return replace(now, op=replace(now.op, zero_guard=guard))
        return None

    graph = graph.rewrite(guarded)
    seen: set[Value] = set()
    outputs = []
    for o in graph.outputs:
        o = _encode(o, context)
        if not isinstance(o.value, Result) or o.value in seen:
            copied = Pointwise(parse("x0"), o.value.type.dtype)
            o = replace(o, value=apply(copied, o.value, layer=o.name))
        seen.add(o.value)
        outputs.append(o)
    if all(a is b for a, b in zip(outputs, graph.outputs, strict=True)):
        return graph
    return Graph(graph.name, graph.inputs, tuple(outputs))


def _encode(o: Output, context: Context) -> Output:
    encoding = context.target.output_encoding
    if encoding == o.port.encoding:
        return o
    context.explain("apply options", o.name, f"encoded as {encoding}")
    layers = o.value.node.layers if isinstance(o.value, Result) else (o.name,)
    if encoding == "unorm8":
        value = apply(Pointwise(parse("clamp(x0, 0, 1)")), o.value, layer=layers)
    else:
        if o.value.type.rank != 4 or o.value.shape[1] != 1:
            raise ShadergenError(
                "SG0301",
                f"--output-encoding {encoding} needs outputs of one channel",
                where=f"output '{o.name}' of {o.value.type}",
                supported="float, unorm8",
            )
        sign = 1.0 if encoding == "y2rg" else -1.0
        first = constant(np.array([1.0, 0.0]).reshape(1, 2, 1, 1), "first")
        second = constant(np.array([0.0, sign]).reshape(1, 2, 1, 1), "second")
        formula = parse("x1 * max(x0, 0) + x2 * min(x0, 0)")
        value = apply(Pointwise(formula), o.value, first, second, layer=layers)
    return Output(o.name, value, replace(o.port, encoding=encoding))
