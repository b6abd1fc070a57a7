"""What moves elements and computes nothing."""

from __future__ import annotations

import numpy as np

from .keras_layers import L, layer
from .keras_net import KerasNet, Tensor
from .net import Rejected


@layer("Concatenate", weight=2.5, dynamic=True)
def concatenate(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    axis = draw.integer(1, x.value.ndim - 1)
    if draw.chance(0.6) or net.dynamic:
        axis = x.value.ndim - 1
    rest = np.delete(x.value.shape, axis).tolist()
    others = [
        net.pick(x.value.ndim, lambda a: np.delete(a.shape, axis).tolist() == rest)
        for _ in range(draw.integer(1, 2))
    ]
    return net(L.Concatenate(axis=draw.one(axis, axis - x.value.ndim)), x, *others)


@layer("Reshape", "Flatten", "Permute", "RepeatVector", weight=2)
def arranged(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    name, shape = draw.one("Reshape", "Flatten", "Permute", "RepeatVector"), x.shape
    if name == "Flatten":
        named = {"data_format": "channels_first"} if draw.chance(0.15) else {}
        return net(L.Flatten(**named), x)
    if name == "Permute":
        return net(L.Permute([int(k) + 1 for k in draw.rng.permutation(len(shape))]), x)
    if name == "RepeatVector":
        return net(L.RepeatVector(draw.integer(1, 5)), net.pick(2))
    sizes = list(shape)
    k = draw.integer(0, len(sizes) - 1)
    if len(sizes) > 1 and draw.chance(0.5):
        k = min(k, len(sizes) - 2)
        sizes[k : k + 2] = [sizes[k] * sizes[k + 1]]
    else:
        part = draw.divisor(sizes[k])
        sizes[k : k + 1] = [part, sizes[k] // part]
    if draw.chance(0.3):
        sizes[draw.integer(0, len(sizes) - 1)] = -1
    return net(L.Reshape(sizes), x)


@layer("Embedding", weight=0.7)
def embedding(net: KerasNet) -> Tensor:
    found = [t for t in net.pool[-1 if net.chain else 0 :] if t.value.dtype.kind == "i"]
    if not found:
        raise Rejected("no indices")
    return net(L.Embedding(10, net.draw.integer(1, 6)), net.draw.one(*found))
