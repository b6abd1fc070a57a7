"""User shaders in real players, compared with ONNX Runtime on the same pictures.

Players hold what passes save in 16-bit floats: 8-bit results differ by at most one code.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from support import ESPCN, third_party
from support.picture_networks import (
    Network,
    anime4k,
    artcnn,
    chroma,
    chroma_from_luma,
    cunny,
    denoiser,
    enlarged_features,
    espcn,
    fsrcnnx,
    gated,
    grouped,
    halved,
    padded,
    residual,
    save,
    shuffled,
    transposed,
    unet,
    unshuffled,
    upscaler,
    wide,
)
from support.players import MPV, through_ffmpeg, through_mpv, video
from support.random_picture_networks import random_network

from shadergen.compiler.compilation import import_model
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from onnx import ModelProto

pytestmark = pytest.mark.gl
SIZES = ((29, 37), (48, 64), (33, 18), (7, 5))
NETWORKS = {"espcn": (espcn, 2), "denoiser": (denoiser, 1), "upscaler": (upscaler, 2)}
SIDE_BY_SIDE = NETWORKS | {"wide": (wide, 2), "residual": (residual, 1)}  # in compute passes
LUMA = ("espcn", "wide")
COMPUTE = [output for output in MPV if "ES" not in output]  # mpv 0.35 dispatches none on OpenGL ES
NOTHING = """//!HOOK LUMA
//!BIND HOOKED
//!WHEN 0
//!DESC nothing
vec4 hook() { return vec4(0.0); }
"""
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
# Of 1: three layers' results are rounded to 11 digits each.
TOLERANCE_16 = 1e-3
# Of 1, by channels: what FFmpeg's filter itself loses of 16-bit luma and RGB: its last texture has
# 16-bit floats, and RGB loses twice as much even without a user shader.
STORED = {1: 2.6e-4, 3: 8e-4}
# How many random networks are played: RANDOM_NETWORKS=100 takes ten minutes.
RANDOM = int(os.environ.get("RANDOM_NETWORKS", "6"))
# Of 1, where products and sums are rounded, too. Players on OpenGL compute in 32 bits all the same.
TOLERANCE_FP16 = 1e-2


def written(model: ModelProto | Path, folder: Path, **options: object) -> Path:
    """Return the user shader of a model."""
    path = model if isinstance(model, Path) else save(model, folder)
    shader = folder / "net.glsl"
    compile_model(path, shader, Options(package="mpv", **options))
    return shader


def reference(model: ModelProto, picture: np.ndarray) -> np.ndarray:
    """Return ONNX Runtime's result, height x width x channels, of a picture of 0 to 1."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": picture.transpose(2, 0, 1)[None].astype(np.float32)})
    return result[0].transpose(1, 2, 0)


def noise(height: int, width: int, channels: int, dtype: type = np.uint8) -> np.ndarray:
    """Return noise, to which every pixel of a result owes something."""
    random = np.random.default_rng(height)
    return random.integers(0, np.iinfo(dtype).max + 1, (height, width, channels), dtype)


def codes_apart(got: np.ndarray, wanted: np.ndarray) -> int:
    """Return by how many codes of 8 bits a frame differs from what it should be, 0 to 1."""
    return int(abs(got.astype(int) - np.rint(wanted * 255)).max())


def through_filter(shader: Path, frame: np.ndarray, scale: float) -> np.ndarray:
    """Return gray or opaque RGB, height x width x channels, after FFmpeg's filter."""
    size, eight = frame.shape[:2], frame.dtype == np.uint8
    if frame.shape[2] == 1:
        pixels = "gray" if eight else "gray16le"
    else:
        pixels = "rgba" if eight else "rgba64le"
        opaque = np.full((*size, 1), np.iinfo(frame.dtype).max, frame.dtype)
        frame = np.concatenate((frame, opaque), 2)
    got = through_ffmpeg(shader, frame, size, pixels, scale)
    return got.reshape(*(round(side * scale) for side in size), frame.shape[2])[..., :3]


@pytest.mark.parametrize("name", NETWORKS)
def test_ffmpeg_shows_what_onnx_runtime_computes(name, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    shader = written(model, tmp_path)
    channels = 1 if name == "espcn" else 3
    for size in SIZES:
        frame = noise(*size, channels)
        got = through_filter(shader, frame, scale)
        assert codes_apart(got, reference(model, frame / 255)) <= 1, size


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize("name", NETWORKS)
def test_ffmpeg_shows_it_in_16_bits(name, stage, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    frame = noise(29, 37, 1 if name == "espcn" else 3, np.uint16)
    got = through_filter(written(model, tmp_path, stage=stage), frame, scale)
    assert abs(got / 65535 - reference(model, frame / 65535)).max() <= TOLERANCE_16


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize("name", NETWORKS)
def test_ffmpeg_computes_in_16_bits(name, stage, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    frame = noise(29, 37, 1 if name == "espcn" else 3, np.uint16)
    shader = written(model, tmp_path, stage=stage, precision="mediump")
    got = through_filter(shader, frame, scale)
    assert abs(got / 65535 - reference(model, frame / 65535)).max() <= TOLERANCE_FP16
    in_32_bits = through_filter(written(model, tmp_path, stage=stage), frame, scale)
    assert (got != in_32_bits).any()


@pytest.mark.parametrize(
    ("stage", "output"), [("fragment", o) for o in MPV] + [("compute", o) for o in COMPUTE]
)
@pytest.mark.parametrize("name", NETWORKS)
def test_mpv_plays_shaders_of_16_bits(name, stage, output, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    frame = noise(29, 37, 1 if name == "espcn" else 3)
    shader = written(model, tmp_path, stage=stage, precision="mediump")
    shown = through_mpv(shader, frame.squeeze(), output, (29 * scale, 37 * scale))
    wanted = reference(model, frame / 255)
    assert abs(shown[..., : wanted.shape[2]] / 255 - wanted).max() <= TOLERANCE_FP16 + 0.5 / 255


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_ffmpeg_runs_compute_passes(name, tmp_path):
    make, scale = SIDE_BY_SIDE[name]
    model = make()
    shader = written(model, tmp_path, stage="compute")
    for size in SIZES:
        frame = noise(*size, 1 if name in LUMA else 3)
        got = through_filter(shader, frame, scale)
        assert codes_apart(got, reference(model, frame / 255)) <= 1, size


@pytest.mark.parametrize("device", ["adreno-7xx", "amd-rdna"])
def test_ffmpeg_runs_what_a_family_of_gpus_takes(device, tmp_path):
    """Layers of one, two, three and four planes a pass, beside each other."""
    net = Network(1)
    x = net.add("Relu", net.conv("x", 1, 16, 3, "conv1"), name="relu1")
    x = net.add("Relu", net.conv(x, 16, 32, 3, "conv2"), name="relu2")
    net.conv(net.add("Relu", net.conv(x, 32, 24, 3, "conv3"), name="relu3"), 24, 1, 3, "conv4")
    model = net.model(1)
    shader = written(model, tmp_path, device=device)
    frame = noise(29, 37, 1)
    got = through_filter(shader, frame, 1)
    assert codes_apart(got, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize(
    ("make", "channels", "scale", "size"),
    [
        (transposed, 1, 3, (29, 37)),
        (grouped, 3, 1, (29, 37)),
        (gated, 1, 1, (29, 37)),
        (unshuffled, 1, 1, (30, 38)),
        (padded, 1, 1, (29, 37)),
        (padded, 1, 1, (1, 3)),
        (fsrcnnx, 1, 2, (29, 37)),
        (anime4k, 3, 2, (29, 37)),
        (cunny, 1, 2, (29, 37)),
        (residual, 3, 1, (29, 37)),
    ],
)
def test_layers_of_many_kinds(make, channels, scale, size, stage, tmp_path):
    model = make()
    frame = noise(*size, channels)
    got = through_filter(written(model, tmp_path, stage=stage), frame, scale)
    assert codes_apart(got, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize(
    ("stage", "channels", "mode"),
    [("fragment", 240, "CRD"), ("compute", 256, "CRD"), ("compute", 256, "DCR")],
)
def test_a_pass_of_a_pixel_shuffle_binds_the_planes_that_it_reads(stage, channels, mode, tmp_path):
    model = shuffled(channels, mode)
    frame = noise(9, 13, 3)
    got = through_filter(written(model, tmp_path, stage=stage), frame, 2)
    assert codes_apart(got, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize(("precision", "tolerance"), [("highp", 1), ("mediump", 3)])
@pytest.mark.parametrize("stage", ["fragment", "compute"])
def test_ffmpeg_reads_weights_from_textures(stage, precision, tolerance, tmp_path):
    model = espcn()
    shader = written(model, tmp_path, stage=stage, weights="texture", precision=precision)
    assert "//!TEXTURE" in shader.read_text()
    frame = noise(29, 37, 1)
    got = through_filter(shader, frame, 2)
    assert codes_apart(got, reference(model, frame / 255)) <= tolerance


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize("output", COMPUTE)  # on OpenGL ES, mpv has no textures of 32-bit floats
def test_mpv_reads_weights_from_textures(stage, output, tmp_path):
    model = espcn()
    frame = noise(29, 37, 1)
    shader = written(model, tmp_path, stage=stage, weights="texture")
    shown = through_mpv(shader, frame.squeeze(), output, (58, 74))
    assert codes_apart(shown[..., :1], reference(model, frame / 255)) <= 1


def test_a_layer_too_large_for_constants_runs_in_ffmpeg(tmp_path):
    """It took players minutes to compile 9216 constants in one pass."""
    model = wide(size=3)
    shader = written(model, tmp_path, stage="compute")
    assert "//!TEXTURE" in shader.read_text()
    frame = noise(29, 37, 1)
    got = through_filter(shader, frame, 2)
    assert codes_apart(got, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize(
    ("make", "channels", "scale", "size", "strength"),
    [
        (espcn, 1, 2, (29, 37), 1),
        (cunny, 1, 2, (29, 37), 1),
        (padded, 1, 1, (1, 3), 1),
        (anime4k, 3, 2, (29, 37), 1),
        (partial(shuffled, 64, "CRD"), 3, 2, (9, 13), 1),  # stores the pixels of blocks
        (residual, 3, 1, (29, 37), 0.5),
    ],
)
def test_split_intermediates_lose_no_digits(make, channels, scale, size, strength, tmp_path):
    model = make()
    shader = written(model, tmp_path, intermediates="split", strength=strength)

    def wanted(picture: np.ndarray) -> np.ndarray:
        result = reference(model, picture)
        return result if strength == 1 else (result + picture) / 2

    frame = noise(*size, channels, np.uint16)
    got = through_filter(shader, frame, scale)
    assert abs(got / 65535 - wanted(frame / 65535)).max() <= STORED[channels]
    frame = noise(*size, channels)
    assert codes_apart(through_filter(shader, frame, scale), wanted(frame / 255)) <= 1


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize(
    ("channels", "splits"), [(3, False), (8, False), (8, True)], ids=["halo", "planes", "half"]
)
def test_layers_that_are_enlarged_are_not_sampled(channels, splits, stage, tmp_path):
    model = enlarged_features(channels, splits)
    shader = written(model, tmp_path, stage=stage)
    frame = noise(20, 24, 3)
    assert codes_apart(through_filter(shader, frame, 2), reference(model, frame / 255)) <= 1


@pytest.mark.parametrize("output", MPV)
def test_mpv_samples_what_is_enlarged_by_two(output, tmp_path):
    model = anime4k()
    frame = noise(29, 37, 3)
    shader = written(model, tmp_path)
    assert "picture_tex(picture_pos)" in shader.read_text()
    shown = through_mpv(shader, frame, output, (58, 74))
    assert codes_apart(shown, reference(model, frame / 255)) <= 1


@pytest.mark.parametrize("output", COMPUTE)
def test_mpv_splits_intermediates(output, tmp_path):
    model = cunny()
    frame = noise(29, 37, 1)
    shader = written(model, tmp_path, intermediates="split")
    shown = through_mpv(shader, frame.squeeze(), output, (58, 74))
    assert codes_apart(shown[..., :1], reference(model, frame / 255)) <= 1


def test_the_shipped_network_runs_in_ffmpeg(tmp_path):
    """It replicates the border, and its layers were trained."""
    frame = noise(29, 37, 1)
    graph = import_model(ESPCN, Options(input_size={"": (29, 37)}))
    given = {graph.inputs[0].name: frame.transpose(2, 0, 1)[None] / 255}
    (wanted,) = evaluate_graph(graph, given).values()
    got = through_filter(written(ESPCN, tmp_path), frame, 2)
    assert codes_apart(got, wanted[0].transpose(1, 2, 0).clip(0, 1)) <= 1


@dataclass(frozen=True)
class Trained:
    """A network by others: what it takes, and what a player makes of it.

    Attributes:
        channels: of its pictures.
        scale: how many times it enlarges them.
        size: height and width of the pictures.
        tolerance: of 16-bit output, 0 to 1. Where it exceeds ``TOLERANCE_16``, layers that are
            exact but for 16 bits between them err by as much.
        stages: of its passes.
    """

    channels: int
    scale: int
    size: tuple[int, int] = (29, 37)
    tolerance: float = TOLERANCE_16
    stages: tuple[str, ...] = ("fragment", "compute")


TRAINED = {
    "acnet_gan_x2.onnx": Trained(1, 2, tolerance=2.5e-3),
    "nnaa.keras": Trained(1, 1, (30, 38)),
    "qonnx_espcn_x3.onnx": Trained(3, 3, stages=("compute",)),
}


def reference_of(path: Path, picture: np.ndarray) -> np.ndarray:
    """Return the result of a model file, height x width x channels, as pictures store it.

    ONNX Runtime computes it, for ONNX models.
    """
    given = picture.transpose(2, 0, 1)[None].astype(np.float32)
    if path.suffix == ".onnx":
        model = onnx.load(path)
        for port in (*model.graph.input, *model.graph.output):  # one was exported for 4 x 4 pixels
            for axis in (2, 3):
                port.type.tensor_type.shape.dim[axis].dim_param = f"{port.name}{axis}"
        session = ort.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        (wanted,) = session.run(None, {session.get_inputs()[0].name: given})
    else:
        graph = import_model(path, Options(input_size={"": picture.shape[:2]}))
        (wanted,) = evaluate_graph(graph, {graph.inputs[0].name: given}).values()
    return wanted[0].transpose(1, 2, 0).clip(0, 1)


@pytest.mark.third_party
@pytest.mark.parametrize(
    ("name", "stage"), [(name, stage) for name, net in TRAINED.items() for stage in net.stages]
)
def test_trained_networks_run_in_ffmpeg(name, stage, tmp_path):
    path, net = third_party(name), TRAINED[name]
    shader = written(path, tmp_path, stage=stage)
    frame = noise(*net.size, net.channels)
    got = through_filter(shader, frame, net.scale)
    assert codes_apart(got, reference_of(path, frame / 255)) <= 1
    frame = noise(*net.size, net.channels, np.uint16)
    got = through_filter(shader, frame, net.scale)
    assert abs(got / 65535 - reference_of(path, frame / 65535)).max() <= net.tolerance


@pytest.mark.third_party
@pytest.mark.parametrize("name", TRAINED)
def test_trained_networks_lose_no_digits_in_split_intermediates(name, tmp_path):
    path, net = third_party(name), TRAINED[name]
    frame = noise(*net.size, net.channels, np.uint16)
    got = through_filter(written(path, tmp_path, intermediates="split"), frame, net.scale)
    assert abs(got / 65535 - reference_of(path, frame / 65535)).max() <= STORED[net.channels]


@pytest.mark.parametrize("output", MPV)
@pytest.mark.parametrize("name", NETWORKS)
def test_mpv_shows_what_onnx_runtime_computes(name, output, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    frame = noise(29, 37, 1 if name == "espcn" else 3)
    size = (29 * scale, 37 * scale)
    shown = through_mpv(written(model, tmp_path), frame.squeeze(), output, size)
    wanted = reference(model, frame / 255)
    assert codes_apart(shown[..., : wanted.shape[2]], wanted) <= 1


@pytest.mark.parametrize("output", COMPUTE)
@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_mpv_runs_compute_passes(name, output, tmp_path):
    make, scale = SIDE_BY_SIDE[name]
    model = make()
    frame = noise(29, 37, 1 if name in LUMA else 3)
    shader = written(model, tmp_path, stage="compute")
    shown = through_mpv(shader, frame.squeeze(), output, (29 * scale, 37 * scale))
    wanted = reference(model, frame / 255)
    assert codes_apart(shown[..., : wanted.shape[2]], wanted) <= 1


def test_mpv_runs_the_shape_of_artcnn_in_8_passes(tmp_path):
    model = artcnn()
    frame = noise(29, 37, 1)
    shader = written(model, tmp_path, stage="compute")
    assert shader.read_text().count("//!HOOK") == 8
    shown = through_mpv(shader, frame.squeeze(), "gpu, OpenGL", (58, 74))
    assert codes_apart(shown[..., :1], reference(model, frame / 255)) <= 1


@pytest.mark.parametrize("output", ["gpu, OpenGL", "gpu-next, OpenGL"])
@pytest.mark.parametrize("name", NETWORKS)
def test_mpv_crops_and_rotates_before_or_after(name, output, tmp_path):
    """In either order the picture's borders are the network's."""
    make, scale = NETWORKS[name]
    model = make()
    shader = written(model, tmp_path)
    frame = noise(64, 48, 1 if name == "espcn" else 3)
    whole = reference(model, frame / 255)
    size = (48 * scale, 48 * scale)
    shown = through_mpv(shader, frame.squeeze(), output, size, "--panscan=1")
    cropped = (reference(model, frame[8:56] / 255), whole[8 * scale : 56 * scale])
    assert min(codes_apart(shown[..., : w.shape[2]], w) for w in cropped) <= 1
    size = (48 * scale, 64 * scale)
    shown = through_mpv(shader, frame.squeeze(), output, size, "--video-rotate=90")
    rotated = (reference(model, np.rot90(frame, -1) / 255), np.rot90(whole, -1))
    assert min(codes_apart(shown[..., : w.shape[2]], w) for w in rotated) <= 1


@pytest.mark.parametrize(
    ("stage", "output"), [("fragment", o) for o in MPV] + [("compute", o) for o in COMPUTE]
)
def test_sizes_may_change_while_mpv_plays(stage, output, tmp_path):
    model = upscaler()
    shader = written(model, tmp_path, stage=stage)
    frame, before = noise(29, 37, 3), noise(40, 24, 3)
    wanted = reference(model, frame / 255)
    shown = through_mpv(shader, frame, output, (58, 74), before=before)
    assert codes_apart(shown, wanted) <= 1
    enlarge = 'mp.set_property("window-scale", 2)'  # the upscaler does not run before
    shown = through_mpv(shader, frame, output, (29, 37), then=enlarge)
    assert codes_apart(shown, wanted) <= 1


def test_a_restorer_that_halves_runs_at_even_sizes_only(tmp_path):
    """The build needs even sizes, since its resize does; at others the picture stays as it is."""
    model = unet()
    shader = written(model, tmp_path)
    even, odd = noise(48, 64, 1), noise(29, 37, 1)
    got = through_filter(shader, even, 1)
    assert codes_apart(got, reference(model, even / 255)) <= 1
    assert (through_filter(shader, odd, 1) == odd).all()


def test_an_upscaler_runs_from_the_threshold_on(tmp_path):
    frame = noise(20, 30, 1)
    plain = tmp_path / "none.glsl"
    plain.write_text(NOTHING)

    def runs(shader: Path, scale: float) -> bool:
        without = through_filter(plain, frame, scale)
        return bool((through_filter(shader, frame, scale) != without).any())

    usual = written(espcn(), tmp_path)
    assert [runs(usual, scale) for scale in (1, 1.2, 1.3)] == [False, False, True]
    later = written(espcn(), tmp_path, upscale_from=1.5)
    assert [runs(later, scale) for scale in (1.3, 1.6)] == [False, True]


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


def mixed(model: ModelProto, frame: np.ndarray, share: float) -> np.ndarray:
    """Return a share of what ONNX Runtime computes of a frame, and the frame for the rest."""
    return share * reference(model, frame / 255) + (1 - share) * frame / 255


def test_ffmpeg_shows_a_share_of_the_network(tmp_path):
    model, frame = denoiser(), noise(29, 37, 3)
    shader = written(model, tmp_path, strength=0.25)
    assert codes_apart(through_filter(shader, frame, 1), mixed(model, frame, 0.25)) <= 1
    text = shader.read_text()
    assert text.count("#define strength 0.25\n") == 1
    shader.write_text(text.replace("strength 0.25", "strength 0.75"))  # as a user edits it
    assert codes_apart(through_filter(shader, frame, 1), mixed(model, frame, 0.75)) <= 1


@pytest.mark.parametrize("output", ["gpu, OpenGL", "gpu-next, OpenGL"])
def test_mpv_shows_a_share_of_the_network(output, tmp_path):
    model, frame = denoiser(), noise(29, 37, 3)
    shown = through_mpv(written(model, tmp_path, strength=0.25), frame, output, (29, 37))
    assert codes_apart(shown, mixed(model, frame, 0.25)) <= 1


@pytest.mark.parametrize("stage", ["fragment", "compute"])
def test_a_network_that_halves_and_doubles_mixes_with_the_picture(stage, tmp_path):
    model = halved()
    shader = written(model, tmp_path, strength=0.5, stage=stage)
    frame = noise(28, 36, 3)
    wanted = (reference(model, frame / 255) + frame / 255) / 2
    assert codes_apart(through_filter(shader, frame, 1), wanted) <= 1


@pytest.mark.parametrize("output", [output for output in MPV if "next" not in output])
def test_a_live_strength_has_its_initial_value_where_players_have_no_parameters(output, tmp_path):
    model, frame = denoiser(), noise(29, 37, 3)
    shader = written(model, tmp_path, strength=0.25, live_strength=True)
    shown = through_mpv(shader, frame, output, (29, 37))
    assert codes_apart(shown, mixed(model, frame, 0.25)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RANDOM))
def test_ffmpeg_shows_what_random_networks_compute(seed, tmp_path):
    model, channels, scale = random_network(seed)
    shader = written(model, tmp_path, stage=("fragment", "compute")[seed % 2])
    height, width = SIZES[seed % len(SIZES)]
    frame = noise(height, width, channels, np.uint16)
    got = through_filter(shader, frame, scale)
    assert abs(got / 65535 - reference(model, frame / 65535)).max() <= TOLERANCE_16
    frame = noise(height, width, channels)
    assert codes_apart(through_filter(shader, frame, scale), reference(model, frame / 255)) <= 1
