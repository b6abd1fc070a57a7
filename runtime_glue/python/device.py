"""Limits and extensions of the current GL context, checked against a build's requirements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError
from ...records import dataclass
from .gl import asked, load_gles
from .renderers import matches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .schedule import Requires

# name in the schedule's requirements: GL's name, and the first OpenGL ES version that knows it
LIMITS: dict[str, tuple[str, tuple[int, int]]] = {
    "texture_size": ("GL_MAX_TEXTURE_SIZE", (3, 0)),
    "array_texture_layers": ("GL_MAX_ARRAY_TEXTURE_LAYERS", (3, 0)),
    "texture_units": ("GL_MAX_TEXTURE_IMAGE_UNITS", (3, 0)),
    "draw_buffers": ("GL_MAX_DRAW_BUFFERS", (3, 0)),
    "uniform_block_size": ("GL_MAX_UNIFORM_BLOCK_SIZE", (3, 0)),
    "uniform_blocks": ("GL_MAX_FRAGMENT_UNIFORM_BLOCKS", (3, 0)),
    "storage_block_size": ("GL_MAX_SHADER_STORAGE_BLOCK_SIZE", (3, 1)),
    "storage_blocks": ("GL_MAX_FRAGMENT_SHADER_STORAGE_BLOCKS", (3, 1)),
    "fragment_images": ("GL_MAX_FRAGMENT_IMAGE_UNIFORMS", (3, 1)),
    "compute_images": ("GL_MAX_COMPUTE_IMAGE_UNIFORMS", (3, 1)),
    "compute_texture_units": ("GL_MAX_COMPUTE_TEXTURE_IMAGE_UNITS", (3, 1)),
    "compute_uniform_blocks": ("GL_MAX_COMPUTE_UNIFORM_BLOCKS", (3, 1)),
    "workgroup_invocations": ("GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS", (3, 1)),
    "workgroup_count": ("GL_MAX_COMPUTE_WORK_GROUP_COUNT", (3, 1)),
}
_FLOAT = "GL_EXT_color_buffer_float"
_HALF_FLOAT = "GL_EXT_color_buffer_half_float"
_HELP = "compile the model for this device ('shadergen doctor' lists the device's features)"


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A GL context: ``es`` is its OpenGL ES version, ``limits`` has the names of the schedule."""

    vendor: str
    renderer: str
    version: str
    glsl: str
    es: tuple[int, int]
    extensions: frozenset[str]
    limits: Mapping[str, int]

    @property
    def draws_float(self) -> bool:
        """Whether 32-bit float textures are color-renderable."""
        return self.es >= (3, 2) or _FLOAT in self.extensions

    @property
    def draws_half_float(self) -> bool:
        """Whether 16-bit float textures are color-renderable."""
        return self.draws_float or _HALF_FLOAT in self.extensions

    @property
    def has_compute(self) -> bool:
        """Whether there are compute shaders."""
        return self.es >= (3, 1)

    def is_for(self, variant: Mapping[str, Any]) -> bool:
        """Whether a variant, as a schedule lists it, is for this renderer."""
        chosen = matches(variant["renderers"], self.renderer)
        return chosen and not matches(variant["others"], self.renderer)

    def check(self, requires: Requires) -> None:
        """Raise an error if the device lacks a requirement of a build.

        Raises:
            ShadergenError: SG0602, naming everything that is missing.
        """
        missing = ["support for WGSL, the build's shader language"] if requires.wgsl else []
        need = divmod(requires.glsl // 10, 10)
        if self.es < need:
            missing.append(f"OpenGL ES {need[0]}.{need[1]} (this is {self.es[0]}.{self.es[1]})")
        if requires.color_buffer == "float" and not self.draws_float:
            missing.append(f"{_FLOAT}, needed to draw to 32-bit float textures")
        if requires.color_buffer == "half_float" and not self.draws_half_float:
            missing.append(f"{_HALF_FLOAT} or {_FLOAT}, needed to draw to 16-bit float textures")
        missing += [
            f"{name}, needed to read the application's external textures"
            for name in requires.extensions or ()
            if name not in self.extensions
        ]
        missing += [
            f"{name.replace('_', ' ')} >= {needed} ({LIMITS[name][0]} is {self.limits[name]})"
            for name, needed in requires.limits.items()
            if needed > self.limits[name]
        ]
        if missing:
            raise ShadergenError(
                "SG0602",
                f"this GL lacks {missing[0]}",
                where=f"{self.renderer}, {self.version}",
                why="\n".join(f"the build also requires {m}" for m in missing[1:]),
                help=_HELP,
            )


def query_device(gl: Any = None) -> DeviceInfo:
    """Describe the current context.

    Args:
        gl: the GL functions by their C names; by default the system's OpenGL ES.

    Raises:
        ShadergenError: SG0601, when no OpenGL ES 3 context is current on this thread.
    """
    gl = load_gles() if gl is None else gl
    version = _text(gl, gl.GL_VERSION)
    match = re.match(r"OpenGL ES (\d+)\.(\d+)", version)
    if not match or int(match[1]) < 3:
        raise ShadergenError(
            "SG0601",
            "no OpenGL ES 3 context is current on this thread",
            why=f"GL_VERSION is '{version}'" if version else "GL reports no version",
            help="make the application's context current, or use HeadlessContext",
        )
    es = int(match[1]), int(match[2])
    count = get_integer(gl, gl.GL_NUM_EXTENSIONS)
    names = (gl.glGetStringi(gl.GL_EXTENSIONS, i) for i in range(count))
    limits = {
        name: _limit(gl, getattr(gl, enum)) if es >= since else 0
        for name, (enum, since) in LIMITS.items()
    }
    limits["draw_buffers"] = min(
        limits["draw_buffers"], get_integer(gl, gl.GL_MAX_COLOR_ATTACHMENTS)
    )
    return DeviceInfo(
        vendor=_text(gl, gl.GL_VENDOR),
        renderer=_text(gl, gl.GL_RENDERER),
        version=version,
        glsl=_text(gl, gl.GL_SHADING_LANGUAGE_VERSION),
        es=es,
        extensions=frozenset(n.decode("ascii", "replace") for n in names if n),
        limits=limits,
    )


def _limit(gl: Any, enum: int) -> int:
    """Return a limit; if the limit has three axes, the smallest."""
    if enum != gl.GL_MAX_COMPUTE_WORK_GROUP_COUNT:
        return get_integer(gl, enum)
    counts = [asked(gl.glGetIntegeri_v, enum, axis) for axis in range(3)]
    return min(count if count >= 0 else 2**31 - 1 for count in counts)


def get_integer(gl: Any, enum: int) -> int:
    """Return an integer of the GL's state, at most 2^31 - 1."""
    value = asked(gl.glGetIntegerv, enum)
    return value if value >= 0 else 2**31 - 1


def _text(gl: Any, enum: int) -> str:
    text: bytes | None = gl.glGetString(enum)
    return (text or b"").decode("utf-8", "replace")
