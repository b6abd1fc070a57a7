"""Shader programs of every kernel family in each stage, made of the runtimes' small models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from shadergen.backends.dialects import glsl_es
from shadergen.backends.kernels import lower
from shadergen.backends.schedule import schedule
from shadergen.compiler.compilation import context_for, import_model
from shadergen.compiler.options import Options
from shadergen.passes.pipeline import optimise
from support.onnx_models import node, normal, typed_model
from support.runtime_models import MODELS, Model

if TYPE_CHECKING:
    from shadergen.backends.gpu import GpuPass

TARGETS: dict[str, dict[str, Any]] = {
    "fragment": {"device": "gles30"},
    "compute": {"device": "gles32-desktop", "stage": "compute"},
    "textures": {"device": "gles30", "textures": "2d", "weights": "ubo", "mrt": 1},
    "tiles": {"device": "gles32-desktop", "stage": "compute", "winograd": "4x4"},
    "tiles-of-a-draw": {
        "device": "gles32-desktop",
        "stage": "fragment",
        "winograd": "2x2",
        "weights": "constants",
    },
    "strips": {"device": "gles30", "winograd": "4x4", "weights": "texture"},
    "separable": {"device": "gles32-desktop", "stage": "compute", "fuse_separable": "on"},
    "parameters": {"device": "gles30", "parameters": "ubo", "weights": "texture"},
    "storage": {"device": "gles32-desktop", "glsl": 310, "stage": "fragment", "weights": "ssbo"},
}
VARIANTS: dict[str, dict[str, Any]] = {
    **TARGETS,
    "webgl": {"device": "webgl2-min"},
    "mobile": {"device": "gles31-mobile", "precision": "mediump"},
    "images": {"device": "gles32-desktop", "glsl": 310, "fetch": "image"},
    "image-zero": {"device": "gles32-desktop", "glsl": 310, "fetch": "image-zero"},
}


@dataclass(frozen=True)
class Shader:
    """A GPU pass of a model, the variant it was compiled for, and its text."""

    model: str
    variant: str
    gpu_pass: GpuPass
    text: str

    def __str__(self) -> str:
        return f"{self.model} for {self.variant}"


def separable() -> Model:
    """A depthwise convolution and the 1x1 convolution after it, as no model of a runtime's test."""
    weights = {"d": normal(4, 1, 3, 3), "w": normal(4, 4, 1, 1, seed=1)}
    depthwise = node("Conv", "x", "d", outputs=("m",), group=4, pads=[1] * 4)
    return Model([depthwise, node("Conv", "m", "w")], weights, {"x": normal(1, 4, 6, 7)})


def wide() -> Model:
    """A convolution of many weights and pixels, which generic draws compute in blocks."""
    return Model(
        [node("Conv", "x", "w", pads=[1] * 4)],
        {"w": normal(32, 32, 5, 5)},
        {"x": normal(1, 32, 128, 128)},
    )


@cache
def _built() -> tuple[tuple[tuple[Shader, ...], dict[str, Any]], ...]:
    found = []
    for model, make in {**MODELS, "separable": separable, "wide": wide}.items():
        made = make()
        proto = typed_model(made.nodes, made.weights, made.feeds, made.outputs, opset=20)
        for variant, chosen in VARIANTS.items():
            options = Options(**chosen)
            graph = import_model(proto, options)
            context = context_for(graph, options)
            target, graph = context.target, optimise(graph, context)
            passes = lower(graph, target)
            texts = [glsl_es.print_program(p.program, target.glsl).text for p in passes]
            made_of = [
                Shader(model, variant, p, text) for p, text in zip(passes, texts, strict=True)
            ]
            found.append((tuple(made_of), schedule(graph, passes, target, "test").schedule))
    return tuple(found)


def shaders() -> list[Shader]:
    """Return the shaders of all models for all variants."""
    return [shader for made, _ in _built() for shader in made]


def schedules() -> list[dict[str, Any]]:
    """Return the schedules of all models for all variants."""
    return [made for _, made in _built()]
