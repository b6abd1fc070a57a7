"""Times of user shaders in FFmpeg's libplacebo filter."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ...records import dataclass
from .libplacebo import run_filter
from .outline import outline, read_shader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

VIDEO, VIDEO_OF_RGB = "yuv420p", "gbrp"  # FFmpeg's formats of what is measured
REPEATS = 3  # of a measurement, the least of which counts: other programs run, too


@dataclass(frozen=True)
class Frames:
    """Milliseconds of a user shader in FFmpeg, start and compilation apart.

    Attributes:
        name: the file; empty for the player's own scaling to the same size.
        passes: how many ran.
        size: height and width of the result.
        first: until the first frame is there.
        frame: of each further frame, with its upload and download.
    """

    name: str
    passes: int
    size: tuple[int, int]
    first: float
    frame: float


def measure(
    shaders: Sequence[Path],
    size: tuple[int, int],
    frames: int,
    progress: Callable[[str], None] = lambda step: None,
) -> list[Frames]:
    """Return the times of user shaders, each after those of plain scaling to the same size.

    Args:
        shaders: the files.
        size: height and width of the pictures.
        frames: how many to measure.
        progress: called with the name of what is measured next.

    Raises:
        ShadergenError: SG0101, SG0605 for files, SG0607 where FFmpeg cannot do it.
    """
    found: list[Frames] = []
    scaled: set[tuple[tuple[int, int], str]] = set()
    for shader in shaders:
        plan = outline(read_shader(shader), size)
        pixels = VIDEO_OF_RGB if plan.hook == "RGB" else VIDEO
        if (plan.size, pixels) not in scaled:
            scaled.add((plan.size, pixels))
            progress("measuring plain scaling in FFmpeg")
            times = _times(None, pixels, size, plan.size, frames)
            found.append(Frames("", 0, plan.size, *times))
        progress(f"measuring {shader} in FFmpeg, {2 * REPEATS} runs")
        times = _times(shader, pixels, size, plan.size, frames)
        found.append(Frames(str(shader), plan.passes, plan.size, *times))
    return found


def _times(
    shader: Path | None,
    pixels: str,
    size: tuple[int, int],
    result: tuple[int, int],
    frames: int,
) -> tuple[float, float]:
    """Return milliseconds of the first frame, with start and compilation, and of the others."""
    first = elapsed = float("inf")
    for _ in range(REPEATS):
        first = min(first, _elapsed(shader, pixels, size, result, 1))
        elapsed = min(elapsed, _elapsed(shader, pixels, size, result, 1 + frames))
    return first, max(0.0, elapsed - first) / frames


def _elapsed(
    shader: Path | None,
    pixels: str,
    size: tuple[int, int],
    result: tuple[int, int],
    frames: int,
) -> float:
    """Return the milliseconds of FFmpeg with so many frames."""
    test = f"testsrc2=size={size[1]}x{size[0]}:rate=1000:duration={frames / 1000}"
    source, sink = ("-f", "lavfi", "-i", test), ("-f", "null", "-")
    started = time.perf_counter()
    run_filter(shader, source, (pixels, "yuv444p"), result, sink)
    return (time.perf_counter() - started) * 1e3
