"""A video as a player shows it with a user shader: FFmpeg reads, renders and writes it."""

from __future__ import annotations

import json
import re
import subprocess
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...backends.replacing import replacing_file
from ...errors import ShadergenError
from ...records import dataclass
from ..pictures.video import CODEC, CODECS, HD, QUALITY
from .libplacebo import DEVICE, failure, ffmpeg, filter_steps, running
from .outline import CHROMA, outline, read_shader
from .pictures import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ..pictures.network import Progress
    from .outline import Outline

RGB = re.compile(r"gbr|rgb|bgr|argb|abgr|0rgb|0bgr|pal8")  # how FFmpeg's names of formats begin
DEEP = re.compile(r"(p|gray|x2rgb|x2bgr)0?(9|1[0246])|48|64")  # in names of those of over 8 bits
SUBSAMPLING = re.compile(r"4[24][024]")
DIVISORS = {"420": (2, 2), "422": (1, 2), "444": (1, 1)}  # of height and width, for chroma
TURNED = {90, 270}  # degrees that exchange width and height
MADE_FROM_RGB = ":colorspace=bt709:range=tv"
STREAM = "width,height,pix_fmt,color_space,nb_frames,avg_frame_rate,codec_type,duration"


@dataclass(frozen=True)
class _Video:
    """The video stream of a file.

    Attributes:
        size: height and width as shown.
        pixels: FFmpeg's name of its format.
        space: FFmpeg's name of its colour space; empty if it states none.
        frames: how many, about; 0 if unknown.
        others: how many streams are neither this one nor sound.
    """

    size: tuple[int, int]
    pixels: str
    space: str
    frames: int
    others: int

    @property
    def is_deep(self) -> bool:
        """Whether it has more than 8 bits."""
        return bool(DEEP.search(self.pixels))

    @property
    def taken(self) -> str:
        """FFmpeg's name of the format in which the filter gets it."""
        if RGB.match(self.pixels):
            return "rgba64le" if self.is_deep else "rgba"
        found = SUBSAMPLING.search(self.pixels)
        chroma = found[0] if found else "420"
        return f"yuv{chroma if chroma in DIVISORS else '444'}p{'10le' * self.is_deep}"

    @property
    def chroma(self) -> tuple[int, int]:
        """By what height and width are divided for chroma."""
        return DIVISORS.get(self.taken[3:6], (1, 1))


def show_video(
    shader: Path,
    source: Path,
    output: Path,
    progress: Progress = lambda step, done, total: None,
    check_size: Callable[[tuple[int, int]], None] | None = None,
) -> Shown:
    """Write what FFmpeg's libplacebo filter makes of a video with a user shader.

    Frames keep their times and their colour space. The sound is copied as it is.

    Args:
        shader: the file.
        source: the video.
        output: the video to write, 4:2:0 of 8 bits, or of 10 if the source has more than 8.
        progress: told how many frames are done, and of how many.
        check_size: told the size of the result before the work, to refuse it.

    Raises:
        ShadergenError: SG0101, SG0501, SG0605 for files, SG0607 where FFmpeg cannot do it.
    """
    text = read_shader(shader)
    video = _probe(source)
    plan = outline(text, video.size, video.chroma)
    if plan.hook == "RGB" and not RGB.match(video.pixels):
        raise ShadergenError(
            "SG0605",
            f"the user shader does not run on '{source}'",
            why=f"it replaces RGB, which only videos in RGB have; this one is {video.pixels}",
            help="compile with --hook MAIN, the picture after conversion to RGB",
        )
    size = plan.size[0] + plan.size[0] % 2, plan.size[1] + plan.size[1] % 2
    if check_size is not None:
        check_size(size)
    before, formats, after, notes = _steps(video, plan)
    more = MADE_FROM_RGB * bool(RGB.match(video.pixels))
    codec = CODECS.get(output.suffix.lower(), CODEC)
    quality = [word for name, value in QUALITY[codec].items() for word in (f"-{name}", value)]
    started, frames = time.perf_counter(), 0
    with (
        replacing_file(output) as fresh,
        filter_steps(shader, formats, plan.size, more) as (folder, steps),
    ):
        command = [
            *(ffmpeg(), "-v", "error", "-nostdin", "-nostats", "-progress", "pipe:1", "-y"),
            *(*DEVICE, "-i", str(source.absolute()), "-map", "0:v:0", "-map", "0:a?"),
            *("-vf", ",".join((*before, steps, *after)), "-c:v", codec, *quality),
            *("-c:a", "copy", "-fps_mode", "passthrough", "-enc_time_base", "-1"),
            str(fresh.absolute()),
        ]
        for frames in _frames(command, folder, source, output):
            progress("frames", frames, video.frames and max(video.frames, frames))
        if not frames:
            raise ShadergenError("SG0101", f"'{source}' has no frames")
    elapsed = (time.perf_counter() - started) * 1e3
    notes = (*plan.notes, *notes)
    return Shown(plan.passes, size, elapsed, frames, notes)


def _probe(source: Path) -> _Video:
    """Read what a file says of its video.

    Raises:
        ShadergenError: SG0101 when it holds none, SG0607 without FFmpeg.
    """
    entries = f"stream={STREAM}:stream_side_data=rotation:format=duration"
    command = [ffmpeg("ffprobe"), "-v", "error", "-show_entries", entries, "-of", "json"]
    run = subprocess.run(
        [*command, str(source.absolute())], capture_output=True, text=True, check=False
    )
    found = json.loads(run.stdout or "{}")
    streams: list[dict[str, Any]] = found.get("streams", [])
    videos = [s for s in streams if s.get("codec_type") == "video" and s.get("width")]
    if run.returncode or not videos:
        why = run.stderr.strip().rpartition(": ")[2] or "it has no video stream"
        raise ShadergenError("SG0101", f"cannot read '{source}' as a video", why=why)
    video = videos[0]
    turned = [d["rotation"] % 360 for d in video.get("side_data_list", []) if "rotation" in d]
    size = video["height"], video["width"]
    space = video.get("color_space", "unknown")
    return _Video(
        size[::-1] if turned and turned[0] in TURNED else size,
        video.get("pix_fmt", ""),
        "" if space in ("unknown", "reserved") else space,
        _count(video, found.get("format", {})),
        len(streams) - 1 - sum(s.get("codec_type") == "audio" for s in streams),
    )


def _count(video: dict[str, Any], container: dict[str, Any]) -> int:
    """Return how many frames a stream has, or by its duration should have; 0 if unknown."""
    if str(video.get("nb_frames", "")).isdecimal():
        return int(video["nb_frames"])
    try:
        rate = Fraction(video["avg_frame_rate"])
        return round(float(video.get("duration") or container["duration"]) * rate)
    except (KeyError, ValueError, ZeroDivisionError):
        return 0


def _steps(
    video: _Video, plan: Outline
) -> tuple[list[str], tuple[str, str], list[str], tuple[str, ...]]:
    """Return the filters before libplacebo's, its formats, those after it, and notes."""
    notes = []
    if video.others:
        notes.append(f"{video.others} further streams, such as subtitles, were left out")
    before: list[str] = []
    taken, ten = video.taken, "10le" * video.is_deep
    if not RGB.match(video.pixels):
        if video.pixels.startswith("yuvj"):  # the name says full range; FFmpeg would change it
            before += ["scale=in_range=full:out_range=full", f"format={taken}", "setrange=full"]
        if not video.space:
            is_hd = video.size[0] > HD[0] or video.size[1] >= HD[1]
            before.append(f"setparams=colorspace={'bt709' if is_hd else 'smpte170m'}")
            name = "BT.709" if is_hd else "BT.601"
            notes.append(
                f"the video states no colour space: taken as {name}, as players do at this size"
            )
    if plan.hook == CHROMA:
        notes.append(
            "the written video holds chroma at half the height and width of luma (4:2:0); a player "
            "shows the network's chroma at full size"
        )
    height, width = plan.size
    odd = height % 2, width % 2
    if not any(odd):
        return before, (taken, f"yuv420p{ten}"), [], tuple(notes)
    notes.append("the last row or column was repeated, since videos have even sides")
    after = [
        f"pad={width + odd[1]}:{height + odd[0]}",
        f"fillborders=right={odd[1]}:bottom={odd[0]}:mode=smear",
        f"format=yuv420p{ten}",
    ]
    return before, (taken, f"yuv444p{ten}"), after, tuple(notes)


def _frames(command: Sequence[str], folder: str, source: Path, output: Path) -> Iterator[int]:
    """Run FFmpeg, and yield how many frames are done.

    Raises:
        ShadergenError: SG0607 when it refuses the shader, SG0501 when it cannot write the video.
    """
    with running(command, folder) as run:
        for line in run.lines():
            name, _, value = line.strip().partition("=")
            if name == "frame" and value.isdecimal():
                _check(run.said(), run.process.poll())
                yield int(value)
        code = run.process.wait()
        text = run.said()
        _check(text, code)
        if code:
            last = text.strip().splitlines()[-1:] or [f"FFmpeg ends with status {code}"]
            raise ShadergenError(
                "SG0501",
                f"cannot make '{output}' from '{source}'",
                why=re.sub(r"^\[.*?\] ", "", last[0]),
                help="name a .mkv file, which takes every format of sound",
            )


def _check(said: str, code: int | None) -> None:
    """Refuse what FFmpeg has said of the shader; a damaged frame is no error.

    Raises:
        ShadergenError: SG0607.
    """
    if re.search(r"libplacebo|Device creation failed|No such filter", said):
        raise failure(said, code or 0)
