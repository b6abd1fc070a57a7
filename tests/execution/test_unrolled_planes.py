"""Convolutions that read one pixel: loops over input planes of which a few trips are unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image

from shadergen.ir.graph import Graph, apply
from shadergen.ir.ops import Pool

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


def unrolled(graph: Graph, **options: Any) -> bool:
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
    assert unrolled(graph, **options) == (options is DRAWS)
    assert_runs_like_reference(graph, **options)


@pytest.mark.parametrize("options", [*WAYS, WEBGPU], ids=str)
def test_whole_steps_of_planes_are_unrolled(options):
    assert unrolled(deep(32), **options)
    assert not unrolled(deep(28), **options), "7 planes are no whole steps"
    assert not unrolled(deep(16), **options), "compilers unroll such a loop as it is"
    assert not unrolled(deep(32, kernel=3), **options), "several taps"


def test_blocks_of_more_sums_stay_in_one_loop():
    assert not unrolled(deep(32, out=16), **DRAWS | {"mrt": 2})
    assert unrolled(deep(32, out=4), **DRAWS | {"mrt": 2}), "there is one plane"
    assert not unrolled(deep(32), **DRAWS | {"weights": "ubo"})


def test_a_loop_that_would_spill_if_unrolled_as_a_whole_ends_at_a_uniform():
    """Adreno's compiler unrolls both loops, and loads the texels of 16 planes first."""

    def ends(channels: int, device: str = "gles30") -> list[str]:
        texts = shaders(deep(channels), **STACKED | {"device": device, "stage": "fragment"})
        return [line for text in texts for line in text.splitlines() if "< u_planes_in" in line]

    assert ends(64)
    assert not ends(32)
    assert not ends(96), "too long to be unrolled"
    assert not ends(64, "llvmpipe"), "software rasterisers end loops at numbers"
