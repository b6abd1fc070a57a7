"""Gradient of ai.onnx.preview.training, as the graph of the derivatives.

Source: ONNX Gradient, version 1 of that domain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ......errors import ShadergenError, count
from ......ir.graph import Value, constant
from ...operands import Known, TensorList
from .reverse import gradients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...operands import Item
    from ..node import OnnxNode


def gradient(node: OnnxNode) -> Sequence[Item]:
    """Gradient of a scalar with respect to tensors of the graph, at their present values.

    Of formulas, products of matrices, sums and extrema, movement, and compositions of these.
    """
    xs = node.texts("xs")
    zs = node.texts("zs") if node.has("zs") else ()
    y = _floats(node, "y", node.text("y"))
    if len(node.inputs) != len(xs) + len(zs):
        raise ShadergenError(
            "SG0105",
            f"Gradient has {count(len(node.inputs), 'input')} for "
            f"{count(len(xs) + len(zs), 'name')} in xs and zs",
            why="each name needs an input",
        )
    for index, name in enumerate((*xs, *zs)):
        if node.entry(index) is not node.find(name):
            raise ShadergenError(
                "SG0202",
                f"input {index} of Gradient must be '{name}', as in attribute "
                f"{'xs' if index < len(xs) else 'zs'}",
                why=f"the gradient is computed at the value that '{name}' has in the graph",
                help=f"connect '{name}' to input {index} of Gradient",
            )
    if y.type.size != 1:
        raise ShadergenError(
            "SG0205",
            f"Gradient needs a y with one element, '{node.text('y')}' has more",
            why=f"'{node.text('y')}' is {y.type}",
        )
    variables = [_floats(node, "xs", name) for name in xs]
    if len(set(variables)) < len(variables):
        raise ShadergenError("SG0105", f"xs={list(xs)} of Gradient name one tensor twice")
    found = gradients(y, variables, constant(np.ones(y.shape, np.float32), node.layer))
    zeros = (Known(node.layer, np.zeros(x.shape, np.float32)) for x in variables)
    return [found.get(x, zero) for x, zero in zip(variables, zeros, strict=True)]


def _floats(node: OnnxNode, role: str, name: str) -> Value:
    """Return the tensor of a name; values computed when compiling have no gradient."""
    item = node.find(name)
    if item is None or isinstance(item, TensorList):
        raise ShadergenError(
            "SG0105", f"attribute {role} of Gradient names '{name}', which is not a tensor"
        )
    tensor = node.plain(item, f"'{name}'")
    if isinstance(tensor, Known):
        raise ShadergenError(
            "SG0202",
            f"Gradient with the constant '{name}' in {role} is not implemented",
            help=f"make '{name}' depend on an input of the model",
        )
    if tensor.type.dtype != "float32":
        raise ShadergenError(
            "SG0105", f"Gradient needs float32: {role} names '{name}', which is {tensor.type.dtype}"
        )
    return tensor
