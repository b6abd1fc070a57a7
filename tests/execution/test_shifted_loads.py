"""Loads of consecutive channels that begin inside a texel: two fetches for four channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, graph_of, image, pointwise

from shadergen.ir.graph import Graph, apply
from shadergen.ir.ops import Concat, Pad, Slice

WAYS: list[dict[str, Any]] = [
    {"stage": "fragment", "device": "gles30"},
    {"stage": "fragment", "device": "gles30", "mrt": 1},
    {"stage": "fragment", "device": "gles30", "textures": "stacked"},
    {"stage": "fragment", "device": "gles30", "textures": "2d"},
    {"stage": "compute", "device": "gles31-min"},
]


def joined(*channels: int, batch: int = 1) -> Graph:
    parts = [image(batch, c, 5, 6, name=f"x{k}") for k, c in enumerate(channels)]
    y = apply(Concat(1), *parts, layer="y")
    return graph_of(pointwise("x0 * 2 + 1", y), inputs=tuple(parts))


def cut(channels: int, first: int, count: int) -> Graph:
    x = image(1, channels, 5, 6)
    op = Slice((0, first, 0, 0), (1, 1, 1, 1), (1, count, 5, 6))
    return graph_of(apply(op, x, layer="y"), inputs=(x,))


def padded(*channels: int) -> Graph:
    """Pad the channels and the rows of joined maps: no source holds everywhere."""
    parts = [image(1, c, 5, 6, name=f"x{k}") for k, c in enumerate(channels)]
    y = apply(Concat(1), *parts, layer="joined")
    op = Pad((0, 1, 2, 0), (0, 3, 1, 0), "constant", 7.0)
    return graph_of(apply(op, y, layer="y"), inputs=tuple(parts))


def in_rows(*columns: int) -> Graph:
    parts = [image(3, 7, c, name=f"x{k}") for k, c in enumerate(columns)]
    y = apply(Concat(2), *parts, layer="joined")
    op = Slice((0, 0, 1), (1, 1, 1), (3, 7, sum(columns) - 2))
    return graph_of(apply(op, y, layer="y"), inputs=tuple(parts))


GRAPHS = {
    "two": joined(11, 11),
    "three in a texel": joined(1, 1, 2),
    "three": joined(3, 3, 4),
    "many": joined(1, 6, 1, 9, 3, 5),
    "even": joined(6, 7, batch=2),
    "slice from 1": cut(13, 1, 12),
    "slice from 2": cut(11, 2, 5),
    "slice from 7": cut(19, 7, 3),
    "padded": padded(3, 6),
    "rows": in_rows(5, 6, 2),
}


@pytest.mark.gl
@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("name", GRAPHS)
def test_consecutive_channels_are_those_of_the_reference(name, options):
    assert_runs_like_reference(GRAPHS[name], np.random.default_rng(1), **options)


@pytest.mark.parametrize(
    ("graph", "fetches"),
    [
        (joined(11, 11), [1, 2]),
        (joined(1, 1, 2), [1, 1, 1]),
        (cut(13, 1, 12), [2]),
        (cut(11, 2, 2), [1]),
    ],
)
def test_four_channels_take_two_fetches_of_a_source_at_most(graph, fetches):
    _, files, _ = compile_graph(graph, stage="fragment", device="gles30", mrt=1)
    for p in files.schedule["passes"]:
        assert [r["fetches"] for r in p["reads"]] == fetches
