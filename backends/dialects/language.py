"""The shading language of a build's target: which dialect prints its programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import glsl_es, wgsl

if TYPE_CHECKING:
    from ...passes.placement.target import Target
    from ..shader.program import Program
    from .printer import Listing

COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)


def print_program(program: Program, target: Target) -> Listing:
    """Print a program."""
    if target.wgsl:
        return wgsl.print_program(program, f16=target.wgsl == "f16")
    return glsl_es.print_program(program, target.glsl)


def print_vertex(target: Target) -> str:
    """Return the vertex shader that all draws share: a triangle that covers the viewport."""
    return wgsl.VERTEX if target.wgsl else glsl_es.print_vertex(target.glsl)


def suffix(target: Target, stage: str) -> str:
    """Return how the names of shader files end; ``stage`` is "vert", "frag" or "comp"."""
    return "wgsl" if target.wgsl else stage


def without_comments(source: str) -> str:
    """Return a program's text without the lines that are for people."""
    return COMMENT.sub("", source)
