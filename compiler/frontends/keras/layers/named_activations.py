"""Activation functions by name, as formulas. A table for each version where they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .....errors import ShadergenError, did_you_mean
from .....ir.expr import Expr, Var, substitute
from .....ir.formula_parser import parse
from ....definitions import find
from ...activations import activation
from ..read.config import shown
from ..tensors import pointwise
from .qkeras import quantiser
from .softmax import glu, log_softmax, softmax, sparsemax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..tensors import Tensor
    from .layer import Layer

ACTIVATIONS: dict[str, str] = {
    **{
        name: activation(name)
        for name in (
            *("celu", "elu", "exponential", "gelu", "hard_swish", "hard_tanh", "linear"),
            *("log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softplus"),
            *("softsign", "sparse_plus", "sparse_sigmoid", "tanh", "tanh_shrink"),
        )
    },
    "hard_shrink": activation("hard_shrink", threshold="0.5"),
    "hard_sigmoid": activation("hard_sigmoid", alpha="1 / 6", beta="0.5"),
    "hard_silu": activation("hard_swish"),
    "leaky_relu": activation("leaky_relu", alpha="0.2"),
    "soft_shrink": activation("soft_shrink", threshold="0.5"),
    "squareplus": activation("squareplus", b="4"),
    "swish": activation("silu"),
}
# What is no formula of one element; of a whole layer's result, over its last axis.
OVER_AN_AXIS: dict[str, Callable[[Layer, Tensor, tuple[int, ...]], Tensor]] = {
    "glu": glu,
    "log_softmax": log_softmax,
    "softmax": softmax,
    "sparsemax": sparsemax,
}
IN_KERAS_2 = {"hard_sigmoid": activation("hard_sigmoid", alpha="0.2", beta="0.5")}


def formula(name: str, version: tuple[int, int]) -> str | None:
    """Return the formula of a named activation, or None."""
    return IN_KERAS_2.get(name) if version[0] < 3 and name in IN_KERAS_2 else ACTIVATIONS.get(name)


def activate(layer: Layer, x: Tensor) -> Tensor:
    """Apply the activation that a layer's configuration names; "linear" and null do nothing."""
    entry = layer.config.get("activation")
    quantised = quantiser(entry, layer.described)
    if quantised is not None:
        return pointwise(quantised, [x], layer.name)
    name = _name(entry)
    if name is None or name == "linear":
        return x
    if isinstance(entry, dict) and layer.implements(name):
        y = layer.inner(name, entry.get("config")).compute(x)
        if isinstance(y, list):
            layer.config.unsupported("activation", name, "functions and layers of one result")
        return y
    expr = formula(name, layer.version)
    if expr is not None:
        return pointwise(expr, [x], layer.name)
    if name in OVER_AN_AXIS:
        return OVER_AN_AXIS[name](layer, x, (x.rank - 1,))
    definition = find(layer.definitions, name)
    if definition is not None:
        return layer.defined(definition, [x], {})
    raise _unknown(layer, name, [*ACTIVATIONS, *OVER_AN_AXIS])


def element_wise(layer: Layer, key: str, default: str) -> Expr:
    """Return the activation that the configuration names under ``key``, as a formula of x.

    Raises:
        ShadergenError: SG0202 for a layer or one that is not element-wise, SG0203 for one that
            nobody knows.
    """
    entry = layer.config.entries.get(key, default)
    name = _name(entry) or "linear"
    expr = formula(name, layer.version)
    if expr is None or (isinstance(entry, dict) and layer.implements(name)):
        if name in OVER_AN_AXIS or layer.implements(name):
            layer.config.unsupported(key, name, ", ".join(sorted(ACTIVATIONS)))
        raise _unknown(layer, name, ACTIVATIONS)
    return substitute(parse(expr), {"x0": Var("x")})


def _unknown(layer: Layer, name: str, known: Iterable[str]) -> ShadergenError:
    known = sorted(known)
    return ShadergenError(
        "SG0203",
        f"activation '{name}' has no definition",
        where=layer.described,
        why="it is neither one of Keras's nor defined by --define",
        supported=", ".join(known),
        help=did_you_mean(name, known)
        or f"write a formula into a file and pass --define FILE; for example: "
        f"{layer.example(name, 1)}",
    )


def _name(entry: Any) -> str | None:
    """Return the name of a function or of an activation layer's class; None for no activation."""
    if isinstance(entry, dict):
        inner = entry.get("config")
        if entry.get("class_name") == "function":
            entry = inner.get("name") if isinstance(inner, dict) else inner
        elif isinstance(entry.get("class_name"), str):
            entry = entry.get("registered_name") or entry["class_name"]
    if entry is None or isinstance(entry, str):
        return entry.split(">")[-1] if entry else None
    raise ShadergenError("SG0105", f"{shown(entry)} is not an activation")
