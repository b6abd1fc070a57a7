"""``run net.glsl`` on videos, which FFmpeg reads, renders and writes."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from support.players import filters, require

pytestmark = pytest.mark.gl
LUMA, CB, CR = 90, 110, 150  # codes of every pixel
HALVES = """//!HOOK LUMA
//!BIND HOOKED
vec4 hook() { return vec4(0.5 * HOOKED_tex(HOOKED_pos).rgb + vec3(0.25), 1.0); }
"""
DOUBLES = """//!HOOK LUMA
//!BIND HOOKED
//!WIDTH HOOKED.w 2 *
//!HEIGHT HOOKED.h 2 *
vec4 hook() { return HOOKED_tex(HOOKED_pos); }
"""


@pytest.fixture(autouse=True)
def ffmpeg():
    require("ffmpeg")
    require("ffprobe")
    if "libplacebo" not in filters():
        pytest.skip("this FFmpeg has no libplacebo filter")


def made(path, pixels="yuv420p", size=(36, 64), frames=3, *options):
    """Return a video of one colour."""
    planes = [np.full(size, LUMA, np.uint8)]
    planes += [np.full(size, code, np.uint8) for code in (CB, CR)]
    source = ("-f", "rawvideo", "-pix_fmt", "yuv444p", "-s", f"{size[1]}x{size[0]}", "-r", "10")
    command = ["ffmpeg", "-v", "error", *source, "-i", "-", "-pix_fmt", pixels, *options, str(path)]
    subprocess.run(command, input=np.stack(planes).tobytes() * frames, check=True)
    return path


def shader(folder, text=HALVES):
    path = folder / "net.glsl"
    path.write_text(text)
    return path


def stated(path, entries):
    command = ["ffprobe", "-v", "error", "-show_entries", f"stream={entries}", "-of", "json"]
    return json.loads(subprocess.check_output([*command, str(path)]))["streams"]


def planes(path, size, pixels="yuv444p"):
    """Return the planes of the first frame, 3 x height x width, as stored."""
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-frames:v", "1", "-pix_fmt", pixels]
    out = subprocess.check_output([*command, "-f", "rawvideo", "-"])
    return np.frombuffer(out, "<u2" if pixels.endswith("le") else np.uint8).reshape(3, *size)


@pytest.mark.parametrize(
    ("pixels", "options"),
    [
        ("yuv420p", ("-c:v", "ffv1", "-colorspace", "bt709")),
        ("yuv422p", ("-c:v", "ffv1", "-colorspace", "bt709")),
        ("yuv420p10le", ("-c:v", "ffv1", "-colorspace", "bt709")),
        ("yuvj420p", ("-c:v", "mjpeg", "-q:v", "2", "-vf", "setrange=pc", "-color_range", "pc")),
    ],
)
def test_a_network_of_luma_sees_and_writes_the_numbers_stored(shadergen, tmp_path, pixels, options):
    source = made(tmp_path / "in.mkv", pixels, (36, 64), 3, *options)
    output = tmp_path / "out.mkv"
    ran = shadergen("run", shader(tmp_path), source, "-o", output, "--json").json
    assert (ran["frames"], ran["passes"], ran["size"]) == (3, 1, [36, 64])
    deep = pixels.endswith("10le")
    shown = planes(output, (36, 64), "yuv444p10le" if deep else "yuv444p") / (4 if deep else 1)
    seen = planes(source, (36, 64)).astype(float)[:, 18, 32]
    wanted = (0.5 * seen[0] + 0.25 * 255, seen[1], seen[2])
    assert abs(shown[:, 18, 32] - wanted).max() <= 1.5
    kind = "yuv420p10le" if deep else "yuv420p" if pixels != "yuvj420p" else "yuvj420p"
    assert stated(output, "pix_fmt")[0]["pix_fmt"] == kind


def test_a_video_of_rgb_becomes_bt709(shadergen, tmp_path):
    source = made(tmp_path / "in.mkv", "gbrp", (36, 64), 2, "-c:v", "ffv1")
    output = tmp_path / "out.mkv"
    text = HALVES.replace("LUMA", "MAIN")
    assert shadergen("run", shader(tmp_path, text), source, "-o", output).code == 0
    assert stated(output, "color_space,pix_fmt")[0] == {
        "color_space": "bt709",
        "pix_fmt": "yuv420p",
    }
    before, after = (planes(path, (36, 64), "gbrp")[:, 18, 32] for path in (source, output))
    assert abs(after - (0.5 * before.astype(float) + 0.25 * 255)).max() <= 4  # through 4:2:0


def test_a_shader_for_rgb_videos_is_refused_on_others(shadergen, tmp_path):
    text = HALVES.replace("LUMA", "RGB")
    file, output = shader(tmp_path, text), tmp_path / "out.mkv"
    ran = shadergen("run", file, made(tmp_path / "yuv.mkv"), "-o", output)
    assert ran.code == 2
    assert "the user shader does not run on " in ran.err
    assert "this one is yuv420p" in ran.err
    assert "--hook MAIN" in ran.err
    rgb = made(tmp_path / "rgb.mkv", "gbrp", (36, 64), 2, "-c:v", "ffv1")
    assert shadergen("run", file, rgb, "-o", output).code == 0
    before, after = (planes(path, (36, 64), "gbrp")[:, 18, 32] for path in (rgb, output))
    assert abs(after - (0.5 * before.astype(float) + 0.25 * 255)).max() <= 4  # through 4:2:0


def test_what_a_video_keeps_of_chroma_is_said_and_not_compared_by_luma(shadergen, tmp_path):
    file = shader(tmp_path, HALVES.replace("LUMA", "CHROMA"))
    source, output = made(tmp_path / "in.mkv"), tmp_path / "out.mkv"
    assert "holds chroma at half the height" in shadergen("run", file, source, "-o", output).out
    ran = shadergen("run", file, source, "-o", output, "--original", source)
    assert ran.code == 2
    assert "--original compares luma" in ran.err


def test_a_video_is_compared_with_its_original(shadergen, tmp_path):
    pytest.importorskip("av")
    source = made(tmp_path / "in.mkv", "yuv420p", (36, 64), 3, "-c:v", "ffv1")
    output = tmp_path / "out.mkv"
    ran = shadergen("run", shader(tmp_path), source, "-o", output, "--original", source)
    assert f"PSNR on luma against {source}, over 3 frames\n  input    equal\n" in ran.out
    error = abs(0.5 * LUMA + 0.25 * 255 - LUMA) / 219  # codes from black to white
    network = float(ran.out.split("network")[1].split()[0])
    assert network == pytest.approx(-20 * np.log10(error), abs=0.4)


def test_an_original_of_another_size_is_refused_before_the_work(shadergen, tmp_path):
    pytest.importorskip("av")
    source = made(tmp_path / "in.mkv", "yuv420p", (36, 64), 3, "-c:v", "ffv1")
    output = tmp_path / "out.mkv"
    ran = shadergen("run", shader(tmp_path, DOUBLES), source, "-o", output, "--original", source)
    assert "the result has 72x128 pixels, the original 36x64" in ran.err
    assert not output.exists()


def test_sizes_sound_and_streams_of_a_video(shadergen, tmp_path):
    """Odd sides get one more row or column; sound is copied, and a note names what is not."""
    plain = made(tmp_path / "plain.mkv", "yuv444p", (33, 47), 10, "-c:v", "ffv1")
    (tmp_path / "a.srt").write_text("1\n00:00:00,000 --> 00:00:01,000\nwords\n")
    source = tmp_path / "in.mkv"
    command = ["ffmpeg", "-v", "error", "-i", str(plain), "-f", "lavfi", "-i", "sine=duration=1"]
    command += [
        "-i",
        str(tmp_path / "a.srt"),
        "-map",
        "0",
        "-map",
        "1",
        "-map",
        "2",
        "-c:v",
        "copy",
    ]
    subprocess.run([*command, str(source)], check=True)
    output = tmp_path / "out.mkv"
    tripled = DOUBLES.replace(" 2 *", " 3 *")
    ran = shadergen("run", shader(tmp_path, tripled), source, "-o", output)
    assert ran.code == 0
    assert "1 further streams, such as subtitles, were left out" in ran.out
    assert "taken as BT.601" in ran.out
    assert "the last row or column was repeated" in ran.out
    assert ran.out.splitlines()[-1].startswith(f"{output}: 100x142, 1 GPU pass in FFmpeg's")
    assert "10 frames," in ran.out
    video, sound = stated(output, "codec_type,width,height,color_space,codec_name")
    assert (video["width"], video["height"], video["color_space"]) == (142, 100, "smpte170m")
    assert sound["codec_name"] == stated(source, "codec_name")[1]["codec_name"]
    luma = planes(output, (100, 142))[0].astype(int)
    assert abs(luma - LUMA).max() <= 1  # the row and the column that were added are no black


def test_a_turned_video_is_shown_upright(shadergen, tmp_path):
    plain = made(tmp_path / "plain.mp4", "yuv420p", (36, 64), 2, "-c:v", "mpeg4")
    source = tmp_path / "in.mp4"
    turn = ("-c", "copy", "-metadata:s:v:0", "rotate=90")
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(plain), *turn, str(source)], check=True)
    turned = stated(source, "width:stream_side_data=rotation")[0]
    assert "side_data_list" in turned
    output = tmp_path / "out.mp4"
    ran = shadergen("run", shader(tmp_path, DOUBLES), source, "-o", output, "--json").json
    assert ran["size"] == [128, 72]
    assert stated(output, "width,height")[0] == {"width": 72, "height": 128}


def test_what_cannot_be_read_or_written_is_refused(shadergen, tmp_path):
    output = tmp_path / "out.mkv"
    broken = tmp_path / "broken.mkv"
    broken.write_bytes(b"no video")
    ran = shadergen("run", shader(tmp_path), broken, "-o", output)
    assert ran.code == 2
    assert f"error[SG0101]: cannot read '{broken}' as a video" in ran.err
    source = made(tmp_path / "in.mkv", "yuv420p", (36, 64), 2, "-c:v", "ffv1")
    wrong = shader(tmp_path, "//!HOOK LUMA\n//!BIND HOOKED\nvec4 hook() { return nothing; }\n")
    ran = shadergen("run", wrong, source, "-o", output)
    assert "error[SG0607]: FFmpeg's libplacebo filter failed" in ran.err
    assert "= why: the line is: vec4 hook() { return nothing; }" in ran.err
    idle = shader(tmp_path, "//!HOOK LUMA\n//!WHEN HOOKED.w 64 >\n")
    ran = shadergen("run", idle, source, "-o", output)
    assert "HOOKED.w > 64 (HOOKED.w is 64)" in ran.err
    assert not output.exists()
