"""Compile and link the shaders of a build; passes with equal shaders share a program."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError
from ...records import dataclass, replace
from .files import COPY
from .gl import asked
from .pixels import shape_text
from .schedule import ComputePass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .objects import Objects
    from .schedule import Build, GpuPass, Uniform

_SETTERS = {
    "int": "glUniform1i",
    "float": "glUniform1f",
    "ivec2": "glUniform2i",
    "vec4": "glUniform4f",
}
_INVALID_INDEX = 0xFFFFFFFF
_CONTEXT_LINES = 3
_MAX_LOG_LINES = 100
# Mesa: 0:12(5): error, ANGLE and Adreno: ERROR: 0:12:, NVIDIA: 0(12) : error
_LOG_LINE = re.compile(r"^\s*(?:[A-Za-z]+:\s*)?\d+(?::|\()(\d+)")


@dataclass(frozen=True, slots=True)
class Program:
    """A linked program.

    ``units`` maps samplers to texture units, ``bindings`` maps blocks to target and index,
    ``varying`` maps uniforms whose value depends on the pass to locations, and ``matrices`` does so
    for matrices of external textures.
    """

    name: int
    units: dict[str, int]
    matrices: dict[str, int]
    bindings: dict[str, tuple[int, int]]
    varying: dict[str, int]


def build_programs(gl: Any, objects: Objects, build: Build) -> list[Program]:
    """Return the program of each pass.

    Raises:
        ShadergenError: SG0603 with the numbered source around each compiler message; SG0503 if a
            buffer is smaller than its block, or a workgroup differs from the shader's.
    """
    users: dict[tuple[str, ...], list[GpuPass]] = {}
    keys = []
    for gpu_pass in build.passes:
        key = tuple(build.shaders[path] for path in gpu_pass.shaders)
        users.setdefault(key, []).append(gpu_pass)
        keys.append(key)
    stages: dict[tuple[int, str], int] = {}
    try:
        programs = {
            key: _program(gl, objects, build, passes, stages) for key, passes in users.items()
        }
    finally:
        for shader in stages.values():
            gl.glDeleteShader(shader)
        gl.glUseProgram(0)
    return [programs[key] for key in keys]


def _program(
    gl: Any,
    objects: Objects,
    build: Build,
    passes: Sequence[GpuPass],
    stages: dict[tuple[int, str], int],
) -> Program:
    first = passes[0]
    program = objects.adopt_program(gl.glCreateProgram())
    kinds: tuple[int, ...] = (gl.GL_VERTEX_SHADER, gl.GL_FRAGMENT_SHADER)
    if isinstance(first, ComputePass):
        kinds = (gl.GL_COMPUTE_SHADER,)
    for stage, path in zip(kinds, first.shaders, strict=True):
        source = build.shaders[path]
        if (stage, source) not in stages:
            stages[stage, source] = shader = gl.glCreateShader(stage)
            _compile(gl, shader, source, path, first)
        gl.glAttachShader(program, stages[stage, source])
    gl.glLinkProgram(program)
    if not asked(gl.glGetProgramiv, program, gl.GL_LINK_STATUS):
        log = _log(gl, gl.glGetProgramiv, gl.glGetProgramInfoLog, program)
        raise _error(f"the shaders of pass {first.name!r} do not link", log, first.shader, first)
    if isinstance(first, ComputePass):
        _check_workgroup(gl, program, passes)
    gl.glUseProgram(program)
    units: dict[str, int] = {}
    for read in (r for p in passes for r in p.samplers):
        unit = units.setdefault(read.uniform, len(units))
        gl.glUniform1i(_location(gl, program, read.uniform), unit)
    bindings: dict[str, tuple[int, int]] = {}
    for gpu_pass in passes:
        _bind_blocks(gl, program, build, gpu_pass, bindings)
    names = {r.matrix for p in passes for r in p.samplers if r.matrix}
    matrices = {name: _location(gl, program, name) for name in names}
    return Program(program, units, matrices, bindings, _set_uniforms(gl, program, passes))


def set_uniforms(gl: Any, programs: Sequence[Program], passes: Sequence[GpuPass]) -> list[Program]:
    """Return the program of each pass, with the uniforms set for other sizes."""
    users: dict[int, list[GpuPass]] = {}
    for program, gpu_pass in zip(programs, passes, strict=True):
        users.setdefault(program.name, []).append(gpu_pass)
    varying = {}
    for name, found in users.items():
        gl.glUseProgram(name)
        varying[name] = _set_uniforms(gl, name, found)
    gl.glUseProgram(0)
    return [replace(program, varying=varying[program.name]) for program in programs]


def _compile(gl: Any, shader: int, source: str, path: str, gpu_pass: GpuPass) -> None:
    encoded = source.encode()
    strings = (ctypes.c_char_p * 1)(encoded)
    gl.glShaderSource(shader, 1, strings, ctypes.byref(ctypes.c_int(len(encoded))))
    gl.glCompileShader(shader)
    if not asked(gl.glGetShaderiv, shader, gl.GL_COMPILE_STATUS):
        log = _log(gl, gl.glGetShaderiv, gl.glGetShaderInfoLog, shader)
        raise _error(
            f"the shader '{path}' does not compile", interleave(log, source), path, gpu_pass
        )


def _error(what: str, log: str, path: str, gpu_pass: GpuPass) -> ShadergenError:
    layers = f"layers {', '.join(gpu_pass.layers)}" if gpu_pass.layers else ""
    where = [place for place in (path, f"pass {gpu_pass.name}", layers) if place]
    return ShadergenError(
        "SG0603",
        what,
        where=where,
        why=log or "the driver gives no reason",
        help=f"{COPY}\nif the build is intact, report this with the driver's name, which "
        "'shadergen doctor' shows",
    )


def interleave(log: str, source: str) -> str:
    """Return the compiler's messages, each below the numbered source lines that it names."""
    lines = source.splitlines()
    complaints: dict[int, list[str]] = {}
    loose = []
    for line in log.splitlines()[:_MAX_LOG_LINES]:
        match = _LOG_LINE.match(line)
        if match and 1 <= int(match[1]) <= len(lines):
            complaints.setdefault(int(match[1]), []).append(line.strip())
        elif line.strip():
            loose.append(line.strip())
    shown = []
    last = 0
    for number, said in sorted(complaints.items()):
        start = max(last + 1, number - _CONTEXT_LINES)
        shown += [f"{n:4d} | {lines[n - 1]}" for n in range(start, number + 1)]
        shown += [f"     ^ {text}" for text in said]
        last = number
    return "\n".join(shown + loose)


def _log(gl: Any, get: Any, get_log: Any, name: int) -> str:
    length = max(asked(get, name, gl.GL_INFO_LOG_LENGTH), 1)
    text = ctypes.create_string_buffer(length)
    get_log(name, length, None, text)
    return text.value.decode("utf-8", "replace").rstrip()


def _location(gl: Any, program: int, uniform: str) -> int:
    # -1 where the compiler has dropped an unused uniform: GL ignores calls for it
    location: int = gl.glGetUniformLocation(program, uniform.encode())
    return location


def _check_workgroup(gl: Any, program: int, passes: Sequence[GpuPass]) -> None:
    size = (ctypes.c_int * 3)()
    gl.glGetProgramiv(program, gl.GL_COMPUTE_WORK_GROUP_SIZE, size)
    for gpu_pass in passes:
        if isinstance(gpu_pass, ComputePass) and gpu_pass.workgroup != tuple(size):
            raise ShadergenError(
                "SG0503",
                f"the schedule states workgroup {shape_text(gpu_pass.workgroup)}, "
                f"the shader has {shape_text(tuple(size))}",
                where=(gpu_pass.shader, f"pass {gpu_pass.name}"),
            )


def _set_uniforms(gl: Any, program: int, passes: Sequence[GpuPass]) -> dict[str, int]:
    """Set uniforms whose value is equal in all passes; return the locations of the others."""
    values: dict[str, set[Uniform]] = {}
    for uniform in (u for p in passes for u in p.uniforms):
        values.setdefault(uniform.name, set()).add(uniform)
    varying = {}
    for name, found in values.items():
        location = _location(gl, program, name)
        if len(found) > 1:
            varying[name] = location
        else:
            setter, arguments = set_uniform(gl, next(iter(found)), location)
            setter(*arguments)
    return varying


def set_uniform(gl: Any, uniform: Uniform, location: int) -> tuple[Any, tuple[Any, ...]]:
    """Return the call that sets a uniform."""
    return getattr(gl, _SETTERS[uniform.type]), (location, *uniform.value)


def _bind_blocks(
    gl: Any,
    program: int,
    build: Build,
    gpu_pass: GpuPass,
    bindings: dict[str, tuple[int, int]],
) -> None:
    """Assign a binding to each block of a pass that the compiler kept."""
    for block in gpu_pass.blocks:
        buffer = build.buffers[block.buffer]
        name = block.block.encode()
        if buffer.kind == "uniform":
            index = gl.glGetUniformBlockIndex(program, name)
            if index == _INVALID_INDEX:
                continue
            needed = asked(
                gl.glGetActiveUniformBlockiv, program, index, gl.GL_UNIFORM_BLOCK_DATA_SIZE
            )
            if block.block not in bindings:
                bindings[block.block] = gl.GL_UNIFORM_BUFFER, len(bindings)
                gl.glUniformBlockBinding(program, index, bindings[block.block][1])
        else:
            index = gl.glGetProgramResourceIndex(program, gl.GL_SHADER_STORAGE_BLOCK, name)
            if index == _INVALID_INDEX:
                continue
            # OpenGL ES lets only the shader choose the binding of a storage block
            binding, needed = (
                _resource(gl, program, index, enum)
                for enum in (gl.GL_BUFFER_BINDING, gl.GL_BUFFER_DATA_SIZE)
            )
            bindings[block.block] = gl.GL_SHADER_STORAGE_BUFFER, binding
        if buffer.range.size < needed:
            raise ShadergenError(
                "SG0503",
                f"the buffer {buffer.name!r} has {buffer.range.size} bytes, "
                f"the block {block.block} takes {needed}",
                where=(gpu_pass.shader, f"pass {gpu_pass.name}"),
            )


def _resource(gl: Any, program: int, index: int, enum: int) -> int:
    wanted = ctypes.byref(ctypes.c_uint(enum))
    place = program, gl.GL_SHADER_STORAGE_BLOCK, index
    return asked(gl.glGetProgramResourceiv, *place, 1, wanted, 1, None)
