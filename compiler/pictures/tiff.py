"""Writing TIFF files of 16 bits, of which Pillow writes grey ones only.

Source: TIFF Revision 6.0, Adobe 1992; Technical Note 2 for deflate.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

from .. import extras

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .picture import Metadata

# Tags
WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC = 256, 257, 258, 259, 262
OFFSETS, SAMPLES, ROWS, COUNTS = 273, 277, 278, 279
ACROSS, DOWN, UNIT, EXTRA, PROFILE = 282, 283, 296, 338, 34675
FOLDERS = (0x8769, 0x8825)  # EXIF proper, GPS
DEFLATE, GREY, RGB, INCH, STRAIGHT_ALPHA = 8, 1, 2, 2, 2  # values of tags


class TiffWriter:
    """Writes a TIFF file of 16 bits from the top; the compressed rows stay in memory until the end.

    Args:
        file: to write to.
        size: height and width.
        channels: 1 to 4: grey, grey and alpha, RGB, RGBA. Grey and alpha are written as RGBA:
            Pillow and others do not read such files of 16 bits.
        metadata: profile, EXIF and resolution.
    """

    def __init__(
        self, file: BinaryIO, size: tuple[int, int], channels: int, metadata: Metadata
    ) -> None:
        from PIL.TiffImagePlugin import ImageFileDirectory_v2

        self._file, self._repeats = file, channels == 2
        channels = 4 if self._repeats else channels
        self._packer = zlib.compressobj()
        self._data: list[bytes] = []
        tags: Any = ImageFileDirectory_v2()
        if metadata.exif:
            exif = extras.pillow().Exif()
            exif.load(metadata.exif)
            tags.update(exif.items())
            tags.update({folder: found for folder in FOLDERS if (found := exif.get_ifd(folder))})
        tags[HEIGHT], tags[WIDTH] = size
        tags[ROWS], tags[OFFSETS] = size[0], 0  # one strip, which follows the tags
        tags[BITS] = (16,) * channels
        tags[SAMPLES], tags[COMPRESSION] = channels, DEFLATE
        tags[PHOTOMETRIC] = GREY if channels == 1 else RGB
        if channels == 4:
            tags[EXTRA] = STRAIGHT_ALPHA
        if metadata.profile:
            tags[PROFILE] = metadata.profile
        if metadata.dpi:
            tags[ACROSS], tags[DOWN] = metadata.dpi
            tags[UNIT] = INCH
        self._tags = tags

    def write(self, pixels: NDArray[Any]) -> None:
        """Add rows of pixels, (h, W, channels), uint16."""
        if self._repeats:
            pixels = pixels[..., [0, 0, 0, 1]]
        self._data.append(self._packer.compress(pixels.astype("<u2", order="C").tobytes()))

    def close(self) -> None:
        """Write the picture; the file stays open."""
        self._data.append(self._packer.flush())
        self._tags[COUNTS] = sum(map(len, self._data))
        self._tags.save(self._file)
        self._file.writelines(self._data)
