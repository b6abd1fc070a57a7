"""Matrix products, Einstein summation, determinants."""

from __future__ import annotations

from functools import cache, reduce
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...records import dataclass
from ..expr import Call, Expr, Num, Var
from ..graph import apply
from ..indexing import coordinates
from ..nest_builder import NestBuilder
from ..types import TensorType, broadcast, shape_text
from .base import Op, require
from .einsum import Equation, label_sizes, parse_equation
from .movement import Transpose
from .reduction import Reduce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Value
    from ..nest import Nest

LARGEST_DETERMINANT = 6  # its formula has 6 * 2^5 products


@dataclass(frozen=True)
class MatMul(Op):
    """Matrix product: y[.., i, j] = sum over k of a[.., i, k] * b[.., k, j].

    Axes before the last two broadcast. A vector is a row on the left and a column on the right; the
    result has no axis for a vector.

    a: (..., M, K) or (K,), b: (..., K, N) or (K,) -> y: (..., M, N), of the type of a.
    Source: numpy.matmul; ONNX MatMul-13.
    """

    row_packable = True

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        require(a.rank >= 1 and b.rank >= 1, "a matrix product needs rank 1 or more, not a scalar")
        inner = a.shape[-1], b.shape[-2:][0]
        require(
            inner[0] == inner[1],
            f"shape {shape_text(a.shape)} cannot be multiplied by {shape_text(b.shape)}: rows of "
            f"the first have {inner[0]} elements, columns of the second {inner[1]}",
        )
        batch = broadcast(a.shape[:-2], b.shape[:-2])
        require(batch is not None, "the batch axes of the operands do not broadcast")
        assert batch is not None
        return a.of((*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.rank > 1 else ())))

    def reference(self, a: Any, b: Any) -> Any:
        return np.matmul(a, b)

    def nest(self, a: TensorType, b: TensorType) -> Nest:
        own = coordinates(self.infer(a, b).rank)
        batch = len(own) - (a.rank > 1) - (b.rank > 1)
        rows, columns = own[batch : batch + (a.rank > 1)], own[len(own) - (b.rank > 1) :]
        nest = NestBuilder()
        inner = nest.loop("inner", a.shape[-1])
        nest.load("left", 0, (*_batch_index(a, own[:batch]), *rows, inner))
        nest.load("right", 1, (*_batch_index(b, own[:batch]), inner, *columns))
        nest.add_up("total", "left * right")
        return nest.give("total")


def _batch_index(t: TensorType, batch: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the index along an operand's axes before its matrix."""
    own = batch[len(batch) - max(t.rank - 2, 0) :]
    return tuple(Num(0.0) if s == 1 else o for s, o in zip(t.shape, own, strict=False))


@dataclass(frozen=True)
class Einsum(Op):
    """A sum of products by Einstein's convention.

    y[result labels] = sum over all other labels of x0[labels of x0] * x1[labels of x1] * ...

    ``equation`` is "ij,jk->ik": a letter for each axis; a repeated letter in one operand takes its
    diagonal; "..." stands for axes that broadcast. Without "->", the result has the ellipsis'
    axes and then the letters that occur once, in the order of ASCII. Sizes of 1 broadcast.

    x0, x1, ...: as the equation says -> y: the sizes of its result labels, of the type of x0.
    Source: numpy.einsum; ONNX Einsum-12.
    """

    row_packable = True

    equation: str

    def infer(self, *inputs: TensorType) -> TensorType:
        terms, result = self._parse(inputs)
        sizes = label_sizes(terms, [t.shape for t in inputs])
        return inputs[0].of(tuple(sizes[label] for label in result))

    def reference(self, *inputs: Any) -> Any:
        return np.einsum(self.equation.replace(" ", ""), *inputs)

    def _parse(self, inputs: Sequence[TensorType]) -> Equation:
        return parse_equation(self.equation, [t.rank for t in inputs])

    def nest(self, *inputs: TensorType) -> Nest:
        terms, result = self._parse(inputs)
        sizes = label_sizes(terms, [t.shape for t in inputs])
        index: dict[str, Expr] = dict(zip(result, coordinates(len(result)), strict=True))
        nest = NestBuilder()
        for label in dict.fromkeys("".join(terms)):
            if label not in result:
                index[label] = nest.loop(f"label_{label}", sizes[label])
        factors: list[Expr] = []
        for operand, (term, t) in enumerate(zip(terms, inputs, strict=True)):
            at = tuple(
                Num(0.0) if size == 1 else index[n] for n, size in zip(term, t.shape, strict=True)
            )
            factors.append(nest.load(f"factor_{operand}", operand, at))
        nest.add_up("total", reduce(lambda a, b: Call("mul", (a, b)), factors))
        return nest.give("total")

    def decompose(self, *inputs: Value) -> Value | None:
        """Sum first over labels of a single operand, then multiply two operands at a time."""
        types = [v.type for v in inputs]
        terms, result = self._parse(types)
        sizes = label_sizes(terms, [t.shape for t in types])
        if len(terms) == 1 and len(set(terms[0])) == len(terms[0]):
            return _sum_and_transpose(inputs[0], terms[0], result)
        if len(terms) > 1:
            for k, term in enumerate(terms):
                kept = result + "".join(terms[:k] + terms[k + 1 :])
                alone = [n for n in term if n not in kept and sizes[n] > 1]
                if alone:
                    rest = "".join(dict.fromkeys(n for n in term if n not in alone))
                    part = apply(Einsum(f"{term}->{rest}"), inputs[k])
                    now = (*inputs[:k], part, *inputs[k + 1 :])
                    return apply(Einsum(_text((*terms[:k], rest, *terms[k + 1 :]), result)), *now)
        if len(terms) > 2:
            return _pairwise(inputs, terms, result, sizes)
        return None


def _text(terms: Sequence[str], result: str) -> str:
    return f"{','.join(terms)}->{result}"


def _sum_and_transpose(x: Value, term: str, result: str) -> Value:
    axes = tuple(axis for axis, n in enumerate(term) if n not in result)
    y = apply(Reduce("sum", axes, keepdims=False), x) if axes else x
    rest = [n for n in term if n in result]
    return apply(Transpose(tuple(rest.index(n) for n in result)), y)


def _pairwise(
    inputs: Sequence[Value], terms: Sequence[str], result: str, sizes: dict[str, int]
) -> Value:
    """Multiply first the two operands whose product takes the fewest steps."""

    def steps(pair: tuple[int, int]) -> int:
        count = 1
        for n in set(terms[pair[0]] + terms[pair[1]]):
            count *= sizes[n]
        return count

    i, j = min(combinations(range(len(terms)), 2), key=steps)
    others = [k for k in range(len(terms)) if k not in (i, j)]
    wanted = result + "".join(terms[k] for k in others)
    joined = "".join(dict.fromkeys(n for n in terms[i] + terms[j] if n in wanted))
    product = apply(Einsum(_text((terms[i], terms[j]), joined)), inputs[i], inputs[j])
    equation = _text((joined, *(terms[k] for k in others)), result)
    return apply(Einsum(equation), product, *(inputs[k] for k in others))


@dataclass(frozen=True)
class Det(Op):
    """The determinant of small matrices, by cofactor expansion.

    x: (..., M, M), M up to ``LARGEST_DETERMINANT`` -> y: (...).
    Source: numpy.linalg.det; ONNX Det-22.
    """

    def infer(self, x: TensorType) -> TensorType:
        require(x.rank >= 2 and x.shape[-1] == x.shape[-2], "a determinant needs square matrices")
        if x.shape[-1] > LARGEST_DETERMINANT:
            raise ShadergenError(
                "SG0205",
                f"determinants of {x.shape[-1]}x{x.shape[-1]} matrices are not implemented",
                supported=f"up to {LARGEST_DETERMINANT}x{LARGEST_DETERMINANT}",
            )
        return x.of(x.shape[:-2])

    def reference(self, x: Any) -> Any:
        return np.linalg.det(x)

    def nest(self, x: TensorType) -> Nest:
        size, batch = x.shape[-1], coordinates(x.rank - 2)
        nest = NestBuilder()
        for i in range(size):
            for j in range(size):
                nest.load(_entry(i, j), 0, (*batch, Num(float(i)), Num(float(j))))
        return nest.give(_determinant(size))


def _entry(row: int, column: int) -> str:
    return f"entry_{row}_{column}"


@cache
def _determinant(size: int) -> Expr:
    """Return the determinant of entries, row by row; minors of equal columns are shared."""
    minors: dict[tuple[int, ...], Expr] = {(): Num(1.0)}
    for row in reversed(range(size)):
        now: dict[tuple[int, ...], Expr] = {}
        for columns in combinations(range(size), size - row):
            total: Expr = Num(0.0)
            for k, column in enumerate(columns):
                rest = minors[columns[:k] + columns[k + 1 :]]
                entry = Var(_entry(row, column))
                term = entry if rest == Num(1.0) else Call("mul", (entry, rest))
                total = Call("sub" if k % 2 else "add", (total, term)) if k else term
            now[columns] = total
        minors = now
    return minors[tuple(range(size))]
