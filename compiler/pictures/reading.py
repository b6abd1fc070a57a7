"""Reading pictures: files and Pillow images, upright, with alpha and metadata apart."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError, reason
from .. import extras
from .deep import deep_pixels, is_deep
from .picture import Metadata, Picture

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".avif")
ORIENTATION = 0x0112
# Tags that say where the pixels lie in the file that was read.
KEPT = (0x010E, 0x010F, 0x0110, 0x0131, 0x0132, 0x013B, 0x8298)  # texts: camera, time, author ...
FOLDERS = (0x8769, 0x8825)  # EXIF proper, GPS
SIZES = (0xA002, 0xA003)  # of the picture that was read
TURNS = {  # of (H, W, C) pixels, by the EXIF orientation
    2: lambda p: p[:, ::-1],
    3: lambda p: p[::-1, ::-1],
    4: lambda p: p[::-1],
    5: lambda p: p.swapaxes(0, 1),
    6: lambda p: p.swapaxes(0, 1)[:, ::-1],
    7: lambda p: p[::-1, ::-1].swapaxes(0, 1),
    8: lambda p: p.swapaxes(0, 1)[::-1],
}
MOST_PIXELS = 1 << 30  # that are read: 3 to 4 GiB of pixels


def read_picture(path: Path) -> Picture:
    """Read a picture.

    Raises:
        ShadergenError: SG0101 when it cannot be read as a picture, SG0605 when its values have
            no known range or its colours are no RGB, SG0606 when its 16 bits need PyAV.
    """
    pillow = extras.pillow()
    most, pillow.MAX_IMAGE_PIXELS = pillow.MAX_IMAGE_PIXELS, None  # the limit here is our own
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of damaged metadata
            with pillow.open(path) as stored:
                _check_size(stored.size, f"'{path}'")
                if is_deep(stored):
                    return _picture(stored, deep_pixels(path, stored), f"'{path}'")
                return from_pillow(stored, f"'{path}'")
    except (OSError, ValueError, SyntaxError) as error:
        raise ShadergenError(
            "SG0101", f"cannot read '{path}' as a picture", why=reason(error)
        ) from None
    finally:
        pillow.MAX_IMAGE_PIXELS = most


def _check_size(size: tuple[int, int], what: str) -> None:
    width, height = size
    if width * height > MOST_PIXELS:
        raise ShadergenError(
            "SG0605",
            f"{what} has {height}x{width} = {width * height / 1e6:,.0f} million pixels",
            why=f"pictures are decoded in memory; the limit is {MOST_PIXELS / 1e6:,.0f} million, "
            "since small files can claim any size",
            help="cut the picture into parts first",
        )


def from_pillow(stored: Any, what: str) -> Picture:
    """Return a Pillow image as a picture.

    Args:
        stored: the image.
        what: the image, for messages.

    Raises:
        ShadergenError: SG0605 when its values have no known range or its colours are no RGB.
    """
    image, notes = stored, tuple[str, ...]()
    if image.mode in ("CMYK", "LAB"):
        image, notes = _to_rgb(image, what)
    if image.mode.startswith("I;16"):
        deep = np.asarray(image)[..., np.newaxis].astype(np.uint16)
        return _picture(stored, deep, what)
    if image.mode in ("I", "F"):
        raise ShadergenError(
            "SG0605",
            f"{what} has 32-bit pixels of unknown range",
            supported="pictures of 8 or 16 bits; other data in .npz or .npy",
        )
    has_alpha = image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info
    gray = image.mode in ("1", "L", "LA", "La")
    mode = ("LA" if gray else "RGBA") if has_alpha else ("L" if gray else "RGB")
    if image.mode == "La":
        image = image.convert("LA")
    pixels = np.asarray(image.convert(mode))
    return _picture(stored, pixels.reshape(*pixels.shape[:2], -1), what, notes)


def _picture(stored: Any, pixels: NDArray[Any], what: str, notes: tuple[str, ...] = ()) -> Picture:
    try:
        orientation = stored.getexif().get(ORIENTATION, 1)
        exif = _kept_exif(stored)
    except Exception:  # Pillow raises whatever parsing damaged EXIF comes to
        orientation, exif = 1, b""
    turn = TURNS.get(orientation)
    if turn is not None:
        pixels = np.ascontiguousarray(turn(pixels))
    has_alpha = pixels.shape[2] in (2, 4)
    colours = pixels[..., :-1] if has_alpha else pixels
    alpha = pixels[..., -1:] if has_alpha else None
    profile = b"" if stored.mode in ("CMYK", "LAB") else stored.info.get("icc_profile") or b""
    dpi = stored.info.get("dpi")
    known = isinstance(dpi, tuple) and len(dpi) == 2 and all(float(d) > 0 for d in dpi)
    resolution = (float(dpi[0]), float(dpi[1])) if known else None
    return Picture(colours, alpha, Metadata(profile, exif, resolution), notes)


def _kept_exif(stored: Any) -> bytes:
    """Return the EXIF without the orientation, and without what only fits the old file."""
    source = stored.getexif()
    kept = extras.pillow().Exif()
    for tag in KEPT:
        if tag in source:
            kept[tag] = source[tag]
    for folder in FOLDERS:
        entries = {tag: value for tag, value in source.get_ifd(folder).items() if tag not in SIZES}
        if entries:
            kept[folder] = entries
    made: bytes = kept.tobytes() if len(kept) else b""
    return made


def _to_rgb(image: Any, what: str) -> tuple[Any, tuple[str, ...]]:
    """Convert colours of print by their profile.

    Raises:
        ShadergenError: SG0605 without a profile.
    """
    profile = image.info.get("icc_profile")
    if not profile:
        raise ShadergenError(
            "SG0605",
            f"{what} has {image.mode} colours and no ICC profile",
            why="without a profile these colours have no RGB equivalent",
            help="convert the picture to RGB in an image editor",
        )
    cms = extras.need("PIL.ImageCms", "pillow", "converting colours")
    try:
        made = cms.profileToProfile(
            image, io.BytesIO(profile), cms.createProfile("sRGB"), outputMode="RGB"
        )
    except (cms.PyCMSError, OSError) as error:
        raise ShadergenError(
            "SG0605", f"cannot convert the {image.mode} colours of {what}", why=reason(error)
        ) from None
    return made, (f"{what}: converted from {image.mode} to sRGB by its profile",)
