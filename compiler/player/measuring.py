"""Times of user shaders in FFmpeg's libplacebo filter."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from ...records import dataclass
from .libplacebo import run_filter
from .outline import outline, read_shader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

VIDEO, VIDEO_OF_RGB = "yuv420p", "gbrp"  # FFmpeg's formats of what is measured
REPEATS = 3  # of a measurement, the least of which counts: other programs run, too
SECONDS = 60.0  # for all measurements
FEW = 10  # frames: with fewer, fewer repeats are better
SHORTEST = 0.1  # milliseconds of a frame, with its upload and download


@dataclass(frozen=True)
class Frames:
    """Milliseconds of a user shader in FFmpeg, start and compilation apart.

    Attributes:
        name: the file; empty for the player's own scaling to the same size.
        passes: how many ran.
        size: height and width of the result.
        first: until the first frame is there.
        frame: of each further frame, with its upload and download.
        frames: how many further frames were measured.
    """

    name: str
    passes: int
    size: tuple[int, int]
    first: float
    frame: float
    frames: int


def measure(
    shaders: Sequence[Path],
    size: tuple[int, int],
    frames: int,
    seconds: float = SECONDS,
    progress: Callable[[str], None] = lambda step: None,
) -> list[Frames]:
    """Return the times of user shaders, each after those of plain scaling to the same size.

    Args:
        shaders: the files.
        size: height and width of the pictures.
        frames: how many to measure at most.
        seconds: for all measurements, in equal parts. Each has one frame at least, after the
            player has compiled the shader, however long that takes.
        progress: called with the name of what is measured next, and about how long it takes.

    Raises:
        ShadergenError: SG0101, SG0605 for files, SG0607 where FFmpeg cannot do it.
    """
    plans = [outline(read_shader(shader), size) for shader in shaders]
    wanted: dict[tuple[Path | None, tuple[int, int], str], int] = {}  # passes, in this order
    for shader, plan in zip(shaders, plans, strict=True):
        pixels = VIDEO_OF_RGB if plan.hook == "RGB" else VIDEO
        wanted.setdefault((None, plan.size, pixels), 0)
        wanted[shader, plan.size, pixels] = plan.passes
    found: list[Frames] = []
    for (each, result, pixels), passes in wanted.items():
        once = partial(_elapsed, each, pixels, size, result)
        name = "plain scaling" if each is None else str(each)
        times = _times(once, frames, seconds / len(wanted), partial(_named, progress, name))
        found.append(Frames("" if each is None else name, passes, result, *times))
    return found


def _named(progress: Callable[[str], None], name: str, step: str) -> None:
    progress(f"{name} in FFmpeg: {step}")


def _times(
    once: Callable[[int], float], frames: int, seconds: float, progress: Callable[[str], None]
) -> tuple[float, float, int]:
    """Measure within a time, but one frame at least.

    Args:
        once: runs FFmpeg with so many frames, and returns the milliseconds.
        frames: how many to measure at most.
        seconds: to take.
        progress: called with each step.

    Returns:
        Milliseconds of the first frame, with start and compilation, and of each of the others; and
        how many others there were.
    """
    ends = time.perf_counter() + seconds
    progress("compiling")
    first = once(1)
    progress(f"about {first / 1e3:.0f} s")
    number, elapsed = 1, once(2)
    frame = max(elapsed - first, SHORTEST)
    rest = (ends - time.perf_counter()) * 1e3
    for repeats in range(REPEATS, 0, -1):  # each once with one frame, and once with one and more
        fitting = int((rest / repeats - 2 * first) / frame)
        if fitting >= min(frames, FEW):
            break
    if fitting > number or fitting == frames:
        number, elapsed = min(fitting, frames), float("inf")
        progress(f"about {repeats * (2 * first + number * frame) / 1e3:.0f} s")
        for _ in range(repeats):
            first, elapsed = min(first, once(1)), min(elapsed, once(1 + number))
            if time.perf_counter() > ends:
                break
    return first, max(0.0, elapsed - first) / number, number


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
