"""Quantisers of QONNX, as Brevitas, QKeras' converter and FINN write them.

y = (round(clamp(x / scale + zero, low, high)) - zero) * scale; the bits say what low and high are.
Ties of the quotient may fall to either side where arithmetic differs in the last bit.

Source: the operator definitions of fastmachinelearning/qonnx, version 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.expr import Num, substitute
from .....ir.formula_parser import parse
from .....ir.ops import Pointwise
from .parameters import parameters

if TYPE_CHECKING:
    from .....ir.expr import Expr
    from .....ir.graph import Value
    from .elementwise import Handler
    from .node import OnnxNode

# Rounding by QONNX's names of modes; ROUND is ONNX's own, ties to even.
ROUNDING = {
    "ROUND": "round_even(q)",
    "HALF_EVEN": "round_even(q)",
    "CEIL": "ceil(q)",
    "FLOOR": "floor(q)",
    "UP": "sign(q) * ceil(abs(q))",
    "DOWN": "trunc(q)",
    "HALF_UP": "sign(q) * floor(abs(q) + 0.5)",
    "HALF_DOWN": "sign(q) * ceil(abs(q) - 0.5)",
}
MOST_BITS = 24  # beyond, float32 does not hold every integer


@parameters(3)
def int_quant(node: OnnxNode) -> Value:
    """Quant: round x / scale + zero to an integer of the given bit width, then scale it back."""
    signed, narrow = node.choice("signed", (1, 0)), node.choice("narrow", (0, 1))
    mode = _rounding(node, "ROUND")
    bits = _bits(node, 3)
    if bits == 1 and signed:
        level = parse("where(quotient(x0, x1) + x2 < 0, -1, 1)")
    else:
        q = substitute(
            parse("clamp(quotient(x0, x1) + x2, low, high)"), _limits(bits, signed, narrow)
        )
        level = substitute(mode, {"q": q})
    return _applied(node, substitute(parse("(level - x2) * x1"), {"level": level}), 3)


def bipolar_quant(node: OnnxNode) -> Value:
    """BipolarQuant: scale where x is not negative, else -scale."""
    return _applied(node, parse("where(x0 < 0, -1, 1) * x1"), 2)


@parameters(3, 4)
def trunc(node: OnnxNode) -> Value:
    """Trunc: reduce a quantised tensor to the output bit width by dropping its low bits."""
    if node.version != 1:
        raise ShadergenError(
            "SG0202",
            f"Trunc of operator set {node.version} is not implemented",
            supported="Trunc of operator set 1",
        )
    mode = _rounding(node, "FLOOR")
    step = Num(2.0 ** (_bits(node, 3) - _bits(node, 4)))
    level = substitute(parse("round_even(quotient(x0, x1) + x2) / step"), {"step": step})
    whole = substitute(mode, {"q": level})
    return _applied(node, substitute(parse("(whole - x2) * x1"), {"whole": whole}), 3)


def _rounding(node: OnnxNode, default: str) -> Expr:
    mode = node.text("rounding_mode", default).upper()
    if mode not in ROUNDING:
        raise node.refusal("rounding_mode", mode, tuple(ROUNDING))
    return parse(ROUNDING[mode])


def _bits(node: OnnxNode, index: int) -> int:
    """Return a bit width, one for the whole tensor.

    Raises:
        ShadergenError: SG0202 for one that differs within the tensor or is no integer.
    """
    widths = np.unique(node.known(index, "the bit width"))
    if widths.size != 1 or not 1 <= widths[0] <= MOST_BITS or widths[0] != int(widths[0]):
        raise ShadergenError(
            "SG0202",
            f"bit widths {widths.tolist()} of {node.op} are not implemented",
            supported=f"one integer from 1 to {MOST_BITS}",
        )
    return int(widths[0])


def _limits(bits: int, signed: int, narrow: int) -> dict[str, Expr]:
    """Return the least and the greatest integer; "narrow" gives one of them up."""
    if signed:
        low, high = narrow - 2 ** (bits - 1), 2 ** (bits - 1) - 1
    else:
        low, high = 0, 2**bits - 1 - narrow
    return {"low": Num(float(low)), "high": Num(float(high))}


def _applied(node: OnnxNode, formula: Expr, operands: int) -> Value:
    """Apply a formula of x, the scale and the zero point, which broadcast to x."""
    values = [node.numeric(k) for k in range(operands)]
    result = node.apply(Pointwise(formula), *values)
    if result.shape != values[0].shape:
        raise ShadergenError(
            "SG0205", f"a scale of {node.op} does not fit a tensor of {list(values[0].shape)}"
        )
    return result


QONNX: dict[str, Handler] = {
    "BipolarQuant": bipolar_quant,
    "IntQuant": int_quant,
    "Quant": int_quant,
    "Trunc": trunc,
}
