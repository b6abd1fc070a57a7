"""How near results come to the original pictures: of ``demo`` and ``run --original``."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ShadergenError, count, few
from ...records import dataclass
from .. import extras
from .files import pictures_in, require_pictures
from .picture import as_integers
from .reading import from_pillow, read_picture
from .writing import to_pillow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .picture import Picture

EVERYTHING = slice(None)


@dataclass(frozen=True)
class Quality:
    """Peak signal-to-noise ratio on luma against originals: dB, over all pixels.

    Attributes:
        plain: of the input; of another size than the original, after bicubic interpolation.
        network: of the result; infinite if it equals the original.
        resized: whether the input has another size.
        pictures: how many the numbers are the means of.
    """

    plain: float
    network: float
    resized: bool
    pictures: int = 1


def psnr(picture: Picture, original: Picture) -> float:
    """Return the peak signal-to-noise ratio of two pictures of one size: dB, on luma."""
    one, other = (p.part(EVERYTHING, EVERYTHING, 1).astype(np.float64) for p in (picture, original))
    error = float(np.mean((one - other) ** 2))
    return float("inf") if error == 0 else -10 * float(np.log10(error))


def check_originals(source: Path, result: Path | None, original: Path) -> None:
    """Find out before the work whether there are originals to compare the results with.

    Args:
        source: of the run: a picture or a folder of pictures.
        result: of the run.
        original: a picture, or a folder with a picture of the same name for each one in ``source``.

    Raises:
        ShadergenError: SG0101, SG0301, SG0501.
    """
    if result is None:
        raise ShadergenError("SG0301", "--original also needs -o with a file for the result")
    if result.exists() and original.exists() and result.samefile(original):
        raise ShadergenError(
            "SG0501",
            f"'{result}' is the original",
            why="the result would replace it",
            help="name another file or folder with -o",
        )
    if source.is_dir():
        if not original.is_dir():
            raise ShadergenError(
                "SG0301",
                f"--original names '{original}', which is not a folder",
                why=f"'{source}' is a folder",
                help="name a folder with an original of the same name for each picture",
            )
        missing = [p.name for p in pictures_in(source)[0] if not (original / p.name).exists()]
        if missing:
            raise ShadergenError(
                "SG0101",
                f"'{original}' lacks {count(len(missing), 'original')}",
                why=f"there is no {few(missing)}",
                help=f"each picture in '{source}' needs an original of the same name",
            )
        return
    named = {"INPUT": source, "the result of -o": result, "the original": original}
    require_pictures("--original", named)
    if not original.exists():
        raise ShadergenError("SG0101", f"cannot read '{original}'", why=os.strerror(errno.ENOENT))


def measure(source: Path, result: Path, original: Path) -> Quality:
    """Compare the input and the result of a run with the original picture.

    Raises:
        ShadergenError: SG0101 for a file that cannot be read, SG0605 if the result and the original
            differ in size.
    """
    before, after, wanted = map(read_picture, (source, result, original))
    if after.size != wanted.size:
        here, there = ("x".join(map(str, p.size)) for p in (after, wanted))
        raise ShadergenError(
            "SG0605",
            f"'{original}' is no original of '{result}'",
            why=f"the result has {here} pixels, the original {there}",
            help="with --original, name the picture that the result should equal",
        )
    resized = before.size != wanted.size
    if resized:
        pixels = as_integers(before.part(EVERYTHING, EVERYTHING, 3), 8)
        size = wanted.size[::-1]
        larger = to_pillow(pixels).resize(size, extras.pillow().Resampling.BICUBIC)
        before = from_pillow(larger, "the picture")
    return Quality(psnr(before, wanted), psnr(after, wanted), resized)


def mean(qualities: Sequence[Quality]) -> Quality:
    """Return the means of pictures' numbers."""
    plain, network = (
        float(np.mean([getattr(q, name) for q in qualities])) for name in ("plain", "network")
    )
    return Quality(plain, network, any(q.resized for q in qualities), len(qualities))
