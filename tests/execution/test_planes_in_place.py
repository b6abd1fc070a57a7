"""Concatenations and slices of whole planes, which are parts of other tensors' textures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image, pointwise

from shadergen.ir.graph import Graph, Value, apply
from shadergen.ir.ops import Concat, Slice
from shadergen.passes.placement.aliases import aliases_of

RNG = np.random.default_rng(7)
PADDED = {"pads": (1, 1, 1, 1)}
pytestmark = [pytest.mark.gl, pytest.mark.usefixtures("fresh_random_numbers")]
WAYS = [
    {},
    {"textures": "2d"},
    {"textures": "2d", "mrt": 1},
    {"textures": "2d", "mrt": 2, "device": "gles30"},
    {"textures": "2d", "stage": "fragment", "device": "gles32-desktop", "precision": "mediump"},
]


def part(x: Value, first: int, channels: int, layer: str) -> Value:
    n, _, height, width = x.shape
    op = Slice((0, first, 0, 0), (1, 1, 1, 1), (n, channels, height, width))
    return apply(op, x, layer=layer)


def joined() -> Graph:
    """Join activations of maps and of their negatives, too expensive at loads, and all of these."""
    x, both = image(1, 3, 9, 7), []
    y = conv(RNG, x, 4, (3, 3), "first", **PADDED)
    for k in range(3):
        signs = pointwise("tanh(x0)", y, layer=f"plus{k}"), pointwise("tanh(-x0)", y, layer=f"m{k}")
        both.append(apply(Concat(1), *signs, layer=f"both{k}"))
        y = conv(RNG, both[-1], 4, (3, 3), f"conv{k}", **PADDED, pad_mode="edge")
    every = apply(Concat(1), *both, layer="all")
    return graph_of(conv(RNG, every, 6, (1, 1), "last"), inputs=(x,))


def nested() -> Graph:
    """Join joins, one of which is also an output, and a last part that is no whole plane."""
    x = image(1, 8, 6, 5)
    a, b, c = (conv(RNG, x, n, (3, 3), f"part{n}", **PADDED) for n in (8, 4, 6))
    inner = apply(Concat(1), a, b, layer="inner")
    outer = apply(Concat(1), inner, pointwise("x0 * 2", inner), c, layer="outer")
    y = conv(RNG, outer, 5, (3, 3), "y", **PADDED)
    return graph_of(y, inner, inputs=(x,))


def cut() -> Graph:
    """Slice whole planes of an input, of a map, and of a join; each is read as it is and padded."""
    x = image(1, 12, 6, 8)
    y = conv(RNG, x, 16, (3, 3), "y", **PADDED)
    parts = [part(x, 4, 4, "of_input"), part(y, 8, 8, "of_map"), part(y, 4, 4, "one_plane")]
    both = apply(Concat(1), *(pointwise("x0 + 1", p) for p in parts), layer="both")
    again = part(both, 4, 8, "again")
    sums = [conv(RNG, p, 8, (3, 3), f"conv{k}", **PADDED) for k, p in enumerate((*parts, again))]
    return graph_of(apply(Concat(1), *sums, layer="result"), again, inputs=(x,))


def dense() -> Graph:
    """Join each convolution's result to all that it reads, as a dense block does."""
    x = image(1, 3, 7, 6)
    y = conv(RNG, x, 8, (3, 3), "first", **PADDED)
    for k in range(3):
        y = apply(Concat(1), y, conv(RNG, y, 4, (3, 3), f"conv{k}", **PADDED), layer=f"join{k}")
    return graph_of(conv(RNG, y, 6, (1, 1), "last"), inputs=(x,))


GRAPHS = {"dense": dense, "joined": joined, "nested": nested, "cut": cut}


def copies(graph: Graph, **options: Any) -> set[str]:
    """Return the names of joins and slices that are passes of their own."""
    placed, _, _ = compile_graph(graph, **options)
    moved = [n for n in placed.nodes if isinstance(n.op, (Concat, Slice))]
    return {n.name for n in moved if not n.choice.alias}


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("name", GRAPHS)
def test_parts_of_textures_compute_the_reference(name, options):
    assert_runs_like_reference(GRAPHS[name](), **options)


@pytest.mark.parametrize("options", WAYS[1:], ids=str)
def test_2d_textures_are_joined_without_copies(options):
    assert copies(joined(), **options) == set()


def test_a_draw_may_read_planes_beside_those_that_it_writes_only_as_2d_textures():
    """In an array texture that is a feedback loop: there, parts of a dense block are copied."""

    def passes(textures: str) -> list[Any]:
        _, files, _ = compile_graph(dense(), textures=textures, mrt=1, device="gles30")
        return list(files.schedule["passes"])

    assert len(passes("array")) > len(passes("2d")) == 2 + 3 + 2
    last = next(p for p in passes("2d") if "last" in p["layers"])
    places = [(r["texture"], r["layer"]) for r in last["reads"] if "layer" in r]
    assert places == [("join2", layer) for layer in range(5)]


def test_a_join_of_another_format_is_no_part_of_a_wider_one():
    """Large values need 32 bits: those of the wider join, and those that its first parts clamp."""
    x = image(1, 4, 6, 5)
    large = [pointwise("x0 * 1e6", conv(RNG, x, 4, (1, 1), n), layer=f"{n}6") for n in "abc"]
    first = [pointwise("clamp(x0, 0, 6)", y, layer=f"clamped{k}") for k, y in enumerate(large[:2])]
    narrow = apply(Concat(1), *first, layer="narrow")
    wide = apply(Concat(1), *first, large[2], layer="wide")
    results = conv(RNG, narrow, 4, (3, 3), "y"), conv(RNG, wide, 4, (3, 3), "z")
    graph = graph_of(*results, inputs=(x,))
    options = {"precision": "auto", "device": "llvmpipe", "fetch": "image"}
    placed, _, _ = compile_graph(graph, **options)
    layouts = {v: v.type.layout for n in placed.nodes for v in n.results}
    owners = {v: layouts[alias.owner] for v, alias in aliases_of(placed).items()}
    assert {v.name for v in owners} >= {"clamped0", "clamped1"}
    assert all(layouts[v].format == layout.format for v, layout in owners.items())
    assert_runs_like_reference(graph, **options)


def test_halos_lie_around_parts_of_textures():
    """User shaders store the padding of what joins and slices read, too."""
    placed, _, _ = compile_graph(joined(), package="mpv", textures="2d", mrt=1, fetch="texel")
    layouts = [n.result.type.layout for n in placed.nodes if n.name.startswith(("plus", "m"))]
    assert layouts
    assert all(layout.halo is not None and layout.halo.width == 1 for layout in layouts)
