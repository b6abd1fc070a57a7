"""Compile shaders with the OpenGL ES driver that EGL finds. See :mod:`gpus.worker`.

A program is linked and, unless GPUS_NO_DRAW is set, drawn or dispatched once with textures of its
formats: many drivers compile only then, or once more.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gpus.worker import Clock, Refused, serve
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python.context import HeadlessContext
from shadergen.runtime_glue.python.gl import Library, asked, load_egl

SIDE, LAYERS = 16, 8  # of every texture
BYTES = 65536  # of every buffer
TRIANGLE = 3
NAME = 256
SOFTWARE = ("llvmpipe", "softpipe", "swrast")
KINDS = {  # of uniforms: sampler or image, dimensions
    0x8B5E: ("sampler", "2D"),
    0x8DC1: ("sampler", "2D_ARRAY"),
    0x8B5F: ("sampler", "3D"),
    0x904D: ("image", "2D"),
    0x9053: ("image", "2D_ARRAY"),
    0x904E: ("image", "3D"),
}
Shader = Mapping[str, Any]


class GlDriver:
    """The driver with a context; every texture is made once.

    Raises:
        ShadergenError: SG0601 when EGL finds no GPU's driver.
    """

    def __init__(self) -> None:
        self.context = HeadlessContext("surfaceless")
        self.gl: Any = self.context.gl
        names = (self.gl.GL_RENDERER, self.gl.GL_VERSION)
        renderer, version = (self.gl.glGetString(name).decode() for name in names)
        if any(software in renderer for software in SOFTWARE):
            raise ShadergenError("SG0601", f"EGL finds {renderer} in place of the GPU's driver")
        self.version = version[version.find("Mesa") :]
        self.draws = "GPUS_NO_DRAW" not in os.environ
        self._messages: list[str] = []
        self._textures: dict[tuple[str, str, str], int] = {}
        self._listen()

    def _listen(self) -> None:
        module = import_module("OpenGL.raw.GLES2.KHR.debug")
        debug: Any = Library((module,), (), load_egl().eglGetProcAddress)
        ints = [ctypes.c_uint] * 4
        kind = ctypes.CFUNCTYPE(None, *ints, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)

        def said(*message: Any) -> None:
            self._messages.append(message[5].decode("utf-8", "replace").strip())

        self._said = kind(said)  # GL keeps no reference
        self.gl.glEnable(debug.GL_DEBUG_OUTPUT_SYNCHRONOUS_KHR)
        debug.glDebugMessageCallbackKHR(ctypes.cast(self._said, ctypes.c_void_p), None)
        debug.glDebugMessageControlKHR(*(self.gl.GL_DONT_CARE,) * 3, 0, None, 1)
        # Mesa looks at the other settings when this one changes
        self.gl.glDisable(debug.GL_DEBUG_OUTPUT_KHR)
        self.gl.glEnable(debug.GL_DEBUG_OUTPUT_KHR)

    def compile(self, shader: Shader, clock: Clock) -> list[str]:
        """Compile a shader; return what the driver said."""
        self._messages.clear()
        gl = self.gl
        program = gl.glCreateProgram()
        compute = shader["stage"] == "compute"
        kinds = {gl.GL_COMPUTE_SHADER: "source"} if compute else {}
        kinds = kinds or {gl.GL_VERTEX_SHADER: "vertex", gl.GL_FRAGMENT_SHADER: "source"}
        with clock:
            for kind, name in kinds.items():
                gl.glAttachShader(program, self._stage(kind, shader[name]))
            gl.glLinkProgram(program)
            linked = asked(gl.glGetProgramiv, program, gl.GL_LINK_STATUS)
        if not linked:
            raise Refused(f"does not link: {self._log('Program', program)}")
        if self.draws:
            gl.glUseProgram(program)
            self._bind_textures(program, dict(shader.get("formats", ())))
            self._bind_blocks(program)
            if not compute:
                self._attach(shader["targets"])
            with clock:
                if compute:
                    gl.glDispatchCompute(4, 4, 1)
                else:
                    gl.glDrawArrays(gl.GL_TRIANGLES, 0, TRIANGLE)
                gl.glFlush()
        return list(self._messages)

    def _stage(self, kind: int, source: str) -> int:
        gl, text = self.gl, source.encode()
        name: int = gl.glCreateShader(kind)
        lines = (ctypes.c_char_p * 1)(text)
        gl.glShaderSource(name, 1, lines, ctypes.byref(ctypes.c_int(len(text))))
        gl.glCompileShader(name)
        if not asked(gl.glGetShaderiv, name, gl.GL_COMPILE_STATUS):
            raise Refused(f"does not compile: {self._log('Shader', name)}")
        return name

    def _log(self, of: str, name: int) -> str:
        text = ctypes.create_string_buffer(2000)
        getattr(self.gl, f"glGet{of}InfoLog")(name, len(text), None, text)
        return " ".join(text.value.decode("utf-8", "replace").split())

    def _bind_textures(self, program: int, formats: Mapping[str, str]) -> None:
        gl, unit = self.gl, 0
        size, kind = ctypes.c_int(), ctypes.c_uint()
        name = ctypes.create_string_buffer(NAME)
        for index in range(asked(gl.glGetProgramiv, program, gl.GL_ACTIVE_UNIFORMS)):
            sizes = ctypes.byref(size), ctypes.byref(kind)
            gl.glGetActiveUniform(program, index, NAME, None, *sizes, name)
            use, dimensions = KINDS.get(kind.value, ("", ""))
            if not use:
                continue
            format = formats.get(name.value.decode().removesuffix("[0]"), "rgba32f")
            texture = self._texture(use, dimensions, format)
            location = gl.glGetUniformLocation(program, name)
            if use == "image":
                binding = asked(gl.glGetUniformiv, program, location)
                layered = dimensions != "2D"
                access = gl.GL_READ_WRITE, getattr(gl, f"GL_{format.upper()}")
                gl.glBindImageTexture(binding, texture, 0, layered, 0, *access)
            else:
                gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
                gl.glBindTexture(getattr(gl, f"GL_TEXTURE_{dimensions}"), texture)
                gl.glUniform1i(location, unit)
                unit += 1

    def _texture(self, use: str, dimensions: str, format: str) -> int:
        gl, key = self.gl, (use, dimensions, format)
        if key not in self._textures:
            target = getattr(gl, f"GL_TEXTURE_{dimensions}")
            internal = getattr(gl, f"GL_{format.upper()}")
            self._textures[key] = asked(gl.glGenTextures, 1)
            gl.glBindTexture(target, self._textures[key])
            if dimensions == "2D":
                gl.glTexStorage2D(target, 1, internal, SIDE, SIDE)
            else:
                gl.glTexStorage3D(target, 1, internal, SIDE, SIDE, LAYERS)
            for setting in (gl.GL_TEXTURE_MIN_FILTER, gl.GL_TEXTURE_MAG_FILTER):
                gl.glTexParameteri(target, setting, gl.GL_NEAREST)
            for setting in (gl.GL_TEXTURE_WRAP_S, gl.GL_TEXTURE_WRAP_T):
                gl.glTexParameteri(target, setting, gl.GL_CLAMP_TO_EDGE)
        return self._textures[key]

    def _bind_blocks(self, program: int) -> None:
        gl = self.gl
        for index in range(asked(gl.glGetProgramiv, program, gl.GL_ACTIVE_UNIFORM_BLOCKS)):
            gl.glUniformBlockBinding(program, index, index)
            self._bind_buffer(gl.GL_UNIFORM_BUFFER, index)
        try:
            blocks = gl.GL_SHADER_STORAGE_BLOCK
            count = asked(gl.glGetProgramInterfaceiv, program, blocks, gl.GL_ACTIVE_RESOURCES)
        except AttributeError:  # OpenGL ES 3.0
            return
        wanted = ctypes.byref(ctypes.c_uint(gl.GL_BUFFER_BINDING))
        for index in range(count):
            place = program, blocks, index, 1, wanted, 1, None
            self._bind_buffer(gl.GL_SHADER_STORAGE_BUFFER, asked(gl.glGetProgramResourceiv, *place))

    def _bind_buffer(self, target: int, binding: int) -> None:
        gl = self.gl
        name = asked(gl.glGenBuffers, 1)
        gl.glBindBuffer(target, name)
        gl.glBufferData(target, BYTES, None, gl.GL_STATIC_DRAW)
        gl.glBindBufferBase(target, binding, name)

    def _attach(self, formats: list[str]) -> None:
        gl, points = self.gl, []
        framebuffer = asked(gl.glGenFramebuffers, 1)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)
        for layer, format in enumerate(formats):
            points.append(gl.GL_COLOR_ATTACHMENT0 + layer)
            place = self._texture("target", "2D_ARRAY", format), 0, layer
            gl.glFramebufferTextureLayer(gl.GL_FRAMEBUFFER, points[-1], *place)
        gl.glDrawBuffers(len(points), (ctypes.c_uint * len(points))(*points))
        gl.glViewport(0, 0, SIDE, SIDE)


if __name__ == "__main__":
    serve(GlDriver)
