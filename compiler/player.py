"""User shaders in FFmpeg's libplacebo filter: for ``run`` and ``bench`` of ``.glsl`` files.

Any user shader will do, not only those of this compiler.
"""

from __future__ import annotations

import operator
import re
import shutil
import subprocess
import time
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from ..backends.user_shader.hooks import STAGES
from ..errors import ShadergenError, reason
from ..records import dataclass
from .pictures.files import write_result
from .pictures.reading import SUFFIXES, read_picture
from .running import VIDEOS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

SUFFIX = ".glsl"
COLOURS = {1: "gray16le", 3: "rgba64le"}  # FFmpeg's formats, by the channels of a hook
DEPTH = 65535  # of a component
LINE = re.compile(r"//!([A-Z]+)[ \t]+(.*?)[ \t]*$", re.MULTILINE)
OPERATORS: dict[str, Callable[[float, float], float]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"%": operator.mod, ">": operator.gt, "<": operator.lt, "=": operator.eq},
}
CHROMA = "CHROMA"
VIDEO, VIDEO_OF_RGB = "yuv420p", "gbrp"  # FFmpeg's formats of what is measured
PLENTY = 1e6  # a side of the output, so that upscalers want to run
REPEATS = 3  # of a measurement, the least of which counts: other programs run, too
PATIENCE = 600  # seconds: software compiles long shaders for minutes


@dataclass(frozen=True)
class Outline:
    """What a user shader does to a picture of a size.

    Attributes:
        hook: the stage of the player's picture that it replaces.
        size: height and width of the picture afterwards.
        passes: how many of its passes run; 0 where its conditions refuse the picture.
    """

    hook: str
    size: tuple[int, int]
    passes: int


@dataclass(frozen=True)
class Shown:
    """A picture that was made, and how long FFmpeg took with starting and compiling."""

    passes: int
    size: tuple[int, int]
    milliseconds: float


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


def is_user_shader(path: Path) -> bool:
    """Whether a path names a user shader, and no build."""
    return path.suffix == SUFFIX


def outline(text: str, size: tuple[int, int]) -> Outline:
    """Work out what a user shader does to a picture of a height and a width, in 4:2:0.

    Raises:
        ShadergenError: SG0605 for a file without passes, or of an unknown hook or expression.
    """
    hook, passes = "", 0
    picture = float(size[1]), float(size[0])
    half = float((size[1] + 1) // 2), float((size[0] + 1) // 2)
    sizes = {**dict.fromkeys(STAGES, picture), CHROMA: half, "OUTPUT": (PLENTY, PLENTY)}
    for block in re.split(r"^(?=//!HOOK)", text, flags=re.MULTILINE)[1:]:
        code, _, _ = block.partition("//!TEXTURE")
        stated = dict(LINE.findall(code))
        hook = hook or stated.get("HOOK", "nothing")
        sizes.setdefault("HOOKED", sizes.get(hook, picture))
        try:
            if not _value(stated.get("WHEN", "1"), sizes):
                continue
            width = _value(stated.get("WIDTH", "HOOKED.w"), sizes)
            height = _value(stated.get("HEIGHT", "HOOKED.h"), sizes)
        except (KeyError, IndexError, ValueError, ZeroDivisionError):
            raise _refusal("its sizes and conditions cannot be computed") from None
        passes += 1
        sizes[stated.get("SAVE", "HOOKED")] = width, height
    if hook not in STAGES:
        raise _refusal(f"its hook is {hook}" if hook else "it has no passes")
    if not all(1 <= side < PLENTY for side in sizes["HOOKED"]):  # false for NaN, too
        raise _refusal("its result has no size that a picture can have")
    across, down = map(round, picture if hook == CHROMA else sizes["HOOKED"])
    return Outline(hook, (down, across), passes)


def show(shader: Path, source: Path, output: Path) -> Shown:
    """Write what FFmpeg's libplacebo filter makes of a picture with a user shader.

    A shader of luma gets the luma that ``shadergen run`` gives a build of one channel.

    Args:
        shader: the file.
        source: the picture.
        output: the picture to write.

    Raises:
        ShadergenError: SG0101, SG0501, SG0605 for files, SG0607 where FFmpeg cannot do it.
    """
    text = _text(shader)
    if output.suffix.lower() in VIDEOS:
        raise ShadergenError(
            "SG0605",
            f"'{output}' is a video, and run shows a user shader on one picture",
            help="write the video with FFmpeg (docs/players.md), or run a build folder on it",
        )
    if output.suffix.lower() not in SUFFIXES:
        supported = ", ".join(SUFFIXES)
        raise ShadergenError(
            "SG0605", f"the format of '{output}' is not supported", supported=supported
        )
    picture = read_picture(source)
    size = picture.size
    plan = outline(text, size)
    channels = STAGES[plan.hook].channels
    if channels not in COLOURS:
        raise _refusal(f"it replaces {plan.hook}, and pictures have luma or RGB only")
    if not plan.passes:
        raise ShadergenError(
            "SG0605",
            f"the user shader does not run for a picture of {size[0]}x{size[1]}",
            why="a condition (//!WHEN) in the file is not met",
        )
    everything = slice(None)
    values = picture.part(everything, everything, 1 if channels == 1 else 4)
    frame = np.rint(values * DEPTH).astype("<u2")
    started = time.perf_counter()
    made = _filtered(shader, frame, plan.size)
    elapsed = (time.perf_counter() - started) * 1e3
    result = (made[..., :channels] / DEPTH).astype(np.float32)
    write_result(output, result, picture)
    return Shown(plan.passes, plan.size, elapsed)


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
        plan = outline(_text(shader), size)
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
    _ffmpeg(shader, source, (pixels, "yuv444p"), result, sink)
    return (time.perf_counter() - started) * 1e3


def _filtered(shader: Path, frame: NDArray[np.uint16], size: tuple[int, int]) -> NDArray[np.uint16]:
    """Return a frame, height x width x components, after the filter."""
    pixels = COLOURS[1 if frame.shape[2] == 1 else 3]
    height, width = frame.shape[:2]
    source = ("-f", "rawvideo", "-pix_fmt", pixels, "-s", f"{width}x{height}", "-i", "-")
    made = _ffmpeg(shader, source, (pixels, pixels), size, ("-f", "rawvideo", "-"), frame.tobytes())
    return np.frombuffer(made, "<u2").reshape(*size, frame.shape[2])


def _ffmpeg(
    shader: Path | None,
    source: Sequence[str],
    pixels: tuple[str, str],
    size: tuple[int, int],
    sink: Sequence[str],
    data: bytes = b"",
) -> bytes:
    """Run FFmpeg's filter; return what it writes.

    Raises:
        ShadergenError: SG0607.
    """
    program = shutil.which("ffmpeg")
    if program is None:
        raise ShadergenError(
            "SG0607",
            "user shaders need FFmpeg with its libplacebo filter",
            why="no program 'ffmpeg' is found",
            help="on Debian: apt-get install ffmpeg mesa-vulkan-drivers",
        )
    with TemporaryDirectory() as folder:  # the path in a filter's options then needs no escapes
        custom = ""
        if shader is not None:
            shutil.copyfile(shader, f"{folder}/net{SUFFIX}")
            custom = f":custom_shader_path=net{SUFFIX}"
        steps = (
            f"format={pixels[0]},hwupload,libplacebo=w={size[1]}:h={size[0]}:dithering=-1"
            f":format={pixels[1]}{custom},hwdownload,format={pixels[1]}"
        )
        device = ("-init_hw_device", "vulkan=v:0", "-filter_hw_device", "v")
        command = [program, "-v", "error", "-nostdin", *device, *source, "-vf", steps, *sink]
        if data:
            command.remove("-nostdin")
        try:
            run = subprocess.run(
                command,
                input=data,
                capture_output=True,
                cwd=folder,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ShadergenError(
                "SG0607",
                "FFmpeg did not finish the picture",
                why=f"{PATIENCE} s have passed",
            ) from None
    said = run.stderr.decode(errors="replace").strip()
    if run.returncode or said:  # a shader that is refused is skipped, and FFmpeg succeeds
        lines = said.splitlines() or [f"exit status {run.returncode}"]
        why, cure = re.sub(r"^\[.*?\] ", "", lines[0]), "it needs a Vulkan driver; "
        cure += "mesa-vulkan-drivers has one in software"
        if "'PARAM" in why:
            cure = (
                "compile with --strength: this FFmpeg's libplacebo is older than //!PARAM (5.233)"
            )
        raise ShadergenError("SG0607", "FFmpeg's libplacebo filter failed", why=why, help=cure)
    return run.stdout


def _text(shader: Path) -> str:
    try:
        return shader.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is not text"
        raise ShadergenError("SG0101", f"cannot read '{shader}'", why=why) from None


def _value(expression: str, sizes: Mapping[str, tuple[float, float]]) -> float:
    """Return the value of an expression in the format's postfix notation."""
    stack: list[float] = []
    for term in expression.split():
        if term in OPERATORS:
            right, left = stack.pop(), stack.pop()
            stack.append(float(OPERATORS[term](left, right)))
        elif term == "!":
            stack.append(float(not stack.pop()))
        elif "." in term and not term[0].isdigit():
            name, _, side = term.partition(".")
            stack.append(sizes[name][side.startswith("h")])
        else:
            stack.append(float(term))
    (result,) = stack
    return result


def _refusal(why: str) -> ShadergenError:
    return ShadergenError("SG0605", "the file is not a user shader that can be run", why=why)
