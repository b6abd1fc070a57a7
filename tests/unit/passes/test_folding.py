"""Passes that put work into weights and attributes: where each applies, refuses and why."""

from __future__ import annotations

import numpy as np
import pytest
from support import conv, graph_of, image, pointwise, refusal
from support.pass_support import X, context, known, operators, optimised, refusals

from shadergen.ir import text
from shadergen.ir.graph import apply, constant
from shadergen.ir.ops import (
    Conv,
    Pad,
    Pool,
    Slice,
)
from shadergen.ir.reference import evaluate_graph
from shadergen.passes import pipeline
from shadergen.passes.apply_options import apply_options
from shadergen.passes.attach_preprocessing import Preprocessing, attach_preprocessing
from shadergen.passes.drop_dead_channels import drop_dead_channels
from shadergen.passes.fold_affine import fold_affine
from shadergen.passes.fuse_pads import fuse_pads

RNG = np.random.default_rng(0)
pytestmark = pytest.mark.usefixtures("fresh_random_numbers")


# --- pads and affine maps ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_spatial_padding_merges_into_a_convolution_that_pads_nothing(mode):
    y = conv(RNG, apply(Pad((0, 0, 1, 2), (0, 0, 3, 9), mode, 0.5), X), 4, (3, 3))
    assert optimised(fuse_pads, y, X) == (["Conv"], [])


def test_padding_with_the_same_constant_merges_into_padding():
    y = conv(RNG, apply(Pad((0, 0, 1, 0), (0, 0, 0, 2)), X), 4, (3, 3), pads=(1, 1, 1, 1))
    graph = fuse_pads(graph_of(y, inputs=(X,)), context())
    assert [n.op.pads for n in graph.nodes] == [(2, 1, 1, 3)]


def test_paddings_that_repeat_the_border_merge():
    mirrored = Pad((0, 0, 1, 1), (0, 0, 1, 0), "symmetric")  # by one element: the nearest
    y = conv(RNG, apply(mirrored, apply(mirrored, X)), 4, (3, 3))
    graph = fuse_pads(graph_of(y, inputs=(X,)), context())
    (found,) = (n.op for n in graph.nodes)
    assert (found.pads, found.pad_mode) == ((2, 2, 2, 0), "edge")
    x = RNG.standard_normal(X.shape)
    want, got = (evaluate_graph(g, {"x": x})["y0"] for g in (graph_of(y, inputs=(X,)), graph))
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize(
    ("pad", "attributes", "why"),
    [
        (Pad((0, 1, 0, 0), (0, 0, 0, 0)), {}, "the padding adds channels or batch entries"),
        (Pad((0, 0, 1, 1), (0, 0, 1, 1), "reflect"), {"pads": (1, 1, 1, 1)},
         "reflect padding and the convolution's own constant padding do not merge"),
        (Pad((0, 0, 2, 1), (0, 0, 1, 1), "symmetric"), {"pads": (1, 1, 1, 1), "pad_mode": "edge"},
         "symmetric padding and the convolution's own edge padding do not merge"),
        (Pad((0, 0, 1, 1), (0, 0, 1, 1), "edge"), {"pads": (1, 1, 1, 1)},
         "edge padding and the convolution's own constant padding do not merge"),
        (Pad((0, 0, 1, 1), (0, 0, 1, 1)), {"pads": (1, 1, 1, 1), "pad_mode": "edge"},
         "constant padding and the convolution's own edge padding do not merge"),
        (Pad((0, 0, 1, 1), (0, 0, 1, 1), "constant", 1.0), {"pads": (1, 1, 1, 1)},
         "constant padding and the convolution's own constant padding do not merge"),
    ],
)  # fmt: skip
def test_padding_that_does_not_merge_is_left(pad, attributes, why):
    y = conv(RNG, apply(pad, X), 4, (3, 3), **attributes)
    assert optimised(fuse_pads, y, X) == (["Pad", "Conv"], [why])


def test_affine_maps_fold_into_the_convolution_before():
    y = conv(RNG, X, 4, (3, 3), bias=False)
    y = pointwise("(x0 - x1) * x2 / 4 + 1", y, known(4, 1, 1), known(1), layer="bn")
    y = pointwise("-2 * x0", y, layer="scale")
    graph = fold_affine(graph_of(y, inputs=(X,)), context())
    assert [n.layers for n in graph.nodes] == [("conv", "bn", "scale")]
    assert optimised(fold_affine, y, X) == (["Conv"], [])


def test_affine_maps_do_not_fold_when():
    y = conv(RNG, X, 4, (3, 3), layer="c")
    scaled = pointwise("2 * x0", y)
    both = pointwise("x0 * x1", scaled, y)
    assert optimised(fold_affine, both, X)[1] == ["'c' is read elsewhere too"]
    spatial = pointwise("x0 * x1", y, known(4, 1))
    assert optimised(fold_affine, spatial, X)[1] == ["its constants vary over space or batch"]
    y = apply(Conv(), X, constant(np.full((4, 8, 1, 1), 2.0)), layer="c")
    for formula in ("x0 * x1", "x0 + x1 * 1e9"):
        huge = pointwise(formula, y, constant(np.float32(3e38)))
        found = context()
        assert operators(fold_affine(graph_of(huge, inputs=(X,)), found)) == ["Conv", "Pointwise"]
        assert refusals(found) == ["a folded weight is not finite"]


def weights_of(graph, name):
    (node,) = (n for n in graph.nodes if n.name == name)
    return [v.data for v in node.inputs[1:]]


def dead(reader, between="relu(x0)", also=None):
    """Return weights and bias of a layer that ``reader`` reads through a formula."""
    first = conv(RNG, X, 8, (3, 3), layer="first")
    y = apply(Conv(), pointwise(between, first), constant(reader, "w"), layer="second")
    outputs = (y, also(first)) if also else (y,)
    graph = drop_dead_channels(graph_of(*outputs, inputs=(X,)), context())
    return weights_of(graph, "first")


def test_channels_that_are_multiplied_by_zeros_lose_their_weights_and_what_feeds_them():
    reader = RNG.normal(size=(4, 8, 1, 1)).astype(np.float32)
    reader[:, 2] = 0.0
    reader[:, 5] = 1e-39  # GPUs take it for zero
    for parameter in dead(reader):
        assert [bool(channel.any()) for channel in parameter] == [c not in (2, 5) for c in range(8)]
    inner = conv(RNG, X, 8, (1, 1), layer="inner")
    middle = np.zeros((8, 8, 1, 1), np.float32)
    middle[0, 1] = middle[1, 3] = 1.0  # channel 1 of the layer between is dead, so is 3 before it
    y = apply(Conv(), inner, constant(middle, "m"), layer="middle")
    last = np.zeros((4, 8, 1, 1), np.float32)
    last[0, 0] = 2.0
    y = apply(Conv(), y, constant(last, "l"), layer="last")
    graph = drop_dead_channels(graph_of(y, inputs=(X,)), context())
    assert [bool(c.any()) for c in weights_of(graph, "inner")[0]] == [c == 1 for c in range(8)]


def test_channels_that_something_else_reads_stay():
    reader = np.zeros((4, 8, 1, 1), np.float32)
    reader[:, 0] = 1.0
    assert all(c.any() for c in dead(reader, also=lambda first: pointwise("x0 + 1", first))[0])
    pooled = dead(reader, also=lambda first: apply(Pool("max", (2, 2)), first))
    assert all(c.any() for c in pooled[0])
    assert [bool(c.any()) for c in dead(reader, "tanh(x0)")[0]] == [True] + [False] * 7


@pytest.mark.parametrize("formula", ["1 / x0", "log(x0)", "rsqrt(x0)", "sqrt(x0)"])
def test_channels_stay_whose_formula_may_be_infinite_at_zero(formula):
    reader = RNG.normal(size=(4, 8, 1, 1)).astype(np.float32)
    reader[:, 2] = 0.0
    assert all(c.any() for c in dead(reader, formula)[0])


def test_results_are_the_same_without_dead_channels():
    reader = RNG.normal(size=(4, 8, 1, 1)).astype(np.float32)
    reader[:, 2] = 0.0
    first = conv(RNG, X, 8, (3, 3), layer="first")
    graph = graph_of(
        apply(Conv(), pointwise("relu(x0) * 2 + 1", first), constant(reader, "w")), inputs=(X,)
    )
    after = drop_dead_channels(graph, context())
    assert after is not graph
    x = RNG.normal(size=X.shape).astype(np.float32)
    want, got = (evaluate_graph(g, {"x": x})["y0"] for g in (graph, after))
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_convolutions_that_share_weights_still_do():
    weights = RNG.normal(size=(8, 8, 1, 1)).astype(np.float32)
    weights[0, 0] = 1e-40
    shared = constant(weights, "shared")
    y = apply(Conv(), apply(Conv(), X, shared, layer="one"), shared, layer="two")
    graph = drop_dead_channels(graph_of(y, inputs=(X,)), context())
    one, two = (n.inputs[1] for n in graph.nodes)
    assert one is two and one.data[0, 0] == 0.0


def test_weights_that_are_not_finite_are_left_alone():
    reader = np.zeros((4, 8, 1, 1), np.float32)
    reader[0, 0] = np.inf
    assert all(c.any() for c in dead(reader)[0])


@pytest.mark.parametrize("formula", ["relu(x0)", "x0 * x0", "1 / x0", "relu(x0 - x0)", "x0 + x1"])
def test_what_is_not_affine_in_the_convolution_stays(formula):
    y = conv(RNG, X, 8, (1, 1))
    operands = (y, image(1, 8, 6, 6, name="r")) if "x1" in formula else (y,)
    graph = graph_of(pointwise(formula, *operands), inputs=(X, *operands[1:]))
    found = context()
    assert operators(fold_affine(graph, found)) == ["Conv", "Pointwise"]
    assert refusals(found) == []


def test_reversed_channels_fold_into_the_weights_of_one_group():
    swap = apply(Slice((0, 7, 0, 0), (1, -1, 1, 1), (1, 8, 6, 6)), X)
    assert optimised(fold_affine, conv(RNG, swap, 4, (3, 3)), X)[0] == ["Conv"]
    assert optimised(fold_affine, conv(RNG, swap, 4, (3, 3), groups=2), X)[0] == ["Slice", "Conv"]
    flip = apply(Slice((0, 7, 5, 0), (1, -1, -1, 1), (1, 8, 6, 6)), X)
    assert optimised(fold_affine, conv(RNG, flip, 4, (3, 3)), X)[0] == ["Slice", "Conv"]


# --- options and preprocessing -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "want"),
    [("y2rg", [[3, 0], [0, -2]]), ("y2rg_half", [[3, 0], [0, 2]]), ("unorm8", [[1], [0]])],
)
def test_output_encodings_are(encoding, want):
    x = image(1, 1, 2, 1)
    graph = apply_options(graph_of(x, inputs=(x,)), context(output_encoding=encoding))
    got = evaluate_graph(graph, {"x": np.array([3.0, -2.0]).reshape(x.shape)})["y0"]
    assert got[0, :, :, 0].T.tolist() == want
    assert graph.outputs[0].port.encoding == encoding
    again = apply_options(graph, context(output_encoding=encoding))
    assert text.to_text(again) == text.to_text(graph)


def test_encodings_for_one_channel_refuse_more():
    refused = refusal(apply_options, graph_of(X, inputs=(X,)), context(output_encoding="y2rg"))
    assert refused.code == "SG0301"
    assert refused.what == "--output-encoding y2rg needs outputs of one channel"
    assert "1x8x6x6" in refused.where[0]


def test_outputs_that_are_inputs_constants_or_each_other_are_copied():
    y = pointwise("relu(x0)", X)
    graph = graph_of(y, X, constant(np.ones(3)), y, inputs=(X,))
    assert optimised(apply_options, graph)[0] == ["Pointwise"] * 4


def test_the_guard_goes_to_every_convolution():
    y = conv(RNG, conv(RNG, X, 4, (1, 1)), 4, (1, 1))
    graph = apply_options(graph_of(y, inputs=(X,)), context(zero_guard=0.5))
    assert [n.op.zero_guard for n in graph.nodes] == [0.5, 0.5]


def test_preprocessing_is_scale_mean_deviation_in_the_models_order():
    x = image(1, 3, 2, 2)
    wanted = Preprocessing(True, (255.0,), (10.0, 20.0, 30.0), (2.0, 4.0, 8.0), True)
    graph = attach_preprocessing(graph_of(pointwise("x0 * 1", x), x, inputs=(x,)), wanted)
    assert graph.inputs[0].port.encoding == "unorm8"
    pixels = np.random.default_rng(0).random((1, 3, 2, 2))
    got = evaluate_graph(graph, {"x": pixels})
    for c, (mean, deviation) in enumerate(((10, 2), (20, 4), (30, 8))):
        want = (255 * pixels[:, 2 - c] - mean) / deviation
        for y in got.values():
            np.testing.assert_allclose(y[:, c], want, rtol=1e-5, atol=1e-5)


def test_preprocessing_folds_into_a_first_convolution_without_padding():
    x = image(1, 3, 6, 6)
    graph = graph_of(conv(RNG, x, 4, (3, 3)), inputs=(x,))
    graph = attach_preprocessing(graph, Preprocessing(True, (255.0,), (1.0, 2.0, 3.0)))
    graph = pipeline.optimise(graph, context())
    assert operators(graph) == ["prologue+Conv"]


RGB = image(1, 3, 6, 6, name="rgb")


@pytest.mark.parametrize(
    ("inputs", "wanted", "says"),
    [
        ((RGB, image(1, name="s")), {}, "needs a model with one image input"),
        ((image(1, 8),), {}, "needs a model with one image input"),
        ((X,), {}, "needs an image, the input has 8 channels"),
        ((RGB,), {"mean": (1.0, 2.0)}, "mean has 2 values"),
        ((RGB,), {"deviation": (0.0,)}, "std must not be 0"),
        ((RGB,), {"scale": (np.inf,)}, "scale, mean and std must be finite numbers"),
    ],
)
def test_preprocessing_that_does_not_fit_is_refused(inputs, wanted, says):
    refused = refusal(
        attach_preprocessing, graph_of(inputs[0], inputs=inputs), Preprocessing(**wanted)
    )
    assert refused.code == "SG0301"
    assert says in refused.what
