"""A Keras model that grows layer by layer, each computed as it is added: ``net`` for Keras."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import keras
import numpy as np

from .draw import Draw
from .net import LARGEST, MOST, Array, Rejected

Fits = Callable[[Array], bool]


@dataclass(frozen=True)
class Tensor:
    """A tensor of a model, and its value for one set of inputs, the batch included."""

    symbol: Any
    value: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape without the batch."""
        return tuple(map(int, self.value.shape[1:]))


class KerasNet:
    """A model in the making.

    Attributes:
        draw: where its choices come from.
        dynamic: whether heights and widths are dynamic.
        pool: the tensors that layers may take.
        chain: whether every layer takes the result of the one before, so the model is Sequential.
        layers: those of a chain.
    """

    def __init__(self, draw: Draw, dynamic: bool, chain: bool) -> None:
        self.draw = draw
        self.dynamic = dynamic
        self.chain = chain
        self.pool: list[Tensor] = []
        self.inputs: list[Tensor] = []
        self.layers: list[Any] = []
        self.read: set[int] = set()

    def input(self, value: Array) -> None:
        shape: list[int | None] = list(value.shape[1:])
        if self.dynamic:
            shape[:2] = [None, None]
        symbol = keras.Input(shape, dtype=value.dtype.name, name=f"in{len(self.inputs)}")
        self.inputs.append(Tensor(symbol, value))
        self.pool.append(self.inputs[-1])

    def pick(self, rank: int | tuple[int, ...] = (), fits: Fits = lambda a: True) -> Tensor:
        """Return a tensor of the pool, of a rank that counts the batch."""
        ranks = (rank,) if isinstance(rank, int) else rank or (2, 3, 4, 5)
        pool = self.pool[-1:] if self.chain else self.pool
        found = [t for t in pool if t.value.ndim in ranks and t.value.dtype == np.float32]
        found = [t for t in found if fits(t.value)]
        if not found:
            raise Rejected("no operand")
        return found[-1] if self.draw.chance(0.6) else self.draw.one(*found)

    def __call__(self, layer: Any, *operands: Tensor, **named: Any) -> Tensor:
        """Add a call of a layer or an operation."""
        if self.chain and len(operands) > 1:
            raise Rejected("a chain")
        symbols = [t.symbol for t in operands]
        several = isinstance(layer, keras.layers.Layer) and len(operands) > 1
        together = several and isinstance(layer, LISTED)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                symbol = layer(symbols, **named) if together else layer(*symbols, **named)
                if isinstance(layer, keras.layers.Layer):
                    self.randomise(layer)
                arrays = [t.value for t in operands]
                found = layer(arrays, **named) if together else layer(*arrays, **named)
                value = keras.ops.convert_to_numpy(found)
        except Exception as error:  # whatever Keras and its backend raise
            raise Rejected(f"{layer}: {error}") from None
        if not 0 < value.size <= MOST or value.ndim > 5 or not np.isfinite(value).all():
            raise Rejected(f"{value.shape} elements")
        self.read.update(id(t.symbol) for t in operands)
        if self.chain:
            self.layers.append(layer)
        return Tensor(symbol, value)

    def randomise(self, layer: Any) -> None:
        """Give weights numbers that keep sums moderate, and no two alike."""
        for weight in layer.weights:
            if "seed" in weight.path or not weight.dtype.startswith("float"):
                continue
            if "variance" in weight.path:
                array = self.draw.uniform(0.3, 2, *weight.shape)
            elif len(weight.shape) > 1:
                array = self.draw.normal(*weight.shape, scale=prod(weight.shape[:-1]) ** -0.5)
            else:
                array = self.draw.normal(*weight.shape, scale=0.5)
            weight.assign(array)

    def offer(self, tensor: Tensor) -> None:
        """Let layers to come take a tensor, once its numbers are moderate."""
        if tensor.value.dtype == np.float32 and (most := np.abs(tensor.value).max()) > LARGEST:
            tensor = self(keras.layers.Rescaling(float(np.float32(4 / most))), tensor)
        self.pool.append(tensor)


LISTED = (
    keras.layers.Add,
    keras.layers.Subtract,
    keras.layers.Multiply,
    keras.layers.Average,
    keras.layers.Maximum,
    keras.layers.Minimum,
    keras.layers.Concatenate,
    keras.layers.Dot,
    keras.layers.Attention,
    keras.layers.AdditiveAttention,
)
