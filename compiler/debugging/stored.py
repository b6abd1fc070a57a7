"""The tensors that a build stores in textures, by the GPU passes that write them.

A node of the compiled graph is one kernel, whose result is stored. What a kernel computes on the
way, the layers fused into it, is stored nowhere.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.schedule import label
from ...ir.dimensions import with_hints
from ...ir.types import LANES
from ...passes.placement.kinds import at_default
from ...records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...ir.graph import Graph, Result, Value
    from ...ir.ops.base import Mask
    from ..compilation import Compilation


@dataclass(frozen=True)
class Stored:
    """A tensor that GPU passes write.

    Attributes:
        name: in the build.
        value: in the graph as compiled.
        texture: that holds it, perhaps beside other tensors.
        first: its first layer in the texture.
        passes: the positions in the schedule of the passes that write it.
        kernel: what computes it, such as "fragment convolution".
        layers: of the model that it computes; it is the result of the last.
    """

    name: str
    value: Result
    texture: str
    first: int
    passes: tuple[int, ...]
    kernel: str
    layers: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape, such as N, C, H, W, at the default sizes."""
        return with_hints(self.value.type).shape

    @property
    def is_planes(self) -> bool:
        """Whether it is channel-packed."""
        return self.value.type.in_planes

    def taken(self, texture: NDArray[Any]) -> NDArray[Any]:
        """Return the tensor out of an array of its whole texture (:func:`.probes.as_map`)."""
        if self.is_planes:
            channels = self.value.type.channels
            texture = texture[:, self.first * LANES : self.first * LANES + channels]
        return texture.reshape(self.shape)


def stored_tensors(compiled: Compilation) -> tuple[Stored, ...]:
    """Return the tensors that a build stores, in the order in which its passes write them."""
    files = compiled.files
    written = zip(files.passes, files.tensors, files.schedule["passes"], strict=True)
    found = []
    for node, group in groupby(enumerate(written), key=lambda item: item[1][0].node):
        members = list(group)
        _, (_, tensor, entry) = members[0]
        found.append(
            Stored(
                tensor,
                node.result,
                entry["writes"][0]["texture"],
                node.result.type.first_layer,
                tuple(k for k, _ in members),
                f"{entry['stage']} {entry['kernel']}",
                tuple(map(label, node.layers)),
            )
        )
    return tuple(found)


def determined_elements(graph: Graph) -> dict[Value, Mask]:
    """Return which elements of tensors the inputs determine, at the default sizes.

    Tensors of which all elements are determined are not listed. Kernels write anything to the
    other elements, such as Winograd tiles beyond the map; nothing that is read depends on them.
    """
    found: dict[Value, Mask] = {}
    for node in graph.nodes:
        every = (np.broadcast_to(True, with_hints(v.type).shape) for v in node.inputs)
        known = [found.get(v, mask) for v, mask in zip(node.inputs, every, strict=True)]
        mask = at_default(node).op.determined(*known)
        if mask is not None:
            found[node.results[0]] = mask
    return found


def fused_into(stored: tuple[Stored, ...]) -> dict[str, str]:
    """Return the layers that are stored nowhere, with the layer that they are fused into.

    A layer of which another tensor is the result is stored, as are the steps of one layer.
    """
    kept = {s.layers[-1] for s in stored if s.layers}
    return {layer: s.layers[-1] for s in stored for layer in s.layers[:-1] if layer not in kept}


def without_passes(model: Graph, stored: tuple[Stored, ...]) -> tuple[str, ...]:
    """Return the layers of a model that no GPU pass computes: they are constant, or only move data.

    Args:
        model: as imported.
        stored: all tensors of the build.
    """
    computed = {layer for s in stored for layer in s.layers}
    names = dict.fromkeys(label(layer) for node in model.nodes for layer in node.layers)
    return tuple(name for name in names if name not in computed)
