"""Networks on videos: every frame is a picture, the sound is copied."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.replacing import replacing_file
from ...errors import ShadergenError, reason
from .. import extras
from .files import Made
from .picture import Picture, with_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .files import Settings
    from .network import PictureNetwork, Progress

WRITTEN = (
    *(".mp4", ".mkv", ".mov", ".m4v", ".webm", ".avi"),
    *(".ts", ".m2ts", ".flv", ".wmv"),
)
VIDEOS = (*WRITTEN, ".mpg", ".mpeg", ".ogv", ".y4m")  # the others hold no H.264
CODECS = {".webm": "libvpx-vp9"}
CODEC = "libx264"
QUALITY = {  # hardly any loss
    "libx264": {"crf": "16", "preset": "fast"},
    "libvpx-vp9": {"crf": "18", "b": "0", "row-mt": "1", "cpu-used": "4"},
}
TURNS = {90: 1, 180: 2, 270: 3}  # quarter turns to the left, by the rotation of a frame
UNKNOWN, BT709, BT601, LIMITED = 2, 1, 6, 1  # colour spaces and a range, by the numbers of H.273
HD = (576, 1280)  # above this height, or from this width on, untagged videos are BT.709, as in mpv
MICROSECONDS = 1_000_000  # in a second: FFmpeg's unit of the durations of files
DEEP = 8  # bits beyond which a video is read in 16 and written in 10


def run_video(
    network: PictureNetwork,
    source: Path,
    output: Path | None,
    settings: Settings,
    progress: Progress,
) -> tuple[int, Made]:
    """Run a network from picture to picture on every frame of a video.

    Frames keep their times and their colour space, with its range, primaries and transfer. The
    sound is copied as it is.

    Args:
        network: to run.
        source: the video.
        output: the video to write.
        settings: what checks the size of the result.
        progress: told how many frames are done.

    Returns:
        The number of frames, and what was made of each.

    Raises:
        ShadergenError: SG0101 when the video cannot be read, SG0301 and SG0605 when the network
            does not make pictures, SG0501 when the result cannot be written, SG0606 without PyAV.
    """
    if network.network.kind != "picture":
        raise ShadergenError(
            "SG0605",
            "videos need a network whose output is a picture",
            why=f"output '{network.network.output.name}' is not a picture",
            help="save the frames to a folder with FFmpeg, and run the network on the folder",
        )
    if output is None:
        raise ShadergenError("SG0301", "the result needs a file", help="name the video with -o")
    av = extras.need("av", "av", "reading and writing videos")
    with ExitStack() as stack:
        container, video = opened(source, stack)
        try:
            fresh = stack.enter_context(replacing_file(output))
            target = stack.enter_context(av.open(str(fresh), "w"))
            check = settings.check_size
            return _Video(network, container, video, target, output, progress, check).run()
        except (av.FFmpegError, ValueError) as error:  # such as sound of another format
            raise ShadergenError(
                "SG0501",
                f"cannot make '{output}' from '{source}'",
                why=reason(error),
                help="name a .mkv file, which takes every format of sound",
            ) from None


def opened(source: Path, stack: ExitStack) -> tuple[Any, Any]:
    """Return a file and its video stream, as PyAV has them; the file is open until the stack ends.

    Raises:
        ShadergenError: SG0101 when it cannot be read as a video, SG0606 without PyAV.
    """
    av = extras.need("av", "av", "reading and writing videos")
    try:
        container = stack.enter_context(av.open(str(source)))
        return container, container.streams.video[0]
    except (av.FFmpegError, OSError, IndexError) as error:
        why = "it has no video stream" if isinstance(error, IndexError) else reason(error)
        raise ShadergenError("SG0101", f"cannot read '{source}' as a video", why=why) from None


def frames_of(container: Any, video: Any) -> int:
    """Return how many frames a stream has, or by its duration should have; 0 if unknown.

    Args:
        container: the file, as PyAV has it.
        video: the stream.
    """
    if video.frames:
        return int(video.frames)
    if video.duration is not None and video.time_base:
        seconds = video.duration * video.time_base
    else:
        seconds = Fraction(container.duration or 0, MICROSECONDS)
    frames: int = round(seconds * (video.average_rate or 0))
    return frames


def quarter_turns(frame: Any) -> int:
    """Return how often to turn a frame to the left by 90 degrees, to show it as players do."""
    return TURNS.get(getattr(frame, "rotation", 0) % 360, 0)


class _Video:
    def __init__(
        self,
        network: PictureNetwork,
        source: Any,
        video: Any,
        target: Any,
        output: Path,
        progress: Progress,
        check_size: Callable[[tuple[int, int]], None] | None,
    ) -> None:
        self._check_size = check_size
        self._network, self._source, self._video = network, source, video
        self._target, self._progress = target, progress
        self._codec = CODECS.get(output.suffix.lower(), CODEC)
        components = video.codec_context.format.components if video.codec_context.format else ()
        self._deep = max((c.bits for c in components), default=8) > DEEP
        self._stream: Any = None
        self._space, self._range = UNKNOWN, 0
        self._notes: dict[str, None] = {}
        self._size = (0, 0)
        self._tiles = 1

    def run(self) -> tuple[int, Made]:
        av = extras.need("av", "av", "reading and writing videos")
        sound = [(s, self._target.add_stream_from_template(s)) for s in self._source.streams.audio]
        others = len(self._source.streams) - 1 - len(sound)
        if others:
            self._note(f"{others} further streams, such as subtitles, were left out")
        total, frames = frames_of(self._source, self._video), 0
        for frame in self._source.decode(self._video):
            made = self._frame(av, frame)
            if self._stream is None:
                if self._check_size is not None:
                    self._check_size(self._size)
                self._open(frame, made)
            made = made.reformat(
                format=self._stream.pix_fmt,
                dst_colorspace=self._space,
                dst_color_range=self._range,
            )
            made.pts, made.time_base = frame.pts, frame.time_base
            self._target.mux(self._stream.encode(made))
            frames += 1
            self._progress("frames", frames, total and max(total, frames))
        if self._stream is None:
            raise ShadergenError("SG0101", "the video has no frames")
        self._target.mux(self._stream.encode())
        self._copy_sound(sound)
        return frames, Made(self._size, self._tiles, tuple(self._notes))

    def _note(self, text: str) -> None:
        self._notes.setdefault(text)

    def _frame(self, av: Any, frame: Any) -> Any:
        """Return a frame as the network makes it."""
        kind = "rgb48le" if self._deep else "rgb24"
        pixels = frame.reformat(format=kind, src_colorspace=self._space_of(frame)).to_ndarray()
        if turns := quarter_turns(frame):
            pixels = np.ascontiguousarray(np.rot90(pixels, turns))
        picture = Picture(pixels)
        prepared = self._network.prepare(picture.size)
        plan = prepared.plan
        assert plan is not None
        self._tiles = plan.count
        for note in prepared.notes:
            self._note(note)
        bits = 16 if self._deep else 8
        rows = [
            with_source(values, (first, first + len(values)), plan.size, picture, bits)
            for first, values in self._network.rows(picture)
        ]
        result = np.concatenate(rows)
        if result.shape[2] == 1:
            result = result.repeat(3, axis=2)
        result = result[..., :3]
        self._size = plan.size
        odd = tuple(side % 2 for side in plan.size)
        if any(odd):  # of 4:2:0
            result = np.pad(result, ((0, odd[0]), (0, odd[1]), (0, 0)), mode="edge")
            self._size = result.shape[0], result.shape[1]
            self._note("the last row or column was repeated, since videos have even sides")
        return av.VideoFrame.from_ndarray(np.ascontiguousarray(result), format=kind)

    def _space_of(self, frame: Any) -> int:
        """Return the colour space of a frame; if it states none, the one that its size implies."""
        stated = int(frame.colorspace)
        if stated != UNKNOWN or frame.format.is_rgb:
            return stated
        space = BT709 if frame.height > HD[0] or frame.width >= HD[1] else BT601
        name = "BT.709" if space == BT709 else "BT.601"
        self._note(f"the video states no colour space: taken as {name}, as players do at this size")
        return space

    def _open(self, frame: Any, made: Any) -> None:
        rate = self._video.average_rate or Fraction(25)
        stream = self._target.add_stream(self._codec, rate=rate, options=QUALITY[self._codec])
        stream.width, stream.height = made.width, made.height
        stream.pix_fmt = "yuv420p10le" if self._deep else "yuv420p"
        self._space, self._range = self._space_of(frame), int(frame.color_range)
        if frame.format.is_rgb:
            self._space, self._range = BT709, LIMITED
        context = self._video.codec_context
        stream.codec_context.colorspace = self._space
        stream.codec_context.color_range = self._range
        stream.codec_context.color_primaries = context.color_primaries
        stream.codec_context.color_trc = context.color_trc
        if frame.time_base is not None:
            stream.codec_context.time_base = frame.time_base
        self._stream = stream

    def _copy_sound(self, sound: list[tuple[Any, Any]]) -> None:
        if not sound:
            return
        self._source.seek(0)
        copies = dict(sound)
        for packet in self._source.demux(list(copies)):
            if packet.dts is not None:  # the last ones are empty
                packet.stream = copies[packet.stream]
                self._target.mux(packet)
