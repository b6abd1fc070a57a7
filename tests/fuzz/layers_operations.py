"""Functions of keras.ops."""

from __future__ import annotations

from typing import Any

import keras

from .keras_layers import layer
from .keras_net import KerasNet, Tensor
from .net import Rejected


@layer("operation", weight=3, dynamic=True)
def operation(net: KerasNet) -> Tensor:
    """Add a function of keras.ops, of each element."""
    ops, draw = keras.ops, net.draw
    if net.chain:
        raise Rejected("a chain")
    x = net.pick()
    names = ("abs", "sin", "cos", "tanh", "square", "negative", "sign", "floor", "ceil", "round")
    names += ("arctan", "erf", "expm1", "relu6", "silu", "softplus", "exp2", "logaddexp", "trunc")
    name = draw.one(*names)
    if name in ("expm1", "exp2"):
        x = net(ops.clip, x, x_min=-3.0, x_max=3.0)
    if name == "logaddexp":
        return net(ops.logaddexp, x, net.pick(fits=lambda a: a.shape == x.value.shape))
    return net(getattr(ops, name), x)


@layer("reduction", weight=1.5, dynamic=True)
def reduction(net: KerasNet) -> Tensor:
    ops, draw = keras.ops, net.draw
    if net.chain:
        raise Rejected("a chain")
    x = net.pick((3, 4))
    axis: Any = draw.integer(1, x.value.ndim - 1)
    if draw.chance(0.3):
        axis = tuple(sorted(draw.some(range(1, x.value.ndim))))
    named = {"axis": axis, "keepdims": draw.chance(0.7) or x.value.ndim == 3}
    return net(draw.one(ops.mean, ops.sum, ops.max, ops.min, ops.var, ops.logsumexp), x, **named)


@layer("movement", weight=1)
def movement(net: KerasNet) -> Tensor:
    ops, draw = keras.ops, net.draw
    if net.chain:
        raise Rejected("a chain")
    x = net.pick((3, 4))
    axis = draw.integer(1, x.value.ndim - 1)
    name = draw.one("flip", "roll", "repeat", "transpose", "take", "cumsum", "swapaxes")
    if name == "flip":
        return net(ops.flip, x, axis=axis)
    if name == "roll":
        return net(ops.roll, x, shift=draw.integer(-3, 3), axis=axis)
    if name == "repeat":
        return net(ops.repeat, x, repeats=draw.integer(1, 3), axis=axis)
    if name == "cumsum":
        return net(ops.cumsum, x, axis=axis)
    if name == "swapaxes":
        return net(ops.swapaxes, x, axis1=axis, axis2=draw.integer(1, x.value.ndim - 1))
    if name == "transpose":
        order = [0, *(int(k) + 1 for k in draw.rng.permutation(x.value.ndim - 1))]
        return net(ops.transpose, x, axes=order)
    return net(ops.take, x, indices=draw.whole(0, x.shape[axis - 1] - 1, 3).tolist(), axis=axis)
