"""Normalisation by neighbours: across channels, over space, and of contrast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..expr import Call, Expr, Num, Var
from ..formula_parser import parse
from ..graph import apply
from ..indexing import Load, Source, coordinates
from ..nest_builder import NestBuilder
from ..types import TensorType, shape_text
from .base import Op, require
from .pointwise import Pointwise
from .pooling import Pool
from .window import Sizes, tap_source, taps, windows

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest


def centred(kernel: Sizes) -> Sizes:
    """Return the padding before and after that centres a window; even windows extend by 1 more."""
    return (*((k - 1) // 2 for k in kernel), *(k // 2 for k in kernel))


def _divided(x: Value, kernel: Sizes, alpha: float, beta: float, bias: float) -> Value:
    """Return x / (bias + alpha * mean of squares in the window)^beta, padding counted as zeros."""
    count = float(np.prod(kernel))
    norm = apply(Pool("lp", kernel, pads=centred(kernel)), x)  # squares might overflow
    energy = Call("mul", (Num(alpha / count), parse("x1 * x1")))
    return apply(Pointwise(_scaled(Var("x0"), energy, beta, bias)), x, norm)


def _scaled(x: Expr, energy: Expr, beta: float, bias: float) -> Expr:
    base = Call("add", (Num(bias), energy))
    if beta == 0.5:
        return Call("div", (x, Call("sqrt", (base,))))
    return Call("mul", (x, Call("pow", (base, Num(-beta)))))


def _squares(x: Any, kernel: Sizes) -> Any:
    along = windows(TensorType(x.shape), kernel, (), (), centred(kernel))
    return sum(taps(x * x, along, 0))


@dataclass(frozen=True)
class LRN(Op):
    """Local response normalisation across channels.

    y = x / (bias + alpha/size * s)^beta, where s[n, c, ...] is the sum of x[n, k, ...]^2 over
    c - floor((size - 1)/2) <= k <= c + ceil((size - 1)/2).

    x: (N, C, ...) -> y: as x.
    Source: ONNX LRN-13.
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    def infer(self, x: TensorType) -> TensorType:
        require(x.rank >= 2, "normalisation across channels needs a tensor of rank 2 or more")
        require(self.size >= 1, f"size={self.size} is not supported", supported="1 or more")
        return TensorType(x.shape)

    def _kernel(self, rank: int) -> Sizes:
        return (self.size, *(1,) * (rank - 2))

    def reference(self, x: Any) -> Any:
        energy = _squares(x, self._kernel(x.ndim)) / self.size
        return x / (self.bias + self.alpha * energy) ** self.beta

    def decompose(self, x: Value) -> Value:
        return _divided(x, self._kernel(x.type.rank), self.alpha, self.beta, self.bias)


@dataclass(frozen=True)
class SpatialNormalization(Op):
    """Local response normalisation within a channel, over windows of the last axes.

    y = x / (bias + alpha/count * s)^beta, where s is the sum of squares in the window of ``kernel``
    around an element, zeros beyond the border, and count the number of its elements.

    x: (..., spatial) -> y: as x.
    Source: Caffe LRN within channels; MPSCNNSpatialNormalization.
    """

    kernel: Sizes
    alpha: float = 1.0
    beta: float = 0.75
    bias: float = 1.0

    def infer(self, x: TensorType) -> TensorType:
        Pool("lp", self.kernel, pads=centred(self.kernel)).infer(x)
        return TensorType(x.shape)

    def reference(self, x: Any) -> Any:
        energy = _squares(x, self.kernel) / np.prod(self.kernel)
        return x / (self.bias + self.alpha * energy) ** self.beta

    def decompose(self, x: Value) -> Value:
        return _divided(x, self.kernel, self.alpha, self.beta, self.bias)


def _local_mean(kernel: Sizes, count_include_pad: bool) -> Pool:
    return Pool("average", kernel, pads=centred(kernel), count_include_pad=count_include_pad)


@dataclass(frozen=True)
class LocalContrastNormalization(Op):
    """Subtract the local mean and divide by the local deviation, over windows of the last axes.

    y = (x - m) / (bias + alpha * v)^beta with mean m and variance v of the elements in the window
    of ``kernel`` around each: those that exist or, with ``count_include_pad``, with zeros beyond
    the border.

    x: (..., spatial) -> y: as x.
    Source: MPSCNNLocalContrastNormalization, with zeros beyond the border.
    """

    kernel: Sizes
    alpha: float = 1.0
    beta: float = 0.5
    bias: float = 1e-3
    count_include_pad: bool = False

    def infer(self, x: TensorType) -> TensorType:
        return _local_mean(self.kernel, self.count_include_pad).infer(x)

    def reference(self, x: Any) -> Any:
        fill = 0 if self.count_include_pad else np.nan
        along = windows(TensorType(x.shape), self.kernel, (), (), centred(self.kernel))
        near = taps(x, along, fill)
        mean, variance = np.nanmean(near, 0), np.nanvar(near, 0)
        return (x - mean) / (self.bias + self.alpha * variance) ** self.beta

    def decompose(self, x: Value) -> Value:
        mean = apply(_local_mean(self.kernel, self.count_include_pad), x)
        variance = apply(LocalVariance(self.kernel, self.count_include_pad), x, mean)
        energy = Call("mul", (Num(self.alpha), Var("x2")))
        expr = _scaled(parse("x0 - x1"), energy, self.beta, self.bias)
        return apply(Pointwise(expr), x, mean, variance)


@dataclass(frozen=True)
class LocalVariance(Op):
    """Mean of squared differences from a given mean, in the window around each element.

    v[o] = mean of (x[i] - m[o])^2 over the i in the window of ``kernel`` around o that exist or,
    with ``count_include_pad``, with zeros beyond the border.

    x: (..., spatial), m: as x -> v: as x.
    """

    kernel: Sizes
    count_include_pad: bool = False

    def infer(self, x: TensorType, mean: TensorType) -> TensorType:
        require(
            x.shape == mean.shape,
            f"the mean must have the input's shape {shape_text(x.shape)}, not "
            f"{shape_text(mean.shape)}",
        )
        return _local_mean(self.kernel, self.count_include_pad).infer(x)

    def reference(self, x: Any, mean: Any) -> Any:
        along = windows(TensorType(x.shape), self.kernel, (), (), centred(self.kernel))
        fill = 0 if self.count_include_pad else np.nan
        return np.nanmean([(t - mean) ** 2 for t in taps(x, along, fill)], 0)

    def nest(self, x: TensorType, mean: TensorType) -> Nest:
        """An excluded element is read as the mean, so its difference is 0."""
        along = windows(x, self.kernel, (), (), centred(self.kernel))
        nest = NestBuilder()
        own = coordinates(x.rank)
        nest.load("mean", 1, own)
        source, _ = tap_source(nest, x, along)
        rest = () if self.count_include_pad or not source.valid else (Source(1, own),)
        nest.bind("value", Load((source, *rest)))
        squares = nest.add_up("squares", "square(value - mean)")
        return nest.give(_local_mean(self.kernel, self.count_include_pad).mean(x, squares))
