"""ONNX operators that move elements, and constants, against ONNX Runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper
from support.onnx_models import X, compare, model, node, normal

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path

PADS = [[0, 0, 1, 2, 0, 0, 3, 0], [0, 1, 0, 0, 0, 2, 0, 4], [0, 0, -1, 2, 0, 0, 1, -2]]


PAD_CASES = [
    (opset, mode)
    for opset in (7, 10, 11, 13, 18, 19, 21)
    for mode in ("constant", "reflect", "edge", "wrap")[: 3 if opset < 19 else 4]
]


@pytest.mark.parametrize(("opset", "mode"), PAD_CASES)
@pytest.mark.parametrize("pads", PADS, ids=str)
def test_pad_agrees(tmp_path: Path, mode: str, pads: list[int], opset: int) -> None:
    if opset < 11:
        compare(tmp_path, node("Pad", pads=pads, mode=mode, value=0.25), opset=opset)
    else:
        inits = {"p": np.array(pads), "c": np.float32(0.25)}
        compare(tmp_path, node("Pad", "x", "p", "c", mode=mode), inits, opset)


def test_pad_of_chosen_axes_agrees(tmp_path: Path) -> None:
    inits = {"p": np.array([1, 2, 3, 0]), "a": np.array([-1, 2])}
    compare(tmp_path, node("Pad", "x", "p", "", "a"), inits, 18)


MODES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "asymmetric",
    "align_corners",
    "tf_half_pixel_for_nn",
]
SIZES = [(14, 12), (21, 18), (4, 3), (10, 7), (1, 1), (7, 5), (16, 31)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_resize_to_sizes_agrees(tmp_path: Path, mode: str, rounding: str) -> None:
    opset = 19 if mode == "half_pixel_symmetric" else 11
    for size in SIZES:
        inits = {"roi": np.zeros(0, np.float32), "e": np.zeros(0, np.float32)}
        attributes = {"coordinate_transformation_mode": mode, "nearest_mode": rounding}
        n = node("Resize", "x", "roi", "e" if opset < 13 else "", "s", **attributes)
        compare(tmp_path, n, {**inits, "s": np.array((*X[:2], *size))}, opset)


SCALES = [(2, 2), (3, 4), (0.5, 0.5), (1.5, 2.5), (0.6, 0.7), (2, 1), (1.1, 0.9), (7 / 3, 1 / 3)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_resize_by_scales_agrees(tmp_path: Path, mode: str, rounding: str) -> None:
    opset = 19 if mode == "half_pixel_symmetric" else 13
    for scale in SCALES:
        scales = np.array([1, 1, *scale], np.float32)
        attributes = {"coordinate_transformation_mode": mode, "nearest_mode": rounding}
        compare(tmp_path, node("Resize", "x", "", "s", **attributes), {"s": scales}, opset)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_resize_10_agrees(tmp_path: Path, scale: tuple[float, float]) -> None:
    compare(tmp_path, node("Resize", "x", "s"), {"s": np.array([1, 1, *scale], np.float32)}, 10)


@pytest.mark.parametrize("scale", [(2, 2), (3, 1), (1.5, 2.5)], ids=str)
def test_upsample_agrees(tmp_path: Path, scale: tuple[float, float]) -> None:
    scales = [1.0, 1.0, *scale]
    compare(tmp_path, node("Upsample", scales=scales, mode="nearest"), opset=7)
    compare(tmp_path, node("Upsample", "x", "s"), {"s": np.array(scales, np.float32)}, 9)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
@pytest.mark.parametrize("size", [(20, 9), (5, 11), (14, 12)], ids=str)
def test_resize_of_chosen_axes_agrees(tmp_path: Path, policy: str, size: tuple[int, int]) -> None:
    attributes = {"axes": [2, 3], "keep_aspect_ratio_policy": policy}
    compare(tmp_path, node("Resize", "x", "", "", "s", **attributes), {"s": np.array(size)}, 18)


@pytest.mark.parametrize("opset", [7, 11, 13])
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space_agrees(tmp_path: Path, opset: int, mode: str, block: int) -> None:
    attributes = {"mode": mode} if opset >= 11 else {}
    n = node("DepthToSpace", blocksize=block, **attributes)
    compare(tmp_path, n, opset=opset, shape=(2, 2 * block * block, 3, 4))


@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("batch", [1, 2])
def test_space_to_depth_agrees(tmp_path: Path, block: int, batch: int) -> None:
    n = node("SpaceToDepth", blocksize=block)
    compare(tmp_path, n, opset=13, shape=(batch, 3, 2 * block, 5 * block))


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -3])
@pytest.mark.parametrize("opset", [7, 11, 13])
def test_concat_agrees(tmp_path: Path, axis: int, opset: int) -> None:
    axis = axis % 4 if opset < 11 else axis
    compare(tmp_path, node("Concat", "x", "c", "x", axis=axis), {"c": normal(*X, seed=4)}, opset)


RESHAPES = [[2, 3, 42], [0, -1], [6, 7, 6], [-1, 1, 2, 0], [252]]


@pytest.mark.parametrize("shape", RESHAPES, ids=str)
def test_reshape_agrees(tmp_path: Path, shape: list[int]) -> None:
    compare(tmp_path, node("Reshape", "x", "s"), {"s": np.array(shape)}, 14)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, 4, -1, -4])
def test_flatten_agrees(tmp_path: Path, axis: int) -> None:
    compare(tmp_path, node("Flatten", axis=axis), opset=13)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("axes", [None, [1], [-1, 1]], ids=str)
def test_squeeze_and_unsqueeze_are_inverse(tmp_path: Path, opset: int, axes: Any) -> None:
    later = opset >= 13
    inits = {"a": np.array(axes)} if later and axes else {}
    attributes = {} if later or not axes else {"axes": axes}
    squeeze = node("Squeeze", "x", *inits, outputs=("m",), **attributes)
    compare(tmp_path, [squeeze, node("Relu", "m")], inits, opset, (3, 1, 5, 1))
    back = {"axes": [1, -1]} if not later else {}
    inits = {"a": np.array([1, -1])} if later else {}
    compare(tmp_path, node("Unsqueeze", "x", *inits, **back), inits, opset, (3, 5))


@pytest.mark.parametrize("perm", [None, [0, 2, 3, 1], [0, 3, 1, 2], [1, 0, 2, 3]], ids=str)
def test_transpose_agrees(tmp_path: Path, perm: Any) -> None:
    compare(tmp_path, node("Transpose", **({} if perm is None else {"perm": perm})), opset=13)


END = 2**63 - 1
SLICES = [
    ([1], [END], [2], [1]),
    ([0, -3], [5, -1], [2, 3], [2, 1]),
    ([-1], [-END], [3], [-2]),
    ([5, 1], [0, 9], [-2, 0], [-1, 1]),
]


@pytest.mark.parametrize("bounds", SLICES, ids=str)
def test_slice_agrees(tmp_path: Path, bounds: Any) -> None:
    inits = {k: np.array(v) for k, v in zip("seax", bounds, strict=True)}
    inits["t"] = inits.pop("x")
    compare(tmp_path, node("Slice", "x", *"seat"), inits, 13)
    if set(bounds[3]) == {1}:
        starts, ends, axes, _ = bounds
        compare(tmp_path, node("Slice", starts=starts, ends=ends, axes=axes), opset=9)


def test_split_agrees(tmp_path: Path) -> None:
    outputs = ("y", "z", "w")
    sizes = {"s": np.array([1, 4, 2])}
    compare(tmp_path, node("Split", "x", "s", outputs=outputs, axis=2), sizes, 13, outputs=outputs)
    n = node("Split", outputs=outputs, axis=-1, split=[1, 4, 1])
    compare(tmp_path, n, opset=11, outputs=outputs)
    n = node("Split", outputs=outputs, axis=2, num_outputs=3)
    compare(tmp_path, n, opset=18, outputs=outputs)


def test_the_size_of_a_tensor_is_known(tmp_path: Path) -> None:
    nodes = [
        node("Size", "x", outputs=("n",)),
        node("Cast", "n", outputs=("f",), to=TensorProto.FLOAT),
        node("Div", "x", "f"),
    ]
    compare(tmp_path, nodes, opset=13)


@pytest.mark.parametrize("attributes", [{}, {"alpha": 1.7}], ids=str)
def test_swish_is_its_definition(tmp_path: Path, attributes: dict[str, float]) -> None:
    """ONNX Runtime may not have it yet."""
    path = tmp_path / "model.onnx"
    proto = model(node("Swish", **attributes), {}, {"x": X}, 24)
    path.write_bytes(proto.SerializeToString())
    x = normal(*X).astype(np.float64)
    expected = x / (1 + np.exp(-attributes.get("alpha", 1.0) * x))
    np.testing.assert_allclose(evaluate_graph(load_onnx(path, Request()), {"x": x})["y"], expected)


@pytest.mark.parametrize("batch", [1, 2])
def test_space_to_depth_in_order_crd_inverts_depth_to_space(tmp_path: Path, batch: int) -> None:
    nodes = [
        node("SpaceToDepth", "x", outputs=("m",), blocksize=2, mode="CRD"),
        node("DepthToSpace", "m", blocksize=2, mode="CRD"),
    ]
    path = tmp_path / "model.onnx"
    shape = (batch, 3, 4, 6)
    path.write_bytes(model(nodes, {}, {"x": shape}, 28).SerializeToString())
    x = normal(*shape)
    assert np.array_equal(evaluate_graph(load_onnx(path, Request()), {"x": x})["y"], x)


def test_dropout_does_nothing(tmp_path: Path) -> None:
    compare(tmp_path, node("Dropout", ratio=0.5), opset=10)
    inits = {"r": np.float32(0.5), "t": np.array(False)}
    compare(tmp_path, node("Dropout", "x", "r", "t"), inits, 13)


@pytest.mark.parametrize("opset", [12, 13, 19])
def test_constants_of_every_kind_agree(tmp_path: Path, opset: int) -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value_float=1.5),
        helper.make_node("Constant", [], ["b"], value_floats=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        helper.make_node("Constant", [], ["c"], value_ints=[1, -1]),
        helper.make_node("Constant", [], ["d"], value_int=3),
        helper.make_node("Constant", [], ["e"], value=numpy_helper.from_array(normal(7, 1))),
        node("Reshape", "b", "c", outputs=("f",)),
        node("Cast", "d", outputs=("g",), to=TensorProto.FLOAT),
        node("Sum", "x", "a", "f", "e", "g"),
    ]
    compare(tmp_path, nodes, {}, opset)


def test_an_exporter_s_size_arithmetic_is_computed(tmp_path: Path) -> None:
    """As PyTorch writes F.interpolate(x, scale_factor=2) with a size derived from the shape."""
    nodes = [
        node("Shape", "x", outputs=("s",)),
        node("Gather", "s", "two", outputs=("h",), axis=0),
        node("Unsqueeze", "h", outputs=("h1",), axes=[0]),
        node("Cast", "h1", outputs=("hf",), to=TensorProto.FLOAT),
        node("Mul", "hf", "scale", outputs=("hs",)),
        node("Floor", "hs", outputs=("hfl",)),
        node("Cast", "hfl", outputs=("hi",), to=TensorProto.INT64),
        node("Slice", "s", "zero", "end", outputs=("nc",)),
        node("Div", "hi", "three", outputs=("w",)),
        node("Concat", "nc", "hi", "w", outputs=("sizes",), axis=0),
        node("Resize", "x", "none", "none", "sizes", coordinate_transformation_mode="asymmetric"),
    ]
    inits = {
        "two": np.array(2),
        "zero": np.array([0]),
        "end": np.array([2]),
        "three": np.array([3]),
        "scale": np.array([2.5], np.float32),
        "none": np.zeros(0, np.float32),
    }
    compare(tmp_path, nodes, inits, 11)


def test_an_exporter_s_padding_arithmetic_is_computed(tmp_path: Path) -> None:
    """As PyTorch writes F.pad: its order of amounts is turned into ONNX's."""
    nodes = [
        node(
            "ConstantOfShape",
            "four",
            outputs=("zeros",),
            value=numpy_helper.from_array(np.zeros(1, np.int64)),
        ),
        node("Concat", "torch", "zeros", outputs=("all",), axis=0),
        node("Reshape", "all", "pairs", outputs=("m",)),
        node("Slice", "m", "last", "first", "axis", "back", outputs=("r",)),
        node("Transpose", "r", outputs=("t",), perm=[1, 0]),
        node("Reshape", "t", "flat", outputs=("p",)),
        node("Cast", "p", outputs=("q",), to=TensorProto.INT64),
        node("Pad", "x", "q", mode="reflect"),
    ]
    inits = {
        "four": np.array([4]),
        "torch": np.array([1, 2, 3, 0]),
        "pairs": np.array([-1, 2]),
        "last": np.array([-1]),
        "first": np.array([-END]),
        "axis": np.array([0]),
        "back": np.array([-1]),
        "flat": np.array([-1]),
    }
    compare(tmp_path, nodes, inits, 11)


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_weights_of_other_precision_are_converted(tmp_path: Path, kind: type) -> None:
    w = normal(4, 3, 3, 3).astype(kind)
    nodes = [
        node("Cast", "w", outputs=("v",), to=TensorProto.FLOAT),
        node("Conv", "x", "v"),
    ]
    compare(tmp_path, nodes, {"w": w}, 13)
