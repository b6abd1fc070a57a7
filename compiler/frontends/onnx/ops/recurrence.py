"""LSTM, GRU and RNN, in one or both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError, did_you_mean
from .....ir.expr import Expr, Num, substitute
from .....ir.formula_parser import parse
from .....ir.graph import Node, constant
from .....ir.ops import GRU, LSTM, RNN, Concat, Pointwise, Reshape, Slice, Transpose
from .....records import dataclass
from ..operands import Known
from .activation import ACTIVATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .....ir.graph import Value
    from .....ir.ops.recurrence import Recurrence
    from .elementwise import Handler
    from .node import OnnxNode

# The activations that recurrent operators have.
FUNCTIONS = (
    *("Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus"),
    *("Softsign", "Tanh", "ThresholdedRelu"),
)
DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
BATCH_FIRST = (1, 0, 2)


def recurrence(node: OnnxNode) -> list[Value]:
    """Return the outputs of all steps (T, D, B, H) and the last states (D, B, H)."""
    directions = DIRECTIONS[node.choice("direction", tuple(DIRECTIONS))]
    batch_first = node.choice("layout", (0, 1)) == 1
    node.ignore("output_sequence")  # of operator set 1: whether the first result is asked for
    x = node.real(0)
    if x.type.rank != 3:
        raise ShadergenError("SG0105", f"{node.op} needs rank 3, not {x.type.rank}")
    if batch_first:
        x = node.apply(Transpose(BATCH_FIRST), x)
    layer = _Layer(node, x, _mask(node, x), batch_first)
    activations = _activations(node, len(directions))
    results = [layer.run(d, r, activations[d]) for d, r in enumerate(directions)]
    y, *last = (_stacked(node, parts, int(not k)) for k, parts in enumerate(_turned(results)))
    if batch_first:
        y = node.apply(Transpose((2, 0, 1, 3)), y)
        last = [node.apply(Transpose(BATCH_FIRST), s) for s in last]
    return [y, *last]


@dataclass(frozen=True)
class _Layer:
    """A node, its sequence (T, B, I), and where the sequence has not ended, (T, B)."""

    node: OnnxNode
    x: Value
    mask: Value | None
    batch_first: bool

    def run(self, d: int, reverse: bool, activations: tuple[Expr, ...]) -> tuple[Value, ...]:
        """Return the outputs of all steps and the last states of one direction."""
        node, mask = self.node, self.mask
        w, r = (node.apply(Transpose((1, 0)), self._part(k, d)) for k in (1, 2))
        units = r.shape[0]
        if (size := node.integer("hidden_size", units)) != units:
            raise ShadergenError(
                "SG0105", f"the weights of {node.op} have {units} units, hidden_size is {size}"
            )
        masked = mask is not None
        op: Recurrence
        after = peepholes = False
        if node.op == "RNN":
            op = RNN(activations, "h", reverse, masked)
        elif node.op == "GRU":
            after = node.integer("linear_before_reset", 0) != 0
            op = GRU(activations, "zrh", reverse, masked, after)
        else:
            peepholes, coupled = node.given(7), node.integer("input_forget", 0) != 0
            op = LSTM(activations, "iofc", reverse, masked, peepholes, coupled)
        operands = [self.x, w, r, self._bias(d, units, op.gates, after), self._state(5, d, units)]
        if node.op == "LSTM":
            operands.append(self._state(6, d, units))
        if peepholes:
            operands += self._blocks(self._part(7, d), units)
        if mask is not None:
            operands.append(mask)
        y, *states = Node(op, tuple(operands), (node.layer,)).results
        return _cleared(node, y, mask), *states

    def _part(self, index: int, d: int) -> Value:
        """Return what an operand has for a direction."""
        x = self.node.real(index)
        if x.type.rank < 2 or not d < x.shape[0]:
            raise ShadergenError(
                "SG0105",
                f"input {index} of {self.node.op} has the shape {list(x.shape)}: the first axis "
                "needs an entry for each direction",
            )
        rest = x.shape[1:]
        starts, steps = (d, *(0,) * len(rest)), (1,) * x.type.rank
        y = self.node.apply(Slice(starts, steps, (1, *rest)), x)
        return self.node.apply(Reshape(rest), y)

    def _blocks(self, x: Value, units: int) -> list[Value]:
        count = x.shape[0] // units
        return [self.node.apply(Slice((k * units,), (1,), (units,)), x) for k in range(count)]

    def _bias(self, d: int, units: int, gates: str, apart: bool) -> Value:
        """Return the biases of sequence and state added up, those of gate h ``apart``."""
        node, count = self.node, len(gates)
        if not node.given(3):
            return constant(np.zeros((count + apart) * units, np.float32), "zeros")
        blocks = self._blocks(self._part(3, d), units)
        if len(blocks) != 2 * count:
            raise ShadergenError(
                "SG0105",
                f"input 3 of {node.op} has {len(blocks)} biases per unit, not {2 * count}",
            )
        summed = [
            a if apart and n == "h" else node.apply(Pointwise(parse("x0 + x1")), a, b)
            for n, a, b in zip(gates, blocks[:count], blocks[count:], strict=True)
        ]
        return node.apply(Concat(0), *summed, *(blocks[-1:] if apart else ()))

    def _state(self, index: int, d: int, units: int) -> Value:
        """Return the state before the first step."""
        node, batch = self.node, self.x.shape[1]
        if not node.given(index):
            return constant(np.zeros((batch, units), np.float32), "zeros")
        if not self.batch_first:
            return self._part(index, d)
        y = node.apply(Slice((0, d, 0), (1, 1, 1), (batch, 1, units)), node.real(index))
        return node.apply(Reshape((batch, units)), y)


def _mask(node: OnnxNode, x: Value) -> Value | None:
    """Return where the sequences have not ended, (T, B), or None when all are full."""
    if not node.given(4):
        return None
    lengths = node.item(4)
    if isinstance(lengths, Known) and (lengths.array >= x.shape[0]).all():
        return None
    t = constant(np.arange(x.shape[0], dtype=np.float32).reshape(-1, 1), "steps")
    return node.apply(Pointwise(parse("x0 < x1")), t, node.numeric(4))


def _cleared(node: OnnxNode, y: Value, mask: Value | None) -> Value:
    """Put zeros where sequences have ended."""
    if mask is None:
        return y
    present = node.apply(Reshape((*mask.shape, 1)), mask)
    return node.apply(Pointwise(parse("where(x1, x0, 0)")), y, present)


def _turned(rows: list[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    return list(zip(*rows, strict=True))


def _stacked(node: OnnxNode, parts: tuple[Value, ...], axis: int) -> Value:
    """Put the directions side by side, along an axis of their own."""
    shaped = [node.apply(Reshape((*p.shape[:axis], 1, *p.shape[axis:])), p) for p in parts]
    return shaped[0] if len(shaped) == 1 else node.apply(Concat(axis), *shaped)


def _activations(node: OnnxNode, directions: int) -> list[tuple[Expr, ...]]:
    """Return the formulas for each direction; clipping is part of them.

    Parameters are handed out in the order of the functions that take them.
    """
    count = len(DEFAULTS[node.op])
    names = node.texts("activations") if node.has("activations") else DEFAULTS[node.op] * directions
    if len(names) != count * directions:
        raise ShadergenError(
            "SG0105", f"{node.op} has {len(names)} activations instead of {count * directions}"
        )
    limit = node.number("clip", 0.0)
    seen: Expr = parse("x")
    if limit > 0:
        seen = substitute(parse("clamp(x, -c, c)"), {"c": Num(limit)})
    given = {
        p: iter(node.numbers(f"activation_{p}") if node.has(f"activation_{p}") else ())
        for p in ("alpha", "beta")
    }
    formulas = [  # ONNX Runtime does not clip what the last activation of an LSTM sees, the cell
        _activation(name, given, parse("x") if k % count == 2 else seen)
        for k, name in enumerate(names)
    ]
    return [tuple(formulas[d * count : (d + 1) * count]) for d in range(directions)]


def _activation(name: str, given: dict[str, Iterator[float]], seen: Expr) -> Expr:
    known = {n.lower(): n for n in FUNCTIONS}
    if name.lower() not in known:
        raise ShadergenError(
            "SG0202",
            f"activation '{name}' is not implemented",
            supported=", ".join(FUNCTIONS),
            help=did_you_mean(name, FUNCTIONS),
        )
    text, defaults = ACTIVATIONS[known[name.lower()]]
    values = {p: Num(float(np.float32(next(given[p], d)))) for p, d in defaults.items()}
    return substitute(parse(text), {**values, "x0": seen})


RECURRENCE: dict[str, Handler] = {
    "GRU": recurrence,
    "LSTM": recurrence,
    "RNN": recurrence,
}
