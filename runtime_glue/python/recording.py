"""The GL calls of one frame, recorded once.

A frame is a list of (function, arguments). Running it creates no objects, queries nothing and waits
for nothing. Redundant binds are omitted when the list is recorded.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from ...records import dataclass
from .programs import set_uniform
from .schedule import ComputePass, RenderPass
from .textures import target_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .programs import Program
    from .schedule import Build, GpuPass

Call = tuple[Any, tuple[Any, ...]]

# state of the application that would change what is drawn
_OFF = (
    "GL_BLEND",
    "GL_CULL_FACE",
    "GL_DEPTH_TEST",
    "GL_DITHER",
    "GL_RASTERIZER_DISCARD",
    "GL_SAMPLE_ALPHA_TO_COVERAGE",
    "GL_SAMPLE_COVERAGE",
    "GL_SCISSOR_TEST",
    "GL_STENCIL_TEST",
)
_TRIANGLE = 3
_BARRIERS = {
    "texture": "GL_TEXTURE_FETCH_BARRIER_BIT",
    "image": "GL_SHADER_IMAGE_ACCESS_BARRIER_BIT",
    "framebuffer": "GL_FRAMEBUFFER_BARRIER_BIT",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """GL objects of a runner: textures and buffers by name, framebuffers and programs by pass."""

    vertex_array: int
    sampler: int
    programs: Sequence[Program]
    framebuffers: Sequence[int]
    textures: Mapping[str, tuple[int, ...]]
    matrices: Mapping[str, Any]  # of external textures: 16 floats of C, column by column
    buffers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Frame:
    """Calls before the passes, of each pass, and after the passes."""

    before: list[Call]
    passes: list[list[Call]]
    after: list[Call]


def record(gl: Any, build: Build, bound: Bound) -> Frame:
    """Record the calls of a frame."""
    units = range(max((len(p.units) for p in bound.programs), default=0))
    before: list[Call] = [(gl.glDisable, (getattr(gl, name),)) for name in _OFF]
    before.append((gl.glColorMask, (1, 1, 1, 1)))
    before.append((gl.glBindVertexArray, (bound.vertex_array,)))
    before += [(gl.glBindSampler, (unit, bound.sampler)) for unit in units]
    recorder = _Recorder(gl, build, bound)
    passes = [recorder.record(i, p) for i, p in enumerate(build.passes)]
    after: list[Call] = []
    if any(isinstance(p, ComputePass) or p.images for p in build.passes):
        # for what the application does with outputs, and for the next frame
        after.append((gl.glMemoryBarrier, (gl.GL_ALL_BARRIER_BITS,)))
    for unit in sorted(recorder.bound_images):
        after.append((gl.glBindImageTexture, (unit, 0, 0, 0, 0, gl.GL_READ_ONLY, gl.GL_RGBA32F)))
    for unit, target in sorted(recorder.bound_textures):
        after.append((gl.glActiveTexture, (gl.GL_TEXTURE0 + unit,)))
        after.append((gl.glBindTexture, (target, 0)))
    after += [(gl.glBindBufferBase, (*place, 0)) for place in sorted(recorder.bound_buffers)]
    after += [(gl.glBindSampler, (unit, 0)) for unit in units]
    after.append((gl.glActiveTexture, (gl.GL_TEXTURE0,)))
    after.append((gl.glBindVertexArray, (0,)))
    after.append((gl.glBindFramebuffer, (gl.GL_DRAW_FRAMEBUFFER, 0)))
    after.append((gl.glUseProgram, (0,)))
    return Frame(before, passes, after)


class _Recorder:
    """Records passes in order and tracks the bindings between them."""

    def __init__(self, gl: Any, build: Build, bound: Bound) -> None:
        self._gl = gl
        self._build = build
        self._bound = bound
        self._state: dict[str, tuple[int, ...]] = {}
        self._samplers: dict[int, int] = {}  # of units that have another than at first
        self.bound_textures: dict[tuple[int, int], int] = {}
        self.bound_images: dict[int, tuple[int, ...]] = {}
        self.bound_buffers: dict[tuple[int, int], int] = {}

    def record(self, index: int, gpu_pass: GpuPass) -> list[Call]:
        """Return the calls of a pass, the draw or dispatch being the last."""
        gl, bound = self._gl, self._bound
        program = bound.programs[index]
        calls: list[Call] = []
        if gpu_pass.barriers:
            bits = [getattr(gl, _BARRIERS[name]) for name in gpu_pass.barriers]
            calls.append((gl.glMemoryBarrier, (reduce(or_, bits),)))
        self._set(calls, "glUseProgram", program.name)
        self._bind(calls, gpu_pass, program)
        if isinstance(gpu_pass, ComputePass):
            write = gpu_pass.writes[0]
            self._image(calls, gpu_pass.image, write.texture, write.layer, gl.GL_WRITE_ONLY)
            calls.append((gl.glDispatchCompute, gpu_pass.groups))
            return calls
        assert isinstance(gpu_pass, RenderPass)
        self._set(calls, "glBindFramebuffer", gl.GL_DRAW_FRAMEBUFFER, bound.framebuffers[index])
        self._set(calls, "glViewport", 0, 0, *gpu_pass.viewport)
        calls.append((gl.glDrawArrays, (gl.GL_TRIANGLES, 0, _TRIANGLE)))
        return calls

    def _bind(self, calls: list[Call], gpu_pass: GpuPass, program: Program) -> None:
        """Bind the textures and buffers of a pass."""
        gl, bound = self._gl, self._bound
        for read in gpu_pass.images:
            self._image(calls, read.image, read.texture, read.layer or 0, gl.GL_READ_ONLY)
        for read in gpu_pass.samplers:
            texture = self._build.textures[read.texture]
            name = bound.textures[read.texture][read.layer or 0]
            place = (program.units[read.uniform], target_of(gl, texture))
            if self.bound_textures.get(place) != name:
                self.bound_textures[place] = name
                self._set(calls, "glActiveTexture", gl.GL_TEXTURE0 + place[0])
                calls.append((gl.glBindTexture, (place[1], name)))
            # a frame is filtered as its own parameters say, since it has another size
            sampler = 0 if texture.is_external else bound.sampler
            if self._samplers.get(place[0], bound.sampler) != sampler:
                self._samplers[place[0]] = sampler
                calls.append((gl.glBindSampler, (place[0], sampler)))
            if read.matrix:
                matrix = (program.matrices[read.matrix], 1, 0, bound.matrices[read.texture])
                calls.append((gl.glUniformMatrix4fv, matrix))
        for block in gpu_pass.blocks:
            if block.block in program.bindings:
                place, buffer = program.bindings[block.block], bound.buffers[block.buffer]
                if self.bound_buffers.get(place) != buffer:
                    self.bound_buffers[place] = buffer
                    calls.append((gl.glBindBufferBase, (*place, buffer)))
        for uniform in gpu_pass.uniforms:
            if uniform.name in program.varying:
                calls.append(set_uniform(gl, uniform, program.varying[uniform.name]))

    def _image(self, calls: list[Call], unit: int, name: str, layer: int, access: int) -> None:
        """Bind a texture to an image unit: all layers of an array, or one 2D texture."""
        gl, texture = self._gl, self._build.textures[name]
        names = self._bound.textures[name]
        texels = getattr(gl, f"GL_{texture.format.upper()}")
        whole = int(texture.is_array)
        arguments = (names[0 if whole else layer], 0, whole, 0, access, texels)
        if self.bound_images.get(unit) != arguments:
            self.bound_images[unit] = arguments
            calls.append((gl.glBindImageTexture, (unit, *arguments)))

    def _set(self, calls: list[Call], function: str, *arguments: int) -> None:
        """Record a call unless the last call of the same function had equal arguments."""
        if self._state.get(function) != arguments:
            self._state[function] = arguments
            calls.append((getattr(self._gl, function), arguments))
