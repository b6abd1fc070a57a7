"""A shader, and what a driver must know besides its text to compile it as a build uses it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Shader:
    """One program of a build.

    Attributes:
        stage: what it runs as.
        source: GLSL ES of the fragment or compute shader.
        vertex: GLSL ES of the vertex shader; empty for compute.
        targets: formats of the textures that a fragment shader draws to, as ``rgba32f``.
        formats: of textures and images by the names of their uniforms; rgba32f where absent.
        uniforms: values of the integers, for loops that depend on them.
        multiply_adds: of one invocation; 0 if unknown.
    """

    stage: Literal["fragment", "compute"]
    source: str
    vertex: str = ""
    targets: tuple[str, ...] = ()
    formats: tuple[tuple[str, str], ...] = ()
    uniforms: tuple[tuple[str, int], ...] = ()
    multiply_adds: float = 0.0

    @property
    def half(self) -> bool:
        """Whether it computes in 16 bits where the GPU can."""
        return "precision mediump float" in self.source

    def compiled(self) -> dict[str, object]:
        """Return what a driver sees, for its worker."""
        seen = asdict(replace(self, uniforms=(), multiply_adds=0.0))
        return {name: value for name, value in seen.items() if value}

    @property
    def key(self) -> str:
        """The same for shaders that compile alike."""
        text = json.dumps(self.compiled(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]
