"""The share of the multiply-add ceiling that each convolution of a build reaches.

A layer's work is what it takes computed directly, whatever was chosen: minimal filtering, which
multiplies less, may reach more than the whole ceiling. Its time is that of all its GPU passes.
Layers that share passes, such as fused separable convolutions, are one row with the first's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from shadergen.compiler.benchmark.report import Settings, run_benchmark
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options

from .contenders import Setting
from .networks import Model

FRAMES, WARM_UP, SECONDS = 50, 10, 60.0
KERNEL = "convolution"
Layers = tuple[str, ...]


def shares(
    model: Model, build: Path, folder: Path, setting: Setting, progress: Callable[[str], None]
) -> dict[str, float]:
    """Measure a build's convolutions.

    Args:
        model: the build's.
        build: the folder of the build.
        folder: to compile the model to once more, for the work of each layer.
        setting: with the device it was built for.
        progress: told what is at hand.

    Returns:
        Multiply-adds over what the better stage reaches at most in the same time, by the name of
        the convolution; under "" those of the whole frame.

    Raises:
        ShadergenError: SG05xx, SG06xx.
    """
    options = Options(device=str(setting.profile), winograd="off", fuse_separable="off")
    direct = compile_model(model.path, folder, options).files.schedule["passes"]
    work = Counter[Layers]()
    for p in direct:
        if p["kernel"] == KERNEL:
            work[tuple(p["layers"])] += p["macs"]
    settings = Settings(FRAMES, WARM_UP, SECONDS, transfer=False)
    report = run_benchmark([build], settings, progress)
    (played,) = report.builds
    taken = Counter[Layers]()
    for q in played.passes:
        taken[q.layers] += q.milliseconds
    every = {}
    for layers, milliseconds in taken.items():
        macs = sum(n for own, n in work.items() if set(own) <= set(layers))
        if macs:
            every[layers[0]] = (macs, milliseconds)
    every[""] = (sum(p["macs"] for p in direct), played.latency_ms.median)
    rates = {name: report.ceilings.rates(macs, 0, ms) for name, (macs, ms) in every.items()}
    return {name: rate.of_arithmetic for name, rate in rates.items() if rate}
