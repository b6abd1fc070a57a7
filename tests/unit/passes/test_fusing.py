"""Fusing element-wise work into the kernels beside it: where that applies, and why not."""

from __future__ import annotations

import numpy as np
import pytest
from support import conv, graph_of, image, pointwise
from support.pass_support import X, context, known, optimised, refusals

from shadergen.backends.kernels import KernelFamilies
from shadergen.compiler.options import Options
from shadergen.ir.graph import apply, constant
from shadergen.ir.ops import (
    DepthToSpace,
    Reduce,
    Reshape,
    ResizeLinear,
    Transpose,
)
from shadergen.ir.resampling import cubic, enlarge
from shadergen.passes import pipeline
from shadergen.passes.absorb_transposes import absorb_transposes
from shadergen.passes.fold_constants import fold_constants
from shadergen.passes.fuse_pointwise import fuse_pointwise
from shadergen.passes.fuse_residual_resize import fuse_residual_resize
from shadergen.passes.rule import Context

RNG = np.random.default_rng(0)
EXPENSIVE = "the formula before the convolution is too expensive to repeat for every tap"
DIVIDES = "the formula may divide by zero in unused lanes: zero weights times infinity are NaN"
pytestmark = pytest.mark.usefixtures("fresh_random_numbers")


def test_chains_merge_become_epilogues_and_keep_their_layers():
    y = pointwise("tanh(x0)", pointwise("x0 * x1", conv(RNG, X, 8, (3, 3)), known(8, 1, 1)))
    residual = pointwise("relu(x0 + x1)", y, image(1, 8, 4, 4, name="r"), layer="add")
    graph = graph_of(residual, inputs=(X, residual.node.inputs[1]))  # type: ignore[attr-defined]
    assert optimised(fuse_pointwise, graph) == (["Conv+epilogue"], [])
    after = fuse_pointwise(graph, context())
    assert after.nodes[0].layers == ("conv", "pointwise", "add")


def test_a_value_read_twice_by_one_operator_still_fuses():
    y = conv(RNG, X, 8, (3, 3))
    assert optimised(fuse_pointwise, pointwise("x0 * sigmoid(x1)", y, y), X)[0] == ["Conv+epilogue"]


def test_cheap_element_wise_work_becomes_a_prologue():
    shared = pointwise("relu(x0 * x1)", X, known(8, 1, 1), layer="act")
    y = conv(RNG, shared, 4, (3, 3), pads=(1, 1, 1, 1), pad_value=2.0)
    assert optimised(fuse_pointwise, y, X)[0] == ["prologue+Conv"]


@pytest.mark.parametrize(
    ("formula", "operands", "why"),
    [
        ("tanh(x0)", (), EXPENSIVE),
        ("relu(" * 9 + "x0" + ")" * 9, (), EXPENSIVE),
        ("x0 * x1", (known(6, 6),), "the formula before the convolution reads several tensors"),
        ("1 / (2 + abs(x0))", (), DIVIDES),
        ("x0 / x1", (known(8, 1, 1),), DIVIDES),
    ],
)  # fmt: skip
def test_prologues_are_refused(formula, operands, why):
    y = conv(RNG, pointwise(formula, X, *operands), 4, (3, 3))
    assert optimised(fuse_pointwise, y, X) == (["Pointwise", "Conv"], [why])


def test_a_prologue_that_others_read_too_is_refused():
    shared = pointwise("relu(x0)", X, layer="act")
    y = pointwise("x0 + x1", conv(RNG, shared, 8, (1, 1)), shared)
    assert optimised(fuse_pointwise, y, X) == (
        ["Pointwise", "Conv+epilogue"], ["'act' is read elsewhere too"]
    )  # fmt: skip


def test_a_result_that_is_read_elsewhere_gets_no_epilogue():
    y = conv(RNG, X, 8, (1, 1))
    graph = graph_of(pointwise("tanh(x0)", y), y, inputs=(X,))
    why = ["'conv' is read elsewhere too"]
    assert optimised(fuse_pointwise, graph) == (["Conv", "Pointwise"], why)


BROADCAST = "result is broadcast, so it would be computed many times"


def test_what_is_broadcast_is_not_computed_again_and_again():
    x = image(1, 8, 1, 1)
    wide = image(1, 8, 6, 6, name="wide")
    y = pointwise("x0 * x1", pointwise("tanh(x0)", x), wide)
    graph = graph_of(y, inputs=(x, wide))
    assert optimised(fuse_pointwise, graph) == (["Pointwise"] * 2, [f"the inner {BROADCAST}"])
    y = pointwise("x0 * x1", conv(RNG, x, 8, (1, 1)), wide)
    graph = graph_of(y, inputs=(x, wide))
    assert optimised(fuse_pointwise, graph)[1] == [f"the kernel's {BROADCAST}"]


def test_one_channel_may_spread_over_one_plane_only():
    y = conv(RNG, X, 1, (1, 1))
    assert optimised(fuse_pointwise, pointwise("x0 * x1", y, known(4, 1, 1)), X)[1] == []
    assert optimised(fuse_pointwise, pointwise("x0 * x1", y, known(5, 1, 1)), X)[1] == [
        f"the kernel's {BROADCAST}"
    ]


def test_an_operand_that_only_gives_the_shape_is_not_lost():
    y = conv(RNG, X, 1, (1, 1))
    wide = image(1, 3, 6, 6, name="wide")
    graph = graph_of(pointwise("x0 * 2", y, wide), inputs=(X, wide))
    why = "the formula broadcasts the kernel's result to the larger shape of another operand"
    assert optimised(fuse_pointwise, graph) == (["Conv", "Pointwise"], [why])


def test_an_epilogue_may_not_change_the_rank():
    y = apply(Reshape((8, 36)), X)
    wide = image(1, 1, 8, 36, name="wide")
    graph = graph_of(pointwise("x0 + x1", y, wide), inputs=(X, wide))
    assert optimised(fuse_pointwise, graph)[1] == [
        "the formula changes the rank of the kernel's result"
    ]


def test_an_epilogue_may_belong_to_a_scalar():
    y = apply(Reduce("max", (0, 1, 2, 3), keepdims=False), X)
    graph = graph_of(pointwise("x0 * 2", y), inputs=(X,))
    assert optimised(fuse_pointwise, graph) == (["Reduce+epilogue"], [])
    assert (
        pipeline.optimise(graph, Context(KernelFamilies(Options().target())))
        .outputs[0]
        .value.type.rank
        == 0
    )


def test_fusing_stops_at_the_texture_units_and_at_the_size_of_expressions():
    others = [image(1, 8, 6, 6, name=f"r{k}") for k in range(20)]
    y = conv(RNG, X, 8, (1, 1))
    for other in others:
        y = pointwise("tanh(x0 + x1)", y, other)
    names, why = optimised(fuse_pointwise, graph_of(y, inputs=(X, *others)))
    assert len(names) > 1
    assert "17 texture units would be used, the device has 16" in why
    y = X
    for _ in range(90):
        y = pointwise("sin(x0 + 1) * 2", y)
    names, why = optimised(fuse_pointwise, y, X)
    assert 1 < len(names) < 9
    assert why
    assert all("would have more than" in w for w in why)


def test_an_expression_that_doubles_with_every_layer_stays_small_when_written_out():
    y = X
    for _ in range(24):
        y = pointwise("x0 * x0 + x0", y)
    names, _ = optimised(fuse_pointwise, y, X)
    assert 1 < len(names) < 24


def test_constants_are_not_folded_into_much_larger_ones():
    column, row = (constant(np.ones(s), "c") for s in ((1, 1, 20000, 1), (1, 1, 1, 20000)))
    graph = graph_of(pointwise("x0 + x1", pointwise("x0 * x1", column, row), column), inputs=())
    found = context()
    assert fold_constants(graph, found) is graph
    assert refusals(found) == ["the result would have 400000000 elements"]


def test_a_transpose_passes_any_number_of_pointwise_nodes():
    x = image(1, 6, 5, 3)
    y = x
    for k in range(60):
        y = pointwise(f"x0 * {k} + 1", y)
    y = conv(RNG, apply(Transpose((0, 3, 1, 2)), y), 4, (3, 3))
    graph = absorb_transposes(graph_of(y, inputs=(x,)), context())
    assert not [n for n in graph.nodes if isinstance(n.op, Transpose)]
    assert graph.inputs[0].port.axes == (0, 2, 3, 1)


def with_residual(block, order, steps, rows=5):
    """Return a pixel shuffle with a linear resize added to it, and the inputs of both."""
    channels, (down, across) = 2, block
    x = image(1, channels, rows, 7)
    maps = image(1, channels * down * across, 5, 7, name="maps")
    sizes = (1, channels, 5 * down, 7 * across)
    shuffled = apply(DepthToSpace(block, order), maps, layer="shuffle")
    resized = apply(ResizeLinear(sizes, ((1, 0, 1), (1, 0, 1), *steps)), x, layer="resize")
    return pointwise("x0 + x1", shuffled, resized, layer="sum"), x, maps


@pytest.mark.parametrize("order", ["crd", "dcr"])
@pytest.mark.parametrize(
    ("block", "steps"),
    [((2, 2), ((2, -1, 4), (2, -1, 4))), ((3, 2), ((2, -2, 6), (2, 0, 4))),
     ((4, 1), ((2, -3, 8), (1, 0, 1)))],
)  # fmt: skip
def test_a_resize_is_added_before_the_pixel_shuffle(block, order, steps):
    y, *inputs = with_residual(block, order, steps)
    left, _ = optimised(fuse_residual_resize, y, *inputs, package="mpv")
    assert left == ["Conv", "Pointwise", "DepthToSpace"]


def test_a_second_pixel_shuffle_is_added_before_the_first():
    """As cubic resizes of pictures of any size are imported."""
    x, maps = image(1, 2, 5, 7), image(1, 8, 5, 7, name="maps")
    shuffled = apply(DepthToSpace((2, 2), "crd"), maps, layer="shuffle")
    enlarged = enlarge(x, ((2, -1, 4), (2, -1, 4)), cubic(-0.75), "resize")
    y = pointwise("x0 + x1", shuffled, enlarged)
    left, _ = optimised(fuse_residual_resize, y, x, maps, package="mpv")
    assert left == ["Conv", "Pointwise", "DepthToSpace"]
    other = apply(DepthToSpace((2, 2), "dcr"), maps, layer="other")
    _, why = optimised(
        fuse_residual_resize, pointwise("x0 + x1", shuffled, other), maps, package="mpv"
    )
    assert why == ["the pixel shuffles differ"]
    luma = apply(DepthToSpace((2, 2), "crd"), image(1, 4, 5, 7, name="luma"), layer="luma")
    y = pointwise("x0 + x1", shuffled, luma)  # of one channel, which is broadcast
    _, why = optimised(fuse_residual_resize, y, maps, luma.node.inputs[0], package="mpv")
    assert why == ["the pixel shuffles differ"]


def test_other_resizes_are_added_after_the_pixel_shuffle():
    asked = {"package": "mpv"}
    y, *inputs = with_residual((2, 2), "crd", ((1, 0, 1), (2, -1, 4)), rows=10)
    left, why = optimised(fuse_residual_resize, y, *inputs, **asked)
    assert "Conv" not in left
    assert why == ["the resize's factors differ from the pixel shuffle's"]
    y, *inputs = with_residual((2, 2), "crd", ((2, -1, 4), (2, -1, 4)))
    assert "Conv" not in optimised(fuse_residual_resize, y, *inputs)[0]
