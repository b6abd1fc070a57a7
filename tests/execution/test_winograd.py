"""3x3 convolutions by Winograd's minimal filtering: right, and only where asked or best."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image, pointwise

from shadergen.backends.devices import DEVICES
from shadergen.backends.kernels import KernelFamilies, lower, winograd_expansion
from shadergen.backends.shader.structure import structural_key
from shadergen.compiler.options import Options
from shadergen.compiler.tuning.isolation import isolate
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import Choice, Graph, Node, apply, constant
from shadergen.ir.ops import Concat, Conv, DepthToSpace, Slice
from shadergen.ir.types import TensorType
from shadergen.passes.choose_kernels import choose_kernels, rank
from shadergen.passes.kernel_ops import (
    ConvBlocks,
    Fused,
    StripColumns,
    StripPatches,
    StripProducts,
    StripRows,
    WinogradConv,
    WinogradPatches,
    WinogradProducts,
    WinogradResult,
    WinogradRow,
    WinogradTiles,
    parts,
)
from shadergen.passes.kernel_ops.winograd import TILES, of_kernel, of_patch, of_result, transformed
from shadergen.passes.pipeline import PLACEMENT, simplify
from shadergen.passes.placement.costs import UNMEASURED
from shadergen.passes.placement.target import TILES_OF
from shadergen.passes.placement.tuning_key import tuning_key
from shadergen.passes.rule import Context

GL = pytest.mark.gl
DESKTOP = {"device": "gles32-desktop"}
IN_PLACE = {**DESKTOP, "weights": "constants"}  # all steps in one kernel of the compute stage
IN_STEPS = {**DESKTOP, "weights": "texture"}  # each step in its own
NAMES = ("2x2", "4x4")


def single(
    channels: int = 8, out: int = 8, size: tuple[int, int] = (9, 10), **attributes: Any
) -> Graph:
    """Return a graph of one convolution of 3x3, of an input, with an activation."""
    attributes = {"pads": (1, 1, 1, 1), **attributes}
    x = image(attributes.pop("batch", 1), channels, *size)
    kernel = attributes.pop("kernel", (3, 3))
    y = conv(np.random.default_rng(2), x, out, kernel, **attributes)
    return graph_of(pointwise("relu(x0)", y), inputs=(x,))


def kernels(graph: Graph, **options: Any) -> list[str]:
    placed, _, _ = compile_graph(graph, **options)
    return [type(getattr(n.op, "kernel", n.op)).__name__ for n in placed.nodes]


# Transforms compute two lines of a patch and whole tiles, or one line of each beside few registers.
REGISTERS = pytest.mark.parametrize("device", ["gles32-desktop", "gles31-mobile"])
IN_TILES = ["WinogradPatches", "WinogradProducts", "WinogradResult"]
IN_STRIPS = ["StripPatches", "StripProducts", "StripRows", "StripColumns"]
IN_DRAWS = ["WinogradTiles", "IndexMapped"]  # where the map is no whole tiles; else a DepthToSpace
EVERY_STEP = {*IN_TILES, *IN_STRIPS, *IN_DRAWS, "WinogradConv"}
FOUR_TARGETS, EIGHT_TARGETS = {"device": "gles30"}, {**DESKTOP, "stage": "fragment"}
AT_ONCE = {**EIGHT_TARGETS, "weights": "constants"}
IN_LOOPS = {**FOUR_TARGETS, "weights": "texture"}
SHAPES = pytest.mark.parametrize(
    ("channels", "out", "size", "pads", "batch"),
    [
        (1, 3, (9, 7), (1, 1, 1, 1), 1),
        (3, 4, (12, 16), (0, 0, 0, 0), 1),
        (4, 1, (3, 3), (0, 0, 0, 0), 2),
        (5, 17, (13, 6), (2, 0, 1, 5), 2),
        (17, 5, (1, 11), (1, 1, 1, 1), 1),
        (8, 8, (8, 8), (1, 1, 1, 1), 1),
    ],
)


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_three_steps_are_a_convolution(tile, mode):
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(2, 3, 7, 9)), rng.normal(size=(5, 3, 3, 3)), rng.normal(size=5)
    padding: dict[str, Any] = {"pads": (1, 0, 2, 1), "pad_mode": mode, "pad_value": 0.5}
    want = Conv(**padding).reference(x, w, b)
    rows = 6 if tile == 2 else 2  # of 5 tiles each
    patches = WinogradPatches(tile, rows, 5, **padding).reference(x)
    products = WinogradProducts(tile=tile).reference(patches, w, b)
    got = WinogradResult(tile, *want.shape[2:]).reference(products)
    np.testing.assert_allclose(got, want, atol=1e-12)
    x0, w0, b0 = (constant(a) for a in (x, w, b))
    y = apply(WinogradPatches(tile, rows, 5, **padding), x0)
    assert y.shape == patches.shape
    y = apply(WinogradProducts(tile=tile), y, w0, b0)
    assert y.shape == products.shape
    assert apply(WinogradResult(tile, *want.shape[2:]), y).shape == want.shape


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_the_steps_in_strips_are_a_convolution(tile, mode):
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(2, 5, 7, 9)), rng.normal(size=(13, 5, 3, 3)), rng.normal(size=13)
    padding: dict[str, Any] = {"pads": (1, 0, 2, 1), "pad_mode": mode, "pad_value": 0.5}
    want = Conv(**padding).reference(x, w, b)
    columns = 6
    steps = [
        StripPatches(tile, columns, **padding),
        StripProducts(tile=tile, columns=columns, planes=2),
        StripRows(tile, columns, 13),
        StripColumns(tile, columns, 13, *want.shape[2:]),
    ]
    others = [(), (w, b), (), ()]
    value, placed = x, constant(x)
    for step, more in zip(steps, others, strict=True):
        value = step.reference(value, *more)
        placed = apply(step, placed, *map(constant, more))
        assert placed.shape == value.shape
    np.testing.assert_allclose(value, want, atol=1e-12)


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_the_pixels_of_tiles_are_those_of_a_convolution(tile, mode):
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(2, 3, 7, 9)), rng.normal(size=(5, 3, 3, 3)), rng.normal(size=5)
    padding: dict[str, Any] = {"pads": (1, 0, 2, 1), "pad_mode": mode, "pad_value": 0.5}
    want = Conv(**padding).reference(x, w, b)
    tiles = WinogradTiles(**padding, tile=tile)
    found = tiles.reference(x, w, b)
    assert apply(tiles, *(constant(a) for a in (x, w, b))).shape == found.shape
    for i, j in np.ndindex(tile, tile):
        pixels = want[:, :, i::tile, j::tile]
        first = (i * tile + j) * 8
        got = found[:, first : first + 5, : pixels.shape[2], : pixels.shape[3]]
        np.testing.assert_array_equal(got, pixels)


@pytest.mark.parametrize("tile", TILES)
def test_tiles_in_place_are_a_convolution(tile):
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(2, 3, 7, 9)), rng.normal(size=(5, 3, 3, 3)), rng.normal(size=5)
    padding: dict[str, Any] = {"pads": (1, 0, 2, 1), "pad_mode": "reflect"}
    y = apply(WinogradConv(**padding, tile=tile), *(constant(a) for a in (x, w, b)))
    want = Conv(**padding).reference(x, w, b)
    assert y.shape == want.shape
    np.testing.assert_array_equal(WinogradConv(**padding, tile=tile).reference(x, w, b), want)


@pytest.mark.parametrize("tile", TILES)
def test_tiles_of_a_row_are_a_convolution(tile):
    """Their packed weights, the transforms of a patch's rows and of sums give its results."""
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(1, 3, 3, tile + 2)), rng.normal(size=(5, 3, 3, 3)), np.zeros(5)
    row = WinogradRow(tile=tile)
    want = Conv().reference(x, w, b)
    np.testing.assert_array_equal(row.reference(x, w, b), want)
    taps = np.moveaxis(w.reshape(5, 3, 9), 2, 0)
    packed = row.packed(taps).reshape(3, row.patch, 5, 3)
    assert row.packed_shape(w.shape) == (5, 3, 3, row.patch)
    patch = np.einsum("kj,cyj->kcy", of_patch(tile), x[0])
    sums = np.einsum("ykoc,kcy->ok", packed, patch)
    np.testing.assert_allclose(sums @ of_result(tile).T, want[0, :, 0], atol=1e-5)


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("stage", ["compute", "fragment"])
def test_the_steps_know_which_elements_the_map_determines(tile, stage):
    rng = np.random.default_rng(0)
    whole, w, b = rng.normal(size=(2, 5, 10, 10)), rng.normal(size=(6, 5, 3, 3)), rng.normal(size=6)
    part = whole[:, :, :9, :9]  # 7x7 results in as many tiles as 8x8
    tiles, k = 8 // tile, tile + 2
    lines, pixels = tiles * k - 1, 7  # the last line of the last patches is not determined
    if stage == "compute":
        steps = [WinogradPatches(tile, tiles + 1, tiles), WinogradProducts(tile=tile)]
        counts = [5 * lines**2, 6 * lines**2]
    else:
        columns = tiles + 2
        products = StripProducts(tile=tile, columns=columns, planes=2)
        steps = [StripPatches(tile, columns), products, StripRows(tile, columns, 6)]
        counts = [5 * lines**2, 6 * lines**2, 6 * lines * pixels]
    known = np.ones(part.shape, bool)
    for step, count in zip(steps, counts, strict=True):
        others = (w, b) if "Products" in type(step).__name__ else ()
        known = step.determined(known, *(np.ones(o.shape, bool) for o in others))
        whole, part = step.reference(whole, *others), step.reference(part, *others)
        assert known.shape == part.shape
        assert known.sum() == 2 * count
        np.testing.assert_array_equal(whole[known], part[known])
        assert (whole != part).any()


@pytest.mark.parametrize(("tile", "block"), [(2, (2, 2)), (4, (4, 4)), (0, (1, 2))])
def test_pixels_and_channels_beyond_the_map_are_not_determined(tile, block):
    shapes = [(2, 5, 7, 9), (6, 5, 3, 3), (6,)]
    op = WinogradTiles(tile=tile) if tile else ConvBlocks(block=block)
    known = op.determined(*(np.ones(s, bool) for s in shapes))
    assert known.shape == op.infer(*map(TensorType, shapes)).shape
    assert known.sum() == 2 * 6 * 5 * 7
    assert not known.reshape(2, -1, 8, *known.shape[2:])[:, :, 6:].any()


def test_a_formula_of_the_loads_leaves_open_what_the_patches_leave_open():
    cut = WinogradPatches(4, 1, 4)
    fused = Fused(cut, 1, (parse("x*2"), parse("x + x*e0")))
    known = fused.determined(np.ones((1, 4, 7, 9), bool), np.ones((4, 1, 1), bool))
    np.testing.assert_array_equal(known, cut.determined(np.ones((1, 8, 7, 9), bool)))
    assert Fused(StripColumns(4, 4, 5, 8, 7), 1, (), parse("y + 1")).determined(known) is None


@pytest.mark.parametrize("tile", TILES)
def test_weights_are_transformed_in_64_bits(tile):
    w = np.random.default_rng(0).normal(size=(2, 3, 3, 3)).astype(np.float32)
    u, g = transformed(w, tile), of_kernel(tile)
    assert u.dtype == np.float64
    np.testing.assert_allclose(u, g @ w.astype(np.float64) @ g.T, rtol=1e-12, atol=1e-15)


@GL
@pytest.mark.parametrize("tiles", NAMES)
@pytest.mark.parametrize("fetch", ["texel", "image", "image-zero"])
@SHAPES
@REGISTERS
def test_tiles_run_like_the_reference(channels, out, size, pads, batch, fetch, tiles, device):
    graph = single(channels, out, size, pads=pads, batch=batch, bias=batch == 1)
    options = {**IN_STEPS, "device": device, "winograd": tiles}
    assert kernels(graph, **options) == IN_TILES
    assert_runs_like_reference(graph, **options, fetch=fetch)


@GL
@pytest.mark.parametrize("tiles", NAMES)
@SHAPES
def test_one_line_of_a_patch_runs_like_the_reference(
    channels, out, size, pads, batch, tiles, monkeypatch
):
    monkeypatch.setattr(winograd_expansion, "LINES", 1)
    graph = single(channels, out, size, pads=pads, batch=batch)
    placed, _, _ = compile_graph(graph, winograd=tiles, **IN_STEPS)
    patch = TILES_OF[tiles] + 2
    assert placed.nodes[0].choice.block == (1, patch)
    assert_runs_like_reference(graph, winograd=tiles, **IN_STEPS)


def test_transforms_compute_as_many_lines_as_registers_hold():
    blocks = {}
    for device in ("gles31-mobile", "adreno-6xx", "mali-valhall", "intel-gen12"):
        options = {**IN_STEPS, "device": device}
        patches, _, result = compile_graph(single(), winograd="4x4", **options)[0].nodes
        blocks[device] = patches.choice.block, result.choice.block
    assert blocks == {
        "gles31-mobile": ((1, 6), (4, 1)),
        "adreno-6xx": ((1, 12), (4, 4)),
        "mali-valhall": ((1, 6), (4, 1)),
        "intel-gen12": ((1, 6), (4, 2)),
    }


@GL
@pytest.mark.parametrize("fetch", ["texel", "image", "image-zero"])
@SHAPES
def test_tiles_in_place_run_like_the_reference(channels, out, size, pads, batch, fetch):
    graph = single(channels, out, size, pads=pads, batch=batch, bias=batch == 1)
    assert kernels(graph, winograd="2x2", **IN_PLACE) == ["WinogradConv"]
    assert_runs_like_reference(graph, winograd="2x2", fetch=fetch, **IN_PLACE)


@GL
@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap", "constant"])
@pytest.mark.parametrize("pads", [(2, 1, 0, 3), (0, 0, 0, 0)])
def test_every_padding_mode_runs_in_tiles_in_place(mode, pads):
    graph = single(5, 6, (6, 7), pads=pads, pad_mode=mode, pad_value=-0.75)
    assert kernels(graph, winograd="2x2", **IN_PLACE) == ["WinogradConv"]
    assert_runs_like_reference(graph, winograd="2x2", **IN_PLACE)


@GL
@pytest.mark.parametrize("planes", [1, 2, 4])
def test_dispatches_of_tiles_in_place_write_some_planes_each(planes):
    rng = np.random.default_rng(0)
    x = image(2, 6, 9, 10)
    before = pointwise("max(x0, 0) * x1 + 1", x, constant(rng.normal(size=(6, 1, 1))))
    y = conv(rng, before, 16, (3, 3), pads=(1, 1, 1, 1))
    w = constant(rng.normal(size=(16, 1, 1)))
    graph = graph_of(pointwise("tanh(x0 + x1) * x1", y, w), inputs=(x,))
    node, context = choosing(graph, **DESKTOP)
    target = context.target
    choice = Choice("compute", (2, 2), planes, "constants", "highp", winograd=2)
    alone = isolate(node, choice, target)
    dispatches = [p for p in lower(alone, target) if p.kernel == "winograd convolution"]
    assert [len(p.layers) for p in dispatches] == [planes] * (2 * 4 // planes)
    assert len({structural_key(p.program) for p in dispatches}) == 4 // planes
    work = context.kernels.work(node, choice)
    assert [w.passes for w in work] == [len(dispatches)]
    assert [w.programs for w in work] == [4 // planes]
    assert sum(p.invocations for p in dispatches) == work[0].invocations


@GL
@pytest.mark.parametrize("channels", [8, 20])
def test_tiles_of_a_draw_are_summed_by_plane_where_patches_exceed_the_registers(channels):
    graph = single(channels, 5, (7, 6))
    few = {"winograd": "2x2", "stage": "fragment", "weights": "constants", "device": "amd-rdna"}
    files = assert_runs_like_reference(graph, **few)
    (tiles, *_) = files.shaders.values()
    assert ("vec4 m00_0" in tiles) == (channels == 20)
    files = assert_runs_like_reference(graph, **{**few, "device": "llvmpipe"})
    assert "vec4 m00_0" not in "".join(files.shaders.values())


@GL
@pytest.mark.parametrize("fetch", ["texel", "sample"])
@SHAPES
@pytest.mark.parametrize("device", [FOUR_TARGETS, EIGHT_TARGETS], ids=["four", "eight"])
def test_tiles_of_a_draw_run_like_the_reference(channels, out, size, pads, batch, fetch, device):
    graph = single(channels, out, size, pads=pads, batch=batch, bias=batch == 1)
    options = {"winograd": "2x2", "fetch": fetch, "weights": "constants", **device}
    assert kernels(graph, **options)[0] == "WinogradTiles"
    files = assert_runs_like_reference(graph, **options)
    planes, targets = -(-out // 4), 4 if device is FOUR_TARGETS else 8
    draws = files.schedule["passes"]
    in_tiles = ["Winograd" in files.shaders[p["shader"]] for p in draws]
    assert sum(in_tiles) == len(draws) - -(-planes // targets) * batch
    assert max(len(p["writes"]) for p in draws) <= targets


@GL
@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap", "constant"])
@pytest.mark.parametrize("pads", [(2, 1, 0, 3), (0, 0, 0, 0)])
def test_every_padding_mode_runs_in_tiles_of_a_draw(mode, pads):
    graph = single(5, 6, (6, 7), pads=pads, pad_mode=mode, pad_value=-0.75)
    assert kernels(graph, winograd="2x2", **AT_ONCE)[0] == "WinogradTiles"
    assert_runs_like_reference(graph, winograd="2x2", **AT_ONCE)


@GL
def test_formulas_go_with_tiles_of_a_draw():
    rng = np.random.default_rng(0)
    x = image(1, 6, 9, 10)
    before = pointwise("max(x0, 0) * x1 + 1", x, constant(rng.normal(size=(6, 1, 1))))
    y = conv(rng, before, 6, (3, 3), pads=(1, 1, 1, 1))
    y = pointwise("tanh(x0 + x1) * x2", y, x, constant(rng.normal(size=(6, 1, 1))))
    graph = graph_of(y, inputs=(x,))
    assert kernels(graph, winograd="2x2", **AT_ONCE) == IN_DRAWS
    assert_runs_like_reference(graph, winograd="2x2", **AT_ONCE)


@GL
@pytest.mark.parametrize("size", [(8, 10), (7, 9)])
def test_a_pixel_shuffle_reads_tiles_of_a_draw_where_they_lie(size):
    rng = np.random.default_rng(0)
    x = image(1, 6, *size)
    y = apply(DepthToSpace((2, 2), "dcr"), conv(rng, x, 4, (3, 3), pads=(1, 1, 1, 1)))
    graph = graph_of(y, inputs=(x,))
    assert kernels(graph, winograd="2x2", **AT_ONCE) == ["WinogradTiles", "DepthToSpace"]
    assert_runs_like_reference(graph, winograd="2x2", **AT_ONCE)


@GL
@pytest.mark.parametrize(
    ("targets", "weights", "fetch"),
    [(2, "texture", "sample"), (4, "texture", "texel"), (6, "ubo", "texel"), (8, "ssbo", "sample")],
)
@pytest.mark.parametrize("tiles", NAMES)
@SHAPES
def test_steps_in_draws_run_like_the_reference(
    channels, out, size, pads, batch, targets, tiles, weights, fetch
):
    graph = single(channels, out, size, pads=pads, batch=batch, bias=batch == 1)
    options = {"winograd": tiles, "weights": weights, "fetch": fetch, "mrt": targets}
    assert kernels(graph, **options, **EIGHT_TARGETS) == IN_STRIPS
    files = assert_runs_like_reference(graph, **options, **EIGHT_TARGETS)
    assert max(len(p["writes"]) for p in files.schedule["passes"]) <= targets


@GL
@pytest.mark.parametrize("tiles", NAMES)
@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap", "constant"])
@pytest.mark.parametrize("pads", [(2, 1, 0, 3), (0, 0, 0, 0)])
def test_every_padding_mode_runs_in_steps_of_draws(mode, pads, tiles):
    graph = single(5, 6, (6, 7), pads=pads, pad_mode=mode, pad_value=-0.75)
    assert kernels(graph, winograd=tiles, **IN_LOOPS) == IN_STRIPS
    assert_runs_like_reference(graph, winograd=tiles, **IN_LOOPS)


@GL
def test_formulas_go_with_steps_in_draws():
    rng = np.random.default_rng(0)
    x = image(1, 6, 9, 10)
    before = pointwise("max(x0, 0) * x1 + 1", x, constant(rng.normal(size=(6, 1, 1))))
    y = conv(rng, before, 6, (3, 3), pads=(1, 1, 1, 1))
    y = pointwise("tanh(x0 + x1) * x2", y, x, constant(rng.normal(size=(6, 1, 1))))
    graph = graph_of(y, inputs=(x,))
    assert kernels(graph, winograd="4x4", **IN_LOOPS) == IN_STRIPS
    assert_runs_like_reference(graph, winograd="4x4", **IN_LOOPS)


@GL
@pytest.mark.parametrize("tiles", NAMES)
@pytest.mark.parametrize("options", [IN_LOOPS, IN_STEPS, IN_PLACE, AT_ONCE])
def test_formulas_behind_tiles_broadcast_one_channel_over_more(options, tiles):
    rng = np.random.default_rng(0)
    x = image(1, 6, 9, 10)
    y = conv(rng, x, 1, (3, 3), pads=(1, 1, 1, 1))
    y = pointwise("tanh(x0 * x1)", y, constant(rng.normal(size=(3, 1, 1))))
    graph = graph_of(y, inputs=(x,))
    assert "Pointwise" not in kernels(graph, winograd=tiles, **options)
    assert_runs_like_reference(graph, winograd=tiles, **options)


@GL
@pytest.mark.parametrize("tiles", NAMES)
@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap", "constant"])
@pytest.mark.parametrize("pads", [(2, 1, 0, 3), (0, 0, 0, 0)])
@REGISTERS
def test_every_padding_mode_runs_in_tiles(mode, pads, tiles, device):
    graph = single(5, 6, (6, 7), pads=pads, pad_mode=mode, pad_value=-0.75)
    options = {**IN_STEPS, "device": device, "winograd": tiles}
    assert kernels(graph, **options) == IN_TILES
    assert_runs_like_reference(graph, **options)


@GL
@pytest.mark.parametrize("tiles", NAMES)
def test_formulas_before_and_behind_a_convolution_stay_fused(tiles):
    rng = np.random.default_rng(0)
    x = image(1, 6, 9, 10)
    before = pointwise(
        "relu(x0 * x1 + 1)", conv(rng, x, 6, (1, 1)), constant(rng.normal(size=(6, 1, 1)))
    )
    y = conv(rng, before, 6, (3, 3), pads=(1, 1, 1, 1))
    y = pointwise("tanh(x0 + x1) * x2", y, x, constant(rng.normal(size=(6, 1, 1))))
    graph = graph_of(y, inputs=(x,))
    assert kernels(graph, winograd=tiles, **IN_STEPS) == ["Conv", *IN_TILES]
    assert_runs_like_reference(graph, winograd=tiles, **IN_STEPS)
    in_place = {**DESKTOP, "winograd": "2x2", "weights": "constants"}
    assert kernels(graph, **in_place) == ["Conv", "WinogradConv"]
    assert_runs_like_reference(graph, **in_place)
    y = conv(rng, pointwise("max(x0, 0) * 2 + 1", x), 6, (3, 3), pads=(1, 1, 1, 1))
    graph = graph_of(y, inputs=(x,))
    assert kernels(graph, winograd=tiles, **IN_STEPS) == IN_TILES
    assert_runs_like_reference(graph, winograd=tiles, **IN_STEPS)


@GL
@pytest.mark.parametrize("tiles", NAMES)
def test_parts_of_a_concatenation_are_written_in_their_place_by_tiles(tiles):
    rng = np.random.default_rng(0)
    x = image(1, 4, 9, 10)
    one, other = (conv(rng, x, n, (3, 3), f"c{n}", pads=(1, 1, 1, 1)) for n in (8, 5))
    graph = graph_of(conv(rng, apply(Concat(1), one, other), 3, (3, 3)), inputs=(x,))
    files = assert_runs_like_reference(graph, winograd=tiles, **IN_STEPS)
    assert len(files.schedule["passes"]) == 9
    assert_runs_like_reference(graph, winograd="2x2", **IN_PLACE)


@GL
@pytest.mark.parametrize("size", [(8, 10), (7, 9)])
def test_planes_cut_from_tiles_of_a_draw_are_read_in_place(size):
    rng = np.random.default_rng(0)
    x = image(1, 6, *size)
    y = conv(rng, x, 24, (3, 3), "c0", pads=(1, 1, 1, 1))
    y = apply(Slice((0, 12, 0, 0), (1, 1, 1, 1), (1, 12, *size)), y)
    graph = graph_of(conv(rng, y, 2, (3, 3), "c1", pads=(1, 1, 1, 1)), inputs=(x,))
    placed, _, _ = compile_graph(graph, winograd="2x2", **AT_ONCE)
    assert sum(n.choice.alias for n in placed.nodes) == 1
    assert_runs_like_reference(graph, winograd="2x2", **AT_ONCE)


@GL
@pytest.mark.parametrize(("tiles", "width", "rows"), [("2x2", 128, 3), ("4x4", 256, 3)])
def test_more_tiles_than_a_texture_is_wide_are_folded(tmp_path, tiles, width, rows):
    profile = DEVICES["gles32-desktop"]
    limits = asdict(replace(profile.limits, texture_size=width))
    path = tmp_path / "narrow.json"
    path.write_text(json.dumps({"limits": limits, "glsl": 310, "fetch": "texel"}))
    size = (40, 38) if tiles == "2x2" else (90, 91)
    graph = single(3, 4, size)
    placed, _, _ = compile_graph(graph, device=str(path), winograd=tiles)
    patches = placed.nodes[0]
    op = patches.op
    assert isinstance(op, WinogradPatches)
    assert patches.result.shape[2] == rows * op.patch**2
    assert_runs_like_reference(graph, device=str(path), winograd=tiles)


@pytest.mark.parametrize(
    ("graph", "options"),
    [
        (single(strides=(2, 1)), DESKTOP),
        (single(dilations=(1, 2)), DESKTOP),
        (single(groups=2), DESKTOP),
        (single(kernel=(1, 3)), DESKTOP),
        (single(kernel=(5, 5)), DESKTOP),
        (single(), {"device": "gles30", "mrt": 1}),
        (single(), {"device": "gles30", "mrt": 2, "weights": "constants"}),
        (single(batch=65), {"device": "gles30", "weights": "texture"}),  # too many layers
        (single(), {**DESKTOP, "precision": "mediump"}),
        (single(), {**DESKTOP, "precision": "auto", "input_range": (0.0, 1.0)}),
        (single(), {**DESKTOP, "weight_format": "int8"}),
        (single(), {**DESKTOP, "weight_format": "float16"}),
        (single(), {**DESKTOP, "textures": "2d"}),
        (single(), {"device": "llvmpipe", "weights": "constants", "stage": "compute"}),
        (single(), {**DESKTOP, "zero_guard": 0.01}),
        (single(out=2), DESKTOP),  # no image has two components
    ],
)
@pytest.mark.parametrize("tiles", NAMES)
def test_what_tiles_cannot_do_is_computed_directly(graph, options, tiles):
    assert not set(kernels(graph, winograd=tiles, **options)) & EVERY_STEP


@pytest.mark.parametrize("options", [IN_PLACE, {**IN_PLACE, "device": "llvmpipe"}])
def test_no_tiles_of_4x4_are_computed_in_place(options):
    assert "WinogradConv" not in kernels(single(), winograd="4x4", **options)


def test_a_draw_has_no_targets_for_tiles_of_4x4():
    assert kernels(single(), winograd="4x4", **AT_ONCE) == ["Conv"]


def test_weights_that_would_overflow_are_computed_directly():
    x = image(1, 1, 5, 5)
    y = apply(Conv(), x, constant(np.full((3, 1, 3, 3), 3e37)), layer="c")
    assert kernels(graph_of(y, inputs=(x,)), winograd="4x4", **DESKTOP) == ["Conv"]


@pytest.mark.parametrize("value", [1e38, float("-inf")])
@pytest.mark.parametrize("device", ["gles30", "gles32-desktop"])
def test_padding_that_would_overflow_is_computed_directly(value, device):
    """The sums of a tile with such padding are not finite where the layer's results are."""
    graph = single(pad_value=value)
    options = {"device": device, "weights": "texture"}
    assert kernels(graph, winograd="4x4", **options) == ["Conv"]


def choosing(graph: Graph, **options: Any) -> tuple[Node, Context]:
    """Return the convolution of a graph as it is before kernels are chosen."""
    context = Context(KernelFamilies(Options(**options).target()))
    graph = simplify(graph, context)
    for step in PLACEMENT[: PLACEMENT.index(choose_kernels)]:
        graph = step(graph, context)
    return graph.nodes[-1], context


def test_auto_takes_tiles_where_they_are_predicted_to_be_clearly_better():
    large = single(64, 64, (56, 56))
    assert kernels(large, device="llvmpipe") == IN_TILES
    assert kernels(large, device="llvmpipe", winograd="off") == ["Conv"]
    assert kernels(single(64, 3, (128, 128)), device="llvmpipe") == ["Conv"]
    few = single(16, 16, (256, 256))  # tiles in draws were measured 1.1 times as slow
    assert kernels(few, device="llvmpipe") == ["Conv"]
    assert kernels(few, device="llvmpipe", stage="compute") == ["Conv"]


def test_auto_takes_tiles_of_a_draw_where_processors_draw():
    few = single(16, 4, (360, 640))
    assert kernels(few, device="swiftshader")[0] == "WinogradTiles"
    assert kernels(few, device="gles30") == ["Conv"]
    assert kernels(few, device="swiftshader", winograd="off") == ["Conv"]


def test_auto_takes_no_tiles_of_a_draw_that_are_as_slow():
    assert kernels(single(16, 16, (360, 640)), device="llvmpipe") == ["Conv"]
    assert kernels(single(16, 16, (360, 640)), device="swiftshader") == ["Conv"]


@pytest.mark.parametrize("device", ["amd-rdna", "nvidia"])
def test_desktop_gpus_take_tiles_in_place_for_few_channels(device):
    few = single(16, 16, (360, 640))
    assert kernels(few, device=device) == ["WinogradConv"]
    assert kernels(few, device=device, winograd="off") == ["Conv"]


@pytest.mark.parametrize("device", ["gles31-min", "gles31-mobile"])
def test_builds_for_many_gpus_take_tiles_where_the_worst_of_them_gains(device):
    assert kernels(single(64, 64, (56, 56)), device=device) == IN_TILES
    assert kernels(single(4, 4, (56, 56)), device=device) == ["Conv"]


def test_with_default_costs_only_a_measurement_takes_tiles(monkeypatch):
    unpriced = replace(DEVICES["gles32-desktop"], costs=(UNMEASURED,))
    monkeypatch.setitem(DEVICES, "default-costs", unpriced)
    graph = single(64, 64, (56, 56))
    assert kernels(graph, device="default-costs") == ["Conv"]
    node, context = choosing(graph, device="default-costs")
    times = {
        c: 1.0 if c.winograd == 4 else 2.0 for c in KernelFamilies(context.target).choices(node)
    }
    context.measured = {tuning_key(node, context.target): times}
    assert rank(node, context).costs[0][1].winograd == 4


@pytest.mark.parametrize("tile", TILES)
def test_a_node_alone_is_measured_with_all_its_steps(tile):
    node, context = choosing(single(), **DESKTOP)
    choice = next(c for c in KernelFamilies(context.target).choices(node) if c.winograd == tile)
    graph = isolate(node, choice, context.target)
    names = [type(getattr(n.op, "kernel", n.op)).__name__ for n in graph.nodes]
    assert names == IN_TILES
    assert all(n.choice != Choice() for n in graph.nodes)


@pytest.mark.parametrize("tile", TILES)
def test_every_candidate_for_products_can_be_lowered(tile):
    """A draw with constants was a candidate: tune stopped with an IndexError."""
    node, context = choosing(single(16, 64, (24, 24)), **DESKTOP)
    families, target = KernelFamilies(context.target), context.target
    choice = next(c for c in families.choices(node) if c.winograd == tile)
    nodes = isolate(node, choice, target).nodes
    products = next(n for n in nodes if isinstance(parts(n).kernel, WinogradProducts))
    every = families.choices(replace(products, choice=products.choice.undecided))
    assert {c.stage for c in every} == {"compute"}
    for candidate in every:
        lower(isolate(products, candidate, target), target)


@GL
def test_errors_of_4x4_stay_within_what_32_bits_promise():
    rng = np.random.default_rng(0)
    x = image(1, 64, 16, 16)
    y = x
    for k in range(6):
        y = pointwise("relu(x0)", conv(rng, y, 64, (3, 3), f"c{k}", pads=(1, 1, 1, 1)))
    assert_runs_like_reference(graph_of(y, inputs=(x,)), winograd="4x4", **DESKTOP)


def test_builds_for_unknown_gpus_take_tiles_of_4x4_that_fit_every_gpu():
    graph = single(64, 64, (64, 64))
    placed, _, _ = compile_graph(graph, device="gles31-mobile")
    assert kernels(graph, device="gles31-mobile") == IN_TILES
    patches, products, _ = placed.nodes
    assert patches.op.tile == 4
    choice = products.choice
    assert (choice.block, choice.planes, choice.weights) == ((2, 1), 2, "texture")
