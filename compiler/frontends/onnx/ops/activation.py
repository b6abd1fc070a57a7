"""Activations by the names that ONNX has for them, with ONNX's defaults.

Nodes of their own, the functions that recurrent operators name, and those that ONNX Runtime's
optimiser fuses into convolutions and products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...activations import ACTIVATIONS as FORMULAS
from .elementwise import arithmetic, formula

if TYPE_CHECKING:
    from .elementwise import Handler


class Activation(NamedTuple):
    """A formula of x0, and the defaults of its parameters in ONNX's order."""

    formula: str
    defaults: dict[str, float]


def _named(name: str, **defaults: float) -> Activation:
    return Activation(FORMULAS[name], defaults)


ACTIVATIONS: dict[str, Activation] = {
    "Affine": _named("affine", alpha=1.0, beta=0.0),
    "Celu": _named("celu", alpha=1.0),
    "Elu": _named("elu", alpha=1.0),
    "HardSigmoid": _named("hard_sigmoid", alpha=0.2, beta=0.5),
    "HardSwish": _named("hard_swish"),
    "LeakyRelu": _named("leaky_relu", alpha=0.01),
    "Mish": _named("mish"),
    "ParametricSoftplus": _named("parametric_softplus", alpha=1.0, beta=1.0),
    "QuickGelu": _named("swish", alpha=1.702),
    "Relu": _named("relu"),
    "ScaledTanh": _named("scaled_tanh", alpha=1.0, beta=1.0),
    "Selu": _named("selu", alpha=1.6732632, gamma=1.050701),
    "Shrink": _named("shrink", bias=0.0, lambd=0.5),
    "Sigmoid": _named("sigmoid"),
    "Softplus": _named("softplus"),
    "Softsign": _named("softsign"),
    "Swish": _named("swish", alpha=1.0),
    "Tanh": _named("tanh"),
    "ThresholdedRelu": _named("thresholded_relu", alpha=1.0),
}


def activation(name: str) -> Handler:
    """An activation that is a node, of floats."""
    return formula(ACTIVATIONS[name].formula, **ACTIVATIONS[name].defaults)


ACTIVATION_OPERATORS: dict[str, Handler] = {
    "Celu": activation("Celu"),
    "Elu": activation("Elu"),
    "HardSigmoid": activation("HardSigmoid"),
    "HardSwish": activation("HardSwish"),
    "LeakyRelu": activation("LeakyRelu"),
    "Mish": activation("Mish"),
    "Relu": arithmetic(ACTIVATIONS["Relu"].formula),
    "Selu": activation("Selu"),
    "Shrink": activation("Shrink"),
    "Sigmoid": activation("Sigmoid"),
    "Softplus": activation("Softplus"),
    "Softsign": activation("Softsign"),
    "Swish": activation("Swish"),
    "Tanh": activation("Tanh"),
    "ThresholdedRelu": activation("ThresholdedRelu"),
}
