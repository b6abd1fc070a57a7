"""What 16 bits cost the outputs of a network, and which layers --precision auto keeps from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import compile_graph as compile_without_trials
from support import conv, graph_of, image, play, pointwise
from support.dynamic_models import MODELS

from shadergen.backends.kernels import KernelFamilies
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.notes import compiled_notes
from shadergen.compiler.options import Options
from shadergen.compiler.random_inputs import trial_inputs
from shadergen.ir.graph import apply, constant
from shadergen.ir.ops import ArgMax, Conv, GatherElements, Pool, Reshape
from shadergen.ir.reference import evaluate_graph
from shadergen.passes.choose_precision import choose_precision
from shadergen.passes.placement.summation import blocked_sums, nearest, sampled_sums
from shadergen.passes.placement.target import TOLERANCES
from shadergen.passes.predict_error import BOUND, relative_error
from shadergen.passes.rule import Context

STEPS = ("choose precision", "estimate error")
AUTO = Options(precision="auto", input_range=(0.0, 1.0))


def lossy():
    """Return a network that stores numbers near 1000, whose fractions 16 bits lose."""
    x = image(1, 4, 40, 48)
    first = conv(np.random.default_rng(0), x, 4, (3, 3), "first", pads=(1, 1, 1, 1))
    far = apply(Pool("max", (2, 2)), pointwise("x0 + 1000", first, layer="far"), layer="far")
    back = apply(Pool("max", (2, 2)), pointwise("x0 - 1000", far, layer="back"), layer="back")
    y = conv(np.random.default_rng(1), back, 4, (3, 3), "last", pads=(1, 1, 1, 1))
    return graph_of(y, inputs=(x,))


def chosen(context):
    return {d.subject: d for d in context.decisions if d.step in STEPS}


@pytest.mark.gl
def test_layers_that_make_outputs_err_too_much_stay_in_32_bits():
    graph = lossy()
    x = np.random.default_rng(2).random((1, 4, 40, 48), np.float32)
    (want,) = evaluate_graph(graph, {"x": x}).values()
    _, before, _ = compile_without_trials(graph, precision="auto", input_range=(0.0, 1.0))
    assert relative_error(play(before, {"x": x})["y0"], want) > TOLERANCES["auto"]
    placed, files, context = compile_graph(graph, AUTO)
    assert relative_error(play(files, {"x": x})["y0"], want) <= TOLERANCES["auto"]
    assert {n.choice.precision for n in placed.nodes} == {"highp", "mediump"}
    said = chosen(context)
    assert said["far"].decision == "highp"
    assert "too inexact in 16 bits: this layer and its neighbours add" in said["far"].why
    assert said["last"].decision == "mediump"
    assert "estimated error of the result" in said["last"].why
    assert "16 bits save 13.7 KiB" in said["last"].why


def test_what_was_chosen_for_the_network_is_a_note():
    placed, _, context = compile_graph(lossy(), AUTO)
    note, advice = compiled_notes(placed, context)
    assert "--calibrate" in advice
    assert " layers in 16 bits: estimated error " in note
    assert f"kept below {BOUND:g}" in note


def test_a_layer_that_is_named_as_its_network_is_no_note():
    graph = replace(lossy(), name="far")
    placed, _, context = compile_graph(graph, AUTO)
    note, _ = compiled_notes(placed, context)
    assert " layers in 16 bits: estimated error " in note


def test_what_indices_are_picked_by_is_judged():
    graph = lossy()
    flat = apply(Reshape((1, 4 * 38 * 46)), graph.outputs[0].value)
    index = apply(ArgMax((1,)), flat, layer="index")
    _, _, context = compile_graph(graph_of(index, inputs=graph.inputs), AUTO)
    assert "too inexact in 16 bits" in chosen(context)["far"].why


def test_a_network_of_one_size_is_measured_at_that_size():
    x = image(1, 1, 96, 96)
    flat = apply(Reshape((1, 96 * 96)), pointwise("x0 + 1000", x, layer="far"))
    y = pointwise("x0 - 1000", apply(Reshape((1, 96, 96)), flat), layer="back")
    y = apply(Pool("max", (2, 2)), apply(Reshape((1, 1, 96, 96)), y), layer="y")
    _, _, context = compile_graph(graph_of(y, inputs=(x,)), AUTO)
    assert "estimated error" in chosen(context)["test"].why


def test_trial_inputs_are_noise_and_ramps_within_the_range():
    graph = graph_of(pointwise("x0", image(1, 2, 8, 9)), inputs=(image(1, 2, 8, 9),))
    noise, ramp = (t["x"] for t in trial_inputs(graph, (-2.0, 3.0)))
    assert noise.shape == ramp.shape == (1, 2, 8, 9)
    for values in (noise, ramp):
        assert -2 <= values.min() < -1
        assert 2 < values.max() <= 3
    steps = np.diff(ramp, axis=3)
    np.testing.assert_allclose(steps, np.broadcast_to(steps[..., :1, :1], steps.shape), atol=1e-5)


@pytest.mark.parametrize("terms", [0, 4, 32, 1000])
def test_sampled_sums_err_as_all_of_them_do(terms):
    rng = np.random.default_rng(0)
    x = nearest(rng.uniform(-1, 1, (1, 8, 96, 80)).astype(np.float32))
    w = nearest(rng.uniform(-1, 1, (6, 8, 3, 3)).astype(np.float32))
    op, start = Conv(pads=(1, 1, 1, 1)), np.float32(0.5)
    exact = op.reference(x, w) + start
    every, some = (f(op, x, w, start, terms, nearest) - exact for f in (blocked_sums, sampled_sums))
    assert some.shape == every.shape
    assert 0.8 < some.std() / every.std() < 1.25
    assert 0.5 < np.abs(some).max() / np.abs(every).max() <= 1.1


def test_sampled_sums_of_a_small_map_are_all_of_them():
    rng = np.random.default_rng(0)
    x, w = (nearest(rng.normal(size=s).astype(np.float32)) for s in ((1, 8, 9, 9), (6, 8, 3, 3)))
    for terms in (0, 4, 32, 1000):
        found, want = (f(Conv(), x, w, 0.0, terms, nearest) for f in (sampled_sums, blocked_sums))
        np.testing.assert_array_equal(found, want)


def forced(weight, input_range):
    """Return the lengths of 16-bit sums, and the notes, of a convolution in forced 16 bits."""
    x = image(1, 8, 6, 6)
    w = constant(np.full((4, 8, 3, 3), weight, np.float32))
    graph = graph_of(apply(Conv(), x, w, layer="c"), inputs=(x,))
    options = Options(precision="fp16", input_range=input_range, device="mali-bifrost")
    placed, _, context = compile_graph(graph, options)
    notes = compiled_notes(placed, context)
    return placed.nodes[0].choice.partial_terms, notes


@pytest.mark.parametrize(
    ("weight", "terms"),
    [(8.0, 32), (9.0, 16), (17.0, 8), (33.0, 4)],  # 8 times 32 times 256 would be 65536
)
def test_forced_16_bit_sums_are_as_long_as_the_range_allows(weight, terms):
    assert forced(weight, (-250.0, 250.0)) == (terms, ())


def test_forced_16_bit_sums_that_may_overflow_are_named():
    _, (note,) = forced(100.0, (-250.0, 250.0))
    assert "may overflow to infinity in layer c," in note
    assert "from -250 to 250" in note
    assert forced(100.0, (0.0, 1.0)) == (32, ())


def test_a_network_of_many_numbers_is_measured_with_small_images_though_it_multiplies_nothing():
    x = image(1, 4, 2048, 2048)
    y = x
    for k in range(4):
        y = apply(Pool("max", (3, 3), pads=(1, 1, 1, 1)), y, layer=f"p{k}")
    sides = []

    def trials(graph):
        sides.append(graph.inputs[0].shape[2:])
        return trial_inputs(graph)

    context = Context(KernelFamilies(AUTO.target()), trials=trials)
    choose_precision(graph_of(y, inputs=(x,)), context)
    assert sides == [(64, 64)]


def test_what_integers_are_picked_by_is_found_once():
    x = image(1, 2, 4, 4)
    y = apply(ArgMax((1,)), x, layer="index")
    for k in range(40):  # each doubles the ways that lead back
        y = apply(GatherElements(2), y, y, layer=f"g{k}")
    _, _, context = compile_graph(graph_of(y, inputs=(x,)), AUTO)
    assert "estimated error" in chosen(context)["test"].why


@pytest.mark.parametrize("size", [(32, 48), (64, 96)])  # larger images are cut to 64
@pytest.mark.parametrize("name", ["crop", "flipped", "fsrcnn", "softmax_of_pixels", "statistics"])
def test_an_estimate_leaves_dynamic_sizes_dynamic(name, size):
    def sizes(precision):
        options = Options(dynamic=size, precision=precision, validate=False)
        return compile_graph(import_model(MODELS[name](), options), options)[1].schedule["sizes"]

    assert sizes("auto") == sizes("fp32")
