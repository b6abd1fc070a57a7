"""Old operator sets mean what they meant: the same network, as versions 1 to 7 had to spell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import onnxruntime as ort
from onnx import TensorProto, helper
from support.onnx_models import model, node, normal, refusal, small, write

from shadergen.compiler.frontends import Request, load
from shadergen.compiler.frontends.onnx.ops.table import DOMAINS
from shadergen.compiler.frontends.onnx.ops.versions import REWRITES
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path

X = (2, 3, 4, 5)
SLOPE, BLOCK = normal(3, seed=3), normal(3, 4, seed=4)


def ours(tmp_path: Path, proto: Any, **feeds: np.ndarray) -> np.ndarray:
    return evaluate_graph(load(write(tmp_path, proto), Request()), feeds)["y"]


def old(op: str, opset: int, inits: Any = None, **attributes: Any) -> Any:
    return model(node(op, "x", *(inits or {}), **attributes), inits or {}, {"x": X}, opset)


def test_a_second_operand_lines_up_with_the_last_axes_or_from_an_axis_on(tmp_path: Path) -> None:
    x = normal(*X)
    cases = {
        "last": ({"b": normal(4, 5)}, {}, normal(4, 5)),
        "from axis 1": ({"b": BLOCK}, {"axis": 1}, BLOCK[:, :, None]),
        "from axis -3": ({"b": SLOPE}, {"axis": -3}, SLOPE[:, None, None]),
        "number": ({"b": np.float32(3)}, {}, np.float32(3)),
        "list of one": ({"b": np.float32([3])}, {"axis": 1}, np.float32(3)),
    }
    for name, (inits, attributes, expected) in cases.items():
        proto = old("Sub", 6, inits, broadcast=1, **attributes)
        np.testing.assert_allclose(ours(tmp_path, proto, x=x), x - expected, err_msg=name)


@pytest.mark.parametrize("opset", [1, 6])
def test_every_operator_with_legacy_broadcast_has_it(tmp_path: Path, opset: int) -> None:
    x = np.abs(normal(*X)) + 1
    numbers = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
    for op, function in {**numbers, "Pow": np.power}.items():
        proto = old(op, opset, {"b": np.abs(BLOCK)}, broadcast=1, axis=1)
        expected = function(x, np.abs(BLOCK)[:, :, None])
        np.testing.assert_allclose(ours(tmp_path, proto, x=x), expected, rtol=1e-5, err_msg=op)
    for op, function in {"Greater": np.greater, "Less": np.less, "Equal": np.equal}.items():
        nodes = [node(op, "x", "b", outputs=("m",), broadcast=1, axis=1), as_float("m", opset)]
        proto = model(nodes, {"b": BLOCK}, {"x": X}, opset)
        expected = function(x, BLOCK[:, :, None])
        np.testing.assert_array_equal(ours(tmp_path, proto, x=x), expected, err_msg=op)
    for op, function in {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.items():
        nodes = [
            node("Greater", "x", "t", outputs=("m",), broadcast=1),
            node(op, "m", "b", outputs=("n",), broadcast=1, axis=1),
            as_float("n", opset),
        ]
        inits = {"t": np.float32(1.5), "b": BLOCK > 0}
        proto = model(nodes, inits, {"x": X}, opset)
        expected = function(x > 1.5, (BLOCK > 0)[:, :, None])
        np.testing.assert_array_equal(ours(tmp_path, proto, x=x), expected, err_msg=op)


def as_float(name: str, opset: int) -> Any:
    return node("Cast", name, to="FLOAT" if opset < 6 else TensorProto.FLOAT)


X0 = normal(*X)
SPELLED: dict[str, tuple[Any, np.ndarray]] = {
    "Cast-1": (old("Cast", 1, to="float16"), X0),
    "Clip-1": (old("Clip", 1, min=-0.5, max=0.5, consumed_inputs=[0]), X0.clip(-0.5, 0.5)),
    "Clip-6 of one side": (old("Clip", 6, min=-0.5), X0.clip(-0.5)),
    "Concat-1 without an axis": (
        model(node("Concat", "x", "x"), {}, {"x": X}, 3),
        np.concatenate([X0, X0], 1),
    ),
    "Dropout-1": (old("Dropout", 1, is_test=1, ratio=0.5, consumed_inputs=[0]), X0),
    "Dropout-6": (old("Dropout", 6, is_test=1), X0),
    "BatchNormalization-1": (
        old(
            "BatchNormalization",
            1,
            {"s": SLOPE, "b": SLOPE + 1, "m": SLOPE - 1, "v": np.abs(SLOPE) + 1},
            is_test=1,
            epsilon=0.5,
            consumed_inputs=[0, 0, 0, 1, 1],
        ),
        (X0 - (SLOPE - 1)[:, None, None])
        / np.sqrt(np.abs(SLOPE) + 1.5)[:, None, None]
        * SLOPE[:, None, None]
        + (SLOPE + 1)[:, None, None],
    ),
    "BatchNormalization-6 of each element": (
        old(
            "BatchNormalization",
            6,
            {"s": X0[0], "b": X0[1], "m": X0[1] - 1, "v": np.abs(X0[0]) + 1},
            is_test=1,
            spatial=0,
            epsilon=0.5,
        ),
        (X0 - X0[1] + 1) / np.sqrt(np.abs(X0[0]) + 1.5) * X0[0] + X0[1],
    ),
    "PRelu-6 of channels": (
        old("PRelu", 6, {"b": SLOPE}),
        np.where(X0 > 0, X0, X0 * SLOPE[:, None, None]),
    ),
    "PRelu-1 of one number": (
        old("PRelu", 1, {"b": np.float32([0.3])}, consumed_inputs=[0]),
        np.where(X0 > 0, X0, X0 * np.float32(0.3)),
    ),
    "Pad-1": (
        old("Pad", 1, paddings=[0, 0, 1, 2, 0, 0, 3, 0], value=2.0),
        np.pad(X0, ((0, 0), (0, 0), (1, 3), (2, 0)), constant_values=2),
    ),
    "Pad-2": (
        old("Pad", 2, pads=[0, 0, 1, 2, 0, 0, 1, 0], mode="reflect"),
        np.pad(X0, ((0, 0), (0, 0), (1, 1), (2, 0)), "reflect"),
    ),
    "Reshape-1": (old("Reshape", 1, shape=[0, -1, 10], consumed_inputs=[0]), X0.reshape(2, 6, 10)),
    "Selu-1": (
        old("Selu", 1),
        np.where(X0 > 0, 1.0507 * X0, 1.0507 * (1.6732 * np.exp(X0) - 1.6732)),
    ),
    "Slice-1": (old("Slice", 1, axes=[1, 3], starts=[1, -3], ends=[3, 100]), X0[:, 1:3, :, -3:]),
    "Split-1 of sizes": (
        model(
            [
                node("Split", "x", "s", outputs=("a", "b"), axis=3),
                node("Concat", "b", "a", axis=3),
            ],
            {"s": np.array([2, 3])},
            {"x": X},
            1,
        ),
        np.roll(X0, -2, 3),
    ),
    "Squeeze-1": (
        model(
            [node("Unsqueeze", "x", outputs=("u",), axes=[0, 3]), node("Squeeze", "u", axes=[3])],
            {},
            {"x": X},
            1,
        ),
        X0[None],
    ),
    "Tile-1": (
        model(
            [
                node("Tile", "c", "n", "a", outputs=("t",)),
                node("Add", "t", "x"),
            ],
            {"c": X0[:, :1], "n": np.array([3]), "a": np.array([1])},
            {"x": X},
            5,
        ),
        X0[:, :1] + X0,
    ),
    "Upsample-1": (
        old("Upsample", 1, height_scale=2.0, width_scale=3.0, mode="nearest"),
        X0.repeat(2, 2).repeat(3, 3),
    ),
    "Upsample-7": (
        old("Upsample", 7, scales=[1.0, 1.0, 2.0, 3.0]),
        X0.repeat(2, 2).repeat(3, 3),
    ),
    "Elu-1": (old("Elu", 1, alpha=2.0), np.where(X0 > 0, X0, 2 * np.expm1(X0))),
    "LeakyRelu-1": (old("LeakyRelu", 1, consumed_inputs=[0]), np.where(X0 > 0, X0, X0 * 0.01)),
    "HardSigmoid-1": (old("HardSigmoid", 1), (0.2 * X0 + 0.5).clip(0, 1)),
    "Max-1": (model(node("Max", "x", "b"), {"b": X0[::-1]}, {"x": X}, 1), np.maximum(X0, X0[::-1])),
    "Sum-6": (model(node("Sum", "x", "x", "x"), {}, {"x": X}, 6), 3 * X0),
    "Gemm-6": (
        model(
            [
                node("Reshape", "x", outputs=("m",), shape=[6, 20]),
                node("Gemm", "m", "w", "c", broadcast=1, alpha=0.5, transB=1),
            ],
            {"w": normal(4, 20), "c": normal(4)},
            {"x": X},
            1,
        ),
        0.5 * X0.reshape(6, 20) @ normal(4, 20).T + normal(4),
    ),
}


@pytest.mark.parametrize("case", SPELLED)
def test_an_old_spelling_means_the_same(tmp_path: Path, case: str) -> None:
    proto, expected = SPELLED[case]
    got = ours(tmp_path, proto, x=X0)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_every_rewrite_is_of_an_operator_that_there_is() -> None:
    assert not set(REWRITES) - set(DOMAINS[""])


RETIRED = {
    "Affine": {"alpha": 2.0, "beta": -1.0},
    "Crop": {"border": [1, 2, 1, 0]},
    "Crop to a size": {"border": [1, 2, 0, 0], "scale": [2, 3]},
    "ImageScaler": {"bias": [0.1, -0.2, 0.3], "scale": 2.0},
    "ParametricSoftplus": {"alpha": 2.0, "beta": 0.5},
    "ScaledTanh": {"alpha": 2.0, "beta": 0.5},
    "ThresholdedRelu": {"alpha": 0.5},
}


@pytest.mark.parametrize("case", RETIRED)
def test_a_retired_operator_is_as_onnx_runtime_has_it(tmp_path: Path, case: str) -> None:
    proto = model(node(case.split()[0], **RETIRED[case]), {}, {"x": X}, 9)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options)
    (expected,) = session.run(None, {"x": X0})
    np.testing.assert_allclose(ours(tmp_path, proto, x=X0), expected, rtol=1e-5, atol=1e-6)


def test_retired_operators_that_nothing_else_runs(tmp_path: Path) -> None:
    filled = node("GivenTensorFill", outputs=("c",), values=[1.0, 2.0, 3.0], shape=[3, 1, 1])
    filled.ClearField("input")
    proto = model([filled, node("Add", "x", "c", broadcast=1)], {}, {"x": X}, 6)
    expected = X0 + np.float32([1, 2, 3])[:, None, None]
    np.testing.assert_allclose(ours(tmp_path, proto, x=X0), expected)
    proto = model(node("Scale", scale=3.0), {}, {"x": X}, 6)
    np.testing.assert_allclose(ours(tmp_path, proto, x=X0), 3 * X0, rtol=1e-6)
    inits = {"s": np.array([1, 0]), "e": np.array([4, 2]), "a": np.array([3, 1])}
    proto = model(node("DynamicSlice", "x", "s", "e", "a"), inits, {"x": X}, 8)
    np.testing.assert_allclose(ours(tmp_path, proto, x=X0), X0[:, :2, :, 1:4])


def without_opset(proto: Any) -> Any:
    del proto.opset_import[:]
    return proto


def other_domain(proto: Any) -> Any:
    proto.graph.node[0].domain = "com.microsoft"
    return proto


REFUSED = {
    "shapes that differ without broadcast": (
        old("Add", 6, {"b": BLOCK}),
        "error[SG0205]: the operands have different shapes, [2, 3, 4, 5] and [3, 4]\n"
        "  --> model.onnx: node y (Add), inputs 2x3x4x5, 3x4\n"
        "  = why: before operator set 7, Add broadcasts only with broadcast=1",
    ),
    "an axis that does not fit": (
        old("Add", 6, {"b": BLOCK}, broadcast=1, axis=2),
        "error[SG0205]: shape [3, 4] does not fit [2, 3, 4, 5] from axis 2 on",
    ),
    "training": (
        old("Dropout", 6),
        "error[SG0202]: attribute is_test=0 of Dropout is not implemented\n"
        "  --> model.onnx: node y (Dropout), inputs 2x3x4x5\n"
        "  = supported: is_test=1",
    ),
    "a type that is none": (old("Cast", 1, to="floats"), "error[SG0105]: attribute to=FLOATS"),
    "no version": (
        without_opset(small(node("Relu"))),
        "error[SG0105]: the model does not say which version of ai.onnx it uses",
    ),
    "no version of another domain": (
        other_domain(small(node("Gelu"))),
        "error[SG0105]: the model does not say which version of com.microsoft it uses\n"
        "  --> model.onnx: node y (Gelu), inputs 1x3x6x5\n"
        "  = help: export it again; the field opset_import is incomplete",
    ),
    "crop outside": (
        old("Crop", 1, border=[0, 0, 0, 0], scale=[9, 9]),
        "error[SG0205]: Crop of 9x9 elements at row 0, column 0 exceeds the input of 4x5",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_old_node_is_refused_by_name(tmp_path: Path, case: str) -> None:
    proto, expected = REFUSED[case]
    assert refusal(write(tmp_path, proto)).startswith(expected)


def test_a_model_older_than_operator_sets_is_of_the_first(tmp_path: Path) -> None:
    proto = without_opset(old("Add", 1, {"b": BLOCK}, broadcast=1, axis=1))
    proto.ir_version = 2
    np.testing.assert_allclose(ours(tmp_path, proto, x=X0), X0 + BLOCK[:, :, None])


MICROSOFT = {
    "BiasGelu": ({"b": SLOPE[:1].repeat(5)}, {}),
    "FastGelu": ({}, {}),
    "FastGelu with a bias": ({"b": SLOPE[:1].repeat(5)}, {}),
    "Gelu": ({}, {}),
    "ExpandDims": ({"a": np.array(-2, np.int32)}, {}),
    "GatherND": ({"i": np.array([[0, 1], [1, 0]])}, {}),
    "GridSample": (
        {"g": normal(2, 3, 3, 2, seed=6)},
        {"mode": "bicubic", "padding_mode": "border", "align_corners": 1},
    ),
    "Pad": ({"p": np.array([0, 0, 1, 2, 0, 1, 0, 1]), "v": np.float32([1.5])}, {}),
    "Trilu": ({"k": np.array(1)}, {"upper": 0}),
    "QuickGelu": ({}, {"alpha": 1.5}),
    "FusedConv": ({"w": normal(4, 3, 3, 3, seed=1)}, {"activation": "Relu", "pads": [1] * 4}),
    "FusedConv with a bias": (
        {"w": normal(4, 3, 3, 3, seed=1), "b": normal(4)},
        {"activation": "LeakyRelu", "activation_params": [0.2]},
    ),
    "FusedConv within bounds": (
        {"w": normal(4, 3, 3, 3, seed=1)},
        {"activation": "Clip", "activation_params": [-1.0, 0.5]},
    ),
    "FusedConv and a sum": (
        {"w": normal(4, 3, 3, 3, seed=1), "b": normal(4), "z": normal(2, 4, 2, 3, seed=5)},
        {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]},
    ),
}


@pytest.mark.parametrize("case", MICROSOFT)
def test_an_operator_of_microsoft_is_as_onnx_runtime_has_it(tmp_path: Path, case: str) -> None:
    inits, attributes = MICROSOFT[case]
    op = node(case.split()[0], "x", *inits, domain="com.microsoft", **attributes)
    proto = model(op, inits, {"x": X}, 17)
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    (expected,) = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": X0})
    np.testing.assert_allclose(ours(tmp_path, proto, x=X0), expected, rtol=1e-4, atol=2e-5)


def test_an_activation_that_is_not_fused_is_refused(tmp_path: Path) -> None:
    op = node("FusedConv", "x", "w", domain="com.microsoft", activation="Elu", name="f")
    proto = model(op, {"w": normal(4, 3, 3, 3)}, {"x": X}, 17)
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert refusal(write(tmp_path, proto)).startswith(
        "error[SG0202]: attribute activation=Elu of FusedConv is not implemented\n"
        "  --> model.onnx: node f (FusedConv), inputs 2x3x4x5, 4x3x3x3\n"
        "  = supported: activation=Clip, activation=HardSigmoid, "
    )
