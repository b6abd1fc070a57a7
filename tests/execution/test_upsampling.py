"""Convolutions that read through an enlargement by whole numbers, on GL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, check_nest, compile_graph, conv, graph_of, image

from shadergen.ir.graph import Graph, apply, constant
from shadergen.ir.ops import Conv, Pad, ResizeNearest

DESKTOP = {"device": "gles32-desktop"}
KINDS: dict[str, dict[str, Any]] = {
    "fragment": {},
    "compute": {**DESKTOP, "stage": "compute"},
    "image-zero": {**DESKTOP, "stage": "compute", "fetch": "image-zero"},
    "tiles": {**DESKTOP, "winograd": "4x4"},
    "tiles of images": {**DESKTOP, "winograd": "2x2", "fetch": "image-zero"},
}


def upsampled(scale: tuple[int, int], mode: str, batch: int = 1, **attributes: Any) -> Graph:
    """Return enlargement, padding and convolution of what a convolution gives."""
    rng = np.random.default_rng(0)
    x = image(batch, 3, 5, 6)
    y = conv(rng, x, 6, (1, 1))
    steps = ((1, 0, 1), (1, 0, 1), *((1, 0, n) for n in scale))
    y = apply(ResizeNearest((batch, 6, 5 * scale[0], 6 * scale[1]), steps), y)
    y = apply(Pad((0, 0, 2, 1), (0, 0, 1, 3), mode, 0.5 * (batch - 1)), y)
    return graph_of(conv(rng, y, 5, (3, 3), **attributes), inputs=(x,))


@pytest.mark.gl
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("scale", "mode", "batch"),
    [
        ((2, 2), "constant", 1),
        ((2, 2), "reflect", 1),
        ((4, 1), "constant", 2),
        ((3, 2), "constant", 1),  # no shift divides by 3, and -1 / 3 is 0
        ((1, 5), "edge", 2),
    ],
)
def test_nothing_is_enlarged_for_a_convolution(scale, mode, batch, kind):
    graph = upsampled(scale, mode, batch)
    files = assert_runs_like_reference(graph, **KINDS[kind])
    sizes = {(t["width"], t["height"]) for t in files.schedule["textures"]}
    assert (6 * scale[1], 5 * scale[0]) not in sizes
    own = {"fragment": 2, "compute": 2, "image-zero": 2}.get(kind, 4)
    assert len(compile_graph(graph, **KINDS[kind])[0].nodes) == own


@pytest.mark.gl
def test_strides_and_groups_count_in_the_enlarged_map():
    assert_runs_like_reference(upsampled((2, 3), "wrap", strides=(2, 3), bias=False))
    x = image(1, 6, 5, 7)
    y = apply(ResizeNearest((1, 6, 10, 14), ((1, 0, 1), (1, 0, 1), (2, 1, 4), (1, 0, 2))), x)
    y = conv(np.random.default_rng(0), y, 6, (3, 3), groups=6, pads=(1, 1, 1, 1))
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)))
    textures = {t["name"] for t in files.schedule["textures"] if t["data"] is None}
    assert len(textures) == 2


def test_a_nest_reads_through_the_enlargement_too():
    rng = np.random.default_rng(0)
    op = Conv((2, 1), pads=(1, 0, 2, 1), groups=2, enlarged=(3, 2))
    check_nest(op, rng.normal(size=(2, 4, 3, 4)), rng.normal(size=(6, 2, 3, 3)), rng.normal(size=6))


@pytest.mark.parametrize(
    ("sizes", "steps"),
    [
        ((1, 4, 10, 12), ((1, 0, 1), (1, 0, 2), (1, 0, 2), (1, 0, 2))),  # channels
        ((1, 2, 10, 11), ((1, 0, 1), (1, 0, 1), (1, 0, 2), (1, 0, 2))),  # not all of it
        ((1, 2, 10, 12), ((1, 0, 1), (1, 0, 1), (1, 1, 2), (1, 0, 2))),  # the border once
        ((1, 2, 7, 12), ((1, 0, 1), (1, 0, 1), (2, 0, 3), (1, 0, 2))),  # one and a half times
        ((1, 2, 2, 12), ((1, 0, 1), (1, 0, 1), (2, 0, 1), (1, 0, 2))),  # smaller
    ],
)
def test_other_resampling_is_a_pass_of_its_own(sizes, steps):
    x = image(1, 2, 5, 6)
    y = apply(ResizeNearest(sizes, steps), x)
    w = constant(np.ones((3, sizes[1], 1, 1)))
    placed, _, _ = compile_graph(graph_of(apply(Conv(), y, w), inputs=(x,)))
    assert len(placed.nodes) == 2


@pytest.mark.gl
def test_padding_before_the_enlargement_is_enlarged_with_it():
    rng = np.random.default_rng(0)
    x = image(1, 4, 5, 6)
    y = apply(Pad((0, 0, 1, 1), (0, 0, 1, 1), "edge"), x)
    y = apply(ResizeNearest((1, 4, 14, 16), ((1, 0, 1), (1, 0, 1), (1, 0, 2), (1, 0, 2))), y)
    graph = graph_of(conv(rng, y, 4, (3, 3)), inputs=(x,))
    placed, _, _ = compile_graph(graph)
    assert len(placed.nodes) == 2
    assert_runs_like_reference(graph)


@pytest.mark.parametrize("size", [(1, 1), (1, 4), (4, 1)])
def test_what_is_all_one_element_is_enlarged_by_itself(size):
    """Every element of such a result is the first: no factor says so."""
    rng = np.random.default_rng(3)
    x = image(1, 4, *size)
    y = apply(ResizeNearest((1, 4, 4, 4), ((1, 0, 1), (1, 0, 1), (0, 0, 1), (0, 0, 1))), x)
    graph = graph_of(conv(rng, y, 5, (3, 3), pads=(1, 1, 1, 1)), inputs=(x,))
    assert_runs_like_reference(graph)
