"""Reductions, softmax, running sums, order and losses in ONNX, against ONNX Runtime."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto
from support.onnx_models import compare, model, node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.reference import evaluate_graph

S = (2, 3, 4, 5)
REDUCTIONS = [
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
]


def reduction(
    op: str, axes: list[int] | None, opset: int, **attributes: Any
) -> tuple[Any, dict[str, Any]]:
    """Return a node whose axes stand where its operator set wants them, and its initialisers."""
    if opset < (13 if op == "ReduceSum" else 18):
        return node(op, **({"axes": axes} if axes is not None else {}), **attributes), {}
    if axes is None:
        return node(op, **attributes), {}
    return node(op, "x", "axes", **attributes), {"axes": np.array(axes, np.int64)}


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("opset", [1, 11, 13, 18])
@pytest.mark.parametrize("axes", [None, [1], [-1, 0], [3, 2]], ids=str)
@pytest.mark.parametrize("keepdims", [None, 0, 1])
def test_a_reduction_agrees(
    tmp_path: Path, op: str, opset: int, axes: list[int] | None, keepdims: int | None
) -> None:
    if opset < 11 and axes and min(axes) < 0:
        return
    attributes = {} if keepdims is None else {"keepdims": keepdims}
    nodes, inits = reduction(op, axes, opset, **attributes)
    x = np.abs(normal(*S)) if op == "ReduceLogSum" else normal(*S)
    compare(tmp_path, nodes, inits, opset, x=x)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_no_axes_mean_all_or_with_an_attribute_none(tmp_path: Path, op: str) -> None:
    x = np.abs(normal(2, 3))
    nodes, inits = reduction(op, [], 18)
    compare(tmp_path, nodes, inits, 18, x=x)
    nodes, inits = reduction(op, [], 18, noop_with_empty_axes=1)
    path = write(tmp_path, model(nodes, inits, {"x": x.shape}, 18))
    expected = {
        "ReduceL2": np.abs(x),
        "ReduceLogSum": np.log(x),
        "ReduceSumSquare": x * x,
    }.get(op, x)
    found = evaluate_graph(load_onnx(path, Request()), {"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd"])
def test_a_reduction_of_integers_agrees(tmp_path: Path, op: str) -> None:
    reduce, inits = reduction(op, [1], 18)
    reduce.input[0], reduce.output[0] = "i", "j"
    nodes = [
        node("Cast", "x", outputs=("i",), to=TensorProto.INT32),
        reduce,
        node("Cast", "j", to=TensorProto.FLOAT),
    ]
    x = np.random.default_rng(0).integers(-9, 10, (4, 3, 5)).astype(np.float32)
    compare(tmp_path, nodes, inits, 18, x=x)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_truth_values_have_extrema_since_operator_set_20(tmp_path: Path, op: str) -> None:
    nodes = [
        node("Cast", "x", outputs=("b",), to=TensorProto.BOOL),
        node(op, "b", "axes", outputs=("c",)),
        node("Cast", "c", to=TensorProto.FLOAT),
    ]
    x = np.array([[0, 1], [1, 1], [0, 0]], np.float32)
    inits = {"axes": np.array([1])}
    compare(tmp_path, nodes, inits, 20, x=x)
    text = refusal(write(tmp_path, model(nodes, inits, {"x": (3, 2)}, 18)))
    assert "a tensor of bool" in text


def test_axes_that_are_data_are_refused(tmp_path: Path) -> None:
    nodes = [
        node("Cast", "x", outputs=("axes",), to=TensorProto.INT64),
        node("ReduceSum", "x", "axes"),
    ]
    text = refusal(write(tmp_path, model(nodes, {}, {"x": (1,)}, 13)))
    assert "the axes given to ReduceSum must be known at compile time" in text


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("opset", [7, 11, 13])
@pytest.mark.parametrize("attributes", [{}, {"axis": 2, "keepdims": 0}, {"axis": -1}], ids=str)
@pytest.mark.parametrize("last", [None, 0, 1])
def test_positions_of_extrema_agree(
    tmp_path: Path, op: str, opset: int, attributes: dict[str, int], last: int | None
) -> None:
    if (last is not None and opset < 12) or (opset < 11 and attributes.get("axis", 0) < 0):
        return
    more = {} if last is None else {"select_last_index": last}
    nodes = [
        node(op, "x", outputs=("i",), **attributes, **more),
        node("Cast", "i", to=TensorProto.FLOAT),
    ]
    x = np.random.default_rng(0).integers(-2, 3, S).astype(np.float32)
    compare(tmp_path, nodes, None, opset, x=x)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [1, 11, 13])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3, -1])
def test_softmax_agrees_before_and_after_its_axis_changed(
    tmp_path: Path, op: str, opset: int, axis: int | None
) -> None:
    if opset < 11 and axis == -1:
        return
    x = normal(*S) * 4
    x[0, 0] = x[0, 1]  # equal scores, of which Hardmax takes the first
    compare(tmp_path, node(op, **({} if axis is None else {"axis": axis})), None, opset, x=x)


@pytest.mark.parametrize("op", ["CumSum"])
@pytest.mark.parametrize(("exclusive", "reverse"), list(product([0, 1], repeat=2)))
@pytest.mark.parametrize("axis", [0, 2, -1])
def test_running_sums_agree(
    tmp_path: Path, op: str, exclusive: int, reverse: int, axis: int
) -> None:
    inits = {"axis": np.array(axis, np.int32)}
    compare(
        tmp_path, node(op, "x", "axis", exclusive=exclusive, reverse=reverse), inits, 14, (2, 3, 5)
    )


@pytest.mark.parametrize("known", [False, True])
def test_the_axis_of_a_running_sum_may_be_a_list_of_one(tmp_path: Path, known: bool) -> None:
    inits = {"axis": np.array([1]), "k": np.arange(6, dtype=np.float32).reshape(2, 3)}
    nodes = [node("CumSum", "k" if known else "x", "axis", outputs=("s",)), node("Add", "s", "x")]
    compare(tmp_path, nodes, inits, 14, (2, 3))


@pytest.mark.parametrize(("exclusive", "reverse"), list(product([0, 1], repeat=2)))
def test_running_products_multiply_what_came_before(
    tmp_path: Path, exclusive: int, reverse: int
) -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    wanted = {
        (0, 0): [[1, 2, 6], [4, 20, 120]],
        (1, 0): [[1, 1, 2], [1, 4, 20]],
        (0, 1): [[6, 6, 3], [120, 30, 6]],
        (1, 1): [[6, 3, 1], [30, 6, 1]],
    }[exclusive, reverse]
    nodes = node("CumProd", "x", "axis", exclusive=exclusive, reverse=reverse)
    path = write(tmp_path, model(nodes, {"axis": np.array(-1)}, {"x": (2, 3)}, 26))
    found = evaluate_graph(load_onnx(path, Request()), {"x": x})["y"]
    assert np.array_equal(found, np.array(wanted))


TOP_K: list[tuple[int, dict[str, int]]] = [
    *((opset, {}) for opset in (9, 10, 11)),
    *((opset, {"axis": 1}) for opset in (9, 10, 11)),
    (11, {"largest": 0}),
    (11, {"axis": 0, "largest": 1}),
    (11, {"axis": -2, "largest": 0, "sorted": 1}),
]


@pytest.mark.parametrize(("opset", "attributes"), TOP_K, ids=str)
def test_the_largest_elements_and_their_places_agree(
    tmp_path: Path, opset: int, attributes: dict[str, int]
) -> None:
    if opset < 10:
        inits, first = {}, node("TopK", "x", outputs=("v", "i"), k=2, **attributes)
    else:
        inits = {"k": np.array([2])}
        first = node("TopK", "x", "k", outputs=("v", "i"), **attributes)
    nodes = [first, node("Cast", "i", outputs=("j",), to=TensorProto.FLOAT)]
    x = np.random.default_rng(0).integers(-2, 3, (2, 5, 7)).astype(np.float32)
    compare(tmp_path, nodes, inits, opset, x=x, outputs=("v", "j"))


@pytest.mark.parametrize("k", [0, 8])
def test_more_elements_than_there_are_cannot_be_the_largest(tmp_path: Path, k: int) -> None:
    nodes = node("TopK", "x", "k", outputs=("y", "i"))
    text = refusal(write(tmp_path, model(nodes, {"k": np.array([k])}, {"x": (2, 7)}, 11)))
    assert f"K=[{k}] does not fit an axis of 7 elements" in text


def loss(
    op: str, shape: tuple[int, ...], weights: bool, **attributes: Any
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return nodes, initialisers and feeds; labels are fed as floats."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, shape[1], (shape[0], *shape[2:]))
    if "ignore_index" in attributes:
        labels.flat[::3] = attributes["ignore_index"]
    inits = {"w": rng.uniform(0.2, 2, shape[1]).astype(np.float32)} if weights else {}
    scores = rng.standard_normal(shape).astype(np.float32)
    if op == "NegativeLogLikelihoodLoss":
        scores -= np.log(np.exp(scores).sum(1, keepdims=True))
    nodes = [
        node("Cast", "t", outputs=("l",), to=TensorProto.INT64),
        node(op, "x", "l", *inits, **attributes),
    ]
    return nodes, inits, {"x": scores, "t": labels.astype(np.float32)}


LOSSES = list(
    product(
        ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"],
        [(4, 5), (3, 5, 4), (2, 5, 3, 4)],
        [True, False],
        ["mean", "sum", "none"],
        [None, 2, -100, 7],
    )
)


@pytest.mark.parametrize(("op", "shape", "weights", "how", "ignore"), LOSSES, ids=str)
def test_losses_are_those_of_torch(
    tmp_path: Path, op: str, shape: tuple[int, ...], weights: bool, how: str, ignore: int | None
) -> None:
    attributes: dict[str, Any] = {"reduction": how}
    if ignore is not None:
        attributes["ignore_index"] = ignore
    nodes, inits, feeds = loss(op, shape, weights, **attributes)
    path = write(tmp_path, model(nodes, inits, {k: v.shape for k, v in feeds.items()}, 13))
    found = evaluate_graph(load_onnx(path, Request()), feeds)["y"]
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    function = functional.nll_loss if op.startswith("Neg") else functional.cross_entropy
    wanted = function(
        torch.tensor(feeds["x"]),
        torch.tensor(feeds["t"]).long(),
        torch.tensor(inits["w"]) if weights else None,
        ignore_index=-1 if ignore is None else ignore,
        reduction=how,
    ).numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_the_second_result_of_a_loss_is_the_logarithm_of_the_softmax(tmp_path: Path) -> None:
    nodes, inits, feeds = loss("SoftmaxCrossEntropyLoss", (3, 5, 2), True)
    nodes[1].output.append("p")
    shapes = {k: v.shape for k, v in feeds.items()}
    path = write(tmp_path, model(nodes, inits, shapes, 13, outputs=("y", "p")))
    found = evaluate_graph(load_onnx(path, Request()), feeds)["p"]
    np.testing.assert_allclose(np.exp(found).sum(1), 1, rtol=1e-6)
    x = feeds["x"].astype(np.float64)
    wanted = x - np.log(np.exp(x).sum(1, keepdims=True))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "w", "says"),
    [
        ((3, 2), (5,), "labels int64 3x2 do not fit scores of shape [3, 5]"),
        ((3,), (4,), "weights of shape [4] do not fit 5 classes"),
    ],
    ids=str,
)
def test_losses_of_shapes_that_do_not_fit_are_refused(
    tmp_path: Path, labels: tuple[int, ...], w: tuple[int, ...], says: str
) -> None:
    nodes, _, _ = loss("NegativeLogLikelihoodLoss", (3, 5), True)
    proto = model(nodes, {"w": normal(*w)}, {"x": (3, 5), "t": labels}, 13)
    assert says in refusal(write(tmp_path, proto))


def test_swiglu_gates_one_tensor_by_the_other(tmp_path: Path) -> None:
    a, b = normal(3, 4), normal(3, 4, seed=1)
    nodes = node("SwiGLU", "a", "b", alpha=1.5)
    path = write(tmp_path, model(nodes, {}, {"a": a.shape, "b": b.shape}, 28))
    found = evaluate_graph(load_onnx(path, Request()), {"a": a, "b": b})["y"]
    np.testing.assert_allclose(found, a / (1 + np.exp(-1.5 * a)) * b, rtol=1e-6)
