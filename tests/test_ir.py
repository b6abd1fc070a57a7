"""The IR: operators against independent formulations, index maps, text form, verifier."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import conv, graph_of, image, pointwise

from shadergen.errors import ShadergenError
from shadergen.ir import ops, text
from shadergen.ir.expr import Call, Expr, Var, parse, walk
from shadergen.ir.expr import evaluate as compute
from shadergen.ir.graph import (
    Choice,
    Constant,
    Graph,
    Input,
    Node,
    Output,
    Port,
    Result,
    Value,
    apply,
    constant,
)
from shadergen.ir.indexing import PAD_MODES, border, inside, step_function
from shadergen.ir.ops import (
    LRN,
    OPS,
    AdaptivePool,
    ArgMax,
    ArgMin,
    BatchNormalization,
    BinaryConv,
    BinaryDense,
    Col2Im,
    Concat,
    Conv,
    ConvTranspose,
    CumProd,
    CumSum,
    DeformColumns,
    DeformConv,
    DepthToSpace,
    Det,
    Einsum,
    Expand,
    Fused,
    Gather,
    GatherElements,
    GatherND,
    GroupMean,
    GroupNormalization,
    Hardmax,
    InstanceNormalization,
    LayerNormalization,
    LocalContrastNormalization,
    LocalVariance,
    LogSoftmax,
    LpNormalization,
    MatMul,
    MaxPoolIndices,
    MaxUnpool,
    MeanVarianceNormalization,
    OneHot,
    Pad,
    PairReduce,
    PartialReduce,
    Pointwise,
    Pool,
    Rearrange,
    Reduce,
    Reshape,
    ResizeNearest,
    ReverseSequence,
    RMSNormalization,
    ScatterElements,
    ScatterND,
    Slice,
    Softmax,
    Sorted,
    SortOrder,
    SpatialNormalization,
    TensorScatter,
    Tile,
    Transpose,
    Trilu,
    Viewed,
    WindowsToChannels,
)
from shadergen.ir.ops.base import Op
from shadergen.ir.reference import evaluate
from shadergen.ir.types import Layout, TensorType, broadcast, format_for
from shadergen.ir.verifier import verify


def refusal(call, *args) -> ShadergenError:
    with pytest.raises(ShadergenError) as caught:
        call(*args)
    return caught.value


# --- operators ---------------------------------------------------------------------------------


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
    np.testing.assert_allclose(evaluate(graph, {"x": x})["y0"], got, atol=1e-9)


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
    got = evaluate(graph_of(simple, inputs=(value,)), {"x": x})["y0"]
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


def test_fused_is_prologue_kernel_epilogue_in_turn():
    rng = np.random.default_rng(2)
    x, w, r = rng.normal(size=(1, 2, 4, 4)), rng.normal(size=(3, 2, 2, 2)), rng.normal(size=())
    op = Fused(Conv(pads=(1, 0, 0, 0)), 2, parse("x * e0"), parse("max(y, 0) + e0"))
    want = np.maximum(Conv(pads=(1, 0, 0, 0)).reference(x * r, w), 0) + r
    np.testing.assert_allclose(op.reference(x, w, r), want)
    assert op.infer(*(TensorType(v.shape) for v in (x, w, r))).shape == want.shape


X4 = TensorType((1, 4, 5, 6))
REFUSED = {
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
    "epilogue over space": (
        Fused(Conv(), 2, None, parse("y + e0")), X4, TensorType((2, 4, 5, 6)), TensorType((5, 6)),
    ),
    "epilogue without operand": (
        Fused(Conv(), 2, None, parse("y + e0")), X4, TensorType((2, 4, 1, 1)),
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


# --- types -------------------------------------------------------------------------------------

shapes = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(shapes, shapes)
def test_broadcasting_is_that_of_numpy(a, b):
    try:
        want = np.broadcast_shapes(a, b)
    except ValueError:
        want = None
    assert broadcast(a, b) == want


def test_planes_and_layers_count_texels_of_four_channels():
    found = {c: TensorType((2, c, 5, 6)) for c in (1, 2, 3, 4, 5, 17)}
    assert [t.planes for t in found.values()] == [1, 1, 1, 1, 2, 5]
    assert [t.layers for t in found.values()] == [2, 2, 2, 2, 4, 10]
    assert [t.channels_per_texel for t in found.values()] == [1, 2, 4, 4, 4, 4]
    assert found[17].extent == (6, 5, 10)


def test_rows_pack_the_last_axis_and_fold():
    assert TensorType((7,)).extent == (2, 1, 1)
    assert TensorType((2, 3, 5)).extent == (2, 6, 1)
    assert TensorType(()).extent == (1, 1, 1)
    folded = TensorType((2, 3, 5), layout=Layout("array", "rgba32f", (4, 2)))
    assert (folded.texels, folded.extent) == (12, (4, 2, 2))
    assert TensorType((2, 3, 5, 4)).lane_axis == 1
    assert TensorType((2, 3, 5, 4), layout=Layout("array", "rgba32f", (4, 2))).lane_axis == 3


def test_formats_are_named_by_components_and_storage():
    assert format_for(2, "16f") == "rg16f"


def test_constants_are_float32_or_a_known_integer_type():
    assert constant(np.float64(0.1)).data.dtype == np.float32
    assert constant(np.arange(3)).type == TensorType((3,), "int64")
    assert refusal(constant, np.zeros(2, complex)).code == "SG0206"


# --- index maps --------------------------------------------------------------------------------


def movement(rng: np.random.Generator) -> tuple[Op, list[tuple[int, ...]]]:
    """Return a random movement operator and operand shapes that fit it."""

    def some(low: int, high: int, count: int) -> tuple[int, ...]:
        return tuple(int(k) for k in rng.integers(low, high, count))

    rank = int(rng.integers(1, 5))
    shape = some(1, 6, rank)
    kind = rng.integers(7)
    if kind == 0:
        mode = PAD_MODES[rng.integers(5)]
        return Pad(some(0, 9, rank), some(0, 9, rank), mode, 0.5), [shape]
    if kind == 1:
        axis = int(rng.integers(rank))
        sizes = some(1, 6, 3)
        return Concat(axis), [(*shape[:axis], s, *shape[axis + 1 :]) for s in sizes]
    if kind == 2:
        steps = tuple(int(rng.choice([-2, -1, 1, 3])) for _ in shape)
        sizes = tuple(
            int(rng.integers(1, (s - 1) // abs(d) + 2)) for s, d in zip(shape, steps, strict=True)
        )
        starts = []
        for length, d, size in zip(shape, steps, sizes, strict=True):
            start = int(rng.integers(0, length - abs(d) * (size - 1)))
            starts.append(start if d > 0 else length - 1 - start)
        return Slice(tuple(starts), steps, sizes), [shape]
    if kind == 3:
        new = [1] * int(rng.integers(1, 5))
        for factor in shape:
            new[rng.integers(len(new))] *= factor
        return Reshape(tuple(new)), [shape]
    if kind == 4:
        return Transpose(tuple(int(a) for a in rng.permutation(rank))), [shape]
    if kind == 5:
        block = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
        n, c, h, w = some(1, 4, 4)
        order = "crd" if rng.integers(2) else "dcr"
        return DepthToSpace(block, order), [(n, c * block[0] * block[1], h, w)]
    steps = tuple(
        (int(p), int(q), int(r))
        for p, q, r in zip(
            rng.integers(1, 5, rank),
            rng.integers(-3, 4, rank),
            rng.integers(1, 5, rank),
            strict=True,
        )
    )
    return ResizeNearest(some(1, 9, rank), steps), [shape]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_index_maps_move_what_the_reference_moves(seed):
    rng = np.random.default_rng(seed)
    op, shapes = movement(rng)
    arrays = [rng.normal(size=s) for s in shapes]
    types = [TensorType(s) for s in shapes]
    want = op.reference(*arrays)
    assert op.infer(*types).shape == want.shape
    load = op.load(*types)
    for source in load.sources:
        for part in (*source.index, *source.valid):
            assert_divides_as_glsl(part, want.shape)
    got = op.nest(*types).evaluate(want.shape, arrays)
    np.testing.assert_array_equal(got, want, err_msg=str(op))


def assert_divides_as_glsl(index: Expr, shape: tuple[int, ...]) -> None:
    """GLSL leaves quotients and remainders of negative integers undefined."""
    grid = {f"o{k}": g for k, g in enumerate(np.ogrid[tuple(slice(s) for s in shape)])}
    for e in walk(index):
        if isinstance(e, Call) and e.function in ("idiv", "imod"):
            assert np.min(compute(e.args[0], grid)) >= 0, str(e)


@pytest.mark.parametrize("mode", PAD_MODES)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (1, 0), (0, 2), (2, 3), (9, 16)])
def test_borders_continue_as_numpy_pads(mode, size, before, after):
    x = np.arange(size)
    positions = np.arange(-before, size + after)
    at = np.asarray(compute(border(mode, Var("i"), size, before, after), {"i": positions}))
    assert at.min() >= 0
    assert at.max() < size
    for e in walk(border(mode, Var("i"), size, before, after)):
        if isinstance(e, Call) and e.function == "imod":
            assert np.min(compute(e.args[0], {"i": positions})) >= 0
    held = np.ones(positions.shape, bool)
    for condition in inside(Var("i"), size, before, after):
        held &= np.asarray(compute(condition, {"i": positions})) != 0
    assert held.tolist() == [0 <= p < size for p in positions]
    if mode == "constant":
        got = np.where(held, x[at.astype(int)], -1)
        want = np.pad(x, (before, after), constant_values=-1)
    else:
        got, want = x[at.astype(int)], np.pad(x, (before, after), mode)
    assert got.tolist() == want.tolist()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(1, 9), st.integers(1, 20), st.sampled_from([0.0, 0.25, 0.5]),
    st.sampled_from([math.floor, math.ceil, lambda v: math.floor(v + 0.5)]),
)  # fmt: skip
def test_step_functions_reproduce_the_table_they_are_found_for(size, length, shift, rounding):
    table = [min(max(rounding(i * size / length + shift), 0), size - 1) for i in range(length)]
    found = step_function(table, size, size, length)
    if found is None:  # rounding halves can give what no step function does
        assert (rounding, shift) != (math.floor, 0.0)
        return
    p, q, r = found
    assert [min(max((p * i + q) // r, 0), size - 1) for i in range(length)] == table


def test_step_functions_are_not_invented():
    assert step_function([0, 1, 0], 2, 1, 1) is None
    assert step_function([0, 0, 1, 1], 2, 2, 4) is not None


# --- text form ---------------------------------------------------------------------------------


def windows_and_norms(x: Input) -> list[Value]:
    w, ones, zeros = constant(np.ones((4, 8, 1, 1))), constant(np.ones(8)), constant(np.zeros(8))
    offset = constant(np.zeros((1, 2, 5, 6)))
    y = apply(Pool("max", (2, 3), (2, 1), pads=(1, 0, 0, 1), ceil_mode=True), x)
    where = apply(MaxPoolIndices((2, 3), (2, 1), (), (1, 0, 0, 1), True), x, y)
    return [
        apply(AdaptivePool("average", (3, 2)), x),
        apply(BinaryConv(pads=(1, 0, 1, 0), pad_value=-1.0, binary_input=False), x, w),
        apply(BinaryDense(), x, constant(np.ones((3, 240)))),
        apply(Col2Im((3, 2), (2, 2), (1,), pads=(1,)), constant(np.ones((1, 8, 12)))),
        apply(DeformColumns((1, 1), offset_groups=1), x, offset),
        apply(DeformConv(groups=1), x, w, offset),
        apply(GroupMean(2), x),
        apply(GroupNormalization(4, 0.1), x, ones, zeros),
        apply(InstanceNormalization(), x, ones, zeros),
        apply(LRN(3, bias=2.0), x),
        apply(LayerNormalization((1, 3)), x),
        apply(LocalContrastNormalization((3, 3), count_include_pad=True), x),
        apply(LocalVariance((3, 3)), x, x),
        apply(LpNormalization((1,), 1), x),
        apply(MaxUnpool((3, 7), (2, 2)), y, where),
        apply(MeanVarianceNormalization((2,)), x),
        apply(RMSNormalization((1,)), x),
        apply(SpatialNormalization((3, 1)), x),
        apply(WindowsToChannels(2, 2, 1, 1, 0, "reflect"), x),
    ]


def selections(x: Value) -> list[Value]:
    """Return each operator that picks or writes elements of a map of 1x8x5x6."""
    numbers = constant(np.array([0, -2, 5]))
    places = constant(np.array([[0, -1], [0, 3]]))
    rows = constant(np.zeros((1, 3, 5, 6)))
    return [
        apply(Expand((2, 8, 5, 6)), x),
        apply(Tile((1, 1, 2, 1)), x),
        apply(Trilu(-1, False), x),
        apply(Gather(2), x, constant(np.array([0, 1, 4]))),
        apply(GatherElements(1), x, constant(np.zeros((1, 2, 5, 6), np.int32))),
        apply(GatherND(), x, places),
        apply(OneHot(4, 1), numbers, constant(np.array([0, 1], np.uint8))),
        apply(ReverseSequence(3, 0), x, constant(np.array([2]))),
        apply(ScatterElements(1, "max"), x, constant(np.zeros((1, 3, 5, 6), np.int32)), rows),
        apply(ScatterND("add"), x, places, constant(np.zeros((2, 5, 6)))),
        apply(TensorScatter(2, circular=True), x, x, constant(np.array([1]))),
    ]


def samplings(x: Value) -> list[Value]:
    """Return each operator that samples, attends or transforms a map of 1x8x5x6."""
    starts, weights = constant(np.array([-1, 0], np.int32)), constant(np.ones((2, 3)))
    grid, rois = constant(np.zeros((1, 2, 3, 2))), constant(np.zeros((3, 4)))
    signal, angles = apply(ops.Frames(3, 2), apply(Reshape((8, 15, 2)), x)), np.ones((1, 8, 2))
    return [
        apply(ops.AffineGrid((2, 3), align_corners=True), constant(np.ones((1, 2, 3)))),
        apply(ops.Attention(0.5, True, causal=True, softcap=2.0), x, x, x),
        apply(ops.DFT(1, 4, onesided=True), constant(np.ones((2, 3, 2)))),
        apply(ops.GridSample("cubic", "reflection"), x, grid),
        apply(ops.Resample(3), x, starts, weights),
        apply(ops.ResizeLinear((1, 8, 5, 4), ((1, 0, 1),) * 3 + ((3, 1, 4),)), x),
        apply(ops.RoiAlign((2, 1), (1, 3), 0.5, "max"), x, rois, constant(np.zeros(3, np.int32))),
        apply(ops.RotaryEmbedding(4, True), x, constant(angles), constant(angles)),
        apply(ops.Spectrum(ops.DFT(2, 3)), signal, constant(np.ones((3, 2)))),
    ]


def recurrences() -> list[Value]:
    """Return each recurrent layer and what it is unrolled to."""
    x, h, states = constant(np.ones((4, 2, 3))), constant(np.zeros((2, 5))), np.ones((3, 2, 5))
    gates, s = constant(np.ones((2, 10))), constant(states)
    made = [
        (ops.RNN((parse("relu(x)"),), reverse=True), 1, 1),
        (ops.GRU(gates="rzh", linear_before_reset=True), 3, 1),
        (ops.LSTM(input_forget=True), 4, 2),
    ]
    layers: list[Value] = []
    for op, n, count in made:
        shapes = (3, 5 * n), (5, 5 * n), (5 * n + 5 * (n == 3),)
        operands = [x, *(constant(np.ones(s)) for s in shapes), *[h] * count]
        layers.append(Node(op, tuple(operands), ()).results[0])
    maps = [np.ones(s) for s in ((2, 1, 2, 4, 4), (12, 2, 3, 3), (12, 3, 1, 1), (12,))]
    maps += [np.zeros((1, 3, 2, 2))] * 2
    convolved = Node(ops.ConvLSTM(Conv(), Conv()), tuple(map(constant, maps)), ())
    return [
        *layers,
        convolved.results[0],
        apply(ops.GatedFormula(parse("g0 * s0 - g1"), 1), gates, h),
        apply(ops.RecurrentGates(), constant(np.ones((4, 2, 10))), s, constant(np.ones((5, 10)))),
        apply(ops.ResetProduct(1, parse("tanh(x)")), gates, s, constant(np.ones((5, 5)))),
        apply(ops.RecurrentCell((parse("g0"), parse("s1 + e0")), -1), gates, s, h),
        apply(ops.StackStates(), s, s),
    ]


def every_operator() -> list[Graph]:
    rng = np.random.default_rng(3)
    x, y = image(1, 8, 5, 6), image(1, 8, 5, 6, name="y")
    ones = [constant(np.ones(8)) for _ in range(4)]
    rows = constant(np.ones((2, 40)))
    small = constant(rng.normal(size=(8, 3, 2, 2)), 'w "quoted" \\ \n \ud800 \N{SNOWMAN} // not')
    reflected = Conv((2, 1), (1, 2), (1, 0, 2, 3), 2, "reflect", -0.0)
    fused = Fused(reflected, 2, parse("x * (-3)"), parse("y + e0"))
    values = [
        apply(BatchNormalization(1e-3), x, *ones, layer="norm"),
        apply(Concat(1), x, y, x, layer="join"),
        conv(rng, x, 3, (2, 2), "a", pad_value=-math.inf, pad_mode="constant"),
        apply(ConvTranspose((2, 3), output_padding=(1, 0)), x, small, layer="up"),
        apply(DepthToSpace((2, 1), "dcr"), x, layer=("one", "two")),
        apply(fused, x, constant(np.ones((4, 4, 1, 1))), constant(np.float32(0.1))),
        apply(Pad((0, 0, 1, 2), (0, 0, 3, 4), "wrap", 1e-40), x, layer="\u0000\u2028"),
        pointwise("where(x0 <= inf, silu(x1), -x0) - (x0 < (x1 == 3)) / 1e-30", x, y),
        apply(Reshape((8, 30)), x, layer=""),
        apply(Rearrange((1, 2, 4, 30), (0, 2, 1, 3), (1, 8, 5, 6)), x),
        apply(ResizeNearest((1, 8, 5, 3), ((1, 0, 1), (1, 0, 1), (1, -1, 2), (2, 0, 1))), x),
        apply(Slice((0, 7, 0, 0), (1, -1, 1, 1), (1, 8, 5, 6)), x),
        apply(Transpose((3, 0, 1, 2)), x),
        apply(ArgMax((1, 2), select_last_index=True), x),
        apply(ArgMin((3,), keepdims=False), x),
        apply(CumProd(1, reverse=True), apply(CumSum(3, exclusive=True), x)),
        apply(Det(), constant(np.eye(3))),
        apply(Einsum("...ij,...kj->...ik"), x, y),
        apply(Hardmax((1,)), apply(LogSoftmax((1, 2, 3)), apply(Softmax((3,)), x))),
        apply(MatMul(), x, constant(np.ones((6, 2)))),
        apply(Reduce("sum", (1, 3), False, parse("exp(x0 - x1)"), "float32"), x, y),
        apply(PartialReduce("mean", 3, 2), x),
        apply(PairReduce("max_sum_exp", (2, 3), True), apply(PairReduce("max_sum_exp", (3,)), x)),
        apply(Viewed(Concat(0), ((Transpose((3, 0, 1, 2)), Reshape((6, 40))), ())), x, rows),
        apply(Sorted(2, 4), x, apply(SortOrder(2, descending=True), x)),
        *windows_and_norms(x),
        *selections(x),
        *samplings(x),
        *recurrences(),
    ]
    graphs = [graph_of(v, inputs=(x, y), name=f"g{k}") for k, v in enumerate(values)]
    at = Input(x.type.placed(Layout("2d", "rg8")), "x", Port((0, 2, 3, 1), "unorm8"))
    types = (x.type.placed(Layout("array", "rgba16f", 3)),)
    placed = Node(Pointwise(parse("x0")), (at,), ("n",), Choice("texture", 2), types)
    graphs.append(Graph("placed", (at,), (Output("o", placed.result, Port((1, 0, 2, 3))),)))
    kinds = [np.array([1, 0], t) for t in (np.int64, np.int32, np.int8, np.uint8, bool)]
    odd = [constant(k) for k in (*kinds, np.array([np.nan, np.inf]), np.zeros((2, 9)), 3.0)]
    outputs = tuple(Output(f"o{k}", c, Port.plain(c.type.rank)) for k, c in enumerate(odd))
    graphs.append(Graph("constants", (x,), (*outputs, Output("same", x, x.port))))
    return graphs


@pytest.mark.parametrize("graph", every_operator(), ids=lambda g: g.name)
def test_text_reads_back_as_the_same_graph(graph):
    printed = text.to_text(graph)
    again = text.parse(printed, text.constants(graph))
    assert text.to_text(again) == printed
    assert [type(n.op) for n in again.nodes] == [type(n.op) for n in graph.nodes]
    assert [n.op for n in again.nodes] == [n.op for n in graph.nodes]
    for a, b in zip(again.constants, graph.constants, strict=True):
        np.testing.assert_array_equal(a.data, b.data, strict=True)


def test_every_operator_has_been_printed():
    assert {type(n.op).__name__ for g in every_operator() for n in g.nodes} == set(OPS)


def test_constants_of_equal_contents_but_other_types_have_other_digests():
    zeros = [constant(np.zeros(s, t)) for s in ((9,), (3, 3)) for t in (np.float32, np.int32)]
    assert len({text.digest(z) for z in zeros}) == 4


SMALL = (
    'graph "g" {\n'
    '  input %0 "x": float32[1, 3] {axes=[0, 1], encoding="float"}\n'
    '  const %1 "c": float32[1, 3] = [1.0, 2.0, 3.0]\n'
    '  %2 = Pointwise(%0, %1) {expr=`x0 + x1`} ["add"]: float32[1, 3]\n'
    '  output "y" = %2 {axes=[0, 1], encoding="float"}\n'
    "}\n"
)


def test_the_text_is_read_as_it_is_documented():
    graph = text.parse(SMALL, {})
    assert text.to_text(graph) == SMALL
    assert evaluate(graph, {"x": np.ones((1, 3))})["y"].tolist() == [[2, 3, 4]]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("}\n}", "}", "does not parse"),
        ("Pointwise", "Pointwize", "no operator is called Pointwize"),
        ("float32[1, 3]\n", "float33[1, 3]\n", "no element type is called float33"),
        ("(%0, %1)", "(%0, %9)", "%9 is used before it is defined"),
        ("= [1.0, 2.0, 3.0]", "= #0123456789abcdef", "#0123456789abcdef is missing"),
        ("= [1.0, 2.0, 3.0]", "= [1.0, 2.0]", "the IR text is invalid"),
        ("float32[1, 3]\n  out", "float32[3, 1]\n  out", "%2 has another type than it says"),
        ("{expr=", "{formula=", "the IR text is invalid"),
        ("{expr=`x0 + x1`}", "", "the IR text is invalid"),
        ('"x":', '"x";', "does not parse"),
        ("%2 {axes", "%2 {axis", "the IR text is invalid"),
        ('"x"', '"\\q"', "the IR text is invalid"),
    ],
)
def test_text_that_is_no_graph_is_refused(old, new, says):
    assert old in SMALL
    error = refusal(text.parse, SMALL.replace(old, new), {})
    assert error.code == "SG0304"
    assert says in error.what


# --- verifier ----------------------------------------------------------------------------------


def forged(*, types=(X4,), op=None) -> Node:
    """Return a node that says it has other types than its operator infers."""
    return Node(op or Pointwise(parse("x0")), (x,), ("n",), types=types)


x = image(1, 4, 5, 6)
good = pointwise("relu(x0)", x)
PLAIN = Port.plain(4)


class Unlisted(Pointwise):
    """An operator that is in no table."""


MALFORMED = {
    "two inputs are called x": Graph("g", (x, image(1, name="x")), (Output("y", good, PLAIN),)),
    "two outputs are called y": Graph("g", (x,), (Output("y", good, PLAIN),) * 2),
    "the graph has no outputs": Graph("g", (x,), ()),
    "port axes (0, 1, 2) do not fit float32 1x4x5x6": Graph(
        "g", (Input(x.type, "x", Port((0, 1, 2))),), (Output("y", good, PLAIN),)
    ),
    "port axes (0, 1, 2, 2) do not fit": Graph("g", (x,), (Output("y", good, Port((0, 1, 2, 2))),)),
    "'x' is not an input of the graph": Graph("g", (), (Output("y", good, PLAIN),)),
    "constant 'c' is not of its type": Graph(
        "g", (x,), (Output("y", Constant(X4, "c", np.zeros(3, np.float32)), PLAIN),)
    ),
    "'r' is no result of its node": Graph(
        "g",
        (x,),
        (Output("y", Result(X4, "r", good.node), PLAIN),),  # type: ignore[attr-defined]
    ),
    "unknown operator": Graph(
        "g", (x,), (Output("y", forged(op=Unlisted(parse("x0"))).result, PLAIN),)
    ),
    "the types ['float32 1x4x5x7'] are not ['float32 1x4x5x6']": Graph(
        "g", (x,), (Output("y", forged(types=(TensorType((1, 4, 5, 7)),)).result, PLAIN),)
    ),
    "the type float32 0x2 is empty": Graph(
        "g", (Input(TensorType((0, 2)), "z", Port.plain(2)), x), (Output("y", good, PLAIN),)
    ),
    "illegal layout": Graph(
        "g",
        (x,),
        (Output("y", forged(types=(X4.placed(Layout("3d", "rgba8")),)).result, PLAIN),),  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_graphs_are_refused(what):
    error = refusal(verify, MALFORMED[what])
    assert error.code == "SG0105"
    assert what in error.what


def test_sound_graphs_pass_the_verifier():
    for graph in every_operator():
        verify(graph)


# --- graph and interpreter ---------------------------------------------------------------------


def test_nodes_come_operands_first_each_once_and_only_if_used():
    a = pointwise("x0 + 1", x, layer="a")
    b = pointwise("x0 * 2", a, layer="b")
    pointwise("x0", b, layer="dead")
    c = pointwise("x0 + x1 + x2", b, a, b, layer="c")
    graph = graph_of(c, a, inputs=(x,))
    assert [n.name for n in graph.nodes] == ["a", "b", "c"]
    assert [graph.uses[v] for v in (x, a, b, c)] == [1, 3, 2, 1]


def test_long_chains_do_not_exhaust_the_stack():
    y = x
    for _ in range(5000):
        y = pointwise("x0 + 1", y)
    graph = graph_of(y, inputs=(x,))
    assert evaluate(graph, {"x": np.zeros(x.shape)})["y0"].max() == 5000
    assert graph.rewrite(lambda now, was: None) is graph


def test_rewriting_nothing_returns_the_graph_itself_and_an_input_stays_one():
    graph = graph_of(good, inputs=(x,))
    assert graph.rewrite(lambda now, was: None) is graph
    with pytest.raises(TypeError, match="input x was rewritten to a Constant"):
        graph.rewrite(lambda now, was: None, lambda v: constant(np.zeros(v.shape)))


def test_the_interpreter_refuses_inputs_that_do_not_fit():
    graph = graph_of(good, inputs=(x,))
    missing, wrong = refusal(evaluate, graph, {}), refusal(evaluate, graph, {"x": np.zeros((1, 4))})
    assert (missing.code, wrong.code) == ("SG0605", "SG0605")
    assert missing.what == "input 'x' needs shape (1, 4, 5, 6), got nothing"
    assert wrong.what == "input 'x' needs shape (1, 4, 5, 6), got (1, 4)"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_interpreter_computes_in_the_precision_asked_for(dtype):
    y = pointwise("silu(x0) * 0.1 + (x0 < 1)", conv(np.random.default_rng(0), x, 3, (3, 3)))
    assert evaluate(graph_of(y, inputs=(x,)), {"x": np.ones(x.shape)}, dtype)["y0"].dtype == dtype
