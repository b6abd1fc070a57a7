"""Play a video through a build: a file in, a file out.

    pip install '.[video]'
    shadergen compile examples/espcn/espcn_x2.h5 -o build --input-size 180x320
    python examples/python/play_video.py build in.mp4 out.mp4

The build takes one picture and gives one: upscaling, denoising, style, a mask. Of a network for
luma the chroma is upscaled bicubically, as `shadergen run` does. Sound is copied. A video of
another size than the build's is scaled to it first; a build with dynamic sizes takes the
video's.
"""

from __future__ import annotations

import argparse
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import shadergen
from shadergen.compiler import pictures
from shadergen.runtime_glue.python import HeadlessContext, Runner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL import Image

CODEC = "libx264"
QUALITY = {"crf": "16", "preset": "fast"}  # of x264: hardly any loss
COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TextColumn("{task.fields[rate]}"),
    TimeRemainingColumn(),
)


class Network:
    """A build as a function from picture to picture."""

    def __init__(self, runner: Runner) -> None:
        (self._input,), (self._output,) = runner.build.inputs, runner.build.outputs
        self._runner = runner

    @property
    def size(self) -> tuple[int, int]:
        """Width and height that it takes."""
        shape = [self._input.shape[a] for a in _inverse(self._input.axes)]
        return shape[3], shape[2]

    def __call__(self, picture: Image.Image) -> Image.Image:
        port = self._input
        self._runner.upload(port.name, pictures.to_array(picture, port.shape, port.axes, port.name))
        self._runner.run()
        result = self._runner.read(self._output.name)
        return pictures.to_picture(result, self._output.axes, self._output.name, picture)


def _inverse(axes: tuple[int, ...]) -> list[int]:
    return sorted(range(len(axes)), key=axes.__getitem__)


def frames(network: Network, source: Any) -> Iterator[Image.Image]:
    """Yield every frame of a video as the network makes it."""
    for frame in source.decode(video=0):
        picture = frame.to_image()
        if picture.size != network.size:
            picture = picture.resize(network.size)
        yield network(picture)


def play(runner: Runner, source: Any, target: Any, progress: Progress) -> int:
    """Play a video from one container into another; return how many frames it has."""
    video = source.streams.video[0]
    if runner.build.sizes is not None:
        runner.resize(height=video.height, width=video.width)
    network = Network(runner)
    rate = video.average_rate or Fraction(25)
    sound = [(s, target.add_stream_from_template(s)) for s in source.streams.audio]
    task = progress.add_task(Path(source.name).name, total=video.frames or None, rate="")
    stream, count = None, 0
    for picture in frames(network, source):
        if stream is None:
            stream = target.add_stream(CODEC, rate=rate, options=QUALITY)
            stream.width, stream.height = (side - side % 2 for side in picture.size)  # 4:2:0
            stream.pix_fmt = "yuv420p"
        target.mux(stream.encode(av.VideoFrame.from_image(picture)))
        count += 1
        speed = progress.tasks[task].speed
        progress.update(task, advance=1, rate=f"{speed:.1f} frames/s" if speed else "")
    if stream is not None:
        target.mux(stream.encode())
    _copy_sound(source, sound, target)
    return count


def _copy_sound(source: Any, sound: list[tuple[Any, Any]], target: Any) -> None:
    if not sound:
        return
    source.seek(0)
    copies = dict(sound)
    for packet in source.demux(list(copies)):
        if packet.dts is not None:  # the last ones are empty
            packet.stream = copies[packet.stream]
            target.mux(packet)


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    both = (arguments.input, arguments.output)
    if all(path.exists() for path in both) and os.path.samefile(*both):
        parser.error("the output would replace the input")
    try:
        build = shadergen.load(arguments.build)
        with (
            HeadlessContext() as context,
            Runner(build, context) as runner,
            av.open(str(arguments.input)) as source,
            av.open(str(arguments.output), "w") as target,
            Progress(*COLUMNS) as progress,
        ):
            count = play(runner, source, target, progress)
    except shadergen.ShadergenError as error:
        print(error.render(), file=sys.stderr)
        return 2
    except (av.FFmpegError, OSError) as error:
        print(f"{arguments.input} to {arguments.output}: {error}", file=sys.stderr)
        return 2
    print(f"{arguments.output}: {count} frames")
    return 0


if __name__ == "__main__":
    sys.exit(main())
