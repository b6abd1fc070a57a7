"""Comparing every tensor that a build stores: ``verify --layers``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...records import dataclass
from .inside import Alone, Inside
from .probes import textures_of
from .stored import fused_into, without_passes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..verification import Verification
    from .inside import LayerError


@dataclass(frozen=True)
class Layers:
    """The comparison of all stored tensors.

    Attributes:
        tensors: in the order in which the GPU passes write them.
        alone: of the first wrong tensor, the same comparison if its GPU passes read right inputs;
            None if no tensor is wrong.
        fused: layers that are stored nowhere, with the layer that each is fused into.
        without: layers that no GPU pass computes.
        shared_wrongly: whether outputs are wrong only if tensors share textures.
    """

    tensors: tuple[LayerError, ...]
    alone: LayerError | None
    fused: Mapping[str, str]
    without: tuple[str, ...]
    shared_wrongly: bool

    @property
    def ok(self) -> bool:
        return all(t.ok for t in self.tensors) and not self.shared_wrongly

    @property
    def first(self) -> LayerError | None:
        """The first wrong tensor."""
        return next((t for t in self.tensors if not t.ok), None)


def compare_layers(
    verified: Verification, progress: Callable[[str], None] = lambda step: None
) -> Layers:
    """Compare all tensors that a build stores with the interpreter of the compiled graph.

    Args:
        verified: the verification of one build.
        progress: called with the name of each step.

    Raises:
        ShadergenError: SG0301 for several builds, SG06xx where the build cannot run.
    """
    inside = Inside(verified, "--layers")
    progress("running the interpreter")
    expected = inside.expected()
    with inside.context() as context:
        progress("reading every tensor")
        computed = inside.computed(context)
        textures = textures_of(inside.build, computed)
        tensors = tuple(
            inside.compared(s, s.taken(textures[s.texture]), expected[s.value])
            for s in inside.stored
        )
        wrong = next((k for k, t in enumerate(tensors) if not t.ok), None)
        alone = None
        if wrong is not None:
            progress("running one layer alone")
            alone = Alone(inside).compared(context, inside.stored[wrong])
    return Layers(
        tensors,
        alone,
        fused_into(inside.stored),
        without_passes(inside.compiled.model, inside.stored),
        wrong is None and not verified.report.ok and inside.outputs_match(computed),
    )
