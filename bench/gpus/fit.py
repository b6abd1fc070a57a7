"""Fit a family's costs to what its compiler makes of the candidates of networks' layers.

    PYTHONPATH=tests:bench python -m gpus.fit --networks espcn,resnet --gpus mali-g72 [--kinds 8]

Each candidate of a kind of node is lowered for the family's profile and compiled; nothing is
measured in time. For each unit of a GPU the costs of least relative error are printed, in cycles of
a lane, none below zero, and the rank correlation of predicted and counted cycles, with these costs
and with those of the family's profile. Candidates that spill are left out of the fit, and listed
with what they hold.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log
from statistics import mean

import numpy as np
from fit_costs import least_squares

from shadergen.backends.devices import DEVICES
from shadergen.backends.dialects.glsl_es import print_program, print_vertex
from shadergen.backends.gpu import Blob, GpuPass
from shadergen.backends.kernels import lower
from shadergen.compiler.choices import PRECISIONS
from shadergen.compiler.compilation import context_for, import_model
from shadergen.compiler.option_parsing import parse_sizes
from shadergen.compiler.options import Options
from shadergen.compiler.tuning.isolation import MEASURED, isolate
from shadergen.compiler.tuning.session import Kind, kinds, spearman
from shadergen.errors import ShadergenError
from shadergen.ir.graph import Choice
from shadergen.passes.pipeline import optimise
from shadergen.passes.placement.costs import UNMEASURED, Costs
from shadergen.passes.placement.kernels import Work
from shadergen.passes.placement.target import Target
from shadergen.passes.predict_cost import Predictor, cost_counts, instruction_time

from .counts import Count, measure
from .networks import Network, networks, own_profile
from .shaders import Shader
from .table import Gpu, chosen

PLAIN = replace(UNMEASURED, instruction_cache=10**9, accumulators=10**6)
NOT_COUNTED = ("gpu_pass", "code", "stream", "load", "crowding", "mrt_penalty", "instruction_miss")
HOPELESS = 1.15  # times the registers of a family: such candidates spill, and compile for minutes


@dataclass(frozen=True)
class Candidate:
    """A choice for a kind of node: its work, the shader of its first GPU pass, and how often."""

    network: str
    kind: str
    choice: Choice
    works: tuple[Work, ...]
    shader: Shader
    invocations: int

    def bill(self) -> dict[str, float]:
        """Return how often each price is paid, but for those that compilers know nothing of."""
        bills = [cost_counts(work, PLAIN) for work in self.works]
        counted = {name: sum(paid[name] for paid in bills) for name in bills[0]}
        return {name: n for name, n in counted.items() if name not in NOT_COUNTED}

    @property
    def alive(self) -> int:
        return max(work.alive for work in self.works)


def candidates(
    network: Network, most: int, profile: str, precision: str = "fp32"
) -> Iterator[Candidate]:
    """Yield the candidates of a network's dearest kinds of nodes that are one node each."""
    height, width = network.size
    options = Options(
        device=profile,
        input_size=parse_sizes([f"{height}x{width}"]),
        precision=PRECISIONS[precision],
    )
    graph = import_model(network.model(), options)
    context = context_for(graph, options)
    found = kinds(context.kernels, optimise(graph, context))
    for kind in found[:most]:
        predictor = Predictor(kind.node, context.kernels)
        for choice in kind.predicted:
            if choice.winograd:
                continue
            passes = _passes(kind, choice, context.target)
            if passes:
                first = passes[0]
                shader = shader_of(first, context.target)
                works = predictor.work(choice)
                times = first.invocations * len(passes)
                yield Candidate(network.name, kind.name, choice, works, shader, times)


def _passes(kind: Kind, choice: Choice, target: Target) -> list[GpuPass]:
    try:
        graph = isolate(kind.node, choice, target)
        return [p for p in lower(graph, target) if MEASURED in p.node.layers]
    except ShadergenError:  # it does not fit the device
        return []


def shader_of(gpu_pass: GpuPass, target: Target) -> Shader:
    """Return the shader of a GPU pass that was lowered by itself."""
    program = gpu_pass.program
    formats = {}
    for binding, read in zip(program.textures, gpu_pass.reads, strict=True):
        source = read.source
        if isinstance(source, Blob):
            formats[binding.name] = source.format
        elif source.type.layout is not None:
            formats[binding.name] = source.type.layout.format
    layout = gpu_pass.node.result.type.layout
    assert layout is not None
    fragment = program.stage == "fragment"
    if program.result is not None:
        formats[program.result.name] = layout.format
    return Shader(
        program.stage,
        print_program(program, target.glsl).text,
        print_vertex(target.glsl) if fragment else "",
        (layout.format,) * len(gpu_pass.layers) if fragment else (),
        tuple(sorted(formats.items())),
        tuple((u.name, u.value) for u in gpu_pass.uniforms),
        gpu_pass.macs / gpu_pass.invocations,
    )


def predicted(candidate: Candidate, costs: Costs) -> float:
    """Return what a profile predicts for a candidate, whatever compiling takes."""
    return instruction_time(candidate.works, costs)


def report(gpu: Gpu, every: Sequence[Candidate], counts: Sequence[Count]) -> Iterator[str]:
    """Yield the lines about a GPU."""
    profile = DEVICES.get(gpu.family)
    costs = profile.costs[0] if profile else None
    pairs = [p for p in zip(every, counts, strict=True) if not p[1].error and p[1].counted]
    whole = [(c, n) for c, n in pairs if not n.spills]
    held = sorted(c.alive for c, n in pairs if n.spills and c.choice.weights != "constants")
    most = sorted(c.alive for c, n in whole)[-5:]
    yield f"{gpu.name}: {len(whole)} candidates; {len(pairs) - len(whole)} spill"
    yield f"  held by those that spill: {held[:12]}; most held by others: {most}"
    literal = [(c.works[0].text, n) for c, n in pairs if c.choice.weights == "constants"]
    spilling = sorted(round(text) for text, n in literal if n.spills)
    slow = sorted(round(text) for text, n in literal if n.ms > 1000)
    yield f"  text with constants that spill: {spilling[:8]}, over 1 s: {slow[:8]}"
    if costs is not None:
        missed = [c for c, n in pairs if n.spills and c.alive <= (costs.registers or inf)]
        yield f"  spill though the profile does not know: {len(missed)}"
        for c in missed[:6]:
            yield f"    {c.network}, {c.kind}: {c.choice}, holds {c.alive}"
    names = sorted({name for c, _ in whole for name in c.bill()})
    table = np.array([[c.bill().get(name, 0.0) for name in names] for c, _ in whole])
    cycles = np.array([n.cycles * c.invocations for c, n in whole])
    fitted = np.zeros(len(whole))
    for name in whole[0][1].units:
        own = np.array([n.units.get(name, 0.0) * c.invocations for c, n in whole])
        found = least_squares(table, own, cycles)
        fitted = np.maximum(fitted, table @ found)
        text = ", ".join(f"{n}={v:.3g}" for n, v in zip(names, found, strict=True) if v > 0.005)
        yield f"  {name}: {text}"
    error = np.sqrt(np.mean((fitted / cycles - 1) ** 2))
    yield f"  root mean square of relative errors {error:.2f}"
    known = [predicted(c, costs) for c, _ in whole] if costs is not None else []
    for what, values in (("fitted", list(fitted)), ("of the profile", known)):
        if values:
            yield f"  {what}: rank correlation {spearman(values, list(cycles)):.3f}, " + _within(
                whole, values, cycles
            )


def _within(
    whole: Sequence[tuple[Candidate, Count]], values: Sequence[float], cycles: np.ndarray
) -> str:
    """Return the correlation within kinds, and how far the predicted best is from the best."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, (c, _) in enumerate(whole):
        groups[c.network, c.kind].append(i)
    large = [g for g in groups.values() if len(g) > 3]
    each = [spearman([values[i] for i in g], [cycles[i] for i in g]) for g in large]
    regret = [cycles[min(g, key=lambda i: values[i])] / min(cycles[i] for i in g) for g in large]
    worst = max(regret)
    return (
        f"within kinds {mean(e for e in each if e is not None):.3f}, "
        f"predicted best over best {exp(mean(map(log, regret))):.3f}, at most {worst:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", default="", help="parts of their names")
    parser.add_argument("--gpus", default="", help="names")
    parser.add_argument("--kinds", type=int, default=8, help="of nodes, for each network")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "fp16"))
    flags = parser.parse_args()
    for gpu in chosen(flags.gpus):
        own = own_profile(gpu)
        every = [
            c
            for n in networks(flags.networks)
            for c in candidates(n, flags.kinds, own, flags.precision)
        ]
        profile = DEVICES.get(gpu.family)
        room = HOPELESS * (profile.costs[0].registers if profile else 0)
        tried = [c for c in every if not room or c.alive <= room]
        counts = measure([c.shader for c in tried], [gpu])[gpu.name]
        print("\n".join(report(gpu, tried, counts)), flush=True)


if __name__ == "__main__":
    main()
