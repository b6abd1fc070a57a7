"""Attention of one head: each query averages values by how well their keys match it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.ops import MatMul, Pointwise, Reduce, Reshape, Softmax, Transpose
from ..tensors import Tensor, of_model, own_order, pointwise, reshaped
from .common import real
from .softmax import MASKED

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .layer import Layer


def dot_product_attention(layer: Layer, inputs: list[Tensor]) -> Tensor | list[Tensor]:
    """Attention: scores are products or, with score_mode "concat", sums of tanh(q + k)."""
    mode = layer.config.choice("score_mode", ("dot", "concat"), "dot")
    roles = ["scale"] if layer.config.flag("use_scale", False) else []
    roles += ["concat_score_weight"] if mode == "concat" else []
    w = layer.constants(dict.fromkeys(roles, ()))
    q, v, k = _operands(layer, inputs)
    if mode == "dot":
        scores = layer.apply(MatMul(), q, swapped(layer, k))
        if roles:
            scores = layer.apply(Pointwise(parse("x0 * x1")), scores, w["scale"])
        return _attended(layer, inputs, scores, v)
    pairs = _pairs(layer, q, k)
    if "scale" in w:
        element, operands = "tanh(x2 * (x0 + x1))", [*pairs, w["scale"]]
    else:
        element, operands = "tanh(x0 + x1)", pairs
    sums = layer.apply(Reduce("sum", (3,), False, parse(element)), *operands)
    scores = layer.apply(Pointwise(parse("x0 * x1")), sums, w["concat_score_weight"])
    return _attended(layer, inputs, scores, v)


def additive_attention(layer: Layer, inputs: list[Tensor]) -> Tensor | list[Tensor]:
    """Attention whose scores are sums of tanh(q + k), each feature with a weight of its own."""
    q, v, k = _operands(layer, inputs)
    operands = _pairs(layer, q, k)
    element = "tanh(x0 + x1)"
    if layer.config.flag("use_scale", True):
        w = layer.constants({"scale": (q.shape[2],)})
        element, operands = f"x2 * {element}", [*operands, w["scale"]]
    scores = layer.apply(Reduce("sum", (3,), False, parse(element)), *operands)
    return _attended(layer, inputs, scores, v)


def _operands(layer: Layer, inputs: list[Tensor]) -> tuple[Value, Value, Value]:
    """Return query, value and key, (samples, steps, features) each."""
    if len(inputs) not in (2, 3) or any(x.rank != 3 for x in inputs):
        raise ShadergenError(
            "SG0205",
            "the layer takes sequences of vectors: a query, a value and optionally a key",
            where=layer.described,
            why=f"it is given {', '.join(str(x.shape) for x in inputs) or 'nothing'}",
        )
    q, v, *k = (own_order(real(x, layer.name), layer.name) for x in inputs)
    return q, v, k[0] if k else v


def _pairs(layer: Layer, q: Value, k: Value) -> list[Value]:
    """Return queries and keys such that all pairs broadcast to (samples, Tq, Tk, features)."""
    n, queries, size = q.shape
    keys = k.shape[1]
    return [
        layer.apply(Reshape((n, queries, 1, size)), q),
        layer.apply(Reshape((n, 1, keys, size)), k),
    ]


def _attended(layer: Layer, inputs: list[Tensor], scores: Value, v: Value) -> Tensor | list[Tensor]:
    masks = [x.mask for x in inputs[:2]]
    for mask in masks:
        if mask is not None and mask.rank != 2:
            layer.config.refuse(f"a mask of shape {mask.shape}", "samples x steps")
    allowed = []
    if masks[1] is not None:
        n, steps = masks[1].shape
        allowed.append(own_order(reshaped(masks[1], (n, 1, steps), layer.name), layer.name))
    if flag(layer, "use_causal_mask"):
        allowed.append(causal(layer, scores.shape[-2:]))
    weights = shares(layer, scores, allowed)
    y = of_model(layer.apply(MatMul(), weights, v))
    if masks[0] is not None:
        column = reshaped(masks[0], (*masks[0].shape, 1), layer.name)
        y = pointwise("x0 * x1", [y, column], layer.name)
    return [y, of_model(weights)] if flag(layer, "return_attention_scores") else y


def flag(layer: Layer, name: str) -> bool:
    """Return a keyword argument of the call that is true or false."""
    value = layer.kwargs.get(name)
    if value not in (None, True, False):
        layer.config.unsupported(name, value, "true, false")
    return bool(value)


def swapped(layer: Layer, x: Value) -> Value:
    """Transpose matrices."""
    rank = x.type.rank
    return layer.apply(Transpose((*range(rank - 2), rank - 1, rank - 2)), x)


def causal(layer: Layer, shape: tuple[int, ...]) -> Value:
    """Return a mask that keeps queries from what comes after them."""
    return constant(np.tri(*shape, dtype=np.bool_), f"{layer.name}/causal")


def shares(layer: Layer, scores: Value, masks: list[Value]) -> Value:
    """Return the softmax of scores along their last axis, where all masks allow it."""
    if masks:
        allowed = "x1"
        for k in range(2, len(masks) + 1):
            allowed = f"min({allowed}, x{k})"
        formula = f"where({allowed} == 0, {MASKED}, x0)"
        scores = layer.apply(Pointwise(parse(formula)), scores, *masks)
    return layer.apply(Softmax((scores.type.rank - 1,)), scores)
