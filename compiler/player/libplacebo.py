"""FFmpeg's libplacebo filter with a user shader, in another process."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import contextmanager
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, TYPE_CHECKING

import numpy as np

from ...errors import ShadergenError
from ...records import dataclass
from .outline import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

COLOURS = {1: "gray16le", 3: "rgba64le"}  # FFmpeg's formats, by the channels of a hook
DEPTH = 65535  # of a component
PATIENCE = 600  # seconds: software compiles long shaders for minutes
DEVICE = ("-init_hw_device", "vulkan=v:0", "-filter_hw_device", "v")
NAME = "FFmpeg's libplacebo"
INSTALL = "on Debian: apt-get install ffmpeg mesa-vulkan-drivers"
# What FFmpeg says where it cannot run any shader, what this means, and what helps.
LACKS = (
    (
        "No such filter",
        "this FFmpeg has no libplacebo filter",
        f"install FFmpeg 5.1 or later with libplacebo; {INSTALL}",
    ),
    ("Device creation failed", "it finds no Vulkan driver", INSTALL),
    (
        "'PARAM",
        "its libplacebo is older than 5.233, the first version with //!PARAM",
        "compile with --strength in place of --live-strength",
    ),
)


def filtered(shader: Path, frame: NDArray[np.uint16], size: tuple[int, int]) -> NDArray[np.uint16]:
    """Return a picture after the filter.

    Args:
        shader: the file.
        frame: height x width x components, of 16 bits: luma, or RGB and alpha.
        size: height and width of the result.

    Returns:
        height x width x components, as many as there were.

    Raises:
        ShadergenError: SG0607.
    """
    pixels = COLOURS[1 if frame.shape[2] == 1 else 3]
    height, width = frame.shape[:2]
    source = ("-f", "rawvideo", "-pix_fmt", pixels, "-s", f"{width}x{height}", "-i", "-")
    sink = ("-f", "rawvideo", "-")
    made = run_filter(shader, source, (pixels, pixels), size, sink, frame.tobytes())
    return np.frombuffer(made, "<u2").reshape(*size, frame.shape[2])


def run_filter(
    shader: Path | None,
    source: Sequence[str],
    pixels: tuple[str, str],
    size: tuple[int, int],
    sink: Sequence[str],
    data: bytes = b"",
) -> bytes:
    """Run the filter.

    Args:
        shader: the file, or None for the player's own scaling.
        source: FFmpeg's arguments of its input.
        pixels: FFmpeg's formats of what the filter takes and gives.
        size: height and width of the result.
        sink: FFmpeg's arguments of its output.
        data: for its standard input.

    Returns:
        Its standard output.

    Raises:
        ShadergenError: SG0607.
    """
    with filter_steps(shader, pixels, size) as (folder, steps):
        command = [ffmpeg(), "-v", "error", *DEVICE, *source, "-vf", steps, *sink]
        if not data:
            command.insert(1, "-nostdin")
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
            raise unfinished() from None
    said = run.stderr.decode(errors="replace").strip()
    if run.returncode or said:  # a shader that is refused is skipped, and FFmpeg succeeds
        raise failure(said, run.returncode)
    return run.stdout


@dataclass(frozen=True)
class Running:
    """FFmpeg at work.

    Attributes:
        process: its standard output is text.
        log: its standard error.
    """

    process: subprocess.Popen[str]
    log: IO[bytes]

    def lines(self) -> Iterator[str]:
        """Yield the lines of its standard output as they come."""
        assert self.process.stdout is not None
        yield from self.process.stdout

    def said(self) -> str:
        """Return its standard error up to now."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")


@contextmanager
def running(command: Sequence[str], folder: str) -> Iterator[Running]:
    """Start FFmpeg in a folder; afterwards it has ended, or is made to."""
    with TemporaryFile("a+b") as log:  # so that reading does not move where FFmpeg writes
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, cwd=folder, text=True
        )
        try:
            yield Running(process, log)
        finally:
            process.kill()
            assert process.stdout is not None
            process.stdout.close()
            process.wait()


@contextmanager
def filter_steps(
    shader: Path | None, pixels: tuple[str, str], size: tuple[int, int], more: str = ""
) -> Iterator[tuple[str, str]]:
    """Give a folder to start FFmpeg in, which holds the shader, and the filter for ``-vf``.

    A path in a filter's options would need escapes. The arguments are those of
    :func:`run_filter`; ``more`` are further options of the filter.
    """
    with TemporaryDirectory() as folder:
        custom = ""
        if shader is not None:
            shutil.copyfile(shader, f"{folder}/net{SUFFIX}")
            custom = f":custom_shader_path=net{SUFFIX}"
        yield (
            folder,
            f"format={pixels[0]},hwupload,libplacebo=w={size[1]}:h={size[0]}:dithering=-1"
            f":format={pixels[1]}{custom}{more},hwdownload,format={pixels[1]}",
        )


def ffmpeg(program: str = "ffmpeg") -> str:
    """Return the path of one of FFmpeg's programs.

    Raises:
        ShadergenError: SG0607 if there is none.
    """
    path = shutil.which(program)
    if path is None:
        raise ShadergenError(
            "SG0607",
            "user shaders need FFmpeg with its libplacebo filter",
            why=f"no program '{program}' is found",
            help=INSTALL,
        )
    return path


def unfinished() -> ShadergenError:
    """Return the error of an FFmpeg that took too long for a picture."""
    why = f"{PATIENCE} s have passed"
    return ShadergenError("SG0607", "FFmpeg did not finish the picture", why=why)


def failure(said: str, code: int) -> ShadergenError:
    """Return the error of a run of FFmpeg.

    Args:
        said: on its standard error.
        code: its exit status.
    """
    lines = [re.sub(r"^\[.*?\] ", "", line).strip() for line in said.splitlines()]
    first = next(filter(None, lines), f"exit status {code}")
    for sign, why, cure in LACKS:
        if sign in said:
            return ShadergenError("SG0607", "FFmpeg cannot run the user shader", why=why, help=cure)
    why = first
    if found := re.search(r"ERROR: \d+:(\d+):", first):  # its listing follows, with numbers
        line = re.search(rf"^(?:\[[^\n]*?\] )?\[ *{found[1]}\] ([^\n]*)", said, re.MULTILINE)
        why += f"\nthe line is: {line[1].strip()}" if line else ""
    return ShadergenError("SG0607", f"{NAME} filter failed", why=why)
