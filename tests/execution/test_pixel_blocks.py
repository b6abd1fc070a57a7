"""Kernels without weights, in dispatches whose invocations compute blocks of pixels."""

from __future__ import annotations

import numpy as np
import pytest
from support import assert_runs_like_reference, graph_of, image, pointwise

from shadergen.backends.kernels import family
from shadergen.ir.graph import Value, apply, constant
from shadergen.ir.ops import DepthToSpace, Pad, Pool, Slice, Transpose

pytestmark = pytest.mark.gl
DESKTOP = {"stage": "compute", "device": "gles32-desktop"}
BLOCKS = ((2, 1), (4, 1), (2, 2), (1, 3))  # those that are offered, and blocks of several rows
RNG = np.random.default_rng(7)


def residual(x: Value) -> Value:
    """A loop nest whose epilogue reads other maps, one of them of a single row."""
    pooled = apply(Pool("average", (3, 3), pads=(1, 1, 1, 1)), x, layer="pooled")
    row = constant(RNG.normal(size=(1, x.shape[1], 1, x.shape[3])), "row")
    return pointwise("x0 * x1 + x2", pooled, x, row)


GRAPHS = {
    "overlapping windows": lambda x: apply(Pool("max", (3, 3), (2, 2), pads=(1, 0, 1, 2)), x),
    "windows inside the map": lambda x: apply(Pool("max", (3, 2), (1, 3)), x),
    "two operands": lambda x: pointwise("x0 * x1 - 2", x, constant(RNG.normal(size=(1, 6, 1, 1)))),
    "residual": residual,
    "reflected": lambda x: apply(Pad((0, 0, 2, 3), (0, 0, 1, 4), "reflect"), x),
    "reversed": lambda x: apply(Slice((0, 0, 8, 12), (1, 1, -1, -2), (1, 6, 9, 6)), x),
    "channels as columns": lambda x: apply(Transpose((0, 3, 2, 1)), x),
}


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_blocks_compute_what_single_pixels_do(graph, block, monkeypatch):
    """The map's 9 rows and 13 columns are no multiple of any block."""
    monkeypatch.setattr(family, "BLOCKS", (block,))
    x = image(1, 6, 9, 13)
    files = assert_runs_like_reference(graph_of(GRAPHS[graph](x), inputs=(x,)), **DESKTOP)
    columns, rows = block
    (text,) = files.shaders.values()
    assert f"computes a block: {rows} x {columns} pixels" in text


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("options", ({}, {"precision": "mediump"}), ids=str)
def test_blocks_of_several_batch_entries(options, block, monkeypatch):
    monkeypatch.setattr(family, "BLOCKS", (block,))
    x = image(2, 4, 5, 7)
    y = apply(DepthToSpace((2, 2), "crd"), pointwise("tanh(x0)", x), layer="shuffled")
    pooled = apply(Pool("max", (2, 2)), y, layer="pooled")
    files = assert_runs_like_reference(graph_of(pooled, inputs=(x,)), **DESKTOP, **options)
    assert any("computes a block: " in text for text in files.shaders.values())
