"""Textures and framebuffers on GL: create, fill, attach, read back.

The GL textures of a tensor are a tuple: one array texture, or one 2D texture for each layer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from .gl import asked
from .pixels import FORMATS, LANES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

    from .objects import Objects
    from .schedule import Build, Port, Texture

GL_COMPONENTS = {1: "GL_RED", 2: "GL_RG", 4: "GL_RGBA"}
GL_TYPES = {"8": "GL_UNSIGNED_BYTE", "16f": "GL_HALF_FLOAT", "32f": "GL_FLOAT"}
# Formats that some GL cannot draw to; messages call others by their number.
_NAMED = (
    *("R16F", "R32F", "RG16F", "RG32F", "RGBA16F", "RGBA32F", "RGB16F", "RGB32F"),
    *("R11F_G11F_B10F", "RGB9_E5", "SRGB8"),
)
_TEXTURE_EXTERNAL_OES = 0x8D65  # PyOpenGL does not declare it
_LAST = 2**32 - 1  # the largest name of a GL object
RESIZE = (
    "give a texture of the build's size, or resize() a build compiled with --input-size dynamic"
)


def target_of(gl: Any, texture: Texture) -> int:
    """Return the GL target of a texture's kind."""
    if texture.is_external:
        return _TEXTURE_EXTERNAL_OES
    target: int = gl.GL_TEXTURE_2D_ARRAY if texture.is_array else gl.GL_TEXTURE_2D
    return target


def make_textures(gl: Any, objects: Objects, texture: Texture) -> tuple[int, ...]:
    """Create the GL textures of a tensor, without content, nearest and clamped."""
    target = target_of(gl, texture)
    internal = getattr(gl, f"GL_{texture.format.upper()}")
    names = tuple(objects.make("texture") for _ in range(texture.objects))
    for name in names:
        gl.glBindTexture(target, name)
        if texture.is_array:
            gl.glTexStorage3D(target, 1, internal, texture.width, texture.height, texture.layers)
        else:
            gl.glTexStorage2D(target, 1, internal, texture.width, texture.height)
        _sample_nearest(gl, gl.glTexParameteri, target)
    gl.glBindTexture(target, 0)
    return names


def make_sampler(gl: Any, objects: Objects) -> int:
    """Create the sampler for all textures, including the application's."""
    sampler = objects.make("sampler")
    _sample_nearest(gl, gl.glSamplerParameteri, sampler)
    return sampler


def _sample_nearest(gl: Any, set_parameter: Any, of: int) -> None:
    for filter in (gl.GL_TEXTURE_MIN_FILTER, gl.GL_TEXTURE_MAG_FILTER):
        set_parameter(of, filter, gl.GL_NEAREST)
    for side in (gl.GL_TEXTURE_WRAP_S, gl.GL_TEXTURE_WRAP_T):
        set_parameter(of, side, gl.GL_CLAMP_TO_EDGE)


def _external(gl: Any, texture: Texture) -> tuple[int, int]:
    """Return GL's names for the components of a texture's texels and for their type."""
    components = getattr(gl, GL_COMPONENTS[FORMATS[texture.format].components])
    return components, getattr(gl, GL_TYPES[texture.format.lstrip("rgba")])


def fill_textures(
    gl: Any, texture: Texture, names: tuple[int, ...], texels: NDArray[Any] | bytes
) -> None:
    """Upload texels to a tensor's textures, layer by layer."""
    target = target_of(gl, texture)
    external, type_ = _external(gl, texture)
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
    """Attach layers to a framebuffer: attachment i is ``layers[i]``.

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
        names_ = ", ".join(dict.fromkeys(repr(texture.name) for texture, _, _ in layers))
        raise ShadergenError(
            "SG0602",
            f"this GL cannot draw to {names_} ({formats})",
            why=f"the framebuffer's status is {_status_name(gl, status)}",
            help="bind a texture of the schedule's kind (2D or array) with a color-renderable "
            "format",
        )


def _status_name(gl: Any, status: int) -> str:
    for name in ("INCOMPLETE_ATTACHMENT", "UNSUPPORTED"):
        if status == getattr(gl, f"GL_FRAMEBUFFER_{name}"):
            return f"GL_FRAMEBUFFER_{name}"
    return f"0x{status:04x}"


def format_name(gl: Any, texture: Texture, name: int) -> str:
    """Return GL's name of the format of an application's texture, from OpenGL ES 3.1 on."""
    target = target_of(gl, texture)
    gl.glBindTexture(target, name)
    found = asked(gl.glGetTexLevelParameteriv, target, 0, gl.GL_TEXTURE_INTERNAL_FORMAT)
    gl.glBindTexture(target, 0)
    known = (f"GL_{format}" for format in _NAMED)
    return next((n for n in known if getattr(gl, n) == found), f"0x{found:04x}")


def check_images(gl: Any, texture: Texture, names: tuple[int, ...]) -> None:
    """Refuse an application's textures that cannot be bound as images of the stated format.

    Raises:
        ShadergenError: SG0602.
    """
    target = target_of(gl, texture)
    internal = getattr(gl, f"GL_{texture.format.upper()}")
    wrong = ""
    for name in names:
        gl.glBindTexture(target, name)
        if not asked(gl.glGetTexParameteriv, target, gl.GL_TEXTURE_IMMUTABLE_FORMAT):
            wrong = wrong or "its storage is not immutable"
        found = asked(gl.glGetTexLevelParameteriv, target, 0, gl.GL_TEXTURE_INTERNAL_FORMAT)
        if found != internal:
            wrong = wrong or f"its format is 0x{found:04x}"
    gl.glBindTexture(target, 0)
    if wrong:
        raise ShadergenError(
            "SG0602",
            f"this texture cannot be bound as the image {texture.name!r}",
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
    """Return a tensor's texels: uint8 for 8-bit textures, otherwise float32.

    Where GL reads a texture's own components and type, it converts nothing and copies less.
    """
    target, point = gl.GL_READ_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0
    gl.glBindFramebuffer(target, framebuffer)
    gl.glReadBuffer(point)
    gl.glBindBuffer(gl.GL_PIXEL_PACK_BUFFER, 0)
    for parameter in ("ROW_LENGTH", "SKIP_ROWS", "SKIP_PIXELS"):
        gl.glPixelStorei(getattr(gl, f"GL_PACK_{parameter}"), 0)
    gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)  # no gaps between rows
    _attach_layer(gl, target, point, texture, names, 0)
    own, (order, type_, dtype) = FORMATS[texture.format].components, _readable(gl, texture)
    components = LANES if order == gl.GL_RGBA else own
    width, height = texture.width, texture.height
    result = np.empty((texture.layers, height, width, components), dtype)
    for layer in range(texture.layers):
        _attach_layer(gl, target, point, texture, names, layer)
        gl.glReadPixels(0, 0, width, height, order, type_, result[layer].ctypes.data)
    gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 4)
    gl.glBindFramebuffer(target, 0)
    return result[..., :own]


def _readable(gl: Any, texture: Texture) -> tuple[int, int, DTypeLike]:
    """Return the components and the type to read the attached texture in: of GL and of numpy.

    GL converts halves, faster than numpy does, and where each layer has a texture of its own: the
    application's may be of different types.
    """
    own = _external(gl, texture)
    offered = ("GL_IMPLEMENTATION_COLOR_READ_FORMAT", "GL_IMPLEMENTATION_COLOR_READ_TYPE")
    converts = own[1] == gl.GL_HALF_FLOAT or texture.objects > 1
    if not converts and own == tuple(asked(gl.glGetIntegerv, getattr(gl, n)) for n in offered):
        return (*own, FORMATS[texture.format].dtype)
    # the application's texture may be of another type than the schedule's
    if _holds_floats(gl, gl.GL_READ_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0):
        return gl.GL_RGBA, gl.GL_FLOAT, np.float32
    return gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, np.uint8


def await_textures(gl: Any, framebuffer: int, texture: Texture, names: tuple[int, ...]) -> None:
    """Wait until a tensor's textures are drawn, by reading back one texel of the last layer.

    A read-back waits for the draw. glFinish may not: browsers and some drivers of tile-based GPUs
    only submit the work.
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
    kind = gl.GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE
    found = asked(gl.glGetFramebufferAttachmentParameteriv, target, point, kind)
    return bool(found == gl.GL_FLOAT)


def names_of(port: Port, texture: Texture, given: int | Iterable[int]) -> tuple[int, ...]:
    """Return the names of an application's textures, one for each texture of the port.

    Raises:
        ShadergenError: SG0605.
    """
    names: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) else (given,)
    # numpy's integers are names too; larger ones would become those of other textures
    sound = all(isinstance(name, (int, np.integer)) and 0 < name <= _LAST for name in names)
    if len(names) != texture.objects or not sound:
        count = texture.objects
        takes = "a 2D texture" if count == 1 else f"{count} 2D textures"
        if texture.is_array:
            takes = "an array texture"
        if texture.is_external:
            takes = "an external texture"
        raise ShadergenError(
            "SG0605",
            f"'{port.name}' takes {takes}, not {given!r}",
            help="give the texture names that glGenTextures returned",
        )
    return tuple(map(int, names))


def check_textures(
    gl: Any, port: Port, texture: Texture, names: tuple[int, ...], *, levels: bool
) -> None:
    """Refuse an application's textures of another size than the schedule's, or without colour.

    Textures of another target raise a GL error.

    Args:
        gl: the GL functions.
        port: the input or output.
        texture: the port's texture in the schedule.
        names: the application's textures.
        levels: whether sizes and formats can be queried: in OpenGL ES 3.1, and not for external
            textures.

    Raises:
        ShadergenError: SG0605.
    """
    target = target_of(gl, texture)
    if texture.is_external:
        # who makes its images may make the texture itself with the first of them
        gl.glBindTexture(target, names[0])
        gl.glBindTexture(target, 0)
        return
    wrong = ""
    for name in names:
        if not gl.glIsTexture(name):  # binding it would make one
            wrong = wrong or f"there is no texture {name} in this context"
            continue
        gl.glBindTexture(target, name)
        if levels:
            wrong = wrong or _mismatch(gl, target, texture, name)
    gl.glBindTexture(target, 0)
    if wrong:
        sized = " width of " in wrong or " height of " in wrong
        raise ShadergenError("SG0605", wrong, where=port.name, help=RESIZE if sized else "")


def check_apart(build: Build, names: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse an output in an input's texture that the output's pass or a later one reads.

    GL leaves the result undefined, or the input is overwritten before it is read.

    Args:
        build: what runs.
        names: of GL textures, by tensor.

    Raises:
        ShadergenError: SG0605.
    """
    for output, given in product(build.outputs, build.inputs):
        if not {*names[output.texture]} & {*names[given.texture]}:
            continue
        written = False
        for index, gpu_pass in enumerate(build.passes):
            written = written or any(w.texture == output.texture for w in gpu_pass.writes)
            if written and any(r.texture == given.texture for r in gpu_pass.reads):
                raise ShadergenError(
                    "SG0605",
                    f"the output '{output.name}' has the texture of the input '{given.name}'",
                    why=f"GPU pass {index} reads the input, and this pass or an earlier one writes "
                    "the output",
                    help="bind another texture to the output",
                )


def _mismatch(gl: Any, target: int, texture: Texture, name: int) -> str:
    """Return why the bound texture cannot be read or written as floats, or nothing."""

    def ask(what: str) -> int:
        return asked(gl.glGetTexLevelParameteriv, target, 0, getattr(gl, f"GL_TEXTURE_{what}"))

    expected = {"width": texture.width, "height": texture.height}
    if texture.is_array:
        expected["depth"] = texture.layers
    for side, wanted in expected.items():
        size = ask(side.upper())
        if not size:  # GL has not bound a texture of another kind
            kind = "an array texture" if texture.is_array else "a 2D texture"
            return f"texture {name} is not {kind} with storage"
        if size != wanted:
            return f"texture {name} has a {side} of {size}, not {wanted}"
    if ask("RED_TYPE") in (gl.GL_INT, gl.GL_UNSIGNED_INT):
        return f"texture {name} has an integer format, but the shaders use floats"
    if ask("DEPTH_TYPE") or ask("STENCIL_SIZE"):
        return f"texture {name} has a depth or stencil format"

    def lacks(color: str) -> bool:
        """Whether a component reads as 0: the swizzle of a texture may name another."""
        swizzle = getattr(gl, f"GL_TEXTURE_SWIZZLE_{color[0]}")
        source = asked(gl.glGetTexParameteriv, target, swizzle)
        return not ask(f"{color}_SIZE") and source == getattr(gl, f"GL_{color}")

    # A missing alpha reads as 1, as that of an opaque picture. Luminance has no red, and reads as
    # three equal components.
    wanted = texture.channels if texture.is_planes and ask("RED_SIZE") else 1
    green, blue = lacks("GREEN"), lacks("BLUE")
    if (wanted > 1 and green) or (wanted > 2 and blue):
        components = "one component" if green else "two components"
        return f"texture {name} has {components} for {texture.channels} channels"
    return ""
