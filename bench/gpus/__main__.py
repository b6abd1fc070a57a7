"""Compile the benchmark's networks with real GPU compilers, and write docs/gpus.md.

    make gpus                                      everything
    make gpus ARGS="--networks espcn,acnet"        networks with one of these words in their name
    make gpus ARGS="--gpus mali-g72,rdna2"         some GPUs
    make gpus ARGS="--profiles own,gles30"         device profiles; own: that of the GPU's family
    make gpus ARGS="--precision fp16"              builds of 16 bits
    make gpus ARGS="--compare docs/gpus.json"      before and after a change
    make gpus ARGS="--user-shaders [net.glsl ...]" user shaders, see user_shaders.py
    make gpus ARGS="--wgsl"                        WGSL beside GLSL ES, see dialects.py

A run of all networks and GPUs in 32 bits writes the page, others are printed. The figures of each
run are kept in .build/gpus/figures.json, those of the run before in .build/gpus/before.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from shadergen.errors import ShadergenError

from .chart import draw
from .counts import measure
from .dialects import compared
from .drivers import DriverMissing, compiler_of
from .networks import GENERIC, Network, compiled, networks, own_profile
from .report import as_page
from .results import NetworkResult, as_data, from_data, summed
from .table import GPUS, KEPT, PROJECT, VULKAN, Gpu, chosen
from .user_shaders import report

OWN = "own"  # the profile of the GPU's family
PLAIN = "fp32"
DOCUMENT = PROJECT / "docs" / "gpus.md"
FIGURES = KEPT / "figures.json"
BEGIN, END = "<!-- measured: gpus -->", "<!-- end of gpus -->"


def say(what: str) -> None:
    """Show what is at hand, in place of what was before where that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)


def count(
    network: Network, gpus: Sequence[Gpu], profiles: Sequence[str], precision: str
) -> NetworkResult:
    """Count what a network takes with some profiles, or say why it cannot be."""
    result = NetworkResult(network.name, network.size)
    if network.missing:
        result.problem = f"needs {network.missing}"
        return result
    wanted: dict[str, list[Gpu]] = {}
    for gpu in gpus:
        named = [own_profile(gpu) if profile == OWN else profile for profile in profiles]
        result.own[gpu.name] = named[0]
        for profile in dict.fromkeys(named):
            wanted.setdefault(profile, []).append(gpu)
    for profile, users in wanted.items():
        say(f"{network.name}: compiled for {profile}")
        try:
            passes = direct = compiled(network, profile, precision)
            if any(p.tiles for p in passes):
                direct = compiled(network, profile, precision, "off")
        except ShadergenError as error:
            result.problem = str(error)
            return result
        shaders = [p.shader for p in passes]
        counts = measure(shaders, users, lambda what: say(f"{network.name}, {what}"))
        result.figures[profile] = {
            gpu.name: summed(gpu, passes, counts[gpu.name], direct) for gpu in users
        }
    return result


def _starts(gpu: Gpu) -> bool:
    """Whether a GPU's driver is here; says so if not."""
    try:
        problem = gpu.missing() and f"needs {gpu.missing()}"
        problem or compiler_of(gpu)
    except DriverMissing as error:
        problem = str(error)
    if problem:
        print(f"{gpu.name}: left out, {problem}", file=sys.stderr)
    return not problem


def write(page: str, results: Sequence[NetworkResult], gpus: Sequence[Gpu]) -> None:
    """Write the measured part of the page, its JSON and its picture."""
    picture = DOCUMENT.with_suffix(".svg")
    if draw(results, gpus, picture):
        page = f"![Share of the multiply-add bound]({picture.name})\n\n{page}"
    before, _, rest = DOCUMENT.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{page}\n\n{END}{after}", "utf-8")
    save(DOCUMENT.with_suffix(".json"), results, gpus)


def save(file: Path, results: Sequence[NetworkResult], gpus: Sequence[Gpu]) -> None:
    """Write the figures as JSON, a network on a line."""
    data = as_data(results, gpus)
    lines = ",\n".join(json.dumps(network) for network in data["networks"])
    head = json.dumps(data["gpus"])
    file.write_text(f'{{"gpus": {head}, "networks": [\n{lines}\n]}}\n', "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", default="", help="parts of their names")
    parser.add_argument("--gpus", default="", help=", ".join(gpu.name for gpu in GPUS))
    parser.add_argument(
        "--profiles", default="", help=f"device profiles, the first to show; {OWN}: the family's"
    )
    parser.add_argument("--precision", default=PLAIN, choices=("fp32", "fp16", "auto"))
    parser.add_argument("--compare", type=Path, help="the figures of an earlier run")
    parser.add_argument(
        "--user-shaders", type=Path, nargs="*", metavar="FILE", help="files, or upscalers if none"
    )
    parser.add_argument("--wgsl", action="store_true", help="compare WGSL with GLSL ES")
    flags = parser.parse_args()
    try:
        wanted = chosen(flags.gpus, VULKAN if flags.wgsl else GPUS)
    except ValueError as error:
        parser.error(str(error))
    gpus = [gpu for gpu in wanted if _starts(gpu)]
    lines = None
    if flags.wgsl:
        lines = compared(networks(flags.networks), gpus, flags.precision, say)
    elif flags.user_shaders is not None:
        lines = report(flags.user_shaders, flags.networks, gpus, flags.precision, say)
    if lines is not None:
        for line in lines:
            say("")
            print(line, flush=True)
        return 0
    before = from_data(json.loads(flags.compare.read_text("utf-8"))) if flags.compare else []
    profiles = flags.profiles.split(",") if flags.profiles else [OWN, *GENERIC]
    found = networks(flags.networks)
    results = [count(network, gpus, profiles, flags.precision) for network in found]
    say("")
    page = as_page(results, gpus, before)
    print(page)
    if FIGURES.exists():
        FIGURES.replace(FIGURES.with_name("before.json"))
    save(FIGURES, results, gpus)
    whole = gpus == list(GPUS) and not flags.networks and profiles[0] == OWN
    if whole and flags.precision == PLAIN:
        write(page, results, gpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
