"""All GL objects of a build, created once."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError
from ...records import replace
from .objects import Objects, check_errors
from .programs import build_programs, set_uniforms
from .recording import Bound, Frame, record
from .schedule import ComputePass
from .textures import (
    attach,
    check_images,
    fill_textures,
    format_name,
    make_sampler,
    make_textures,
)
from .timer import EXTENSION, Timer

if TYPE_CHECKING:
    from .device import DeviceInfo
    from .schedule import Build, Port, Texture

MATRIX = 16  # numbers


class Resources:
    """Programs, textures, framebuffers and buffers of a build on a GL.

    ``textures`` maps tensor names to GL textures: the runner's, or those that the application bound
    instead. Inputs have none at first. ``matrices`` holds the matrices of external textures; frames
    read them in place.
    """

    def __init__(self, gl: Any, build: Build, device: DeviceInfo) -> None:
        self._gl = gl
        self._build = build
        self.device = device
        self.objects = Objects(gl)
        self.sized = Objects(gl)  # the textures whose sizes may be dynamic
        self.textures: dict[str, tuple[int, ...]] = {}
        external = (t.name for t in build.textures.values() if t.is_external)
        self.matrices: dict[str, Any] = {name: (ctypes.c_float * MATRIX)() for name in external}
        self.timer: Timer | None = None
        self._images = {r.texture for p in build.passes for r in p.images}
        stores = (p for p in build.passes if isinstance(p, ComputePass))
        self._images |= {w.texture for p in stores for w in p.writes}
        try:
            self._make()
        except BaseException:
            self.delete()
            raise

    def _make(self) -> None:
        gl, build = self._gl, self._build
        programs = build_programs(gl, self.objects, build)
        self._fill_constants()
        self._make_textures()
        self._bound = Bound(
            vertex_array=self.objects.make("vertex_array"),
            sampler=make_sampler(gl, self.objects),
            programs=programs,
            framebuffers=[self.objects.make("framebuffer") for _ in build.passes],
            textures=self.textures,
            matrices=self.matrices,
            buffers=self._make_buffers(),
        )
        self.read_framebuffer = self.objects.make("framebuffer")
        self._attach_all()
        if EXTENSION in self.device.extensions:
            self.timer = Timer(gl, self.objects, len(build.passes))
        check_errors(gl, "the build's GL objects are made")

    def _fill_constants(self) -> None:
        for texture in self._build.textures.values():
            if texture.data:
                names = make_textures(self._gl, self.objects, texture)
                content = self._build.bytes_of(texture.data)
                fill_textures(self._gl, texture, names, content)
                self.textures[texture.name] = names

    def _make_textures(self) -> None:
        gl, build = self._gl, self._build
        deepest: dict[int, Texture] = {}  # of each slot: the rest use the first of its layers
        for texture in build.textures.values():
            if texture.slot is not None and not texture.data:
                known = deepest.setdefault(texture.slot, texture)
                if texture.layers > known.layers:
                    deepest[texture.slot] = texture
        slots = {slot: make_textures(gl, self.sized, t) for slot, t in deepest.items()}
        for texture in build.textures.values():
            if texture.slot is not None and not texture.data:
                self.textures[texture.name] = slots[texture.slot][: texture.objects]
        check_errors(gl, "textures are made")

    def _make_buffers(self) -> dict[str, int]:
        gl = self._gl
        buffers = {}
        for buffer in self._build.buffers.values():
            uniform = buffer.kind == "uniform"
            target = gl.GL_UNIFORM_BUFFER if uniform else gl.GL_SHADER_STORAGE_BUFFER
            buffers[buffer.name] = name = self.objects.make("buffer")
            gl.glBindBuffer(target, name)
            content = self._build.bytes_of(buffer.range)
            gl.glBufferData(target, buffer.range.size, content, gl.GL_STATIC_DRAW)
            gl.glBindBuffer(target, 0)
        return buffers

    def rebind(self, port: Port) -> None:
        """Point all passes that write an output at its current textures.

        Raises:
            ShadergenError: SG0602 if GL cannot draw to the textures or bind them as images.
        """
        name = port.texture
        if name in self._images:
            check_images(self._gl, self._build.textures[name], self.textures[name])
        for i, gpu_pass in enumerate(self._build.passes):
            if not any(write.texture == name for write in gpu_pass.writes):
                continue
            try:
                self._attach(i)
            except ShadergenError as error:
                raise self._undrawable(port, error) from None

    def resize(self, build: Build) -> None:
        """Create the textures of a build again at other sizes; programs and weights stay.

        Textures bound by the application are unbound. If GL refuses, nothing changes.

        Args:
            build: the same build at other sizes.

        Raises:
            ShadergenError: SG0602 or SG0604.
        """
        before = self._build, self.sized, self.textures.copy()
        self._build, self.sized = build, Objects(self._gl)
        constants = {t.name for t in build.textures.values() if t.data}
        for name in self.textures.keys() - constants:
            del self.textures[name]
        try:
            self._make_textures()
            self._attach_all()
            check_errors(self._gl, "the build's textures are made")
        except BaseException:
            self.sized.delete()
            self._build, self.sized, textures = before
            self.textures.clear()
            self.textures.update(textures)
            for i in range(len(build.passes)):
                self._attach(i)
            raise
        before[1].delete()
        programs = set_uniforms(self._gl, self._bound.programs, build.passes)
        self._bound = replace(self._bound, programs=programs)

    def delete(self) -> None:
        """Delete all objects."""
        self.sized.delete()
        self.objects.delete()

    def _undrawable(self, port: Port, error: ShadergenError) -> ShadergenError:
        """Return the error of a draw in terms of the application's texture for an output."""
        form = ""
        if self.device.es >= (3, 1):
            texture, names = self._build.textures[port.texture], self.textures[port.texture]
            form = f" ({format_name(self._gl, texture, names[0])})"
        what = f"this GL cannot draw to the texture of '{port.name}'{form}"
        return ShadergenError(error.code, what, why=error.why, help=error.help)

    def _attach_all(self) -> None:
        for i in range(len(self._build.passes)):
            self._attach(i)
            self._clear(i)

    def _attach(self, index: int) -> None:
        """Attach the textures that a draw writes to its framebuffer."""
        gpu_pass = self._build.passes[index]
        if isinstance(gpu_pass, ComputePass):
            return
        layers = [
            (self._build.textures[w.texture], self.textures[w.texture], w.layer)
            for w in gpu_pass.writes
        ]
        attach(self._gl, self._bound.framebuffers[index], layers)

    def _clear(self, index: int) -> None:
        """Make the driver allocate memory now instead of in the first frame.

        Clearing also keeps Mesa's llvmpipe from misreporting the first timer query of a context
        that has drawn nothing.
        """
        gl = self._gl
        if isinstance(self._build.passes[index], ComputePass):
            return
        gl.glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, self._bound.framebuffers[index])
        for i in range(len(self._build.passes[index].writes)):
            gl.glClearBufferfv(gl.GL_COLOR, i, (ctypes.c_float * 4)())
        gl.glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, 0)

    def record(self) -> Frame:
        """Record the calls of a frame with the current textures."""
        return record(self._gl, self._build, self._bound)
