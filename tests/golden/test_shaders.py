"""A shader of each kernel family in each stage and dialect, compared with shaders/.

After a change that is meant, REGENERATE_GOLDEN=1 pytest tests/golden writes the files anew; git
diff then shows the change. A long shader is stored without its middle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import graph_of, image, pointwise
from support.golden import compare, conv

from shadergen.backends.dialects import glsl_es, wgsl
from shadergen.backends.gpu import GpuPass
from shadergen.backends.kernels import FAMILIES, KernelFamilies, family_of, lower
from shadergen.backends.kernels.loop_nest import LOOP_NEST
from shadergen.backends.shader.program import Program
from shadergen.compiler.options import Options
from shadergen.ir.graph import Value, apply
from shadergen.ir.ops import DepthToSpace, Pool
from shadergen.passes.pipeline import optimise
from shadergen.passes.placement.target import Target
from shadergen.passes.rule import Context

GOLDEN = Path(__file__).parent / "shaders"
WHOLE, START, END = 100, 60, 20  # lines of a shader, and of a longer one those that are stored
DEVICES = {"fragment": "gles30", "compute": "gles32-desktop"}
X = image(1, 4, 4, 2)  # so narrow that an invocation of a compute shader has few pixels
LARGE = image(1, 32, 256, 256)  # so large that a second pass pays
DEEP = image(1, 32, 4, 2)
WIDE = {"pads": (0, 0, 0, 1)}
PRINTERS: dict[str, Callable[[Program, Target], str]] = {
    "glsl": lambda program, target: glsl_es.print_program(program, target.glsl).text,
    "wgsl": lambda program, target: wgsl.print_program(program).text,
}


@dataclass(frozen=True)
class Case:
    """A graph of an input, a stage, and which of the GPU passes to look at."""

    graph: Callable[[], Value]
    stage: str
    position: int = 0
    winograd: str = "off"
    fuse_separable: str = "off"
    weights: str = "auto"
    x: Value = X

    def target(self) -> Target:
        return Options(
            device=DEVICES[self.stage],
            stage=self.stage,
            fetch="texel",
            winograd=self.winograd,
            fuse_separable=self.fuse_separable,
            weights=self.weights,
        ).target()

    def gpu_pass(self) -> GpuPass:
        target = self.target()
        graph = graph_of(self.graph(), inputs=(self.x,))
        return lower(optimise(graph, Context(KernelFamilies(target))), target)[self.position]


def convolution() -> Value:
    return pointwise("relu(x0)", conv(X, 4, (1, 2), "conv", **WIDE), layer="relu")


def large_convolution() -> Value:
    return conv(LARGE, 8, 3, "conv", pads=(1, 1, 1, 1))


def one_pixel() -> Value:
    return conv(DEEP, 4, 1, "conv")


def depthwise() -> Value:
    return conv(X, 4, (1, 2), "depthwise", groups=4, **WIDE)


def grouped() -> Value:
    return conv(conv(X, 8, 1, "before"), 8, 1, "grouped", groups=2)


def separable() -> Value:
    return conv(depthwise(), 4, 1, "mix")


def winograd() -> Value:
    return conv(X, 4, 3, "conv", pads=(1, 1, 1, 1))


def pool() -> Value:
    return apply(Pool("max", (2, 2)), X, layer="pool")


def swish() -> Value:
    return pointwise("x0 * sigmoid(x0)", X, layer="swish")


def pixel_shuffle() -> Value:
    return apply(DepthToSpace((2, 2), "crd"), conv(X, 4, 1, "conv"), layer="shuffle")


CASES = {
    "convolution-fragment": Case(convolution, "fragment"),
    "convolution-fragment-blocks": Case(large_convolution, "fragment", weights="texture", x=LARGE),
    "convolution-compute": Case(convolution, "compute"),
    "convolution-fragment-inner-loop": Case(one_pixel, "fragment", weights="texture", x=DEEP),
    "convolution-compute-inner-loop": Case(one_pixel, "compute", weights="texture", x=DEEP),
    "depthwise-fragment": Case(depthwise, "fragment"),
    "depthwise-compute": Case(depthwise, "compute"),
    "grouped-fragment": Case(grouped, "fragment", 1),  # compute has none of its own
    "separable-compute": Case(separable, "compute", fuse_separable="on"),  # a draw has none
    "winograd-fragment-tiles": Case(winograd, "fragment", winograd="2x2", weights="constants"),
    "winograd-fragment-pixels": Case(winograd, "fragment", 1, winograd="2x2", weights="constants"),
    "winograd-strip-patches": Case(winograd, "fragment", winograd="4x4", weights="texture"),
    "winograd-strip-products": Case(winograd, "fragment", 2, winograd="4x4", weights="texture"),
    "winograd-strip-rows": Case(winograd, "fragment", 3, winograd="4x4", weights="texture"),
    "winograd-strip-columns": Case(winograd, "fragment", 4, winograd="4x4", weights="texture"),
    "winograd-compute-in-place": Case(winograd, "compute", winograd="2x2", weights="constants"),
    "winograd-compute-patches": Case(winograd, "compute", winograd="2x2", weights="ubo"),
    "winograd-compute-products": Case(winograd, "compute", 1, winograd="2x2", weights="ubo"),
    "winograd-compute-result": Case(winograd, "compute", 2, winograd="2x2", weights="ubo"),
    "loop-nest-fragment": Case(pool, "fragment"),
    "loop-nest-compute": Case(pool, "compute"),
    "pointwise-fragment": Case(swish, "fragment"),
    "pointwise-compute": Case(swish, "compute"),
    "pixel-shuffle-compute": Case(pixel_shuffle, "compute"),  # of scattered stores, as no draw has
}


def shortened(text: str) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) <= WHOLE:
        return text
    omitted = len(lines) - START - END
    return "".join([*lines[:START], f"//// {omitted} lines are not stored\n", *lines[-END:]])


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_is_printed_as(name: str) -> None:
    case = CASES[name]
    gpu_pass = case.gpu_pass()
    assert gpu_pass.node.choice.stage == case.stage
    for dialect, printed in PRINTERS.items():
        text = printed(gpu_pass.program, case.target())
        compare(GOLDEN / f"{name}.{dialect}", shortened(text))


def test_every_kernel_family_has_a_golden_shader() -> None:
    shown = {family_of(case.gpu_pass().node) for case in CASES.values()}
    assert shown == {*FAMILIES, LOOP_NEST}


def test_every_golden_shader_has_its_case() -> None:
    names = {f"{name}.{dialect}" for name in CASES for dialect in PRINTERS}
    assert {path.name for path in GOLDEN.iterdir()} == names
