"""The GL calls of one frame, worked out beforehand.

A frame is a list of (function, arguments): nothing is looked up, made, asked or waited for while it
plays. Redundant binds are left out when the list is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .programs import set_uniform
from .textures import target_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .programs import Program
    from .schedule import Build, RenderPass

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


@dataclass(frozen=True, slots=True)
class Bound:
    """GL objects of a player: textures and buffers by name, framebuffers and programs by pass."""

    vertex_array: int
    sampler: int
    programs: Sequence[Program]
    framebuffers: Sequence[int]
    textures: Mapping[str, tuple[int, ...]]
    buffers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Frame:
    """Calls before the passes, of each pass, and after them."""

    before: list[Call]
    passes: list[list[Call]]
    after: list[Call]


def record(gl: Any, build: Build, bound: Bound) -> Frame:
    """Work out the calls of a frame."""
    units = range(max((len(p.units) for p in bound.programs), default=0))
    before: list[Call] = [(gl.glDisable, (getattr(gl, name),)) for name in _OFF]
    before.append((gl.glColorMask, (1, 1, 1, 1)))
    before.append((gl.glBindVertexArray, (bound.vertex_array,)))
    before += [(gl.glBindSampler, (unit, bound.sampler)) for unit in units]
    recorder = _Recorder(gl, build, bound)
    passes = [recorder.record(i, p) for i, p in enumerate(build.passes)]
    after: list[Call] = []
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
    """Records passes in order, and so knows what each finds bound."""

    def __init__(self, gl: Any, build: Build, bound: Bound) -> None:
        self._gl = gl
        self._build = build
        self._bound = bound
        self._state: dict[str, tuple[int, ...]] = {}
        self.bound_textures: dict[tuple[int, int], int] = {}
        self.bound_buffers: dict[tuple[int, int], int] = {}

    def record(self, index: int, render_pass: RenderPass) -> list[Call]:
        gl, bound = self._gl, self._bound
        program = bound.programs[index]
        calls: list[Call] = []
        self._set(calls, "glUseProgram", program.name)
        self._set(calls, "glBindFramebuffer", gl.GL_DRAW_FRAMEBUFFER, bound.framebuffers[index])
        self._set(calls, "glViewport", 0, 0, *render_pass.viewport)
        for read in render_pass.reads:
            texture = self._build.textures[read.texture]
            name = bound.textures[read.texture][read.layer or 0]
            place = (program.units[read.uniform], target_of(gl, texture))
            if self.bound_textures.get(place) != name:
                self.bound_textures[place] = name
                self._set(calls, "glActiveTexture", gl.GL_TEXTURE0 + place[0])
                calls.append((gl.glBindTexture, (place[1], name)))
        for block in render_pass.blocks:
            if block.block in program.bindings:
                place, buffer = program.bindings[block.block], bound.buffers[block.buffer]
                if self.bound_buffers.get(place) != buffer:
                    self.bound_buffers[place] = buffer
                    calls.append((gl.glBindBufferBase, (*place, buffer)))
        for uniform in render_pass.uniforms:
            if uniform.name in program.varying:
                calls.append(set_uniform(gl, uniform, program.varying[uniform.name]))
        calls.append((gl.glDrawArrays, (gl.GL_TRIANGLES, 0, _TRIANGLE)))
        return calls

    def _set(self, calls: list[Call], function: str, *arguments: int) -> None:
        """Record a call unless the last one of its function was the same."""
        if self._state.get(function) != arguments:
            self._state[function] = arguments
            calls.append((getattr(self._gl, function), arguments))
