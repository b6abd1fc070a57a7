"""The sample applications do what their READMEs say."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import av
import numpy as np
import pytest
import skimage.data
from PIL import Image
from support import ESPCN, ROOT

import shadergen
from shadergen.compiler.running import run_file

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.gl, pytest.mark.slow]
SAMPLE = ROOT / "examples" / "python" / "play_video.py"
HEIGHT, WIDTH, FRAMES = 48, 64, 5
CODING = 3.0  # mean difference in 0..255 that H.264 may make


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "build"
    size = f"{HEIGHT}x{WIDTH}"
    shadergen.compile_model(ESPCN, folder, input_size=size, validate=False)
    return folder


def write_video(path: Path, tone: bool = False) -> list[Image.Image]:
    """Write a video without loss, of a window that moves over a photograph; return its frames."""
    photograph = Image.fromarray(skimage.data.astronaut()).resize((160, 160))
    pictures = [photograph.crop((4 * k, 40, 4 * k + WIDTH, 40 + HEIGHT)) for k in range(FRAMES)]
    with av.open(str(path), "w") as target:
        stream = target.add_stream("ffv1", rate=10)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "bgr0"
        sound = target.add_stream("pcm_s16le", rate=8000) if tone else None
        for picture in pictures:
            target.mux(stream.encode(av.VideoFrame.from_image(picture)))
        target.mux(stream.encode())
        if sound is not None:
            samples = np.arange(4000, dtype=np.int16).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            frame.sample_rate = 8000
            target.mux(sound.encode(frame))
            target.mux(sound.encode())
    return pictures


def play(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SAMPLE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_video_comes_out_as_its_frames_do_alone(build, tmp_path):
    pictures = write_video(tmp_path / "in.mkv", tone=True)
    done = play(build, tmp_path / "in.mkv", tmp_path / "out.mkv")
    assert done.returncode == 0, done.stderr
    assert f"{FRAMES} frames" in done.stdout
    pictures[3].save(tmp_path / "frame.png")
    run_file(build, tmp_path / "frame.png", tmp_path / "alone.png")
    expected = np.asarray(Image.open(tmp_path / "alone.png"), np.float64)
    with av.open(str(tmp_path / "out.mkv")) as video:
        assert len(video.streams.audio) == 1
        found = [f.to_ndarray(format="rgb24") for f in video.decode(video=0)]
    assert len(found) == FRAMES
    assert found[3].shape == expected.shape == (2 * HEIGHT, 2 * WIDTH, 3)
    assert np.abs(found[3] - expected).mean() < CODING
    assert np.abs(found[0] - expected).mean() > CODING  # another frame is told apart


def test_a_file_that_is_no_video_is_refused_in_a_line(build, tmp_path):
    (tmp_path / "in.mp4").write_bytes(b"no video")
    done = play(build, tmp_path / "in.mp4", tmp_path / "out.mkv")
    assert done.returncode == 2
    assert "in.mp4" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_is_no_build_is_refused_by_code(tmp_path):
    write_video(tmp_path / "in.mkv")
    done = play(tmp_path / "nothing", tmp_path / "in.mkv", tmp_path / "out.mkv")
    assert done.returncode == 2
    assert "error[SG0502]" in done.stderr
