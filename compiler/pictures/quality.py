"""How near results come to the original pictures: of ``demo`` and ``run --original``."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from itertools import zip_longest
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError, count, few, reason
from ...records import dataclass
from .. import extras
from .files import pictures_in, require_files
from .picture import as_integers
from .reading import SUFFIXES, from_pillow, read_picture
from .video import BT601, VIDEOS, frames_of, opened, quarter_turns
from .writing import to_pillow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from .network import Progress
    from .picture import Picture

EVERYTHING = slice(None)
FULL = 2  # the range of luma that uses all codes, by FFmpeg's number
LUMA_OF_RGB = np.array([0.2126, 0.7152, 0.0722], np.float32)  # ITU-R BT.709


@dataclass(frozen=True)
class Quality:
    """Peak signal-to-noise ratio on luma against originals: dB, over all pixels.

    Of several pictures the mean, without those that equal their originals; of a video that of all
    its pixels.

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
    return _decibels(_mean_square(one, other))


def _mean_square(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float(np.mean((one - other) ** 2, dtype=np.float64))


def _decibels(error: float) -> float:
    """Return a peak signal-to-noise ratio, by the mean of the squared errors; the peak is 1."""
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
                help="give a folder of originals with the same file names as the pictures",
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
    if source.suffix.lower() in VIDEOS and source.exists():
        _check_lengths(source, result, original)


def _check_lengths(source: Path, result: Path, original: Path) -> None:
    """Refuse an original of another number of frames than the input, before the work.

    Frames are decoded, which is exact, only if the quick counts differ.

    Raises:
        ShadergenError: SG0101, SG0605.
    """
    for count_frames in (_quick_count, _exact_count):
        has, wants = map(count_frames, (source, original))
        if has == wants:
            return
    raise _no_original(original, result, f"INPUT has {has} frames, the original {wants}")


def _quick_count(path: Path) -> int:
    """Return how many frames a video states, or else its packets."""
    with ExitStack() as stack:
        container, video = opened(path, stack)
        return int(video.frames) or sum(p.size > 0 for p in container.demux(video))


def _exact_count(path: Path) -> int:
    with ExitStack() as stack:
        return sum(1 for _ in _decoded(*opened(path, stack), path))


def check_size(original: Path, result: Path, size: tuple[int, int]) -> None:
    """Refuse an original video of another size than the result, before the work.

    Args:
        original: a video.
        result: of the run.
        size: height and width of the frames of the result.

    Raises:
        ShadergenError: SG0101, SG0605.
    """
    with ExitStack() as stack:
        frame = next(_decoded(*opened(original, stack), original), None)
        if frame is None:
            raise ShadergenError("SG0101", f"'{original}' has no frames")
        wanted = frame.height, frame.width
        wanted = wanted[::-1] if quarter_turns(frame) % 2 else wanted
    if size != tuple(side + side % 2 for side in wanted) and size != wanted:
        raise _other_size(original, result, size, wanted)


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
        raise _other_size(original, result, after.size, wanted.size)
    resized = before.size != wanted.size
    if resized:
        pixels = as_integers(before.part(EVERYTHING, EVERYTHING, 3), 8)
        size = wanted.size[::-1]
        larger = to_pillow(pixels).resize(size, extras.pillow().Resampling.BICUBIC)
        before = from_pillow(larger, "the picture")
    return Quality(psnr(before, wanted), psnr(after, wanted), resized)


def _measure_video(source: Path, result: Path, original: Path, progress: Progress) -> Quality:
    """Compare the frames of videos in their order, whatever their times; see :func:`measure`."""
    errors: list[tuple[float, float]] = []
    resized = False
    paths = source, result, original
    with ExitStack() as stack:
        videos = [opened(path, stack) for path in paths]
        total = frames_of(*videos[0])
        frames = [_decoded(*video, path) for video, path in zip(videos, paths, strict=True)]
        for at, three in enumerate(zip_longest(*frames), 1):
            if any(f is None for f in three):  # one is at its end
                ends = zip(three, frames, strict=True)
                has, made, wants = (at - (f is None) + sum(1 for _ in rest) for f, rest in ends)
                why = f"INPUT has {has} frames, the result {made}, the original {wants}"
                raise _no_original(original, result, why)
            before, after, wanted = map(_luma, three)
            after = _without_repeated(after, wanted.shape)
            if after.shape != wanted.shape:
                raise _other_size(original, result, after.shape, wanted.shape)
            if before.shape != wanted.shape:
                resized = True
                size, bicubic = wanted.shape[::-1], extras.pillow().Resampling.BICUBIC
                larger = extras.pillow().fromarray(before).resize(size, bicubic)
                before = np.asarray(larger).clip(0, 1)
            errors.append((_mean_square(before, wanted), _mean_square(after, wanted)))
            progress("frames compared with the original", at, total and max(at, total))
    if not errors:
        raise ShadergenError("SG0101", f"'{original}' has no frames")
    plain, network = (_decibels(float(np.mean(each))) for each in zip(*errors, strict=True))
    return Quality(plain, network, resized, len(errors), "frame")


def _decoded(container: Any, video: Any, path: Path) -> Iterator[Any]:
    """Yield the frames of a video.

    Raises:
        ShadergenError: SG0101 where it is damaged.
    """
    av = extras.need("av", "av", "comparing videos")
    try:
        yield from container.decode(video)
    except av.FFmpegError as error:
        raise ShadergenError(
            "SG0101", f"cannot read '{path}' to its end", why=reason(error)
        ) from None


def _luma(frame: Any) -> NDArray[np.float32]:
    """Return the luma of a frame, 0 to 1 from black to white, turned as players show it.

    As stored; FFmpeg's conversion to grey would change it. That of RGB is BT.709's.
    """
    form = frame.format
    if form.is_rgb or form.has_palette:
        luma = frame.to_ndarray(format="rgb48le").astype(np.float32) / 65535 @ LUMA_OF_RGB
    else:
        is_full = form.name.startswith(("yuvj", "gray")) or int(frame.color_range) == FULL
        if not form.name.startswith(("yuv4", "yuvj4", "gray")) or form.is_big_endian:
            as_stored = {f"{end}_color_range": FULL for end in ("src", "dst")}
            as_stored |= {f"{end}_colorspace": BT601 for end in ("src", "dst")}
            frame = frame.reformat(format="yuv444p16le", **as_stored)
        plane, bits = frame.planes[0], frame.format.components[0].bits
        stored = np.frombuffer(plane, np.uint16 if bits > 8 else np.uint8)
        luma = stored.reshape(plane.height, -1)[:, : plane.width].astype(np.float32)
        black, white = (0, 2**bits - 1) if is_full else (16 << bits - 8, 235 << bits - 8)
        luma = (luma - black) / (white - black)
    turned: NDArray[np.float32] = np.rot90(luma, quarter_turns(frame))
    return turned


def _without_repeated(result: NDArray[Any], wanted: tuple[int, ...]) -> NDArray[Any]:
    """Return a result without the row and column that were repeated to make its sides even."""
    if all(have == want + want % 2 for have, want in zip(result.shape, wanted, strict=True)):
        return result[: wanted[0], : wanted[1]]
    return result


def _other_size(
    original: Path, result: Path, size: tuple[int, ...], wanted: tuple[int, ...]
) -> ShadergenError:
    here, there = ("x".join(map(str, sides)) for sides in (size, wanted))
    return _no_original(original, result, f"the result has {here} pixels, the original {there}")


def _no_original(original: Path, result: Path, why: str) -> ShadergenError:
    return ShadergenError(
        "SG0605",
        f"the original '{original}' does not fit '{result}'",
        why=why,
        help="with --original, name the picture or video that the result should equal",
    )


def mean(qualities: Sequence[Quality]) -> Quality:
    """Return the means of pictures' numbers; see :class:`Quality`."""

    def over(values: list[float]) -> float:
        finite = [value for value in values if isfinite(value)]
        return float(np.mean(finite)) if finite else float("inf")

    plain, network = over([q.plain for q in qualities]), over([q.network for q in qualities])
    number = sum(q.pictures for q in qualities)
    return Quality(plain, network, any(q.resized for q in qualities), number, qualities[0].what)
