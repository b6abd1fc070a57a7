"""Normalisation to mean 0 and deviation 1, or to norm 1, over some axes.

The variance is never E[x^2] - E[x]^2, which cancels: it is updated along with the mean
(:mod:`.online_statistics`), or computed after the mean. Each operator is a few reductions and a
formula.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...records import dataclass
from ..dimensions import is_dynamic
from ..expr import Call, Expr, Num, Var
from ..formula_parser import parse
from ..graph import Constant, apply, constant
from ..indexing import add, coordinates, idiv, mul
from ..nest_builder import NestBuilder
from ..types import TensorType, broadcast
from .base import Array, Op, require
from .movement import Reshape, ResizeNearest, moved
from .online_statistics import OnlineStatistics, both_statistics, split_statistics, statistics
from .pointwise import Pointwise
from .reduction import LONGEST, Reduce

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest

Axes = tuple[int, ...]
MERGED = 256  # statistics that every channel of a group may merge by itself
SQUARED_DIFFERENCE = parse("square(x0 - x1)")


def mean_and_variance(x: Value, axes: Axes) -> tuple[Value, Value]:
    """Return the mean and the population variance of x over ``axes``."""
    pair = both_statistics("mean_variance", x, axes)
    if pair is not None:
        return pair
    mean = apply(Reduce("mean", axes), x)
    return mean, apply(Reduce("mean", axes, element=SQUARED_DIFFERENCE), x, mean)


def standardise(
    x: Value, mean: Value | None, variance: Value, epsilon: float, *parameters: Value
) -> Value:
    """Return (x - mean) / sqrt(variance + epsilon), times the first parameter, plus the second."""
    operands = [x, variance]
    centred: Expr = Var("x0")
    if mean is not None:
        centred = parse("x0 - x2")
        operands.append(mean)
    root = Call("sqrt", (Call("add", (Var("x1"), Num(epsilon))),))
    expr: Expr = Call("div", (centred, root))
    for function, parameter in zip(("mul", "add"), parameters, strict=False):
        expr = Call(function, (expr, Var(f"x{len(operands)}")))
        operands.append(parameter)
    return apply(Pointwise(expr), *operands)


def per_channel(parameter: Value, rank: int) -> Value:
    """Reshape a vector of channels to broadcast along axis 1 of a tensor of ``rank``."""
    shape = (parameter.type.size, *(1,) * (rank - 2))
    return parameter if parameter.shape == shape else moved(Reshape(shape), parameter)


def _check(x: TensorType, axes: Axes, parameters: tuple[TensorType, ...], most: int) -> TensorType:
    Reduce("mean", axes).infer(x)
    require(
        len(parameters) <= most,
        f"a normalisation takes at most {most} parameters, not {len(parameters)}",
    )
    for p in parameters:
        require(
            broadcast(x.shape, p.shape) == x.shape,
            f"a parameter of shape {p.shape} does not broadcast to {x.shape}",
        )
    return TensorType(x.shape)


def _channels(x: TensorType, parameters: tuple[TensorType, ...], count: int, what: str) -> None:
    require(x.rank >= 2, f"{what} needs a tensor of rank 2 or more")
    require(
        len(parameters) == count and all(p.shape == (x.shape[1],) for p in parameters),
        f"{what} takes {count} parameters of shape ({x.shape[1]},)",
    )


@dataclass(frozen=True)
class BatchNormalization(Op):
    """Batch normalisation with given statistics, over the channels (axis 1).

    y = gamma * (x - mean) / sqrt(variance + epsilon) + beta.

    x: (N, C, ...), gamma, beta, mean, variance: (C,) -> y: as x.
    Source: ONNX BatchNormalization-15.
    """

    epsilon: float = 1e-5

    def infer(self, x: TensorType, *parameters: TensorType) -> TensorType:
        _channels(x, parameters, 4, "batch normalisation")
        return TensorType(x.shape)

    def reference(self, x: Array, gamma: Array, beta: Array, mean: Array, variance: Array) -> Array:
        g, b, m, v = (p.reshape(-1, *(1,) * (x.ndim - 2)) for p in (gamma, beta, mean, variance))
        y: Array = g * (x - m) / np.sqrt(v + self.epsilon) + b
        return y

    def decompose(self, x: Value, *parameters: Value) -> Value:
        """Return x * scale + shift, folded in float64, if all parameters are constants."""
        known = [p.data.astype(np.float64) for p in parameters if isinstance(p, Constant)]
        if len(known) < 4:
            gamma, beta, mean, variance = (per_channel(p, x.type.rank) for p in parameters)
            return standardise(x, mean, variance, self.epsilon, gamma, beta)
        g, b, m, v = known
        if not (v + self.epsilon > 0).all():
            raise ShadergenError(
                "SG0106",
                "a variance is negative, or 0 without an epsilon",
                why=f"batch normalisation divides by sqrt(variance + {self.epsilon:g})",
            )
        scale = g / np.sqrt(v + self.epsilon)
        shape = (-1, *(1,) * (x.type.rank - 2))
        return apply(
            Pointwise(parse("x0 * x1 + x2")),
            x,
            constant(scale.reshape(shape), "scale"),
            constant((b - m * scale).reshape(shape), "shift"),
        )


@dataclass(frozen=True)
class LayerNormalization(Op):
    """Normalise the elements along ``axes`` to mean 0 and variance 1, then scale and shift.

    y = (x - mean) / sqrt(variance + epsilon) * scale + bias, mean and variance over ``axes``.

    x: any shape, scale, bias: broadcast to x, optional -> y: as x.
    Source: ONNX LayerNormalization-17; keras.layers.LayerNormalization.
    """

    axes: Axes
    epsilon: float = 1e-5

    def infer(self, x: TensorType, *parameters: TensorType) -> TensorType:
        return _check(x, self.axes, parameters, 2)

    def reference(self, x: Any, scale: Any = 1, bias: Any = 0) -> Any:
        mean, variance = (f(x, self.axes, keepdims=True) for f in (np.mean, np.var))
        return (x - mean) / np.sqrt(variance + self.epsilon) * scale + bias

    def decompose(self, x: Value, *parameters: Value) -> Value:
        return standardise(x, *mean_and_variance(x, self.axes), self.epsilon, *parameters)


@dataclass(frozen=True)
class RMSNormalization(Op):
    """Divide by the root mean square over ``axes``.

    y = x / sqrt(mean x^2 + epsilon) * scale, the mean over ``axes``.

    x: any shape, scale: broadcasts to x, optional -> y: as x.
    Source: ONNX RMSNormalization-23; keras.layers.RMSNormalization.
    """

    axes: Axes
    epsilon: float = 1e-5

    def infer(self, x: TensorType, *parameters: TensorType) -> TensorType:
        return _check(x, self.axes, parameters, 1)

    def reference(self, x: Any, scale: Any = 1) -> Any:
        return x / np.sqrt(np.mean(x * x, self.axes, keepdims=True) + self.epsilon) * scale

    def decompose(self, x: Value, *parameters: Value) -> Value:
        square = apply(Reduce("mean", self.axes, element=parse("square(x0)")), x)
        return standardise(x, None, square, self.epsilon, *parameters)


@dataclass(frozen=True)
class InstanceNormalization(Op):
    """Normalise every channel of every batch entry over its space.

    y = (x - mean) / sqrt(variance + epsilon) * scale + bias, mean and variance over axes 2, ...

    x: (N, C, spatial), scale, bias: (C,) -> y: as x.
    Source: ONNX InstanceNormalization-6.
    """

    epsilon: float = 1e-5

    def infer(self, x: TensorType, *parameters: TensorType) -> TensorType:
        require(x.rank >= 3, "instance normalisation needs a tensor of rank 3 or more")
        _channels(x, parameters, 2, "instance normalisation")
        return TensorType(x.shape)

    def reference(self, x: Any, scale: Any, bias: Any) -> Any:
        axes = tuple(range(2, x.ndim))
        scale, bias = (p.reshape(-1, *(1,) * len(axes)) for p in (scale, bias))
        return LayerNormalization(axes, self.epsilon).reference(x, scale, bias)

    def decompose(self, x: Value, *parameters: Value) -> Value:
        axes = tuple(range(2, x.type.rank))
        parameters = tuple(per_channel(p, x.type.rank) for p in parameters)
        return apply(LayerNormalization(axes, self.epsilon), x, *parameters)


@dataclass(frozen=True)
class GroupNormalization(Op):
    """Normalise groups of neighbouring channels over their channels and space.

    y = (x - mean) / sqrt(variance + epsilon) * scale + bias, where mean and variance are those of
    the C/groups channels of an element's group.

    x: (N, C, spatial), scale, bias: (C,) -> y: as x.
    Source: ONNX GroupNormalization-21; keras.layers.GroupNormalization.
    """

    groups: int
    epsilon: float = 1e-5

    def infer(self, x: TensorType, *parameters: TensorType) -> TensorType:
        _channels(x, parameters, 2, "group normalisation")
        GroupMean(self.groups).infer(x)
        return TensorType(x.shape)

    def reference(self, x: Any, scale: Any, bias: Any) -> Any:
        blocks = x.reshape(x.shape[0], self.groups, -1)
        y = LayerNormalization((2,), self.epsilon).reference(blocks).reshape(x.shape)
        scale, bias = (p.reshape(-1, *(1,) * (x.ndim - 2)) for p in (scale, bias))
        return y * scale + bias

    def decompose(self, x: Value, *parameters: Value) -> Value:
        """Reduce every channel, then the channels of a group, which have equal weights."""
        rank = x.type.rank
        parameters = tuple(per_channel(p, rank) for p in parameters)
        if self.groups == 1:
            return apply(LayerNormalization(tuple(range(1, rank)), self.epsilon), x, *parameters)
        axes, group_mean = tuple(range(2, rank)), GroupMean(self.groups)
        if self.groups == x.shape[1] and axes:
            return apply(LayerNormalization(axes, self.epsilon), x, *parameters)
        if pair := self._pair(x):
            return standardise(x, *pair, self.epsilon, *parameters)
        mean = apply(group_mean, apply(Reduce("mean", axes), x))
        variance = apply(Reduce("mean", axes, element=SQUARED_DIFFERENCE), x, mean)
        return standardise(x, mean, apply(group_mean, variance), self.epsilon, *parameters)

    def _pair(self, x: Value) -> tuple[Value, Value] | None:
        """Return mean and variance of each channel's group, merged from those of its channels."""
        n, channels, *rest = x.shape
        size = channels // self.groups
        axes, rows = tuple(range(2, x.type.rank)), rest[0] if len(rest) > 1 else 1
        if not is_dynamic(prod(rest)) and prod(rest) > LONGEST and size * rows <= MERGED:
            axes, size = axes[1:], size * rows  # what is left of a channel joins its group
        of_channels = statistics("mean_variance", x, axes)
        if of_channels is None or size > LONGEST:
            return None
        together = apply(Reshape((n, self.groups, size, 2)), of_channels)
        same, each = (1, 0, 1), (1, 0, channels // self.groups)
        repeated = ResizeNearest((n, channels, size, 2), (same, each, same, same))
        merged = apply(OnlineStatistics("mean_variance", (2, 3), True), apply(repeated, together))
        shape = Reshape((n, channels, *(1,) * len(rest)))
        mean, variance = (apply(shape, v) for v in split_statistics(merged, 3))
        return mean, variance


@dataclass(frozen=True)
class GroupMean(Op):
    """Give every channel the mean over the channels of its group.

    y[n, c, ...] = the mean of x[n, k, ...] over the channels k of c's group.

    x: (N, C, ...) -> y: as x; intended for tensors with few elements per channel.
    """

    groups: int

    def infer(self, x: TensorType) -> TensorType:
        require(
            x.rank >= 2 and self.groups >= 1 and x.shape[1] % self.groups == 0,
            f"{x} does not divide into {self.groups} groups of channels",
        )
        return TensorType(x.shape)

    def reference(self, x: Any) -> Any:
        blocks = x.reshape(x.shape[0], self.groups, -1, *x.shape[2:])
        return np.broadcast_to(blocks.mean(2, keepdims=True), blocks.shape).reshape(x.shape)

    def nest(self, x: TensorType) -> Nest:
        size = x.shape[1] // self.groups
        own = coordinates(x.rank)
        nest = NestBuilder()
        member = nest.loop("member", size)
        channel = add(mul(idiv(own[1], size), size), member)
        nest.load("value", 0, (own[0], channel, *own[2:]))
        nest.add_up("total", "value")
        return nest.give(f"total / {size}")


@dataclass(frozen=True)
class MeanVarianceNormalization(Op):
    """Normalise the elements along ``axes`` to mean 0 and deviation 1.

    y = (x - mean) / (sqrt(variance) + epsilon), mean and variance over ``axes``.

    x: any shape -> y: as x.
    Source: ONNX MeanVarianceNormalization-13.
    """

    axes: Axes
    epsilon: float = 1e-9

    def infer(self, x: TensorType) -> TensorType:
        return _check(x, self.axes, (), 0)

    def reference(self, x: Any) -> Any:
        centred = x - np.mean(x, self.axes, keepdims=True)
        return centred / (np.std(x, self.axes, keepdims=True) + self.epsilon)

    def decompose(self, x: Value) -> Value:
        mean, variance = mean_and_variance(x, self.axes)
        deviation = Call("add", (parse("sqrt(x2)"), Num(self.epsilon)))
        return apply(Pointwise(Call("div", (parse("x0 - x1"), deviation))), x, mean, variance)


@dataclass(frozen=True)
class LpNormalization(Op):
    """Scale the elements along ``axes`` to norm 1.

    y = x / max(norm, epsilon) with the ``p``-norm over ``axes``; 0 where the norm is 0.

    x: any shape -> y: as x.
    Source: ONNX LpNormalization-22, where p is 1 or 2; torch.nn.functional.normalize.
    """

    axes: Axes
    p: int = 2
    epsilon: float = 0.0

    def infer(self, x: TensorType) -> TensorType:
        require(self.p in (1, 2), f"a norm of order {self.p} is not supported", supported="1 and 2")
        require(self.epsilon >= 0, f"epsilon={self.epsilon:g} is not supported: 0 or more")
        return _check(x, self.axes, (), 0)

    def reference(self, x: Any) -> Any:
        norm = np.sum(np.abs(x) ** self.p, self.axes, keepdims=True) ** (1 / self.p)
        norm = np.maximum(norm, self.epsilon)
        return np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)

    def decompose(self, x: Value) -> Value:
        norm = apply(Reduce("l1" if self.p == 1 else "l2", self.axes), x)
        if self.epsilon:
            expr: Expr = Call("div", (Var("x0"), Call("max", (Var("x1"), Num(self.epsilon)))))
        else:
            expr = parse("x0 / where(x1 == 0, 1, x1)")
        return apply(Pointwise(expr), x, norm)
