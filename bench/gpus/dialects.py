"""Compare what WGSL takes on GPUs with what GLSL ES takes.

    make gpus ARGS=--wgsl
    ... --networks espcn,acnet --gpus rdna2-vector,intel-tgl-anv

Both are printed from the same programs: builds for WebGPU, and for a profile that has its limits
but GLSL ES. A cell is the ratio of cycles, WGSL's to GLSL's. The one in brackets is without the
counters that naga adds to loops, which are wgpu's default. Below the table stand the passes that
are slower even then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from unittest.mock import patch

from shadergen.backends.devices import DEVICES

from .builds import Pass
from .counts import Count, measure
from .networks import Network, compiled
from .table import Gpu

STAGES = ("fragment", "compute")
WEBGPU, TWIN = "webgpu", "webgpu-glsl"
SLOWER = 1.05
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Compared:
    """A GPU pass of both builds, with its cycles in all invocations."""

    name: str
    shader: str
    glsl: float
    wgsl: float
    unchecked: float


def twins(network: Network, precision: str, stage: str) -> tuple[list[Pass], list[Pass]]:
    """Return the passes of a network in GLSL ES and in WGSL, the same but for the language."""
    twin = replace(DEVICES[WEBGPU], wgsl=None, glsl=310)
    with patch.dict(DEVICES, {TWIN: twin}):
        glsl, wgsl = (compiled(network, p, precision, stage=stage) for p in (TWIN, WEBGPU))
    plans = ([(p.name, p.invocations, p.shader.stage) for p in build] for build in (glsl, wgsl))
    assert next(plans) == next(plans), f"{network.name}: WGSL is planned in another way"
    return glsl, wgsl


def compare(passes: Sequence[Pass], counts: Sequence[Count]) -> list[Compared]:
    """Return the cycles of passes by their counts: of GLSL, WGSL, and WGSL without checks."""
    each = (counts[k :: len(passes)] for k in range(len(passes)))
    return [
        Compared(p.name, p.shader.key, *(count.cycles * p.invocations for count in three))
        for p, three in zip(passes, each, strict=True)
    ]


def ratios(passes: Sequence[Compared]) -> tuple[float, float]:
    """Return WGSL's cycles for each of GLSL's, with checks and without."""
    glsl = sum(p.glsl for p in passes)
    return sum(p.wgsl for p in passes) / glsl, sum(p.unchecked for p in passes) / glsl


def slower(passes: Sequence[Compared]) -> Iterator[str]:
    """Yield the programs that are slower without checks, those that cost most first."""
    programs: dict[str, list[Compared]] = {}
    for p in passes:
        programs.setdefault(p.shader, []).append(p)
    whole = sum(p.glsl for p in passes)
    found = [found for found in programs.values() if ratios(found)[1] > SLOWER]
    for those in sorted(found, key=lambda those: sum(p.glsl - p.unchecked for p in those)):
        share = sum(p.glsl for p in those) / whole
        with_checks, without = ratios(those)
        yield f"{those[0].name}: {with_checks:.2f} ({without:.2f}), {share:.1%} of the network"


def measured(
    network: Network, stage: str, gpus: Sequence[Gpu], precision: str, progress: Progress
) -> tuple[int, dict[str, list[Compared] | str]]:
    """Return the number of programs of a build, and by GPU its passes or what fails."""
    title = f"{network.name}, {stage}"
    progress(f"{title}: compiled")
    glsl, wgsl = twins(network, precision, stage)
    shaders = [p.shader for p in (*glsl, *wgsl)]
    shaders += [replace(p.shader, checked=False) for p in wgsl]
    counts = measure(shaders, gpus, lambda what: progress(f"{title}, {what}"))
    errors = {name: next((c.error for c in of if c.error), "") for name, of in counts.items()}
    found = {name: errors[name] or compare(wgsl, of) for name, of in counts.items()}
    return len({p.shader.key for p in wgsl}), found


def compared(
    networks: Sequence[Network], gpus: Sequence[Gpu], precision: str, progress: Progress
) -> Iterator[str]:
    """Yield the lines of the report."""
    yield "| network | stage | programs | " + " | ".join(gpu.title for gpu in gpus) + " |"
    yield "| --- | --- | --- |" + " --- |" * len(gpus)
    every: dict[str, list[tuple[float, float]]] = {gpu.name: [] for gpu in gpus}
    notes = [f"- {n.name}: needs {n.missing}" for n in networks if n.missing]
    for network, stage in product((n for n in networks if not n.missing), STAGES):
        programs, found = measured(network, stage, gpus, precision, progress)
        cells = []
        for name, passes in found.items():
            if isinstance(passes, str):
                cells.append("–")
                lines = [passes]
            else:
                every[name].append(ratios(passes))
                cells.append(_cell(*ratios(passes)))
                lines = list(slower(passes))
            notes += (f"- {network.name}, {stage}, {name}: {line}" for line in lines)
        yield f"| {network.name} | {stage} | {programs} | {' | '.join(cells)} |"
    means = [_cell(*map(_mean, zip(*of, strict=True))) if of else "–" for of in every.values()]
    yield f"| geometric mean | | | {' | '.join(means)} |"
    yield ""
    yield from notes


def _cell(checked: float, unchecked: float) -> str:
    return f"{checked:.3f} ({unchecked:.3f})"


def _mean(values: Sequence[float]) -> float:
    return prod(values) ** (1 / len(values))
