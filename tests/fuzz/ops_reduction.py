"""Reductions, softmax, and normalisations."""

from __future__ import annotations

import numpy as np

from .net import Net
from .operators import operator

REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceProd"),
    *("ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"),
)


@operator(*REDUCTIONS, weight=4, dynamic=True)
def reduction(net: Net) -> str:
    draw, name = net.draw, net.draw.one(*REDUCTIONS)
    x = net.pick("ffffi" if name in ("ReduceSum", "ReduceMax", "ReduceMin") else "f")
    if name == "ReduceLogSum":
        x = net.between(x, 0.1, 10)
    if name == "ReduceProd":
        x = net.between(x, -1.5, 1.5)
    keep = draw.one(None, 0, 1)
    rank = net.rank(x)
    axes = None if draw.chance(0.15) else draw.axes(rank)
    empty = draw.one(None, 0, 1)
    return str(net(name, x, axes=axes, keepdims=keep, noop_with_empty_axes=empty))


@operator("Softmax", "LogSoftmax", "Hardmax", weight=2, dynamic=True)
def softmax(net: Net) -> str:
    x, name = net.pick(), net.draw.weighted(("Softmax", "LogSoftmax", "Hardmax"), (5, 3, 1))
    axis = None if net.draw.chance(0.3) else net.draw.axis(net.rank(x))
    return str(net(name, x, axis=axis))


@operator("ArgMax", "ArgMin", weight=1, dynamic=True)
def extreme(net: Net) -> str:
    x, draw = net.pick(), net.draw
    axis = draw.axis(net.rank(x))
    found = net(
        draw.one("ArgMax", "ArgMin"),
        x,
        axis=axis,
        keepdims=draw.one(None, 0, 1),
        select_last_index=draw.one(None, 0, 1),
    )
    return str(found)


@operator("TopK", weight=0.7)
def largest(net: Net) -> tuple[str, ...]:
    x, draw = net.pick(), net.draw
    axis = draw.axis(net.rank(x))
    k = [draw.integer(1, min(5, net.shape(x)[axis]))]
    if net.opset < 10:
        return tuple(net("TopK", x, outputs=2, k=k[0], axis=axis))
    counted = {"K": k, "axis": axis, "largest": draw.one(None, 0, 1), "sorted": 1}
    return tuple(net("TopK", x, outputs=2, **counted))


@operator("BatchNormalization", weight=2, dynamic=True)
def batch_norm(net: Net) -> str:
    x, draw = net.pick(rank=(2, 3, 4, 5)), net.draw
    channels = net.shape(x)[1]
    operands = [draw.normal(channels), draw.normal(channels), draw.normal(channels)]
    operands.append(draw.uniform(0.3, 2, channels))
    epsilon = draw.one(None, 1e-3, 0.1)
    return str(net("BatchNormalization", x, *map(net.constant, operands), epsilon=epsilon))


@operator("InstanceNormalization", dynamic=True)
def instance_norm(net: Net) -> str:
    x, draw = net.pick(rank=(3, 4, 5)), net.draw
    channels = net.shape(x)[1]
    operands = [net.weight(channels), net.weight(channels)]
    return str(net("InstanceNormalization", x, *operands, epsilon=draw.one(None, 1e-3, 0.1)))


@operator("LayerNormalization", "RMSNormalization", weight=1.5)
def layer_norm(net: Net) -> str:
    x, draw = net.pick(), net.draw
    name = draw.one("LayerNormalization", "RMSNormalization")
    axis = draw.axis(net.rank(x))
    shape = net.shape(x)[axis % net.rank(x) :]
    operands = [net.weight(*shape)]
    if name == "LayerNormalization" and draw.chance(0.6):
        operands.append(net.weight(*shape))
    return str(net(name, x, *operands, axis=axis, epsilon=draw.one(None, 1e-3, 0.1)))


@operator("GroupNormalization", dynamic=True)
def group_norm(net: Net) -> str:
    x, draw = net.pick(rank=(3, 4, 5)), net.draw
    channels = net.shape(x)[1]
    groups = draw.divisor(channels)
    count = groups if net.opset < 21 else channels
    operands = [net.weight(count), net.weight(count)]
    return str(
        net("GroupNormalization", x, *operands, num_groups=groups, epsilon=draw.one(None, 0.1))
    )


@operator("LRN", weight=0.6, dynamic=True)
def local_response(net: Net) -> str:
    draw = net.draw
    named = {"alpha": draw.real(1e-4, 1), "beta": draw.real(0.2, 1), "bias": draw.real(0.5, 2)}
    chosen = {k: v for k, v in named.items() if draw.chance(0.7)}
    return str(net("LRN", net.pick(rank=(3, 4)), size=draw.integer(1, 7), **chosen))


@operator("LpNormalization", weight=0.6, dynamic=True)
def lp_norm(net: Net) -> str:
    x = net("Add", net("Abs", net.pick()), net.constant(np.float32(0.1)))
    return str(
        net("LpNormalization", x, axis=net.draw.axis(net.rank(x)), p=net.draw.one(None, 1, 2))
    )


@operator("MeanVarianceNormalization", weight=0.6, dynamic=True)
def mean_variance(net: Net) -> str:
    x = net.pick(rank=4)
    axes = None if net.draw.chance(0.5) else sorted(net.draw.some(range(4)))
    return str(net("MeanVarianceNormalization", x, axes=axes))
