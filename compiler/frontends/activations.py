"""Activations by name, each spelled once for all frontends.

A formula is of x0 and of parameters by name. What a framework calls an activation, and which
defaults it gives the parameters, stands in the tables of its frontend: ``onnx.ops.activation``,
``keras.layers.named_activations`` and ``keras.ops.activation``. Functions that the formulas call
are those of ``ir.formulas``, which users' definitions may call, too.
"""

from __future__ import annotations

import re

from ...ir.formulas import FORMULAS

WORD = re.compile(r"[a-z]\w*")

ACTIVATIONS: dict[str, str] = {
    "affine": "alpha * x0 + beta",
    "celu": "celu(x0, alpha)",
    "clip": "clamp(x0, low, high)",
    "elu": "elu(x0, alpha)",
    "exponential": "exp(x0)",
    "gelu": "gelu(x0)",
    "hard_shrink": "where(threshold < abs(x0), x0, 0)",
    "hard_sigmoid": "hard_sigmoid(x0, alpha, beta)",
    "hard_swish": "hard_swish(x0)",
    "hard_tanh": "clamp(x0, -1, 1)",
    "leaky_relu": "leaky_relu(x0, alpha)",
    "linear": "x0",
    "log_sigmoid": "log_sigmoid(x0)",
    "mish": "mish(x0)",
    "parametric_softplus": "alpha * softplus(beta * x0)",
    "relu": "relu(x0)",
    "relu6": "relu6(x0)",
    "scaled_tanh": "alpha * tanh(beta * x0)",
    "selu": "selu(x0, alpha, gamma)",
    "shrink": "where(x0 < -lambd, x0 + bias, where(x0 > lambd, x0 - bias, 0))",
    "sigmoid": "sigmoid(x0)",
    "silu": "silu(x0)",
    "soft_shrink": "x0 - clamp(x0, -threshold, threshold)",
    "softplus": "softplus(x0)",
    "softsign": "softsign(x0)",
    "sparse_plus": "where(x0 <= -1, 0, where(x0 < 1, 0.25 * square(x0 + 1), x0))",
    "sparse_sigmoid": "clamp(0.5 * (x0 + 1), 0, 1)",
    "squareplus": "0.5 * (x0 + sqrt(square(x0) + b))",
    "swish": "swish(x0, alpha)",
    "tanh": "tanh(x0)",
    "tanh_shrink": "x0 - tanh(x0)",
    "thresholded_relu": "thresholded_relu(x0, alpha)",
}


def activation(name: str, **parameters: str) -> str:
    """Return the formula of an activation with values for all of its parameters, or for none.

    Args:
        name: in :data:`ACTIVATIONS`.
        parameters: numbers or operands, as they are written in formulas. Without any, functions of
            ``ir.formulas`` have their own defaults.
    """
    if not parameters and name in FORMULAS:
        return f"{name}(x0)"
    return WORD.sub(lambda word: parameters.get(word[0], word[0]), ACTIVATIONS[name])
