"""Pictures in a row, each with a label above it: of ``demo`` and ``run --compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from .. import extras
from .files import require_files, write_pixels
from .picture import as_integers
from .reading import SUFFIXES, read_picture
from .writing import to_pillow

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .picture import Picture

GAP, LABEL, TEXT = 6, 26, 16  # pixels between pictures, above them, and of letters
ROWS = 1000  # of a picture above which letters grow with it
NARROWEST = 280  # pixels that a label takes


def in_a_row(images: Mapping[str, Any]) -> Any:
    """Return PIL images of one height in a row, by their labels."""
    draw_on, fonts = extras.pillow_drawing()
    height = max(image.height for image in images.values())
    scale = max(1, height // ROWS)
    gap, label, text = (scale * size for size in (GAP, LABEL, TEXT))
    width = sum(image.width + gap for image in images.values()) - gap
    sheet = extras.pillow().new("RGB", (width, height + label), "white")
    draw, left = draw_on.Draw(sheet), 0
    for name, image in images.items():
        sheet.paste(image.convert("RGB"), (left, label))
        draw.text((left + 2 * scale, 3 * scale), name, "black", fonts.load_default(text))
        left += image.width + gap
    return sheet


def details(images: Mapping[str, Any], box: tuple[int, int, int, int], zoom: int) -> Any:
    """Return a detail of PIL images, enlarged without smoothing and labelled, in a row.

    Args:
        images: of the same size, by label.
        box: left, top, right and bottom of the detail.
        zoom: how much to enlarge it.
    """
    return in_a_row({name: _enlarged(image.crop(box), zoom) for name, image in images.items()})


def check_comparison(
    source: Path, result: Path | None, output: Path, original: Path | None = None
) -> None:
    """Find out before the work whether a picture and its result can be shown side by side.

    Args:
        source: of the run.
        result: of the run.
        output: to write both to.
        original: what the result should equal.

    Raises:
        ShadergenError: SG0301, SG0501, SG0605.
    """
    if result is None:
        raise ShadergenError("SG0301", "--compare also needs -o with a file for the result")
    named = {"INPUT": source, "the result of -o": result}
    require_files("--compare", "picture", SUFFIXES, named)
    if output.suffix.lower() not in SUFFIXES:
        raise ShadergenError(
            "SG0605",
            f"the format of '{output}' is not supported",
            supported=", ".join(SUFFIXES),
        )
    if not output.absolute().parent.is_dir():
        raise ShadergenError("SG0501", f"'{output.parent}' is not a folder")
    if output.absolute() in [p.absolute() for p in (source, result, original) if p]:
        raise ShadergenError(
            "SG0501",
            f"--compare names '{output}', which is the input, the result or the original",
            help="name another file with --compare",
        )


def write_comparison(
    source: Path, result: Path, output: Path, original: Path | None = None
) -> None:
    """Write a picture and its result side by side; the picture is scaled to the result's height.

    Args:
        source: the picture.
        result: what a network made of it.
        output: to write both to.
        original: what the result should equal; shown at the right.

    Raises:
        ShadergenError: SG0101 for a picture that cannot be read, SG0501 for one that cannot be
            written, SG0605 when the format cannot hold it.
    """
    before, after = read_picture(source), read_picture(result)
    height = after.size[0]
    width = max(1, round(before.size[1] * height / before.size[0]))
    named = {"before": before, "after": after}
    if original is not None:
        named["original"] = read_picture(original)
    first, *others = map(_opaque, named.values())
    labels = [f"{name}, {p.size[0]}x{p.size[1]}" for name, p in named.items()]
    if before.size[0] != height:
        labels[0] += ", bicubic"
        first = first.resize((width, height), extras.pillow().Resampling.BICUBIC)
    shown = (first, *others)
    zoom = -(-NARROWEST // min(image.width for image in shown))
    images = (_enlarged(image, zoom) for image in shown)
    sheet = in_a_row(dict(zip(labels, images, strict=True)))
    write_pixels(output, np.asarray(sheet), 8, after.metadata.of_channels(3))


def _enlarged(image: Any, zoom: int) -> Any:
    """Return a PIL image enlarged without smoothing."""
    size = image.width * zoom, image.height * zoom
    return image.resize(size, extras.pillow().Resampling.NEAREST)


def _opaque(picture: Picture) -> Any:
    """Return a picture in 8 bits as a PIL image, on white where it has alpha."""
    everything = slice(None)
    pixels = picture.part(everything, everything, 4)
    alpha = pixels[..., 3:]
    return to_pillow(as_integers(pixels[..., :3] * alpha + (1 - alpha), 8))
