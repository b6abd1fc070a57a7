"""The errors of stored tensors as pictures: ``verify --layers --heat-maps``.

A picture holds the maps of all channels. Black is no error, and grey an accepted one: the lighter,
the nearer to the bound. Red is an error above the bound, yellow one of a hundred times the bound
and more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError, reason
from ..extras import pillow
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
        ShadergenError: SG0501 if the name is a file's, SG0606 without Pillow.
    """
    pillow()
    if folder.exists() and not folder.is_dir():
        raise ShadergenError(
            "SG0501",
            f"'{folder}' is not a folder",
            help="name a folder with --heat-maps",
        )


def write_heat_maps(tensors: Sequence[LayerError], folder: Path) -> list[str]:
    """Write a PNG for each tensor and return the files' names; a file of the name is replaced.

    Raises:
        ShadergenError: SG0501.
    """
    names = []
    digits = len(str(len(tensors) - 1))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for k, tensor in enumerate(tensors):
            if tensor.errors.size:
                stem = re.sub(r"[^A-Za-z0-9]+", "_", tensor.name).strip("_")[:40] or "tensor"
                names.append(f"{k:0{digits}d}_{stem}.png")
                pillow().fromarray(heat_map(tensor)).save(folder / names[-1])
    except OSError as error:
        raise ShadergenError(
            "SG0501",
            f"cannot write to '{folder}'",
            why=reason(error),
            help="choose another folder with --heat-maps",
        ) from None
    return names
