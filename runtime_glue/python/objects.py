"""GL objects of a runner: created in init(), deleted together in close()."""

from __future__ import annotations

import ctypes
from typing import Any

from ...errors import ShadergenError

_KINDS = {
    "texture": "Textures",
    "buffer": "Buffers",
    "framebuffer": "Framebuffers",
    "sampler": "Samplers",
    "vertex_array": "VertexArrays",
    "query": "QueriesEXT",
}
_ERRORS = {
    0x0500: "GL_INVALID_ENUM",
    0x0501: "GL_INVALID_VALUE",
    0x0502: "GL_INVALID_OPERATION",
    0x0505: "GL_OUT_OF_MEMORY",
    0x0506: "GL_INVALID_FRAMEBUFFER_OPERATION",
    0x0507: "GL_CONTEXT_LOST",
}
_OUT_OF_MEMORY = 0x0505
# a lost context may answer with an error for ever
_MAX_ERRORS = 32


class Objects:
    """Creates GL objects and deletes them together."""

    def __init__(self, gl: Any) -> None:
        self._gl = gl
        self._made: list[tuple[str, int]] = []

    def make(self, kind: str) -> int:
        """Return a new object of a kind in ``_KINDS``."""
        name = ctypes.c_uint(0)
        getattr(self._gl, f"glGen{_KINDS[kind]}")(1, ctypes.byref(name))
        self._made.append((kind, name.value))
        return name.value

    def adopt_program(self, program: int) -> int:
        """Delete a program too."""
        self._made.append(("program", program))
        return program

    def delete(self) -> None:
        """Delete all objects."""
        for kind, name in reversed(self._made):
            if kind == "program":
                self._gl.glDeleteProgram(name)
            else:
                value = ctypes.c_uint(name)
                getattr(self._gl, f"glDelete{_KINDS[kind]}")(1, ctypes.byref(value))
        self._made.clear()


def forget_errors(gl: Any) -> None:
    """Clear errors that the application left, so that they are not reported as ours."""
    for _ in range(_MAX_ERRORS):
        if not gl.glGetError():
            return


def check_errors(gl: Any, doing: str) -> None:
    """Raise what GL reports.

    Args:
        gl: the GL functions.
        doing: the operation, as a clause after "while".

    Raises:
        ShadergenError: SG0604.
    """
    errors = []
    for _ in range(_MAX_ERRORS):
        error = gl.glGetError()
        if not error:
            break
        errors.append(error)
    if errors:
        names = dict.fromkeys(_ERRORS.get(e, f"0x{e:04x}") for e in errors)
        raise ShadergenError(
            "SG0604",
            f"GL reports {', '.join(names)} while {doing}",
            help="the GPU's memory is full: use a smaller input size, or --precision fp16"
            if _OUT_OF_MEMORY in errors
            else "",
        )
