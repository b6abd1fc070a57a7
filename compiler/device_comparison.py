"""A build or a model on several devices, side by side: ``inspect --device A,B``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..records import dataclass, replace
from .inspection import inspect_build, inspect_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from .inspection import Inspection, PassRow
    from .options import Options


@dataclass(frozen=True)
class Cell:
    """What one build does for a layer.

    Attributes:
        layers: that the GPU passes compute, this one last.
        kernels: of its GPU passes, each once, such as "fragment convolution (constants)".
        passes: how many GPU passes these are; 0 if the layer has none of its own.
        milliseconds: predicted for the passes; None for a profile of several families of GPUs.
        fused_into: the layer whose GPU passes compute this layer, too, or "".
    """

    layers: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    passes: int = 0
    milliseconds: float | None = None
    fused_into: str = ""


@dataclass(frozen=True)
class LayerRow:
    """A layer that ends a GPU pass of some build, and what each build does for it.

    ``layers`` are those that every build with GPU passes of its own fuses into it, and itself.
    """

    layers: tuple[str, ...]
    cells: tuple[Cell, ...]


def compare_builds(folder: Path, profiles: Sequence[str]) -> tuple[Inspection, ...]:
    """Inspect a build for each of several device profiles; a profile's own variant is taken.

    Raises:
        ShadergenError: as :func:`.inspection.inspect_build`.
    """
    return tuple(inspect_build(folder, profile) for profile in profiles)


def compare_models(
    model: Path,
    options: Options,
    profiles: Sequence[str],
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[Inspection, ...]:
    """Compile a model for each of several device profiles, and inspect the builds.

    Raises:
        ShadergenError: as :func:`.inspection.inspect_model`, naming the profile.
    """

    def steps(profile: str) -> Callable[[str], None]:
        return lambda step: progress(f"{profile}: {step}")

    return tuple(inspect_model(model, replace(options, device=p), p, steps(p)) for p in profiles)


def layer_rows(builds: Sequence[Inspection]) -> tuple[LayerRow, ...]:
    """Return the layers that end GPU passes, in the order of the model, for all builds."""
    by_layer = [_cells(build) for build in builds]
    rows = []
    for layer in _in_order(builds):
        cells = tuple(found.get(layer, Cell()) for found in by_layer)
        own = [cell.layers for cell in cells if cell.passes]
        if own:
            rows.append(LayerRow(tuple(n for n in own[0] if all(n in o for o in own)), cells))
    return tuple(rows)


def _cells(build: Inspection) -> dict[str, Cell]:
    """Return the cells of a build by layer; each GPU pass counts for the last of its layers."""
    own: dict[str, list[int]] = {}
    for k, row in enumerate(build.passes):
        own.setdefault(_layers(row)[-1], []).append(k)
    one_family = len({frame.family for frame in build.estimates}) == 1
    cells = {}
    for layer, numbers in own.items():
        rows = [build.passes[k] for k in numbers]
        layers = dict.fromkeys(name for row in rows for name in _layers(row)[:-1])
        kernels = dict.fromkeys(map(_kernel, rows))
        times = None
        if one_family:
            times = sum(build.estimates[0].passes[k].milliseconds for k in numbers)
        cells[layer] = Cell((*layers, layer), tuple(kernels), len(numbers), times)
    for row in build.passes:
        *fused, last = _layers(row)
        for layer in fused:
            cells.setdefault(layer, Cell(fused_into=last))
    return cells


def _in_order(builds: Sequence[Inspection]) -> Iterator[str]:
    """Yield all layers: in the order of the first build, others behind those they follow."""
    order: list[str] = []
    for build in builds:
        place = 0
        for layer in dict.fromkeys(layer for row in build.passes for layer in _layers(row)):
            if layer in order:
                place = order.index(layer) + 1
            else:
                order.insert(place, layer)
                place += 1
    yield from order


def _layers(row: PassRow) -> tuple[str, ...]:
    return row.layers or (row.name,)


def _kernel(row: PassRow) -> str:
    weights = "" if row.weights == "none" else f" ({row.weights})"
    return f"{row.stage} {row.kernel}{weights}"
