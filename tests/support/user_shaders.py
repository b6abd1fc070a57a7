"""User shaders of small networks, their pictures, and what ONNX Runtime makes of these.

Players hold what passes save in 16-bit floats: 8-bit results differ by at most one code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort

from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from support.picture_networks import denoiser, espcn, residual, save, upscaler, wide
from support.players import MPV, through_ffmpeg

if TYPE_CHECKING:
    from onnx import ModelProto

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
# Of 1: three layers' results are rounded to 11 digits each.
TOLERANCE_16 = 1e-3
# Of 1, by channels: what FFmpeg's filter itself loses of 16-bit luma and RGB: its last texture has
# 16-bit floats, and RGB loses twice as much even without a user shader.
STORED = {1: 2.6e-4, 3: 8e-4}


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
