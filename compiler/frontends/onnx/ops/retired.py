"""Operators that ONNX once had on trial and gave up: files of 2017 to 2019 hold them.

They scale and cut pictures before a network, or came from the frameworks that exported first.
Source: ONNX 1.4, docs/Operators.md; ONNX Runtime, which still has most of them.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.expr import Num, substitute
from .....ir.formula_parser import parse
from .....ir.ops import Pointwise, Slice
from ..operands import Known
from .activation import activation
from .elementwise import formula
from .movement import slice_
from .parameters import parameters

if TYPE_CHECKING:
    from .....ir.graph import Value
    from ..operands import Tensor
    from .elementwise import Handler
    from .node import OnnxNode


def crop(node: OnnxNode) -> Tensor:
    """Crop: border is left, top, right, bottom; scale (height, width) replaces right and bottom."""
    shape = node.shape(0)
    border, sizes = node.integers("border"), node.integers("scale", ())
    if len(shape) != 4:
        raise ShadergenError(
            "SG0206", f"Crop of rank {len(shape)} is not supported", supported="rank 4"
        )
    if len(border) != 4 or len(sizes) not in (0, 2):
        raise ShadergenError(
            "SG0105",
            "Crop needs 4 numbers in border and 0 or 2 in scale, not "
            f"{list(border)} and {list(sizes)}",
        )
    left, top, right, bottom = border
    height, width = shape[2] - top - bottom, shape[3] - left - right
    if sizes:
        height, width = sizes
    fits = 0 <= top <= shape[2] - height and 0 <= left <= shape[3] - width
    if not fits or min(height, width) < 1:
        raise ShadergenError(
            "SG0205",
            f"Crop of {height}x{width} elements at row {top}, column {left} exceeds the input of "
            f"{shape[2]}x{shape[3]}",
        )
    return node.move(Slice((0, 0, top, left), (1,) * 4, (*shape[:2], height, width)), 0)


@parameters(1, 2, 3, 4)
def dynamic_slice(node: OnnxNode) -> Tensor:
    """DynamicSlice: like Slice in operator set 10 and later."""
    node.version = 10
    return slice_(node)


def given_tensor_fill(node: OnnxNode) -> Known:
    """GivenTensorFill: a constant."""
    node.choice("input_as_shape", (0,))
    shape = node.integers("shape") + node.integers("extra_shape", ())
    values = np.array(node.numbers("values"), np.float32)
    if min(shape, default=0) < 0 or values.size != prod(shape):
        raise ShadergenError("SG0205", f"{values.size} values do not fill the shape {list(shape)}")
    return Known(node.layer, values.reshape(shape))


def image_scaler(node: OnnxNode) -> Value:
    """ImageScaler: x * scale + bias, with a bias for each channel."""
    bias = np.array(node.numbers("bias"), np.float32)
    shape = node.shape(0)
    if len(shape) != 4 or bias.size != shape[1]:
        raise ShadergenError("SG0205", f"{bias.size} biases do not fit shape {list(shape)}")
    expr = substitute(parse("x0 * scale + x1"), {"scale": Num(node.number("scale", 1.0))})
    shift = Known(f"bias of {node.layer}", bias.reshape(-1, 1, 1)).operand
    return node.apply(Pointwise(expr), node.operand(0), shift)


RETIRED: dict[str, Handler] = {
    "Affine": activation("Affine"),
    "Crop": crop,
    "DynamicSlice": dynamic_slice,
    "GivenTensorFill": given_tensor_fill,
    "ImageScaler": image_scaler,
    "ParametricSoftplus": activation("ParametricSoftplus"),
    "Scale": formula("scale * x0", scale=1.0),
    "ScaledTanh": activation("ScaledTanh"),
}
