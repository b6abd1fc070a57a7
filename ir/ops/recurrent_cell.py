"""The steps of unrolled recurrent layers: products with the state, and new states.

The states of a layer and the position in the sequence share a tensor **states** (S + 1, batch,
units). Every element of the last row is the next position. A step reads the position there, so that
all steps share a shader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..evaluation import evaluate_formula
from ..expr import Expr, Num, substitute
from ..formula_parser import parse
from ..indexing import Load, Source, add, coordinates, equal
from ..nest_builder import NestBuilder
from ..types import TensorType
from .base import Op, require
from .movement import Movement

if TYPE_CHECKING:
    from ..nest import Nest


@dataclass(frozen=True)
class RecurrentGates(Op):
    """The input of a recurrent layer's gates at one step.

    y[b, j] = p[t, b, j] + sum over k of s[0, b, k] * r[k, j], where t = s[-1, b, 0].

    p: (T, B, N), the sequence times its weights, s: states (S + 1, B, H), r: (H, N) -> y: (B, N).
    """

    def infer(self, p: TensorType, s: TensorType, r: TensorType) -> TensorType:
        require(
            p.rank == s.rank == 3 and r.rank == 2,
            "inputs and states of a recurrent step must have rank 3, weights rank 2",
        )
        require(
            p.shape[1] == s.shape[1] and s.shape[0] >= 2,
            f"states of shape {s.shape} do not fit inputs of shape {p.shape}",
        )
        weights = s.shape[2], p.shape[2]
        require(weights == r.shape, f"weights must have shape {weights}, not {r.shape}")
        return p.of(p.shape[1:])

    def reference(self, p: Any, s: Any, r: Any) -> Any:
        t = s[-1, :, 0].astype(int)
        return p[t, np.arange(t.size)] + s[0] @ r

    def nest(self, p: TensorType, s: TensorType, r: TensorType) -> Nest:
        b, j = coordinates(2)
        nest = NestBuilder()
        time = nest.bind("state_time", _position(s, b, 1))
        nest.load("input_term", 0, (time, b, j))
        unit = nest.loop("unit", s.shape[2])
        nest.bind("state", _row(s, 0, b, unit, 1))
        nest.load("weight", 2, (unit, j))
        nest.add_up("total", "state * weight")
        return nest.give("total + input_term")


@dataclass(frozen=True)
class ResetProduct(Op):
    """Multiply a state by its reset gate, then by the recurrent weights.

    y[b, j] = sum over k of f(g[b, gate*H + k]) * s[0, b, k] * r[k, j], f the activation of x.

    g: (B, N), s: states (S + 1, B, H), r: (H, H) -> y: (B, H).
    """

    gate: int
    activation: Expr

    def infer(self, g: TensorType, s: TensorType, r: TensorType) -> TensorType:
        require(
            s.rank == 3 and r.shape == (s.shape[2],) * 2,
            f"weights of shape {r.shape} do not fit states of shape {s.shape}",
        )
        n = (self.gate + 1) * s.shape[2]
        require(
            g.rank == 2 and g.shape[0] == s.shape[1] and n <= g.shape[1],
            f"gates of shape {g.shape} do not fit states of shape {s.shape}",
        )
        return s.of(s.shape[1:])

    def reference(self, g: Any, s: Any, r: Any) -> Any:
        units = s.shape[2]
        x = g[:, self.gate * units : (self.gate + 1) * units]
        return (evaluate_formula(self.activation, {"x": x}) * s[0]) @ r

    def nest(self, g: TensorType, s: TensorType, r: TensorType) -> Nest:
        b, j = coordinates(2)
        nest = NestBuilder()
        unit = nest.loop("unit", s.shape[2])
        gate = nest.load("gate", 0, (b, add(unit, self.gate * s.shape[2])))
        nest.bind("state", _row(s, 0, b, unit, 1))
        nest.load("weight", 2, (unit, j))
        reset = substitute(self.activation, {"x": gate})
        nest.add_up("total", substitute(parse("reset * state * weight"), {"reset": reset}))
        return nest.give("total")


@dataclass(frozen=True)
class RecurrentCell(Op):
    """Compute the states of a recurrent layer after a step.

    Row i of the result is ``formulas[i]`` of g0, g1, ... (the blocks of H columns of g), s0, s1,
    ... (the states before), and e0, e1, ... (the other operands); where the mask is 0, row i is
    kept. ``stride`` is added to the last row, the position.

    g: (B, G*H), s: states (S + 1, B, H), e0, e1, ...: (H,) or (B, H), mask: (T, B), the last
    operand with ``masked`` -> y: states (S + 1, B, H).
    """

    formulas: tuple[Expr, ...]
    stride: int = 1
    masked: bool = False

    def infer(self, g: TensorType, s: TensorType, *more: TensorType) -> TensorType:
        require(
            s.rank == 3 and s.shape[0] == len(self.formulas) + 1,
            "there must be one state for each formula",
        )
        _, batch, units = s.shape
        require(
            g.shape[:1] == (batch,) and g.shape[1] % units == 0,
            f"gates of shape {g.shape} do not fit states of shape {s.shape}",
        )
        extras = more[:-1] if self.masked else more
        require(
            all(e.shape in ((units,), (batch, units)) for e in extras),
            f"each further operand must have shape ({units},) or ({batch}, {units})",
        )
        if self.masked:
            fits = bool(more) and more[-1].shape[1:] == (batch,)
            require(fits, f"the mask must have a row of {batch} numbers for each step")
        return s

    def reference(self, g: Any, s: Any, *more: Any) -> Any:
        units = s.shape[2]
        env = {f"g{k}": g[:, k * units :][:, :units] for k in range(g.shape[1] // units)}
        env |= {f"s{k}": row for k, row in enumerate(s[:-1])}
        env |= {f"e{k}": e for k, e in enumerate(more[:-1] if self.masked else more)}
        rows = [np.broadcast_to(evaluate_formula(f, env), s.shape[1:]) for f in self.formulas]
        if self.masked:
            t = s[-1, :, 0].astype(int)
            keep = more[-1][t, np.arange(t.size)][:, np.newaxis] != 0
            rows = [np.where(keep, new, old) for new, old in zip(rows, s[:-1], strict=True)]
        return np.stack([*rows, s[-1] + self.stride]).astype(s.dtype)

    def nest(self, g: TensorType, s: TensorType, *more: TensorType) -> Nest:
        row, b, j = coordinates(3)
        units = s.shape[2]
        nest = NestBuilder()
        time = nest.bind("state_time", _position(s, b, 1))
        names: dict[str, Expr] = {}
        for k in range(g.shape[1] // units):
            names[f"g{k}"] = nest.load(f"gate_{k}", 0, (b, add(j, k * units)))
        for k in range(s.shape[0] - 1):
            names[f"s{k}"] = nest.bind(f"state_{k}", _row(s, k, b, j, 1))
        for k, e in enumerate(more[:-1] if self.masked else more):
            names[f"e{k}"] = nest.load(f"operand_{k}", 2 + k, (b, j)[2 - e.rank :])
        if self.masked:
            nest.load("keep", 1 + len(more), (time, b))
        result = parse(f"state_time + {self.stride}")
        for k in reversed(range(len(self.formulas))):
            new = substitute(self.formulas[k], names)
            values = {"new": new, "rest": result, "old": names[f"s{k}"], "row": row}
            text = f"where(row < {k + 0.5}, new, rest)"
            if self.masked:
                text = f"where(row < {k + 0.5}, where(keep, new, old), rest)"
            result = substitute(parse(text), values)
        return nest.give(result)


@dataclass(frozen=True)
class GatedFormula(Op):
    """Split a tensor along ``axis`` and combine the parts by a formula.

    y = formula(g0, g1, ..., s0, s1, ...), where g0, g1, ... are the parts of g along ``axis``, with
    the shape of s0, s1, ...

    g: G times the size of s0 along ``axis``, s0, s1, ...: equal shapes -> y: the shape of s0.
    """

    formula: Expr
    axis: int

    def infer(self, g: TensorType, *s: TensorType) -> TensorType:
        require(bool(s) and {t.shape for t in s} == {s[0].shape}, "the states differ in shape")
        require(
            0 <= self.axis < s[0].rank == g.rank,
            f"axis {self.axis} is out of range, or gates and states differ in rank",
        )
        size = s[0].shape[self.axis]
        shape = (*g.shape[: self.axis], size, *g.shape[self.axis + 1 :])
        require(
            shape == s[0].shape and g.shape[self.axis] % size == 0,
            f"gates of shape {g.shape} do not divide into parts of shape {s[0].shape}",
        )
        return s[0]

    def reference(self, g: Any, *s: Any) -> Any:
        parts = np.split(g, g.shape[self.axis] // s[0].shape[self.axis], self.axis)
        env = {f"g{k}": part for k, part in enumerate(parts)}
        return evaluate_formula(self.formula, env | {f"s{k}": x for k, x in enumerate(s)})

    def nest(self, g: TensorType, *s: TensorType) -> Nest:
        own = coordinates(g.rank)
        size = s[0].shape[self.axis]
        nest = NestBuilder()
        names: dict[str, Expr] = {}
        for k in range(g.shape[self.axis] // size):
            index: list[Expr] = list(own)
            index[self.axis] = add(own[self.axis], k * size)
            names[f"g{k}"] = nest.load(f"gate_{k}", 0, index)
        for k in range(len(s)):
            names[f"s{k}"] = nest.load(f"state_{k}", 1 + k, own)
        return nest.give(substitute(self.formula, names))


def _row(s: TensorType, row: int, b: Expr, j: Expr, operand: int) -> Load:
    return Load((Source(operand, (Num(float(row)), b, j)),))


def _position(s: TensorType, b: Expr, operand: int) -> Load:
    return _row(s, s.shape[0] - 1, b, Num(0.0), operand)


@dataclass(frozen=True)
class StackStates(Movement):
    """Stack the first row of every operand: y[i, b, j] = x_i[0, b, j].

    x0, x1, ...: states (S + 1, B, H) -> y: (number of operands, B, H).
    """

    def infer(self, *inputs: TensorType) -> TensorType:
        require(bool(inputs), "nothing to stack")
        require({t.shape for t in inputs} == {inputs[0].shape}, "the states differ in shape")
        require(inputs[0].rank == 3, "states must have rank 3")
        return inputs[0].of((len(inputs), *inputs[0].shape[1:]))

    def reference(self, *inputs: Any) -> Any:
        return np.stack([x[0] for x in inputs])

    def load(self, *inputs: TensorType) -> Load:
        i, b, j = coordinates(3)
        last = len(inputs) - 1
        return Load(
            tuple(
                Source(k, (Num(0.0), b, j), () if k == last else (equal(i, k),))
                for k in range(len(inputs))
            )
        )
