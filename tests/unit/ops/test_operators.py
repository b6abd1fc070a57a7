"""The operators of the IR against independent formulations, and what they refuse."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import graph_of, image, refusal
from support.every_operator import every_operator

from shadergen.ir import text
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import (
    apply,
    constant,
)
from shadergen.ir.indexing import PAD_MODES
from shadergen.ir.ops import (
    BatchNormalization,
    BinaryConv,
    Concat,
    Conv,
    ConvTranspose,
    DepthToSpace,
    GridSample,
    Hardmax,
    Pad,
    Pointwise,
    Reshape,
    ResizeNearest,
    Slice,
    Transpose,
)
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType
from shadergen.passes.kernel_ops import Fused, SeparableConv


def flattened(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.float64).reshape(-1)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_convolution_is_that_of_jax(seed):
    rng = np.random.default_rng(seed)
    groups, per_group, out = rng.integers(1, 4, 3)
    kernel, dilations, strides = rng.integers(1, 4, 2), rng.integers(1, 3, 2), rng.integers(1, 4, 2)
    top, left, bottom, right = (int(p) for p in rng.integers(0, 4, 4))
    mode, fill = PAD_MODES[rng.integers(5)], float(rng.normal())
    x = rng.normal(size=(2, groups * per_group, *rng.integers(7, 10, 2)))
    w = rng.normal(size=(groups * out, per_group, *kernel))
    b = rng.normal(size=groups * out)
    op = Conv(
        tuple(map(int, strides)), tuple(map(int, dilations)), (top, left, bottom, right),
        int(groups), mode, fill,
    )  # fmt: skip
    widths = ((0, 0), (0, 0), (top, bottom), (left, right))
    more = {"constant_values": fill} if mode == "constant" else {}
    want = jax.lax.conv_general_dilated(
        np.pad(x, widths, mode, **more).astype(np.float32), w.astype(np.float32), strides,
        "VALID", rhs_dilation=dilations, feature_group_count=int(groups),
    )  # fmt: skip
    got = op.reference(x, w, b)
    assert op.infer(*(TensorType(v.shape) for v in (x, w, b))).shape == got.shape
    np.testing.assert_allclose(got, want + b.reshape(-1, 1, 1), atol=2e-4)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_transposed_convolution_and_its_decomposition_are_that_of_jax(seed):
    rng = np.random.default_rng(seed)
    groups, per_group, out = (int(k) for k in rng.integers(1, 4, 3))
    kernel, dilations, strides = rng.integers(1, 5, 2), rng.integers(1, 3, 2), rng.integers(1, 4, 2)
    reach = (kernel - 1) * dilations
    pads = tuple(int(rng.integers(0, r + 1)) for r in (*reach, *reach))
    extra = tuple(int(rng.integers(0, s)) for s in strides)
    x = rng.normal(size=(2, groups * per_group, *rng.integers(5, 8, 2))).astype(np.float32)
    w = rng.normal(size=(groups * per_group, out, *kernel)).astype(np.float32)
    b = rng.normal(size=groups * out).astype(np.float32)
    op = ConvTranspose(
        tuple(map(int, strides)), tuple(map(int, dilations)), pads, extra, groups
    )  # fmt: skip
    flipped = w.reshape(groups, per_group, out, *kernel)[..., ::-1, ::-1].swapaxes(1, 2)
    want = jax.lax.conv_general_dilated(
        x, flipped.reshape(groups * out, per_group, *kernel), (1, 1),
        [(reach[k] - pads[k], reach[k] - pads[k + 2] + extra[k]) for k in range(2)],
        lhs_dilation=strides, rhs_dilation=dilations, feature_group_count=groups,
    )  # fmt: skip
    got = op.reference(*(v.astype(np.float64) for v in (x, w, b)))
    assert op.infer(*(TensorType(v.shape) for v in (x, w, b))).shape == got.shape
    np.testing.assert_allclose(got, want + b.reshape(-1, 1, 1), atol=2e-4)
    value = image(*x.shape)
    graph = graph_of(op.decompose(value, constant(w), constant(b)), inputs=(value,))
    assert "ConvTranspose" not in text.to_text(graph)
    np.testing.assert_allclose(evaluate_graph(graph, {"x": x})["y0"], got, atol=1e-9)


def test_convolution_reads_exact_zeros_and_zero_padding_as_the_guard():
    x = np.array([[[[0.0, 2.0, -0.0]]]])
    got = Conv(pads=(0, 1, 0, 0), zero_guard=0.25).reference(x, np.ones((1, 1, 1, 1)))
    assert got.tolist() == [[[[0.25, 0.25, 2.0, 0.25]]]]


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (1, 3, 2, 5)])
def test_batch_normalisation_is_its_definition_channel_by_channel(shape):
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape)
    gamma, beta, mean = rng.normal(size=(3, 3)).astype(np.float32).astype(np.float64)
    variance = rng.uniform(0, 2, 3).astype(np.float32).astype(np.float64)
    want = np.empty(shape)
    for at in itertools.product(*map(range, shape)):
        c = at[1]
        want[at] = gamma[c] * (x[at] - mean[c]) / math.sqrt(variance[c] + 0.01) + beta[c]
    op = BatchNormalization(0.01)
    np.testing.assert_allclose(op.reference(x, gamma, beta, mean, variance), want, rtol=1e-12)
    value = image(*shape)
    simple = op.decompose(value, *map(constant, (gamma, beta, mean, variance)))
    got = evaluate_graph(graph_of(simple, inputs=(value,)), {"x": x})["y0"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variance", [[1.0, -1.0], [1.0, math.nan], [0.0, 1.0]])
def test_batch_normalisation_without_a_positive_variance_is_refused(variance):
    values = [constant(np.array(v)) for v in ([1.0, 1.0], [0.0, 0.0], [0.0, 0.0], variance)]
    error = refusal(BatchNormalization(0.0).decompose, image(1, 2, 3, 3), *values)
    assert (error.code, error.what) == ("SG0106", "a variance is negative, or 0 without an epsilon")


@pytest.mark.parametrize("order", ["crd", "dcr"])
def test_depth_to_space_is_its_index_formula(order):
    n, c, h, w, by, bx = 2, 3, 2, 4, 2, 3
    x = np.random.default_rng(0).normal(size=(n, c * by * bx, h, w))
    y = DepthToSpace((by, bx), order).reference(x)
    for b, k, i, j in itertools.product(range(n), range(c), range(h * by), range(w * bx)):
        p, q = i % by, j % bx
        channel = (k * by + p) * bx + q if order == "crd" else (p * bx + q) * c + k
        assert y[b, k, i, j] == x[b, channel, i // by, j // bx]


def test_pointwise_computes_integers_as_floats():
    x, y = np.array([200, 3], np.uint8), np.array([100, 2], np.uint8)
    assert Pointwise(parse("x0 + x1")).reference(x, y).tolist() == [300, 5]
    assert Pointwise(parse("-x0")).reference(np.array([True, False])).tolist() == [-1, 0]


def test_integers_and_booleans_of_floats_are_rounded_or_compared():
    found = set()
    for graph in every_operator():
        for node in graph.nodes:
            compared = node.inputs[node.op.discontinuous_in]
            floats = {v for v in node.inputs if v.type.dtype == "float32"}
            if node.results[0].type.dtype != "float32" and floats:
                assert floats.intersection(compared), node.op
                found.add(type(node.op).__name__)
    assert {"ArgMax", "ArgMin", "SortOrder", "MaxPoolIndices"} <= found


@pytest.mark.parametrize(
    ("op", "compared"),
    [
        (Pointwise(parse("max(x0, 0) / x1")), ""),
        (Pointwise(parse("round_even(x0) + x1")), "x0 x1"),
        (Hardmax((1,)), "x0 x1"),
        (GridSample("nearest"), "x1"),
        (GridSample("linear"), ""),
        (BinaryConv(binary_input=False), "x1"),
    ],
)
def test_operands_that_are_rounded_or_compared_are(op, compared):
    assert ("x0", "x1")[op.discontinuous_in] == tuple(compared.split())


def test_fused_is_prologue_kernel_epilogue_in_turn():
    rng = np.random.default_rng(2)
    x, w, r = rng.normal(size=(1, 2, 4, 4)), rng.normal(size=(3, 2, 2, 2)), rng.normal(size=())
    op = Fused(Conv(pads=(1, 0, 0, 0)), 2, (parse("x * e0"),), parse("max(y, 0) + e0"))
    want = np.maximum(Conv(pads=(1, 0, 0, 0)).reference(x * r, w), 0) + r
    np.testing.assert_allclose(op.reference(x, w, r), want)
    assert op.infer(*(TensorType(v.shape) for v in (x, w, r))).shape == want.shape


def test_fused_joins_the_formulas_of_a_prologue_along_the_channels():
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(2, 4, 4, 5)), rng.normal(size=(3, 8, 2, 2))
    conv = Conv(pads=(1, 0, 0, 0))
    op = Fused(conv, 2, (parse("max(x, 0)"), parse("abs(x)")))
    want = conv.reference(np.concatenate((np.maximum(x, 0), np.abs(x)), 1), w)
    np.testing.assert_allclose(op.reference(x, w), want)
    assert op.infer(*(TensorType(v.shape) for v in (x, w))).shape == want.shape


def test_fused_formulas_compute_booleans_as_floats() -> None:
    x = np.array([True, False])
    after = Fused(Slice((0,), (1,), (2,)), 1, (), parse("-y"))
    before = Fused(Slice((0,), (1,), (2,)), 1, (parse("-x"),))
    assert after.reference(x).tolist() == before.reference(x).tolist() == [-1, 0]


X4 = TensorType((1, 4, 5, 6))
REFUSED = {
    "formulas of no whole planes": (
        Fused(Conv(), 2, (parse("x"), parse("-x"))), TensorType((1, 6, 5, 6)),
        TensorType((2, 12, 1, 1)),
    ),
    "formulas that change the padding": (
        Fused(Conv(), 2, (parse("x"), parse("x + 1"))), X4, TensorType((2, 8, 1, 1)),
    ),
    "formulas that change padding with a number": (
        Fused(Conv(pad_value=0.5), 2, (parse("x"), parse("-x"))), X4, TensorType((2, 8, 1, 1)),
    ),
    "formulas with other operands": (
        Fused(Conv(), 2, (parse("x"), parse("x * e0"))), X4, TensorType((2, 8, 1, 1)),
        TensorType(()),
    ),
    "channels": (Conv(), X4, TensorType((2, 3, 1, 1))),
    "groups": (Conv(groups=2), X4, TensorType((3, 2, 1, 1))),
    "rank": (Conv(), TensorType((4, 5, 6)), TensorType((2, 4, 1, 1))),
    "bias": (Conv(), X4, TensorType((2, 4, 1, 1)), TensorType((3,))),
    "two biases": (Conv(), X4, TensorType((2, 4, 1, 1)), TensorType((2,)), TensorType((2,))),
    "stride 0": (Conv((0, 1)), X4, TensorType((2, 4, 1, 1))),
    "negative pad": (Conv(pads=(0, -1, 0, 0)), X4, TensorType((2, 4, 1, 1))),
    "pad mode": (Conv(pad_mode="mirror"), X4, TensorType((2, 4, 1, 1))),  # type: ignore[arg-type]
    "kernel reach": (Conv(dilations=(1, 3)), X4, TensorType((2, 4, 1, 3))),
    "transposed channels": (ConvTranspose(), X4, TensorType((3, 2, 1, 1))),
    "transposed extra": (ConvTranspose(output_padding=(-1, 0)), X4, TensorType((4, 2, 2, 2))),
    "transposed empty": (ConvTranspose(pads=(3, 0, 3, 0)), X4, TensorType((4, 2, 2, 2))),
    "norm rank": (BatchNormalization(), TensorType((3,)), *[TensorType((3,))] * 4),
    "norm size": (BatchNormalization(), X4, *[TensorType((3,))] * 4),
    "pad rank": (Pad((0, 0), (0, 0)), X4),
    "pad negative": (Pad((0, 0, -1, 0), (0, 0, 0, 0)), X4),
    "pad unknown": (Pad((0,) * 4, (1,) * 4, "mirror"), X4),  # type: ignore[arg-type]
    "concat nothing": (Concat(0),),
    "concat axis": (Concat(4), X4),
    "concat shapes": (Concat(1), X4, TensorType((1, 4, 5, 5))),
    "slice outside": (Slice((0, 0, 0, 5), (1, 1, 1, 1), (1, 4, 5, 2)), X4),
    "slice backwards": (Slice((0, 0, 0, 0), (1, 1, 1, -1), (1, 4, 5, 2)), X4),
    "slice of nothing": (Slice((0, 0, 0, 0), (1, 1, 1, 1), (1, 4, 5, 0)), X4),
    "reshape": (Reshape((7,)), X4),
    "transpose": (Transpose((0, 1, 1, 2)), X4),
    "blocks": (DepthToSpace((2, 3)), X4),
    "block 0": (DepthToSpace((0, 1)), X4),
    "shuffle rank": (DepthToSpace((2, 2)), TensorType((4, 5, 6))),
    "resize rank": (ResizeNearest((5,), ((1, 0, 1),)), X4),
    "broadcast": (Pointwise(parse("x0 + x1")), X4, TensorType((1, 3, 1, 1))),
    "pair of convolutions of all channels": (
        SeparableConv(Conv(), 2), X4, TensorType((4, 4, 3, 3)), TensorType((2, 4, 1, 1)),
    ),
    "pair without a second": (SeparableConv(Conv(groups=4), 2), X4, TensorType((4, 1, 3, 3))),
    "pair whose second is 3x3": (
        SeparableConv(Conv(groups=4), 2), X4, TensorType((4, 1, 1, 1)), TensorType((2, 4, 3, 3)),
    ),
    "pair of convolutions of two groups": (
        SeparableConv(Conv(groups=2), 2), X4, TensorType((4, 2, 1, 1)), TensorType((2, 4, 1, 1)),
    ),
    "epilogue over space": (
        Fused(Conv(), 2, (), parse("y + e0")), X4, TensorType((2, 4, 5, 6)), TensorType((5, 6)),
    ),
    "epilogue without operand": (
        Fused(Conv(), 2, (), parse("y + e0")), X4, TensorType((2, 4, 1, 1)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_operands_that_do_not_fit_are_refused(case):
    op, *types = REFUSED[case]
    assert refusal(op.infer, *types).code == "SG0205"


def test_a_refusal_names_node_operator_and_operands():
    error = refusal(lambda: apply(Reshape((7,)), image(1, 2, 3), layer="flatten_1"))
    assert error.where == ("flatten_1 (Reshape) of float32 1x2x3",)


def test_formulas_may_only_use_operands_that_exist():
    assert refusal(Pointwise(parse("x0 + x2")).infer, X4, X4).code == "SG0303"
