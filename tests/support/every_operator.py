"""Graphs in which every operator of the IR occurs."""

from __future__ import annotations

import math

import numpy as np

from shadergen.ir import ops
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import (
    Choice,
    Graph,
    Input,
    Node,
    Output,
    Port,
    Value,
    apply,
    constant,
)
from shadergen.ir.types import Layout
from shadergen.passes import kernel_ops
from support import conv, graph_of, image, pointwise


def windows_and_norms(x: Input) -> list[Value]:
    w, ones, zeros = constant(np.ones((4, 8, 1, 1))), constant(np.ones(8)), constant(np.zeros(8))
    offset = constant(np.zeros((1, 2, 5, 6)))
    y = apply(ops.Pool("max", (2, 3), (2, 1), pads=(1, 0, 0, 1), ceil_mode=True), x)
    where = apply(ops.MaxPoolIndices((2, 3), (2, 1), (), (1, 0, 0, 1), True), x, y)
    return [
        apply(ops.AdaptivePool("average", (3, 2)), x),
        apply(ops.BinaryConv(pads=(1, 0, 1, 0), pad_value=-1.0, binary_input=False), x, w),
        apply(ops.BinaryDense(), x, constant(np.ones((3, 240)))),
        apply(ops.Col2Im((3, 2), (2, 2), (1,), pads=(1,)), constant(np.ones((1, 8, 12)))),
        apply(ops.DeformColumns((1, 1), offset_groups=1), x, offset),
        apply(ops.DeformConv(groups=1), x, w, offset),
        apply(ops.GroupMean(2), x),
        apply(ops.GroupNormalization(4, 0.1), x, ones, zeros),
        apply(ops.InstanceNormalization(), x, ones, zeros),
        apply(ops.LRN(3, bias=2.0), x),
        apply(ops.LayerNormalization((1, 3)), x),
        apply(ops.LocalContrastNormalization((3, 3), count_include_pad=True), x),
        apply(ops.LocalVariance((3, 3)), x, x),
        apply(ops.LpNormalization((1,), 1), x),
        apply(ops.MaxUnpool((3, 7), (2, 2)), y, where),
        apply(ops.MeanVarianceNormalization((2,)), x),
        apply(ops.RMSNormalization((1,)), x),
        apply(ops.SpatialNormalization((3, 1)), x),
        apply(ops.WindowsToChannels(2, 2, 1, 1, 0, "reflect"), x),
    ]


def selections(x: Value) -> list[Value]:
    """Return each operator that picks or writes elements of a map of 1x8x5x6."""
    numbers = constant(np.array([0, -2, 5]))
    places = constant(np.array([[0, -1], [0, 3]]))
    rows = constant(np.zeros((1, 3, 5, 6)))
    return [
        apply(ops.Expand((2, 8, 5, 6)), x),
        apply(ops.Tile((1, 1, 2, 1)), x),
        apply(ops.Trilu(-1, False), x),
        apply(ops.Gather(2), x, constant(np.array([0, 1, 4]))),
        apply(ops.GatherElements(1), x, constant(np.zeros((1, 2, 5, 6), np.int32))),
        apply(ops.GatherND(), x, places),
        apply(ops.Range(3, -1, 2, 4, "int64")),
        apply(ops.OneHot(4, 1), numbers, constant(np.array([0, 1], np.uint8))),
        apply(ops.ReverseSequence(3, 0), x, constant(np.array([2]))),
        apply(ops.ScatterElements(1, "max"), x, constant(np.zeros((1, 3, 5, 6), np.int32)), rows),
        apply(ops.ScatterND("add"), x, places, constant(np.zeros((2, 5, 6)))),
        apply(ops.TensorScatter(2, circular=True), x, x, constant(np.array([1]))),
    ]


def samplings(x: Value) -> list[Value]:
    """Return each operator that samples, attends or transforms a map of 1x8x5x6."""
    starts, weights = constant(np.array([-1, 0], np.int32)), constant(np.ones((2, 3)))
    grid, rois = constant(np.zeros((1, 2, 3, 2))), constant(np.zeros((3, 4)))
    signal, angles = apply(ops.Frames(3, 2), apply(ops.Reshape((8, 15, 2)), x)), np.ones((1, 8, 2))
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
    convolved = Node(ops.ConvLSTM(ops.Conv(), ops.Conv()), tuple(map(constant, maps)), ())
    return [
        *layers,
        convolved.results[0],
        apply(ops.GatedFormula(parse("g0 * s0 - g1"), 1), gates, h),
        apply(ops.RecurrentGates(), constant(np.ones((4, 2, 10))), s, constant(np.ones((5, 10)))),
        apply(ops.ResetProduct(1, parse("tanh(x)")), gates, s, constant(np.ones((5, 5)))),
        apply(ops.RecurrentCell((parse("g0"), parse("s1 + e0")), -1), gates, s, h),
        apply(ops.StackStates(), s, s),
    ]


def in_tiles(x: Value) -> Value:
    """Return a convolution of a map of 1x8x5x6 by Winograd's minimal filtering."""
    patches = apply(kernel_ops.WinogradPatches(4, 2, 3, (1, 1, 1, 1), "reflect", -0.0), x)
    w, b = constant(np.ones((3, 8, 3, 3))), constant(np.ones(3))
    y = apply(
        kernel_ops.WinogradResult(4, 5, 6),
        apply(kernel_ops.WinogradProducts(tile=4), patches, w, b),
    )
    w = constant(np.ones((3, 3, 3, 3)))
    y = apply(kernel_ops.WinogradConv(pads=(1, 1, 1, 1), pad_mode="wrap"), y, w)
    y = apply(kernel_ops.WinogradRow(pads=(1, 1, 1, 1)), y, w)
    w, b = constant(np.ones((3, 3, 3, 3))), constant(np.ones(3))
    patches = apply(kernel_ops.StripPatches(4, 2, (1, 1, 1, 1), "reflect"), y)
    products = apply(kernel_ops.StripProducts(tile=4, columns=2), patches, w, b)
    rows = apply(kernel_ops.StripRows(4, 2, 3), products)
    y = apply(kernel_ops.StripColumns(4, 2, 3, 5, 6), rows)
    w = constant(np.ones((2, 3, 3, 3)))
    return apply(kernel_ops.WinogradTiles(pads=(1, 1, 1, 1), pad_mode="edge", tile=4), y, w)


def in_blocks(x: Value) -> Value:
    """Return a convolution of a map of 1x8x5x6 in blocks of pixels."""
    w, b = constant(np.ones((3, 8, 3, 3))), constant(np.ones(3))
    return apply(kernel_ops.ConvBlocks(pads=(1, 1, 1, 1), pad_mode="edge", block=(1, 2)), x, w, b)


def every_operator() -> list[Graph]:
    rng = np.random.default_rng(3)
    x, y = image(1, 8, 5, 6), image(1, 8, 5, 6, name="y")
    ones = [constant(np.ones(8)) for _ in range(4)]
    rows = constant(np.ones((2, 40)))
    points = constant(np.ones((3, 8, 1, 1)))
    small = constant(rng.normal(size=(8, 3, 2, 2)), 'w "quoted" \\ \n \ud800 \N{SNOWMAN} // not')
    reflected = ops.Conv((2, 1), (1, 2), (1, 0, 2, 3), 2, "reflect", -0.0)
    depthwise = kernel_ops.Fused(ops.Conv(groups=8), 2, (), parse("max(y, e0)"))
    pair = kernel_ops.SeparableConv(depthwise, 3)
    fused = kernel_ops.Fused(reflected, 2, (parse("x * (-3)"),), parse("y + e0"))
    values = [
        apply(ops.BatchNormalization(1e-3), x, *ones, layer="norm"),
        apply(ops.Concat(1), x, y, x, layer="join"),
        conv(rng, x, 3, (2, 2), "a", pad_value=-math.inf, pad_mode="constant"),
        apply(ops.ConvTranspose((2, 3), output_padding=(1, 0)), x, small, layer="up"),
        apply(ops.DepthToSpace((2, 1), "dcr"), x, layer=("one", "two")),
        apply(fused, x, constant(np.ones((4, 4, 1, 1))), constant(np.float32(0.1))),
        apply(pair, x, constant(np.ones((8, 1, 3, 3))), constant(np.float32(0.1)), points),
        apply(ops.Pad((0, 0, 1, 2), (0, 0, 3, 4), "wrap", 1e-40), x, layer="\u0000\u2028"),
        pointwise("where(x0 <= inf, silu(x1), -x0) - (x0 < (x1 == 3)) / 1e-30", x, y),
        apply(ops.Reshape((8, 30)), x, layer=""),
        apply(ops.Rearrange((1, 2, 4, 30), (0, 2, 1, 3), (1, 8, 5, 6)), x),
        apply(ops.ResizeNearest((1, 8, 5, 3), ((1, 0, 1), (1, 0, 1), (1, -1, 2), (2, 0, 1))), x),
        apply(ops.Slice((0, 7, 0, 0), (1, -1, 1, 1), (1, 8, 5, 6)), x),
        apply(ops.Transpose((3, 0, 1, 2)), x),
        apply(ops.ArgMax((1, 2), select_last_index=True), x),
        apply(ops.ArgMin((3,), keepdims=False), x),
        apply(ops.CumProd(1, reverse=True), apply(ops.CumSum(3, exclusive=True), x)),
        apply(ops.Det(), constant(np.eye(3))),
        apply(ops.Einsum("...ij,...kj->...ik"), x, y),
        apply(ops.Hardmax((1,)), apply(ops.LogSoftmax((1, 2, 3)), apply(ops.Softmax((3,)), x))),
        apply(ops.MatMul(), x, constant(np.ones((6, 2)))),
        apply(ops.Reduce("sum", (1, 3), False, parse("exp(x0 - x1)"), "float32"), x, y),
        apply(ops.PartialReduce("mean", 3, 2), x),
        apply(
            ops.OnlineStatistics("max_sum_exp", (2, 3), True),
            apply(ops.OnlineStatistics("max_sum_exp", (3,)), x),
        ),
        apply(
            kernel_ops.IndexMapped(
                ops.Concat(0), ((ops.Transpose((3, 0, 1, 2)), ops.Reshape((6, 40))), ())
            ),
            x,
            rows,
        ),
        apply(ops.Sorted(2, 4), x, apply(ops.SortOrder(2, descending=True), x)),
        *windows_and_norms(x),
        *selections(x),
        *samplings(x),
        *recurrences(),
        in_tiles(x),
        in_blocks(x),
    ]
    graphs = [graph_of(v, inputs=(x, y), name=f"g{k}") for k, v in enumerate(values)]
    at = Input(x.type.placed(Layout("2d", "rg8")), "x", Port((0, 2, 3, 1), "unorm8"))
    types = (x.type.placed(Layout("array", "rgba16f", 3)),)
    placed = Node(ops.Pointwise(parse("x0")), (at,), ("n",), Choice("texture", 2), types)
    graphs.append(Graph("placed", (at,), (Output("o", placed.result, Port((1, 0, 2, 3))),)))
    kinds = [np.array([1, 0], t) for t in (np.int64, np.int32, np.int8, np.uint8, bool)]
    odd = [constant(k) for k in (*kinds, np.array([np.nan, np.inf]), np.zeros((2, 9)), 3.0)]
    outputs = tuple(Output(f"o{k}", c, Port.plain(c.type.rank)) for k, c in enumerate(odd))
    graphs.append(Graph("constants", (x,), (*outputs, Output("same", x, x.port))))
    return graphs
