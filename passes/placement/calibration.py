"""Measure a graph's values: their magnitudes, and their errors in 16 bits.

Both are found by carrying the graph out on inputs (``ir.reference``), and hold for those alone:
:func:`observe` gives bounds that :mod:`.ranges` cannot prove, :func:`rounding_errors` the cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...ir.evaluation import evaluate
from ...ir.expr import Call, walk
from ...ir.ops import Conv, Pointwise
from ...ir.reference import Machine, as_logical
from ...ir.reference import evaluate as run
from ...ir.types import HALF_MIN, TensorType
from ..kernel_ops import Fused, IndexMapped, SeparableConv
from ..placement.ranges import UNBOUNDED, Bounds, Interval
from .kinds import computes_in_full

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from ...ir.expr import Expr
    from ...ir.graph import Graph, Node, Value
    from ...ir.ops import Op
    from ...ir.types import DType

MARGIN = 2.0  # times as large as anything that was seen may become


def observe(graph: Graph, samples: Iterable[Mapping[str, NDArray[Any]]]) -> dict[Value, Bounds]:
    """Return the bounds of every result on some inputs, widened :data:`MARGIN` times.

    Args:
        graph: not placed yet, its nodes as they will be kernels.
        samples: arrays for all inputs, in the model's own axis order.

    Raises:
        ShadergenError: SG0605 for an index that lies beyond what it points into.
    """
    watch = _Watch()
    for number, inputs in enumerate(samples, 1):
        try:
            run(graph, as_logical(graph, inputs), np.float32, watch)
        except IndexError as error:
            raise ShadergenError(
                "SG0605", f"the model cannot run on calibration input {number}", why=str(error)
            ) from None
    return {v: Bounds(widened(b.result), MARGIN * b.largest) for v, b in watch.seen.items()}


def widened(seen: Interval) -> Interval:
    """Return an interval whose numbers may be :data:`MARGIN` times as large."""
    room = (MARGIN - 1) * seen.size
    return Interval(seen.low - room, seen.high + room)


def rounding_errors(
    graph: Graph, samples: Iterable[Mapping[str, NDArray[Any]]]
) -> dict[str, RoundingError]:
    """Return what 16 bits cost the outputs of a placed graph on some inputs, by name.

    Everything that is stored in 16 bits is cut off to them, and in mediump kernels every step of a
    formula as well; what is smaller than 2^-14 counts as 0. OpenGL ES allows that, and some do it;
    those that round to the nearest err by half as much. Sums are in 32 bits, as kernels have them.
    """
    errors: dict[str, RoundingError] = {}
    for inputs in samples:
        logical = as_logical(graph, inputs)
        exact = run(graph, logical, np.float32)
        halved = run(graph, logical, np.float32, _Halves())
        for name, want in exact.items():
            wide = want.astype(np.float64)
            error = RoundingError(_size(halved[name] - wide), _size(wide))
            errors[name] = errors[name].worse(error) if name in errors else error
    return errors


@dataclass(frozen=True)
class RoundingError:
    """Of one output: the largest absolute error, and the largest number that was right."""

    most: float
    largest: float

    @property
    def relative(self) -> float:
        """The error as a part of the largest number; of nothing but zeros, as it is."""
        return self.most / (self.largest or 1.0)

    def worse(self, other: RoundingError) -> RoundingError:
        return RoundingError(max(self.most, other.most), max(self.largest, other.largest))


class _Apart(Machine):
    """Carries nodes out part by part, so that what they meet on the way is at hand."""

    def compute(self, expr: Expr, env: Mapping[str, Any]) -> Any:
        """Evaluate a formula."""
        return evaluate(expr, env)

    def multiplied(self, x: Any, w: Any, sums: Any) -> None:
        """Record a convolution's products and its sums without the bias."""

    def run(self, node: Node, operands: list[Any]) -> Any:
        op = node.op
        if computes_in_full(node):
            return op.reference(*operands)
        return self._kernel(op, *operands)

    def _kernel(self, kernel: Op, *operands: Any) -> Any:
        if isinstance(kernel, Fused):
            return kernel.carry_out(operands, self.compute, partial(self._kernel, kernel.kernel))
        if isinstance(kernel, SeparableConv):
            between = self._kernel(kernel.first, *operands[: kernel.arity])
            return self._kernel(Conv(), between, *operands[kernel.arity :])
        if isinstance(kernel, IndexMapped):
            return self._kernel(kernel.kernel, *kernel.move(operands))
        if isinstance(kernel, Pointwise):
            return kernel.carry_out(operands, self.compute)
        if isinstance(kernel, Conv):
            x, w, *bias = operands
            sums = kernel.reference(x, w)
            self.multiplied(x, w, sums)
            return sums + bias[0].reshape(-1, 1, 1) if bias else sums
        types = [TensorType(np.shape(x), _dtype(x)) for x in operands]
        nest = kernel.nest(*types)
        if nest is None or not any(isinstance(e, Call) for f in nest.formulas() for e in walk(f)):
            return kernel.reference(*operands)
        result = kernel.infer(*types)
        assert not isinstance(result, tuple)
        return nest.evaluate(result.shape, operands, self.compute)


class _Watch(_Apart):
    """Remembers the largest numbers that nodes meet, and their results."""

    def __init__(self) -> None:
        self.seen: dict[Value, Bounds] = {}
        self.largest = 0.0

    def run(self, node: Node, operands: list[Any]) -> Any:
        self.largest = max(map(_size, operands), default=0.0)
        results = super().run(node, operands)
        for value, found in zip(
            node.results, results if isinstance(results, tuple) else (results,), strict=True
        ):
            low, high = float(np.min(found)), float(np.max(found))
            result = UNBOUNDED if math.isnan(low + high) else Interval(low, high)
            bounds = Bounds(result, max(self.largest, result.size))
            self.seen[value] = self.seen[value].union(bounds) if value in self.seen else bounds
        return results

    def compute(self, expr: Expr, env: Mapping[str, Any]) -> Any:
        evaluate(expr, env, lambda x: self._meet(_flushed(x)))
        return evaluate(expr, env, self._meet)

    def multiplied(self, x: Any, w: Any, sums: Any) -> None:
        self.largest = max(self.largest, _size(x) * _size(w), _size(sums))

    def _meet(self, x: Any) -> Any:
        self.largest = max(self.largest, _size(x))
        return x


class _Halves(_Apart):
    """Arithmetic of a GPU with 16-bit mediump."""

    def hold(self, value: Value, array: NDArray[Any]) -> NDArray[Any]:
        layout = value.type.layout
        return _halved(array) if layout is not None and layout.format.endswith("16f") else array

    def run(self, node: Node, operands: list[Any]) -> Any:
        if node.choice.precision == "mediump" and not computes_in_full(node):
            return super().run(node, list(map(_halved, operands)))
        return node.op.reference(*operands)

    def compute(self, expr: Expr, env: Mapping[str, Any]) -> Any:
        return evaluate(expr, env, _halved)


def _size(x: Any) -> float:
    """Return the largest absolute value, infinity where there is a NaN."""
    size = float(np.max(np.abs(x)))
    return math.inf if math.isnan(size) else size


def _flushed(x: Any) -> Any:
    return np.where(np.abs(x) < HALF_MIN, np.zeros_like(x), x)


def _halved(x: Any) -> Any:
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x
    with np.errstate(over="ignore"):
        half = _flushed(x).astype(np.float16)
    below = np.nextafter(half, np.float16(0))
    return np.where(np.abs(half) > np.abs(x), below, half).astype(x.dtype)


def _dtype(x: Any) -> DType:
    name = np.asarray(x).dtype.name
    return "float32" if name.startswith("float") else name
