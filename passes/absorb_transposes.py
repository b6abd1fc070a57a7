"""Move transposes to the border of the graph and let the ports carry them.

transpose(input) = an input whose port permutes differently; likewise before an output. On the way
there, transpose(f(x)) = f(transpose(x)) for element-wise f of one tensor, where x comes from an
input that way; elsewhere f(transpose(x), transpose(y)) = transpose(f'(x, y)) for every f that says
what f' is (``Op.permuted``), so that the two directions never meet. A reshape that only moves axes
of size 1 is a transpose. Models exported from an NHWC framework are full of these.

Refused when a transposed value is read elsewhere too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InternalError
from ..ir.graph import Constant, Graph, Input, Node, Output, Port, Result, Value, apply, constant
from ..ir.ops import Pointwise, Reshape, Transpose
from ..ir.types import TensorType
from ..records import replace
from .drop_identities import IDENTITY, RESHAPES, TRANSPOSES
from .rule import MIN_ROUNDS, Rule, always, apply_rules

if TYPE_CHECKING:
    from ..ir.ops import Op
    from .rule import Context, Site

MOVED = "the transpose becomes part of the axis order of the input or output: {}"


def absorb_transposes(graph: Graph, context: Context) -> Graph:
    """Move transposes outwards, then into the ports."""
    for _ in range(MIN_ROUNDS + len(graph.nodes)):
        before = graph
        graph = apply_rules(
            graph, context, AS_TRANSPOSE, HOIST, SINK, TRANSPOSES, RESHAPES, IDENTITY
        )
        graph = _absorb_inputs(graph, context)
        graph = _absorb_outputs(graph, context)
        if graph is before:
            return graph
    raise InternalError("absorb transposes: no fixpoint")


def _as_transpose(site: Site) -> Value | None:
    """Recognise a reshape that moves axes of size 1 only."""
    node = site.node
    if not isinstance(node.op, Reshape):
        return None
    (x,) = node.inputs
    old, new = x.shape, node.op.shape
    if len(old) != len(new) or old == new:
        return None
    if [s for s in old if s != 1] != [s for s in new if s != 1]:
        return None
    wide = iter([a for a, s in enumerate(old) if s != 1])
    unit = iter([a for a, s in enumerate(old) if s == 1])
    axes = tuple(next(unit) if s == 1 else next(wide) for s in new)
    return apply(Transpose(axes), x, layer=node.layers)


def _varying(node: Node) -> Value | None:
    """Return the only operand of a pointwise node that is not constant and has its full shape."""
    if not isinstance(node.op, Pointwise):
        return None
    varying = [v for v in node.inputs if not isinstance(v, Constant)]
    if len(varying) != 1 or varying[0].shape != node.result.shape:
        return None
    return varying[0]


def _from_input(value: Value) -> bool:
    """Whether only pointwise nodes and transposes stand between a graph input and the value."""
    while isinstance(value, Result):
        node = value.node
        before = node.inputs[0] if isinstance(node.op, Transpose) else _varying(node)
        if before is None:
            return False
        value = before
    return isinstance(value, Input)


def _hoist(site: Site) -> Value | None:
    node = site.node
    if not isinstance(node.op, Transpose) or not isinstance(node.inputs[0], Result):
        return None
    inner = node.inputs[0].node
    x = _varying(inner)
    if x is None or site.uses[0] != 1 or not _from_input(x):
        return None
    axes = node.op.axes
    moved = apply(Transpose(axes), x, layer=node.layers)
    return _on_transposed(inner, inner.op, {x: moved}, axes)


def _sink(site: Site) -> Value | None:
    node = site.node
    moved: dict[Value, Value] = {}
    axes: tuple[int, ...] = ()
    layers: tuple[str, ...] = ()
    for v, uses in zip(node.inputs, site.uses, strict=True):
        if isinstance(v, Constant):
            continue
        if not isinstance(v, Result) or not isinstance(v.node.op, Transpose):
            return None
        if axes not in ((), v.node.op.axes) or uses > sum(i is v for i in node.inputs):
            return None
        axes, layers = v.node.op.axes, v.node.layers
        moved[v] = v.node.inputs[0]
    if not moved or len(axes) != node.result.type.rank or all(map(_from_input, moved)):
        return None
    op = node.op.permuted(axes)
    whole = isinstance(op, Pointwise) or not any(isinstance(v, Constant) for v in node.inputs)
    if op is None or not whole:
        return None
    back = tuple(int(a) for a in np.argsort(axes))
    y = _on_transposed(node, op, moved, back)
    return apply(Transpose(axes), y, layer=layers)


def _on_transposed(node: Node, op: Op, moved: dict[Value, Value], axes: tuple[int, ...]) -> Value:
    """Apply an operator to transposed operands and constants."""
    operands: list[Value] = []
    for v in node.inputs:
        if isinstance(v, Constant):
            wide = v.data.reshape((1,) * (len(axes) - v.data.ndim) + v.data.shape)
            operands.append(constant(wide.transpose(axes), v.name))
        else:
            operands.append(moved[v])
    return apply(op, *operands, layer=node.layers)


AS_TRANSPOSE = Rule("reshape as transpose", _as_transpose, always, lambda value: value)
HOIST = Rule("hoist transpose", _hoist, always, lambda value: value)
SINK = Rule("sink transpose", _sink, always, lambda value: value)


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
        context.explain("absorb transposes", i.name, MOVED.format(port.axes))
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
            context.explain("absorb transposes", o.name, MOVED.format(port.axes))
        outputs.append(o)
    if all(a is b for a, b in zip(outputs, graph.outputs, strict=True)):
        return graph
    return Graph(graph.name, graph.inputs, tuple(outputs))
