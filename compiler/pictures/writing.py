"""Writing pictures: PNG row by row, 16-bit TIFF, other formats by Pillow from memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np

from ...errors import ShadergenError, reason
from .. import extras
from .png import PngWriter
from .tiff import TiffWriter

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from .picture import Metadata

TIFF = (".tif", ".tiff")
# Offsets in a file have 32 bits. Deflate makes noise 0.03 % larger; tags take the rest.
TIFF_BYTES = (1 << 32) - (1 << 23)
DEEP = (".png", *TIFF)  # formats of 16 bits
OPAQUE = (".jpg", ".jpeg", ".bmp")  # formats without alpha
OPTIONS: dict[str, dict[str, Any]] = {  # hardly any loss
    ".jpg": {"quality": 95, "subsampling": 0},
    ".jpeg": {"quality": 95, "subsampling": 0},
    ".webp": {"quality": 95},
    ".avif": {"quality": 90},
    ".tif": {"compression": "tiff_deflate"},
    ".tiff": {"compression": "tiff_deflate"},
}
MOST = {  # sides that a format can have
    ".jpg": 65500,
    ".jpeg": 65500,
    ".webp": 16383,
    ".avif": 65536,
}


class Writer(Protocol):
    """Takes the rows of a picture from the top."""

    def write(self, pixels: NDArray[Any]) -> None: ...

    def close(self) -> None: ...


class _Pillow:
    """Collects the rows, and writes them at the end."""

    def __init__(
        self, file: BinaryIO, suffix: str, size: tuple[int, int], channels: int, metadata: Metadata
    ) -> None:
        self._file, self._suffix, self._metadata = file, suffix, metadata
        self._pixels = np.zeros((*size, channels), np.uint8)
        self._rows = 0

    def write(self, pixels: NDArray[Any]) -> None:
        self._pixels[self._rows : self._rows + len(pixels)] = pixels
        self._rows += len(pixels)

    def close(self) -> None:
        options = dict(OPTIONS.get(self._suffix, {}))
        for name in ("exif", "dpi"):
            if value := getattr(self._metadata, name):
                options[name] = value
        if self._metadata.profile:
            options["icc_profile"] = self._metadata.profile
        pillow = extras.pillow()
        pillow.init()
        kind = pillow.EXTENSION.get(self._suffix)
        to_pillow(self._pixels).save(self._file, kind, **options)


def to_pillow(pixels: NDArray[Any]) -> Any:
    """Return (H, W, C) pixels of 8 bits, or grey ones of 16 bits, as a Pillow image."""
    shown = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    return extras.pillow().fromarray(np.ascontiguousarray(shown))


def check_format(path: Path, size: tuple[int, int], channels: int, bits: int) -> None:
    """Refuse what a format cannot hold, before the picture is computed.

    Args:
        path: the file's name, whose ending is the format.
        size: height and width.
        channels: 1 to 4.
        bits: 8 or 16.

    Raises:
        ShadergenError: SG0605.
    """
    suffix = path.suffix.lower()
    if channels in (2, 4) and suffix in OPAQUE:
        raise ShadergenError(
            "SG0605",
            f"'{path}' cannot hold the picture's alpha",
            why=f"{suffix[1:]} has no alpha",
            help="name a .png, .webp, .tif or .avif file",
        )
    most = MOST.get(suffix)
    if most is not None and max(size) > most:
        raise ShadergenError(
            "SG0605",
            f"'{path}' cannot hold {size[0]}x{size[1]} pixels",
            why=f"{suffix[1:]} holds at most {most}x{most}",
            help="name a .png file",
        )
    stored = 4 if channels == 2 and bits == 16 else channels  # as TiffWriter does
    if suffix in TIFF and (total := size[0] * size[1] * stored * bits // 8) > TIFF_BYTES:
        raise ShadergenError(
            "SG0605",
            f"'{path}' cannot hold {size[0]}x{size[1]} pixels of {stored * bits} bits",
            why=f"its {total} bytes are more than a TIFF file holds ({TIFF_BYTES})",
            help="name a .png file",
        )
    if suffix == ".avif":
        features = extras.need("PIL.features", "pillow", "writing AVIF")
        if not features.check("avif"):
            raise ShadergenError(
                "SG0606",
                "the installed Pillow cannot write AVIF",
                help="pip install --upgrade 'pillow>=11.3'",
            )


def open_writer(
    file: BinaryIO,
    path: Path,
    size: tuple[int, int],
    channels: int,
    bits: int,
    metadata: Metadata,
) -> Writer:
    """Return what writes a picture.

    Args:
        file: to write to.
        path: its name, whose ending is the format.
        size: height and width.
        channels: 1 to 4.
        bits: 8, or 16 for formats of ``DEEP``.
        metadata: what the picture says about itself.

    Raises:
        ShadergenError: SG0605 when the format cannot hold the picture.
    """
    check_format(path, size, channels, bits)
    suffix = path.suffix.lower()
    if suffix == ".png":
        return PngWriter(file, size, channels, bits, metadata)
    if bits == 16:
        return TiffWriter(file, size, channels, metadata)
    return _Pillow(file, suffix, size, channels, metadata)


def write_error(path: Path, error: Exception) -> ShadergenError:
    """Return the error of a file that cannot be written."""
    return ShadergenError("SG0501", f"cannot write '{path}'", why=reason(error))
