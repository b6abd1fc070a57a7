"""Passes that bring graphs to one form: where each applies, where it refuses and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import conv, graph_of, image, pointwise
from support.pass_support import X, context, known, operators, optimised

from shadergen.errors import InternalError
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import Output, Port, Value, apply, constant
from shadergen.ir.ops import (
    BatchNormalization,
    Concat,
    Conv,
    ConvTranspose,
    DepthToSpace,
    Pad,
    Pointwise,
    Reduce,
    Reshape,
    ResizeNearest,
    Slice,
    Softmax,
    Transpose,
)
from shadergen.passes import pipeline
from shadergen.passes.absorb_transposes import absorb_transposes
from shadergen.passes.canonicalise import canonicalise
from shadergen.passes.drop_identities import drop_identities
from shadergen.passes.fold_constants import fold_constants
from shadergen.passes.kernel_ops import parts
from shadergen.passes.recognise_pixel_shuffle import recognise_pixel_shuffle
from shadergen.passes.rule import Rule, always, apply_rules

RNG = np.random.default_rng(0)
pytestmark = pytest.mark.usefixtures("fresh_random_numbers")


# --- canonicalise, fold constants, drop identities -----------------------------------------------


def test_canonicalise_leaves_only_operators_that_have_kernels():
    norm = apply(BatchNormalization(), X, *(constant(np.ones(8)) for _ in range(4)), layer="bn")
    up = apply(ConvTranspose((2, 2)), norm, known(8, 3, 2, 2), known(3), layer="up")
    graph = canonicalise(graph_of(up, inputs=(X,)), context())
    assert operators(graph) == ["Pointwise", "Conv", "DepthToSpace", "Slice"]
    assert [n.layers for n in graph.nodes] == [("bn",), ("up",), ("up",), ("up",)]
    assert optimised(canonicalise, up, X)[0] == operators(graph)


def test_what_a_decomposition_uses_twice_is_computed_once():
    """A pair of statistics, of which the maximum and the sum are taken."""
    y = apply(Softmax((1,)), X, layer="scores")
    graph = canonicalise(graph_of(y, inputs=(X,)), context())
    assert operators(graph) == ["OnlineStatistics", "Slice", "Slice", "Pointwise"]
    assert all(n.layers == ("scores",) for n in graph.nodes)


def test_constants_fold_in_float64_and_round_once():
    a, b = constant(np.float32(1e8)), constant(np.float32(1))
    y = pointwise("x0 + (x1 + x2) - x1", X, a, b)
    apart = pointwise("x0 + x1", X, pointwise("(x0 + x1) - x0", a, b))
    graph = fold_constants(graph_of(apart, y, inputs=(X,)), context())
    assert operators(graph) == ["Pointwise", "Pointwise"]
    assert [c.data.tolist() for c in graph.constants] == [1.0, 1e8, 1.0]


def test_constants_fold_to_a_tensor_of_the_same_rank():
    for shape in ((), (1,), (2, 3)):
        y = pointwise("x0 + x0", constant(np.ones(shape)))
        assert optimised(fold_constants, y) == ([], [])
        graph = fold_constants(graph_of(y, inputs=()), context())
        assert graph.outputs[0].value.shape == shape


def test_constants_whose_result_is_not_finite_do_not_fold():
    y = pointwise("x0 + x1", X, pointwise("log(x0)", constant(0.0), layer="log"))
    assert optimised(fold_constants, y, X) == (
        ["Pointwise", "Pointwise"], ["the result is not finite"]
    )  # fmt: skip


IDENTITIES = {
    "x0": Pointwise(parse("x0")),
    "pad": Pad((0,) * 4, (0,) * 4, "reflect"),
    "slice": Slice((0,) * 4, (1,) * 4, (1, 8, 6, 6)),
    "concat": Concat(2),
    "transpose": Transpose((0, 1, 2, 3)),
    "reshape": Reshape((1, 8, 6, 6)),
    "shuffle": DepthToSpace((1, 1)),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_are_dropped(name):
    y = pointwise("tanh(x0)", apply(IDENTITIES[name], X))
    assert optimised(drop_identities, y, X)[0] == ["Pointwise"]


def test_what_keeps_the_shape_but_not_the_elements_is_no_identity():
    x = image(1, 1, 6, 6)
    kept = [Transpose((0, 1, 3, 2)), Slice((0, 0, 5, 0), (1, 1, -1, 1), (1, 1, 6, 6))]
    for op in kept:
        assert optimised(drop_identities, apply(op, x), x)[0] == [type(op).__name__]
    assert optimised(drop_identities, apply(Transpose((1, 0, 2, 3)), x), x)[0] == []


def test_pairs_of_transposes_and_of_reshapes_merge():
    y = apply(Transpose((0, 3, 1, 2)), apply(Transpose((0, 2, 3, 1)), X))
    assert optimised(drop_identities, y, X)[0] == []
    y = apply(Reshape((6, 48)), apply(Reshape((8, 36)), X))
    assert optimised(drop_identities, y, X)[0] == ["Reshape"]


def test_operators_without_operands_pass_through_every_pass():
    y = pointwise("x0 + x1", X, apply(Pointwise(parse("log(0)"))))
    graph = pipeline.optimise(graph_of(y, inputs=(X,)), context())
    assert operators(graph) == ["Pointwise", "Pointwise"]


# --- pixel shuffle and transposes ----------------------------------------------------------------


def spelled_out(x: Value, axes: tuple[int, ...], split: tuple[int, ...]) -> Value:
    n, c, h, w = x.shape
    y = apply(Transpose(axes), apply(Reshape(split), x))
    return apply(Reshape((n, c // 4, h * 2, w * 2)), y)


def test_pixel_shuffle_spelled_with_reshapes_is_recognised():
    dcr = spelled_out(X, (0, 3, 4, 1, 5, 2), (1, 2, 2, 2, 6, 6))
    crd = spelled_out(X, (0, 1, 4, 2, 5, 3), (1, 2, 2, 2, 6, 6))
    for y in (dcr, crd):
        assert optimised(recognise_pixel_shuffle, y, X)[0] == ["DepthToSpace"]


def test_what_only_resembles_pixel_shuffle_is_one_rearrangement():
    y = spelled_out(X, (0, 3, 4, 1, 5, 2)[::-1], (1, 2, 2, 2, 6, 6))
    assert optimised(recognise_pixel_shuffle, y, X)[0] == ["Rearrange"]


NHWC, NCHW = Transpose((0, 2, 3, 1)), Transpose((0, 3, 1, 2))


def test_transposes_at_inputs_and_outputs_move_into_the_ports():
    x = image(1, 6, 5, 3)
    y = conv(RNG, apply(NCHW, x), 4, (3, 3))
    graph = absorb_transposes(graph_of(apply(NHWC, y), inputs=(x,)), context())
    assert operators(graph) == ["Conv"]
    assert graph.inputs[0].port.axes == graph.outputs[0].port.axes == (0, 2, 3, 1)
    assert graph.inputs[0].shape == (1, 3, 6, 5)
    assert optimised(absorb_transposes, apply(NHWC, y), x)[0] == ["Conv"]


def test_transposes_pass_element_wise_operators_and_their_constants():
    x = image(1, 6, 5, 3)
    scaled = pointwise("x0 * x1 + x2", x, known(3), known(6, 1, 1))
    y = conv(RNG, apply(NCHW, scaled), 4, (3, 3))
    z = pointwise("tanh(x0) * x1", apply(NHWC, y), known(4))
    assert optimised(absorb_transposes, z, x)[0] == ["Pointwise", "Conv", "Pointwise"]


def test_a_reshape_of_axes_of_size_1_is_a_transpose():
    x = image(1, 6, 5, 1)
    y = conv(RNG, apply(Reshape((1, 1, 6, 5)), x), 1, (3, 3))
    assert optimised(absorb_transposes, apply(Reshape((1, 4, 3, 1)), y), x)[0] == ["Conv"]


def test_a_transpose_that_an_output_absorbs_is_free_to_move_for_the_others():
    y = apply(NHWC, conv(RNG, X, 4, (3, 3)))
    first = pointwise("x0 + 1", y)
    graph = graph_of(pointwise("tanh(x0)", first), first, inputs=(X,))
    assert optimised(absorb_transposes, graph)[0] == ["Conv", "Pointwise", "Pointwise"]


def test_a_transpose_that_others_read_too_does_not_move():
    y = apply(NHWC, conv(RNG, X, 4, (3, 3)))
    graph = graph_of(pointwise("tanh(x0)", y), pointwise("x0 * x1", y, y), inputs=(X,))
    assert optimised(absorb_transposes, graph)[0] == ["Conv", "Transpose", "Pointwise", "Pointwise"]


def test_an_input_that_is_also_read_untransposed_keeps_its_port():
    x = image(1, 4, 4, 4)
    y = pointwise("x0 + x1", apply(NCHW, x), x)
    assert optimised(absorb_transposes, y, x)[0] == ["Transpose", "Pointwise"]


# --- operators before a transpose ----------------------------------------------------------------


PERMUTED = [
    (Pad((0, 1, 2, 0), (1, 0, 0, 3), "reflect"), 1),
    (Concat(2), 2),
    (Slice((1, 4, 0, 0), (1, -2, 1, 1), (1, 2, 3, 2)), 1),
    (ResizeNearest((4, 5, 3, 4), ((1, 0, 2), (1, 0, 1), (1, 0, 1), (1, 0, 1))), 1),
    (Reduce("max", (1, 3)), 1),
    (Pointwise(parse("x0 * x1 - x0")), 2),
]


@pytest.mark.parametrize(("op", "operands"), PERMUTED)
@pytest.mark.parametrize("axes", [(0, 3, 1, 2), (0, 2, 3, 1), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_an_operator_moves_before_a_transpose(op, operands, axes):
    rng = np.random.default_rng(1)
    seen = [rng.normal(size=(2, 5, 3, 4)) for _ in range(operands)]
    stored = [x.transpose(np.argsort(axes)) for x in seen]
    assert all(np.array_equal(s.transpose(axes), x) for s, x in zip(stored, seen, strict=True))
    moved = op.permuted(axes).reference(*stored)
    np.testing.assert_array_equal(np.transpose(moved, axes), op.reference(*seen))


def test_residual_blocks_of_an_nhwc_exporter_keep_no_transpose():
    x = image(1, 6, 5, 4)

    def convolved(value: Value) -> Value:
        nchw = apply(Transpose((0, 3, 1, 2)), value)
        return apply(Transpose((0, 2, 3, 1)), conv(RNG, nchw, 4, (3, 3), pads=(1, 1, 1, 1)))

    a = pointwise("relu(x0)", convolved(x))
    y = pointwise("relu(x0 + x1)", a, convolved(a))
    graph = pipeline.optimise(graph_of(convolved(y), inputs=(x,)), context())
    assert [type(parts(n).kernel) for n in graph.nodes] == [Conv, Conv, Conv]


# --- rules and pipeline --------------------------------------------------------------------------


def test_rules_that_never_settle_are_a_bug():
    grow = Rule("grow", lambda site: pointwise("x0 + 1", *site.node.inputs), always, lambda v: v)
    with pytest.raises(InternalError, match="grow: no fixpoint in 50 rounds"):
        apply_rules(graph_of(pointwise("x0", X), inputs=(X,)), context(), grow)


def test_a_pass_that_breaks_the_graph_is_named(monkeypatch):
    def vandal(graph, context):
        return replace(graph, outputs=(Output("y", graph.outputs[0].value, Port((0, 1))),))

    monkeypatch.setattr(pipeline, "MATHEMATICS", (canonicalise, vandal))
    with pytest.raises(InternalError, match=r"pass vandal broke the graph: .*port axes"):
        pipeline.optimise(graph_of(X, inputs=(X,)), context())


def test_observers_see_the_import_and_every_pass_in_order():
    seen: list[str] = []
    pipeline.optimise(graph_of(X, inputs=(X,)), context(), lambda name, graph: seen.append(name))
    steps = (*pipeline.MATHEMATICS, *pipeline.PLACEMENT)
    assert seen == ["import", *(step.__name__ for step in steps)]
