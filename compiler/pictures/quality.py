"""How near results come to the original pictures: of ``demo`` and ``run --original``."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError, count, few
from ...records import dataclass
from .. import extras
from .files import pictures_in, require_files
from .picture import as_integers
from .reading import SUFFIXES, from_pillow, read_picture
from .video import VIDEOS, opened, quarter_turns
from .writing import to_pillow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from .network import Progress
    from .picture import Picture

EVERYTHING = slice(None)
FULL = 2  # FFmpeg's number of the range of luma that uses all codes


@dataclass(frozen=True)
class Quality:
    """Peak signal-to-noise ratio on luma against originals: dB, over all pixels, then averaged.

    Attributes:
        plain: of the input; of another size than the original, after bicubic interpolation.
        network: of the result; infinite if it equals the original.
        resized: whether the input has another size.
        pictures: how many the numbers are the means of.
        what: the pictures are: "picture" or "frame".
    """

    plain: float
    network: float
    resized: bool
    pictures: int = 1
    what: str = "picture"


def psnr(picture: Picture, original: Picture) -> float:
    """Return the peak signal-to-noise ratio of two pictures of one size: dB, on luma."""
    one, other = (p.part(EVERYTHING, EVERYTHING, 1).astype(np.float64) for p in (picture, original))
    return _decibels(one, other)


def _decibels(one: NDArray[Any], other: NDArray[Any]) -> float:
    error = float(np.mean((one - other) ** 2, dtype=np.float64))
    return float("inf") if error == 0 else -10 * float(np.log10(error))


def check_originals(source: Path, result: Path | None, original: Path) -> None:
    """Find out before the work whether there are originals to compare the results with.

    Args:
        source: of the run: a picture, a video or a folder of pictures.
        result: of the run.
        original: a picture, a video, or a folder with a picture of the same name for each one in
            ``source``.

    Raises:
        ShadergenError: SG0101, SG0301, SG0501, SG0606 without PyAV for videos.
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
    if source.suffix.lower() in VIDEOS:
        require_files("--original", "video", VIDEOS, named)
        extras.need("av", "av", "comparing videos")
    else:
        require_files("--original", "picture", SUFFIXES, named)
    if not original.exists():
        raise ShadergenError("SG0101", f"cannot read '{original}'", why=os.strerror(errno.ENOENT))


def measure(
    source: Path,
    result: Path,
    original: Path,
    progress: Progress = lambda step, done, total: None,
) -> Quality:
    """Compare the input and the result of a run with the original picture or video.

    Raises:
        ShadergenError: SG0101 for a file that cannot be read, SG0605 if the result and the original
            differ in size, or in their number of frames.
    """
    if source.suffix.lower() in VIDEOS:
        return _measure_video(source, result, original, progress)
    before, after, wanted = map(read_picture, (source, result, original))
    if after.size != wanted.size:
        here, there = ("x".join(map(str, p.size)) for p in (after, wanted))
        raise _no_original(original, result, f"the result has {here} pixels, the original {there}")
    resized = before.size != wanted.size
    if resized:
        pixels = as_integers(before.part(EVERYTHING, EVERYTHING, 3), 8)
        size = wanted.size[::-1]
        larger = to_pillow(pixels).resize(size, extras.pillow().Resampling.BICUBIC)
        before = from_pillow(larger, "the picture")
    return Quality(psnr(before, wanted), psnr(after, wanted), resized)


def _measure_video(source: Path, result: Path, original: Path, progress: Progress) -> Quality:
    """Compare the frames of videos in their order, whatever their times; see :func:`measure`."""
    found: list[tuple[float, float]] = []
    resized = False
    with ExitStack() as stack:
        videos = [opened(path, stack) for path in (source, result, original)]
        total = videos[0][1].frames or 0
        frames = [container.decode(video) for container, video in videos]
        for at, three in enumerate(zip_longest(*frames), 1):
            if None in three:  # one is at its end
                ends = zip(three, frames, strict=True)
                has, made, wants = (at - (f is None) + sum(1 for _ in rest) for f, rest in ends)
                why = f"INPUT has {has} frames, the result {made}, the original {wants}"
                raise _no_original(original, result, why)
            before, after, wanted = map(_luma, three)
            if after.shape != wanted.shape:
                here, there = (f"{x.shape[1]}x{x.shape[0]}" for x in (after, wanted))
                why = f"the result has {here} pixels, the original {there}"
                raise _no_original(original, result, why)
            if before.shape != wanted.shape:
                resized = True
                size, bicubic = wanted.shape[::-1], extras.pillow().Resampling.BICUBIC
                larger = extras.pillow().fromarray(before).resize(size, bicubic)
                before = np.asarray(larger).clip(0, 1)
            found.append((_decibels(before, wanted), _decibels(after, wanted)))
            progress("frames compared with the original", at, max(at, total))
    if not found:
        raise ShadergenError("SG0101", f"'{original}' has no frames")
    plain, network = (float(np.mean(each)) for each in zip(*found, strict=True))
    return Quality(plain, network, resized, len(found), "frame")


def _luma(frame: Any) -> NDArray[np.float32]:
    """Return the luma of a frame, turned as players show it.

    As in FFmpeg's ``psnr``, 1 is the largest code, also where white has a smaller one.
    """
    same = {"src_color_range": FULL, "dst_color_range": FULL}
    luma = frame.reformat(format="gray16le", **same).to_ndarray().astype(np.float32) / 65535
    turned: NDArray[np.float32] = np.rot90(luma, quarter_turns(frame))
    return turned


def _no_original(original: Path, result: Path, why: str) -> ShadergenError:
    return ShadergenError(
        "SG0605",
        f"'{original}' is no original of '{result}'",
        why=why,
        help="with --original, name what the result should equal",
    )


def mean(qualities: Sequence[Quality]) -> Quality:
    """Return the means of pictures' numbers."""
    plain, network = (
        float(np.mean([getattr(q, name) for q in qualities])) for name in ("plain", "network")
    )
    number = sum(q.pictures for q in qualities)
    return Quality(plain, network, any(q.resized for q in qualities), number, qualities[0].what)
