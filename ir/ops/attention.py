"""Scaled dot-product attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..expr import Num, substitute
from ..formula_parser import parse
from ..graph import apply, constant
from ..types import TensorType, broadcast
from .base import Op, require
from .linear_algebra import Einsum
from .movement import Reshape
from .pointwise import Pointwise
from .reduction import FLOAT_MAX, Reduce
from .softmax import Softmax

if TYPE_CHECKING:
    from ..expr import Expr
    from ..graph import Value


@dataclass(frozen=True)
class Attention(Op):
    """Scaled dot-product attention: every query takes a weighted mean of the values.

    y[b, n, s] = sum over t of p[b, n, s, t] * v[b, m, t], where p is the softmax over t of
    c(scale * q[b, n, s] . k[b, m, t]) + bias[b, n, s, t], m = n // (N / M), and
    c(x) = softcap * tanh(x / softcap), or x where ``softcap`` is 0.

    A query ignores keys where the mask is 0 or the bias is minus infinity and, if ``causal``, keys
    with t > s + ``offset``. A query without keys gives 0.

    q: (B, N, S, D), k: (B, M, T, D), v: (B, M, T, E), heads M dividing N, or, with
    ``heads_last``, (B, S, N, D), (B, T, M, D) and (B, T, M, E); then, as ``biased`` and ``masked``
    say, a bias and a mask that broadcast to (B, N, S, T)
    -> y: (B, N, S, E) or, with ``heads_last``, (B, S, N, E).
    Source: A. Vaswani et al., "Attention is all you need" (2017); ONNX Attention-24.
    """

    scale: float
    heads_last: bool = False
    biased: bool = False
    masked: bool = False
    causal: bool = False
    offset: int = 0
    softcap: float = 0.0

    def _sizes(self, *types: TensorType) -> tuple[int, ...]:
        """Return B, N, M, S, T, D, E."""
        heads, length = (2, 1) if self.heads_last else (1, 2)
        q, k, v = (t.shape for t in types[:3])
        return q[0], q[heads], k[heads], q[length], k[length], q[3], v[3]

    def infer(self, q: TensorType, k: TensorType, v: TensorType, *more: TensorType) -> TensorType:
        require(q.rank == k.rank == v.rank == 4, "queries, keys and values must have rank 4")
        b, n, m, s, t, d, e = self._sizes(q, k, v)
        require(k.shape[0] == v.shape[0] == b, "queries, keys and values differ in batch")
        require(k.shape[:3] == v.shape[:3], "keys and values differ in batch, heads or length")
        require(k.shape[3] == d, f"queries have {d} features, keys have {k.shape[3]}")
        require(n % m == 0, f"{n} query heads are not a multiple of {m} key heads")
        wanted = self.biased + self.masked
        require(len(more) == wanted, f"attention needs {wanted} masks and biases, not {len(more)}")
        require(
            all(broadcast(o.shape, (b, n, s, t)) == (b, n, s, t) for o in more),
            f"a mask or bias does not broadcast to {b}x{n}x{s}x{t}",
        )
        return q.of((b, s, n, e) if self.heads_last else (b, n, s, e))

    def reference(self, q: Any, k: Any, v: Any, *more: Any) -> Any:
        if self.heads_last:
            q, k, v = (np.swapaxes(x, 1, 2) for x in (q, k, v))
        k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
        scores = self.scale * (q @ np.swapaxes(k, 2, 3))
        if self.softcap:
            scores = self.softcap * np.tanh(scores / self.softcap)
        if self.biased:
            scores = scores + more[0]
        seen = np.ones(scores.shape, bool)
        if self.masked:
            seen &= np.asarray(more[-1]) != 0
        if self.causal:
            s, t = scores.shape[2:]
            seen &= np.tri(s, t, self.offset, dtype=bool)
        scores = np.where(seen, scores, -np.inf)
        highest = np.maximum(scores.max(-1, keepdims=True), -FLOAT_MAX)
        e = np.exp(scores - highest)
        total = e.sum(-1, keepdims=True)
        y = (e / np.where(total == 0, 1, total)).astype(q.dtype) @ v
        return np.swapaxes(y, 1, 2) if self.heads_last else y

    def decompose(self, q: Value, k: Value, v: Value, *more: Value) -> Value:
        b, n, m, s, t, d, e = self._sizes(q.type, k.type, v.type)
        left, right = ("bsmgd", "btmd") if self.heads_last else ("bmgsd", "bmtd")
        shape = (b, s, m, n // m, d) if self.heads_last else (b, m, n // m, s, d)
        if n == m:
            left = left.replace("g", "")
            scores = apply(Einsum(f"{left},{right}->bmst"), q, k)
        else:
            grouped = apply(Einsum(f"{left},{right}->bmgst"), apply(Reshape(shape), q), k)
            scores = apply(Reshape((b, n, s, t)), grouped)
        p = self._shares(scores, *more)
        if n == m:
            return apply(Einsum(f"bmst,{right}->{left}"), p, v)
        y = apply(Einsum(f"bmgst,{right}->{left}"), apply(Reshape((b, m, n // m, s, t)), p), v)
        return apply(Reshape((b, s, n, e) if self.heads_last else (b, n, s, e)), y)

    def _shares(self, scores: Value, *more: Value) -> Value:
        """Return the weight of every key."""
        x = _formula("x0 * scale", scale=self.scale)
        if self.softcap:
            x = _formula("c * tanh(x / c)", c=self.softcap, x=x)
        operands = [scores, *more]
        if self.biased:
            x = _formula("x + x1", x=x)
        if self.masked:
            x = _formula(f"where(x{len(more)}, x, -inf)", x=x)
        if self.causal:
            query, key = (np.arange(size, dtype=np.float32) for size in scores.shape[2:])
            operands += [constant(query.reshape(-1, 1), "queries"), constant(key, "keys")]
            test = f"x{len(operands) - 1} <= x{len(operands) - 2} + offset"
            x = _formula(f"where({test}, x, -inf)", x=x, offset=self.offset)
        scores = apply(Pointwise(x), *operands)
        hiding = self.biased or self.masked or (self.causal and self.offset < 0)
        return guarded_softmax(scores) if hiding else apply(Softmax((3,)), scores)


def guarded_softmax(x: Value) -> Value:
    """Return the softmax over the last axis; 0 if all scores are minus infinity."""
    axis = x.type.rank - 1
    text = f"exp(x0 - max(x1, -{FLOAT_MAX!r}))"
    highest = apply(Reduce("max", (axis,)), x)
    total = apply(Reduce("sum", (axis,), True, parse(text)), x, highest)
    return apply(Pointwise(parse(f"{text} / where(x2 == 0, 1, x2)")), x, highest, total)


def _formula(text: str, **values: Expr | float) -> Expr:
    numbers = {n: Num(float(v)) if isinstance(v, (int, float)) else v for n, v in values.items()}
    return substitute(parse(text), numbers)
