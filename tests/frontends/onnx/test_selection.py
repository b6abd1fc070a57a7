"""Operators that pick, write or make elements by indices, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from support.onnx_models import compare_typed, node, normal, refusal, typed_model, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.graph import Graph
from shadergen.ir.reference import evaluate_graph

F = np.float32
RNG = np.random.default_rng(13)


def at(size: int, *shape: int, dtype: Any = np.int64) -> np.ndarray:
    return RNG.integers(-size, size, shape).astype(dtype)


def imported(tmp_path: Path, nodes: Any, inits: Any, feeds: Any, dtype: Any, opset: int) -> Graph:
    return load_onnx(
        write(tmp_path, typed_model(nodes, inits, feeds, {"y": dtype}, opset)), Request()
    )


X = normal(3, 5, 4)
Case = tuple[Any, dict[str, Any], int]
CASES: dict[str, Case] = {}
for axis, size in enumerate(X.shape):
    for opset in (11, 13):
        CASES[f"Gather {axis} {opset}"] = (
            node("Gather", "x", "i", axis=axis - 3),
            {"i": at(size, 2, 3)},
            opset,
        )
        CASES[f"GatherElements {axis} {opset}"] = (
            node("GatherElements", "x", "i", axis=axis),
            {"i": at(size, *X.shape)},
            opset,
        )
    once = np.argsort(RNG.random(X.shape), axis)
    for name, version in (("Scatter", 9), ("ScatterElements", 11), ("ScatterElements", 18)):
        CASES[f"{name} {axis} {version}"] = (
            node(name, "x", "i", "u", axis=axis),
            {"i": once[:2, :3, :3] if axis == 2 else once[..., :3], "u": normal(*X.shape)},
            version,
        )
    for reduction, version in (("add", 16), ("mul", 18), ("max", 18), ("min", 18)):
        CASES[f"ScatterElements {axis} {reduction}"] = (
            node("ScatterElements", "x", "i", "u", axis=axis, reduction=reduction),
            {"i": at(size, *X.shape), "u": normal(*X.shape)},
            version,
        )
for _made, inits, _opset in CASES.values():
    if "u" in inits:
        inits["u"] = normal(*inits["i"].shape, seed=len(CASES))
for reduction in ("none", "add", "mul", "max", "min"):
    indices = np.unique(RNG.integers(0, 3, (7, 2)), axis=0) if reduction == "none" else at(3, 7, 2)
    attributes = {} if reduction == "none" else {"reduction": reduction}
    CASES[f"ScatterND {reduction}"] = (
        node("ScatterND", "x", "i", "u", **attributes),
        {"i": indices, "u": normal(len(indices), 4)},
        18,
    )
CASES |= {
    "Gather scalar": (node("Gather", "x", "i", axis=1), {"i": np.array(-2)}, 13),
    "Gather int32": (node("Gather", "x", "i"), {"i": at(3, 4, dtype=np.int32)}, 13),
    "GatherND": (node("GatherND", "x", "i"), {"i": at(3, 6, 2)}, 11),
    "GatherND batch": (node("GatherND", "x", "i", batch_dims=1), {"i": at(4, 3, 6, 2)}, 13),
    "OneHot": (node("OneHot", "i", "d", "v", axis=1), {"i": at(6, 2, 3), "d": np.array(6)}, 11),
    "ReverseSequence": (
        node("ReverseSequence", "x", "n", time_axis=1, batch_axis=0),
        {"n": np.array([1, 5, 3])},
        10,
    ),
}
KNOWN: dict[str, Case] = {
    "Expand": (node("Expand", "x", "s"), {"s": np.array([2, 1, 1, 4])}, 13),
    "Expand nothing": (node("Expand", "x", "s"), {"s": np.array([1, 1])}, 8),
    "Tile": (node("Tile", "x", "s"), {"s": np.array([2, 1, 3])}, 13),
    "Tile nothing": (node("Tile", "x", "s"), {"s": np.array([1, 1, 1])}, 6),
    "Trilu": (node("Trilu", "x", "k", upper=0), {"k": np.array(-1)}, 14),
    "Trilu default": (node("Trilu"), {}, 14),
    "Compress": (
        node("Compress", "x", "c", axis=-2),
        {"c": np.array([True, False, True, True])},
        11,
    ),
    "Compress flat": (node("Compress", "x", "c"), {"c": RNG.random(50) < 0.3}, 9),
    "CenterCropPad": (
        node("CenterCropPad", "x", "s", axes=[1, -1]),
        {"s": np.array([2, 9])},
        18,
    ),
    "Pad axes": (
        node("Pad", "x", "p", "", "a", mode="reflect"),
        {"p": np.array([2, 1, 0, 3]), "a": np.array([-1, 1])},
        18,
    ),
    "Pad wrap": (node("Pad", "x", "p", mode="wrap"), {"p": np.array([0, 2, 0, 0, 4, 9])}, 19),
    "Pad infinity": (
        node("Pad", "x", "p", "v"),
        {"p": np.array([0, 2, 0, 0, 1, 0]), "v": F(-np.inf)},
        13,
    ),
    "Slice back": (
        node("Slice", "x", "b", "e", "a", "s"),
        {
            "b": np.array([-1, 3]),
            "e": np.array([-99, 0]),
            "a": np.array([1, 2]),
            "s": np.array([-2, -1]),
        },
        13,
    ),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_indices_may_be_known_or_computed(tmp_path: Path, case: str, known: bool) -> None:
    made, inits, opset = CASES[case]
    feeds: dict[str, Any] = {"x": X} if "x" in made.input else {"v": F([-1, 4])}
    if known and "x" not in made.input:
        feeds["i"] = inits["i"]
    fixed = {n: v for n, v in inits.items() if n not in feeds}
    if not known:
        feeds |= {n: fixed.pop(n) for n in list(fixed) if n != "d"}
    compare_typed(tmp_path, made, fixed, feeds, {"y": F}, opset)


@pytest.mark.parametrize("dtype", [F, np.int32, np.bool_], ids=str)
@pytest.mark.parametrize("case", KNOWN)
def test_what_is_known_moves_tensors_of_any_type(tmp_path: Path, case: str, dtype: Any) -> None:
    made, inits, opset = KNOWN[case]
    if dtype is not F and case == "Pad infinity":
        inits = {**inits, "v": np.array(1, dtype)}
    x = X if dtype is F else (X * 3).astype(dtype)
    proto = typed_model(made, inits, {"x": x}, {"y": dtype}, opset)
    (theirs,) = ReferenceEvaluator(proto).run(None, {"x": x})
    graph = load_onnx(write(tmp_path, proto), Request())
    found = evaluate_graph(graph, {"x": x}, F)["y"]
    np.testing.assert_array_equal(found, theirs, strict=True)


def test_columns_are_extracted(tmp_path: Path) -> None:
    for shape in ((3, 5), (5,), (2, 3, 5)):
        made = node("ArrayFeatureExtractor", "x", "i")
        made.domain = "ai.onnx.ml"
        feeds = {"x": normal(*shape)}
        proto = typed_model(made, {"i": np.array([[4, 0, 2]])}, feeds, {"y": F}, 17)
        proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
        graph = load_onnx(write(tmp_path, proto), Request())
        want = np.take(feeds["x"], [4, 0, 2], -1)
        want = want[np.newaxis] if len(shape) == 1 else want
        np.testing.assert_array_equal(evaluate_graph(graph, feeds, F)["y"], want)


@pytest.mark.parametrize("k", [-1, 0, 2])
@pytest.mark.parametrize("dtype", [None, TensorProto.INT32, TensorProto.DOUBLE])
def test_an_identity_matrix_takes_its_shape_from_another(
    tmp_path: Path, k: int, dtype: int | None
) -> None:
    attributes = {} if dtype is None else {"dtype": dtype}
    nodes = [
        node("EyeLike", "x", outputs=("e",), k=k, **attributes),
        node("Cast", "e", outputs=("f",), to=TensorProto.FLOAT),
        node("Add", "x", "f"),
    ]
    compare_typed(tmp_path, nodes, {}, {"x": normal(3, 5)}, {"y": F}, 9)


@pytest.mark.parametrize("opset", [7, 10, 12, 13])
def test_dropout_keeps_everything(tmp_path: Path, opset: int) -> None:
    mask = np.bool_ if opset >= 10 else F
    made = node("Dropout", outputs=("y", "m"), **({} if opset >= 12 else {"ratio": 0.4}))
    graph = load_onnx(
        write(tmp_path, typed_model(made, {}, {"x": X}, {"y": F, "m": mask}, opset)), Request()
    )
    found = evaluate_graph(graph, {"x": X}, F)
    np.testing.assert_array_equal(found["y"], X)
    np.testing.assert_array_equal(found["m"], np.ones(X.shape, mask), strict=True)


def test_dropout_of_nothing_keeps_everything_in_training_too(tmp_path: Path) -> None:
    made = node("Dropout", "x", "r", "t", seed=3)
    inits = {"r": F(0), "t": np.array(True)}
    compare_typed(tmp_path, made, inits, {"x": X}, {"y": F}, 13)


@pytest.mark.parametrize("shape", [(1, 2, 6, 4), (3, 5, 2, 8)], ids=str)
def test_space_becomes_depth_in_any_batch(tmp_path: Path, shape: tuple[int, ...]) -> None:
    made = node("SpaceToDepth", blocksize=2)
    compare_typed(tmp_path, made, {}, {"x": normal(*shape)}, {"y": F}, 13)
    assert [type(n.op).__name__ for n in load_onnx(tmp_path / "model.onnx", Request()).nodes] == [
        "Rearrange"
    ]


def test_places_of_what_is_not_zero_are_computed_when_compiling(tmp_path: Path) -> None:
    nodes = [
        node("NonZero", "m", outputs=("i",)),
        node("Transpose", "i", outputs=("t",)),
        node("GatherND", "x", "t"),
    ]
    inits = {"m": RNG.random(X.shape) < 0.2}
    compare_typed(tmp_path, nodes, inits, {"x": X}, {"y": F}, 13)


def test_a_cache_is_written_at_places_that_are_computed(tmp_path: Path) -> None:
    feeds = {"x": normal(2, 3, 6, 4), "u": normal(2, 3, 2, 4), "w": np.array([1, 4])}
    for mode in ("linear", "circular"):
        made = node("TensorScatter", "x", "u", "w", mode=mode)
        proto = typed_model(made, {}, feeds, {"y": F}, 24)
        (theirs,) = ReferenceEvaluator(proto).run(None, feeds)
        graph = load_onnx(write(tmp_path, proto), Request())
        np.testing.assert_array_equal(evaluate_graph(graph, feeds, F)["y"], theirs)
    feeds.pop("w")
    graph = imported(tmp_path, node("TensorScatter", "x", "u"), {}, feeds, F, 24)
    want = feeds["x"].copy()
    want[:, :, :2] = feeds["u"]
    np.testing.assert_array_equal(evaluate_graph(graph, feeds, F)["y"], want)


def test_indices_that_are_floats_lose_their_fraction(tmp_path: Path) -> None:
    feeds = {"i": np.array([0.9, -1.2, 2.0], F), "v": F([0, 1])}
    graph = imported(tmp_path, node("OneHot", "i", "d", "v"), {"d": np.array(4)}, feeds, F, 11)
    want = np.eye(4)[[0, 3, 2]]
    np.testing.assert_array_equal(evaluate_graph(graph, feeds, F)["y"], want)


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a computed condition": (
        [node("Greater", "x", "t", outputs=("c",)), node("Compress", "x", "c")],
        {"t": F(0)},
        "error[SG0201]: Compress with a condition computed from the inputs is not implemented\n"
        "  --> model.onnx: node y (Compress), inputs 3x5x4, 3x5x4\n"
        "  = why: the size of the result depends on the data, and textures have fixed sizes\n"
        "  = help: end the model before the operator with --outputs c, and run the "
        "operator in the application",
    ),
    "nothing kept": (
        node("Compress", "x", "c"),
        {"c": np.zeros(3, bool)},
        "error[SG0206]: Compress keeps nothing: the result is empty",
    ),
    "places of what is computed": (
        [node("NonZero", "x", outputs=("i",)), node("Cast", "i", to=TensorProto.FLOAT)],
        {},
        "error[SG0201]: operator NonZero is not implemented for tensors computed from the inputs",
    ),
    "repeats": (
        node("Tile", "x", "s"),
        {"s": np.array([2, 2])},
        "error[SG0105]: Tile needs 3 repeats for rank 3, not 2",
    ),
    "out of range": (
        [
            node("Relu", "x", outputs=("r",)),
            node("GatherND", "k", "i", outputs=("g",)),
            node("Add", "r", "g"),
        ],
        {"k": normal(2, 2), "i": np.array([[2]])},
        "error[SG0205]: the operands do not fit GatherND",
    ),
    "training": (
        node("Dropout", "x", "r", "t"),
        {"r": F(0.5), "t": np.array(True)},
        "error[SG0202]: Dropout with training_mode=1 is not implemented",
    ),
    "shape of a matrix": (
        node("EyeLike"),
        {},
        "error[SG0105]: EyeLike needs rank 2, not 3",
    ),
    "type of a matrix": (
        [node("Flatten", "x", outputs=("f",)), node("EyeLike", "f", dtype=TensorProto.STRING)],
        {},
        "error[SG0202]: attribute dtype=string of EyeLike is not implemented",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_implemented_is_refused_by_name(tmp_path: Path, case: str) -> None:
    nodes, inits, expected = REFUSED[case]
    text = refusal(write(tmp_path, typed_model(nodes, inits, {"x": X}, {"y": F}, 16)))
    assert text.startswith(expected), text


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("amounts", [[0, 2, -1, 0, -1, 1], [0, -2, 2, 0, 1, -1]], ids=str)
def test_negative_padding_cuts_off(tmp_path: Path, mode: str, amounts: list[int]) -> None:
    made = node("Pad", "x", "p", mode=mode)
    compare_typed(tmp_path, made, {"p": np.array(amounts)}, {"x": X}, {"y": F}, 19)
