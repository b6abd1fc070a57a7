"""Run a graph in numpy on sample inputs, and measure magnitudes and 16-bit rounding errors.

The graph runs in ``ir.reference``. All results hold for the sample inputs only:

- :func:`observe` measures the bounds of values, also where :mod:`.ranges` proves none.
- :func:`safe_terms` measures how many products each convolution may add up in 16 bits.
- :func:`rounding_errors` measures the errors of the outputs in 16 bits.
"""

from __future__ import annotations

import math
from dataclasses import astuple
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...ir.dimensions import is_dynamic, with_hints
from ...ir.evaluation import evaluate_formula
from ...ir.expr import Call, walk
from ...ir.graph import Result
from ...ir.nests import nest_of
from ...ir.ops import Conv, Pointwise
from ...ir.reference import Machine, as_logical, evaluate_graph
from ...ir.types import HALF_MIN, TensorType
from ...records import dataclass
from ..kernel_ops import Fused, IndexMapped, SeparableConv, parts
from .kinds import computes_in_full, is_direct, precision
from .ranges import UNBOUNDED, Interval, ValueRange
from .summation import (
    SUM_TOLERANCE,
    kernel_terms,
    longest_partial_sum,
    nearest,
    sampled_sums,
    truncated,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from numpy.typing import NDArray

    from ...ir.expr import Expr
    from ...ir.graph import Graph, Node, Value
    from ...ir.ops import Op
    from ...ir.types import DType
    from .summation import Rounding

MARGIN = 2.0  # other inputs may give values that are this many times as large


def observe(graph: Graph, samples: Iterable[Mapping[str, NDArray[Any]]]) -> dict[Value, ValueRange]:
    """Return the bounds of every result on sample inputs, widened by :data:`MARGIN`.

    Args:
        graph: before placement, after fusion: each node becomes one kernel.
        samples: for each sample, the arrays of all inputs in the model's own axis order.

    Raises:
        ShadergenError: SG0605 if an index is out of range.
    """
    watch = _Watch()
    for number, inputs in enumerate(samples, 1):
        try:
            evaluate_graph(graph, as_logical(graph, inputs), np.float32, watch)
        except IndexError as error:
            raise ShadergenError(
                "SG0605", f"the model cannot run on calibration input {number}", why=str(error)
            ) from None
    return {v: ValueRange(widened(b.result), MARGIN * b.largest) for v, b in watch.seen.items()}


def widened(seen: Interval) -> Interval:
    """Move both ends outwards by (:data:`MARGIN` - 1) times the largest magnitude."""
    room = (MARGIN - 1) * seen.size
    return Interval(seen.low - room, seen.high + room)


def growth(
    graph: Graph, proven: Mapping[Value, ValueRange], initial: Mapping[Value, ValueRange]
) -> dict[Value, float]:
    """Return how many times as large each result may be at other sizes than the initial size.

    Sums over pixels grow with the picture, for example. Infinity: nothing is known of it.

    Args:
        graph: with dynamic dimensions.
        proven: bounds of its values at all sizes.
        initial: the same at the initial size.
    """
    found: dict[Value, float] = {}
    for node in graph.nodes:
        now, then = proven[node.result], initial[node.result]
        if now.largest < math.inf:
            pairs = ((now.result.size, then.result.size), (now.largest, then.largest))
            times = max([1.0, *(a / b if b else math.inf for a, b in pairs if a > b)])
        else:
            grows = any(found.get(v, 1.0) > 1 for v in node.inputs) or _depends_on_sizes(node)
            times = math.inf if grows or then.largest < math.inf else 1.0
        found |= dict.fromkeys(node.results, times)
    return found


def _depends_on_sizes(node: Node) -> bool:
    """Whether a node's op has dynamic dimensions, or the node loops over a dynamic dimension."""
    nest = nest_of(parts(node).kernel, *(v.type for v in parts(node).read))
    loops = nest.loops if nest is not None else ()
    return with_hints(node.op) is not node.op or any(is_dynamic(loop.trips) for loop in loops)


def central_slices(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the middle of an array that is at least as large as is wanted along each axis."""
    starts = [(have - want) // 2 for have, want in zip(shape, wanted, strict=True)]
    return tuple(slice(a, a + n) for a, n in zip(starts, wanted, strict=True))


def safe_terms(
    graph: Graph, samples: Iterable[Mapping[str, NDArray[Any]]], wanted: Container[Value]
) -> dict[Value, int]:
    """Return ``partial_terms`` of convolutions (:class:`~...ir.graph.Choice`), by their result.

    Of n convolutions, each may err by :data:`.summation.SUM_TOLERANCE` / sqrt(n) on the samples.
    The errors are independent, so their variances add up: all convolutions together stay within
    ``SUM_TOLERANCE``.

    Args:
        graph: before placement, after fusion: each node becomes one kernel.
        samples: as for :func:`observe`, which runs first and reports invalid samples.
        wanted: the results of the convolutions to measure.
    """
    convolutions = sum(map(is_direct, graph.nodes))
    measured = _SafeTerms(wanted, SUM_TOLERANCE / math.sqrt(max(1, convolutions)))
    for inputs in samples:
        evaluate_graph(graph, as_logical(graph, inputs), np.float32, measured)
    return measured.terms


def rounding_errors(
    graph: Graph, samples: Iterable[Mapping[str, NDArray[Any]]], stores_halves: bool = False
) -> dict[str, RoundingError]:
    """Return the errors that 16 bits cause in the outputs of a placed graph, by output name.

    The graph runs three times on each sample: in 32 bits, with truncation to 16 bits, and with
    rounding to the nearest 16-bit float. Rounded are all tensors stored in 16 bits and, in mediump
    kernels, each step of a formula or sum, in the kernel's order (:mod:`.summation`). In a large
    convolution, errors of sums are computed at some pixels and copied to the others.

    OpenGL ES allows truncation and the flush of numbers below 2^-14 to 0. GPUs round to nearest:
    Mesa's Vulkan drivers for Mali, Adreno, AMD, Intel and VideoCore report
    ``shaderRoundingModeRTEFloat16``.
    """
    errors: dict[str, RoundingError] = {}
    for inputs in samples:
        logical = as_logical(graph, inputs)
        exact = evaluate_graph(graph, logical, np.float32)
        worst, usual = (
            evaluate_graph(graph, logical, np.float32, Halves(r, stores_halves))
            for r in (truncated, nearest)
        )
        for name, want in exact.items():
            wide = want.astype(np.float64)
            most, close = (_size(found[name] - wide) for found in (worst, usual))
            error = RoundingError(most, close, _size(wide))
            errors[name] = errors[name].worse(error) if name in errors else error
    return errors


@dataclass(frozen=True)
class RoundingError:
    """The largest errors of one output, and its largest magnitude.

    Attributes:
        most: the largest error on the least precise GPU that OpenGL ES allows: it truncates.
        nearest: the largest error on a GPU that rounds to nearest.
        largest: the largest magnitude in 32 bits.
    """

    most: float
    nearest: float
    largest: float

    @property
    def relative(self) -> float:
        """``most`` divided by ``largest``; if the output is all zeros, ``most`` itself."""
        return self.most / (self.largest or 1.0)

    @property
    def relative_nearest(self) -> float:
        """``nearest`` divided by ``largest``; if the output is all zeros, ``nearest`` itself."""
        return self.nearest / (self.largest or 1.0)

    def worse(self, other: RoundingError) -> RoundingError:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return RoundingError(*map(max, pairs))


class _Apart(Machine):
    """Runs the parts of a fused node one by one, so that subclasses see intermediate values.

    Subclasses override :meth:`compute` and :meth:`convolve`.
    """

    def compute(self, expr: Expr, env: Mapping[str, Any]) -> Any:
        """Evaluate a formula."""
        return evaluate_formula(expr, env)

    def convolve(self, conv: Conv, x: Any, w: Any, *bias: Any) -> Any:
        """Compute a convolution."""
        return conv.reference(x, w, *bias)

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
            return self.convolve(kernel, *operands)
        types = [TensorType(np.shape(x), _dtype(x)) for x in operands]
        nest = kernel.nest(*types)
        if nest is None or not any(isinstance(e, Call) for f in nest.formulas() for e in walk(f)):
            return kernel.reference(*operands)
        result = kernel.infer(*types)
        assert not isinstance(result, tuple)
        return nest.run(result.shape, operands, self.compute)


class _Watch(_Apart):
    """Records the bounds of each node's results and of all numbers inside the node."""

    def __init__(self) -> None:
        self.seen: dict[Value, ValueRange] = {}
        self.largest = 0.0

    def run(self, node: Node, operands: list[Any]) -> Any:
        self.largest = max(map(_size, operands), default=0.0)
        results = super().run(node, operands)
        for value, found in zip(
            node.results, results if isinstance(results, tuple) else (results,), strict=True
        ):
            low, high = float(np.min(found)), float(np.max(found))
            result = UNBOUNDED if math.isnan(low + high) else Interval(low, high)
            reached = ValueRange(result, max(self.largest, result.size))
            self.seen[value] = self.seen[value].union(reached) if value in self.seen else reached
        return results

    def compute(self, expr: Expr, env: Mapping[str, Any]) -> Any:
        evaluate_formula(expr, env, lambda x: self._meet(_flushed(x)))
        return evaluate_formula(expr, env, self._meet)

    def convolve(self, conv: Conv, x: Any, w: Any, *bias: Any) -> Any:
        sums = conv.reference(x, w)
        self.largest = max(self.largest, _size(x) * _size(w), _size(sums))
        return sums + bias[0].reshape(-1, 1, 1) if bias else sums

    def _meet(self, x: Any) -> Any:
        self.largest = max(self.largest, _size(x))
        return x


class _SafeTerms(_Apart):
    """Measures how many products each convolution may add up in 16 bits."""

    def __init__(self, wanted: Container[Value], tolerance: float) -> None:
        self._wanted = wanted
        self._tolerance = tolerance
        self.terms: dict[Value, int] = {}
        self._node: Node | None = None

    def run(self, node: Node, operands: list[Any]) -> Any:
        self._node = node
        return super().run(node, operands)

    def convolve(self, conv: Conv, x: Any, w: Any, *bias: Any) -> Any:
        assert self._node is not None
        value = self._node.result
        if value in self._wanted and is_direct(self._node):
            most = longest_partial_sum(conv, self._tolerance, MARGIN * x, w, *bias)
            self.terms[value] = min(most, self.terms.get(value, most))
        return conv.reference(x, w, *bias)


class Halves(_Apart):
    """Computes as a GPU whose mediump has 16 bits.

    The sums of convolutions come from :func:`.summation.sampled_sums`.

    Args:
        rounded: rounds to 16 bits: :func:`.summation.nearest` or :func:`.summation.truncated`.
        stores_halves: whether all results are stored in 16 bits, as in user shaders.
    """

    def __init__(self, rounded: Rounding, stores_halves: bool = False) -> None:
        self._rounded, self._stores_halves = rounded, stores_halves
        self._terms = 1

    def hold(self, value: Value, array: NDArray[Any]) -> NDArray[Any]:
        halves = value.type.component_bits == 16
        if self._stores_halves and isinstance(value, Result) and value.type.dtype == "float32":
            halves = True
        return self._rounded(array) if halves else array

    def run(self, node: Node, operands: list[Any]) -> Any:
        if precision(node) == "mediump":
            self._terms = kernel_terms(node)
            return super().run(node, list(map(self._rounded, operands)))
        return node.op.reference(*operands)

    def compute(self, expr: Expr, env: Mapping[str, Any]) -> Any:
        return evaluate_formula(expr, env, self._rounded)

    def convolve(self, conv: Conv, x: Any, w: Any, *bias: Any) -> Any:
        return sampled_sums(conv, x, w, bias[0] if bias else 0.0, self._terms, self._rounded)


def _size(x: Any) -> float:
    """Return the largest magnitude, or infinity if an element is NaN."""
    size = float(np.max(np.abs(x)))
    return math.inf if math.isnan(size) else size


def _flushed(x: Any) -> Any:
    return np.where(np.abs(x) < HALF_MIN, np.zeros_like(x), x)


def _dtype(x: Any) -> DType:
    name = np.asarray(x).dtype.name
    return "float32" if name.startswith("float") else name
