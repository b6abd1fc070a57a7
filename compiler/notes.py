"""Notes that ``compile`` prints about the result, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import few
from ..ir.types import MAP_RANK
from ..passes.assign_layouts import STEP as ASSIGN_LAYOUTS
from ..passes.choose_kernels import NOT_IN_TILES, STEP
from ..passes.choose_precision import STEP as CHOOSE_PRECISION
from ..passes.choose_precision import UNPROVEN
from ..passes.fuse_separable import FUSE
from ..passes.kernel_ops import (
    SeparableConv,
    StripProducts,
    WinogradConv,
    WinogradProducts,
    WinogradTiles,
    parts,
)
from ..passes.placement.kinds import is_direct
from ..passes.placement.summation import sum_terms
from ..passes.placement.target import TILES_OF
from ..passes.predict_error import STEP as ESTIMATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..ir.graph import Graph, Value
    from ..passes.placement.target import Target
    from ..passes.rule import Context, Decision


def compiled_notes(graph: Graph, context: Context) -> tuple[str, ...]:
    """Return the notes about a compiled graph.

    Args:
        graph: as compiled.
        context: that the passes had.
    """
    target, decisions = context.target, tuple(context.decisions)
    return (
        *_packing_notes(graph, decisions),
        *_idle_notes(graph, target, decisions),
        *_precision_notes(target, decisions),
        *_calibration_notes(graph, context),
    )


def _precision_notes(target: Target, decisions: Iterable[Decision]) -> Iterable[str]:
    """Return what 16 bits are estimated to cost, and what forced ones may exceed."""
    chosen = [d for d in decisions if d.step in (CHOOSE_PRECISION, ESTIMATE)]
    for d in chosen:
        if d.step == ESTIMATE:
            yield f"{d.decision}: {d.why}"
    doubtful = dict.fromkeys(d.subject for d in chosen if d.decision == UNPROVEN)
    if doubtful:
        low, high = target.input_range
        is_small = low >= 0 and high <= 1  # as in user shaders, which cannot have another
        smaller = "" if is_small else "if your inputs are smaller, give --input-range, or "
        layers = f"layer{'s' * (len(doubtful) > 1)} {few(list(doubtful))}"
        yield (
            f"16-bit sums may overflow to infinity in {layers}, for inputs from {low:g} to "
            f"{high:g}; {smaller}use --precision auto, which computes such layers in 32 bits"
        )


def _calibration_notes(graph: Graph, context: Context) -> Iterable[str]:
    """Return advice to calibrate if that may give more layers 16 bits, or longer 16-bit sums."""
    if context.target.precision != "auto" or context.samples:
        return
    convolutions = [n for n in graph.nodes if is_direct(n) and n.result.type.dtype == "float32"]
    short = [n for n in convolutions if 1 < n.choice.partial_terms < sum_terms(n)]
    if short or any(n.choice.precision == "highp" for n in convolutions):
        yield (
            "--calibrate DIR, a folder of typical inputs, may allow more 16-bit layers and longer "
            "16-bit sums, which are faster"
        )


def _packing_notes(graph: Graph, decisions: Iterable[Decision]) -> Iterable[str]:
    """Return a line for each map that the application meets in rows and not in planes."""
    why = {d.subject: d.why for d in decisions if d.step == ASSIGN_LAYOUTS}
    seen: list[tuple[str, Value]] = [(f"input {i.name}", i) for i in graph.inputs]
    seen += [(f"output {o.name}", o.value) for o in graph.outputs]
    return [
        f"{what} is row-packed (see docs/schedule.md): {why[value.name]}"
        for what, value in seen
        if value.type.rank == MAP_RANK and not value.type.in_planes
    ]


def _idle_notes(graph: Graph, target: Target, decisions: Iterable[Decision]) -> Iterable[str]:
    """Return a line for each option that was to force something and had no effect anywhere."""
    kernels = {type(parts(node).kernel) for node in graph.nodes}
    idle: dict[str, list[str]] = {}
    if target.stage == "compute" and all(n.choice.stage != "compute" for n in graph.nodes):
        idle["--stage compute"] = [d.why for d in decisions if d.step == STEP]
    tiled = {StripProducts, WinogradConv, WinogradProducts, WinogradTiles}
    if target.winograd in TILES_OF and not kernels & tiled:
        why = [d.why for d in decisions if d.decision == NOT_IN_TILES]
        idle[f"--winograd {target.winograd}"] = why
    if target.fuse_separable == "on" and SeparableConv not in kernels:
        idle["--fuse-separable on"] = [d.why for d in decisions if d.step == FUSE.name]
    for option, reasons in idle.items():
        said = "; ".join(dict.fromkeys(reasons)) or "no layer qualifies"
        yield f"{option} has no effect: {said}"
