"""Pictures of 16 bits, which Pillow reads in 8: PyAV reads them whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import extras

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

BITS_PER_SAMPLE = 258  # a tag of TIFF
FORMATS = {1: "gray16le", 2: "rgba64le", 3: "rgb48le", 4: "rgba64le"}  # by channels


def is_deep(stored: Any) -> bool:
    """Whether an opened image has more bits than Pillow gives."""
    if stored.mode.startswith("I;16"):
        return False  # which Pillow keeps
    if stored.format == "PNG":
        return ";16B" in str(stored.tile[0][3]) if stored.tile else False
    if stored.format == "TIFF":
        return bool(max(stored.tag_v2.get(BITS_PER_SAMPLE, (8,))) == 16)
    return False


def deep_pixels(path: Path, stored: Any) -> NDArray[Any]:
    """Return the pixels of a file, (H, W, C) of uint16.

    Raises:
        ShadergenError: SG0606 without PyAV.
    """
    av = extras.need("av", "av", f"reading the 16-bit picture '{path}'")
    # Pillow gives 16-bit grey with alpha as RGBA; only the raw mode of its decoder differs.
    gray = str(stored.tile[0][3]).startswith("LA")
    channels = 2 if gray else len(stored.getbands())
    try:
        with av.open(str(path)) as container:
            frame = next(container.decode(video=0))
            pixels = frame.to_ndarray(format=FORMATS[channels])
    except (av.FFmpegError, StopIteration) as error:
        raise OSError(str(error) or "the file holds no picture") from None
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    if channels == 2:
        pixels = pixels[..., [0, 3]]
    return np.ascontiguousarray(pixels)
