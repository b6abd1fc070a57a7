"""The errors of stored tensors as pictures: ``verify --layers --heat-maps``.

A picture holds the maps of all channels. Black is no error, and grey an accepted one: the lighter,
the nearer to the bound. Red is an error above the bound, yellow one of a hundred times the bound
and more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import pillow
from ..own_folders import OwnFolder, as_png, png_names
from .sheets import as_maps, columns_of, enlarged, enlargement, most_maps, sheet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from .inside import LayerError

# The logarithm to base 10 of error over bound, and its colour. Just above 0 the colour is red.
LEVELS = (-4.0, 0.0, 1e-6, 2.0)
COLOURS = ((0, 0, 0), (200, 200, 200), (190, 0, 0), (255, 255, 90))
GAP_COLOUR = np.array((30, 60, 120), np.uint8)
LEAST_SIDE = 256  # pixels of a picture; smaller ones are enlarged


def heat(errors: NDArray[Any], bound: float) -> NDArray[np.uint8]:
    """Return the colours of errors: one more axis, of red, green and blue."""
    with np.errstate(divide="ignore"):
        level = np.log10(errors / bound)
    channels = [np.interp(level, LEVELS, c) for c in zip(*COLOURS, strict=True)]
    colours = np.stack(channels, axis=-1)
    colours[errors == 0] = 0
    return colours.astype(np.uint8)


def heat_map(tensor: LayerError) -> NDArray[np.uint8]:
    """Return the picture of a tensor's errors: rows, columns, red, green and blue."""
    maps = as_maps(tensor.errors)
    most = most_maps(*maps.shape[1:])
    if len(maps) > most:  # the worst, in their order
        worst = np.argsort(-maps.max(axis=(1, 2)), kind="stable")[:most]
        maps = maps[np.sort(worst)]
    image = sheet(heat(maps, tensor.bound), GAP_COLOUR, columns_of(*maps.shape))
    picture: NDArray[np.uint8] = enlarged(
        image, enlargement(image.shape[0], image.shape[1], LEAST_SIDE)
    )
    return picture


def check_heat_maps(folder: Path) -> None:
    """Find out before the work whether heat maps can be written.

    Raises:
        ShadergenError: SG0501 for a file or a folder of other files, SG0606 without Pillow.
    """
    pillow()
    _folder(folder).check()


def write_heat_maps(tensors: Sequence[LayerError], folder: Path) -> None:
    """Write a PNG for each tensor that has elements, and the errors in ``layers.json``.

    Raises:
        ShadergenError: SG0501.
    """
    names = png_names([t.name for t in tensors])
    pairs = [(n, t) for n, t in zip(names, tensors, strict=True) if t.errors.size]
    entries = [
        {"file": n, "name": t.name, "max_error": t.max_error, "bound": t.bound} for n, t in pairs
    ]
    files = {n: as_png(pillow().fromarray(heat_map(t))) for n, t in pairs}
    _folder(folder).replace(files, {"tensors": entries})


def _folder(folder: Path) -> OwnFolder:
    help = "name another folder with --heat-maps"
    return OwnFolder(folder, "shadergen verify --heat-maps", "layers.json", help)
