"""Softmax, log-softmax and hardmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..formula_parser import parse
from ..graph import apply
from ..types import TensorType
from .base import Op, require
from .online_statistics import both_statistics
from .ordering import ArgMax, positions
from .pointwise import Pointwise
from .reduction import Reduce

if TYPE_CHECKING:
    from ..graph import Value


@dataclass(frozen=True)
class _OverAxes(Op, abstract=True):
    """Base of operators that normalise over all ``axes`` together."""

    axes: tuple[int, ...]

    def infer(self, x: TensorType) -> TensorType:
        Reduce("max", self.axes).infer(x)
        require(x.dtype == "float32", f"{type(self).__name__} of {x.dtype} is not supported")
        return x.of(x.shape)


@dataclass(frozen=True)
class Softmax(_OverAxes):
    """y = exp(x - m) / sum exp(x - m), where m = max x; sum and maximum are over ``axes``.

    x: any shape -> y: the same shape.
    Source: ONNX Softmax-13, with several axes Softmax-1; keras.layers.Softmax.
    """

    def reference(self, x: Any) -> Any:
        e = np.exp(x - np.max(x, self.axes, keepdims=True))
        return e / np.sum(e, self.axes, keepdims=True)

    def decompose(self, x: Value) -> Value:
        m, s = _max_and_sum(x, self.axes)
        return apply(Pointwise(parse("exp(x0 - x1) / x2")), x, m, s)


@dataclass(frozen=True)
class LogSoftmax(_OverAxes):
    """y = x - m - log(sum exp(x - m)), where m = max x; sum and maximum are over ``axes``.

    x: any shape -> y: the same shape.
    Source: ONNX LogSoftmax-13, with several axes LogSoftmax-1.
    """

    def reference(self, x: Any) -> Any:
        x = x - np.max(x, self.axes, keepdims=True)
        return x - np.log(np.sum(np.exp(x), self.axes, keepdims=True))

    def decompose(self, x: Value) -> Value:
        m, s = _max_and_sum(x, self.axes)
        return apply(Pointwise(parse("x0 - x1 - log(x2)")), x, m, s)


@dataclass(frozen=True)
class Hardmax(_OverAxes):
    """y = 1 at the first of the largest elements along ``axes``, 0 elsewhere.

    x: any shape -> y: the same shape.
    Source: ONNX Hardmax-13, with several axes Hardmax-1.
    """

    @property
    def discontinuous_in(self) -> slice:
        return slice(None)

    def reference(self, x: Any) -> Any:
        first = ArgMax(self.axes).reference(x)
        sizes = [s if axis in self.axes else 1 for axis, s in enumerate(np.shape(x))]
        return (np.arange(np.prod(sizes)).reshape(sizes) == first).astype(x.dtype)

    def decompose(self, x: Value) -> Value:
        first = apply(ArgMax(self.axes), x)
        at = positions(x.shape, self.axes)
        return apply(Pointwise(parse("x1 == x2")), x, first, at)


def _max_and_sum(x: Value, axes: tuple[int, ...]) -> tuple[Value, Value]:
    """Return m = max x and the sum of exp(x - m)."""
    pair = both_statistics("max_sum_exp", x, axes)
    if pair is not None:
        return pair
    m = apply(Reduce("max", axes), x)
    return m, apply(Reduce("sum", axes, True, parse("exp(x0 - x1)")), x, m)
