"""Products with matrices: dense layers, dot products and attention."""

from __future__ import annotations

from typing import Any

from .keras_layers import L, activation, layer
from .keras_net import KerasNet, Tensor


@layer("Dense", weight=3, dynamic=True)
def dense(net: KerasNet) -> Tensor:
    units, used = net.draw.integer(1, 9), activation(net)
    return net(L.Dense(units, activation=used, use_bias=net.draw.chance(0.7)), net.pick())


@layer("EinsumDense", weight=0.7)
def einsum(net: KerasNet) -> Tensor:
    x = net.pick((2, 3))
    units = net.draw.integer(1, 6)
    if x.value.ndim == 2:
        named: dict[str, Any] = {"bias_axes": net.draw.one(None, "c")}
        return net(L.EinsumDense("ab,bc->ac", output_shape=units, **named), x)
    equation, axes = net.draw.one(("abc,cd->abd", "d"), ("...x,xy->...y", "y"))
    shape = (None, units)
    return net(L.EinsumDense(equation, shape, bias_axes=net.draw.one(None, axes)), x)


@layer("Dot", weight=0.5)
def dot(net: KerasNet) -> Tensor:
    x = net.pick((2, 3))
    other = net.pick(x.value.ndim, lambda a: a.shape == x.value.shape)
    axes = net.draw.integer(1, x.value.ndim - 1)
    return net(L.Dot(axes, normalize=net.draw.chance(0.3)), x, other)


@layer("Attention", "AdditiveAttention", "MultiHeadAttention", weight=1.5)
def attention(net: KerasNet) -> Tensor:
    x, draw = net.pick(3), net.draw
    name = draw.one("Attention", "AdditiveAttention", "MultiHeadAttention", "Grouped")
    width = x.shape[-1]
    other = net.pick(3, lambda a: a.shape[-1] == width)
    causal = {"use_causal_mask": True} if draw.chance(0.25) else {}
    if name == "AdditiveAttention":
        return net(L.AdditiveAttention(use_scale=draw.chance(0.5)), x, other, **causal)
    if name == "Attention":
        mode = draw.one("dot", "concat")
        made = L.Attention(use_scale=draw.chance(0.5), score_mode=mode)
        return net(made, x, other, **causal)
    if name == "Grouped":
        groups = draw.integer(1, 2)
        heads = groups * draw.integer(1, 2)
        made = L.GroupQueryAttention(draw.integer(1, 4), heads, groups)
        return net(made, x, other, **causal)
    heads, size = draw.integer(1, 3), draw.integer(1, 4)
    made = L.MultiHeadAttention(heads, size, draw.one(None, 3), use_bias=draw.chance(0.7))
    return net(made, x, other, **causal)
