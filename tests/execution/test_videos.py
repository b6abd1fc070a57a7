"""Builds on videos."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
import skimage.data
from PIL import Image
from support import ESPCN
from support import refusal as refused
from support.picture_networks import affine, save

import shadergen
from shadergen.compiler.pictures.video import WRITTEN
from shadergen.compiler.running import run_file

if TYPE_CHECKING:
    from pathlib import Path

av = pytest.importorskip("av")

pytestmark = [pytest.mark.gl]
HEIGHT, WIDTH, FRAMES = 48, 64, 5
TIMES = (0, 1, 2, 5, 9)  # of frames, in tenths of a second
Size = tuple[int, int]
CODING = 3.0  # mean difference in 0..255 that H.264 may make


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("video") / "build"
    shadergen.compile_model(ESPCN, folder, input_size="40x56", validate=False)
    return folder


def write_video(path: Path, pixel_format: str = "bgr0", tone: bool = True) -> list[Image.Image]:
    """Write a video without loss, of a window that moves over a photograph; return its frames."""
    photograph = Image.fromarray(skimage.data.astronaut()).resize((160, 160))
    pictures = [photograph.crop((4 * k, 40, 4 * k + WIDTH, 40 + HEIGHT)) for k in range(FRAMES)]
    with av.open(str(path), "w") as target:
        stream = target.add_stream("ffv1", rate=10)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixel_format
        sound = target.add_stream("pcm_s16le", rate=8000) if tone else None
        for time, picture in zip(TIMES, pictures, strict=True):
            frame = av.VideoFrame.from_image(picture).reformat(format=pixel_format)
            frame.pts, frame.time_base = time, Fraction(1, 10)
            target.mux(stream.encode(frame))
        target.mux(stream.encode())
        if sound is not None:
            samples = np.arange(4000, dtype=np.int16).reshape(1, -1)
            tone_frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            tone_frame.sample_rate = 8000
            target.mux(sound.encode(tone_frame))
            target.mux(sound.encode())
    return pictures


def test_a_video_comes_out_as_its_frames_do_alone(build: Path, tmp_path: Path) -> None:
    pictures = write_video(tmp_path / "in.mkv")
    steps: list[tuple[str, int, int]] = []
    run = run_file(
        build,
        tmp_path / "in.mkv",
        tmp_path / "out.mkv",
        progress=lambda step, done, total: steps.append((step, done, total)),
    )
    assert run.frames == FRAMES
    assert [done for step, done, _ in steps if step == "frames"] == [1, 2, 3, 4, 5]
    pictures[3].save(tmp_path / "frame.png")
    run_file(build, tmp_path / "frame.png", tmp_path / "alone.png")
    expected = np.asarray(Image.open(tmp_path / "alone.png"), np.float64)
    with av.open(str(tmp_path / "out.mkv")) as video:
        assert len(video.streams.audio) == 1
        samples = sum(f.samples for f in video.decode(audio=0))
    with av.open(str(tmp_path / "out.mkv")) as video:
        frames = list(video.decode(video=0))
    assert samples == 4000
    assert [round(10 * f.time) for f in frames] == list(TIMES)
    found = [f.to_ndarray(format="rgb24") for f in frames]
    assert found[3].shape == expected.shape == (2 * HEIGHT, 2 * WIDTH, 3)
    assert np.abs(found[3] - expected).mean() < CODING
    assert np.abs(found[0] - expected).mean() > CODING  # another frame is told apart


def test_videos_of_10_bits_keep_them(build: Path, tmp_path: Path) -> None:
    write_video(tmp_path / "in.mkv", "yuv420p10le", tone=False)
    run_file(build, tmp_path / "in.mkv", tmp_path / "out.mp4")
    with av.open(str(tmp_path / "out.mp4")) as video:
        assert video.streams.video[0].codec_context.format.name == "yuv420p10le"


def write_colour(path: Path, planes: tuple[int, int, int], size: Size, **said: int) -> None:
    """Write a video of one frame of one colour (Y, Cb, Cr) that says this of its colours."""
    height, width = size
    with av.open(str(path), "w") as target:
        stream = target.add_stream("libx264", rate=10, options={"qp": "0"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        frame = av.VideoFrame(width, height, "yuv420p")
        for name, value in said.items():
            setattr(stream.codec_context, name, value)
            if name in ("colorspace", "color_range"):
                setattr(frame, name, value)
        for plane, value in zip(frame.planes, planes, strict=True):
            plane.update(np.full(plane.buffer_size, value, np.uint8))
        frame.pts = 0
        target.mux(stream.encode(frame))
        target.mux(stream.encode())


def read_colour(path: Path) -> tuple[tuple[int, ...], list[int]]:
    """Return what a video says of its colours, and a pixel of its first frame."""
    with av.open(str(path)) as video:
        context = video.streams.video[0].codec_context
        said = context.colorspace, context.color_range, context.color_primaries, context.color_trc
        frame = next(video.decode(video=0))
    found = [np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size) for plane in frame.planes]
    return tuple(map(int, said)), [int(plane[len(plane) // 2, 8]) for plane in found]


@pytest.mark.parametrize("space", [1, 6, 9], ids=["BT.709", "BT.601", "BT.2020"])
@pytest.mark.parametrize("limits", [1, 2], ids=["limited", "full"])
def test_a_video_keeps_its_colours_and_what_it_says_of_them(
    tmp_path: Path, space: int, limits: int
) -> None:
    planes = (139, 90, 180)  # Y, Cb, Cr
    said = {"colorspace": space, "color_range": limits, "color_primaries": 1, "color_trc": 13}
    write_colour(tmp_path / "in.mkv", planes, (HEIGHT, WIDTH), **said)
    same = save(affine(3, 1.0, 0.0), tmp_path)
    shadergen.compile_model(same, tmp_path / "same", input_size="48x64", validate=False)
    run_file(tmp_path / "same", tmp_path / "in.mkv", tmp_path / "out.mkv")
    now, middle = read_colour(tmp_path / "out.mkv")
    assert now == (space, limits, 1, 13)
    np.testing.assert_allclose(middle, planes, atol=2)  # of rounding to RGB and of coding


# Red of each colour space; read as the other, it leaves RGB and is cut.
@pytest.mark.parametrize(
    ("size", "red", "space"),
    [((720, 1280), (63, 102, 240), 1), ((480, 640), (81, 90, 240), 6)],
    ids=["BT.709", "BT.601"],
)
def test_a_video_without_colour_space_has_that_of_its_size(
    tmp_path: Path, size: Size, red: tuple[int, int, int], space: int
) -> None:
    write_colour(tmp_path / "in.mkv", red, size)
    same = save(affine(3, 1.0, 0.0), tmp_path)
    height, width = size
    shadergen.compile_model(same, tmp_path / "same", input_size=f"{height}x{width}", validate=False)
    run = run_file(tmp_path / "same", tmp_path / "in.mkv", tmp_path / "out.mkv")
    (made,) = run.pictures.values()
    assert made.notes[0].startswith("the video states no colour space: taken as BT.")
    now, middle = read_colour(tmp_path / "out.mkv")
    assert now[0] == space  # said, since players would take a doubled video for another one
    np.testing.assert_allclose(middle, red, atol=2)


def test_a_file_that_is_no_video_is_refused(build: Path, tmp_path: Path) -> None:
    (tmp_path / "in.mp4").write_bytes(b"no video")
    error = refused(run_file, build, tmp_path / "in.mp4", tmp_path / "out.mkv")
    assert (error.code, error.what) == ("SG0101", f"cannot read '{tmp_path}/in.mp4' as a video")
    assert not (tmp_path / "out.mkv").exists()


def test_sound_that_a_container_does_not_take_is_refused(build: Path, tmp_path: Path) -> None:
    write_video(tmp_path / "in.mkv")
    error = refused(run_file, build, tmp_path / "in.mkv", tmp_path / "out.webm")
    assert error.code == "SG0501"
    assert ".mkv" in error.help
    assert not (tmp_path / "out.webm").exists()


def test_videos_become_videos(build: Path, tmp_path: Path) -> None:
    write_video(tmp_path / "in.mkv", tone=False)
    error = refused(run_file, build, tmp_path / "in.mkv", tmp_path / "out.png")
    assert error.code == "SG0605"
    assert "a video" in error.why


@pytest.mark.parametrize("ending", WRITTEN)
def test_every_kind_of_video_can_be_written_and_read(
    build: Path, tmp_path: Path, ending: str
) -> None:
    write_video(tmp_path / "in.mkv", tone=False)
    out, again = tmp_path / f"out{ending}", tmp_path / "again.mkv"
    assert run_file(build, tmp_path / "in.mkv", out).frames == FRAMES
    assert run_file(build, out, again).frames >= FRAMES - 1  # of some, the last is not decoded
