"""Times of user shaders in FFmpeg's libplacebo filter.

One run of FFmpeg renders frame after frame, and each frame says when it is done. So neither the
start of FFmpeg nor the compilation of the shader is part of any frame but the first.
"""

from __future__ import annotations

import time
from contextlib import closing
from itertools import pairwise
from statistics import median
from threading import Timer
from typing import TYPE_CHECKING

from ...records import dataclass
from .libplacebo import DEVICE, PATIENCE, failure, ffmpeg, filter_steps, running, unfinished
from .outline import outline, read_shader

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

VIDEO, VIDEO_OF_RGB = "yuv420p", "gbrp"  # FFmpeg's formats of what is measured
SECONDS = 60.0  # for all measurements
FEWEST = 5  # frames that say how long one takes: other programs run, too
# Print a line for each frame as it comes from the filter.
REPORTS = "metadata=mode=add:key=frame:value=1,metadata=mode=print:file=-:direct=1"


@dataclass(frozen=True)
class Frames:
    """Milliseconds of a user shader in FFmpeg.

    Attributes:
        name: the file; empty for the player's own scaling to the same size.
        passes: how many ran.
        size: height and width of the result.
        first: until the first frame is there, with start and compilation.
        frame: the median of the further frames, each with its upload and download; None if the time
            was too short for enough of them.
        frames: how many further frames were measured.
    """

    name: str
    passes: int
    size: tuple[int, int]
    first: float
    frame: float | None
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
        seconds: for all measurements, in equal parts. The part of each begins with its first
            frame, after the player has compiled the shader, however long that takes.
        progress: called with the name of what is measured, and how far it is.

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
        name = "plain scaling" if each is None else str(each)

        def tell(step: str, name: str = name) -> None:
            progress(f"{name} in FFmpeg: {step}")

        with closing(_arrivals(each, pixels, size, result, frames + 1)) as arrivals:
            times = _times(arrivals, frames, seconds / len(wanted), tell)
        found.append(Frames("" if each is None else name, passes, result, *times))
    return found


def _times(
    arrivals: Iterator[float], frames: int, seconds: float, progress: Callable[[str], None]
) -> tuple[float, float | None, int]:
    """Measure frames within a time.

    Args:
        arrivals: seconds from the start of FFmpeg until each frame is done.
        frames: how many to measure at most.
        seconds: to take, from the first frame on.
        progress: called with each step.

    Returns:
        Milliseconds of the first frame, and of each of the others if there are enough of them; and
        how many others there are.
    """
    progress("compiling")
    done: list[float] = []
    for at in arrivals:
        done.append(at)
        progress(f"frame {len(done)} of {frames + 1}")
        if len(done) > frames or at - done[0] >= seconds:
            break
    each = [(after - before) * 1e3 for before, after in pairwise(done)]
    enough = len(each) >= min(FEWEST, frames)
    return done[0] * 1e3, median(each) if enough else None, len(each)


def _arrivals(
    shader: Path | None,
    pixels: str,
    size: tuple[int, int],
    result: tuple[int, int],
    frames: int,
) -> Generator[float]:
    """Render frames, and yield the seconds from the start of FFmpeg until each is done.

    Raises:
        ShadergenError: SG0607.
    """
    test = f"testsrc2=size={size[1]}x{size[0]}:rate=1000:duration={frames / 1000}"
    started = time.perf_counter()
    with filter_steps(shader, (pixels, "yuv444p"), result) as (folder, steps):
        command = [
            *(ffmpeg(), "-v", "error", "-nostdin", *DEVICE, "-f", "lavfi", "-i", test),
            *("-vf", f"{steps},{REPORTS}", "-f", "null", "-"),
        ]
        with running(command, folder) as run:
            clock = Timer(PATIENCE, run.process.kill)
            clock.start()
            try:
                for line in run.lines():
                    if not line.startswith("frame:"):
                        continue
                    clock.cancel()
                    at = time.perf_counter() - started
                    if said := run.said().strip():  # the frames pass without the shader
                        raise failure(said, 0)
                    yield at
                code, said = run.process.wait(), run.said().strip()
            finally:
                clock.cancel()
    if time.perf_counter() - started >= PATIENCE and code:
        raise unfinished()
    if code or said:
        raise failure(said, code)
