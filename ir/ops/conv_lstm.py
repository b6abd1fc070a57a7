"""LSTM whose products are convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...records import dataclass
from ..evaluation import evaluate_formula
from ..expr import Expr
from ..formula_parser import parse
from ..graph import Value, apply
from ..types import TensorType
from .base import Op, require
from .convolution import Conv
from .movement import Reshape, Slice
from .pointwise import Pointwise
from .recurrence import LSTM, SIGMOID, TANH, check_steps, concatenated
from .recurrent_cell import GatedFormula


@dataclass(frozen=True)
class ConvLSTM(Op):
    """An ``LSTM`` over a sequence of maps: its gates are x[t] * w + h * r + b, where * convolves.

    ``of_input`` and ``of_state`` are the two convolutions; ``of_state`` keeps the size of a map.
    ``activations``, ``gates`` and ``reverse`` are those of ``LSTM``.

    x: (T, B, C, spatial), w: (4*F, C, kernel), r: (4*F, F, kernel), b: (4*F,), and the first
    states h and c, (B, F, windows) -> y: (T, B, F, windows) and the last states.
    Source: X. Shi et al., "Convolutional LSTM network" (2015), without peepholes, as
    keras.layers.ConvLSTM2D has it.
    """

    of_input: Conv
    of_state: Conv
    activations: tuple[Expr, ...] = (SIGMOID, TANH, TANH)
    gates: str = "ifco"
    reverse: bool = False

    def infer(
        self,
        x: TensorType,
        w: TensorType,
        r: TensorType,
        b: TensorType,
        h: TensorType,
        c: TensorType,
    ) -> tuple[TensorType, ...]:
        require(x.rank >= 4, "a sequence of maps must have rank 4 or more")
        require(sorted(self.gates) == sorted("iofc"), f"unknown gates '{self.gates}'")
        require(len(self.activations) == 3, "an LSTM needs three activations")
        steps, batch = x.shape[:2]
        seen = self.of_input.infer(x.of((steps * batch, *x.shape[2:])), w, b)
        state = (batch, seen.shape[1] // 4, *seen.shape[2:])
        require(h.shape == state == c.shape, f"initial states must have shape {list(state)}")
        kept = self.of_state.infer(h, r)
        gates = kept.shape[1:], seen.shape[1:]
        require(
            gates[0] == gates[1],
            f"the gates of state and input differ in shape: {gates[0]} and {gates[1]}",
        )
        check_steps(self, steps)
        return x.of((steps, *state)), h, c

    def reference(self, x: Any, w: Any, r: Any, b: Any, h: Any, c: Any) -> tuple[Any, ...]:
        y = np.zeros((len(x), *h.shape), x.dtype)
        f, g, k = self.activations
        for t in reversed(range(len(x))) if self.reverse else range(len(x)):
            seen = self.of_input.reference(x[t], w, b) + self.of_state.reference(h, r)
            gate = dict(zip(self.gates, np.split(seen, 4, 1), strict=True))
            i, u, o = (evaluate_formula(f, {"x": gate[n]}) for n in "ifo")
            c = u * c + i * evaluate_formula(g, {"x": gate["c"]})
            h = o * evaluate_formula(k, {"x": c})
            y[t] = h
        return y, h, c

    def decompose(self, *operands: Value) -> tuple[Value, ...]:
        x, w, r, b, h, c = operands
        result = self.infer(*(v.type for v in operands))[0]
        steps, batch = x.shape[:2]
        seen = apply(self.of_input, apply(Reshape((steps * batch, *x.shape[2:])), x), w, b)
        rest = seen.shape[1:]
        new_h, new_c = (GatedFormula(e, 1) for e in LSTM(self.activations, self.gates).formulas())
        outputs: list[Value] = []
        for t in reversed(range(steps)) if self.reverse else range(steps):
            starts, ones = (t * batch, *(0,) * len(rest)), (1,) * (1 + len(rest))
            now = apply(Slice(starts, ones, (batch, *rest)), seen)
            gates = apply(Pointwise(parse("x0 + x1")), apply(self.of_state, h, r), now)
            h, c = apply(new_h, gates, h, c), apply(new_c, gates, h, c)
            outputs.append(h)
        if self.reverse:
            outputs.reverse()
        return apply(Reshape(result.shape), concatenated(outputs)), h, c
