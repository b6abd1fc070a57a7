"""Textures and framebuffers on GL: make, fill, draw to, read back.

The GL textures of a tensor are a tuple: one array texture, or one 2D texture for each layer.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from .pixels import FORMATS, LANES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .objects import Objects
    from .schedule import Texture

_EXTERNAL = {1: "GL_RED", 2: "GL_RG", 4: "GL_RGBA"}
_TYPES = {"8": "GL_UNSIGNED_BYTE", "16f": "GL_HALF_FLOAT", "32f": "GL_FLOAT"}


_TEXTURE_EXTERNAL_OES = 0x8D65  # PyOpenGL does not declare it


def target_of(gl: Any, texture: Texture) -> int:
    """Return the GL target of a texture's kind."""
    if texture.is_external:
        return _TEXTURE_EXTERNAL_OES
    target: int = gl.GL_TEXTURE_2D_ARRAY if texture.is_array else gl.GL_TEXTURE_2D
    return target


def make_textures(gl: Any, objects: Objects, texture: Texture) -> tuple[int, ...]:
    """Make the GL textures of a tensor, without content, nearest and clamped."""
    target = target_of(gl, texture)
    internal = getattr(gl, f"GL_{texture.format.upper()}")
    names = tuple(objects.make("texture") for _ in range(texture.objects))
    for name in names:
        gl.glBindTexture(target, name)
        if texture.is_array:
            gl.glTexStorage3D(target, 1, internal, texture.width, texture.height, texture.layers)
        else:
            gl.glTexStorage2D(target, 1, internal, texture.width, texture.height)
        for parameter in ("GL_TEXTURE_MIN_FILTER", "GL_TEXTURE_MAG_FILTER"):
            gl.glTexParameteri(target, getattr(gl, parameter), gl.GL_NEAREST)
        for parameter in ("GL_TEXTURE_WRAP_S", "GL_TEXTURE_WRAP_T"):
            gl.glTexParameteri(target, getattr(gl, parameter), gl.GL_CLAMP_TO_EDGE)
    gl.glBindTexture(target, 0)
    return names


def make_sampler(gl: Any, objects: Objects) -> int:
    """Make the sampler through which every texture is read, the application's included."""
    sampler = objects.make("sampler")
    for parameter in ("GL_TEXTURE_MIN_FILTER", "GL_TEXTURE_MAG_FILTER"):
        gl.glSamplerParameteri(sampler, getattr(gl, parameter), gl.GL_NEAREST)
    for parameter in ("GL_TEXTURE_WRAP_S", "GL_TEXTURE_WRAP_T"):
        gl.glSamplerParameteri(sampler, getattr(gl, parameter), gl.GL_CLAMP_TO_EDGE)
    return sampler


def fill_textures(
    gl: Any, texture: Texture, names: tuple[int, ...], texels: NDArray[Any] | bytes
) -> None:
    """Fill a tensor's textures with texels of its format, layer after layer."""
    target = target_of(gl, texture)
    external = getattr(gl, _EXTERNAL[FORMATS[texture.format].components])
    type_ = getattr(gl, _TYPES[texture.format.lstrip("rgba")])
    flat = np.frombuffer(texels, np.uint8)
    gl.glBindBuffer(gl.GL_PIXEL_UNPACK_BUFFER, 0)
    for parameter in ("ROW_LENGTH", "IMAGE_HEIGHT", "SKIP_ROWS", "SKIP_PIXELS", "SKIP_IMAGES"):
        gl.glPixelStorei(getattr(gl, f"GL_UNPACK_{parameter}"), 0)
    gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 1)
    size = (texture.width, texture.height)
    for name, part in zip(names, np.split(flat, len(names)), strict=True):
        gl.glBindTexture(target, name)
        data = part.ctypes.data
        if texture.is_array:
            gl.glTexSubImage3D(target, 0, 0, 0, 0, *size, texture.layers, external, type_, data)
        else:
            gl.glTexSubImage2D(target, 0, 0, 0, *size, external, type_, data)
    gl.glBindTexture(target, 0)
    gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 4)


def attach(
    gl: Any, framebuffer: int, layers: Sequence[tuple[Texture, tuple[int, ...], int]]
) -> None:
    """Let a framebuffer draw to layers, attachment i to ``layers[i]``.

    Raises:
        ShadergenError: SG0602, when GL cannot draw to textures of these formats.
    """
    target = gl.GL_DRAW_FRAMEBUFFER
    gl.glBindFramebuffer(target, framebuffer)
    points = [gl.GL_COLOR_ATTACHMENT0 + i for i in range(len(layers))]
    for point, (texture, names, layer) in zip(points, layers, strict=True):
        _attach_layer(gl, target, point, texture, names, layer)
    gl.glDrawBuffers(len(points), (ctypes.c_uint * len(points))(*points))
    status = gl.glCheckFramebufferStatus(target)
    gl.glBindFramebuffer(target, 0)
    if status != gl.GL_FRAMEBUFFER_COMPLETE:
        formats = ", ".join(dict.fromkeys(texture.format for texture, _, _ in layers))
        names_ = ", ".join(repr(texture.name) for texture, _, _ in layers)
        raise ShadergenError(
            "SG0602",
            f"this GL cannot draw to {names_} ({formats})",
            why=f"the framebuffer's status is 0x{status:04x}",
            help="a texture of the application must be 2D or an array as the schedule says, and of "
            "a format that can be drawn to",
        )


def check_images(gl: Any, texture: Texture, names: tuple[int, ...]) -> None:
    """Refuse an application's textures that shaders cannot have as images of the stated format.

    Raises:
        ShadergenError: SG0602.
    """
    target = target_of(gl, texture)
    internal = getattr(gl, f"GL_{texture.format.upper()}")
    wrong = ""
    for name in names:
        value = ctypes.c_int(0)
        gl.glBindTexture(target, name)
        gl.glGetTexParameteriv(target, gl.GL_TEXTURE_IMMUTABLE_FORMAT, ctypes.byref(value))
        if not value.value:
            wrong = wrong or "its storage is not immutable"
        gl.glGetTexLevelParameteriv(target, 0, gl.GL_TEXTURE_INTERNAL_FORMAT, ctypes.byref(value))
        if value.value != internal:
            wrong = wrong or f"its format is 0x{value.value:04x}"
    gl.glBindTexture(target, 0)
    if wrong:
        raise ShadergenError(
            "SG0602",
            f"shaders cannot have this texture as the image {texture.name!r}",
            why=wrong,
            help=f"make the texture with glTexStorage and the format {texture.format}",
        )


def _attach_layer(
    gl: Any, target: int, point: int, texture: Texture, names: tuple[int, ...], layer: int
) -> None:
    if texture.is_array:
        gl.glFramebufferTextureLayer(target, point, names[0], 0, layer)
    else:
        gl.glFramebufferTexture2D(target, point, gl.GL_TEXTURE_2D, names[layer], 0)


def read_textures(
    gl: Any, framebuffer: int, texture: Texture, names: tuple[int, ...]
) -> NDArray[Any]:
    """Return a tensor's texels; bytes where the GL textures hold bytes, else float32."""
    target, point = gl.GL_READ_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0
    gl.glBindFramebuffer(target, framebuffer)
    gl.glReadBuffer(point)
    gl.glBindBuffer(gl.GL_PIXEL_PACK_BUFFER, 0)
    for parameter in ("ROW_LENGTH", "SKIP_ROWS", "SKIP_PIXELS"):
        gl.glPixelStorei(getattr(gl, f"GL_PACK_{parameter}"), 0)
    width, height = texture.width, texture.height
    result = None
    for layer in range(texture.layers):
        _attach_layer(gl, target, point, texture, names, layer)
        if result is None:
            # the application's texture may be of another type than the schedule's
            floats = _holds_floats(gl, target, point)
            dtype, type_ = (np.float32, gl.GL_FLOAT) if floats else (np.uint8, gl.GL_UNSIGNED_BYTE)
            result = np.empty((texture.layers, height, width, LANES), dtype)
        data = result[layer].ctypes.data
        gl.glReadPixels(0, 0, width, height, gl.GL_RGBA, type_, data)
    gl.glBindFramebuffer(target, 0)
    assert result is not None
    return result[..., : FORMATS[texture.format].components]


def await_textures(gl: Any, framebuffer: int, texture: Texture, names: tuple[int, ...]) -> None:
    """Return when a tensor's textures are drawn, by reading one texel of the last layer back.

    A texel cannot come early. glFinish may: browsers only submit on it, as drivers of GPUs that
    draw by tiles have done.
    """
    target, point = gl.GL_READ_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0
    gl.glBindFramebuffer(target, framebuffer)
    gl.glReadBuffer(point)
    gl.glBindBuffer(gl.GL_PIXEL_PACK_BUFFER, 0)
    _attach_layer(gl, target, point, texture, names, texture.layers - 1)
    floats = _holds_floats(gl, target, point)
    texel = (ctypes.c_float * LANES)()
    type_ = gl.GL_FLOAT if floats else gl.GL_UNSIGNED_BYTE
    gl.glReadPixels(0, 0, 1, 1, gl.GL_RGBA, type_, ctypes.byref(texel))
    gl.glBindFramebuffer(target, 0)


def _holds_floats(gl: Any, target: int, point: int) -> bool:
    value = ctypes.c_int(0)
    gl.glGetFramebufferAttachmentParameteriv(
        target, point, gl.GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE, ctypes.byref(value)
    )
    return bool(value.value == gl.GL_FLOAT)


def check_textures(gl: Any, texture: Texture, names: tuple[int, ...], *, sizes: bool) -> None:
    """Refuse an application's textures of other sizes than the schedule's.

    Those of another kind leave an error with GL.

    Args:
        gl: the GL functions.
        texture: what the schedule says.
        names: the application's textures.
        sizes: whether GL can tell sizes, as OpenGL ES 3.1 can; external textures are of any.

    Raises:
        ShadergenError: SG0605.
    """
    target = target_of(gl, texture)
    expected = {"width": texture.width, "height": texture.height}
    if texture.is_array:
        expected["depth"] = texture.layers
    if texture.is_external:
        expected = {}
    wrong = ""
    for name in names:
        gl.glBindTexture(target, name)
        for side, wanted in expected.items() if sizes else ():
            value = ctypes.c_int(0)
            parameter = getattr(gl, f"GL_TEXTURE_{side.upper()}")
            gl.glGetTexLevelParameteriv(target, 0, parameter, ctypes.byref(value))
            if value.value != wanted:
                wrong = wrong or f"texture {name} has a {side} of {value.value}, not {wanted}"
    gl.glBindTexture(target, 0)
    if wrong:
        raise ShadergenError("SG0605", wrong, where=texture.name)
