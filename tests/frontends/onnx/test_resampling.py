"""ONNX operators that resample, against ONNX Runtime and the onnx package's reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime import InferenceSession
from support.onnx_models import X, compare, model, node, normal, refusal, small, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.dynamic_sizes import DynamicInputs
from shadergen.compiler.frontends.onnx import load_onnx_proto
from shadergen.ir.graph import Graph
from shadergen.ir.ops import Conv, DepthToSpace, Resample, ResizeLinear
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path

MODES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners"]
SIZES = [(14, 12), (21, 18), (4, 3), (10, 7), (1, 1), (7, 5), (16, 31)]
SCALES = [(2, 2), (3, 4), (0.5, 0.5), (1.5, 2.5), (0.6, 0.7), (2, 1), (1.1, 0.9), (7 / 3, 1 / 3)]


def f32(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def agree_with_onnx(nodes: Any, inits: dict[str, Any], opset: int, **inputs: np.ndarray) -> Graph:
    """Assert that the imported graph and the reference of the onnx package agree."""
    proto = model(nodes, inits, {k: v.shape for k, v in inputs.items()}, opset)
    graph = load_onnx_proto(proto, Request())
    theirs = ReferenceEvaluator(proto).run(None, inputs)[0]
    np.testing.assert_allclose(evaluate_graph(graph, inputs)["y"], theirs, atol=1e-5, rtol=1e-5)
    return graph


@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_to_sizes_agrees(tmp_path: Path, coordinates: str, mode: str) -> None:
    for size in SIZES:
        n = node("Resize", "x", "", "", "s", coordinate_transformation_mode=coordinates, mode=mode)
        compare(tmp_path, n, {"s": np.array((*X[:2], *size))}, 19)


@pytest.mark.parametrize("coordinates", MODES[:4])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_by_scales_agrees(tmp_path: Path, coordinates: str, mode: str) -> None:
    for scale in SCALES:
        n = node("Resize", "x", "", "s", coordinate_transformation_mode=coordinates, mode=mode)
        compare(tmp_path, n, {"s": f32(1, 1, *scale)}, 19)


@pytest.mark.parametrize("coordinates", MODES[:4])
@pytest.mark.parametrize("scale", [(2, 2), (3, 2), (4, 5)])
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_in_user_shaders_a_cubic_resize_by_whole_factors_is_a_convolution(
    channels: int, scale: tuple[int, int], coordinates: str
) -> None:
    n = node("Resize", "x", "", "s", coordinate_transformation_mode=coordinates, mode="cubic")
    shape = (1, channels, 6, 7)
    proto = model(n, {"s": f32(1, 1, *scale)}, {"x": shape}, 19)
    graph = load_onnx_proto(proto, Request(dynamic=DynamicInputs(4096), user_shader=True))
    assert [type(n.op) for n in graph.nodes] == [Conv, DepthToSpace]
    x = normal(*shape)
    theirs = InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(evaluate_graph(graph, {"x": x})["y"], theirs, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("drop", [0, 1])
@pytest.mark.parametrize("a", [-0.75, -0.5])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
def test_antialiasing_agrees(
    tmp_path: Path, mode: str, drop: int, a: float, coordinates: str
) -> None:
    attributes = {"mode": mode, "cubic_coeff_a": a, "antialias": 1}
    attributes["coordinate_transformation_mode"] = coordinates
    for scale in SCALES:
        n = node("Resize", "x", "", "s", exclude_outside=drop, **attributes)
        agree_with_onnx(n, {"s": f32(1, 1, *scale)}, 18, x=normal(*X))


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners"])
def test_excluding_what_lies_outside_agrees(mode: str, coordinates: str) -> None:
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    n = node("Resize", "x", "", "", "s", exclude_outside=1, **attributes)
    for size in SIZES[:4]:
        agree_with_onnx(n, {"s": np.array((*X[:2], *size))}, 13, x=normal(*X))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("end", [0.9, 1.3])
@pytest.mark.parametrize("size", [(9, 5), (7, 6), (1, 1)], ids=str)
def test_a_region_is_cropped_and_resized(mode: str, end: float, size: tuple[int, int]) -> None:
    attributes = {"mode": mode, "extrapolation_value": 7.5, "axes": [3, 2]}
    attributes["coordinate_transformation_mode"] = "tf_crop_and_resize"
    n = node("Resize", "x", "roi", "", "s", **attributes)
    inits = {"roi": f32(0.13, -0.2, 0.71, end), "s": np.array(size)}
    agree_with_onnx(n, inits, 18, x=normal(*X))


def test_a_region_may_be_turned_round(tmp_path: Path) -> None:
    attributes = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    n = node("Resize", "x", "roi", "", "s", **attributes)
    inits = {"roi": f32(0, 0, 1, 0.9, 1, 1, 0, 0.2), "s": np.array(X)}
    agree_with_onnx(n, inits, 13, x=normal(*X))


@pytest.mark.parametrize("shape", [(9,), (3, 5), (2, 3, 4), (1, 2, 3, 4, 5)], ids=str)
def test_any_rank_and_any_axes_are_resized(shape: tuple[int, ...]) -> None:
    n = node("Resize", "x", "", "s", mode="linear")
    graph = agree_with_onnx(n, {"s": f32(*([1.5] * len(shape)))}, 13, x=normal(*shape))
    kinds = {type(node.op) for node in graph.nodes}
    assert kinds == {ResizeLinear}


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_the_aspect_ratio_is_kept(tmp_path: Path, policy: str) -> None:
    attributes = {"axes": [2, 3], "keep_aspect_ratio_policy": policy, "mode": "linear"}
    for size in SIZES:
        compare(tmp_path, node("Resize", "x", "", "", "s", **attributes), {"s": np.array(size)}, 18)


def test_upsampling_of_every_version_agrees(tmp_path: Path) -> None:
    scales = [1.0, 1.0, 2.0, 1.5]
    for mode in ("nearest", "linear"):
        compare(tmp_path, node("Upsample", scales=scales, mode=mode), opset=7)
        for op, opset in (("Upsample", 9), ("Resize", 10)):
            compare(tmp_path, node(op, "x", "s", mode=mode), {"s": f32(*scales)}, opset)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_the_first_upsampling_means_the_same(mode: str) -> None:
    n = node("Upsample", height_scale=2.0, width_scale=1.5, mode=mode)
    first = load_onnx_proto(model(n, {}, {"x": X}, 1), Request())
    n = node("Upsample", scales=[1.0, 1.0, 2.0, 1.5], mode=mode.removeprefix("bi"))
    later = load_onnx_proto(model(n, {}, {"x": X}, 7), Request())
    x = normal(*X)
    np.testing.assert_array_equal(
        evaluate_graph(first, {"x": x})["y"], evaluate_graph(later, {"x": x})["y"]
    )


def test_positions_too_fine_for_steps_come_from_a_table() -> None:
    n = node("Resize", "x", "", "s", mode="linear")
    graph = agree_with_onnx(n, {"s": f32(1, 1.2345678)}, 13, x=normal(2, 300))
    assert {type(node.op) for node in graph.nodes} == {Resample}


def test_picking_where_rounding_shows_comes_from_a_table(tmp_path: Path) -> None:
    n = node("Resize", "x", "", "s", nearest_mode="floor")
    compare(tmp_path, n, {"s": f32(1, 0.6)}, 13, shape=(2, 20))


def test_a_length_that_is_not_agreed_on_is_refused(tmp_path: Path) -> None:
    n = node("Resize", "x", "", "s", mode="linear", coordinate_transformation_mode="align_corners")
    assert refusal(write(tmp_path, small(n, {"s": f32(1, 1, 0.7, 2)}))) == (
        "error[SG0202]: resizing 6 elements by 0.7 in mode align_corners is not implemented\n"
        "  --> model.onnx: node y (Resize), inputs 1x3x6x5, 4\n"
        "  = why: the ONNX standard computes positions for an output size of 4.2, "
        "ONNX Runtime for 4\n"
        "  = help: export the model with sizes instead of scales"
    )


GRID = np.random.default_rng(5).uniform(-1.7, 1.7, (2, 5, 4, 2)).astype(np.float32)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_grid_sample_agrees(tmp_path: Path, mode: str, padding: str, align: int) -> None:
    attributes = {"padding_mode": padding, "align_corners": align}
    feeds = {"g": GRID}
    compare(tmp_path, node("GridSample", "x", "g", mode=mode, **attributes), opset=20, feeds=feeds)
    old = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    compare(tmp_path, node("GridSample", "x", "g", mode=old, **attributes), opset=16, feeds=feeds)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_a_volume_is_sampled(tmp_path: Path, mode: str) -> None:
    grid = np.random.default_rng(5).uniform(-1.2, 1.2, (1, 3, 4, 2, 3)).astype(np.float32)
    n = node("GridSample", "x", "g", mode=mode)
    compare(tmp_path, n, opset=20, shape=(1, 2, 3, 4, 5), feeds={"g": grid})


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 4, 5, 6)], ids=str)
def test_affine_grid_agrees(tmp_path: Path, align: int, size: tuple[int, ...]) -> None:
    r = len(size) - 2
    n = node("AffineGrid", "x", "s", align_corners=align)
    compare(tmp_path, n, {"s": np.array(size)}, 20, shape=(2, r, r + 1))


ROIS = f32(0, 0, 5, 6, 1, 2, 4, 3.5, -2, -1, 3, 9, 2, 2, 2, 2).reshape(4, 4)


@pytest.mark.parametrize("opset", [10, 16])
@pytest.mark.parametrize("samples", [0, 2])
def test_roi_align_agrees(tmp_path: Path, opset: int, samples: int) -> None:
    attributes = {"output_height": 3, "output_width": 2, "sampling_ratio": samples}
    n = node("RoiAlign", "x", "r", "b", spatial_scale=0.75, **attributes)
    compare(tmp_path, n, {"r": ROIS, "b": np.array([0, 1, 1, 0])}, opset)


def test_computed_regions_agree() -> None:
    n = node("RoiAlign", "x", "r", "b", output_height=3, output_width=3, sampling_ratio=2)
    agree_with_onnx(n, {"b": np.array([0, 1, 1, 0])}, 16, x=normal(*X), r=ROIS)


def test_samples_that_depend_on_data_are_refused(tmp_path: Path) -> None:
    proto = model(node("RoiAlign", "x", "r", "b"), {"b": np.array([0])}, {"x": X, "r": (1, 4)}, 16)
    assert "sampling_ratio=0 of RoiAlign is not implemented for computed" in refusal(
        write(tmp_path, proto)
    )
    proto.graph.initializer.append(numpy_helper.from_array(f32(0, 0, 1, 1).reshape(1, 4), "r"))
    load_onnx_proto(proto, Request())
