"""Recurrent layers: LSTM, GRU and simple RNN, unrolled over the sequence.

A single matrix product multiplies all steps of the sequence by the input weights. A step is then a
product with the state and a formula: two or three GPU passes, whose shaders all steps share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...records import dataclass
from ..evaluation import evaluate_formula
from ..expr import Expr, Var, substitute
from ..formula_parser import parse
from ..graph import apply, constant
from ..types import TensorType
from .base import Op, require
from .linear_algebra import MatMul
from .movement import Concat, Reshape, Slice
from .pointwise import Pointwise
from .recurrent_cell import RecurrentCell, RecurrentGates, ResetProduct, StackStates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Value

LONGEST_SEQUENCE = 512  # steps: a thousand GPU passes and more
STACKED = 8  # operands of one GPU pass, half of the texture units that there must be
SIGMOID, TANH = parse("sigmoid(x)"), parse("tanh(x)")


def check_steps(op: Op, steps: int) -> None:
    """Refuse sequences that would unroll to too many GPU passes."""
    if steps > LONGEST_SEQUENCE:
        raise ShadergenError(
            "SG0202",
            f"{type(op).__name__} over {steps} steps is not implemented",
            why="the layer is unrolled, and every step takes at least two GPU passes",
            supported=f"up to {LONGEST_SEQUENCE} steps",
            help="give the model a shorter sequence",
        )


@dataclass(frozen=True)
class Recurrence(Op, abstract=True):
    """The common part of recurrent layers.

    ``activations`` are formulas of x. ``gates`` names the blocks of H columns of w, r and b, a
    letter for each. ``reverse`` runs from the end of the sequence to its beginning. With
    ``masked``, the last operand is a mask (T, B): where the mask is 0, states are kept.

    x: (T, B, I), w: (I, gates*H), r: (H, gates*H), b: a vector, then the states before the first
    step, (B, H) each, what else the cell reads, and the mask
    -> y: (T, B, H), the first state after every step, and all states after the last, (B, H) each.
    """

    activations: tuple[Expr, ...]
    gates: str
    reverse: bool = False
    masked: bool = False

    def _counts(self) -> tuple[int, int]:
        """Return the numbers of states and of other operands of the cell."""
        return 1, 0

    def _letters(self) -> tuple[str, int]:
        """Return the letters of ``gates`` and the number of blocks of b."""
        raise NotImplementedError

    def infer(
        self, x: TensorType, w: TensorType, r: TensorType, b: TensorType, *more: TensorType
    ) -> tuple[TensorType, ...]:
        letters, biases = self._letters()
        require(sorted(self.gates) == sorted(letters), f"unknown gates '{self.gates}'")
        require(x.rank == 3 and w.rank == 2 and r.rank == 2, "x must have rank 3, w and r rank 2")
        steps, batch, features = x.shape
        units, columns = r.shape
        require(
            columns == len(letters) * units and w.shape == (features, columns),
            f"weights of {w.shape[0]}x{w.shape[1]} and {units}x{columns} do not fit {features} "
            f"features and {len(letters)} gates",
        )
        require(
            b.shape == (biases * units,), f"a bias of shape {b.shape} does not fit {units} units"
        )
        states, extras = self._counts()
        count = states + extras + self.masked
        require(
            len(more) == count,
            f"{len(more)} states, peepholes and masks are given, not {count}",
        )
        require(
            all(t.shape == (batch, units) for t in more[:states]),
            f"initial states must have shape {batch}x{units}",
        )
        require(
            all(t.shape == (units,) for t in more[states:][:extras]),
            f"peepholes must have shape {units}",
        )
        require(not self.masked or more[-1].shape == (steps, batch), "the mask does not fit x")
        check_steps(self, steps)
        return (x.of((steps, batch, units)), *(x.of((batch, units)),) * states)

    def reference(self, x: Any, w: Any, r: Any, b: Any, *more: Any) -> tuple[Any, ...]:
        count, extras = self._counts()
        states = list(more[:count])
        mask = more[-1] if self.masked else np.ones(x.shape[:2], x.dtype)
        y = np.zeros((*x.shape[:2], r.shape[0]), x.dtype)
        for t in reversed(range(len(x))) if self.reverse else range(len(x)):
            new = self._step(x[t], w, r, b, states, *more[count:][:extras])
            keep = mask[t][:, np.newaxis] != 0
            states = [np.where(keep, n, s) for n, s in zip(new, states, strict=True)]
            y[t] = states[0]
        return y, *states

    def _step(
        self, x: Any, w: Any, r: Any, b: Any, states: Sequence[Any], *extras: Any
    ) -> tuple[Any, ...]:
        """Return the states after one element of the sequence, with numpy."""
        raise NotImplementedError

    def _activate(self, which: int, x: Any) -> Any:
        return evaluate_formula(self.activations[which], {"x": x})

    def formulas(self) -> tuple[Expr, ...]:
        """Return the new states, as formulas of a ``RecurrentCell``."""
        raise NotImplementedError

    def _gate(self, letter: str) -> Expr:
        return Var(f"g{self.gates.index(letter)}")

    def _activated(self, which: int, x: Expr) -> Expr:
        return substitute(self.activations[which], {"x": x})

    def decompose(self, *operands: Value) -> tuple[Value, ...]:
        x, w, r, b, *more = operands
        steps, batch, units = self.infer(*(v.type for v in operands))[0].shape
        count, _ = self._counts()
        first = [apply(Reshape((1, batch, units)), v) for v in more[:count]]
        start = np.full((1, batch, units), steps - 1 if self.reverse else 0, np.float32)
        state = apply(Concat(0), *first, constant(start, "position"))
        w, r = self._weights(w, r)
        p = apply(Pointwise(parse("x0 + x1")), apply(MatMul(), x, w), b)
        cell = RecurrentCell(self.formulas(), -1 if self.reverse else 1, self.masked)
        history = []
        for _ in range(steps):
            gates = apply(RecurrentGates(), p, state, r)
            between = self._between(gates, state, operands[2])
            state = apply(cell, gates, state, *between, *more[count:])
            history.append(state)
        last = [apply(Slice((k, 0, 0), (1, 1, 1), (1, batch, units)), state) for k in range(count)]
        if self.reverse:
            history.reverse()
        return _joined(history), *(apply(Reshape((batch, units)), s) for s in last)

    def _weights(self, w: Value, r: Value) -> tuple[Value, Value]:
        """Return w and r as ``RecurrentGates`` takes them."""
        return w, r

    def _between(self, gates: Value, state: Value, r: Value) -> tuple[Value, ...]:
        """Return a step's computation between the gates and the cell."""
        return ()


def _joined(history: Sequence[Value]) -> Value:
    """Stack the first rows of states, few at a time."""
    groups = [history[k : k + STACKED] for k in range(0, len(history), STACKED)]
    return concatenated([apply(StackStates(), *group) for group in groups])


def concatenated(parts: Sequence[Value]) -> Value:
    """Concatenate along the first axis, few at a time."""
    while len(parts) > 1:
        groups = [parts[k : k + STACKED] for k in range(0, len(parts), STACKED)]
        parts = [apply(Concat(0), *group) if len(group) > 1 else group[0] for group in groups]
    return parts[0]


def _formula(text: str, **values: Expr) -> Expr:
    return substitute(parse(text), values)


def _blocks(x: Any, letters: str) -> dict[str, Any]:
    return dict(zip(letters, np.split(x, len(letters), -1), strict=True))


@dataclass(frozen=True)
class RNN(Recurrence):
    """Simple recurrent layer: h' = f(x[t] w + h r + b), f the activation.

    Operands and results: see ``Recurrence``; b: (H,); the state is h.
    Source: ONNX RNN-22; keras.layers.SimpleRNN.
    """

    activations: tuple[Expr, ...] = (TANH,)
    gates: str = "h"

    def _letters(self) -> tuple[str, int]:
        require(len(self.activations) == 1, "an RNN needs one activation")
        return "h", 1

    def _step(
        self, x: Any, w: Any, r: Any, b: Any, states: Sequence[Any], *extras: Any
    ) -> tuple[Any, ...]:
        return (self._activate(0, x @ w + states[0] @ r + b),)

    def formulas(self) -> tuple[Expr, ...]:
        return (self._activated(0, self._gate("h")),)


@dataclass(frozen=True)
class GRU(Recurrence):
    """Gated recurrent units, with activations f, g.

    z = f(gate_z), u = f(gate_r), h' = (1 - z)*n + z*h, where gate = x[t] w + h r + b and
    n = g(x[t] w_h + (u*h) r_h + b_h) or, with ``linear_before_reset``,
    n = g(x[t] w_h + b_h + u*(h r_h + b_n)), b_n being the last of then four blocks of b.

    Operands and results: see ``Recurrence``; b: (3*H,) or (4*H,); the state is h.
    Source: ONNX GRU-22; keras.layers.GRU, where ``reset_after`` is linear_before_reset.
    """

    activations: tuple[Expr, ...] = (SIGMOID, TANH)
    gates: str = "zrh"
    linear_before_reset: bool = False

    def _letters(self) -> tuple[str, int]:
        require(len(self.activations) == 2, "a GRU needs two activations")
        return "zrh", 4 if self.linear_before_reset else 3

    def _step(
        self, x: Any, w: Any, r: Any, b: Any, states: Sequence[Any], *extras: Any
    ) -> tuple[Any, ...]:
        (h,) = states
        units = h.shape[1]
        seen, kept = _blocks(x @ w + b[: 3 * units], self.gates), _blocks(h @ r, self.gates)
        z = self._activate(0, seen["z"] + kept["z"])
        u = self._activate(0, seen["r"] + kept["r"])
        if self.linear_before_reset:
            n = u * (kept["h"] + b[3 * units :])
        else:
            n = (u * h) @ _blocks(r, self.gates)["h"]
        return ((1 - z) * self._activate(1, seen["h"] + n) + z * h,)

    def _weights(self, w: Value, r: Value) -> tuple[Value, Value]:
        """Keep the product of the state for n out of its gate; put it in a gate of its own."""
        units = r.shape[0]
        empty = constant(np.zeros((units, units), np.float32), "zeros")
        blocks = [empty if n == "h" else _columns(r, k) for k, n in enumerate(self.gates)]
        if self.linear_before_reset:
            blocks.append(_columns(r, self.gates.index("h")))
            w = apply(Concat(1), w, constant(np.zeros((w.shape[0], units), np.float32), "zeros"))
        return w, apply(Concat(1), *blocks)

    def _between(self, gates: Value, state: Value, r: Value) -> tuple[Value, ...]:
        if self.linear_before_reset:
            return ()
        product = ResetProduct(self.gates.index("r"), self.activations[0])
        return (apply(product, gates, state, _columns(r, self.gates.index("h"))),)

    def formulas(self) -> tuple[Expr, ...]:
        z, u = (self._activated(0, self._gate(n)) for n in "zr")
        text = "g + u * g3" if self.linear_before_reset else "g + e0"
        n = self._activated(1, _formula(text, g=self._gate("h"), u=u))
        return (_formula("(1 - z) * n + z * s0", z=z, n=n),)


def _columns(r: Value, block: int) -> Value:
    units = r.shape[0]
    return apply(Slice((0, block * units), (1, 1), (units, units)), r)


@dataclass(frozen=True)
class LSTM(Recurrence):
    """Long short-term memory, with activations f, g, k.

    i = f(gate_i + p_i*c), u = f(gate_f + p_f*c), c' = u*c + i*g(gate_c),
    o = f(gate_o + p_o*c'), h' = o*k(c'), where gate = x[t] w + h r + b; with ``input_forget``,
    u = 1 - i; without ``peepholes``, p is 0.

    Operands and results: see ``Recurrence``; b: (4*H,); the states are h and c; with
    ``peepholes``, p_i, p_o and p_f follow, (H,) each.
    Source: ONNX LSTM-22; keras.layers.LSTM, whose gates are "ifco".
    """

    activations: tuple[Expr, ...] = (SIGMOID, TANH, TANH)
    gates: str = "iofc"
    peepholes: bool = False
    input_forget: bool = False

    def _counts(self) -> tuple[int, int]:
        return 2, 3 if self.peepholes else 0

    def _letters(self) -> tuple[str, int]:
        require(len(self.activations) == 3, "an LSTM needs three activations")
        return "iofc", 4

    def _step(
        self, x: Any, w: Any, r: Any, b: Any, states: Sequence[Any], *extras: Any
    ) -> tuple[Any, ...]:
        h, c = states
        peep_i, peep_o, peep_f = extras or (0, 0, 0)
        gate = _blocks(x @ w + h @ r + b, self.gates)
        i = self._activate(0, gate["i"] + peep_i * c)
        u = 1 - i if self.input_forget else self._activate(0, gate["f"] + peep_f * c)
        c = u * c + i * self._activate(1, gate["c"])
        return self._activate(0, gate["o"] + peep_o * c) * self._activate(2, c), c

    def formulas(self) -> tuple[Expr, ...]:
        def gate(letter: str, peephole: str, c: Expr) -> Expr:
            seen = self._gate(letter)
            if self.peepholes:
                seen = _formula("g + p * c", g=seen, p=Var(peephole), c=c)
            return self._activated(0, seen)

        i = gate("i", "e0", Var("s1"))
        u = _formula("1 - i", i=i) if self.input_forget else gate("f", "e2", Var("s1"))
        n = self._activated(1, self._gate("c"))
        c = _formula("u * s1 + i * n", u=u, i=i, n=n)
        return _formula("o * c", o=gate("o", "e1", c), c=self._activated(2, c)), c
