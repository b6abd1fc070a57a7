"""Operators of ai.onnx.ml: what preprocessing exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.expr import Num, substitute
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.ops import Pointwise
from .selection import array_feature_extractor

if TYPE_CHECKING:
    from .....ir.graph import Constant, Value
    from .elementwise import Handler
    from .node import OnnxNode


def binarizer(node: OnnxNode) -> Value:
    """Binarizer: 1 where x is above the threshold, else 0."""
    x = node.numeric(0)
    threshold = Num(node.number("threshold", 0.0))
    expr = substitute(parse("t < x0"), {"t": threshold})
    return node.apply(Pointwise(expr, x.type.dtype), x)


def scaler(node: OnnxNode) -> Value:
    """Scaler: (x - offset) * scale, one number for all features or one for each."""
    x = node.numeric(0)
    offset, scale = _features(node, "offset", 0.0), _features(node, "scale", 1.0)
    y = node.apply(Pointwise(parse("(x0 - x1) * x2")), x, offset, scale)
    if y.shape != x.shape:
        raise ShadergenError(
            "SG0205", f"offset and scale do not broadcast to the input of shape {list(x.shape)}"
        )
    return y


def _features(node: OnnxNode, name: str, default: float) -> Constant:
    numbers = node.numbers(name) if node.has(name) else (default,)
    return constant(np.array(numbers, np.float32), name)


MACHINE_LEARNING: dict[str, Handler] = {
    "ArrayFeatureExtractor": array_feature_extractor,
    "Binarizer": binarizer,
    "Scaler": scaler,
}
