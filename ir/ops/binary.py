"""Binary networks: convolution and dense layers whose weights and inputs are -1 or 1."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..expr import Call, Expr, Var
from ..formula_parser import parse
from ..graph import Constant, apply, constant
from ..types import TensorType
from .base import Op, require
from .convolution import Conv
from .movement import Reshape, moved
from .pointwise import Pointwise
from .window import Sizes

if TYPE_CHECKING:
    from ..graph import Value

SIGN = parse("where(x0 < 0, -1, 1)")


def _signs(x: Value) -> Value:
    if isinstance(x, Constant):
        return constant(np.where(x.data < 0, np.float32(-1), np.float32(1)), x.name)
    return apply(Pointwise(SIGN), x)


def _scaled(y: Value, parameters: tuple[Value, ...]) -> Value:
    """Return y times the first parameter plus the second, along axis 1."""
    expr: Expr = Var("x0")
    column = (y.shape[1], *(1,) * (y.type.rank - 2))
    operands = [moved(Reshape(column), p) for p in parameters]
    for k, function in enumerate(("mul", "add")[: len(operands)], 1):
        expr = Call(function, (expr, Var(f"x{k}")))
    return apply(Pointwise(expr), y, *operands) if operands else y


@dataclass(frozen=True)
class BinaryConv(Op):
    """Convolution of signs, -1 or 1.

    y = conv(sign(x), sign(w)) * scale + bias, where sign(0) = 1. Attributes are those of
    :class:`Conv`. Padding is added after taking signs: 0 adds nothing to a sum; 1 or -1 is the
    padding of bit-packed networks. Without ``binary_input`` only the weights become signs.

    x: (N, C, spatial), w: (O, C/groups, kernel), scale, bias: (O,), optional
    -> y: (N, O, windows).
    Source: MPSCNNBinaryConvolution; XNOR-Net, Rastegari et al. 2016.
    """

    strides: Sizes = (1, 1)
    dilations: Sizes = (1, 1)
    pads: Sizes = (0, 0, 0, 0)
    groups: int = 1
    pad_value: float = 0.0
    binary_input: bool = True

    @property
    def conv(self) -> Conv:
        """The convolution of the signs."""
        return Conv(self.strides, self.dilations, self.pads, self.groups, pad_value=self.pad_value)

    @property
    def discontinuous_in(self) -> slice:
        return slice(0 if self.binary_input else 1, 2)

    def infer(self, x: TensorType, w: TensorType, *parameters: TensorType) -> TensorType:
        require(len(parameters) <= 2, "a binary convolution takes at most a scale and a bias")
        require(
            all(p.shape == w.shape[:1] for p in parameters),
            f"scale and bias must have shape ({w.shape[0]},)",
        )
        return self.conv.infer(x, w)

    def reference(self, x: Any, w: Any, scale: Any = None, bias: Any = None) -> Any:
        if self.binary_input:
            x = np.copysign(1.0, x + 0.0)  # -0.0 is not negative
        y = self.conv.reference(x, np.copysign(1.0, w + 0.0))
        column = (-1, *(1,) * (y.ndim - 2))
        y = y if scale is None else y * scale.reshape(column)
        return y if bias is None else y + bias.reshape(column)

    def decompose(self, x: Value, w: Value, *parameters: Value) -> Value:
        y = apply(self.conv, _signs(x) if self.binary_input else x, _signs(w))
        return _scaled(y, parameters)


@dataclass(frozen=True)
class BinaryDense(Op):
    """Fully connected layer of signs, -1 or 1.

    y = sign(x) @ sign(w)^T * scale + bias, where sign(0) = 1. Without ``binary_input`` only the
    weights become signs. All axes of x except the first are flattened to inputs.

    x: (N, ...) of C elements each, w: (O, C), scale, bias: (O,), optional -> y: (N, O).
    Source: MPSCNNBinaryFullyConnected.
    """

    binary_input: bool = True

    @property
    def discontinuous_in(self) -> slice:
        return slice(0 if self.binary_input else 1, 2)

    def infer(self, x: TensorType, w: TensorType, *parameters: TensorType) -> TensorType:
        require(
            x.rank >= 2 and w.rank == 2 and prod(x.shape[1:]) == w.shape[1],
            f"inputs of shape {x.shape} do not fit weights of shape {w.shape}",
        )
        require(len(parameters) <= 2, "a binary layer takes at most a scale and a bias")
        require(
            all(p.shape == w.shape[:1] for p in parameters),
            f"scale and bias must have shape ({w.shape[0]},)",
        )
        return TensorType((x.shape[0], w.shape[0]))

    def reference(self, x: Any, w: Any, scale: Any = 1, bias: Any = 0) -> Any:
        x = x.reshape(len(x), -1)
        x = np.where(x < 0, -1, 1) if self.binary_input else x
        return x @ np.where(w < 0, -1, 1).T * scale + bias

    def decompose(self, x: Value, w: Value, *parameters: Value) -> Value:
        """Compute it as a convolution over the whole map."""
        maps = (*x.shape[1:], *(1,) * max(4 - x.type.rank, 0))
        maps = maps if len(maps) == 3 else (w.shape[1], 1, 1)
        x, w = (moved(Reshape((v.shape[0], *maps)), v) for v in (x, w))
        y = apply(BinaryConv(binary_input=self.binary_input), x, w, *parameters)
        return apply(Reshape(y.shape[:2]), y)
