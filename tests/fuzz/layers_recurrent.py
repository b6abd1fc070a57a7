"""Layers that take steps in time."""

from __future__ import annotations

from typing import Any

from .keras_layers import L, layer
from .keras_net import KerasNet, Tensor


@layer("SimpleRNN", "GRU", "LSTM", "Bidirectional", weight=2)
def recurrent(net: KerasNet) -> Tensor:
    x, draw = net.pick(3, lambda a: a.shape[1] <= 10), net.draw
    kind = draw.one(L.SimpleRNN, L.GRU, L.LSTM)
    named: dict[str, Any] = {"return_sequences": draw.chance(0.5)}
    named |= {"use_bias": draw.chance(0.8), "go_backwards": draw.chance(0.2)}
    named["activation"] = draw.one("tanh", "tanh", "relu", "softsign")
    if kind is not L.SimpleRNN:
        named["recurrent_activation"] = draw.one("sigmoid", "hard_sigmoid")
    if kind is L.GRU:
        named["reset_after"] = draw.chance(0.5)
    made = kind(draw.integer(1, 6), **named)
    if draw.chance(0.3) and not made.go_backwards:  # Keras's rule
        made = L.Bidirectional(made, merge_mode=draw.one("concat", "sum", "mul", "ave"))
    return net(made, x)


@layer("TimeDistributed", weight=0.6)
def distributed(net: KerasNet) -> Tensor:
    draw = net.draw
    if draw.chance(0.5):
        return net(L.TimeDistributed(L.Dense(draw.integer(1, 5), activation="tanh")), net.pick(3))
    x = net.pick(5)
    return net(L.TimeDistributed(L.Conv2D(draw.integer(1, 4), 3, padding="same")), x)


@layer("ConvLSTM", weight=0.3)
def convolutional_recurrent(net: KerasNet) -> Tensor:
    x, draw = net.pick((4, 5), lambda a: a.shape[1] <= 6), net.draw
    kind = L.ConvLSTM1D if x.value.ndim == 4 else L.ConvLSTM2D
    named = {"padding": draw.one("same", "valid"), "return_sequences": draw.chance(0.5)}
    return net(kind(draw.integer(1, 3), draw.integer(1, 3), **named), x)
