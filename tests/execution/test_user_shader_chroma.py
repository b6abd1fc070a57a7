"""User shaders of luma and chroma on videos, compared with ONNX Runtime on the same planes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort
import pytest
from support.picture_networks import chroma, chroma_from_luma, espcn
from support.players import MPV, through_ffmpeg, through_mpv, video
from support.user_shaders import COMPUTE, NOTHING, codes_apart, reference, written

if TYPE_CHECKING:
    from onnx import ModelProto

pytestmark = pytest.mark.gl
# Repeats pixels of chroma, so that the frame shows them without a filter.
REPEAT_CHROMA = """
//!HOOK CHROMA
//!BIND HOOKED
//!BIND LUMA
//!WIDTH LUMA.w
//!HEIGHT LUMA.h
//!OFFSET ALIGN
//!DESC repeat
vec4 hook() { return texelFetch(HOOKED_raw, ivec2(LUMA_pos * LUMA_size) / 2, 0); }
"""


@pytest.mark.parametrize(
    ("pixels", "dtype", "top"), [("yuv444p", np.uint8, 255), ("yuv444p10le", np.uint16, 1023)]
)
def test_luma_of_videos_is_the_number_stored(pixels, dtype, top, tmp_path):
    """Limited range and 10 bits; the player puts chroma back that it does not show the network."""
    model, size = espcn(), (18, 26)
    random = np.random.default_rng(3)
    luma = random.integers(top // 3, top // 2, size).astype(dtype)
    gray = np.full_like(luma, (top + 1) // 2)
    frame = np.stack((luma, gray, gray))
    got = through_ffmpeg(written(model, tmp_path), frame, size, pixels, 2).reshape(3, 36, 52)
    wanted = reference(model, luma[..., None] / top)[..., 0]
    shown = (wanted > 0.07) & (wanted < 0.9)  # black and white are 16 and 235 of 255
    assert shown.mean() > 0.7
    assert abs(got[0] / top - wanted)[shown].max() <= 1.5 / 255
    assert abs(got[1:].astype(int) - gray[0, 0]).max() <= 1


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize(
    ("scale", "pixels", "linear"),
    [(1, "yuv444p", False), (2, "yuv420p", False), (2, "yuv420p", True)],
)
def test_chroma_is_both_planes(scale, pixels, linear, stage, tmp_path):
    """The network's pixels are centred on those of luma, as this video says its chroma is."""
    model, size = chroma(scale, linear), (20, 28)
    random = np.random.default_rng(3)
    planes = random.integers(110, 146, (2, size[0] // scale, size[1] // scale)).astype(np.uint8)
    luma = np.full(size, 120, np.uint8)
    frame = np.concatenate((luma.ravel(), planes.ravel()))
    centred = ("-chroma_sample_location", "center")
    more = {"upscale_from": 0.9} if scale > 1 else {}
    shader = written(model, tmp_path, stage=stage, **more)
    shuffles = "imageStore(out_image, out_pixel * " in shader.read_text()
    assert shuffles == (scale > 1 and stage == "compute")
    got = through_ffmpeg(shader, frame, size, pixels, 1, "yuv444p", centred).reshape(3, *size)
    wanted = reference(model, planes.transpose(1, 2, 0) / 255)
    assert codes_apart(got[1:].transpose(1, 2, 0), wanted) <= 1
    assert abs(got[0].astype(int) - 120).max() <= 1


def luma_and_chroma(size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return random planes of a 4:2:0 video, far from black and white."""
    random = np.random.default_rng(3)
    luma = random.integers(110, 146, size).astype(np.uint8)
    return luma, random.integers(110, 146, (2, size[0] // 2, size[1] // 2)).astype(np.uint8)


def reference_of_chroma(model: ModelProto, luma: np.ndarray, planes: np.ndarray) -> np.ndarray:
    """Return ONNX Runtime's result of chroma and luma, 2 x height x width."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {"luma": np.float32(luma / 255)[None, None], "x": np.float32(planes / 255)[None]}
    return session.run(None, given)[0][0]


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize("luma_first", [True, False])
@pytest.mark.parametrize("scale", [1, 2])
def test_chroma_may_read_luma(scale, luma_first, stage, tmp_path):
    """Pixel for pixel, wherever the video says that its chroma lies."""
    model, size = chroma_from_luma(scale, luma_first), (22, 34)
    luma, planes = luma_and_chroma(size)
    frame = np.concatenate((luma.ravel(), planes.ravel()))
    wanted = reference_of_chroma(model, luma, planes)
    shader = written(model, tmp_path, luma="luma", stage=stage)
    if scale == 1:
        shader.write_text(shader.read_text() + REPEAT_CHROMA)
        wanted = wanted.repeat(2, 1).repeat(2, 2)
    for location in ("left", "center", "topleft"):
        source = ("-chroma_sample_location", location)
        got = through_ffmpeg(shader, frame, size, "yuv420p", 1, "yuv444p", source)
        assert (got[: luma.size] == luma.ravel()).all()
        assert codes_apart(got[luma.size :].reshape(wanted.shape), wanted) <= 1, location


@pytest.mark.parametrize(
    ("stage", "output"), [("fragment", o) for o in MPV] + [("compute", o) for o in COMPUTE]
)
def test_mpv_upscales_chroma_that_reads_luma(stage, output, tmp_path):
    model, size = chroma_from_luma(), (22, 34)
    luma, planes = luma_and_chroma(size)
    y, cb, cr = (luma - 16.0) / 219, *((255 * reference_of_chroma(model, luma, planes) - 128) / 224)
    rgb = (y + 1.5748 * cr, y - 0.187324 * cb - 0.468124 * cr, y + 1.8556 * cb)  # BT.709
    shader = written(model, tmp_path, luma="luma", stage=stage)
    frame = luma.tobytes() + planes.tobytes()
    for location in ("left", "center"):
        clip = video(frame, size, "yuv420p", location, tmp_path)
        shown = through_mpv(shader, clip, output, size)
        assert codes_apart(shown, np.stack(rgb, 2).clip(0, 1)) <= 1, location
        clip.unlink()


@pytest.mark.parametrize(
    ("size", "chroma_size", "pixels"),
    [((21, 33), (11, 17), "yuv420p"), ((22, 34), (22, 34), "yuv444p")],
)
def test_luma_that_is_not_twice_as_large_as_chroma_is_not_read(size, chroma_size, pixels, tmp_path):
    """At odd sizes, chroma is rounded up; in 4:4:4 video, it is as large as luma."""
    shader = written(chroma_from_luma(), tmp_path, luma="luma")
    random = np.random.default_rng(3)
    planes = [random.integers(110, 146, s).astype(np.uint8) for s in (size, *[chroma_size] * 2)]
    frame = np.concatenate([plane.ravel() for plane in planes])
    without = tmp_path / "none.glsl"
    without.write_text(NOTHING)
    got, plain = (through_ffmpeg(each, frame, size, pixels) for each in (shader, without))
    assert (got == plain).all()


def test_a_share_of_a_network_of_chroma_that_reads_luma(tmp_path):
    model, size = chroma_from_luma(1), (22, 34)
    luma, planes = luma_and_chroma(size)
    shader = written(model, tmp_path, luma="luma", strength=0.5)
    frame = np.concatenate((luma.ravel(), planes.ravel()))
    shader.write_text(shader.read_text() + REPEAT_CHROMA)
    got = through_ffmpeg(shader, frame, size, "yuv420p", 1, "yuv444p")[luma.size :]
    wanted = (reference_of_chroma(model, luma, planes) + planes / 255) / 2
    wanted = wanted.repeat(2, 1).repeat(2, 2)
    assert codes_apart(got.reshape(wanted.shape), wanted) <= 1
