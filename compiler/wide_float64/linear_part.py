"""The linear part of a graph: of f(x) = L(x) + c, the graph of L.

It gives f(x + z) = f(x) + L(z) and L(2z) = 2 L(z). The linear part of an operator follows from its
operands' linear parts:

    formula                       its slope by each operand that has a linear part, times that
    movement                      moved; joined with zeros, filled with zeros
    gather                        gathered by the same indices
    sum, mean                     the sum, the mean
    product, convolution          of the one operand that has a linear part; no bias

Other operators are decomposed. Not linear are formulas whose slope depends on x, products of two
operands with linear parts, and extrema.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...ir.algebra import affine, fold
from ...ir.expr import Call, Expr, Var, variables
from ...ir.graph import Graph, Node, Output, Port, Result, Value, apply, constant
from ...ir.ops import Conv, Gather, MatMul, Movement, Pointwise, Reduce
from ...records import replace

if TYPE_CHECKING:
    from ...ir.ops import Op

Parts = dict[Value, Value]
Rule = Callable[[Any, Node, Parts], Value]


def linear_part(graph: Graph, names: Collection[str]) -> Graph:
    """Return the linear part of a graph in some of its inputs, the others taken as given.

    Args:
        graph: of any operators.
        names: the inputs x.

    Returns:
        A graph of the same inputs, with those outputs that depend on x.

    Raises:
        ShadergenError: SG0202 naming an operator that is not linear; also where nothing depends on
            them.
    """
    parts: Parts = {i: i for i in graph.inputs if i.name in names}
    for output in graph.outputs:
        _extend(output.value, parts)
    outputs = tuple(replace(o, value=parts[o.value]) for o in graph.outputs if o.value in parts)
    if not outputs:
        raise ShadergenError("SG0202", "no output depends on this input")
    return Graph(graph.name, graph.inputs, outputs)


def _extend(value: Value, parts: Parts) -> None:
    """Add the linear parts of everything that a value is computed from, and its own."""
    for node in Graph("", (), (Output("", value, Port.plain(value.type.rank)),)).nodes:
        if parts.keys().isdisjoint(node.inputs) or not parts.keys().isdisjoint(node.results):
            continue
        rule = _rule(node.op)
        if len(node.results) > 1 or node.result.type.dtype != "float32":
            raise _not_linear(node)
        if rule is not None:
            parts[node.result] = rule(node.op, node, parts)
            continue
        simpler = node.op.decompose(*node.inputs)
        if not isinstance(simpler, Result):
            raise _not_linear(node)
        _extend(simpler, parts)
        parts[node.result] = parts[simpler]


def _not_linear(node: Node) -> ShadergenError:
    kind = type(node.op).__name__
    text = f"'{node.op.expr}'" if isinstance(node.op, Pointwise) else kind
    return ShadergenError("SG0202", f"{text} is not linear", where=f"{node.name} ({kind})")


def _pointwise(op: Pointwise, node: Node, parts: Parts) -> Value:
    names = [f"x{i}" for i, v in enumerate(node.inputs) if v in parts]
    rest, total = op.expr, None
    for name in names:
        line = affine(rest, name)
        if line is None or not set(names).isdisjoint(variables(line[0])):
            raise _not_linear(node)
        slope, rest = line
        term: Expr = Call("mul", (slope, Var(name)))
        total = term if total is None else Call("add", (total, term))
    assert total is not None
    operands = (parts.get(v, v) for v in node.inputs)
    return apply(Pointwise(fold(total)), *operands, layer=node.layers)


def _moved(op: Movement, node: Node, parts: Parts) -> Value:
    operands = (parts[v] if v in parts else _zeros(v) for v in node.inputs)
    return apply(op.zero_filled(), *operands, layer=node.layers)


def _zeros(like: Value) -> Value:
    return constant(np.zeros(like.shape, np.float32), "zeros")


def _in_first(op: Op, node: Node, parts: Parts) -> Value:
    x, *others = node.inputs
    if not parts.keys().isdisjoint(others):
        raise _not_linear(node)
    return apply(op, parts[x], *others, layer=node.layers)


def _reduce(op: Reduce, node: Node, parts: Parts) -> Value:
    if op.kind not in ("sum", "mean") or op.element != Var("x0"):
        raise _not_linear(node)
    return _in_first(op, node, parts)


def _matmul(op: MatMul, node: Node, parts: Parts) -> Value:
    if all(v in parts for v in node.inputs):
        raise _not_linear(node)
    return apply(op, *(parts.get(v, v) for v in node.inputs), layer=node.layers)


def _conv(op: Conv, node: Node, parts: Parts) -> Value:
    x, weights, *bias = node.inputs
    given = parts.keys().isdisjoint((weights, *bias))
    if x not in parts or not given or op.pad_value or op.zero_guard:
        raise _not_linear(node)
    return apply(op, parts[x], weights, layer=node.layers)


RULES: dict[type[Op], Rule] = {
    Conv: _conv,
    Gather: _in_first,
    MatMul: _matmul,
    Movement: _moved,
    Pointwise: _pointwise,
    Reduce: _reduce,
}


def _rule(op: Op) -> Rule | None:
    """Return the rule of an operator's class or of a base class."""
    return next((RULES[kind] for kind in type(op).__mro__ if kind in RULES), None)
