"""Which barriers each GPU pass needs."""

from __future__ import annotations

import numpy as np
from support import compile_graph, conv, graph_of, image

from shadergen.ir.graph import apply
from shadergen.ir.ops import Concat

DESKTOP = {"device": "gles32-desktop", "glsl": 310}


def chain(length):
    rng = np.random.default_rng(0)
    x = y = image(1, 8, 6, 6)
    for k in range(length):
        y = conv(rng, y, 8, (3, 3), pads=(1, 1, 1, 1), layer=f"conv{k}")
    return graph_of(y, inputs=(x,))


def barriers(graph, **options):
    _, files, _ = compile_graph(graph, weights="texture", **options, **DESKTOP)
    return [p["barriers"] for p in files.schedule["passes"]]


def test_draws_alone_need_none():
    assert barriers(chain(4), stage="fragment") == [[]] * 4


def test_what_was_stored_is_sampled_after_a_barrier_for_textures():
    """And the third pass stores into the slot that the second reads."""
    found = barriers(chain(4), stage="compute")
    assert found == [[], ["texture"], ["image", "texture"], ["texture"]]


def test_what_was_stored_is_loaded_after_a_barrier_for_images():
    found = barriers(chain(4), stage="compute", fetch="image")
    assert found == [[], ["image"], ["image"], ["image"]]


def test_a_draw_into_a_slot_that_was_stored_to_waits_for_the_stores():
    x = image(1, 8, 6, 6)
    y = conv(np.random.default_rng(0), x, 8, (3, 3), pads=(1, 1, 1, 1))
    for _ in range(3):
        y = apply(Concat(1), y, y)
    graph = graph_of(y, inputs=(x,))
    assert barriers(graph, stage="auto", mrt=8) == [
        [],  # the convolution, in compute
        ["texture"],  # a draw that samples it
        ["framebuffer"],  # one into its slot
        [],  # the output
    ]
