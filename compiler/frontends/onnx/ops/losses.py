"""Losses by class labels: reductions over the classes, of which all but the label's are masked."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.expr import Expr, Num, substitute
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.integers import is_integer
from .....ir.ops import LogSoftmax, Pointwise, Reduce, Reshape

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .elementwise import Handler
    from .node import OnnxNode


def negative_log_likelihood(node: OnnxNode) -> Value:
    """NegativeLogLikelihoodLoss: the loss of log-probabilities for given classes."""
    return _loss(node, node.real(0))


def softmax_cross_entropy(node: OnnxNode) -> list[Value]:
    """SoftmaxCrossEntropyLoss; the second result is the logarithms of the softmax."""
    logs = node.apply(LogSoftmax((1,)), node.real(0))
    return [_loss(node, logs), logs]


def _loss(node: OnnxNode, logs: Value) -> Value:
    """Return -weight[label] * logs[label], or its sum, or its weighted mean.

    logs: (N, C, ...), input 1: labels (N, ...), input 2: optional weights (C,).
    """
    shape = logs.shape
    labels = node.numeric(1)
    if (
        len(shape) < 2
        or labels.shape != (shape[0], *shape[2:])
        or not is_integer(labels.type.dtype)
    ):
        raise ShadergenError(
            "SG0205", f"labels {labels.type} do not fit scores of shape {list(shape)}"
        )
    classes = (shape[1], *(1,) * (len(shape) - 2))
    operands = [
        node.apply(Reshape((shape[0], 1, *shape[2:])), labels),
        constant(np.arange(shape[1]).reshape(classes), "classes"),
        logs,
    ]
    weight: Expr = Num(1.0)
    if node.given(2):
        if node.shape(2) != shape[1:2]:
            raise ShadergenError(
                "SG0205", f"weights of shape {list(node.shape(2))} do not fit {shape[1]} classes"
            )
        operands.append(node.apply(Reshape(classes), node.real(2)))
        weight = parse("x3")
    if node.has("ignore_index"):
        ignored = Num(float(node.integer("ignore_index")))
        weight = substitute(parse("where(x0 == i, 0, w)"), {"i": ignored, "w": weight})
    term = substitute(parse("where(x0 == x1, -x2 * w, 0)"), {"w": weight})
    reduction = node.choice("reduction", ("mean", "none", "sum"))
    axes = (1,) if reduction == "none" else tuple(range(len(shape)))
    total = node.apply(Reduce("sum", axes, False, term, "float32"), *operands)
    if reduction != "mean":
        return total
    if weight == Num(1.0):
        count = Num(float(prod(labels.shape)))
        return node.apply(Pointwise(substitute(parse("x0 / n"), {"n": count})), total)
    share = substitute(parse("where(x0 == x1, w, 0)"), {"w": weight})
    # What the logarithms are does not matter, but each label counts once.
    counted = [v for k, v in enumerate(operands) if k != 2]
    share = substitute(share, {"x3": parse("x2")})
    weights = node.apply(Reduce("sum", axes, False, share, "float32"), *counted)
    return node.apply(Pointwise(parse("x0 / x1")), total, weights)


LOSSES: dict[str, Handler] = {
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
}
