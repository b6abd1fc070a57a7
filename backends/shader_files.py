"""Shader files of a build. GPU passes with equal programs share one file."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ..ir.dimensions import at_layer
from ..records import dataclass, replace
from .dialects.language import print_program, print_vertex, suffix
from .gpu import ComputePass
from .shader.structure import structural_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from ..passes.placement.target import Target
    from .dialects.printer import Listing
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
        store_lines: of each GPU pass, :attr:`.dialects.printer.Listing.store_lines` of its shader.
        vertex: path of the vertex shader. Builds of compute passes alone have no such file.
    """

    sources: dict[str, str]
    programs: dict[str, Program]
    layers: dict[str, str]
    of_passes: tuple[str, ...]
    store_lines: tuple[tuple[int, ...], ...]
    vertex: str


def print_shaders(passes: Sequence[GpuPass], target: Target) -> ShaderFiles:
    """Print the programs of GPU passes in the target's language.

    Args:
        passes: in execution order; the position of a pass begins the name of its file.
        target: the target that the passes were lowered for.
    """
    of_programs: dict[Program, str] = {}
    firsts: dict[str, GpuPass] = {}  # by path
    paths: dict[Hashable, str] = {}  # by structural key
    for position, p in enumerate(passes):
        if p.program not in of_programs:
            path = paths.setdefault(structural_key(p.program), _path(position, p, target))
            of_programs[p.program] = path
            firsts.setdefault(path, p)
    of_passes = tuple(of_programs[p.program] for p in passes)
    users = Counter(of_passes)
    printed: dict[str, Listing] = {}
    for path, p in firsts.items():
        with at_layer(p.node.name):
            printed[path] = print_program(_noted(p.program, users[path]), target)
    sources = {path: listing.text for path, listing in printed.items()}
    vertex = f"shaders/fullscreen.{suffix(target, 'vert')}"
    if not all(isinstance(p, ComputePass) for p in passes):
        sources[vertex] = print_vertex(target)
    return ShaderFiles(
        sources,
        {path: p.program for path, p in firsts.items()},
        {path: ", ".join(p.node.layers) for path, p in firsts.items()},
        of_passes,
        tuple(printed[path].store_lines for path in of_passes),
        vertex,
    )


def _noted(program: Program, users: int) -> Program:
    """Return a program whose header tells how many GPU passes share it."""
    if users == 1:
        return program
    note = f"one program for {users} GPU passes; this header describes the first"
    return replace(program, header=[note, *program.header])


def _path(position: int, p: GpuPass, target: Target) -> str:
    stem = re.sub(r"[^A-Za-z0-9]+", "_", p.node.name).strip("_")[:40] or "pass"
    stage = "comp" if isinstance(p, ComputePass) else "frag"
    return f"shaders/{position:02d}_{stem}.{suffix(target, stage)}"
