"""The networks of ``make bench`` and some upscalers, compiled for a device profile."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from comparison.networks import ENTRIES, SHARED, Entry, named, upscaler
from networks.cache import model_file
from networks.catalogue import Case

from shadergen.backends.devices import DEVICES
from shadergen.compiler.choices import PRECISIONS
from shadergen.compiler.driver import compile_model
from shadergen.compiler.option_parsing import parse_sizes
from shadergen.compiler.options import Options

from .builds import Pass, read_passes
from .table import PROJECT, Gpu

EXAMPLES = PROJECT / "examples"
SHIPPED = {  # name: height and width, model. The comparison's ESPCN has random weights.
    "ESPCN": ((360, 640), EXAMPLES / "espcn" / "espcn_x2.h5"),
    "upscale": ((180, 320), EXAMPLES / "networks" / "upscale" / "upscale.onnx"),
}
PLAIN = "gles30"
GENERIC = (PLAIN, "gles31-mobile", "webgl2-min")

OTHERS = (
    named("EDSR"),
    upscaler("ArtCNN C4F16", "artcnn", 16, channels=1, size=(360, 640)),
    upscaler("ArtCNN C4F32", "artcnn", 32, channels=1, size=(360, 640)),
)
"""Counted only: frames of these take too long for the comparison. Weights are random."""


@dataclass(frozen=True)
class Network:
    """A network: its name in tables, height and width, what it lacks here, and its model."""

    name: str
    size: tuple[int, int]
    missing: str
    model: Callable[[], Path]


def networks(words: str = "") -> list[Network]:
    """Return the networks with one of some words, separated by commas, in their name."""
    found = [Network(name, size, "", partial(Path, at)) for name, (size, at) in SHIPPED.items()]
    for entry in (*ENTRIES, *OTHERS):
        if entry.timed and entry.name not in SHIPPED:
            found.append(Network(entry.name, entry.size, entry.missing(), _model(entry)))
    wanted = [word.lower() for word in words.split(",") if word]
    return [n for n in found if not wanted or any(word in n.name.lower() for word in wanted)]


def _model(entry: Entry) -> Callable[[], Path]:
    source = entry.source
    if isinstance(source, Case):
        return lambda: model_file(source)
    return lambda: SHARED / source


def own_profile(gpu: Gpu) -> str:
    """Return the device profile for a GPU: its family's, if there is one."""
    return gpu.family if gpu.family in DEVICES else PLAIN


def compiled(
    network: Network, profile: str, precision: str, winograd: str = "auto", stage: str = "auto"
) -> list[Pass]:
    """Compile a network for a device profile; return its GPU passes.

    Args:
        network: what to compile.
        profile: the name of the device profile.
        precision: "fp32", "fp16" or "auto".
        winograd: "auto", or "off" for direct convolutions alone.
        stage: "auto", "fragment" or "compute".
    """
    height, width = network.size
    with tempfile.TemporaryDirectory(prefix="shadergen-") as scratch:
        options = Options(
            device=profile,
            input_size=parse_sizes([f"{height}x{width}"]),
            precision=PRECISIONS[precision],
            winograd=winograd,
            stage=stage,
        )
        build = Path(scratch) / "build"
        compile_model(network.model(), build, options)
        return read_passes(build)
