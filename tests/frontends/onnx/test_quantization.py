"""Quantised models, against ONNX Runtime: equal to within one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper
from support.onnx_models import compare_typed, node, normal, refusal, typed_model, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.graph import Graph
from shadergen.ir.ops import Pointwise
from shadergen.ir.reference import evaluate_graph

RNG = np.random.default_rng(5)
F = np.float32


def levels(dtype: Any, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def weights(dtype: Any, *shape: int) -> np.ndarray:
    """Return weights; signed ones of 7 bits: ONNX Runtime may saturate their sums of pairs."""
    return levels(dtype, *shape) // 2 if np.dtype(dtype) == np.int8 else levels(dtype, *shape)


def operators(graph: Graph) -> list[str]:
    return [type(n.op).__name__ for n in graph.nodes]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("opset", [13, 19, 21])
def test_numbers_are_quantised_and_back(
    tmp_path: Path, dtype: str, axis: int | None, opset: int
) -> None:
    if opset < 21 and dtype.endswith("16"):
        opset = 23
    x = normal(3, 4, 5) * F(9)
    count = () if axis is None else (x.shape[axis],)
    inits = {"s": RNG.uniform(0.02, 0.2, count).astype(F), "z": levels(dtype, *count)}
    attributes = {} if axis is None else {"axis": axis}
    nodes = [
        node("QuantizeLinear", "x", "s", "z", outputs=("q",), **attributes),
        node("DequantizeLinear", "q", "s", "z", **attributes),
    ]
    compare_typed(tmp_path, nodes, inits, {"x": x}, {"q": dtype, "y": F}, opset)


def test_ties_go_to_even_and_what_is_beyond_saturates(tmp_path: Path) -> None:
    x = np.array([-1e6, -300, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 300, 1e6], F)
    nodes = node("QuantizeLinear", "x", "s", outputs=("q",))
    compare_typed(tmp_path, nodes, {"s": F(1)}, {"x": x}, {"q": np.uint8}, 13)
    nodes = node("QuantizeLinear", "x", "s", "z", outputs=("q",))
    inits = {"s": F(2), "z": np.int8(-3)}
    compare_typed(tmp_path, nodes, inits, {"x": x}, {"q": np.int8}, 13)


@pytest.mark.parametrize("block", [2, 3])
def test_blocks_have_scales_of_their_own(tmp_path: Path, block: int) -> None:
    x = normal(4, 6, 3)
    shape = (4, 6 // block, 3)
    inits = {"s": RNG.uniform(0.02, 0.2, shape).astype(F), "z": levels(np.int8, *shape)}
    more = {"axis": 1, "block_size": block}
    nodes = [
        node("QuantizeLinear", "x", "s", "z", outputs=("q",), **more),
        node("DequantizeLinear", "q", "s", "z", **more),
    ]
    compare_typed(tmp_path, nodes, inits, {"x": x}, {"q": np.int8, "y": F})


def test_the_type_may_be_an_attribute(tmp_path: Path) -> None:
    made = node("QuantizeLinear", "x", "s", outputs=("q",), output_dtype=TensorProto.INT16)
    compare_typed(tmp_path, made, {"s": F(0.01)}, {"x": normal(40)}, {"q": np.int16})


def test_scales_may_be_computed(tmp_path: Path) -> None:
    feeds = {"x": normal(2, 5), "s": np.array(0.03, F), "z": np.array(100, np.uint8)}
    nodes = [
        node("QuantizeLinear", "x", "s", "z", outputs=("q",)),
        node("DequantizeLinear", "q", "s", "z"),
    ]
    compare_typed(tmp_path, nodes, {}, feeds, {"q": np.uint8, "y": F}, 13)


@pytest.mark.parametrize("offset", [-3.0, 0.0, 5.0])
def test_a_tensor_is_quantised_by_its_own_range(tmp_path: Path, offset: float) -> None:
    outputs = {"q": np.uint8, "s": F, "z": np.uint8}
    made = node("DynamicQuantizeLinear", outputs=tuple(outputs))
    compare_typed(tmp_path, made, {}, {"x": normal(7, 9) + F(offset)}, outputs, 13, steps=1)


def test_large_biases_are_dequantised_before_they_are_rounded(tmp_path: Path) -> None:
    inits = {"b": np.array([123456789, -2000000001], np.int32), "s": F(1e-6)}
    nodes = [
        node("DequantizeLinear", "b", "s", outputs=("f",)),
        node("Add", "x", "f"),
    ]
    compare_typed(tmp_path, nodes, inits, {"x": normal(3, 2)}, {"y": F}, 13)


CONVS: list[dict[str, Any]] = [
    {},
    {"pads": [1, 2, 1, 0]},
    {"strides": [2, 2], "dilations": [1, 2], "pads": [1, 1, 1, 1]},
    {"auto_pad": "SAME_UPPER"},
    {"group": 2},
]


@pytest.mark.parametrize("attributes", CONVS, ids=str)
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("types", [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")])
def test_a_quantised_convolution_agrees(
    tmp_path: Path, attributes: dict[str, Any], per_channel: bool, types: tuple[str, str]
) -> None:
    channels = (6,) if per_channel else ()
    zero = np.zeros(channels, types[1]) if types[1] == "int8" else levels(types[1])
    if per_channel and types[1] == "uint8":
        zero = np.full(channels, 128, np.uint8)
    inits = {
        "xs": F(0.02),
        "xz": levels(types[0]),
        "w": weights(types[1], 6, 4 // attributes.get("group", 1), 3, 3),
        "ws": RNG.uniform(0.001, 0.01, channels).astype(F),
        "wz": zero,
        "ys": F(0.3),
        "yz": levels(types[0]),
        "b": RNG.integers(-9000, 9000, 6).astype(np.int32),
    }
    made = node("QLinearConv", "x", *inits, **attributes)
    compare_typed(
        tmp_path, made, inits, {"x": levels(types[0], 2, 4, 7, 6)}, {"y": types[0]}, 13, steps=1
    )


@pytest.mark.parametrize("shapes", [((3, 5), (5, 4)), ((2, 3, 5), (2, 5, 4))], ids=str)
@pytest.mark.parametrize("known", [True, False])
def test_a_quantised_product_agrees(tmp_path: Path, shapes: Any, known: bool) -> None:
    a, b = levels(np.uint8, *shapes[0]), weights(np.int8, *shapes[1])
    inits = {
        "as": F(0.02),
        "az": np.uint8(120),
        "bs": F(0.01),
        "bz": np.int8(3),
        "ys": F(0.15),
        "yz": np.uint8(90),
    }
    feeds = {"a": a} if known else {"a": a, "b": b}
    made = node("QLinearMatMul", "a", "as", "az", "b", "bs", "bz", "ys", "yz")
    inits |= {"b": b} if known else {}
    compare_typed(tmp_path, made, inits, feeds, {"y": np.uint8}, 13, steps=1)


def test_a_product_may_have_a_scale_for_each_column(tmp_path: Path) -> None:
    inits = {
        "b": weights(np.int8, 5, 4),
        "as": F(0.02),
        "az": np.uint8(120),
        "bs": RNG.uniform(0.001, 0.02, 4).astype(F),
        "bz": np.zeros(4, np.int8),
        "ys": F(0.15),
        "yz": np.uint8(90),
    }
    made = node("QLinearMatMul", "a", "as", "az", "b", "bs", "bz", "ys", "yz")
    compare_typed(
        tmp_path, made, inits, {"a": levels(np.uint8, 3, 5)}, {"y": np.uint8}, 13, steps=1
    )


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_integer_products_and_convolutions_are_exact(tmp_path: Path, zeros: int) -> None:
    given = {"xz": np.uint8(7), "wz": np.uint8(200)}
    names = list(given)[:zeros]
    x, w = levels(np.uint8, 2, 3, 7, 6), levels(np.uint8, 5, 3, 3, 3)
    made = node("ConvInteger", "x", "w", *names, pads=[1, 1, 1, 1])
    inits = {"w": w, **{n: given[n] for n in names}}
    compare_typed(tmp_path, made, inits, {"x": x}, {"y": np.int32}, 13)
    a, b = levels(np.uint8, 2, 4, 9), weights(np.int8, 9, 5)
    inits = {n: v for n, v in {"xz": np.uint8(7), "wz": np.int8(-9)}.items() if n in names}
    made = node("MatMulInteger", "a", "b", *names)
    compare_typed(tmp_path, made, inits, {"a": a, "b": b}, {"y": np.int32}, 13)


def microsoft(op: str, *inputs: str, **attributes: Any) -> Any:
    made = node(op, *inputs, **attributes)
    made.domain = "com.microsoft"
    return made


SCALES = {
    "as": F(0.02),
    "az": np.uint8(100),
    "bs": F(0.03),
    "bz": np.uint8(140),
    "ys": F(0.05),
    "yz": np.uint8(120),
}


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("b", [(2, 3, 4), (4,)], ids=str)
def test_quantised_arithmetic_agrees(tmp_path: Path, op: str, b: tuple[int, ...]) -> None:
    made = microsoft(op, "a", "as", "az", "b", "bs", "bz", "ys", "yz")
    feeds = {"a": levels(np.uint8, 2, 3, 4), "b": levels(np.uint8, *b)}
    compare_typed(tmp_path, made, SCALES, feeds, {"y": np.uint8}, 17, steps=1)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("QLinearSigmoid", {}),
        ("QLinearLeakyRelu", {"alpha": 0.2}),
        ("QLinearAveragePool", {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}),
        ("QLinearAveragePool", {"kernel_shape": [2, 2], "count_include_pad": 1, "pads": [1] * 4}),
        ("QLinearGlobalAveragePool", {}),
        ("QLinearSoftmax", {"axis": -1, "opset": 13}),
        ("QLinearSoftmax", {"axis": 1, "opset": 9}),
    ],
    ids=str,
)
def test_quantised_functions_agree(tmp_path: Path, op: str, attributes: dict[str, Any]) -> None:
    made = microsoft(op, "a", "as", "az", "ys", "yz", **attributes)
    inits = {**SCALES, "ys": F(0.004)} if op in ("QLinearSigmoid", "QLinearSoftmax") else SCALES
    feeds = {"a": levels(np.uint8, 2, 3, 6, 5)}
    compare_typed(tmp_path, made, inits, feeds, {"y": np.uint8}, 17, steps=1)


def test_quantised_tensors_are_joined(tmp_path: Path) -> None:
    made = microsoft("QLinearConcat", "ys", "yz", "a", "as", "az", "b", "bs", "bz", axis=1)
    feeds = {"a": levels(np.uint8, 2, 3, 4), "b": levels(np.uint8, 2, 5, 4)}
    compare_typed(tmp_path, made, SCALES, feeds, {"y": np.uint8}, 17, steps=1)


@pytest.mark.parametrize("flips", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("result", [True, False])
def test_a_quantised_gemm_agrees(tmp_path: Path, flips: tuple[int, int], result: bool) -> None:
    a = levels(np.uint8, *((5, 3) if flips[0] else (3, 5)))
    b = weights(np.int8, *((4, 5) if flips[1] else (5, 4)))
    inits = {
        "as": F(0.02),
        "az": np.uint8(120),
        "b": b,
        "bs": F(0.01),
        "bz": np.int8(3),
        "c": RNG.integers(-900, 900, 4).astype(np.int32),
        **({"ys": F(0.15), "yz": np.uint8(90)} if result else {}),
    }
    made = microsoft("QGemm", "a", *inits, transA=flips[0], transB=flips[1], alpha=0.5)
    outputs = {"y": np.uint8 if result else F}
    compare_typed(tmp_path, made, inits, {"a": a}, outputs, 17, steps=1)


def test_an_integer_product_may_become_a_float(tmp_path: Path) -> None:
    inits = {
        "as": F(0.02),
        "bs": RNG.uniform(0.01, 0.02, 4).astype(F),
        "az": np.uint8(120),
        "bz": np.full(4, 7, np.uint8),
        "c": normal(4),
    }
    feeds = {"a": levels(np.uint8, 3, 5), "b": levels(np.uint8, 5, 4)}
    made = microsoft("MatMulIntegerToFloat", "a", "b", *inits)
    compare_typed(tmp_path, made, inits, feeds, {"y": F}, 17)


def qdq(x: str, y: str, scale: str = "s", zero: str = "z") -> list[Any]:
    return [
        node("QuantizeLinear", x, scale, zero, outputs=(f"{y}_q",)),
        node("DequantizeLinear", f"{y}_q", scale, zero, outputs=(y,)),
    ]


def test_a_network_quantised_by_pairs_agrees(tmp_path: Path) -> None:
    inits = {
        "s": F(0.05),
        "z": np.uint8(128),
        "w": weights(np.int8, 4, 3, 3, 3),
        "ws": RNG.uniform(0.001, 0.005, 4).astype(F),
        "wz": np.zeros(4, np.int8),
        "b": RNG.integers(-9000, 9000, 4).astype(np.int32),
        "bs": RNG.uniform(1e-5, 1e-4, 4).astype(F),
        "bz": np.zeros(4, np.int32),
    }
    nodes = [
        *qdq("x", "x1"),
        node("DequantizeLinear", "w", "ws", "wz", outputs=("w1",), axis=0),
        node("DequantizeLinear", "b", "bs", "bz", outputs=("b1",), axis=0),
        node("Conv", "x1", "w1", "b1", outputs=("c",), pads=[1, 1, 1, 1]),
        node("Relu", "c", outputs=("r",)),
        *qdq("r", "y"),
    ]
    feeds = {"x": normal(1, 3, 8, 8)}
    compare_typed(tmp_path, nodes, inits, feeds, {"y_q": np.uint8}, 13, steps=1)
    graph = load_onnx(write(tmp_path, typed_model(nodes, inits, feeds, {"y": F}, 13)), Request())
    assert set(operators(graph)) == {"Pointwise", "Conv"}
    (conv,) = [n for n in graph.nodes if type(n.op).__name__ == "Conv"]
    assert isinstance(conv.inputs[0].node.op, Pointwise)  # type: ignore[attr-defined]
    assert not hasattr(conv.inputs[1], "node"), "the weights are folded"


def test_weights_of_four_bits_are_read(tmp_path: Path) -> None:
    packed = np.array([[-8, 7, 0, 3, -1], [1, 2, -3, -4, 5]], np.int8)
    codes = packed.reshape(-1).astype(np.uint8) & 15
    raw = (codes[0::2] | (codes[1::2] << 4)).astype(np.uint8).tobytes()
    w = helper.make_tensor("w", TensorProto.INT4, packed.shape, raw, raw=True)
    nodes = [node("DequantizeLinear", "w", "s", outputs=("f",)), node("MatMul", "x", "f")]
    feeds = {"x": normal(3, 2)}
    proto = typed_model(nodes, {"s": F(0.25)}, feeds, {"y": F})
    proto.graph.initializer.append(w)
    graph = load_onnx(write(tmp_path, proto), Request())
    found = evaluate_graph(graph, feeds)["y"]
    np.testing.assert_allclose(found, feeds["x"] @ (packed * 0.25), rtol=1e-6)


def test_narrow_floats_round_as_their_own_type_does(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = (normal(200) * 100).astype(F)
    types = {
        TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
        TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    }
    for number, dtype in types.items():
        nodes = [
            node("QuantizeLinear", "x", "s", outputs=("q",), output_dtype=number),
            node("DequantizeLinear", "q", "s"),
        ]
        proto = typed_model(nodes, {"s": F(0.5)}, {"x": x}, {"y": F}, 23)
        found = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": x})["y"]
        top = float(ml_dtypes.finfo(dtype).max)
        want = np.clip(x / F(0.5), -top, top).astype(dtype).astype(F) * F(0.5)
        np.testing.assert_array_equal(found, want)


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "type": (
        node("QuantizeLinear", "x", "s", output_dtype=TensorProto.INT32),
        {"s": F(1)},
        "error[SG0202]: attribute output_dtype=int32 of QuantizeLinear is not implemented",
    ),
    "scale": (
        node("QuantizeLinear", "x", "s"),
        {"s": np.ones(7, F)},
        "error[SG0205]: input 1 of QuantizeLinear has shape [7], which does not fit [2, 3]\n"
        "  --> model.onnx: node y (QuantizeLinear), inputs 2x3, 7\n"
        "  = supported: one number, 3 numbers (axis 1), or one number for each block",
    ),
    "layout": (
        microsoft("QLinearGlobalAveragePool", "x", "s", "z", "s", "z", channels_last=1),
        {"s": F(1), "z": np.uint8(0)},
        "error[SG0202]: attribute channels_last=1 of QLinearGlobalAveragePool is not implemented",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_implemented_is_refused_by_name(tmp_path: Path, case: str) -> None:
    made, inits, expected = REFUSED[case]
    proto = typed_model(made, inits, {"x": normal(2, 3)}, {"y": np.uint8})
    assert refusal(write(tmp_path, proto)).startswith(expected)


def test_narrow_types_are_moved_but_not_computed_with(tmp_path: Path) -> None:
    w = numpy_helper.from_array(np.zeros((2, 3), np.uint8), "w")
    w.data_type, w.raw_data = TensorProto.FLOAT8E5M2, bytes([0x3C, 0xBC, 0x40, 0x44, 0, 0x7B])
    moves = [node("Transpose", "w", outputs=("t",)), node("Reshape", "t", "n", outputs=("r",))]
    numbers = node("Cast", "r", outputs=("f",), to=TensorProto.FLOAT)
    nodes = [*moves, numbers, node("Add", "x", "f")]
    proto = typed_model(nodes, {"n": np.array([6])}, {"x": np.zeros(6, F)}, {"y": F})
    proto.graph.initializer.append(w)
    found = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": np.zeros(6)})["y"]
    assert found.tolist() == [1, 4, -1, 0, 2, 57344]
    nodes = [*moves, node("Add", "r", "r", outputs=("f",)), node("Add", "x", "f")]
    proto = typed_model(nodes, {"n": np.array([6])}, {"x": np.zeros(6, F)}, {"y": F})
    proto.graph.initializer.append(w)
    text = refusal(write(tmp_path, proto))
    assert text.startswith("error[SG0206]: Add of float8e5m2 is not implemented")
