"""Which numbers of a video networks see in players: its range, its transfer function, linear light.

A network that changes nothing shows whether colours pass through. One that computes gain * x +
offset shows x, since the player converts its result to what it shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.picture_networks import affine, save
from support.players import BT709, through_ffmpeg, through_mpv, video

from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gl
SIZE = (30, 38)
OUTPUTS = ("gpu, OpenGL", "gpu-next, OpenGL")
SRGB, PQ, HLG = "iec61966-2-1", "smpte2084", "arib-std-b67"
WHITE = 203  # cd/m2 of 1.0 in linear light
BLACK = 0.001  # of linear light in libplacebo: SDR has a contrast of 1000
BLOCK = 12  # pixels of one colour: filters that enlarge reach less far
STAGES = {"LUMA": 1, "CHROMA": 2, "MAIN": 3}  # channels
NEVER = """//!HOOK MAIN
//!BIND HOOKED
//!WHEN 0
//!DESC nothing
vec4 hook() { return vec4(0.0); }
"""


def shader_of(folder: Path, channels: int, gain: float, offset: float, hook: str) -> Path:
    shader = folder / f"{hook}.glsl"
    model = save(affine(channels, gain, offset), folder)
    compile_model(model, shader, Options(package="mpv", hook=hook))
    return shader


def never(folder: Path) -> Path:
    """Return a shader that no player runs."""
    path = folder / "never.glsl"
    path.write_text(NEVER)
    return path


def colours(transfer: str, levels: str) -> tuple[str, ...]:
    """Return what FFmpeg is told of an HDR video, of limited ("tv") or full range ("pc")."""
    space = ("-color_primaries", "bt2020", "-colorspace", "bt2020nc")
    return ("-color_trc", transfer, *space, "-color_range", levels)


def hdr_frame() -> np.ndarray:
    """Return planes of a 4:2:0 video of 10 bits, to about 1000 cd/m2."""
    random = np.random.default_rng(5)
    chroma = random.integers(450, 574, (2, SIZE[0] // 2, SIZE[1] // 2))
    planes = (random.integers(64, 720, SIZE).ravel(), chroma.ravel())
    return np.concatenate(planes).astype("<u2")


def to_light(codes: np.ndarray, transfer: str) -> np.ndarray:
    """Return linear light, 1.0 for white, of RGB codes of 0 to 1."""
    if transfer == SRGB:
        return np.where(codes <= 0.04045, codes / 12.92, ((codes + 0.055) / 1.055) ** 2.4)
    p = codes ** (32 / 2523)  # SMPTE ST 2084
    light = np.maximum(p - 3424 / 4096, 0) / (2413 / 128 - 2392 / 128 * p)
    return light ** (16384 / 2610) * 10000 / WHITE


def from_light(light: np.ndarray, transfer: str) -> np.ndarray:
    """Return the RGB codes of linear light."""
    light = np.maximum(light, 0)
    if transfer == SRGB:
        return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    p = (light * WHITE / 10000) ** (2610 / 16384)
    return ((3424 / 4096 + 2413 / 128 * p) / (1 + 2392 / 128 * p)) ** (2523 / 32)


@pytest.mark.parametrize("levels", ["tv", "pc"])
@pytest.mark.parametrize("transfer", [PQ, HLG])
@pytest.mark.parametrize("hook", STAGES)
def test_hdr_passes_through_ffmpeg(hook, transfer, levels, tmp_path):
    shader = shader_of(tmp_path, STAGES[hook], 1, 0, hook)
    source = colours(transfer, levels)
    shown = [
        through_ffmpeg(each, hdr_frame(), SIZE, "yuv420p10le", 1, "yuv444p10le", source).astype(int)
        for each in (shader, never(tmp_path))
    ]
    assert abs(shown[0] - shown[1]).max() <= 1
    assert shown[1].std() > 30


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("levels", ["tv", "pc"])
@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_hdr_passes_through_mpv(transfer, levels, output, tmp_path):
    """The window shows 8 bits, after tone mapping."""
    source = colours(transfer, levels)
    clip = video(hdr_frame().tobytes(), SIZE, "yuv420p10le", "left", tmp_path, source)
    plain = through_mpv(never(tmp_path), clip, output, SIZE, "--hdr-compute-peak=no").astype(int)
    assert plain.std() > 30
    for hook, channels in STAGES.items():
        shader = shader_of(tmp_path, channels, 1, 0, hook)
        shown = through_mpv(shader, clip, output, SIZE, "--hdr-compute-peak=no")
        assert abs(shown - plain).max() <= 1, hook


def rgb_blocks(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Return random colours, 5 x 7 x 3, and a picture with a block of each."""
    chosen = np.random.default_rng(5).integers(0, np.iinfo(dtype).max + 1, (5, 7, 3), dtype)
    return chosen, chosen.repeat(BLOCK, 0).repeat(BLOCK, 1)


def middles(picture: np.ndarray, scale: int) -> np.ndarray:
    """Return the pixel in the middle of each block."""
    step = BLOCK * scale
    return picture[step // 2 :: step, step // 2 :: step]


def through_ffmpeg_in_blocks(shader: Path, transfer: str, scale: int) -> tuple[np.ndarray, ...]:
    """Return colours and what FFmpeg makes of them, 0 to 1, in 16 bits."""
    chosen, picture = rgb_blocks(np.uint16)
    size = picture.shape[:2]
    frame = np.concatenate((picture, np.full((*size, 1), 65535, np.uint16)), 2)
    source = ("-color_trc", transfer, "-color_primaries", "bt2020")
    got = through_ffmpeg(shader, frame, size, "rgba64le", scale, source=source)
    got = got.reshape(size[0] * scale, size[1] * scale, 4)[..., :3]
    return chosen / 65535, middles(got, scale) / 65535


@pytest.mark.parametrize("transfer", [PQ, HLG, SRGB])
def test_a_network_at_main_sees_codes(transfer, tmp_path):
    shader = shader_of(tmp_path, 3, 0.5, 0.1, "MAIN")
    codes, shown = through_ffmpeg_in_blocks(shader, transfer, 1)
    assert abs(shown - (0.5 * codes + 0.1)).max() <= 1e-3


@pytest.mark.parametrize("transfer", [PQ, SRGB])
def test_a_network_at_linear_sees_linear_light_in_ffmpeg(transfer, tmp_path):
    """White is 1.0, and PQ reaches 49."""
    shader = shader_of(tmp_path, 3, 0.5, 0.01, "LINEAR")
    codes, shown = through_ffmpeg_in_blocks(shader, transfer, 2)
    black = BLACK if transfer == SRGB else 0
    seen = black + (1 - black) * to_light(codes, transfer)
    wanted = from_light((0.5 * seen + 0.01 - black) / (1 - black), transfer)
    assert abs(shown - wanted).max() <= 1e-3


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_network_at_linear_sees_linear_light_in_mpv(output, tmp_path):
    shader = shader_of(tmp_path, 3, 0.5, 0.01, "LINEAR")
    chosen, picture = rgb_blocks(np.uint8)
    black = BLACK if "next" in output else 0
    seen = black + (1 - black) * to_light(chosen / 255, SRGB)
    wanted = from_light((0.5 * seen + 0.01 - black) / (1 - black), SRGB)
    size = (picture.shape[0] * 2, picture.shape[1] * 2)
    shown = through_mpv(shader, picture, output, size, "--linear-upscaling=yes")
    assert abs(middles(shown, 2) - 255 * wanted).max() <= 1
    plain = through_mpv(shader, picture, output, size)  # without the option, the stage is absent
    assert (middles(plain, 2) == chosen).all()


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("levels", ["tv", "pc"])
@pytest.mark.parametrize(("pixels", "bits"), [("yuv420p", 8), ("yuv420p10le", 10)])
def test_a_network_of_luma_sees_the_numbers_stored_in_mpv(pixels, bits, levels, output, tmp_path):
    """Limited range as well as full range."""
    unit, top = 1 << bits - 8, (1 << bits) - 1
    black, white = (16 * unit, 235 * unit) if levels == "tv" else (0, top)
    dtype = np.uint8 if bits == 8 else np.dtype("<u2")
    luma = np.random.default_rng(5).integers(black, white + 1, SIZE).astype(dtype)
    chroma = np.full((2, SIZE[0] // 2, SIZE[1] // 2), 128 * unit, dtype)
    source = ("-color_range", levels, *BT709[2:])
    clip = video(luma.tobytes() + chroma.tobytes(), SIZE, pixels, "left", tmp_path, source)
    shown = through_mpv(shader_of(tmp_path, 1, 0.5, 0.2, "LUMA"), clip, output, SIZE)
    wanted = (0.5 * luma + 0.2 * top - black) / (white - black)
    assert abs(shown - 255 * wanted.clip(0, 1)[..., np.newaxis]).max() <= 1
