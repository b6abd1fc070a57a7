"""Frames of a camera, as EGL makes them of textures, and what a network gets to see of them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shadergen.runtime_glue.python.gl import load_egl, load_gles
from shadergen.runtime_glue.python.textures import _TEXTURE_EXTERNAL_OES as EXTERNAL

GL_TEXTURE_2D_KHR = 0x30B1
# Column by column, of (s, t, 0, 1): as it is, which has the texture's last row on top; row 0 on
# top; the quarter of its columns and rows that come last, likewise; rows as columns.
MATRICES: dict[str, tuple[float, ...]] = {
    "identity": (1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1),
    "flip": (1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1),
    "crop": (0.5, 0, 0, 0, 0, -0.5, 0, 0, 0, 0, 1, 0, 0.5, 1, 0, 1),
    "turn": (0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1),
}


def external_texture(pixels: NDArray[np.uint8]) -> int:
    """Return an external texture of the current context: (H, W, 4) bytes, filtered linearly."""
    gl, egl = load_gles(), load_egl()
    display, context = egl.eglGetCurrentDisplay(), egl.eglGetCurrentContext()
    extensions = egl.eglQueryString(display, egl.EGL_EXTENSIONS).decode().split()
    if "EGL_KHR_gl_texture_2D_image" not in extensions:
        pytest.skip("this EGL makes no images of textures")
    address, pointer, number = egl.eglGetProcAddress, ctypes.c_void_p, ctypes.c_uint
    create = ctypes.CFUNCTYPE(pointer, pointer, pointer, number, pointer, pointer)(
        address(b"eglCreateImageKHR")
    )
    target = ctypes.CFUNCTYPE(None, number, pointer)(address(b"glEGLImageTargetTexture2DOES"))
    names = (ctypes.c_uint * 2)()
    gl.glGenTextures(2, ctypes.byref(names))
    height, width, _ = pixels.shape
    gl.glBindTexture(gl.GL_TEXTURE_2D, names[0])
    gl.glTexStorage2D(gl.GL_TEXTURE_2D, 1, gl.GL_RGBA8, width, height)
    flat = np.ascontiguousarray(pixels)
    where = (gl.GL_TEXTURE_2D, 0, 0, 0, width, height)
    gl.glTexSubImage2D(*where, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, flat.ctypes.data)
    gl.glBindTexture(gl.GL_TEXTURE_2D, 0)
    image = create(display, context, GL_TEXTURE_2D_KHR, names[0], None)
    assert image, "EGL makes no image"
    gl.glBindTexture(EXTERNAL, names[1])
    target(EXTERNAL, image)
    gl.glTexParameteri(EXTERNAL, gl.GL_TEXTURE_MIN_FILTER, gl.GL_LINEAR)
    gl.glTexParameteri(EXTERNAL, gl.GL_TEXTURE_MAG_FILTER, gl.GL_LINEAR)
    gl.glBindTexture(EXTERNAL, 0)
    assert not gl.glGetError()
    return names[1]


def seen(pixels: NDArray[np.uint8], matrix: Any, height: int, width: int) -> NDArray[np.float64]:
    """Return what a network of a size sees: (H, W, 4) in 0..1, filtered linearly, clamped."""
    columns = np.reshape(np.asarray(matrix, np.float64), (4, 4))
    s = (np.arange(width) + 0.5) / width
    t = 1 - (np.arange(height) + 0.5) / height
    at = s[None, :, None] * columns[0] + t[:, None, None] * columns[1] + columns[3]
    rows, across, _ = pixels.shape
    x, y = at[..., 0] * across - 0.5, at[..., 1] * rows - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right, below = (x - left)[..., None], (y - top)[..., None]
    values = pixels / 255.0

    def texel(dy: int, dx: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = values[
            np.clip(top + dy, 0, rows - 1), np.clip(left + dx, 0, across - 1)
        ]
        return found

    upper = texel(0, 0) * (1 - right) + texel(0, 1) * right
    lower = texel(1, 0) * (1 - right) + texel(1, 1) * right
    return upper * (1 - below) + lower * below
