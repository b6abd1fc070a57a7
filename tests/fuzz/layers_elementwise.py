"""Functions of each element, merging and normalisation."""

from __future__ import annotations

from typing import Any

from .keras_layers import ACTIVATIONS, L, layer
from .keras_net import KerasNet, Tensor


@layer("Activation", weight=2.5, dynamic=True)
def activated(net: KerasNet) -> Tensor:
    return net(L.Activation(net.draw.one(*ACTIVATIONS)), net.pick())


@layer("ReLU", "LeakyReLU", "PReLU", "ELU", "Softmax", weight=2.5, dynamic=True)
def activating(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    name = draw.one("ReLU", "LeakyReLU", "PReLU", "ELU", "Softmax")
    if name == "ReLU":
        named: dict[str, Any] = {"max_value": draw.one(None, 6.0, draw.real(0.5, 3))}
        named |= {"negative_slope": draw.one(0.0, draw.real(0, 0.5))}
        return net(L.ReLU(threshold=draw.one(0.0, draw.real(0, 0.4)), **named), x)
    if name == "LeakyReLU":
        return net(L.LeakyReLU(negative_slope=draw.real(0, 0.9)), x)
    if name == "ELU":
        return net(L.ELU(alpha=draw.real(0.2, 2)), x)
    rank = x.value.ndim
    if name == "Softmax":
        axis: Any = draw.one(-1, draw.integer(1, rank - 1))
        if rank > 3 and draw.chance(0.2):
            axis = [1, 2]
        return net(L.Softmax(axis), x)
    if net.dynamic:
        shared = [1, 2] if rank == 4 else None
    else:
        shared = sorted(draw.some(range(1, rank), 0)) or None
    return net(L.PReLU(shared_axes=shared), x)


@layer("Rescaling", "Dropout", weight=1, dynamic=True)
def rescaling(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    noise = (L.Dropout(0.3), L.GaussianNoise(0.2), L.GaussianDropout(0.2), L.Identity())
    if draw.chance(0.4):
        return net(draw.one(*noise, L.AlphaDropout(0.2)), x)
    scale: Any = draw.one(draw.real(-2, 2), [draw.real(-2, 2) for _ in range(x.shape[-1])])
    return net(L.Rescaling(scale, draw.real(-1, 1)), x)


@layer("merge", weight=4, dynamic=True)
def merge(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    kinds = (L.Add, L.Add, L.Multiply, L.Average, L.Maximum, L.Minimum, L.Subtract)
    kind = draw.one(*kinds)
    count = 1 if kind is L.Subtract else draw.integer(1, 2)
    others = [net.pick(x.value.ndim, lambda a: a.shape == x.value.shape) for _ in range(count)]
    return net(kind(), x, *others)


@layer("BatchNormalization", weight=2, dynamic=True)
def batch_normalization(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    axis = -1 if net.dynamic or draw.chance(0.8) else draw.integer(1, x.value.ndim - 1)
    named = {"center": draw.chance(0.8), "scale": draw.chance(0.8)}
    return net(L.BatchNormalization(axis, epsilon=draw.one(1e-3, 0.1), **named), x)


@layer("LayerNormalization", "RMSNormalization", "UnitNormalization", weight=1.5)
def normalization(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    rank = x.value.ndim
    name = draw.one("LayerNormalization", "RMSNormalization", "UnitNormalization")
    axis: Any = draw.one(-1, -1, draw.integer(1, rank - 1))
    if name == "RMSNormalization":
        return net(L.RMSNormalization(axis), x)
    if rank > 2 and draw.chance(0.3):
        axis = sorted(draw.some(range(1, rank)))
    if name == "UnitNormalization":
        return net(L.UnitNormalization(axis), x)
    named = {"center": draw.chance(0.8), "scale": draw.chance(0.8)}
    return net(L.LayerNormalization(axis, epsilon=draw.one(1e-3, 0.1), **named), x)


@layer("GroupNormalization", weight=0.7, dynamic=True)
def group_normalization(net: KerasNet) -> Tensor:
    x = net.pick((3, 4))
    groups = net.draw.one(-1, net.draw.divisor(x.shape[-1]))
    return net(L.GroupNormalization(groups, scale=net.draw.chance(0.8)), x)


@layer("Normalization", weight=0.4)
def standardization(net: KerasNet) -> Tensor:
    x, draw = net.pick((2, 3, 4)), net.draw
    mean, variance = draw.normal(x.shape[-1]), draw.uniform(0.3, 2, x.shape[-1])
    named = {"mean": mean.tolist(), "variance": variance.tolist(), "invert": draw.chance(0.3)}
    return net(L.Normalization(axis=-1, **named), x)
