"""Convolutions that read one pixel: loops over input planes with loops of four trips inside."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image

from shadergen.backends.kernels import KernelFamilies, family_of
from shadergen.backends.shader.statements import Loop, walk
from shadergen.compiler.options import Options
from shadergen.ir.graph import Choice, Graph, apply
from shadergen.ir.ops import Pool
from shadergen.passes.pipeline import optimise
from shadergen.passes.placement.kinds import has_weights
from shadergen.passes.rule import Context
from shadergen.records import replace

RNG = np.random.default_rng(11)
DRAWS: dict[str, Any] = {"device": "gles30", "weights": "texture", "mrt": 1}
STACKED: dict[str, Any] = {"device": "gles30", "weights": "texture", "textures": "stacked"}
DISPATCHES: dict[str, Any] = {"device": "gles31-mobile", "stage": "compute", "weights": "texture"}
BUFFERS = DISPATCHES | {"device": "gles32-desktop", "weights": "ssbo"}
FEW_REGISTERS = DISPATCHES | {"device": "videocore-6"}
WEBGPU: dict[str, Any] = {"device": "webgpu", "weights": "texture"}
WAYS = [DRAWS, STACKED, DISPATCHES, BUFFERS, FEW_REGISTERS]
pytestmark = pytest.mark.usefixtures("fresh_random_numbers")


def deep(channels: int, out: int = 12, groups: int = 1, kernel: int = 1) -> Graph:
    x = image(1, channels, 5, 6)
    y = conv(RNG, x, out, (kernel, kernel), "deep", groups=groups)
    return graph_of(apply(Pool("max", (2, 2)), y, layer="pool"), inputs=(x,))


def shaders(graph: Graph, **options: Any) -> list[str]:
    _, files, _ = compile_graph(graph, **options)
    return [text for path, text in files.shaders.items() if not path.endswith("vert")]


def has_inner_loop(graph: Graph, **options: Any) -> bool:
    return any("input_plane_offset < 4" in text for text in shaders(graph, **options))


@pytest.mark.gl
@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("channels", [28, 32, 48, 64, 96])
def test_results_are_those_of_the_reference(channels, options):
    assert_runs_like_reference(deep(channels), **options)


@pytest.mark.gl
@pytest.mark.parametrize("options", [DRAWS, DISPATCHES], ids=str)
def test_groups_begin_at_planes_of_their_own(options):
    graph = deep(64, out=16, groups=2)
    assert has_inner_loop(graph, **options) == (options is DRAWS)
    assert_runs_like_reference(graph, **options)


@pytest.mark.parametrize("options", [*WAYS, WEBGPU], ids=str)
def test_depths_of_whole_inner_loops_have_them(options):
    assert has_inner_loop(deep(32), **options)
    assert not has_inner_loop(deep(28), **options), "7 planes are no multiple of 4"
    assert not has_inner_loop(deep(16), **options), "compilers unroll such a loop as it is"
    assert not has_inner_loop(deep(32, kernel=3), **options), "several taps"


def test_draws_of_more_accumulators_have_one_loop():
    assert not has_inner_loop(deep(32, out=16), **DRAWS | {"mrt": 2})
    assert has_inner_loop(deep(32, out=4), **DRAWS | {"mrt": 2}), "there is one plane"
    assert not has_inner_loop(deep(32), **DRAWS | {"weights": "ubo"})


@pytest.mark.parametrize(
    ("device", "most", "more_planes_than_pixels"),
    [("gles31-mobile", 4, False), ("gles32-desktop", 4, True), ("videocore-6", 2, False)],
)
def test_dispatches_of_few_accumulators_have_inner_loops(device, most, more_planes_than_pixels):
    """VideoCore, which spills first, is one of the GPUs of ``gles31-mobile``."""
    target = Options(device=device, stage="compute").target()
    kernels = KernelFamilies(target)
    placed = optimise(deep(32, out=32), Context(kernels))
    node = next(n for n in placed.nodes if has_weights(n))
    found = {}
    for choice in kernels.choices(replace(node, choice=Choice())):
        if choice.stage != "compute" or choice.weights not in ("texture", "ssbo"):
            continue
        made = replace(node, choice=choice)
        (gpu_pass,) = family_of(made).lower(made, target)
        loops = [s for s in walk(gpu_pass.program.main) if isinstance(s, Loop)]
        accumulators = choice.planes, prod(choice.block)
        found[accumulators] = any(loop.inner_trips == 4 for loop in loops)
    assert found == {
        (planes, pixels): planes * pixels <= most and (planes <= pixels or more_planes_than_pixels)
        for planes, pixels in found
    }
    assert {(1, 1), (2, 1), (1, 2), (2, 2), (1, 4), (2, 4)} <= found.keys()


@pytest.mark.parametrize(("channels", "spills"), [(48, False), (64, True), (80, True), (96, False)])
def test_a_loop_that_spills_on_adreno_if_unrolled_as_a_whole_ends_at_a_uniform(channels, spills):
    """Adreno's compiler unrolls loops of 49 to 80 products, and loads all texels first."""

    def ends(device: str = "gles30", kernel: int = 1) -> list[str]:
        options = STACKED | {"device": device, "stage": "fragment"}
        texts = shaders(deep(channels, kernel=kernel), **options)
        return [line for text in texts for line in text.splitlines() if "< u_planes_in" in line]

    assert bool(ends()) == spills
    assert not ends("llvmpipe"), "software rasterisers end loops at numbers"
    assert not ends(kernel=3)
