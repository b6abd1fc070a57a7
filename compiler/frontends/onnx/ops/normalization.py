"""Normalisation by given statistics or by the data's statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.expr import Num, substitute
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.ops import (
    LRN,
    BatchNormalization,
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
    LpNormalization,
    MeanVarianceNormalization,
    Pointwise,
    Reduce,
    Reshape,
    RMSNormalization,
)
from .....ir.ops.normalization import SQUARED_DIFFERENCE
from .axes import of_maps

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .elementwise import Handler
    from .node import OnnxNode


@of_maps
def batch_normalization(node: OnnxNode) -> Value | list[Value]:
    """BatchNormalization with the stored statistics, or the batch's if training_mode=1."""
    epsilon, momentum = node.number("epsilon", 1e-5), node.number("momentum", 0.9)
    training = node.choice("training_mode", (0, 1))
    spatial = node.choice("spatial", (1, 0))
    x = node.real(0)
    parameters = [node.real(i) for i in range(1, 5)]
    if not spatial:
        return _of_each_element(node, x, parameters, epsilon)
    if not training:
        if any(node.used[1:]):
            raise ShadergenError(
                "SG0202",
                "BatchNormalization without training_mode=1 has one output, the model reads more",
                why="the other outputs are statistics of training",
                supported="one output; more with training_mode=1, which operator set 14 added",
                help="export the model for inference",
            )
        return node.apply(BatchNormalization(epsilon), x, *parameters)
    axes = tuple(a for a in range(x.type.rank) if a != 1)
    mean, variance = _statistics(node, x, axes, keepdims=False)
    y = node.apply(BatchNormalization(epsilon), x, *parameters[:2], mean, variance)
    keep = Num(momentum), Num(1 - momentum)
    running = substitute(parse("a * x0 + b * x1"), dict(zip("ab", keep, strict=True)))
    return [
        y,
        node.apply(Pointwise(running), parameters[2], mean),
        node.apply(Pointwise(running), parameters[3], variance),
    ]


def _of_each_element(node: OnnxNode, x: Value, parameters: list[Value], epsilon: float) -> Value:
    """Before operator set 9, every element of a map might have statistics of its own."""
    if any(p.shape != x.shape[1:] for p in parameters):
        shapes = ", ".join(str(list(p.shape)) for p in parameters)
        raise ShadergenError(
            "SG0205", f"with spatial=0, parameters of shapes {shapes} do not fit {x.type}"
        )
    formula = substitute(parse("x1 * (x0 - x3) / sqrt(x4 + e) + x2"), {"e": Num(epsilon)})
    return node.apply(Pointwise(formula), x, *parameters)


@of_maps
def instance_normalization(node: OnnxNode) -> Value:
    """InstanceNormalization: normalises each channel over its space."""
    op = InstanceNormalization(node.number("epsilon", 1e-5))
    return node.apply(op, *(node.real(i) for i in range(3)))


@of_maps
def group_normalization(node: OnnxNode) -> Value:
    """GroupNormalization; before operator set 21 with one scale and bias for each group."""
    node.ignore("stash_type")
    op = GroupNormalization(node.integer("num_groups"), node.number("epsilon", 1e-5))
    x, *parameters = (node.real(i) for i in range(3))
    if node.version < 21 and x.type.rank >= 2:
        parameters = [_of_group(node, p, op.groups, x.shape[1]) for p in parameters]
    return node.apply(op, x, *parameters)


def _of_group(node: OnnxNode, parameter: Value, groups: int, channels: int) -> Value:
    """Repeat each group's number for its channels."""
    if groups < 1 or channels % groups:
        raise ShadergenError("SG0205", f"{channels} channels do not divide into {groups} groups")
    if parameter.shape != (groups,):
        raise ShadergenError(
            "SG0205",
            f"scale or bias of shape {list(parameter.shape)} does not fit {groups} groups",
            why="before operator set 21, GroupNormalization has one number for each group",
        )
    column = node.apply(Reshape((groups, 1)), parameter)
    ones = constant(np.ones((1, channels // groups), np.float32), "ones")
    table = node.apply(Pointwise(parse("x0 * x1")), column, ones)
    return node.apply(Reshape((channels,)), table)


def layer_normalization(node: OnnxNode) -> list[Value]:
    """LayerNormalization; the other results are the mean and 1 / deviation."""
    node.ignore("stash_type")
    x = node.real(0)
    epsilon = node.number("epsilon", 1e-5)
    parameters = [node.real(i) for i in (1, 2) if node.given(i)]
    return _normalised(node, x, epsilon, parameters)


def rms_normalization(node: OnnxNode) -> Value:
    """RMSNormalization: elements divided by their root mean square."""
    node.ignore("stash_type")
    x = node.real(0)
    op = RMSNormalization(_trailing(node, x), node.number("epsilon", 1e-5))
    return node.apply(op, x, node.real(1))


def simplified_layer_normalization(node: OnnxNode) -> list[Value]:
    """SimplifiedLayerNormalization: RMSNormalization; the other result is 1 / deviation."""
    node.ignore("stash_type")
    x = node.real(0)
    y, *rest = _normalised(node, x, node.number("epsilon", 1e-5), [node.real(1)], centred=False)
    return [y, *rest[1:]]


def skip_layer_normalization(centred: bool) -> Handler:
    """LayerNormalization of x + skip + bias, or RMSNormalization where nothing is ``centred``.

    The results are that, the mean, 1 / deviation, and the sum.
    """

    def handler(node: OnnxNode) -> list[Value]:
        scale, *rest = (2, 3, 4) if centred else (2, 3)
        *shift, bias = rest
        x, skip = node.real(0), node.real(1)
        total = node.apply(Pointwise(parse("x0 + x1")), x, skip)
        if node.given(bias):
            total = node.apply(Pointwise(parse("x0 + x1")), total, node.real(bias))
        if total.shape != x.shape:
            raise ShadergenError(
                "SG0205", f"a skip of shape {list(skip.shape)} does not fit {x.type}"
            )
        parameters = [node.real(i) for i in (scale, *shift) if node.given(i)]
        epsilon = node.number("epsilon", 1e-12)
        results = _normalised(node, total, epsilon, parameters, centred)
        return [*results, total] if any(node.used[1:]) else results

    handler.__doc__ = (
        f"{'LayerNormalization' if centred else 'RMSNormalization'} of x + skip + bias."
    )
    return handler


def _trailing(node: OnnxNode, x: Value) -> tuple[int, ...]:
    """Return the axes from ``axis`` on."""
    return tuple(range(node.axis(node.integer("axis", -1), x.type.rank), x.type.rank))


def _normalised(
    node: OnnxNode, x: Value, epsilon: float, parameters: list[Value], centred: bool = True
) -> list[Value]:
    """Return the normalised x, and, where they are read, its mean and 1 / deviation."""
    axes = _trailing(node, x)
    op = LayerNormalization(axes, epsilon) if centred else RMSNormalization(axes, epsilon)
    y = node.apply(op, x, *parameters)
    if not any(node.used[1:]):
        return [y]
    mean, variance = _statistics(node, x, axes)
    if not centred:
        variance = node.apply(Reduce("mean", axes, element=parse("square(x0)")), x)
    inverse = substitute(parse("1 / sqrt(x0 + e)"), {"e": Num(epsilon)})
    return [y, mean, node.apply(Pointwise(inverse), variance)]


def _statistics(
    node: OnnxNode, x: Value, axes: tuple[int, ...], keepdims: bool = True
) -> tuple[Value, Value]:
    mean = node.apply(Reduce("mean", axes), x)
    variance = node.apply(Reduce("mean", axes, keepdims, SQUARED_DIFFERENCE), x, mean)
    return mean if keepdims else node.apply(Reshape(variance.shape), mean), variance


@of_maps
def lrn(node: OnnxNode) -> Value:
    """LRN, across channels."""
    op = LRN(
        node.integer("size"),
        node.number("alpha", 1e-4),
        node.number("beta", 0.75),
        node.number("bias", 1.0),
    )
    return node.apply(op, node.real(0))


def lp_normalization(node: OnnxNode) -> Value:
    """LpNormalization: vectors divided by their 1-norm or 2-norm."""
    x = node.real(0)
    axis = node.axis(node.integer("axis", -1), x.type.rank)
    return node.apply(LpNormalization((axis,), node.choice("p", (2, 1))), x)


def mean_variance_normalization(node: OnnxNode) -> Value:
    """MeanVarianceNormalization; before set 9 over space, or space and C if across_channels=1."""
    x = node.real(0)
    rank = x.type.rank
    if node.version >= 9:
        axes = node.axes(node.integers("axes", (0, 2, 3)), rank)
    else:
        axes = tuple(range(1 if node.choice("across_channels", (0, 1)) else 2, rank))
        if not node.choice("normalize_variance", (1, 0)):
            mean = node.apply(Reduce("mean", axes), x)
            return node.apply(Pointwise(parse("x0 - x1")), x, mean)
    return node.apply(MeanVarianceNormalization(axes), x)


NORMALIZATION: dict[str, Handler] = {
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "LRN": lrn,
    "LayerNormalization": layer_normalization,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "RMSNormalization": rms_normalization,
    "SimplifiedLayerNormalization": simplified_layer_normalization,
}
