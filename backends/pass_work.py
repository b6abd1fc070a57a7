"""What an invocation of a GPU pass does, counted in its program, for the schedule.

``kernels.work`` counts the candidates of nodes before they are lowered. Here the passes that were
lowered are counted, each read and each block by itself, so that tools can tell bytes by format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.dimensions import hint
from ..ir.types import LANES
from ..records import dataclass
from .shader.counting import loops

if TYPE_CHECKING:
    from .gpu import GpuPass
    from .shader.counting import Counts, Outline


@dataclass(frozen=True)
class PassWork:
    """What one invocation of a GPU pass does.

    Branches count as taken, but of a tensor in several 2D textures, each read reads one.

    Attributes:
        multiplies: multiply-adds of floats, those of unused lanes included.
        operations: other arithmetic of floats.
        fetches: texels read, for each of the pass's reads.
        loads: vectors of four floats read at computed indices, for each of its blocks. GPUs keep
            vectors of uniform blocks at constant indices in registers.
    """

    multiplies: int
    operations: int
    fetches: tuple[int, ...]
    loads: tuple[int, ...]


class PassWorks:
    """Counts GPU passes; a program that several share is walked once."""

    def __init__(self) -> None:
        self._outlines: dict[str, Outline] = {}  # by shader
        self._works: dict[tuple[str, tuple[int, ...]], PassWork] = {}

    def of(self, p: GpuPass, shader: str) -> PassWork:
        """Return what an invocation does; loops over dynamic sizes end at their defaults.

        Args:
            p: the pass.
            shader: the path of its program's text; passes of one path have the same text.

        Raises:
            InternalError: for a loop that does not run between numbers and uniforms.
        """
        if shader not in self._outlines:
            self._outlines[shader] = loops(p.program, lambda read: read.texture.name)
        outline = self._outlines[shader]
        trips = outline.trips_at({u.name: hint(u.value) for u in p.uniforms})
        key = shader, tuple(trips.values())
        if key not in self._works:
            self._works[key] = _work(p, outline.total(trips))
        return self._works[key]


def _work(p: GpuPass, counts: Counts) -> PassWork:
    blocks = {
        a.buffer[1]: counts.elements[a.name] - counts.constant_elements[a.name]
        for a in p.program.arrays
        if a.buffer
    }
    return PassWork(
        round(counts.multiplies * LANES),
        round(counts.operations * LANES),
        tuple(round(counts.reads[t.name] - counts.unread[t.name]) for t in p.program.textures),
        tuple(blocks.get(block.name, 0) for block in p.blocks),
    )
