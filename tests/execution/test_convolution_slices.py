"""Convolutions whose draws name weights of a block in turn, whole or in slices of input planes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image, pointwise

from shadergen.backends.kernels import KernelFamilies
from shadergen.compiler.options import Options
from shadergen.ir.graph import Graph, apply
from shadergen.ir.ops import Concat, Slice
from shadergen.passes.assign_layouts import assign_layouts
from shadergen.passes.choose_precision import choose_precision
from shadergen.passes.rule import Context

GL = pytest.mark.gl
STREAMED: dict[str, Any] = {
    "device": "videocore-6",
    "stage": "fragment",
    "weights": "ubo",
    "winograd": "off",
    "mrt": 4,
}


def single(channels: int, out: int, size: tuple[int, int] = (5, 7), **attributes: Any) -> Graph:
    x = image(1, channels, *size)
    attributes = {"pads": (1, 1, 1, 1), **attributes}
    kernel = attributes.pop("kernel", (3, 3))
    y = conv(np.random.default_rng(3), x, out, kernel, **attributes)
    return graph_of(pointwise("relu(x0)", y), inputs=(x,))


def slices(graph: Graph, **options: Any) -> list[range]:
    """Return the channels that the slices of a graph's convolutions read, [] if there are none."""
    placed, _, _ = compile_graph(graph, **options)
    cuts = (n.op for n in placed.nodes if isinstance(n.op, Slice))
    return [range(op.starts[1], op.starts[1] + op.sizes[1]) for op in cuts]


@GL
@pytest.mark.parametrize(
    ("channels", "out", "attributes"),
    [
        (20, 16, {}),
        (17, 28, {"pad_mode": "edge"}),  # of seven planes, three are drawn by themselves
        (24, 13, {"strides": (2, 1), "pad_value": 0.5}),
        (16, 16, {"bias": False, "dilations": (2, 2), "pads": (2, 1, 0, 2)}),
        (99, 16, {"kernel": (1, 1), "pads": (0, 0, 0, 0)}),
    ],
)
def test_slices_add_up_to_the_convolution(channels, out, attributes):
    graph = single(channels, out, **attributes)
    found = slices(graph, **STREAMED)
    assert len(found) > 1
    assert sorted(c for part in found for c in part) == list(range(channels))
    files = assert_runs_like_reference(graph, **STREAMED)
    assert not any("for (" in text for text in files.shaders.values())


@GL
def test_a_layer_of_few_weights_takes_one_pass():
    graph = single(8, 16)
    assert not slices(graph, **STREAMED)
    files = assert_runs_like_reference(graph, **STREAMED)
    (text,) = (t for t in files.shaders.values() if "weight(" in t)
    assert "for (" not in text
    assert "if (u_planes_in > 0) {" in text
    named = re.findall(r"(result_p\d) \+= weight\((\d+)\)", text)
    assert [int(n) for _, n in named] == list(range(9 * 2 * 16))  # in the order of the block
    assert [r for r, _ in named[:4]] == [f"result_p{k}" for k in range(4)]


@GL
def test_slices_take_a_prologue_maps_of_an_epilogue_and_a_place_in_a_concatenation():
    rng = np.random.default_rng(5)
    x, other = image(1, 32, 6, 5), image(1, 16, 6, 5, name="other")
    y = conv(rng, pointwise("tanh(x0) + 0.5", x), 16, (3, 3), pads=(1, 1, 1, 1))
    y = pointwise("relu(x0) * x1", y, other)
    z = conv(rng, x, 16, (3, 3), pads=(1, 1, 1, 1))
    joined = apply(Concat(1), y, z)
    last = conv(rng, joined, 16, (3, 3), pads=(1, 1, 1, 1))
    graph = graph_of(last, inputs=(x, other))
    assert len(slices(graph, **STREAMED)) == 12
    assert_runs_like_reference(graph, **STREAMED)


@GL
def test_slices_of_layers_of_a_shape_share_programs():
    rng = np.random.default_rng(6)
    x = v = image(1, 32, 5, 6)
    for _ in range(4):
        v = pointwise("relu(x0)", conv(rng, v, 32, (3, 3), pads=(1, 1, 1, 1)))
    _, files, _ = compile_graph(graph_of(v, inputs=(x,)), **STREAMED)
    assert len(files.schedule["passes"]) == 4 * 4 * 2
    assert len(files.shaders) <= 7  # and one for the vertices


@pytest.mark.parametrize(
    ("graph", "options"),
    [
        (single(32, 16), {"device": "adreno-6xx", "weights": "auto"}),
        (single(32, 16), {"mrt": 2}),
        (single(32, 16), {"textures": "2d"}),
        (single(32, 16), {"precision": "fp16"}),
        (single(32, 16, groups=2), {}),
        (single(16, 16, kernel=(7, 7)), {}),  # a slice would be less than a plane
    ],
)
def test_only_some_builds_are_sliced(graph, options):
    assert not slices(graph, **{**STREAMED, **options})


def test_the_work_of_slices_is_that_of_the_convolution_and_of_adding_up():
    x = image(1, 32, 12, 12)
    y = conv(np.random.default_rng(7), x, 16, (3, 3), pads=(1, 1, 1, 1))
    families = KernelFamilies(Options(**STREAMED).target())
    context = Context(families)
    placed = assign_layouts(choose_precision(graph_of(y, inputs=(x,)), context), context)
    (node,) = placed.nodes
    (ubo,) = (c for c in families.choices(node) if c.planes == 4)
    (whole,) = families.work(node, replace(ubo, weights="texture"))
    sliced = families.work(node, ubo)
    assert len(sliced) == 4
    assert sum(w.multiplies for w in sliced) == pytest.approx(whole.multiplies)
    assert sum(w.stores for w in sliced) == 4 * whole.stores
    assert {w.weights_from for w in sliced} == {"literal"}
    assert max(w.alive for w in sliced) <= whole.alive
