"""A shader, and what a driver must know besides its text to compile it as a build uses it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal

FULLSCREEN = """#version 300 es
void main() {
    vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
    gl_Position = vec4(corner, 0.0, 1.0);
}
"""


@dataclass(frozen=True)
class Shader:
    """One program of a build.

    Attributes:
        stage: what it runs as.
        source: GLSL ES or WGSL of the fragment or compute shader.
        vertex: the same of a fragment shader's vertex shader.
        targets: formats of the textures that a fragment shader draws to.
        formats: of textures and images by the names of their uniforms; rgba32f where absent.
        uniforms: values of the integers, for loops that depend on them.
        multiply_adds: of one invocation; 0 if unknown.
        wgsl: the version of wgpu whose naga compiles WGSL; empty for GLSL ES.
        checked: whether naga adds counters to loops, as wgpu has it do by default.
    """

    stage: Literal["fragment", "compute"]
    source: str
    vertex: str = FULLSCREEN
    targets: tuple[str, ...] = ("rgba32f",)
    formats: tuple[tuple[str, str], ...] = ()
    uniforms: tuple[tuple[str, int], ...] = ()
    multiply_adds: float = 0.0
    wgsl: str = ""
    checked: bool = True

    @property
    def half(self) -> bool:
        """Whether it computes in 16 bits where the GPU can."""
        return "precision mediump float" in self.source or "enable f16;" in self.source

    def compiled(self) -> dict[str, object]:
        """Return what a driver sees, for its worker."""
        unseen = {"uniforms", "multiply_adds"}
        if self.stage == "compute":
            unseen |= {"vertex", "targets"}
        if not self.wgsl:
            unseen |= {"wgsl", "checked"}
        return {name: value for name, value in asdict(self).items() if name not in unseen}

    @property
    def key(self) -> str:
        """The same for shaders that compile alike."""
        text = json.dumps(self.compiled(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]
