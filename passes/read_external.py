"""Let inputs be frames of a camera: external textures, which a sampler of their own reads.

A frame holds a picture of 0..1, of any size: the sampler resamples it to the network's, through a
matrix that the application gives with it (``backends.shader``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ShadergenError, require_inputs
from ..ir.dimensions import is_one
from ..ir.graph import Graph, Input, Value
from ..ir.types import MAP_RANK
from ..records import replace

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_external(graph: Graph, names: Sequence[str]) -> Graph:
    """Return the graph with these inputs as external textures; its maps are in NCHW.

    Raises:
        ShadergenError: SG0301 for a name that is no input's, and for one that is no picture of 3 or
            4 channels.
    """
    require_inputs("input-external", names, [i.name for i in graph.inputs])

    def taken(value: Value) -> Value:
        if not isinstance(value, Input) or value.name not in names:
            return value
        t = value.type
        picture = t.rank == MAP_RANK and is_one(t.shape[0]) and t.shape[1] in (3, 4)
        if not picture or t.dtype != "float32":
            raise ShadergenError(
                "SG0301",
                f"--input-external: '{value.name}' is not a camera frame",
                where=f"input '{value.name}' of {t}",
                why="an external texture is one RGBA picture",
                supported="float32, batch size 1, with 3 or 4 channels",
                help="draw the frame to a texture of the input's format and bind that",
            )
        return replace(value, port=replace(value.port, encoding="unorm8", external=True))

    return graph.rewrite(lambda now, was: None, taken)
