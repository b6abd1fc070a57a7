"""Batch entries in planes: a pass for each, and one program for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image, pointwise

from shadergen.ir.graph import Graph, apply, constant
from shadergen.ir.ops import Concat, DepthToSpace, MatMul, Pad, Pool, Transpose

pytestmark = pytest.mark.gl
COMPUTE = {"device": "llvmpipe", "stage": "compute", "fetch": "image"}
WAYS: list[dict[str, Any]] = [
    {"weights": "constants"},
    {"weights": "texture", "mrt": 1},
    {"weights": "ubo", "parameters": "ubo", "mrt": 2},
    COMPUTE,
    {**COMPUTE, "fuse_separable": "on"},
    {**COMPUTE, "winograd": "4x4"},
    {"device": "llvmpipe", "stage": "fragment", "winograd": "2x2"},
]


def network(entries: int) -> Graph:
    """Convolutions of each kind, and formulas and nests between that need planes."""
    rng = np.random.default_rng(3)
    x, factor = image(entries, 5, 8, 6), image(1, 12, 1, 6, name="factor")
    y = conv(rng, x, 12, (3, 3), "first", pads=(1, 1, 1, 1))
    own = constant(rng.normal(size=(entries, 12, 1, 1)), "own")
    y = pointwise("relu(x0 * x1 + x2)", y, factor, own)
    y = conv(rng, y, 12, (3, 3), "depthwise", pads=(1, 1, 1, 1), groups=12)
    y = conv(rng, y, 12, (1, 1), "beside")
    y = apply(Pool("average", (3, 3), pads=(1, 1, 1, 1)), y, layer="pool")
    y = apply(MatMul(), y, constant(rng.normal(size=(6, 6))), layer="product")
    y = conv(rng, y, 8, (3, 3), "last", pads=(1, 1, 1, 1))
    y = apply(DepthToSpace((2, 2)), y, layer="shuffle")
    return graph_of(y, inputs=(x, factor))


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_seven_entries_take_no_more_programs_than_two(options: dict[str, Any]) -> None:
    few = compile_graph(network(2), **options)[1]
    files = assert_runs_like_reference(network(7), **options)
    assert len(files.shaders) <= len(few.shaders)
    assert all("batch 0" not in source for source in files.shaders.values())


def test_a_tensor_that_a_kernel_and_its_formula_read_takes_one_unit() -> None:
    x = image(2, 4, 6, 5)
    pooled = apply(Pool("average", (3, 3), pads=(1, 1, 1, 1)), x, layer="pool")
    files = assert_runs_like_reference(graph_of(pointwise("x0 - x1", pooled, x), inputs=(x,)))
    assert [len(p["reads"]) for p in files.schedule["passes"]] == [1, 1]


def test_uniforms_are_those_of_the_program_whatever_a_layer_is_called() -> None:
    x = image(1, 4, 6, 5)
    y = conv(np.random.default_rng(0), x, 4, (3, 3), "u_batch_u_plane", pads=(1, 1, 1, 1))
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)))
    assert [p.get("uniforms", []) for p in files.schedule["passes"]] == [[]]


def test_entries_of_textures_apart_have_programs_of_their_own() -> None:
    files = assert_runs_like_reference(network(2), textures="2d")
    assert len(files.shaders) > len(compile_graph(network(2))[1].shaders)


def test_an_entry_that_says_which_tensor_is_read_takes_a_unit_for_it_alone() -> None:
    xs = tuple(image(1, 4, 3, 5, name=f"x{k}") for k in range(20))
    y = apply(Concat(0), *(pointwise("tanh(x0)", x) for x in xs), layer="y")
    assert_runs_like_reference(graph_of(y, inputs=xs), device="webgl2-min")


def test_padding_with_entries_is_one_program() -> None:
    def padded(entries: int) -> Graph:
        x = image(entries, 3, 4, 5)
        y = apply(Pad((2, 0, 0, 0), (1, 0, 0, 0), value=0.5), x, layer="pad")
        return graph_of(conv(np.random.default_rng(4), y, 4, (3, 3), layer="y"), inputs=(x,))

    assert len(assert_runs_like_reference(padded(6)).shaders) == 3
    assert len(compile_graph(padded(2))[1].shaders) == 3


@pytest.mark.parametrize("axes", [(1, 0, 2, 3), (2, 1, 0, 3), (3, 1, 2, 0)])
def test_entries_that_become_another_axis(axes: tuple[int, ...]) -> None:
    x = image(3, 5, 6, 7)
    y = apply(Transpose(axes), pointwise("tanh(x0)", x), layer="y")
    assert_runs_like_reference(graph_of(y, inputs=(x,)))
