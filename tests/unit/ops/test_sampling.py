"""Grids and regions of interest: nests against references, and these against PyTorch and ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, check_nest, graph_of, image

from shadergen.errors import ShadergenError
from shadergen.ir.graph import apply, constant
from shadergen.ir.ops import AffineGrid, GridSample, RoiAlign
from shadergen.ir.types import TensorType

RNG = np.random.default_rng(3)
MODES = ("nearest", "linear", "cubic")
PADDINGS = ("zeros", "border", "reflection")
MAPS = {
    "line": ((2, 3, 5), (2, 7, 1)),
    "plane": ((2, 3, 5, 4), (2, 6, 9, 2)),
    "volume": ((1, 2, 3, 4, 2), (1, 3, 2, 5, 3)),
    "thin": ((1, 2, 1, 3), (1, 4, 5, 2)),
}


def near(*shape: int) -> np.ndarray:
    """Return positions of which many lie outside, and none where rounding decides."""
    grid = RNG.uniform(-2.5, 2.5, shape).astype(np.float32)
    grid.flat[:6] = [-1, 1, 0.2, 40, -1e6, 3e9]
    return grid


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("kind", MAPS)
def test_a_grid_nest_agrees_with_its_reference(
    mode: Any, padding: Any, align: bool, kind: str
) -> None:
    x, grid = MAPS[kind]
    op = GridSample(mode, padding, align)
    check_nest(op, RNG.standard_normal(x), near(*grid), tolerance=1e-6)


@pytest.mark.parametrize(
    ("kind", "mode"), [*(("plane", m) for m in MODES), *(("volume", m) for m in MODES[:2])]
)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("align", [False, True])
def test_a_grid_agrees_with_pytorch(mode: Any, padding: Any, align: bool, kind: str) -> None:
    torch = pytest.importorskip("torch")
    shape, grid_shape = MAPS[kind]
    x = RNG.standard_normal(shape)
    grid = RNG.uniform(-2.5, 2.5, grid_shape)
    names = {"linear": "bilinear", "cubic": "bicubic"}
    theirs = torch.nn.functional.grid_sample(
        torch.tensor(x), torch.tensor(grid), names.get(mode, mode), padding, align
    )
    ours = GridSample(mode, padding, align).reference(x, grid)
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_positions_are_not_computed_in_16_bits(mode: Any) -> None:
    types = TensorType((1, 2, 5, 4)), TensorType((1, 6, 9, 2))
    assert GridSample(mode).nest(*types).counts()


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("sizes", [(4, 5), (1, 3), (2, 3, 4), (2, 1, 1)], ids=str)
def test_affine_grids_agree_with_pytorch(align: bool, sizes: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    theta = RNG.standard_normal((3, len(sizes), len(sizes) + 1))
    ours = check_nest(AffineGrid(sizes, align), theta)
    theirs = torch.nn.functional.affine_grid(torch.tensor(theta), [3, 2, *sizes], align)
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-12)


ROIS = np.array(
    [
        [0, 0, 7, 5],
        [1.3, 2.1, 5.2, 4.9],
        [-4, -3, 3, 2],
        [6, 5, 14, 12],
        [2, 2, 2, 2],
        [20, 20, 24, 24],
    ],
    np.float32,
)
BATCH = np.array([0, 1, 1, 0, 1, 0], np.int64)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("half_pixel", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_a_region_nest_agrees_with_its_reference(mode: Any, half_pixel: bool, scale: float) -> None:
    x = RNG.standard_normal((2, 3, 6, 8))
    check_nest(RoiAlign((3, 2), (2, 3), scale, mode, half_pixel), x, ROIS, BATCH, tolerance=1e-6)
    counts = np.array([[1, 2], [2, 3], [0, 1], [2, 2], [1, 1], [2, 1]], np.int32)
    op = RoiAlign((3, 2), (2, 3), scale, mode, half_pixel)
    check_nest(op, x, ROIS, BATCH, counts, tolerance=1e-6)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("half_pixel", [False, True])
@pytest.mark.parametrize("samples", [0, 1, 3])
def test_regions_agree_with_onnx(mode: Any, half_pixel: bool, samples: int) -> None:
    reference = pytest.importorskip("onnx.reference")
    from onnx import helper

    n = helper.make_node(
        "RoiAlign",
        ["x", "r", "b"],
        ["y"],
        mode=mode,
        output_height=3,
        output_width=2,
        sampling_ratio=samples,
        spatial_scale=0.5,
        coordinate_transformation_mode="half_pixel" if half_pixel else "output_half_pixel",
    )
    infos = [helper.make_tensor_value_info(k, 7 if k == "b" else 1, None) for k in "xrby"]
    graph = helper.make_graph([n], "g", infos[:3], infos[3:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)])
    x = RNG.standard_normal((2, 3, 6, 8)).astype(np.float32)
    feeds = {"x": x, "r": ROIS, "b": BATCH}
    theirs = reference.ReferenceEvaluator(proto).run(None, feeds)[0]
    if samples:
        op = RoiAlign((3, 2), (samples, samples), 0.5, mode, half_pixel)
        ours = op.reference(x, ROIS, BATCH)
    else:
        extent = (ROIS[:, [3, 2]] - ROIS[:, [1, 0]]) * 0.5
        counts = np.ceil((extent if half_pixel else np.maximum(extent, 1)) / [3, 2]).astype(int)
        most = tuple(int(c) for c in counts.max(0))
        op = RoiAlign((3, 2), most, 0.5, mode, half_pixel)  # type: ignore[arg-type]
        ours = op.reference(x, ROIS, BATCH, counts)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


REFUSED = {
    "a grid of another batch": (GridSample(), ((2, 3, 4, 4), (1, 4, 4, 2))),
    "a grid of another rank": (GridSample(), ((2, 3, 4, 4), (2, 4, 4, 3))),
    "a grid over a vector": (GridSample(), ((2, 3), (2, 3))),
    "a matrix of another size": (AffineGrid((3, 4)), ((2, 3, 4),)),
    "regions without a batch entry": (RoiAlign((2, 2), (1, 1)), ((1, 2, 4, 4), (3, 4), (2,))),
}


@pytest.mark.parametrize("what", REFUSED)
def test_operands_that_do_not_fit_are_refused(what: str) -> None:
    op, shapes = REFUSED[what]
    with pytest.raises(ShadergenError) as caught:
        op.infer(*map(TensorType, shapes))
    assert caught.value.code == "SG0205"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
def test_grids_run_on_gl(mode: Any, padding: Any) -> None:
    x = image(1, 5, 4, 6)
    grid = constant(RNG.uniform(-1.4, 1.4, (1, 3, 7, 2)))
    y = apply(GridSample(mode, padding), x, grid, layer="y")
    assert_runs_like_reference(graph_of(y, inputs=(x,)))


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions_run_on_gl(mode: Any) -> None:
    x = image(2, 5, 6, 8)
    y = apply(RoiAlign((3, 2), (2, 3), 0.7, mode), x, constant(ROIS), constant(BATCH))
    assert_runs_like_reference(graph_of(y, inputs=(x,)))
