"""The table of Keras's layers and operations, written from their signatures and documents.

Its entries are in the files ``layers_*``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import keras

from .keras_net import KerasNet, Tensor
from .net import Rejected

Make = Callable[[KerasNet], Tensor]
L = keras.layers
ATTEMPTS = 30
ACTIVATIONS = (
    *("celu", "elu", "exponential", "gelu", "hard_shrink", "hard_sigmoid", "hard_silu", "linear"),
    *("hard_tanh", "leaky_relu", "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu"),
    *("sigmoid", "silu", "softmax", "soft_shrink", "softplus", "softsign", "sparse_plus", "tanh"),
    *("sparse_sigmoid", "sparsemax", "squareplus", "tanh_shrink", "threshold", "glu"),
)


@dataclass(frozen=True)
class Entry:
    """A layer: how often it is drawn, and whether heights and widths may be dynamic."""

    name: str
    make: Make
    weight: float
    dynamic: bool


LAYERS: dict[str, Entry] = {}


def layer(*names: str, weight: float = 1.0, dynamic: bool = False) -> Callable[[Make], Make]:
    """Enter a function under the names of layers."""

    def enter(make: Make) -> Make:
        for name in names:
            LAYERS[name] = Entry(name, make, weight / len(names), dynamic)
        return make

    return enter


def grow(net: KerasNet, count: int) -> list[str]:
    """Add some layers to a model; return the names of the entries that were taken."""
    entries = [e for e in LAYERS.values() if e.dynamic or not net.dynamic]
    weights = [e.weight for e in entries]
    taken: list[str] = []
    for _ in range(ATTEMPTS * count):
        if len(taken) == count:
            break
        entry = net.draw.weighted(entries, weights)
        before = len(net.layers)
        try:
            net.offer(entry.make(net))
        except Rejected:
            del net.layers[before:]
            continue
        taken.append(entry.name)
    return taken


def activation(net: KerasNet) -> str | None:
    return net.draw.one(None, None, "relu", *ACTIVATIONS)
