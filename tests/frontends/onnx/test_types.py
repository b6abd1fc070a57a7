"""Integers, booleans and casts, against ONNX's reference implementation and numpy."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

pytest.importorskip("onnxruntime")

from support import compile_graph, play
from support.onnx_models import compare_typed, node, normal, typed_model, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.reference import evaluate_graph

F = np.float32
RNG = np.random.default_rng(11)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NARROW = INTEGERS[:4]
EXACT = 1 << 24


def whole(dtype: str, *shape: int, limit: int = EXACT) -> np.ndarray:
    """Return integers over the whole range of a type, as far as it is exact."""
    info = np.iinfo(dtype)
    low, high = max(info.min, -limit), min(info.max, limit)
    return RNG.integers(low, high + 1, shape).astype(dtype)


def graph_of(tmp_path: Path, nodes: Any, feeds: dict[str, Any], dtype: Any, opset: int) -> Any:
    return load_onnx(write(tmp_path, typed_model(nodes, {}, feeds, {"y": dtype}, opset)), Request())


def agrees(
    tmp_path: Path, nodes: Any, feeds: dict[str, Any], dtype: Any, opset: int = 21, gl: bool = True
) -> None:
    """Assert that graph, shaders and ONNX's reference implementation give the same."""
    proto = typed_model(nodes, {}, feeds, {"y": dtype}, opset)
    with np.errstate(all="ignore"):
        (theirs,) = ReferenceEvaluator(proto).run(None, feeds)
    graph = load_onnx(write(tmp_path, proto), Request())
    assert graph.outputs[0].value.type.dtype == np.dtype(dtype).name
    assert theirs.dtype == dtype
    found = evaluate_graph(graph, feeds, F)["y"]
    assert found.dtype.kind == theirs.dtype.kind
    np.testing.assert_array_equal(found, theirs)
    if gl:
        _, files, _ = compile_graph(graph)
        np.testing.assert_array_equal(play(files, feeds)["y"], theirs)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
def test_narrow_integers_wrap_around(tmp_path: Path, op: str, dtype: str) -> None:
    feeds = {"a": whole(dtype, 2, 3, 20, 20), "b": whole(dtype, 2, 3, 20, 20)}
    agrees(tmp_path, node(op, "a", "b"), feeds, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
def test_wide_integers_are_exact_within_range(tmp_path: Path, op: str, dtype: str) -> None:
    limit = 4000 if op == "Mul" else EXACT // 2
    a, b = whole(dtype, 5, 40, limit=limit), whole(dtype, 5, 40, limit=limit)
    if op == "Sub" and dtype.startswith("u"):
        a, b = np.maximum(a, b), np.minimum(a, b)
    agrees(tmp_path, node(op, "a", "b"), {"a": a, "b": b}, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("small", [False, True])
def test_quotients_and_remainders_of_integers_are_exact(
    tmp_path: Path, dtype: str, small: bool
) -> None:
    a, b = whole(dtype, 3000), whole(dtype, 3000, limit=7 if small else EXACT)
    b[b == 0] = 1
    feeds = {"a": a, "b": b}
    quotient = np.trunc(a.astype(float) / b.astype(float)).astype(dtype)  # as C has it
    graph = graph_of(tmp_path, node("Div", "a", "b"), feeds, dtype, 21)
    np.testing.assert_array_equal(evaluate_graph(graph, feeds, F)["y"], quotient, strict=True)
    _, files, _ = compile_graph(graph)
    np.testing.assert_array_equal(play(files, feeds)["y"], quotient)
    for fmod in (0, 1):
        agrees(tmp_path, node("Mod", "a", "b", fmod=fmod), feeds, dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("op", ["Abs", "Neg", "Sign", "Relu"])
def test_functions_of_integers_agree(tmp_path: Path, op: str, dtype: str) -> None:
    x = whole(dtype, 300)
    x[:2] = np.iinfo(dtype).min if dtype in NARROW else -EXACT, 0
    agrees(tmp_path, node(op), {"x": x}, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_extremes_and_comparisons_of_integers_agree(tmp_path: Path, dtype: str) -> None:
    feeds = {"a": whole(dtype, 4, 50), "b": whole(dtype, 50)}
    feeds["a"][0] = feeds["b"]
    for op in ("Max", "Min"):
        agrees(tmp_path, node(op, "a", "b"), feeds, dtype, gl=False)
    for op in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"):
        agrees(tmp_path, node(op, "a", "b"), feeds, bool, gl=op == "Equal")


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8"])
def test_integers_are_clipped(tmp_path: Path, dtype: str) -> None:
    inits = {"low": np.array(3, dtype), "high": np.array(90, dtype)}
    feeds = {"x": whole(dtype, 400)}
    for names in (("low", "high"), ("low",), ("", "high")):
        made = node("Clip", "x", *names)
        compare_typed(tmp_path, made, inits, feeds, {"y": np.dtype(dtype)}, 13)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bits_are_combined(tmp_path: Path, op: str, dtype: str) -> None:
    feeds = {"a": whole(dtype, 500, limit=EXACT - 1), "b": whole(dtype, 500, limit=EXACT - 1)}
    agrees(tmp_path, node(op, "a", "b"), feeds, dtype)


@pytest.mark.parametrize("dtype", [*NARROW, "int32", "int64"])
def test_bits_are_inverted(tmp_path: Path, dtype: str) -> None:
    agrees(tmp_path, node("BitwiseNot"), {"x": whole(dtype, 500, limit=EXACT - 1)}, dtype)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_bits_are_shifted(tmp_path: Path, direction: str, dtype: str) -> None:
    limit = 300 if direction == "LEFT" else EXACT
    feeds = {"a": whole(dtype, 500, limit=limit), "b": whole(dtype, 500, limit=14)}
    bits = np.iinfo(dtype).bits
    feeds["b"] = np.minimum(feeds["b"], bits).astype(dtype)
    want = {"LEFT": np.left_shift, "RIGHT": np.right_shift}[direction](feeds["a"], feeds["b"])
    graph = graph_of(
        tmp_path, node("BitShift", "a", "b", direction=direction), feeds, np.dtype(dtype), 11
    )
    np.testing.assert_array_equal(evaluate_graph(graph, feeds, F)["y"], want, strict=True)
    _, files, _ = compile_graph(graph)
    np.testing.assert_array_equal(play(files, feeds)["y"], want)


@pytest.mark.parametrize("exponents", ["int32", "float32"])
def test_powers_of_integers_are_exact(tmp_path: Path, exponents: str) -> None:
    base, exponent = (a.reshape(-1) for a in np.meshgrid(np.arange(-9, 10), np.arange(25)))
    true = [int(x) ** int(y) for x, y in zip(base, exponent, strict=True)]
    within = np.array([abs(t) <= EXACT for t in true])
    feeds = {"a": base[within].astype(np.int32), "b": exponent[within].astype(exponents)}
    graph = graph_of(tmp_path, node("Pow", "a", "b"), feeds, np.int32, 15)
    want = np.array(true, object)[within].astype(np.int32)
    np.testing.assert_array_equal(evaluate_graph(graph, feeds, F)["y"], want, strict=True)
    _, files, _ = compile_graph(graph)
    np.testing.assert_array_equal(play(files, feeds)["y"], want)


def test_roots_of_integers_are_cut_off(tmp_path: Path) -> None:
    feeds = {"a": np.array([0, 1, 4, 10, 49, 50], np.int64)}
    proto = typed_model(node("Pow", "a", "e"), {"e": F(0.5)}, feeds, {"y": np.int64}, 15)
    graph = load_onnx(write(tmp_path, proto), Request())
    assert evaluate_graph(graph, feeds, F)["y"].tolist() == [0, 1, 2, 3, 7, 7]


@pytest.mark.parametrize("op", ["And", "Or", "Xor", "Equal"])
def test_truth_values_are_combined(tmp_path: Path, op: str) -> None:
    feeds = {"a": RNG.random((3, 1, 5)) < 0.5, "b": RNG.random((4, 5)) < 0.5}
    agrees(tmp_path, node(op, "a", "b"), feeds, bool)
    agrees(tmp_path, node("Not", "a"), {"a": feeds["a"]}, bool)


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float32"])
def test_any_type_is_selected_and_moved(tmp_path: Path, dtype: str) -> None:
    a = (RNG.random((2, 3, 4)) * 9).astype(dtype)
    feeds = {"c": RNG.random((3, 1)) < 0.5, "a": a, "b": a[::-1].copy()}
    nodes = [
        node("Where", "c", "a", "b", outputs=("w",)),
        node("Transpose", "w", outputs=("t",), perm=[2, 0, 1]),
        node("Concat", "t", "t", outputs=("d",), axis=1),
        node("Flatten", "d", outputs=("f",)),
        node("Unsqueeze", "f", "n"),
    ]
    proto = typed_model(nodes, {"n": np.array([0])}, feeds, {"y": np.dtype(dtype)}, 13)
    (theirs,) = ReferenceEvaluator(proto).run(None, feeds)
    graph = load_onnx(write(tmp_path, proto), Request())
    np.testing.assert_array_equal(evaluate_graph(graph, feeds, F)["y"], theirs, strict=True)
    _, files, _ = compile_graph(graph)
    np.testing.assert_array_equal(play(files, feeds)["y"], theirs, strict=True)


@pytest.mark.parametrize("narrow", [17, 22])  # float8e4m3fn, int4
def test_narrow_types_are_selected_and_moved(tmp_path: Path, narrow: int) -> None:
    feeds = {"x": (RNG.random((4, 3)) * 7).round().astype(F)}
    inits = {"i": np.array([2, 0]), "n": np.array([1, 2]), "e": np.array([1])}
    moves = [
        node("Cast", "x", outputs=("c",), to=narrow),
        node("Gather", "c", "i", outputs=("g",)),
        node("Tile", "g", "n", outputs=("t",)),
        node("Slice", "t", "e", "f", "e", outputs=("s",)),
        node("Split", "c", outputs=("p", "q"), axis=0),
        node("Where", "w", "p", "q", outputs=("u",)),
        node("Concat", "u", "g", outputs=("d",), axis=1),
        node("Cast", "d", outputs=("y",), to=1),
        node("Cast", "s", outputs=("z",), to=1),
    ]
    inits |= {"f": np.array([2]), "w": np.array([True, False, True])}
    proto = typed_model(moves, inits, feeds, {"y": F, "z": F})
    graph = load_onnx(write(tmp_path, proto), Request())
    found = evaluate_graph(graph, feeds)
    x = feeds["x"]
    np.testing.assert_array_equal(
        found["y"], np.concatenate([np.where(inits["w"], x[:2], x[2:]), x[[2, 0]]], 1)
    )
    np.testing.assert_array_equal(found["z"], np.tile(x[[2, 0]], (1, 2))[:, 1:2])


@pytest.mark.parametrize(
    ("source", "target"),
    [p for p in product(("float32", "bool", *INTEGERS), repeat=2) if p[0] != p[1]],
)
def test_types_are_cast(tmp_path: Path, source: str, target: str) -> None:
    if source == "float32":
        low = 0.0 if target.startswith("u") else -120.0
        x = RNG.uniform(low, 120, 200).astype(F)
        x[:2] = 0, -0.0
    else:
        x = (RNG.random(200) < 0.5) if source == "bool" else whole(source, 200, limit=EXACT)
    if target in ("uint32", "uint64") and source != "bool":
        x = np.clip(x, 0, None)  # a negative number would be beyond 2^24
    to = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    gl = "8" in source + target
    agrees(tmp_path, node("Cast", to=to), {"x": x}, np.dtype(target), 13, gl)


def test_a_cast_may_follow_another_tensor(tmp_path: Path) -> None:
    feeds = {"x": normal(30) * F(50), "like": whole("int16", 2)}
    agrees(tmp_path, node("CastLike", "x", "like"), feeds, np.int16, 19)


def test_constants_are_cast_in_their_own_type(tmp_path: Path) -> None:
    nodes = [
        node("Cast", "big", outputs=("c",), to=TensorProto.INT32),
        node("Cast", "c", outputs=("f",), to=TensorProto.FLOAT16),
        node("Cast", "f", outputs=("g",), to=TensorProto.FLOAT),
        node("Add", "x", "g"),
    ]
    inits = {"big": np.array([(1 << 40) + 5, 3])}
    compare_typed(tmp_path, nodes, inits, {"x": normal(2)}, {"y": F}, 13)


@pytest.mark.parametrize(("positive", "negative"), list(product([0, 1], repeat=2)))
def test_infinities_and_what_is_no_number_are_found(
    tmp_path: Path, positive: int, negative: int
) -> None:
    x = np.array([-np.inf, -3e38, -0.0, 1e-40, 1, 3e38, np.inf, np.nan], F)
    made = node("IsInf", detect_positive=positive, detect_negative=negative)
    agrees(tmp_path, made, {"x": x}, bool, 13)
    agrees(tmp_path, node("IsNaN"), {"x": x}, bool, 13)


def test_infinities_may_be_constants(tmp_path: Path) -> None:
    inits = {"m": np.array([[0, -np.inf, 0], [0, 0, np.inf]], F)}
    compare_typed(tmp_path, node("Add", "x", "m"), inits, {"x": normal(2, 3)}, {"y": F}, 13)


def test_narrow_integers_are_padded_and_pooled_as_they_are(tmp_path: Path) -> None:
    inits = {"p": np.array([0, 0, 1, 2, 0, 0, 0, -1]), "v": np.array(7, np.int32)}
    feeds = {"x": whole("int32", 1, 2, 4, 5)}
    made = node("Pad", "x", "p", "v")
    compare_typed(tmp_path, made, inits, feeds, {"y": np.int32}, 18)


def test_an_empty_input_has_a_type_alone(tmp_path: Path) -> None:
    feeds = {"x": normal(6), "like": np.zeros(0, np.uint8)}
    proto = typed_model(node("CastLike", "x", "like"), {}, feeds, {"y": np.uint8}, 19)
    graph = load_onnx(write(tmp_path, proto), Request())
    assert [i.name for i in graph.inputs] == ["x"]
    assert graph.outputs[0].value.type.dtype == "uint8"


def test_a_cast_that_changes_no_number_still_changes_the_type(tmp_path: Path) -> None:
    feeds = {"x": whole("int64", 2, 5)}
    graph = graph_of(tmp_path, node("Cast", to=TensorProto.FLOAT), feeds, F, 13)
    _, files, _ = compile_graph(graph)
    assert files.schedule["outputs"][0]["dtype"] == "float32"
    np.testing.assert_array_equal(play(files, feeds)["y"], feeds["x"].astype(F), strict=True)


@pytest.mark.parametrize("op", ["Mul", "Add"])
def test_integers_are_computed_in_32_bits_in_every_build(tmp_path: Path, op: str) -> None:
    feeds = {"a": whole("uint8", 4, 30), "b": whole("uint8", 4, 30)}
    nodes = [node(op, "a", "b", outputs=("c",)), node("Cast", "c", to=TensorProto.FLOAT)]
    graph = graph_of(tmp_path, nodes, feeds, F, 21)
    _, files, _ = compile_graph(graph, precision="mediump")
    fragments = [s for name, s in files.shaders.items() if name.endswith(".frag")]
    assert fragments
    assert all("precision highp float;" in s for s in fragments)
    want = evaluate_graph(graph, feeds)["y"]
    np.testing.assert_array_equal(play(files, feeds)["y"], want)
