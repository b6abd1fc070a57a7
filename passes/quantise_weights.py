"""Round weights to 8 bits with a scale for each output channel, where ``--weight-format`` asks.

conv(x; W, b) = s * conv(x; W / s, 0) + b, where s holds one number for each output channel, and
likewise for a product with a constant matrix and its columns. With s the largest size in a channel
over 127, W / s lies within 127 and is rounded to whole numbers, which textures of 8 bits hold
exactly. The scale and the bias become a formula, which is fused into the kernel as any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.formula_parser import parse
from ..ir.graph import Constant, apply, constant
from ..ir.ops import Conv, MatMul, Pointwise
from ..ir.types import INT8_MAX

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from .rule import Context


def quantise_weights(graph: Graph, context: Context) -> Graph:
    """Round the weights of every convolution and of every product with a constant matrix."""
    if context.target.weight_format != "int8":
        return graph

    def rewrite(now: Node, was: Node) -> Value | None:
        axis = _channel_axis(now)
        if axis is None:
            return None
        x, w, *bias = now.inputs
        assert isinstance(w, Constant)
        scale, rounded = _round(w.data, axis)
        context.explain("quantise weights", now.name, "int8", _worst(w.data, scale * rounded))
        shape = (-1, 1, 1) if isinstance(now.op, Conv) else (-1,)
        layer = (now.layers or (now.name,))[0]
        y = apply(now.op, x, constant(rounded, w.name), layer=layer)
        vectors = [constant(scale.reshape(shape), f"{layer}.scale")]
        for b in bias:
            assert isinstance(b, Constant)
            vectors.append(constant(b.data.reshape(shape), b.name))
        formula = "x0 * x1 + x2" if bias else "x0 * x1"
        return apply(Pointwise(parse(formula)), y, *vectors, layer=layer)

    return graph.rewrite(rewrite)


def _channel_axis(node: Node) -> int | None:
    """Return the axis of a node's weights that output channels lie along, or None without any."""
    w = node.inputs[1] if len(node.inputs) > 1 else None
    if not isinstance(w, Constant) or w.type.dtype != "float32" or not np.isfinite(w.data).all():
        return None
    if isinstance(node.op, Conv):
        return 0 if all(isinstance(v, Constant) for v in node.inputs[1:]) else None
    product = isinstance(node.op, MatMul) and not isinstance(node.inputs[0], Constant)
    return 1 if product and w.type.rank == 2 else None


def _round(w: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the scale, its shape that of ``w`` with ones, and the whole numbers it multiplies."""
    others = tuple(k for k in range(w.ndim) if k != axis)
    scale = np.abs(w).max(axis=others, keepdims=True).astype(np.float64) / INT8_MAX
    scale[scale == 0.0] = 1.0
    return scale, np.round(w / scale)


def _worst(w: np.ndarray, rounded: np.ndarray) -> str:
    off, largest = (float(np.abs(x).max(initial=0)) for x in (w - rounded, w))
    return f"largest rounding error {off:.3g}; largest weight {largest:.3g}"
