"""Quantisers of QKeras: of weights, which are known, and of results, as formulas.

A layer of QKeras is one of Keras whose weights and result go through quantisers. Fixed point of
b bits with i before the point, one of them a sign if k, m = 2^(b - k):

    quantized_bits(x) = 2^i * clamp(round_even(x * m / 2^i), k * (symmetric - m), m - 1) / m

What is random, what finds its own scale ("auto"), what mixes in the unquantised number is refused.
Source: google/qkeras 0.9, quantizers.py.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError
from .....ir.formula_parser import parse
from ...constant_folding import fold_formula
from ..read.config import Config, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .....ir.expr import Expr

MOST_BITS = 24  # beyond, float32 does not hold every number
# The parameters of each quantiser in order, for texts like "quantized_relu(6,2)".
PARAMETERS: dict[str, tuple[str, ...]] = {
    "quantized_bits": ("bits", "integer", "symmetric", "keep_negative", "alpha"),
    "quantized_relu": ("bits", "integer", "use_sigmoid", "negative_slope"),
    "binary": ("use_01", "alpha"),
    "ternary": ("alpha", "threshold"),
}
# What a layer calls the quantiser of a weight, where that is not the weight's own name.
ROLES = {
    "depthwise_kernel": "depthwise",
    "pointwise_kernel": "pointwise",
    "moving_mean": "mean",
    "moving_variance": "variance",
}
# Entries that must have these values; others are not implemented.
PLAIN: dict[str, tuple[Any, ...]] = {
    "use_stochastic_rounding": (None, False),
    "qnoise_factor": (None, 1, 1.0),
    "use_sigmoid": (None, False),
    "use_variables": (None, False),
    "scale_axis": (None,),
    "elements_per_scale": (None,),
    "min_po2_exponent": (None,),
    "max_po2_exponent": (None,),
    "post_training_scale": (None,),
}


def quantiser(entry: Any, where: str) -> Expr | None:
    """Return the formula of a quantiser from a configuration, or None for anything else.

    Args:
        entry: as {"class_name": ..., "config": ...} or as a text like "quantized_bits(4,0,1)".
        where: the layer, for messages.

    Raises:
        ShadergenError: SG0202 for what is not implemented, SG0105 for what is malformed.
    """
    name, entries = _read(entry, where)
    if name not in QUANTISERS:
        return None
    config = Config(f"{where}, {name}", entries)
    for key, allowed in PLAIN.items():
        if entries.get(key) not in allowed:
            config.unsupported(key, entries[key], shown(allowed[-1]))
    unknown = set(entries) - set(PLAIN) - set(PARAMETERS[name]) - _IGNORED[name]
    if unknown:
        key = min(unknown)
        config.unsupported(key, entries[key])
    return parse(QUANTISERS[name](config))


def quantised(config: Config, role: str, array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a weight as a layer of QKeras uses it.

    Args:
        config: of the layer.
        role: of the weight.
        array: the weight.

    Raises:
        ShadergenError: SG0202 for a quantiser that is not implemented.
    """
    key = ROLES.get(role, role) + "_quantizer"
    entry, where = config.get(key), f"{config.where}, {key}"
    if entry is None:
        return array
    if role.endswith("kernel"):  # QKeras lets those of kernels without a scale find their own
        name, entries = _read(entry, where)
        if "alpha" in PARAMETERS.get(name, ()) and entries.get("alpha") is None:
            entry = {"class_name": name, "config": {**entries, "alpha": "auto_po2"}}
    expr = quantiser(entry, where)
    if expr is None:
        raise ShadergenError(
            "SG0202",
            f"quantiser {shown(_read(entry, where)[0])} is not implemented",
            where=where,
            supported=", ".join(QUANTISERS),
        )
    return fold_formula(expr, array).astype(np.float32)


def _read(entry: Any, where: str) -> tuple[str, dict[str, Any]]:
    """Return a quantiser's name and its parameters."""
    if isinstance(entry, dict):
        inner = entry.get("config")
        name = entry.get("class_name")
        entries = inner if isinstance(inner, dict) else {}
        return (str(name).split(">")[-1], entries) if name else ("", {})
    if not isinstance(entry, str):
        return "", {}
    name = entry.partition("(")[0].strip()
    if name not in PARAMETERS or "(" not in entry:
        return name, {}
    try:
        call = ast.parse(entry.strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        given = [ast.literal_eval(a) for a in call.args]
        entries = dict(zip(PARAMETERS[name], given, strict=False))
        entries |= {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (AssertionError, MemoryError, RecursionError, SyntaxError, ValueError):
        given = [None] * 99
        entries = {}
    if len(given) > len(PARAMETERS[name]):
        raise ShadergenError("SG0105", f"{shown(entry)} is not a quantiser", where=where)
    return name, entries


def _scale(config: Config) -> float:
    """Return ``alpha``, the factor of the result; 1 if not given."""
    if isinstance(config.get("alpha"), str):
        config.unsupported(
            "alpha",
            config.get("alpha"),
            "a number",
            help="in QKeras, set alpha to a number: then the scale does not depend on the data",
        )
    return config.number("alpha", 1.0)


def _bits(config: Config, signed: int) -> tuple[float, float]:
    """Return 2 to the number of bits without the sign, and to those before the point."""
    bits, integer = config.integer("bits", 8), config.integer("integer", 0, least=-MOST_BITS)
    if bits > MOST_BITS or integer > MOST_BITS:
        config.unsupported("bits", bits, f"1 to {MOST_BITS}")
    return 2.0 ** (bits - signed), 2.0**integer


def _quantized_bits(config: Config) -> str:
    signed = int(config.flag("keep_negative", True))
    m, unit = _bits(config, signed)
    scale = _scale(config)
    if m == 1:
        return f"{scale!r} * " + ("where(x0 < 0, -1, 1)" if signed else "where(x0 < 0, 0, 1)")
    low = signed * (config.flag("symmetric", False) - m)
    return f"{scale * unit / m!r} * clamp(round_even(x0 * {m / unit!r}), {low!r}, {m - 1!r})"


def _quantized_relu(config: Config) -> str:
    slope = config.number("negative_slope", 0.0)
    bound = config.get("relu_upper_bound")
    if slope:
        config.unsupported("negative_slope", slope, "0")
    m, unit = _bits(config, 0)
    y = f"{unit / m!r} * clamp(round_even(x0 * {m / unit!r}), 0, {m - 1!r})"
    if bound is None or config.flag("is_quantized_clip", True):
        return y
    return f"min({y}, {config.number('relu_upper_bound')!r})"


def _binary(config: Config) -> str:
    low = 0 if config.flag("use_01", False) else -1
    return f"{_scale(config)!r} * where(x0 < 0, {low}, 1)"


def _ternary(config: Config) -> str:
    threshold = config.number("threshold", 0.33)
    return f"{_scale(config)!r} * where(abs(x0) < {threshold!r}, 0, sign(x0))"


QUANTISERS: dict[str, Callable[[Config], str]] = {
    "binary": _binary,
    "quantized_bits": _quantized_bits,
    "quantized_relu": _quantized_relu,
    "ternary": _ternary,
}
_IGNORED: dict[str, set[str]] = {
    "binary": set(),
    "quantized_bits": {"var_name", "use_ste"},
    "quantized_relu": {"var_name", "use_ste", "relu_upper_bound", "is_quantized_clip"},
    "ternary": {"number_of_unrolls"},
}
