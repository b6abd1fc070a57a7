"""Histograms of a model's weights, as the model holds them: before any pass changes them."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...ir.graph import Constant
from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ...ir.graph import Graph

BINS = 40
FEWEST = 16  # numbers that a histogram says something about
BLOCK = 1 << 20  # numbers at a time: memory-mapped weights may be larger than the memory


@dataclass(frozen=True)
class Histogram:
    """The numbers of a weight tensor.

    Attributes:
        layers: that use the tensor.
        name: of the tensor.
        shape: of the tensor.
        low: the smallest number.
        high: the largest number.
        mean: of the numbers.
        deviation: their standard deviation.
        counts: how many lie in each of ``BINS`` intervals of equal length between low and high.
    """

    layers: tuple[str, ...]
    name: str
    shape: tuple[int, ...]
    low: float
    high: float
    mean: float
    deviation: float
    counts: tuple[int, ...]


def histograms(graph: Graph) -> tuple[Histogram, ...]:
    """Return the histograms of the weights of a graph, in the order of its nodes.

    Tensors of few numbers, of integers and with infinite numbers have none.
    """
    users: dict[Constant, list[str]] = {}
    for node in graph.nodes:
        for value in node.inputs:
            if isinstance(value, Constant) and value.data.dtype.kind == "f":
                users.setdefault(value, []).extend(node.layers)
    made = (_histogram(value, layers) for value, layers in users.items())
    return tuple(histogram for histogram in made if histogram is not None)


def _histogram(value: Constant, layers: list[str]) -> Histogram | None:
    data = value.data
    if data.size < FEWEST:
        return None
    low, high = float(data.min()), float(data.max())
    if not np.isfinite(high - low):
        return None
    counts = np.zeros(BINS, np.int64)
    total, squares = 0.0, 0.0
    for block in _blocks(data):
        counts += np.histogram(block, BINS, (low, high))[0]
        total += float(block.sum())
    mean = total / data.size
    for block in _blocks(data):
        squares += float(((block - mean) ** 2).sum())
    deviation = sqrt(squares / data.size)
    shape = tuple(map(int, data.shape))
    names = tuple(dict.fromkeys(layers))
    bins = tuple(map(int, counts))
    return Histogram(names, value.name, shape, low, high, mean, deviation, bins)


def _blocks(data: NDArray[np.floating]) -> Iterator[NDArray[np.float64]]:
    numbers = data.reshape(-1)
    for start in range(0, numbers.size, BLOCK):
        yield numbers[start : start + BLOCK].astype(np.float64)
