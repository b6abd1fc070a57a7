"""What the good build computes of an input, traces of GL calls, and textures of an application."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from schedules import builds, fixed

from shadergen.runtime_glue.python import Build, load

X = np.random.default_rng(0).normal(size=(1, 3, 5, 5)).astype(np.float32)
IMAGE = np.random.default_rng(1).integers(0, 256, (3, 5, 3), dtype=np.uint8)
BIAS, GAIN, CONSTANT = (
    np.array(values[:5]) for values in (fixed.BIAS_VALUES, fixed.GAIN_VALUES, fixed.CONSTANT_VALUES)
)


def expected(x: np.ndarray) -> np.ndarray:
    return 0.5 * ((2 * x + BIAS) * GAIN + CONSTANT)


def expected_sum(x: np.ndarray) -> np.ndarray:
    return 2 * expected(x) + x


class Tracer:
    """Passes GL calls on and writes them down; may change what some return."""

    def __init__(self, inner: Any, **replaced: Any) -> None:
        self._inner = inner
        self._replaced = replaced
        self.called: list[str] = []
        self.arguments: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        value = self._replaced.get(name) or getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*arguments: Any) -> Any:
            self.called.append(name)
            self.arguments.append(arguments)
            return value(*arguments)

        return call


def make_texture(
    functions: Any,
    width: int,
    height: int,
    layers: int = 0,
    format: str = "GL_RGBA32F",
    immutable: bool = True,
) -> int:
    """Make a texture as an application would: array with ``layers``, filtered linearly.

    Its storage can be mutable for arrays of RGBA32F.
    """
    target = functions.GL_TEXTURE_2D_ARRAY if layers else functions.GL_TEXTURE_2D
    name = ctypes.c_uint(0)
    functions.glGenTextures(1, ctypes.byref(name))
    functions.glBindTexture(target, name.value)
    internal = getattr(functions, format)
    if not immutable:
        size = (width, height, layers, 0)
        texels = (functions.GL_RGBA, functions.GL_FLOAT, None)
        functions.glTexImage3D(target, 0, internal, *size, *texels)
    elif layers:
        functions.glTexStorage3D(target, 1, internal, width, height, layers)
    else:
        functions.glTexStorage2D(target, 1, internal, width, height)
    functions.glTexParameteri(target, functions.GL_TEXTURE_MAG_FILTER, functions.GL_LINEAR)
    functions.glBindTexture(target, 0)
    return name.value


def integer(functions: Any, enum: str) -> int:
    value = ctypes.c_int(-1)
    functions.glGetIntegerv(getattr(functions, enum), ctypes.byref(value))
    return value.value


def write_and_load(schedule: dict[str, Any], files: dict[str, bytes]) -> Build:
    with tempfile.TemporaryDirectory() as folder:
        builds.write(Path(folder), {"schedule.json": builds.to_bytes(schedule), **files})
        return load(folder)
