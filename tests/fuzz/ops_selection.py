"""Gathering, scattering, and other choices of elements by index."""

from __future__ import annotations

import numpy as np

from .net import Net, Rejected
from .operators import operator


def indices(net: Net, size: int, *shape: int) -> str:
    """Return constant indices, some of them counted from the end."""
    low = -size if net.opset > 10 else 0
    return net.constant(net.draw.whole(low, size - 1, *shape))


@operator("Gather", weight=1.5)
def gather(net: Net) -> str:
    x, draw = net.pick("fffi"), net.draw
    axis = draw.axis(net.rank(x))
    size = net.shape(x)[axis]
    if draw.chance(0.3):  # by indices that are computed
        found = net.pick("i", (0, 1, 2), lambda a: a.min() >= 0 and a.max() < size)
        return str(net("Gather", x, found, axis=axis))
    shape = draw.integers(1, 3, draw.integer(0, 2))
    return str(net("Gather", x, indices(net, size, *shape), axis=axis))


@operator("GatherElements", "GatherND", weight=1)
def gather_elements(net: Net) -> str:
    x, draw = net.pick("fffi"), net.draw
    shape = net.shape(x)
    if draw.chance(0.5):
        axis = draw.axis(len(shape))
        sizes = [draw.integer(1, s) for s in shape]
        return str(net("GatherElements", x, indices(net, shape[axis], *sizes), axis=axis))
    batch = draw.integer(0, 1) if len(shape) > 1 and net.opset > 11 else 0
    depth = draw.integer(1, len(shape) - batch)
    outer = [*shape[:batch], *draw.integers(1, 3, draw.integer(1, 2))]
    columns = [draw.whole(0, s - 1, *outer) for s in shape[batch : batch + depth]]
    found = net.constant(np.stack(columns, -1))
    return str(net("GatherND", x, found, batch_dims=batch or None))


@operator("ScatterND", "ScatterElements", weight=1)
def scatter(net: Net) -> str:
    x, draw = net.pick(), net.draw
    shape = net.shape(x)
    how = draw.one(None, "add", "mul", "max", "min") if net.opset > 17 else None
    if draw.chance(0.5):
        axis = draw.integer(0, len(shape) - 1)
        sizes = [draw.integer(1, s) for s in shape]
        # what is written twice is not defined: distinct places along the axis
        order = np.argsort(draw.rng.random(shape), axis)[tuple(slice(0, s) for s in sizes)]
        updates = net.constant(draw.normal(*sizes))
        where = net.constant(order.astype(np.int64))
        return str(net("ScatterElements", x, where, updates, axis=axis, reduction=how))
    places = np.unravel_index(draw.rng.permutation(int(np.prod(shape[:1]))), shape[:1])
    found = np.stack(places, -1)[: draw.integer(1, shape[0])]
    updates = net.constant(draw.normal(len(found), *shape[1:]))
    return str(net("ScatterND", x, net.constant(found.astype(np.int64)), updates, reduction=how))


@operator("OneHot", weight=0.5)
def one_hot(net: Net) -> str:
    draw = net.draw
    x = net.pick("i", (1, 2, 3))
    depth = net.constant(draw.integer(2, 6), np.int64)
    values = net.constant(draw.normal(2))
    return str(net("OneHot", x, depth, values, axis=draw.axis(net.rank(x) + 1)))


@operator("Compress", weight=0.4)
def compress(net: Net) -> str:
    x, draw = net.pick(), net.draw
    axis = draw.one(None, draw.axis(net.rank(x)))
    size = net.values[x].size if axis is None else net.shape(x)[axis]
    kept = draw.rng.random(draw.integer(1, size)) < 0.6
    return str(net("Compress", x, net.constant(kept), axis=axis))


@operator("choice for all", weight=0.3)
def choice(net: Net) -> str:
    """Take one of two by a condition for all, as Where does for each."""
    x = net.pick()
    most = net("ReduceMax", x, keepdims=0)
    if net.rank(most):
        raise Rejected("no scalar")
    condition = net("Greater", most, net.constant(net.draw.real(-1, 3), np.float32))
    return str(net("Where", condition, x, net("Neg", x)))
