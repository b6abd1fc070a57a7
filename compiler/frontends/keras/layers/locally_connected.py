"""Locally connected layers of Keras 2: convolutions whose kernel differs from place to place.

The taps of every window become channels, by a convolution that picks them; what remains is a sum
over these channels, with a kernel (channels * taps, filters, places).
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .....ir.graph import constant
from .....ir.ops import Conv, Einsum
from ..tensors import pointwise
from .common import one
from .convolution import PADDINGS
from .named_activations import activate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ..tensors import Tensor
    from .layer import Layer

Sizes = tuple[int, ...]


def locally_connected(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Convolve with a kernel for each place; ``implementation`` chooses the kernels' format."""
    config = layer.config
    x = layer.feature_map(one(layer, inputs), axes)
    taps, filters = config.sizes("kernel_size", axes), config.integer("filters")
    strides = config.sizes("strides", axes, 1)
    same = config.choice("padding", PADDINGS, "valid") == "same"
    stored = config.integer("implementation", 1)
    if stored > 3 or (same and stored == 1):
        config.unsupported("implementation", stored, "2 and 3; 1 only with padding='valid'")
    if layer.data_format != "channels_last":
        config.unsupported("data_format", layer.data_format, "channels_last")
    size, channels = x.shape[2:], x.shape[1]
    before = tuple(k // 2 for k in taps) if same else (0,) * axes
    lost = (0 if same else k - 1 for k in taps)
    places = tuple(-(-(s - r) // d) for s, r, d in zip(size, lost, strides, strict=True))
    windows = _Windows(size, taps, strides, before, places)
    bias = {"bias": (*places, filters)} if config.flag("use_bias", True) else {}
    if stored == 1:
        shape: Sizes = (prod(places), prod(taps) * channels, filters)
    elif stored == 2:
        shape = (*size, channels, *places, filters)
    else:
        shape = (sum(1 for _ in windows.connected()) * channels * filters,)

    def prepare(w: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
        unfold = (windows.by_place, windows.in_full, windows.in_a_row)[stored - 1]
        kernel = unfold(w["kernel"], channels, filters)  # taps, C, places, F
        order = (axes, *range(axes), 2 * axes + 1, *range(axes + 1, 2 * axes + 1))
        together = kernel.transpose(order).reshape(-1, filters, *places)
        found = w | {"kernel": together}
        if bias:
            found["bias"] = np.moveaxis(w["bias"], -1, 0)[np.newaxis]
        return found

    w = layer.constants({"kernel": shape, **bias}, prepare)
    eye = np.eye(prod(taps), dtype=np.float32).reshape(prod(taps), 1, *taps)
    pick = np.tile(eye, (channels, *(1,) * (axes + 1)))
    after = (
        (p - 1) * d + k - b - s
        for p, d, k, b, s in zip(places, strides, taps, before, size, strict=True)
    )
    pads = (*before, *(max(a, 0) for a in after))
    op = Conv(strides, (1,) * axes, pads, channels)
    parts = layer.apply(op, x, constant(pick, f"{layer.name}/taps"))
    place = "hwd"[:axes]
    y = layer.result(layer.apply(Einsum(f"nq{place},qf{place}->nf{place}"), parts, w["kernel"]))
    if bias:
        y = pointwise("x0 + x1", [y, layer.result(w["bias"])], layer.name)
    return activate(layer, y)


class _Windows:
    """Where the windows of a layer lie, and how the file keeps a number for each connection."""

    def __init__(
        self, size: Sizes, taps: Sizes, strides: Sizes, before: Sizes, places: Sizes
    ) -> None:
        self.size, self.taps, self.places = size, taps, places
        self.strides, self.before = strides, before

    def connected(self) -> Iterator[tuple[Sizes, Sizes, Sizes]]:
        """Yield place, tap and the element of x there, for all that exist, place by place."""
        for place in product(*map(range, self.places)):
            for tap in product(*map(range, self.taps)):
                at = tuple(
                    p * d + k - b
                    for p, d, k, b in zip(place, self.strides, tap, self.before, strict=True)
                )
                if all(0 <= i < s for i, s in zip(at, self.size, strict=True)):
                    yield place, tap, at

    def by_place(self, w: NDArray[np.float32], channels: int, filters: int) -> NDArray[np.float32]:
        """(places, taps * C, F) -> (taps, C, places, F)."""
        count, rank = len(self.places), len(self.taps)
        split = w.reshape(*self.places, *self.taps, channels, filters)
        order = (*range(count, count + rank + 1), *range(count), count + rank + 1)
        kernel: NDArray[np.float32] = split.transpose(order)
        return kernel

    def in_full(self, w: NDArray[np.float32], channels: int, filters: int) -> NDArray[np.float32]:
        """(elements of x, C, places, F), of which only connected ones count, -> as above."""
        kernel = np.zeros((*self.taps, channels, *self.places, filters), np.float32)
        every = slice(None)
        for place, tap, at in self.connected():
            here: Any = (*tap, every, *place)
            there: Any = (*at, every, *place)
            kernel[here] = w[there]
        return kernel

    def in_a_row(self, w: NDArray[np.float32], channels: int, filters: int) -> NDArray[np.float32]:
        """One number after the other: by place, filter, element of x, channel -> as above."""
        kernel = np.zeros((*self.taps, channels, *self.places, filters), np.float32)
        of_place: dict[Sizes, list[Sizes]] = {}
        for place, tap, _ in self.connected():
            of_place.setdefault(place, []).append(tap)
        start = 0
        for place, all_taps in of_place.items():
            count = filters * len(all_taps) * channels
            block = w[start : start + count].reshape(filters, len(all_taps), channels)
            for k, tap in enumerate(all_taps):
                here: Any = (*tap, slice(None), *place)
                kernel[here] = block[:, k].T
            start += count
        return kernel
