"""``run --original``: how near results come to the original pictures."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from support import ESPCN
from support.players import require

from shadergen.compiler.cli.output import psnr_lines
from shadergen.compiler.pictures.quality import Quality, check_originals, mean, measure
from shadergen.compiler.pictures.video import frames_of, opened
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from pathlib import Path


def saved(path: Path, pixels: np.ndarray) -> Path:
    Image.fromarray(pixels).save(path)
    return path


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape) + shape[0]).integers(0, 256, shape, np.uint8)


def test_psnr_is_of_the_mean_squared_difference_of_luma(tmp_path: Path) -> None:
    original = saved(tmp_path / "original.png", np.full((8, 6), 100, np.uint8))
    before = saved(tmp_path / "before.png", np.full((8, 6), 110, np.uint8))
    after = saved(tmp_path / "after.png", np.full((8, 6), 101, np.uint8))
    found = measure(before, after, original)
    assert found.plain == pytest.approx(20 * np.log10(255 / 10), abs=1e-4)
    assert found.network == pytest.approx(20 * np.log10(255), abs=1e-4)
    assert not found.resized


def test_colours_count_by_their_luma(tmp_path: Path) -> None:
    original = saved(tmp_path / "original.png", np.zeros((8, 6, 3), np.uint8))
    pixels = np.zeros((8, 6, 3), np.uint8)
    pixels[..., 1] = 255
    after = saved(tmp_path / "after.png", pixels)
    assert measure(original, after, original).network == pytest.approx(-20 * np.log10(0.587))


def test_a_smaller_input_is_enlarged_as_pillow_does_it(tmp_path: Path) -> None:
    pixels, small = noise(16, 12, 3), noise(8, 6, 3)
    original = saved(tmp_path / "original.png", pixels)
    found = measure(saved(tmp_path / "before.png", small), original, original)
    larger = Image.fromarray(small).resize((12, 16), Image.Resampling.BICUBIC)
    weights = np.array([0.299, 0.587, 0.114])
    error = ((np.asarray(larger) / 255 - pixels / 255) @ weights) ** 2
    assert found.plain == pytest.approx(-10 * np.log10(error.mean()), abs=1e-4)
    assert (found.resized, found.network) == (True, float("inf"))


def test_results_of_another_size_than_the_original_are_refused(tmp_path: Path) -> None:
    small, large = saved(tmp_path / "a.png", noise(8, 6)), saved(tmp_path / "b.png", noise(16, 12))
    with pytest.raises(ShadergenError, match="does not fit") as caught:
        measure(small, small, large)
    assert "the result has 8x6 pixels, the original 16x12" in caught.value.render()


def test_pictures_that_equal_their_originals_do_not_make_the_mean_infinite() -> None:
    several = [Quality(30.0, float("inf"), False), Quality(20.0, 40.0, False)]
    assert (mean(several).plain, mean(several).network) == (25.0, 40.0)
    assert mean(several[:1]).network == float("inf")


def test_several_pictures_count_equally(tmp_path: Path) -> None:
    original = saved(tmp_path / "original.png", np.full((8, 6), 100, np.uint8))
    found = [
        measure(original, saved(tmp_path / f"{k}.png", np.full((8, 6), k, np.uint8)), original)
        for k in (90, 99)
    ]
    expected = (found[0].network + found[1].network) / 2
    assert mean(found).network == pytest.approx(expected)
    assert mean(found).pictures == 2


@pytest.mark.parametrize(
    ("source", "result", "original", "says"),
    [
        ("a.png", None, "a.png", "--original also needs -o"),
        ("clip.mp4", "out.mp4", "a.png", "the original must be a video"),
        ("clip.mp4", "out.png", "clip.mp4", "the result of -o must be a video"),
        ("a.png", "b.png", "clip.mp4", "the original must be a picture"),
        ("a.png", "out.npz", "a.png", "the result of -o must be a picture"),
        ("a.png", "b.png", "b.npy", "the original must be a picture"),
        ("a.png", "b.png", "none.png", "cannot read "),
        ("low/one.png", "a.png", "a.png", "a.png' is the original"),
        ("low", "high", "high", "high' is the original"),
        ("low", "out", "a.png", "which is not a folder"),
        ("low", "out", "high", "lacks 1 original"),
    ],
)
def test_missing_originals_are_refused_before_the_work(
    tmp_path: Path, source: str, result: str | None, original: str, says: str
) -> None:
    for folder in ("low", "high"):
        (tmp_path / folder).mkdir()
    for name in ("a.png", "low/one.png", "low/two.png", "high/one.png"):
        saved(tmp_path / name, noise(4, 4))
    out = None if result is None else tmp_path / result
    with pytest.raises(ShadergenError) as caught:
        check_originals(tmp_path / source, out, tmp_path / original)
    assert says in caught.value.render()


@pytest.mark.gl
def test_run_prints_how_near_the_result_is(shadergen: Any, tmp_path: Path) -> None:
    build = tmp_path / "build"
    assert shadergen("compile", ESPCN, "-o", build, "--input-size", "16x24").code == 0
    for folder in ("low", "high"):
        (tmp_path / folder).mkdir()
    for name in ("a.png", "b.png"):
        saved(tmp_path / "low" / name, noise(16, 24, 3))
        saved(tmp_path / "high" / name, noise(32, 48, 3))
    low, high, out = tmp_path / "low" / "a.png", tmp_path / "high" / "a.png", tmp_path / "o.png"
    sheet = tmp_path / "sheet.png"
    ran = shadergen("run", build, low, "-o", out, "--original", high, "--compare", sheet)
    found = measure(low, out, high)
    assert f"PSNR on luma against {high}\n  bicubic  {found.plain:.2f} dB\n" in ran.out
    assert f"  network  {found.network:.2f} dB ({found.network - found.plain:+.2f} dB)" in ran.out
    assert "before, after and original, side by side" in ran.out
    parts = Image.open(sheet).size[0] / Image.open(out).size[0]
    assert parts > 3

    folders = (tmp_path / name for name in ("low", "made", "high"))
    source, made, wanted = folders
    ran = shadergen("run", build, source, "-o", made, "--original", wanted)
    assert f"PSNR on luma against {wanted}, mean of 2 pictures" in ran.out
    data = shadergen("run", build, low, "-o", out, "--original", high, "--json").json
    assert data["psnr"] == {"bicubic": found.plain, "network": found.network}

    saved(tmp_path / "high" / "b.png", noise(16, 48, 3))
    ran = shadergen("run", build, source, "-o", made, "--original", wanted)
    assert ran.code == 2
    assert "does not fit" in ran.err
    assert f"  network  {found.network:.2f} dB" in ran.out


def test_equal_pictures_are_called_equal() -> None:
    assert psnr_lines("high.png", "bicubic", 30.0, float("inf"))[1:] == (
        "  bicubic  30.00 dB",
        "  network  equal",
    )
    assert psnr_lines("high.png", "input", float("inf"), 30.0)[1] == "  input    equal"


def filmed(path: Path, size: tuple[int, int], frames: int, pixels: str = "yuv420p") -> Path:
    """Write a lossless video of soft noise."""
    av = pytest.importorskip("av")
    rng = np.random.default_rng(size[0] + frames)
    with av.open(str(path), "w") as video:
        stream = video.add_stream("ffv1", rate=10)
        (stream.height, stream.width), stream.pix_fmt = size, pixels
        for _ in range(frames):
            coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
            picture = coarse.resize((size[1], size[0]), Image.Resampling.BICUBIC)
            video.mux(stream.encode(av.VideoFrame.from_image(picture)))
        video.mux(stream.encode())
    return path


def luma_of(path: Path, size: tuple[int, int], pixels: str) -> np.ndarray:
    """Return the luma of all frames, 0 to 1 from black to white, by the numbers stored."""
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-pix_fmt", pixels, "-f", "rawvideo", "-"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    step = 4 if pixels.endswith("10le") else 1
    codes = np.frombuffer(data, "<u2" if step == 4 else "u1").reshape(-1, size[0] * 3 // 2, size[1])
    return (codes[:, : size[0]].astype(np.float64) / step - 16) / 219


@pytest.mark.parametrize("pixels", ["yuv420p", "yuv420p10le", "bgr0"])
def test_videos_are_compared_over_all_their_pixels(tmp_path: Path, pixels: str) -> None:
    require("ffmpeg")
    wanted = filmed(tmp_path / "wanted.mkv", (48, 64), 3, pixels)
    after = tmp_path / "after.mkv"
    blurred = ["ffmpeg", "-v", "error", "-i", str(wanted), "-vf", "avgblur=2", "-c:v", "ffv1"]
    subprocess.run([*blurred, str(after)], check=True)
    found = measure(wanted, after, wanted)
    assert found.plain == float("inf")
    assert (found.pictures, found.what, found.resized) == (3, "frame", False)
    if pixels != "bgr0":
        one, other = (luma_of(path, (48, 64), pixels) for path in (after, wanted))
        assert found.network == pytest.approx(-10 * np.log10(np.mean((one - other) ** 2)), abs=0.01)


@pytest.mark.parametrize(
    "options",
    [
        ("-pix_fmt", "yuv444p"),
        ("-pix_fmt", "yuv420p10le"),
        ("-pix_fmt", "yuyv422", "-c:v", "rawvideo"),
        ("-vf", "scale=out_range=full", "-color_range", "pc"),
        ("-vf", "scale=out_color_matrix=bt709", "-colorspace", "bt709", "-pix_fmt", "bgr0"),
    ],
)
def test_formats_do_not_count_as_differences(tmp_path: Path, options: tuple[str, ...]) -> None:
    require("ffmpeg")
    plain, wanted = filmed(tmp_path / "plain.mkv", (48, 64), 2), tmp_path / "wanted.mkv"
    stated = ["-vf", "scale=out_color_matrix=bt709", "-colorspace", "bt709", "-c:v", "ffv1"]
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(plain), *stated, str(wanted)], check=True)
    after = tmp_path / "after.mkv"
    command = ["ffmpeg", "-v", "error", "-i", str(wanted), "-c:v", "ffv1", *options, str(after)]
    subprocess.run(command, check=True)
    assert measure(wanted, after, wanted).network > 40  # RGB cannot hold all of the noise


def test_a_single_equal_frame_does_not_make_a_video_equal(tmp_path: Path) -> None:
    require("ffmpeg")
    one = filmed(tmp_path / "one.mkv", (48, 64), 2)
    black = ["-f", "lavfi", "-i", "color=black:s=64x48:r=10:d=0.1,format=yuv420p"]
    paths = []
    for name, noisy in (("wanted", one), ("after", filmed(tmp_path / "two.mkv", (48, 64), 3))):
        paths.append(tmp_path / f"{name}.mkv")
        joined = "[0][1]concat,trim=end_frame=3"
        command = ["ffmpeg", "-v", "error", *black, "-i", str(noisy), "-lavfi", joined]
        subprocess.run([*command, "-c:v", "ffv1", str(paths[-1])], check=True)
    wanted, after = paths
    assert 5 < measure(wanted, after, wanted).network < 30


def test_the_row_and_column_that_make_sides_even_do_not_count(tmp_path: Path) -> None:
    require("ffmpeg")
    wanted = filmed(tmp_path / "wanted.mkv", (33, 47), 2, "yuv444p")
    after = tmp_path / "after.mkv"
    padded = ["-vf", "pad=48:34,fillborders=right=1:bottom=1:mode=smear", "-c:v", "ffv1"]
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(wanted), *padded, str(after)], check=True)
    assert measure(wanted, after, wanted).network == float("inf")


def test_a_damaged_original_is_named(tmp_path: Path) -> None:
    made = filmed(tmp_path / "made.mkv", (48, 64), 8)
    data = bytearray(made.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4000] = bytes(4000)
    (tmp_path / "broken.mkv").write_bytes(data)
    with pytest.raises(ShadergenError):
        measure(made, made, tmp_path / "broken.mkv")


def test_a_smaller_video_is_enlarged(tmp_path: Path) -> None:
    small = filmed(tmp_path / "small.mkv", (24, 32), 2)
    wanted = filmed(tmp_path / "wanted.mkv", (48, 64), 2)
    found = measure(small, wanted, wanted)
    assert found.resized
    assert 5 < found.plain < 40
    assert found.network == float("inf")


@pytest.mark.parametrize(
    ("size", "frames", "says"),
    [
        ((48, 64), 4, "INPUT has 2 frames, the result 2, the original 4"),
        ((48, 64), 1, "INPUT has 2 frames, the result 2, the original 1"),
        ((24, 32), 2, "the result has 48x64 pixels, the original 24x32"),
    ],
)
def test_other_videos_are_no_originals(
    tmp_path: Path, size: tuple[int, int], frames: int, says: str
) -> None:
    made = filmed(tmp_path / "made.mkv", (48, 64), 2)
    with pytest.raises(ShadergenError, match="does not fit") as caught:
        measure(made, made, filmed(tmp_path / "other.mkv", size, frames))
    assert says in caught.value.render()


def test_the_number_of_frames_is_known_by_the_duration(tmp_path: Path) -> None:
    path = filmed(tmp_path / "in.mkv", (16, 24), 5)  # Matroska does not state the number
    with ExitStack() as stack:
        container, video = opened(path, stack)
        assert (video.frames, frames_of(container, video)) == (0, 5)


@pytest.mark.gl
@pytest.mark.parametrize(
    ("size", "frames", "says"),
    [
        ((32, 48), 4, "INPUT has 2 frames, the original 4"),
        ((16, 24), 2, "the result has 32x48 pixels, the original 16x24"),
    ],
)
def test_run_refuses_other_videos_before_the_work(
    shadergen: Any, tmp_path: Path, size: tuple[int, int], frames: int, says: str
) -> None:
    low, other = filmed(tmp_path / "low.mkv", (16, 24), 2), tmp_path / "other.mkv"
    filmed(other, size, frames)
    build, out = tmp_path / "build", tmp_path / "out.mkv"
    assert shadergen("compile", ESPCN, "-o", build, "--input-size", "16x24").code == 0
    ran = shadergen("run", build, low, "-o", out, "--original", other)
    assert (ran.code, says in ran.err, out.exists()) == (2, True, False), ran.err


@pytest.mark.gl
def test_run_compares_a_video_with_its_original(shadergen: Any, tmp_path: Path) -> None:
    build = tmp_path / "build"
    assert shadergen("compile", ESPCN, "-o", build, "--input-size", "16x24").code == 0
    low, high = (
        filmed(tmp_path / "low.mkv", (16, 24), 2),
        filmed(tmp_path / "high.mkv", (32, 48), 2),
    )
    out = tmp_path / "out.mkv"
    ran = shadergen("run", build, low, "-o", out, "--original", high)
    found = measure(low, out, high)
    assert f"PSNR on luma against {high}, over 2 frames\n" in ran.out
    assert f"  bicubic  {found.plain:.2f} dB\n  network  {found.network:.2f} dB" in ran.out
