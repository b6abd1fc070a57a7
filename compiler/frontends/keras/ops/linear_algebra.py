"""Operations that multiply and add up: products of matrices and vectors, equations, diagonals."""

from __future__ import annotations

from functools import partial
from string import ascii_letters
from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.expr import Num, substitute
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.ops import Einsum, Gather, MatMul, Pointwise, Reshape, Transpose, Trilu
from ..layers.attention import causal, shares, swapped
from ..layers.common import real
from ..layers.movement import reshape_all
from ..read.config import is_integer
from ..tensors import Tensor, of_model, own_order, plain, pointwise

if TYPE_CHECKING:
    from .....ir.graph import Value
    from ..layers.layer import Layer
    from .arguments import Arguments
    from .elementwise import Operation


def _matrix(layer: Layer, a: Arguments, position: int, *names: str) -> Value:
    """Return an operand, a tensor or an array, in the model's own order."""
    operand = a.operand(position, *names)
    if isinstance(operand, Tensor):
        return own_order(real(operand, layer.name), layer.name)
    return constant(np.asarray(operand, np.float32), f"{layer.name}/constant")


def matmul(layer: Layer, a: Arguments) -> Tensor:
    """Multiply matrices, either of them transposed."""
    operands = []
    for position, names, side in ((0, ("x1", "a", "x"), "a"), (1, ("x2", "b", "y"), "b")):
        x = _matrix(layer, a, position, *names)
        flip = a.flag(position + 2, False, f"transpose_{side}")
        if a.flag(None, False, f"adjoint_{side}") or flip:
            x = swapped(layer, x)
        operands.append(x)
    for name in ("a_is_sparse", "b_is_sparse", "output_type", "grad_a", "grad_b"):
        a.ignore(name)
    return of_model(layer.apply(MatMul(), *operands))


def einsum(layer: Layer, a: Arguments) -> Tensor:
    """Multiply and add up as an equation says."""
    named = a.value(None, "subscripts", "equation")
    start = 0 if isinstance(named, str) else 1
    equation = named if isinstance(named, str) else a.value(0, "equation")
    if not isinstance(equation, str):
        a.malformed("subscripts", "an equation")
    operands = [_matrix(layer, a, k, "operands") for k in range(start, len(a.args))]
    if not operands:
        raise ShadergenError(
            "SG0105",
            "argument 'inputs' is missing",
            where=layer.described,
            why="Keras 2 does not save the operands of tf.einsum",
            help="replace tf.einsum by tf.matmul, or rebuild the model in Keras 3 with "
            "keras.ops.einsum",
        )
    return of_model(layer.apply(Einsum(equation.replace(" ", "")), *operands))


def tensordot(layer: Layer, a: Arguments) -> Tensor:
    """Multiply and add up over axes of the first operand and as many of the second."""
    x, y = _matrix(layer, a, 0, "x1", "a"), _matrix(layer, a, 1, "x2", "b")
    ranks = x.type.rank, y.type.rank
    axes = a.value(2, "axes")
    axes = 2 if axes is None else axes
    if is_integer(axes) and 0 <= axes <= min(ranks):
        pairs = [(ranks[0] - axes + k, k) for k in range(axes)]
    elif isinstance(axes, list) and len(axes) == 2:
        sides = [[s] if is_integer(s) else s for s in axes]
        if len(sides[0]) != len(sides[1]):
            a.malformed("axes", "two lists of equal length")
        pairs = [(i % max(ranks[0], 1), j % max(ranks[1], 1)) for i, j in zip(*sides, strict=True)]
    else:
        a.malformed("axes", "a number of axes, or axes of both operands")
    return _contracted(layer, x, y, pairs)


def _contracted(layer: Layer, x: Value, y: Value, pairs: list[tuple[int, int]]) -> Tensor:
    letters = iter(ascii_letters)
    first = [next(letters) for _ in x.shape]
    second = [next(letters) for _ in y.shape]
    for i, j in pairs:
        second[j] = first[i]
    shared = {first[i] for i, _ in pairs}
    rest = "".join(n for n in (*first, *second) if n not in shared)
    return of_model(layer.apply(Einsum(f"{''.join(first)},{''.join(second)}->{rest}"), x, y))


def dot(last: bool, layer: Layer, a: Arguments) -> Tensor:
    """Multiply as numpy.dot; inner multiplies as numpy.inner, over the last axis of both."""
    x, y = _matrix(layer, a, 0, "x1", "a"), _matrix(layer, a, 1, "x2", "b")
    ranks = x.type.rank, y.type.rank
    if 0 in ranks:
        return of_model(layer.apply(Pointwise(parse("x0 * x1")), x, y))
    other = ranks[1] - 1 if last or ranks[1] == 1 else ranks[1] - 2
    return _contracted(layer, x, y, [(ranks[0] - 1, other)])


def outer(layer: Layer, a: Arguments) -> Tensor:
    """Multiply all elements of one operand with all of the other."""
    rows = [reshape_all(layer, a.tensor(k, name)) for k, name in enumerate(("x1", "x2"))]
    x, y = (own_order(real(row, layer.name), layer.name) for row in rows)
    column = layer.apply(Reshape((x.shape[0], 1)), x)
    return of_model(layer.apply(Pointwise(parse("x0 * x1")), column, y))


def triangle(upper: bool, layer: Layer, a: Arguments) -> Tensor:
    """Keep the upper or lower triangle of matrices."""
    x = a.tensor(0, "x")
    k = a.integer(1, "k", default=0, least=-(2**20))
    return of_model(layer.apply(Trilu(k, upper), own_order(x, layer.name)))


def diagonal(added: bool, layer: Layer, a: Arguments) -> Tensor:
    """Return the diagonal of matrices, or its sum."""
    x = a.tensor(0, "x")
    if a.integer(1, "offset", default=0, least=-(2**20)):
        a.unsupported("offset", a.value(1, "offset"), "0")
    axes = a.axis(2, x, 0, "axis1"), a.axis(3, x, 1, "axis2")
    letters = list(ascii_letters[: x.rank])
    letters[axes[1]] = letters[axes[0]]
    rest = [n for k, n in enumerate(letters) if k not in axes]
    result = rest if added else [*rest, letters[axes[0]]]
    sizes = {x.shape[k] for k in axes}
    if len(sizes) > 1:
        a.refuse(f"the diagonal of an input of shape {x.shape}", "square matrices")
    op = Einsum(f"{''.join(letters)}->{''.join(result)}")
    return of_model(layer.apply(op, own_order(real(x, layer.name), layer.name)))


def dot_product_attention(layer: Layer, a: Arguments) -> Tensor:
    """Attention of queries, keys and values (samples, steps, heads, size)."""
    names = ("query", "key", "value")
    tensors = [real(a.tensor(k, name), layer.name) for k, name in enumerate(names)]
    if any(t.rank != 4 for t in tensors):
        a.malformed("query", "a tensor of samples, steps, heads and features")
    a.ignore("flash_attention")
    for name in ("bias", "attn_logits_soft_cap"):
        if a.value(3 if name == "bias" else None, name) is not None:
            a.refuse(f"argument {name}")
    q, k, v = (layer.apply(Transpose((0, 2, 1, 3)), own_order(t, layer.name)) for t in tensors)
    scale = a.number(5, q.shape[-1] ** -0.5, "scale")
    factor = substitute(parse("x0 * f"), {"f": Num(scale)})
    scores = layer.apply(MatMul(), layer.apply(Pointwise(factor), q), swapped(layer, k))
    masks = []
    mask = a.value(4, "mask")
    if isinstance(mask, Tensor):
        masks.append(own_order(mask, layer.name))
    if a.flag(6, False, "is_causal"):
        masks.append(causal(layer, scores.shape[-2:]))
    y = layer.apply(MatMul(), shares(layer, scores, masks), v)
    return of_model(layer.apply(Transpose((0, 2, 1, 3)), y))


def cross(layer: Layer, a: Arguments) -> Tensor:
    """Return cross products of 3-vectors along the last axis."""
    first, second = a.tensor(0, "x1", "a"), a.tensor(1, "x2", "b")
    for name in ("axisa", "axisb", "axisc", "axis"):
        if a.value(None, name) not in (None, -1):
            a.unsupported(name, a.value(None, name), "-1")
    if first.shape[-1:] != (3,) or second.shape[-1:] != (3,):
        a.malformed("x1", "vectors of 3 elements")
    turned = [_turned(layer, x, by) for x in (first, second) for by in (1, 2)]
    return pointwise("x0 * x3 - x1 * x2", turned, layer.name)


def _turned(layer: Layer, x: Tensor, by: int) -> Tensor:
    """Move the three elements of the last axis around in a circle."""
    order = constant((np.arange(3) + by) % 3, f"{layer.name}/order")
    value = layer.apply(Gather(x.rank - 1), own_order(x, layer.name), order)
    return Tensor(value, plain(x.rank))


LINEAR_ALGEBRA: dict[str, Operation] = {
    "cross": cross,
    "diagonal": partial(diagonal, False),
    "dot": partial(dot, False),
    "dot_product_attention": dot_product_attention,
    "einsum": einsum,
    "inner": partial(dot, True),
    "matmul": matmul,
    "outer": outer,
    "tensordot": tensordot,
    "trace": partial(diagonal, True),
    "tril": partial(triangle, False),
    "triu": partial(triangle, True),
}
