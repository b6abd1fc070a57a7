"""Element-wise ONNX operators and convolutions, against ONNX Runtime."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto
from support import ROOT
from support.onnx_models import X, compare, model, node, normal, refusal, write

from shadergen.compiler.frontends.onnx.ops.table import DOMAINS, FAMILIES

UNARY: dict[str, tuple[int, dict[str, Any]]] = {
    "Abs": (13, {}),
    "Atan": (7, {}),
    "Asinh": (9, {}),
    "Ceil": (13, {}),
    "Celu": (12, {"alpha": 0.7}),
    "Cos": (7, {}),
    "Cosh": (9, {}),
    "Elu": (6, {"alpha": 1.5}),
    "Erf": (13, {}),
    "Exp": (13, {}),
    "Floor": (13, {}),
    "HardSigmoid": (6, {"alpha": 0.3, "beta": 0.4}),
    "HardSwish": (14, {}),
    "Identity": (13, {}),
    "LeakyRelu": (16, {"alpha": 0.2}),
    "Mish": (18, {}),
    "Neg": (13, {}),
    "Reciprocal": (13, {}),
    "Relu": (14, {}),
    "Round": (11, {}),
    "Selu": (6, {"alpha": 1.2, "gamma": 1.1}),
    "Shrink": (9, {"bias": 0.1, "lambd": 0.3}),
    "Sigmoid": (13, {}),
    "Sign": (13, {}),
    "Sin": (7, {}),
    "Sinh": (9, {}),
    "Softplus": (22, {}),
    "Softsign": (1, {}),
    "Tan": (7, {}),
    "Tanh": (13, {}),
    "ThresholdedRelu": (10, {"alpha": 0.4}),
}
LIMITED = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.9, 0.9), "Acosh": (1, 9), "Log": (0.1, 9)}


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("defaults", [False, True])
def test_a_function_agrees(tmp_path: Path, op: str, defaults: bool) -> None:
    since, attributes = UNARY[op]
    x = normal(*X) * 3
    x.flat[:8] = [0, -0.0, 0.5, 1.5, -2.5, 2, -90, 88] if op != "Reciprocal" else 1
    if op in ("Tan", "Sinh", "Cosh", "Exp"):
        x = np.clip(x, -1.5, 1.5)
    compare(tmp_path, node(op, **({} if defaults else attributes)), opset=max(since, 7), x=x)


@pytest.mark.parametrize("op", [*LIMITED, "Sqrt"])
def test_a_function_of_a_limited_domain_agrees(tmp_path: Path, op: str) -> None:
    x = np.random.default_rng(1).uniform(*LIMITED.get(op, (0, 4)), X).astype(np.float32)
    compare(tmp_path, node(op), opset=13, x=x)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_agrees(tmp_path: Path, approximate: str) -> None:
    compare(tmp_path, node("Gelu", approximate=approximate), opset=20)


BROADCASTS = [(2, 3, 7, 6), (3, 1, 1), (1,), (), (1, 3, 1, 6), (7, 1)]


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "Mod"])
@pytest.mark.parametrize("shape", BROADCASTS, ids=str)
def test_a_binary_operator_broadcasts(tmp_path: Path, op: str, shape: tuple[int, ...]) -> None:
    other = np.abs(normal(*shape, seed=1)) + np.float32(0.5)
    attributes = {"fmod": 1} if op == "Mod" else {}
    compare(tmp_path, node(op, "x", "b", **attributes), {"b": other}, 13)


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_a_variadic_operator_takes_any_number(tmp_path: Path, op: str, count: int) -> None:
    feeds = {f"i{k}": normal(3, 5, seed=k + 1) for k in range(1, count)}
    compare(tmp_path, node(op, "x", *feeds), opset=8, shape=(3, 5), feeds=feeds)


@pytest.mark.parametrize("exponent", [2, 3, -1, 0.5, 1, 0, 2.5])
@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_a_known_power_agrees(tmp_path: Path, exponent: float, kind: type) -> None:
    x = np.abs(normal(*X)) + np.float32(0.1)
    compare(tmp_path, node("Pow", "x", "e"), {"e": np.array(exponent, kind)}, 13, x=x)


def test_the_square_of_a_negative_number_is_positive(tmp_path: Path) -> None:
    compare(tmp_path, node("Pow", "x", "e"), {"e": np.array([2], np.float32)}, 7)


def test_a_power_may_be_a_tensor(tmp_path: Path) -> None:
    x, e = np.abs(normal(*X)) + np.float32(0.1), normal(6, seed=2)
    compare(tmp_path, node("Pow", "x", "e"), {"e": e}, 13, x=x)


@pytest.mark.parametrize("shape", [(3, 1, 1), (1,), (1, 3, 7, 6)], ids=str)
@pytest.mark.parametrize("opset", [7, 9, 16])
def test_prelu_agrees(tmp_path: Path, shape: tuple[int, ...], opset: int) -> None:
    compare(tmp_path, node("PRelu", "x", "s"), {"s": normal(*shape, seed=3)}, opset)


@pytest.mark.parametrize("op", ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
def test_comparisons_select(tmp_path: Path, op: str) -> None:
    nodes = [
        node(op, "x", "b", outputs=("c",)),
        node("Not", "c", outputs=("d",)),
        node("Where", "d", "x", "b"),
    ]
    b = normal(*X)
    b[:, 1:] += 1
    compare(tmp_path, nodes, {"b": b}, 16)


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_truth_values_become_numbers(tmp_path: Path, op: str) -> None:
    nodes = [
        node("Cast", "x", outputs=("a",), to=TensorProto.BOOL),
        node("Greater", "x", "one", outputs=("b",)),
        node(op, "a", "b", outputs=("c",)),
        node("Cast", "c", to=TensorProto.FLOAT),
    ]
    x = np.maximum(normal(*X), 0)
    compare(tmp_path, nodes, {"one": np.ones(1, np.float32)}, 13, x=x)


@pytest.mark.parametrize("bounds", list(product([None, -0.5], [None, 0.75])), ids=str)
@pytest.mark.parametrize("opset", [7, 10, 11, 12, 13])
def test_clip_agrees(tmp_path: Path, bounds: tuple[float | None, ...], opset: int) -> None:
    given = {k: v for k, v in zip(("min", "max"), bounds, strict=True) if v is not None}
    if opset < 11:
        compare(tmp_path, node("Clip", **given), opset=opset)
        return
    inits = {k: np.array(v, np.float32) for k, v in given.items()}
    inputs = [k if k in given else "" for k in ("min", "max")]
    compare(tmp_path, node("Clip", "x", *inputs), inits, opset)


def test_clip_with_infinite_or_crossed_bounds_agrees(tmp_path: Path) -> None:
    for low, high in ((-np.inf, np.inf), (0.0, np.inf), (1.0, -1.0)):
        inits = {"low": np.float32(low), "high": np.float32(high)}
        compare(tmp_path, node("Clip", "x", "low", "high"), inits, 13)


CONVS: list[tuple[dict[str, Any], tuple[int, ...]]] = [
    ({}, (4, 3, 3, 3)),
    ({}, (5, 3, 1, 1)),
    ({"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}, (4, 3, 3, 3)),
    ({"pads": [0, 1, 2, 3]}, (4, 3, 3, 4)),
    ({"strides": [2, 3]}, (4, 3, 3, 2)),
    ({"dilations": [2, 1], "pads": [2, 0, 2, 0]}, (4, 3, 3, 3)),
    ({"group": 3}, (6, 1, 3, 3)),
    ({"auto_pad": "VALID"}, (4, 3, 3, 3)),
    ({"auto_pad": "NOTSET"}, (4, 3, 3, 3)),
    *(
        ({"auto_pad": auto, "strides": s}, (4, 3, *k))
        for auto in ("SAME_UPPER", "SAME_LOWER")
        for s in ([1, 1], [2, 2], [3, 2])
        for k in ((3, 3), (2, 4))
    ),
]


@pytest.mark.parametrize(("attributes", "w"), CONVS, ids=str)
@pytest.mark.parametrize("bias", [False, True])
def test_conv_agrees(
    tmp_path: Path, attributes: dict[str, Any], w: tuple[int, ...], bias: bool
) -> None:
    inits = {"w": normal(*w, seed=1)} | ({"b": normal(w[0], seed=2)} if bias else {})
    compare(tmp_path, node("Conv", "x", *inits, **attributes), inits, 11)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"pads": [1, 2]},
        {"strides": [2], "auto_pad": "SAME_UPPER"},
        {"dilations": [2]},
    ],
    ids=str,
)
@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_a_one_dimensional_convolution_agrees(
    tmp_path: Path, op: str, attributes: dict[str, Any]
) -> None:
    w = normal(*((4, 3, 3) if op == "Conv" else (3, 4, 3)), seed=1)
    inits = {"w": w, "b": normal(4, seed=2)}
    compare(tmp_path, node(op, "x", "w", "b", **attributes), inits, 11, (2, 3, 9))


TRANSPOSED: list[dict[str, Any]] = [
    {},
    {"strides": [2, 2]},
    {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
    {"strides": [3, 2], "pads": [0, 1, 2, 0]},
    {"dilations": [2, 1]},
    {"strides": [2, 2], "output_shape": [14, 13]},
    {"strides": [2, 2], "output_shape": [14, 12], "auto_pad": "SAME_UPPER"},
    {"strides": [2, 2], "output_shape": [14, 12], "auto_pad": "SAME_LOWER"},
    {"strides": [3, 3], "output_shape": [21, 20], "output_padding": [1, 0]},
    {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
    {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
    {"strides": [2, 2], "auto_pad": "VALID"},
    {"strides": [1, 1], "auto_pad": "SAME_UPPER"},
    {"strides": [4, 5], "auto_pad": "SAME_UPPER"},  # the kernel is smaller: it ends sooner
    {"strides": [4, 5], "auto_pad": "SAME_LOWER"},
    {"strides": [6, 7], "auto_pad": "SAME_UPPER", "dilations": [2, 1]},
    {"strides": [6, 7], "auto_pad": "SAME_LOWER", "dilations": [2, 1]},
    {"strides": [2, 2], "output_shape": [16, 15]},  # one more than its windows reach
]


@pytest.mark.parametrize("attributes", TRANSPOSED, ids=str)
@pytest.mark.parametrize("groups", [1, 3])
def test_conv_transpose_agrees(tmp_path: Path, attributes: dict[str, Any], groups: int) -> None:
    inits = {"w": normal(3, 2, 3, 4, seed=1), "b": normal(2 * groups, seed=2)}
    attributes = {**attributes, "group": groups}
    compare(tmp_path, node("ConvTranspose", "x", "w", "b", **attributes), inits, 11)


def test_a_transposed_convolution_reaches_less_than_a_stride_too_far(tmp_path: Path) -> None:
    inits = {"w": normal(3, 2, 3, 4, seed=1)}
    conv = node("ConvTranspose", "x", "w", strides=[2, 2], output_shape=[17, 14])
    assert refusal(write(tmp_path, model(conv, inits, {"x": X}, 11))) == (
        "error[SG0105]: output_shape 17x14 is too large\n"
        "  --> model.onnx: node y (ConvTranspose), inputs 2x3x7x6, 3x2x3x4\n"
        "  = why: the windows cover only 15x14 elements\n"
        "  = supported: up to 16x15"
    )
    conv = node("ConvTranspose", "x", "w", strides=[2, 2], output_padding=[2, 0])
    text = refusal(write(tmp_path, model(conv, inits, {"x": X}, 11)))
    assert "attribute output_padding=[2, 0] of ConvTranspose" in text


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
@pytest.mark.parametrize("shape", [X, (2, 3, 5), (4, 3)], ids=str)
def test_batch_normalization_agrees(tmp_path: Path, opset: int, shape: tuple[int, ...]) -> None:
    inits = {k: np.abs(normal(3, seed=i)) + np.float32(0.1) for i, k in enumerate("sbmv")}
    compare(tmp_path, node("BatchNormalization", "x", *"sbmv", epsilon=1e-3), inits, opset, shape)


def test_every_operator_is_tested() -> None:
    folders = ("frontends/onnx", "conformance", "unit/ops")
    files = [p for folder in folders for p in (ROOT / "tests" / folder).glob("test_*.py")]
    source = "".join(p.read_text("utf-8") for p in files)
    operators = {name for table in DOMAINS.values() for name in table}
    untested = [op for op in sorted(operators) if f'"{op}"' not in source]
    assert untested == []


def test_no_operator_is_in_the_tables_of_two_families() -> None:
    assert sum(map(len, FAMILIES)) == len(DOMAINS[""])
