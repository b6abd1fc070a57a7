"""Builds that every runtime must play alike: Python, C++ and the browser.

Each is a small ONNX model, compiled for one target, with inputs and what ONNX Runtime makes of
them. :func:`write` lays them out for a runtime that is no Python::

    ROOT/NAME/build/
    ROOT/NAME/inputs/INPUT.f32       float32, little-endian, in the model's own shape, C order
    ROOT/NAME/expected/OUTPUT.f32
    ROOT/NAME/case.json              {"compute": bool, "tolerance": number, "sizes": {SIZE: number},
                                      "inputs": {INPUT: shape}, "outputs": {OUTPUT: shape}}
    ROOT/NAME/sizes.txt              the sizes again, each a line: SIZE number

A build of dynamic sizes begins with others, and is to be given ``sizes`` first. The
largest difference allowed is ``tolerance * max(1, max|expected|)``. Builds of ``compute`` use what
OpenGL ES 3.1 has over 3.0; a browser must refuse them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort

from shadergen.backends.writer import write_build
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.options import Options
from support import runtime_models as models
from support.onnx_models import typed_model
from support.runtime_models import MODELS, Model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

BROWSERS = ("webgl2-min", "swiftshader")
TARGETS: dict[str, dict[str, Any]] = {
    "fragment": {"device": "webgl2-min"},
    "compute": {"device": "gles32-desktop", "stage": "compute"},
}


@dataclass(frozen=True)
class RuntimeBuild:
    """A model with the options it is compiled with."""

    name: str
    model: Callable[[], Model]
    options: dict[str, Any]
    tolerance: float = 1e-4

    @property
    def dynamic(self) -> bool:
        """Whether its sizes are dynamic."""
        return "dynamic" in self.options

    @property
    def compute(self) -> bool:
        """Whether it needs OpenGL ES 3.1, which a browser has not."""
        return self.options["device"] not in BROWSERS

    def write(self, folder: Path) -> dict[str, dict[str, np.ndarray]]:
        """Write it as the module says; return its inputs and expected outputs."""
        model = self.model()
        proto = typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)
        options = Options(**self.options)
        _, files, _ = compile_graph(import_model(proto, options), options)
        folder.mkdir(parents=True)
        write_build(files, folder / "build")
        arrays = {"inputs": model.feeds, "outputs": _expected(proto, model)}
        shapes = {}
        for kind, place in (("inputs", "inputs"), ("outputs", "expected")):
            (folder / place).mkdir()
            for name, array in arrays[kind].items():
                array.astype("<f4").tofile(folder / place / f"{name}.f32")
            shapes[kind] = {name: list(array.shape) for name, array in arrays[kind].items()}
        height, width = next(iter(model.feeds.values())).shape[-2:]
        sizes = {"height": height, "width": width} if self.dynamic else {}
        lines = "".join(f"{name} {size}\n" for name, size in sizes.items())
        (folder / "sizes.txt").write_text(lines, encoding="utf-8")
        case = {"compute": self.compute, "tolerance": self.tolerance, "sizes": sizes, **shapes}
        (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")
        return arrays


def _expected(proto: Any, model: Model) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(proto.SerializeToString(), options)
    return dict(zip(model.outputs, session.run(None, model.feeds), strict=True))


def write(root: Path, builds: Sequence[RuntimeBuild] = ()) -> None:
    """Write builds below ``root``, by default those for OpenGL ES."""
    for build in builds or runtime_builds():
        build.write(root / build.name)


FRAGMENT = TARGETS["fragment"]
HALF_STEP = 0.5 / 255 + 1e-4  # what rounding to a byte may lose
SPECIAL = (
    RuntimeBuild("bytes-in", models.photograph, {**FRAGMENT, "preprocess": "input=unorm8"}),
    RuntimeBuild(
        "bytes-out", models.photograph, {**FRAGMENT, "output_encoding": "unorm8"}, HALF_STEP
    ),
    RuntimeBuild("y2rg", models.luma, {**FRAGMENT, "output_encoding": "y2rg"}),
    RuntimeBuild("y2rg-half", models.luma, {**FRAGMENT, "output_encoding": "y2rg_half"}),
    RuntimeBuild("half", models.residual, {**FRAGMENT, "precision": "mediump"}, 1e-2),
    RuntimeBuild("planes-2d", models.shallow, {**FRAGMENT, "textures": "2d"}),
    RuntimeBuild("planes-stacked", models.shallow, {**FRAGMENT, "textures": "stacked"}),
    RuntimeBuild("one-target", models.shallow, {**FRAGMENT, "mrt": 1}),
    RuntimeBuild("weights-ubo", models.shallow, {**FRAGMENT, "weights": "ubo"}),
    RuntimeBuild("weights-texture", models.shallow, {**FRAGMENT, "weights": "texture"}),
    RuntimeBuild(
        "weights-int8",
        models.shallow,
        {**FRAGMENT, "weights": "texture", "weight_format": "int8"},
        2e-2,
    ),
    RuntimeBuild("fetch-texel", models.residual, {**FRAGMENT, "fetch": "texel"}),
    RuntimeBuild("tiles", models.residual, {**FRAGMENT, "winograd": "2x2"}),
    RuntimeBuild("tiles-of-two-planes", models.shallow, {"device": BROWSERS[1], "winograd": "2x2"}),
    RuntimeBuild("parameters-ubo", models.conv_3x3, {**FRAGMENT, "parameters": "ubo"}),
    RuntimeBuild(
        "weights-ssbo",
        models.shallow,
        {"device": "gles32-desktop", "glsl": 310, "stage": "fragment", "weights": "ssbo"},
    ),
    RuntimeBuild(
        "fetch-image",
        models.residual,
        {**TARGETS["compute"], "fetch": "image"},
    ),
    RuntimeBuild(
        "mixed-stages",
        models.pixel_shuffle,
        {"device": "llvmpipe", "glsl": 310, "stage": "auto", "fetch": "image"},
    ),
)


FIRST = (12, 20)  # height and width that builds of dynamic sizes begin with
DYNAMIC: tuple[Callable[[], Model], ...] = (
    models.conv_3x3,
    models.conv_strided,
    models.conv_transposed,
    models.pixel_shuffle,
    models.residual,
    models.pooling,
    models.squeeze,
    models.instance_norm,
    models.branches,
    models.upsample,
    models.coordinates,
)


@cache
def webgpu_builds() -> tuple[RuntimeBuild, ...]:
    """Return the same builds for WebGPU."""
    found = []
    for build in runtime_builds():
        kept = {k: v for k, v in build.options.items() if k not in ("device", "glsl", "fetch")}
        stage = "fragment" if not build.compute else "auto"
        found.append(replace(build, options={"stage": stage, **kept, "device": "webgpu"}))
    sampled = {"device": "swiftshader-webgpu", "weights": "texture"}
    found.append(RuntimeBuild("sampled", models.residual, sampled))
    return tuple(found)


@cache
def runtime_builds() -> tuple[RuntimeBuild, ...]:
    """Return every build, those of both targets first."""
    found = []
    for target, options in TARGETS.items():
        found += [RuntimeBuild(f"{name}-{target}", m, options) for name, m in MODELS.items()]
        dynamic_sizes = {**options, "dynamic": FIRST}
        found += [
            RuntimeBuild(f"{name}-{target}-dynamic", model, dynamic_sizes)
            for name, model in MODELS.items()
            if model in DYNAMIC
        ]
    return (*found, *SPECIAL)
