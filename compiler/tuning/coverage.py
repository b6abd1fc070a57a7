"""The share of a model's layers that a tuning file has times for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...backends.devices import named_profile
from ...backends.kernels import KernelFamilies
from ...ir.graph import Choice
from ...passes.placement.tuning_key import is_for, tuning_key
from ...records import replace
from .file import read_tuning

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ...ir.graph import Graph, Node
    from ...passes.placement.target import Target
    from ..options import Options

AGAIN = "tune with the same device, size and options"


def advice(options: Options) -> str:
    """Return what makes a tuning file have times: the device that it was measured for, if known.

    Args:
        options: of the compilation, with a tuning file.

    Raises:
        ShadergenError: as :func:`.file.read_tuning`.
    """
    assert options.tuning is not None
    tuning = read_tuning(options.tuning)
    profile = named_profile(tuning.renderer)
    if not profile or any(is_for(key, options.target()) for key in tuning.measured):
        return AGAIN
    other = replace(options, device=profile, glsl=None).target()
    if not any(is_for(key, other) for key in tuning.measured):
        return AGAIN
    return f"add --device {profile}, for which the times were measured"


def coverage_notes(
    graph: Graph,
    target: Target,
    measured: Mapping[str, Mapping[Choice, float]],
    path: Path,
    advice: str = AGAIN,
) -> tuple[str, ...]:
    """Return a line that says of how many layers a file knows nothing, if there are any.

    Args:
        graph: as ``choose_kernels`` leaves it.
        target: it is compiled for.
        measured: what the file holds.
        path: of the file.
        advice: what helps.
    """
    kernels = KernelFamilies(target)

    def is_choice(node: Node) -> bool:
        undecided = replace(node, choice=node.choice.undecided)
        return not node.choice.alias and len(kernels.choices(undecided)) > 1

    layers = [node for node in graph.nodes if is_choice(node)]
    known = sum(tuning_key(node, target) in measured for node in layers)
    if known == len(layers):
        return ()
    said = f"{known or 'none'} of the {len(layers)} layers"
    if len(layers) == 1:
        said = "none of the layers"
    return (f"{path} has times for {said}: {advice}",)
