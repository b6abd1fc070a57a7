"""Pooling and convolution of every kind, against ONNX Runtime or ONNX's own reference."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_shapes
from support.onnx_models import compare, model, node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.ops import MaxUnpool
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path

    from shadergen.ir.graph import Graph

MAPS = (2, 3, 9, 8)
Attributes = dict[str, Any]

WINDOWS: list[Attributes] = [
    {"kernel_shape": [2, 3]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [0, 1, 2, 0]},
    {"kernel_shape": [1, 1], "strides": [2, 3]},
    *(
        {"kernel_shape": [3, 2], "strides": s, "auto_pad": auto}
        for auto in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
        for s in ([1, 1], [2, 3])
    ),
]
CEIL: list[Attributes] = [
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    {"kernel_shape": [2, 2], "strides": [2, 3], "pads": [1, 0, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [3, 2], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "strides": [3, 2], "auto_pad": "VALID", "ceil_mode": 1},
]
HOLES: list[Attributes] = [
    {"kernel_shape": [3, 2], "dilations": [2, 3]},
    {"kernel_shape": [2, 3], "dilations": [3, 1], "pads": [1, 1, 0, 1], "strides": [2, 2]},
    {"kernel_shape": [3, 3], "dilations": [2, 2], "ceil_mode": 1, "strides": [2, 2]},
]


def reference(tmp_path: Path, nodes: Any, opset: int, feeds: Any, inits: Any = None) -> Graph:
    """Assert that the imported graph and ONNX's reference agree; return the graph."""
    inits = inits or {}
    proto = model(nodes, inits, {k: v.shape for k, v in feeds.items()}, opset)
    graph = load_onnx(write(tmp_path, proto), Request())
    want = ReferenceEvaluator(proto).run(None, feeds)
    got = evaluate_graph(graph, feeds)
    for output, expected in zip(graph.outputs, want, strict=True):
        np.testing.assert_allclose(got[output.name], expected, atol=1e-5, rtol=1e-5)
    return graph


@pytest.mark.parametrize("attributes", WINDOWS, ids=str)
@pytest.mark.parametrize("opset", [7, 8, 12])
def test_max_pool_agrees(tmp_path: Path, attributes: Attributes, opset: int) -> None:
    compare(tmp_path, node("MaxPool", **attributes), opset=opset, shape=MAPS)


@pytest.mark.parametrize("attributes", [*CEIL, *HOLES], ids=str)
@pytest.mark.parametrize("opset", [10, 22])
def test_max_pool_with_holes_and_rounding_up_agrees(
    tmp_path: Path, attributes: Attributes, opset: int
) -> None:
    compare(tmp_path, node("MaxPool", **attributes), opset=opset, shape=MAPS)


@pytest.mark.parametrize("attributes", [*WINDOWS, *CEIL, *HOLES], ids=str)
@pytest.mark.parametrize("storage_order", [0, 1])
def test_the_places_of_maxima_agree(
    tmp_path: Path, attributes: Attributes, storage_order: int
) -> None:
    pool = node("MaxPool", outputs=("y", "i"), storage_order=storage_order, **attributes)
    as_float = node("Cast", "i", outputs=("f",), to=1)
    x = np.round(normal(*MAPS))  # many are equal
    compare(tmp_path, [pool, as_float], opset=12, x=x, outputs=("y", "f"))


@pytest.mark.parametrize("attributes", WINDOWS, ids=str)
@pytest.mark.parametrize("count_include_pad", [0, 1])
@pytest.mark.parametrize("opset", [7, 11])
def test_average_pool_agrees(
    tmp_path: Path, attributes: Attributes, count_include_pad: int, opset: int
) -> None:
    pool = node("AveragePool", count_include_pad=count_include_pad, **attributes)
    compare(tmp_path, pool, opset=opset, shape=MAPS)


@pytest.mark.parametrize("attributes", [*CEIL, *HOLES], ids=str)
@pytest.mark.parametrize("count_include_pad", [0, 1])
def test_average_pool_with_holes_and_rounding_up_agrees(
    tmp_path: Path, attributes: Attributes, count_include_pad: int
) -> None:
    pool = node("AveragePool", count_include_pad=count_include_pad, **attributes)
    compare(tmp_path, pool, opset=19, shape=MAPS)


@pytest.mark.parametrize("attributes", WINDOWS, ids=str)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pool_agrees(tmp_path: Path, attributes: Attributes, p: int) -> None:
    compare(tmp_path, node("LpPool", p=p, **attributes), opset=11, shape=MAPS)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("dilation", [1, 2])
def test_pools_that_round_up_without_padding_have_the_shape_that_onnx_infers(
    tmp_path: Path, op: str, dilation: int
) -> None:
    for size, kernel, stride in product((7, 12, 13), (1, 2, 3), (1, 2, 3)):
        windows = {"kernel_shape": [kernel], "strides": [stride], "dilations": [dilation]}
        pool = node(op, auto_pad="VALID", ceil_mode=1, **windows)
        inferred = infer_shapes(model(pool, {}, {"x": (1, 2, size)}, 22), strict_mode=True)
        path = write(tmp_path, inferred)
        found = load_onnx(path, Request()).outputs[0].value.shape
        declared = inferred.graph.output[0].type.tensor_type.shape
        assert found == tuple(d.dim_value for d in declared.dim)
        compare(tmp_path, pool, opset=22, shape=(1, 2, size))


@pytest.mark.parametrize("attributes", HOLES, ids=str)
def test_lp_pool_with_holes_agrees(tmp_path: Path, attributes: Attributes) -> None:
    compare(tmp_path, node("LpPool", **attributes), opset=18, shape=MAPS)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("axes", [1, 3])
def test_pooling_over_other_numbers_of_axes_agrees(tmp_path: Path, op: str, axes: int) -> None:
    attributes = {"kernel_shape": [2] * axes, "strides": [2] * axes, "pads": [1] * 2 * axes}
    compare(tmp_path, node(op, **attributes), opset=11, shape=(2, 3, *(7, 6, 5)[:axes]))


@pytest.mark.parametrize("op", ["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"])
@pytest.mark.parametrize("shape", [MAPS, (2, 3, 7), (1, 2, 3, 4, 5)], ids=str)
def test_global_pooling_agrees(tmp_path: Path, op: str, shape: tuple[int, ...]) -> None:
    compare(tmp_path, node(op), opset=7, shape=shape)


@pytest.mark.parametrize("p", [1, 3])
def test_global_norms_of_other_orders_agree(tmp_path: Path, p: int) -> None:
    compare(tmp_path, node("GlobalLpPool", p=p), opset=7, shape=MAPS)


def test_the_order_of_a_norm_was_any_number_at_first(tmp_path: Path) -> None:
    x = np.abs(normal(1, 2, 4, 4))
    for op, more, kernel in (("GlobalLpPool", {}, 4), ("LpPool", {"kernel_shape": [2, 2]}, 2)):
        proto = model(node(op, p=1.5, **more), {}, {"x": x.shape}, 1)
        got = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": x})["y"]
        first = x[:, :, :kernel, :kernel].reshape(2, -1)
        want = np.sum(first**1.5, 1) ** (1 / 1.5)
        np.testing.assert_allclose(got[0, :, 0, 0], want, rtol=1e-6)


UNPOOL: list[Attributes] = [
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
]


@pytest.mark.parametrize("attributes", UNPOOL, ids=str)
@pytest.mark.parametrize("near", [True, False])
def test_max_unpool_agrees_wherever_it_looks(
    tmp_path: Path, attributes: Attributes, near: bool
) -> None:
    sizes = (7, 7) if "pads" in attributes else (8, 6)
    x = normal(2, 3, *sizes)
    nodes = [
        node("MaxPool", outputs=("m", "i"), **attributes),
        node("Identity", "i", outputs=("j",)) if near else node("Add", "i", "zero", outputs=("j",)),
        node("MaxUnpool", "m", "j", **attributes),
    ]
    graph = reference(tmp_path, nodes, 12, {"x": x}, {"zero": np.zeros(1, np.int64)})
    (op,) = (n.op for n in graph.nodes if isinstance(n.op, MaxUnpool))
    assert bool(op.kernel) == near


def test_max_unpool_adds_zeros_where_the_result_is_to_be_larger(tmp_path: Path) -> None:
    nodes = [
        node("MaxPool", outputs=("m", "i"), kernel_shape=[2, 2], strides=[2, 2]),
        node("MaxUnpool", "m", "i", "s", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    inits = {"s": np.array([1, 2, 6, 7])}
    reference(tmp_path, nodes, 12, {"x": normal(1, 2, 4, 6)}, inits)


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [1, 2, 1], "pads": [1, 0, 2, 0, 1, 1]},
        {"strides": [1, 2, 1], "auto_pad": "SAME_UPPER"},
        {"dilations": [1, 2, 3]},
    ],
    ids=str,
)
def test_conv_over_three_axes_agrees(
    tmp_path: Path, attributes: Attributes, computed: bool
) -> None:
    x, w, b = normal(1, 4, 5, 6, 7), normal(6, 2, 2, 3, 2, seed=1), normal(6, seed=2)
    inits = {} if computed else {"w": w, "b": b}
    feeds = {"w": w, "b": b} if computed else {}
    compare(
        tmp_path, node("Conv", "x", "w", "b", group=2, **attributes), inits, 11, x=x, feeds=feeds
    )


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [1, 2, 2], "pads": [1, 0, 1, 0, 1, 1], "output_padding": [0, 1, 0]},
        {"strides": [2, 2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 1, 2], "output_shape": [9, 7, 13]},
    ],
    ids=str,
)
def test_conv_transpose_over_three_axes_agrees(
    tmp_path: Path, attributes: Attributes, computed: bool
) -> None:
    x, w, b = normal(1, 4, 4, 5, 6), normal(4, 3, 2, 3, 2, seed=1), normal(6, seed=2)
    inits = {} if computed else {"w": w, "b": b}
    feeds = {"w": w, "b": b} if computed else {}
    conv = node("ConvTranspose", "x", "w", "b", group=2, **attributes)
    compare(tmp_path, conv, inits, 11, x=x, feeds=feeds)


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_weights_may_be_computed(tmp_path: Path, op: str) -> None:
    feeds = {"w": normal(3, 3, 3, 2, seed=1), "b": normal(3, seed=2)}
    compare(tmp_path, node(op, "x", "w", "b", strides=[2, 1]), {}, 11, MAPS, feeds=feeds)


def test_negative_padding_of_conv_transpose_makes_its_result_larger(tmp_path: Path) -> None:
    conv = node("ConvTranspose", "x", "w", "b", strides=[2, 2], pads=[-1, 0, -2, -1])
    inits = {"w": normal(3, 2, 3, 3, seed=1), "b": normal(2, seed=2)}
    reference(tmp_path, conv, 11, {"x": normal(1, 3, 4, 5)}, inits)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_deform_conv_agrees(tmp_path: Path, masked: bool, biased: bool) -> None:
    inits = {"w": normal(4, 2, 3, 2, seed=1), "o": normal(1, 24, 5, 3, seed=2)}
    inits |= {"b": normal(4, seed=3)} if biased else {}
    inits |= {"m": normal(1, 12, 5, 3, seed=4)} if masked else {}
    names = ["x", "w", "o", "b" if biased else "", "m" if masked else ""]
    attributes: Attributes = {"strides": [1, 2], "dilations": [2, 1], "pads": [2, 0, 2, 1]}
    conv = node("DeformConv", *names, group=2, offset_group=2, **attributes)
    reference(tmp_path, conv, 19, {"x": normal(1, 4, 5, 6)}, inits)


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
def test_causal_conv_with_state_agrees(tmp_path: Path, past: bool, activation: str) -> None:
    inits = {"w": normal(4, 1, 3, seed=1), "b": normal(4, seed=2)}
    inits |= {"p": normal(2, 4, 2, seed=3)} if past else {}
    names = ["x", "w", "b", *(["p"] if past else [])]
    conv = node("CausalConvWithState", *names, outputs=("y", "z"), activation=activation)
    proto = model(conv, inits, {"x": (2, 4, 5)}, 27, ("y", "z"))
    feeds = {"x": normal(2, 4, 5)}
    want = ReferenceEvaluator(proto).run(None, feeds)
    got = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), feeds)
    for name, expected in zip("yz", want, strict=True):
        np.testing.assert_allclose(got[name], expected, atol=1e-5)


def test_col2im_agrees(tmp_path: Path) -> None:
    inits = {"s": np.array([5, 6]), "k": np.array([3, 2])}
    col = node("Col2Im", "x", "s", "k", strides=[2, 1], dilations=[1, 2], pads=[1, 0, 1, 1])
    compare(tmp_path, col, inits, 18, (2, 18, 15))


REFUSED: dict[str, tuple[Any, str]] = {
    "no kernel": (node("MaxPool"), "attribute 'kernel_shape' of MaxPool is missing"),
    "other axes": (
        node("MaxPool", kernel_shape=[2]),
        "attribute kernel_shape=[2] of MaxPool does not fit 2 spatial axes",
    ),
    "padding alone": (
        node("MaxPool", kernel_shape=[2, 2], pads=[2, 0, 0, 0]),
        "a window covers only padding",
    ),
    "negative": (
        node("AveragePool", kernel_shape=[2, 2], pads=[-1, 0, 0, 0]),
        "attribute pads=[-1, 0, 0, 0] of AveragePool is not implemented",
    ),
    "order": (node("LpPool", kernel_shape=[2, 2], p=0), "attribute p=0 of LpPool"),
    "auto": (
        node("MaxPool", kernel_shape=[2, 2], auto_pad="SAME"),
        "attribute auto_pad=SAME of MaxPool is not implemented",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_window_is_refused(tmp_path: Path, case: str) -> None:
    nodes, text = REFUSED[case]
    assert text in refusal(write(tmp_path, model(nodes, {}, {"x": (1, 3, 6, 5)}, 11)))


def test_the_state_of_a_kernel_of_one_element_is_refused(tmp_path: Path) -> None:
    conv = node("CausalConvWithState", "x", "w", outputs=("y", "z"))
    proto = model(conv, {"w": normal(3, 1, 1)}, {"x": (1, 3, 5)}, 27, ("y", "z"))
    said = refusal(write(tmp_path, proto))
    assert "CausalConvWithState with a kernel of size 1 has no state to return" in said


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("op", "opset"), [("LpPool", 18), ("AveragePool", 22)])
def test_windows_that_same_would_pad_by_a_negative_number(
    tmp_path: Path, op: str, opset: int, auto_pad: str
) -> None:
    """Implementations differ in where windows begin, unless they begin where the map does."""
    pool = node(op, kernel_shape=[2, 1], strides=[2, 3], auto_pad=auto_pad)
    for width in (10, 11):  # nothing, and one element less at one end
        compare(tmp_path, pool, opset=opset, shape=(1, 2, 4, width))
    said = refusal(write(tmp_path, model([pool], {}, {"x": (1, 2, 4, 12)}, opset)))
    assert "SG0202" in said
    assert f"{op} with auto_pad={auto_pad} and a stride of 3" in said
