"""The cost of uploads and read-back, which pipelines on textures do not pay.

Each repeat uploads one of ten images to a texture, waits for it, then reads the whole texture back,
so that no copy can be kept from the time before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime_glue.python import HeadlessContext
from ...runtime_glue.python.objects import Objects, check_errors, forget_errors
from ...runtime_glue.python.pixels import FORMATS
from ...runtime_glue.python.schedule import Texture
from ...runtime_glue.python.textures import await_textures, fill_textures, make_textures
from ...runtime_glue.python.webgpu.package import load_wgpu
from ...runtime_glue.python.webgpu.textures import (
    await_texture,
    fill_texture,
    make_texture,
    read_texture,
)
from .results import Spread, Transfer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ...runtime_glue.python import webgpu
    from ..runtimes import Context

SIZES = ((1280, 720), (1920, 1080))
IMAGES, REPEATS = 10, 100
_TYPES = {"rgba32f": "GL_FLOAT", "rgba16f": "GL_HALF_FLOAT", "rgba8": "GL_UNSIGNED_BYTE"}


def measure_transfers(
    context: Context, progress: Callable[[str], None], repeats: int = REPEATS
) -> tuple[Transfer, ...]:
    """Measure every size and every format that this context can read back.

    Raises:
        ShadergenError: SG0604.
    """
    info = context.info()
    formats = ["rgba32f"] * info.draws_float + ["rgba16f"] * info.draws_half_float + ["rgba8"]
    results = []
    for width, height in SIZES:
        for format in formats:
            progress(f"measuring transfers of {format} at {height}x{width}")
            results.append(_measure(context, width, height, format, repeats))
    return tuple(results)


def _measure(context: Context, width: int, height: int, format: str, repeats: int) -> Transfer:
    texture = Texture(
        name="image", kind="2d", format=format, width=width, height=height, layers=1,
        packing="planes", channels=4, batch=1, slot=None, first=0, last=0, data=None,
    )  # fmt: skip
    images = [_image(texture, k) for k in range(IMAGES)]
    copies: _GlCopies | _WebGpuCopies
    if isinstance(context, HeadlessContext):
        copies = _GlCopies(context, texture)
    else:
        copies = _WebGpuCopies(context, texture)
    uploads, reads = [], []
    try:
        for number in range(IMAGES + repeats):
            image = images[number % IMAGES]
            start = time.perf_counter()
            copies.upload(image)
            middle = time.perf_counter()
            copies.read()
            end = time.perf_counter()
            if number >= IMAGES:  # those before warm up
                uploads.append((middle - start) * 1e3)
                reads.append((end - middle) * 1e3)
    finally:
        copies.close()
    upload, read, size = Spread.of(uploads), Spread.of(reads), texture.bytes
    rates = [size / spread.mean / 1e6 for spread in (upload, read)]
    return Transfer(format, width, height, size, repeats, upload, rates[0], read, rates[1])


class _GlCopies:
    """Copies to a 2D texture of GL and from it."""

    def __init__(self, context: HeadlessContext, texture: Texture) -> None:
        gl = self._gl = context.gl
        self._objects = Objects(gl)
        self._texture = texture
        self._back = np.empty((texture.height, texture.width, 4), FORMATS[texture.format].dtype)
        forget_errors(gl)
        self._names = make_textures(gl, self._objects, texture)
        self._framebuffer = self._objects.make("framebuffer")
        self._type = getattr(gl, _TYPES[texture.format])

    def upload(self, image: NDArray[Any]) -> None:
        """Upload the image and wait."""
        fill_textures(self._gl, self._texture, self._names, image)
        await_textures(self._gl, self._framebuffer, self._texture, self._names)

    def read(self) -> NDArray[Any]:
        """Read the image back; the texture is still attached."""
        gl, texture = self._gl, self._texture
        gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, self._framebuffer)
        size, data = (texture.width, texture.height), self._back.ctypes.data
        gl.glReadPixels(0, 0, *size, gl.GL_RGBA, self._type, data)
        return self._back

    def close(self) -> None:
        """Delete the texture.

        Raises:
            ShadergenError: SG0604, for an error of a copy.
        """
        try:
            self._gl.glBindFramebuffer(self._gl.GL_READ_FRAMEBUFFER, 0)
            what = f"images of {self._texture.format} are uploaded and read back"
            check_errors(self._gl, what)
        finally:
            self._objects.delete()


class _WebGpuCopies:
    """Copies to a texture of WebGPU and from it."""

    def __init__(self, context: webgpu.HeadlessContext, texture: Texture) -> None:
        self._device = context.device
        self._texture = texture
        self._made = make_texture(load_wgpu(), self._device, texture, 1)

    def upload(self, image: NDArray[Any]) -> None:
        """Upload the image and wait."""
        fill_texture(self._device, self._texture, self._made, image)
        await_texture(self._device, self._made)

    def read(self) -> NDArray[Any]:
        """Read the image back."""
        layer: NDArray[Any] = read_texture(self._device, self._texture, self._made)[0]
        return layer

    def close(self) -> None:
        """Destroy the texture."""
        self._made.destroy()


def _image(texture: Texture, seed: int) -> NDArray[Any]:
    values = np.random.default_rng(seed).random((texture.height, texture.width, 4), np.float32)
    dtype = FORMATS[texture.format].dtype
    return (values * 255).astype(dtype) if dtype == np.uint8 else values.astype(dtype)
