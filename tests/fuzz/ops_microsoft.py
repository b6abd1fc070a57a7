"""Operators of onnxruntime's own domain, from its document of contributed operators."""

from __future__ import annotations

import numpy as np

from .net import Net
from .operators import operator

OWN = "com.microsoft"


@operator("BiasGelu", "FastGelu", "QuickGelu", "Gelu of Microsoft", weight=0.6)
def gelu(net: Net) -> str:
    x, draw = net.pick(), net.draw
    name = draw.one("BiasGelu", "FastGelu", "QuickGelu", "Gelu")
    bias = [net.weight(net.shape(x)[-1])] if name in ("BiasGelu", "FastGelu") else []
    named = {"alpha": draw.real(0.5, 2)} if name == "QuickGelu" else {}
    return str(net(name, x, *bias, domain=OWN, **named))


@operator("FusedConv", weight=0.6)
def fused_convolution(net: Net) -> str:
    x, draw = net.pick(rank=4), net.draw
    channels, filters = net.shape(x)[1], draw.integer(1, 6)
    w = net.weight(filters, channels, 3, 3, fan=9 * channels)
    name = draw.one("Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid")
    numbers = {"LeakyRelu": [0.1], "Clip": [-0.5, 1.0], "HardSigmoid": [0.2, 0.4]}.get(name)
    named = {"activation": name, "activation_params": numbers, "pads": [1] * 4}
    return str(net("FusedConv", x, w, net.weight(filters), domain=OWN, **named))


@operator("FusedMatMul", weight=0.6)
def fused_product(net: Net) -> str:
    x, draw = net.pick(rank=(2, 3)), net.draw
    a, b = draw.one(0, 1), draw.one(0, 1)
    inner = net.shape(x)[-2 if a else -1]
    shape = (draw.integer(1, 6), inner) if b else (inner, draw.integer(1, 6))
    named = {"transA": a, "transB": b, "alpha": draw.real(-2, 2)}
    return str(net("FusedMatMul", x, net.weight(*shape, fan=inner), domain=OWN, **named))


@operator("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", weight=0.5)
def skip_norm(net: Net) -> str:
    x, draw = net.pick(rank=3), net.draw
    width = net.shape(x)[2]
    skip = net.pick(rank=3, fits=lambda a: a.shape == net.shape(x))
    plain = draw.chance(0.5)
    operands = [x, skip, net.weight(width), *([] if plain else [net.weight(width)])]
    name = "SkipSimplifiedLayerNormalization" if plain else "SkipLayerNormalization"
    return str(net(name, *operands, domain=OWN, epsilon=draw.one(1e-5, 0.1)))


@operator("QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", weight=0.6)
def quantized(net: Net) -> str:
    draw = net.draw
    x = net.pick("u", (2, 3, 4), lambda a: a.dtype == np.uint8)
    name = draw.one("QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu")

    def steps(low: float, high: float) -> list[str]:
        scale, zero = net.draw.uniform(low, high), net.draw.whole(0, 30, dtype=np.uint8)
        return [net.constant(scale), net.constant(zero)]

    if name in ("QLinearAdd", "QLinearMul"):
        other = net.pick("u", net.rank(x), lambda a: a.shape == net.shape(x))
        operands = [x, *steps(0.01, 0.02), other, *steps(0.01, 0.02), *steps(0.02, 0.06)]
        return str(net(name, *operands, domain=OWN))
    named = {"alpha": draw.real(0, 0.5)} if name == "QLinearLeakyRelu" else {}
    return str(net(name, x, *steps(0.01, 0.03), *steps(0.01, 0.03), domain=OWN, **named))
