"""Drawing results that are no pictures: classes in colours with a legend, numbers as grey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from .. import extras
from .picture import as_integers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

COLOURS = 256
SHOWN = 32  # classes in a legend
MARGIN = 0.4  # of a line of the legend
SLACK = 1e-3  # of numbers in 0..1


@dataclass(frozen=True)
class Class:
    """A class in a class map.

    Attributes:
        number: of the class.
        name: its label, or its number as text.
        colour: red, green, blue in 0..255.
        share: of the pixels.
    """

    number: int
    name: str
    colour: tuple[int, int, int]
    share: float


def palette() -> Bytes:
    """Return distinct colours for classes, (256, 3): black for 0.

    Source: the colour map of the PASCAL VOC challenge, which spreads the bits of the number.
    """
    numbers = np.arange(COLOURS)
    colours = np.zeros((COLOURS, 3), np.int64)
    for bit in range(8):
        for channel in range(3):
            colours[:, channel] |= ((numbers >> (3 * bit + channel)) & 1) << (7 - bit)
    return colours.astype(np.uint8)


def classes_in(classes: NDArray[Any], labels: Sequence[str]) -> list[Class]:
    """Return the classes of a map (H, W), the most frequent first."""
    numbers, counts = np.unique(classes, return_counts=True)
    colours = palette()
    found = [
        Class(
            int(n),
            labels[int(n)] if 0 <= n < len(labels) else str(int(n)),
            _triple(colours[int(n) % COLOURS]),
            float(c / classes.size),
        )
        for n, c in zip(numbers, counts, strict=True)
    ]
    return sorted(found, key=lambda c: -c.share)


def _triple(colour: NDArray[Any]) -> tuple[int, int, int]:
    red, green, blue = map(int, colour)
    return red, green, blue


def draw_classes(classes: NDArray[Any], found: Sequence[Class]) -> Bytes:
    """Return a class map as RGB (H, W, 3) with a legend at the right."""
    colours = palette()[classes.astype(np.int64) % COLOURS]
    return np.concatenate([colours, _legend(found[:SHOWN], len(classes))], axis=1)


def _legend(found: Sequence[Class], height: int) -> Bytes:
    pillow = extras.pillow()
    draws = extras.need("PIL.ImageDraw", "pillow", "drawing")
    fonts = extras.need("PIL.ImageFont", "pillow", "drawing")
    line = max(8, min(28, height // max(1, len(found))))
    letter = max(7, round(line * (1 - MARGIN)))
    try:
        font = fonts.load_default(size=letter)
    except TypeError:  # Pillow before 10.1 has one size
        font = fonts.load_default()
    texts = [f"{c.name}  {c.share:.1%}" for c in found]
    width = 2 * line + max((int(font.getlength(text)) for text in texts), default=0)
    image = pillow.new("RGB", (width, height), "white")
    draw = draws.Draw(image)
    for k, (entry, text) in enumerate(zip(found, texts, strict=True)):
        top, gap = k * line, max(1, round(line * MARGIN / 2))
        box = (gap, top + gap, line - gap, top + line - gap)
        draw.rectangle(box, fill=entry.colour, outline="grey")
        draw.text((line + gap, top + gap), text, fill="black", font=font)
    return np.asarray(image, np.uint8)


def draw_map(values: NDArray[Any], bits: int) -> tuple[NDArray[Any], str]:
    """Return numbers (H, W) as grey (H, W, 1), and what was done to them, if anything.

    Numbers in 0..1 stay; others are scaled, the least to black and the largest to white.
    """
    low, high = float(values.min()), float(values.max())
    if low >= -SLACK and high <= 1 + SLACK:
        return as_integers(values[..., np.newaxis], bits), ""
    scaled = ((values - low) / ((high - low) or 1)).astype(np.float32)
    return as_integers(scaled[..., np.newaxis], bits), f"{low:.4g} is black, {high:.4g} is white"
