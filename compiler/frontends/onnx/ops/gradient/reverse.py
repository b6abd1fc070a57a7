"""Gradients of tensors, as graphs: reverse-mode differentiation.

Of y = f(a, b, ...) and the gradient g of a number by y, those by a, b, ... follow:

    y = formula(a, ...)           g * (d formula / d a), summed over the axes that a is stretched by
    y = reshaped, transposed a    g moved back
    y = a stretched               g summed over the axes that a is stretched by
    y = a, b, ... joined          parts of g
    y = padded a, part of a       part of g, padded g
    y = a @ b                     g @ b', a' @ g
    y = sum, mean of a            g, g / count, stretched to the shape of a
    y = max, min of a             g / count of extremal elements, at these elements

Other operators are decomposed first. The gradients of a tensor's uses are summed.

Source: A. Griewank, A. Walther, Evaluating Derivatives (2008), chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from math import prod
from typing import Any

from ......errors import ShadergenError
from ......ir.expr import Call, Expr, Num, Var, named, substitute, variables
from ......ir.formula_parser import parse
from ......ir.graph import Graph, Node, Output, Port, Value, apply
from ......ir.ops import (
    Concat,
    Expand,
    MatMul,
    OnlineStatistics,
    Op,
    Pad,
    Pointwise,
    Reduce,
    Reshape,
    Slice,
    Transpose,
)
from .derivatives import NOTHING, derivative

Adjoint = Callable[[Any, Node, Value, int], Value]
# What messages call operators that ONNX does not have.
NAMES: dict[type[Op], str] = {Pointwise: "elementwise operators", Reduce: "reductions"}


def gradients(y: Value, xs: Collection[Value], seed: Value) -> dict[Value, Value]:
    """Return the gradients of sum(seed * y) by each of ``xs`` that y depends on.

    Args:
        y: of floats.
        xs: taken as independent of each other, even where one is computed from another.
        seed: of the shape of y.

    Raises:
        ShadergenError: SG0201 or SG0202 for what cannot be differentiated.
    """
    depends = set(xs)
    path = []
    for node in Graph("", (), (Output("y", y, Port.plain(y.type.rank)),)).nodes:
        if not depends.isdisjoint(node.inputs) and depends.isdisjoint(node.results):
            depends.update(v for v in node.results if v.type.dtype == "float32")
            path.append(node)
    found = {y: seed} if y in depends else {}
    for node in reversed(path):
        if found.keys().isdisjoint(node.results):
            continue  # piecewise constant
        for operand, part in _pulled(node, found, depends):
            so_far = found.get(operand)
            found[operand] = part if so_far is None else apply(SUM, so_far, part, layer=node.layers)
    return {x: found[x] for x in xs if x in found}


SUM = Pointwise(parse("x0 + x1"))


def _pulled(
    node: Node, found: dict[Value, Value], depends: set[Value]
) -> Iterator[tuple[Value, Value]]:
    """Yield the operands of a node and what its results add to the gradients by them."""
    single = len(node.results) == 1
    rule = ADJOINTS.get(type(node.op))
    simpler = _simpler(node) if single and rule is None else None
    if rule is not None:
        for position, operand in enumerate(node.inputs):
            if operand in depends and not _level(node, position):
                yield operand, rule(node.op, node, found[node.result], position)
    elif isinstance(simpler, Value):
        inputs = {v: None for v in node.inputs if v in depends}
        yield from gradients(simpler, inputs, found[node.result]).items()
    else:
        raise ShadergenError(
            "SG0201",
            f"the gradient through {type(node.op).__name__} is not implemented",
            where=node.name,
            supported=", ".join(sorted(NAMES.get(op, op.__name__) for op in ADJOINTS))
            + ", and compositions of these",
        )


def _simpler(node: Node) -> Any:
    """Return what an operator is composed of, with a gradient by each of its statistics."""
    if isinstance(node.op, OnlineStatistics):
        return _singly(node.op, *node.inputs)
    return node.op.decompose(*node.inputs)


def _singly(op: OnlineStatistics, x: Value) -> Value:
    """Return both statistics of an operator, each as a reduction."""
    assert not op.merge  # which only its decomposition has
    mean = op.kind == "mean_variance"
    term = parse("square(x0 - x1)" if mean else "exp(x0 - x1)")
    first = apply(Reduce("mean" if mean else "max", op.axes), x)
    second = apply(Reduce("mean" if mean else "sum", op.axes, element=term), x, first)
    return apply(Concat(op.axes[-1]), first, second)


def _level(node: Node, position: int) -> bool:
    """Whether a formula does not change with an operand, but for its steps."""
    op, name = node.op, f"x{position}"
    expr = op.expr if isinstance(op, Pointwise) else op.element if isinstance(op, Reduce) else None
    return expr is not None and derivative(expr, name) == NOTHING


def _apply(op: Op, node: Node, *operands: Value) -> Value:
    return apply(op, *operands, layer=node.layers)


def _summed(node: Node, value: Value, shape: tuple[int, ...]) -> Value:
    """Sum over the axes along which ``shape`` was stretched."""
    rank = value.type.rank
    own = (1,) * (rank - len(shape)) + shape
    axes = tuple(a for a in range(rank) if own[a] == 1 and value.shape[a] > 1)
    if axes:
        value = _apply(Reduce("sum", axes), node, value)
    return value if value.shape == shape else _apply(Reshape(shape), node, value)


def _stretched(node: Node, value: Value, shape: tuple[int, ...]) -> Value:
    return value if value.shape == shape else _apply(Expand(shape), node, value)


def _times(node: Node, slope: Expr, operands: tuple[Value, ...], g: Value) -> Value:
    """Return slope(x0, x1, ...) * g."""
    names = [f"x{k}" for k in range(len(operands)) if f"x{k}" in variables(slope)]
    renamed: dict[str, Expr] = {name: Var(f"x{k}") for k, name in enumerate(names)}
    product = Call("mul", (substitute(slope, renamed), Var(f"x{len(names)}")))
    used = (named(operands)[name] for name in names)
    return g if slope == Num(1.0) else _apply(Pointwise(product), node, *used, g)


def _pointwise(op: Pointwise, node: Node, g: Value, position: int) -> Value:
    slope = derivative(op.expr, f"x{position}")
    return _summed(node, _times(node, slope, node.inputs, g), node.inputs[position].shape)


def _reshape(op: Reshape, node: Node, g: Value, position: int) -> Value:
    return _apply(Reshape(node.inputs[0].shape), node, g)


def _transpose(op: Transpose, node: Node, g: Value, position: int) -> Value:
    return _apply(Transpose(tuple(op.axes.index(a) for a in range(len(op.axes)))), node, g)


def _expand(op: Expand, node: Node, g: Value, position: int) -> Value:
    return _summed(node, g, node.inputs[0].shape)


def _concat(op: Concat, node: Node, g: Value, position: int) -> Value:
    starts = [0] * g.type.rank
    starts[op.axis] = sum(v.shape[op.axis] for v in node.inputs[:position])
    sizes = node.inputs[position].shape
    return _apply(Slice(tuple(starts), (1,) * len(sizes), sizes), node, g)


def _pad(op: Pad, node: Node, g: Value, position: int) -> Value:
    if op.mode != "constant":
        raise ShadergenError(
            "SG0201", f"the gradient through Pad in mode {op.mode} is not implemented"
        )
    return _apply(Slice(op.before, (1,) * len(op.before), node.inputs[0].shape), node, g)


def _slice(op: Slice, node: Node, g: Value, position: int) -> Value:
    if any(s != 1 for s, size in zip(op.steps, op.sizes, strict=True) if size > 1):
        raise ShadergenError(
            "SG0201", f"the gradient through Slice with steps {op.steps} is not implemented"
        )
    shape = node.inputs[0].shape
    ends = (a + size for a, size in zip(op.starts, op.sizes, strict=True))
    return _apply(Pad(op.starts, tuple(s - e for s, e in zip(shape, ends, strict=True))), node, g)


def _matmul(op: MatMul, node: Node, g: Value, position: int) -> Value:
    a, b = node.inputs
    if min(a.type.rank, b.type.rank) < 2:
        raise ShadergenError("SG0201", "the gradient through MatMul of a vector is not implemented")
    other = _flipped(node, (b, a)[position])
    product = (g, other) if position == 0 else (other, g)
    return _summed(node, _apply(MatMul(), node, *product), node.inputs[position].shape)


def _flipped(node: Node, matrices: Value) -> Value:
    rank = matrices.type.rank
    return _apply(Transpose((*range(rank - 2), rank - 1, rank - 2)), node, matrices)


def _reduce(op: Reduce, node: Node, g: Value, position: int) -> Value:
    """A reduction of a formula of its operands."""
    plain = Pointwise(op.element)
    alone = op.element == Var("x0") and len(node.inputs) == 1
    e = node.inputs[0] if alone else _apply(plain, node, *node.inputs)
    kept = tuple(1 if a in op.axes else s for a, s in enumerate(e.shape))
    y, g = (v if v.shape == kept else _apply(Reshape(kept), node, v) for v in (node.result, g))
    if op.kind in EXTREMA and alone:  # a formula might not be computed twice the same
        those = _apply(Pointwise(parse("x0 == x1")), node, e, y)
        count = _apply(Reduce("sum", op.axes), node, those)
        g = _apply(Pointwise(parse("x0 * x1 / x2")), node, those, g, count)
    elif op.kind in FACTORS:
        names = {"n": Num(float(prod(e.shape) // prod(kept)))}
        factor = substitute(parse(FACTORS[op.kind]), names)
        g = _times(node, factor, (e, y), _stretched(node, g, e.shape))
    else:
        raise ShadergenError(
            "SG0201", f"the gradient through a {op.kind} reduction is not implemented"
        )
    pointwise = Node(plain, node.inputs, node.layers)
    return _pointwise(plain, pointwise, g, position)


EXTREMA = ("max", "min")
# The derivative of a reduction by an element x0, where it gives x1 and there are n.
FACTORS = {
    "sum": "1",
    "mean": "1 / n",
    "l1": "sign(x0)",
    "l2": "x0 / x1",
    "sum_square": "2 * x0",
    "log_sum": "exp(-x1)",
    "log_sum_exp": "exp(x0 - x1)",
}
ADJOINTS: dict[type[Op], Adjoint] = {
    Concat: _concat,
    Expand: _expand,
    MatMul: _matmul,
    Pad: _pad,
    Pointwise: _pointwise,
    Reduce: _reduce,
    Reshape: _reshape,
    Slice: _slice,
    Transpose: _transpose,
}
