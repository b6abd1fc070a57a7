"""Shader files of a build. GPU passes with equal programs share one file."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ..ir.dimensions import at_layer
from ..records import dataclass
from .dialects.language import print_program, print_vertex, suffix, without_comments
from .gpu import ComputePass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..passes.placement.target import Target
    from .gpu import GpuPass
    from .shader.program import Program


@dataclass(frozen=True)
class ShaderFiles:
    """The printed shader files of one build.

    Attributes:
        sources: source text by path in the build's folder.
        programs: shader program by path; if several programs share a file, the first.
        layers: names of the model's layers that the first GPU pass of each file computes, by path.
        of_passes: shader path of each GPU pass, in execution order.
        vertex: path of the vertex shader. Builds of compute passes alone have no such file.
    """

    sources: dict[str, str]
    programs: dict[str, Program]
    layers: dict[str, str]
    of_passes: tuple[str, ...]
    vertex: str


def print_shaders(passes: Sequence[GpuPass], target: Target) -> ShaderFiles:
    """Print the programs of GPU passes in the target's language.

    Args:
        passes: in execution order; the position of a pass begins the name of its file.
        target: the target that the passes were lowered for.
    """
    sources: dict[str, str] = {}
    programs: dict[str, Program] = {}
    layers: dict[str, str] = {}
    known: dict[Program, str] = {}
    paths: dict[str, str] = {}  # by source without comments, which name layers
    of_passes = []
    for position, p in enumerate(passes):
        if p.program not in known:
            with at_layer(p.node.name):
                source = print_program(p.program, target)
            path = paths.setdefault(without_comments(source), _path(position, p, target))
            known[p.program] = path
            if path not in sources:
                sources[path], programs[path] = source, p.program
                layers[path] = ", ".join(p.node.layers)
        of_passes.append(known[p.program])
    for path, sharing in Counter(of_passes).items():
        if sharing > 1:
            version, rest = sources[path].split("\n", 1)
            note = f"// one program for {sharing} GPU passes; this header describes the first"
            sources[path] = f"{version}\n{note}\n{rest}"
    vertex = f"shaders/fullscreen.{suffix(target, 'vert')}"
    if not all(isinstance(p, ComputePass) for p in passes):
        sources[vertex] = print_vertex(target)
    return ShaderFiles(sources, programs, layers, tuple(of_passes), vertex)


def _path(position: int, p: GpuPass, target: Target) -> str:
    stem = re.sub(r"[^A-Za-z0-9]+", "_", p.node.name).strip("_")[:40] or "pass"
    stage = "comp" if isinstance(p, ComputePass) else "frag"
    return f"shaders/{position:02d}_{stem}.{suffix(target, stage)}"
