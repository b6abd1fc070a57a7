"""The cost of uploads and read-back, which pipelines on textures do not pay.

Each repeat uploads one of ten images to a texture, waits for it, then reads the whole texture back,
so that no copy can be kept from the time before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime_glue.python.objects import Objects, check_errors, forget_errors
from ...runtime_glue.python.pixels import FORMATS
from ...runtime_glue.python.schedule import Texture
from ...runtime_glue.python.textures import await_textures, fill_textures, make_textures
from .results import Spread, Transfer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ...runtime_glue.python import HeadlessContext

SIZES = ((1280, 720), (1920, 1080))
IMAGES, REPEATS = 10, 100
_TYPES = {"rgba32f": "GL_FLOAT", "rgba16f": "GL_HALF_FLOAT", "rgba8": "GL_UNSIGNED_BYTE"}


def measure_transfers(
    context: HeadlessContext, progress: Callable[[str], None], repeats: int = REPEATS
) -> tuple[Transfer, ...]:
    """Measure every size and every format that this GL can read back.

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


def _measure(
    context: HeadlessContext, width: int, height: int, format: str, repeats: int
) -> Transfer:
    gl = context.gl
    texture = Texture(
        name="image", kind="2d", format=format, width=width, height=height, layers=1,
        packing="planes", channels=4, batch=1, slot=None, first=0, last=0, data=None,
    )  # fmt: skip
    images = [_image(texture, k) for k in range(IMAGES)]
    back = np.empty_like(images[0])
    objects = Objects(gl)
    forget_errors(gl)
    uploads, reads = [], []
    try:
        names = make_textures(gl, objects, texture)
        framebuffer = objects.make("framebuffer")
        type_ = getattr(gl, _TYPES[format])
        for number in range(IMAGES + repeats):
            image = images[number % IMAGES]
            start = time.perf_counter()
            fill_textures(gl, texture, names, image)
            await_textures(gl, framebuffer, texture, names)
            middle = time.perf_counter()
            # it is still attached
            gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, framebuffer)
            gl.glReadPixels(0, 0, width, height, gl.GL_RGBA, type_, back.ctypes.data)
            end = time.perf_counter()
            if number >= IMAGES:  # those before warm up
                uploads.append((middle - start) * 1e3)
                reads.append((end - middle) * 1e3)
        gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, 0)
        check_errors(gl, f"images of {format} are uploaded and read back")
    finally:
        objects.delete()
    upload, read, size = Spread.of(uploads), Spread.of(reads), texture.bytes
    rates = [size / spread.mean / 1e6 for spread in (upload, read)]
    return Transfer(format, width, height, size, repeats, upload, rates[0], read, rates[1])


def _image(texture: Texture, seed: int) -> NDArray[Any]:
    values = np.random.default_rng(seed).random((texture.height, texture.width, 4), np.float32)
    dtype = FORMATS[texture.format].dtype
    return (values * 255).astype(dtype) if dtype == np.uint8 else values.astype(dtype)
