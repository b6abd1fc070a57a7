"""Compare the arithmetic that ``inspect --device`` estimates with what GPUs' compilers counted.

    PYTHONPATH=tests:bench python -m gpus.estimates [--networks espcn,resnet]

Prints the ratio of estimated cycles to those of docs/gpus.json, for each network and the first GPU
of each profile; in brackets the ratio of the floats' arithmetic alone: multiply-adds and other
operations, without addresses, loops, fetches and stores. Nothing is compiled for a GPU here.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from shadergen.backends.devices.gpus import Gpu
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.estimation import estimate
from shadergen.compiler.option_parsing import parse_sizes
from shadergen.compiler.options import Options

from .networks import Network, networks
from .table import GPUS, PROJECT

PUBLISHED = PROJECT / "docs" / "gpus.json"


def estimated(network: Network, profile: str) -> tuple[float, float]:
    """Return millions of cycles: estimated, and of the floats' arithmetic alone."""
    height, width = network.size
    options = Options(device=profile, input_size=parse_sizes([f"{height}x{width}"]))
    _, files, _ = compile_graph(import_model(network.model(), options), options)
    gpu = Gpu("", profile, 1e-3, 1, 1, 1, 1, 1.0)  # a million cycles in a second
    (frame,) = estimate(files.schedule, {"": gpu})
    works = [p["work"] for p in files.schedule["passes"]]
    floats = sum(w["invocations"] * (w["multiplies"] + w["operations"]) for w in works)
    return sum(p.units["arithmetic"] for p in frame.passes) / 1e3, floats / 1e6


def ratios(network: Network, published: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the ratios of cycles of a network, by the name of the GPU, one for each profile.

    Args:
        network: one of :func:`.networks.networks`.
        published: its figures, as in docs/gpus.json.
    """
    found: dict[str, tuple[float, float]] = {}
    profiles = set()
    for gpu in GPUS:
        profile = published["own"].get(gpu.name)
        if profile != gpu.family or profile in profiles:
            continue
        profiles.add(profile)
        counted = published["figures"][profile][gpu.name]["cycles"]
        whole, floats = estimated(network, profile)
        found[gpu.name] = whole / counted, floats / counted
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", default="", help="parts of their names")
    flags = parser.parse_args()
    published = {n["name"]: n for n in json.loads(PUBLISHED.read_text("utf-8"))["networks"]}
    for network in networks(flags.networks):
        if network.missing or network.name not in published:
            print(f"{network.name}: {network.missing or 'not published'}")
            continue
        found = ratios(network, published[network.name])
        texts = (f"{gpu} {whole:.2f} ({floats:.2f})" for gpu, (whole, floats) in found.items())
        print(f"{network.name}: {', '.join(texts)}", flush=True)


if __name__ == "__main__":
    main()
