"""Tuning: what may vary, what it is predicted to cost, what is measured and kept. No times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import ESPCN, conv, gl_context, graph_of, image, pointwise
from support.dimensions import new
from support.webgpu import context as webgpu_context

import shadergen
from shadergen.backends.devices.families import FITTED
from shadergen.backends.dialects.glsl_es import print_program
from shadergen.backends.kernels import KernelFamilies
from shadergen.backends.kernels.convolution import lower_convolution
from shadergen.compiler.cli import cli
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.compiler.tuning import session, trials
from shadergen.compiler.tuning.coverage import AGAIN, advice, coverage_notes
from shadergen.compiler.tuning.file import WRONG, Tuning, read_tuning, save_tuning
from shadergen.compiler.tuning.session import kinds, spearman, tune_model
from shadergen.compiler.tuning.trials import Settings, measure
from shadergen.errors import ShadergenError
from shadergen.ir.graph import Choice, Graph, Input, Node, Value, apply
from shadergen.ir.ops import Concat, Pool
from shadergen.passes.choose_kernels import rank, within_budget
from shadergen.passes.pipeline import optimise
from shadergen.passes.placement.tuning_key import tuning_key
from shadergen.passes.predict_cost import HOPELESS, Predictor
from shadergen.passes.rule import Context
from shadergen.runtime_glue.python.webgpu import HeadlessContext
from shadergen.runtime_glue.python.webgpu.device import TIMESTAMPS

GL = pytest.mark.gl
RNG = np.random.default_rng(0)
QUICK = Settings(frames=1, warm_up=1, node_seconds=1.0)
LLVMPIPE = Options(device="llvmpipe")
FIRST = Choice("compute", (8, 1), 2, "texture", "highp")


def placed(y: Value, x: Value, options: Options = LLVMPIPE) -> Graph:
    return optimise(graph_of(y, inputs=(x,)), Context(KernelFamilies(options.target())))  # type: ignore[arg-type]


def node_of(y: Value, x: Value, options: Options = LLVMPIPE) -> Node:
    """Return the last node of a compiled graph with its choice undecided."""
    node = placed(y, x, options).nodes[-1]
    return replace(node, choice=Choice(precision=node.choice.precision))


def two(names: str = "a", stride: int = 1, out: int = 8, epilogue: str = "tanh(x0)") -> Value:
    """Return a convolution of what another layer computes; weights differ from call to call."""
    x = pointwise("x0 * x0", X, layer=f"{names}0")
    y = conv(RNG, x, out, (3, 3), f"{names}1", strides=(stride, stride))
    return pointwise(epilogue, y, layer=f"{names}2")


X = image(1, 16, 12, 20)


# --- signatures -----------------------------------------------------------------------------------


def test_names_and_weights_are_no_part_of_a_signature():
    one, other = node_of(two("a"), X), node_of(two("b"), X)
    assert one.name != other.name
    assert tuning_key(one, LLVMPIPE.target()) == tuning_key(other, LLVMPIPE.target())


@pytest.mark.parametrize(
    "other",
    [two(stride=2), two(out=12), two(epilogue="relu(x0)"), conv(RNG, X, 8, (3, 3))],
    ids=["stride", "channels", "epilogue", "of an input"],
)
def test_what_changes_a_shader_changes_the_signature(other):
    target = LLVMPIPE.target()
    assert tuning_key(node_of(two(), X), target) != tuning_key(node_of(other, X), target)


def test_the_targets_way_to_read_is_part_of_the_signature():
    sampled = Options(device="llvmpipe", fetch="texel").target()
    node = node_of(two(), X)
    assert tuning_key(node, LLVMPIPE.target()) != tuning_key(node, sampled)


# --- candidates and predictions -------------------------------------------------------------------


def found(**options: Any) -> tuple[Choice, ...]:
    wanted = Options(device="llvmpipe", **options)
    return KernelFamilies(wanted.target()).choices(node_of(two(), X, wanted))


def test_only_textures_of_bytes_are_unpacked():
    options = Options(device="llvmpipe", weight_format="int8")
    predictor = Predictor(node_of(two(), X, options), KernelFamilies(options.target()))

    def operations(storage: Any) -> float:
        drawn = Choice("fragment", planes=1, weights=storage, precision="highp")
        return predictor.work(drawn)[0].operations

    assert operations("ubo") == operations("ssbo") == operations("constants")
    assert operations("texture") > 2 * operations("ubo")


def test_options_filter_the_candidates():
    every = set(found())
    assert {c.stage for c in every} == {"fragment", "compute"}
    assert {c.weights for c in every} == {"constants", "ubo", "texture", "ssbo"}
    assert set(found(stage="compute")) == {c for c in every if c.stage == "compute"}
    assert set(found(weights="ubo")) == {c for c in every if c.weights == "ubo"}
    assert {c.planes for c in found(mrt=1) if c.stage == "fragment"} == {1}


def test_a_stage_is_not_forced_where_a_node_has_no_room_in_it():
    options = Options(device="llvmpipe", stage="compute")
    x = image(4, 9)
    node = node_of(pointwise("tanh(x0)", x), x, options)
    assert [c.stage for c in KernelFamilies(options.target()).choices(node)] == ["fragment"]


def test_what_a_node_has_pinned_is_kept():
    node = node_of(two(), X)
    pinned = replace(node, choice=replace(node.choice, weights="texture"))
    assert {c.weights for c in KernelFamilies(LLVMPIPE.target()).choices(pinned)} == {"texture"}


def test_a_block_shares_weights_and_inputs_and_multiplies_as_often():
    predictor = Predictor(node_of(two(), X), KernelFamilies(LLVMPIPE.target()))
    (one,) = predictor.work(Choice("compute", (1, 1), 1, "texture", "highp"))
    (row,) = predictor.work(Choice("compute", (2, 1), 1, "texture", "highp"))
    (both,) = predictor.work(Choice("compute", (2, 1), 2, "texture", "highp"))
    pixels = 10 * 18  # of the result
    bias = 1  # each invocation reads its planes'
    each = 9 * 4 * 4 + bias  # taps, planes of the input, lanes
    assert one.weights == pixels * 2 * each
    assert row.weights * 2 == one.weights
    assert (one.texels, row.texels) == (pixels * 2 * 9 * 4, pixels * 2 * 3 * 4 * 4 // 2)
    assert both.texels * 2 == row.texels
    assert one.multiplies == row.multiplies == both.multiplies == pixels * 2 * 9 * 4 * 4
    assert one.stores == both.stores == pixels * 2


@pytest.mark.parametrize(("stride", "unrolled"), [(1, True), (2, True), (3, False)])
def test_taps_count_as_code_where_the_kernel_unrolls_them(stride, unrolled):
    """Three taps three pixels apart share nothing."""
    node = node_of(two(stride=stride), X)
    choice = Choice("compute", (2, 1), 1, "texture", "highp")
    (lowered,) = lower_convolution(replace(node, choice=choice), LLVMPIPE.target())
    assert ("kx" not in print_program(lowered.program, 310).text) == unrolled
    taps = 3 if unrolled else 1
    assert Predictor(node, KernelFamilies(LLVMPIPE.target())).work(choice)[0].code == 4 * 2 * taps


def test_constants_are_literals_and_code():
    predictor = Predictor(node_of(two(), X), KernelFamilies(LLVMPIPE.target()))
    (constants,) = predictor.work(Choice("fragment", (1, 1), 2, "constants", "highp"))
    (looped,) = predictor.work(Choice("fragment", (1, 1), 2, "texture", "highp"))
    assert (constants.weights_from, looped.weights_from) == ("literal", "image")
    assert constants.weights == constants.multiplies
    assert constants.alive < looped.alive
    assert (constants.code, constants.programs) == (9 * 4 * 4 * 2, 1)
    assert constants.code > looped.code


def predictor_on_the_pi(y: Value, x: Input = X) -> Predictor:
    return predictor_on("videocore-6", y, x)


def predictor_on(device: str, y: Value, x: Input = X) -> Predictor:
    options = Options(device=device)
    return Predictor(node_of(y, x, options), KernelFamilies(options.target()))


@pytest.mark.parametrize(("size", "spills"), [(3, False), (5, False), (7, True)])
def test_constants_of_more_places_than_a_device_holds_spill(size, spills):
    x = image(1, 4, 12, 20)  # so few weights that all are constants
    predictor = predictor_on_the_pi(conv(RNG, x, 8, (size, size)), x)
    constants = Choice("fragment", (1, 1), 2, "constants", "highp")
    assert predictor.work(constants)[0].taps == size * size
    assert predictor.spills(constants) == spills
    looped = replace(constants, weights="ubo")
    assert predictor.work(looped)[0].taps == 0
    assert not predictor.spills(looped)


def test_places_of_a_depthwise_convolution_are_those_of_each_plane():
    predictor = predictor_on_the_pi(conv(RNG, X, X.shape[1], (3, 3), groups=X.shape[1]))
    (work,) = predictor.work(Choice("fragment", (1, 1), 2, "ubo", "highp"))
    assert work.taps == 9 * 2


@pytest.mark.parametrize(("planes", "spills"), [(2, False), (4, True)])
def test_depthwise_draws_of_many_constants_spill_on_intel(planes, spills):
    x = image(1, 16, 12, 20)
    predictor = predictor_on("intel-gen12", conv(RNG, x, 16, (3, 3), groups=16), x)
    constants = Choice("fragment", (1, 1), planes, "constants", "highp")
    assert predictor.spills(constants) == spills
    assert not predictor.spills(replace(constants, weights="ubo"))
    dense = predictor_on("intel-gen12", conv(RNG, x, 16, (5, 5)), x)
    assert not dense.spills(replace(constants, planes=1))


@pytest.mark.parametrize(("planes", "crowded"), [(3, False), (4, True)])
def test_draws_have_no_more_constants_than_intel_compiles_in_a_second(planes, crowded):
    x = image(1, 16, 12, 20)
    predictor = predictor_on("intel-gen12", conv(RNG, x, 16, (3, 3)), x)
    constants = Choice("fragment", (1, 1), planes, "constants", "highp")
    assert predictor.work(constants)[0].code == 9 * 16 * planes
    assert predictor.spills(constants) == crowded


@pytest.mark.parametrize("weights", ["texture", "ubo", "ssbo"])
def test_a_dispatch_that_spills_on_one_of_several_devices_is_told_apart(weights):
    """Two pixels of four planes spill on VideoCore alone, of two planes on no device."""
    x = image(1, 64, 64, 64)
    for device, somewhere in ("gles31-mobile", True), ("mali-bifrost", False):
        predictor = predictor_on(device, conv(RNG, x, 64, (1, 1)), x)
        few = Choice("compute", (2, 1), 2, weights, "highp")
        many = replace(few, planes=4)
        assert not predictor.spills_somewhere(few)
        assert predictor.spills_somewhere(many) == somewhere
        assert not predictor.spills(many)


def test_weights_that_a_texture_holds_take_registers_until_they_are_read():
    predictor = predictor_on_the_pi(conv(RNG, X, 12, (3, 3)))
    block = Choice("fragment", (1, 1), 3, "ubo", "highp")
    texture = replace(block, weights="texture")
    assert predictor.work(block)[0].alive == predictor.work(texture)[0].alive
    assert (predictor.spills(block), predictor.spills(texture)) == (False, True)


def test_lanes_of_channels_that_a_result_lacks_take_no_registers():
    pixels = 2
    block = Choice("compute", (pixels, 1), 1, "texture", "highp")
    alive = {
        channels: predictor_on("gles31-mobile", conv(RNG, X, channels, (3, 3)), X)
        .work(block)[0]
        .alive
        for channels in (1, 3, 4)
    }
    assert (alive[4] - alive[3], alive[4] - alive[1]) == (pixels, 3 * pixels)


def test_a_generic_build_avoids_what_one_family_cannot_compile():
    options = Options(device="gles31-mobile")
    x = image(1, 16, 28, 28)
    node = node_of(conv(RNG, x, 16, (3, 3)), x, options)
    predictor = Predictor(node, KernelFamilies(options.target()))
    block = Choice("compute", (4, 1), 1, "ssbo", "highp")
    hopeless = replace(block, block=(7, 1), planes=4)
    assert predictor.work(hopeless)[0].alive > HOPELESS * min(c.registers for c in FITTED)
    assert (predictor.spills(block), predictor.spills(hopeless)) == (False, True)


def test_a_cost_is_never_free_and_grows_with_the_map():
    target = LLVMPIPE.target()
    large = image(1, 16, 48, 80)
    small_node = node_of(conv(RNG, X, 8, (3, 3)), X)
    large_node = node_of(conv(RNG, large, 8, (3, 3)), large)
    for choice in KernelFamilies(target).choices(small_node):
        cost = Predictor(small_node, KernelFamilies(target)).cost(choice)
        assert 0 < cost < Predictor(large_node, KernelFamilies(target)).cost(choice)


# --- choosing by what was measured ----------------------------------------------------------------


def decide(times: dict[Choice, float]) -> Choice:
    y = two()
    name = tuning_key(node_of(y, X), LLVMPIPE.target())
    context = Context(KernelFamilies(LLVMPIPE.target()), {name: times})
    seen: dict[str, Graph] = {}
    optimise(graph_of(y, inputs=(X,)), context, seen.__setitem__)
    return seen["choose_kernels"].nodes[-1].choice


def test_a_measured_candidate_is_taken_whatever_was_predicted():
    predictor = Predictor(node_of(two(), X), KernelFamilies(LLVMPIPE.target()))
    dearest = max(found(), key=predictor.cost)
    assert decide({dearest: 1e9}) == dearest
    assert decide({dearest: 1e9, FIRST: 1e8}) == FIRST


def test_prediction_decides_between_times_that_are_alike():
    predictor = Predictor(node_of(two(), X), KernelFamilies(LLVMPIPE.target()))
    likely, *_, dearest = sorted(found(), key=predictor.cost)
    assert decide({dearest: 1e9, likely: 1.02e9}) == likely
    assert decide({dearest: 1e9, likely: 1.04e9}) == dearest


def test_a_wrong_candidate_is_not_taken():
    predicted = decide({})
    assert decide({predicted: WRONG}) != predicted
    assert decide(dict.fromkeys(found(), WRONG)) == predicted  # nothing else is left


def test_what_one_size_measured_counts_though_a_dynamic_one_was_ranked_before():
    _, height, width = new()
    direct = Options(device="llvmpipe", winograd="off")
    fixed, dynamic = (
        node_of(conv(RNG, x, 8, (3, 3)), x, direct)
        for x in (image(1, 16, 256, 384), image(1, 16, height, width))
    )
    target = direct.target()
    best = rank(fixed, Context(KernelFamilies(target))).costs[0][1]
    wrong = {tuning_key(fixed, target): {best: WRONG}}
    context = Context(KernelFamilies(target), wrong)
    assert rank(dynamic, context).costs[0][1] == best
    assert best not in [choice for _, choice in rank(fixed, context).costs]


@pytest.mark.parametrize(("slower", "weights"), [(3e6, "constants"), (2e6, "texture")])
def test_constants_of_few_pixels_must_pay_for_their_compilation(slower, weights):
    """1152 floats and a program's 512 must save a microsecond each beside compute shaders."""
    constants = Choice("fragment", planes=2, weights="constants", precision="highp")
    assert decide({constants: 1e6, FIRST: slower}).weights == weights


def test_predictions_that_hold_compile_time_are_not_billed_for_it_again():
    """Constants save 8 channels of 128x128 0.5 ms a frame; MIN_SAVED alone asks for 1.1 ms."""
    x = image(1, 8, 128, 128)
    node = node_of(conv(RNG, x, 8, (3, 3)), x)
    target = LLVMPIPE.target()
    context = Context(KernelFamilies(target))
    ranking = rank(node, context)
    weights = {r.costs[0][1].weights for r in within_budget({node: ranking}, context).values()}
    assert weights == {"constants"}
    measured = within_budget({node: replace(ranking, measured=True)}, context)[node]
    assert measured.costs[0][1].weights != "constants"


def test_compile_uses_the_file(tmp_path):
    path = tmp_path / "t.json"
    options = Options(device="llvmpipe", input_size={"": (16, 24)})
    plain = compile_model(ESPCN, tmp_path / "plain", options)
    node = next(n for n in plain.graph.nodes if n.name == "conv2")
    slow = replace(node.choice, stage="compute", block=(2, 1), planes=1, weights="ubo")
    save_tuning(
        Tuning("llvmpipe (LLVM)", {}).extended(tuning_key(node, options.target()), {slow: 1.0}),
        path,
    )
    tuned = shadergen.compile_model(
        ESPCN, tmp_path / "tuned", device="llvmpipe", input_size="16x24", tuning=str(path)
    )
    assert node.choice != slow
    assert next(n for n in tuned.graph.nodes if n.name == "conv2").choice == slow
    why = {d.subject: d.why for d in tuned.decisions if d.step == "choose kernels"}
    assert why["conv2"].startswith("measured")
    assert why["conv1"].startswith("predicted")
    assert tuned.notes == (f"{path} has times for 1 of the 3 layers: {AGAIN}",)
    larger = replace(options, input_size={"": (32, 48)}, tuning=path)
    other = compile_model(ESPCN, tmp_path / "other", larger)
    assert other.notes == (f"{path} has times for none of the 3 layers: {AGAIN}",)


def test_a_file_that_was_measured_for_another_device_names_it(tmp_path):
    options = Options(device="llvmpipe", input_size={"": (16, 24)}, validate=False)
    plain = compile_model(ESPCN, tmp_path / "plain", options)
    node = next(n for n in plain.graph.nodes if n.name == "conv2")
    path = tmp_path / "t.json"
    times = {node.choice: 1.0}
    tuning = Tuning("llvmpipe (LLVM)", {}).extended(tuning_key(node, options.target()), times)
    save_tuning(tuning, path)
    for device, says in (
        ("gles30", "add --device llvmpipe, for which the times were measured"),
        ("llvmpipe", AGAIN),
    ):
        other = replace(options, device=device, input_size={"": (8, 8)}, tuning=path)
        notes = compile_model(ESPCN, tmp_path / device, other).notes
        assert notes == (f"{path} has times for none of the 3 layers: {says}",)
    save_tuning(replace(tuning, renderer="Some GPU"), path)
    foreign = replace(options, device="gles30", tuning=path)
    assert advice(foreign) == AGAIN


def test_a_file_that_knows_nothing_of_the_only_layer_says_so():
    graph = placed(conv(RNG, X, 8, (3, 3)), X)
    (note,) = coverage_notes(graph, LLVMPIPE.target(), {}, Path("t.json"))
    assert note.startswith("t.json has times for none of the layers: tune with")


# --- measuring ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [((1, 2, 3), (10, 20, 30), 1.0), ((1, 2, 3), (3, 2, 1), -1.0), ((1, 1, 1), (1, 2, 3), 0.0),
     ((1, 2, 3, 4, 5), (2, 1, 4, 3, 5), 0.8)],
)  # fmt: skip
def test_ranks_correlate(a, b, want):
    assert spearman(a, b) == pytest.approx(want)


def test_alike_layers_are_one_kind_and_the_best_of_each_way_are_tried():
    x: Value = X
    for k in range(3):
        x = pointwise("relu(x0)", conv(RNG, x, 16, (3, 3), f"c{k}", pads=(1, 1, 1, 1)))
    (first, second) = kinds(KernelFamilies(LLVMPIPE.target()), placed(x, X))
    assert {first.count, second.count} == {1, 2}  # the first reads the input
    likely = first.likely
    assert len(likely) <= session.MOST
    assert likely[0] == min(first.predicted, key=lambda c: first.predicted[c])
    assert {"fragment", "compute"} <= {c.stage for c in likely}


def test_what_is_joined_where_it_is_written_is_nothing_to_measure():
    a, b = (conv(RNG, X, 8, (1, 1), f"part{k}") for k in range(2))
    graph = placed(apply(Concat(1), a, b, layer="join"), X)
    assert [n.choice.alias for n in graph.nodes] == [False, False, True]
    assert "join" not in {
        kind.node.name for kind in kinds(KernelFamilies(LLVMPIPE.target()), graph)
    }


def nodes() -> dict[str, Node]:
    pooled = apply(Pool("max", (2, 2), strides=(2, 2)), pointwise("x0 + 1", X))
    deep = image(1, 24, 6, 9)
    depthwise = conv(RNG, pointwise("x0 * 2", deep), 24, (3, 3), groups=24, pads=(1, 1, 1, 1))
    return {
        "convolution": node_of(two(), X),
        "depthwise": node_of(depthwise, deep),
        "pool": node_of(pooled, X),
        "half": node_of(two(), X, Options(device="llvmpipe", precision="mediump")),
    }


@GL
@pytest.mark.parametrize("name", ["convolution", "depthwise", "pool", "half"])
def test_candidates_are_right_and_take_time(name):
    node, target = nodes()[name], LLVMPIPE.target()
    every = KernelFamilies(target).choices(node)
    some = [every[k] for k in range(0, len(every), 1 + len(every) // 8)]
    measured = measure(node, some, target, gl_context(), QUICK, lambda step: None)
    assert len(measured) > 1
    assert {t.choice: t.wrong for t in measured} == dict.fromkeys(some, "")
    assert all(0 < t.nanoseconds < 1e10 for t in measured)


@GL
def test_a_candidate_that_differs_from_the_reference_is_reported_and_not_used(monkeypatch):
    right = trials.evaluate_graph
    monkeypatch.setattr(
        trials, "evaluate_graph", lambda *a: {name: y + 1 for name, y in right(*a).items()}
    )
    node, target = node_of(two(), X), LLVMPIPE.target()
    (trial,) = measure(node, [FIRST], target, gl_context(), QUICK, lambda step: None)
    assert "it differs from the reference by 1" in trial.wrong
    assert trial.nanoseconds == WRONG


class Fake:
    """A runner whose frames take what the test says."""

    def __init__(self, name):
        self.name = name

    def check(self):
        """Nothing is wrong."""


def measured_of(monkeypatch, milliseconds, first=1.0):
    """Return nanoseconds and frames of fakes; the first rounds take ``first`` times as long."""
    drawn = dict.fromkeys(milliseconds, 0)

    def frame(runner):
        drawn[runner.name] += 1
        slow = first if drawn[runner.name] <= trials.FIRST_ROUNDS else 1.0
        return slow * milliseconds[runner.name]

    monkeypatch.setattr(trials, "latency", frame)
    monkeypatch.setattr(trials._Candidate, "query", lambda self: False)
    baseline, *found = (trials._Candidate(Fake(name)) for name in milliseconds)
    settings = Settings(frames=9, warm_up=4)
    trials._measure_in_turns(found, baseline, settings, lambda what: None)
    results = trials._results(dict(enumerate(found)), baseline, 1)
    return [trial.nanoseconds for trial in results], drawn


def test_a_candidate_left_out_is_compared_with_the_best_of_its_own_rounds(monkeypatch):
    """As on an idle GPU, whose clock speed rises while the first rounds are drawn."""
    milliseconds = {"rest": 1.0, "best": 2.0, "near": 2.2, "far": 7.0}
    times, drawn = measured_of(monkeypatch, milliseconds, first=6.0)
    assert drawn["far"] == trials.FIRST_ROUNDS < drawn["near"]
    assert times == [1e6, 1.2e6, 6e6]


def test_a_candidate_left_out_stays_slower_though_the_node_takes_next_to_nothing(monkeypatch):
    times, _ = measured_of(monkeypatch, {"rest": 1.1, "best": 1.0, "far": 4.0})
    assert times == [trials.LEAST, 7 * trials.LEAST]


@GL
def test_a_session_goes_on_where_the_last_one_ended(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    options = Options(input_size={"": (16, 24)})
    measured: list[str] = []
    own = session.measure

    def noting(node: Node, *rest: Any) -> Any:
        measured.append(node.name)
        return own(node, *rest)

    monkeypatch.setattr(session, "measure", noting)
    monkeypatch.setattr(session, "MOST", 2)
    none = tune_model(ESPCN, options, path, QUICK, 0.0, False, lambda *a: None)
    assert (measured, none.left, none.device) == ([], 3, "llvmpipe")
    first = tune_model(ESPCN, options, path, QUICK, None, False, lambda *a: None)
    assert sorted(measured) == ["conv1", "conv2", "subpixel"]
    assert (first.left, first.wrong, len(first.outcomes)) == (0, (), 3)
    assert first.gain() > 0
    assert {o.tuned for o in first.outcomes} <= {c for o in first.outcomes for c in o.measured}
    assert read_tuning(path) == first.tuning
    again = tune_model(ESPCN, options, path, QUICK, None, False, lambda *a: None)
    assert len(measured) == 3
    assert again.tuning == first.tuning
    save_tuning(replace(first.tuning, renderer="Mali-G78"), path)
    with pytest.raises(ShadergenError) as refused:
        tune_model(ESPCN, options, path, QUICK, None, False, lambda *a: None)
    assert refused.value.code == "SG0306"


def test_an_unknown_gl_needs_a_device():
    with pytest.raises(ShadergenError) as refused:
        session._profile_of("PowerVR Rogue GE8320")
    assert (refused.value.code, refused.value.what) == ("SG0301", "tuning needs a --device")


@GL
def test_the_command_writes_a_file_that_compile_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(session, "MOST", 2)
    path, size = tmp_path / "t.json", ("--input-size", "16x24")
    arguments = ["tune", ESPCN, "--tuning", path, *size, "--frames", 1, "--warm-up", 0]
    cli.main([*map(str, arguments), "--seconds", "0"], standalone_mode=False)
    assert capsys.readouterr().out.splitlines() == [
        "3 kinds of layers not measured yet: run tune again",
        f"{path} was not written: nothing was measured",
    ]
    cli.main(list(map(str, arguments)), standalone_mode=False)
    printed = capsys.readouterr().out
    assert "rank correlation of predicted and measured times" in printed
    assert f"use it with --device llvmpipe --tuning {path}" in printed
    assert {"conv1", "conv2", "subpixel"} <= set(printed.split())
    build = ["compile", ESPCN, "-o", tmp_path / "b", *size, "--device", "llvmpipe"]
    build += ["--tuning", path, "--explain"]
    cli.main(list(map(str, build)), standalone_mode=False)
    printed = capsys.readouterr().out
    assert printed.count("measured") == 3
    assert "knows" not in printed  # all of them
    verify = ["verify", ESPCN, "--input-size", "8x8", "--device", "llvmpipe", "--tuning", path]
    cli.main(list(map(str, verify)), standalone_mode=False)
    assert f"{path} has times for none of the 3 layers" in capsys.readouterr().out


# --- on WebGPU ------------------------------------------------------------------------------------

WEBGPU = Options(device="webgpu")


@pytest.mark.parametrize("name", ["convolution", "pool"])
def test_candidates_are_right_and_take_time_on_webgpu(name):
    y = two() if name == "convolution" else apply(Pool("max", (2, 2), strides=(2, 2)), two())
    node, target = node_of(y, X, WEBGPU), WEBGPU.target()
    every = KernelFamilies(target).choices(node)
    some = [every[k] for k in range(0, len(every), 1 + len(every) // 8)]
    measured = measure(node, some, target, webgpu_context(), QUICK, lambda step: None)
    assert {t.choice: t.wrong for t in measured} == dict.fromkeys(some, "")
    assert all(0 < t.nanoseconds < 1e10 for t in measured)


def test_times_on_webgpu_come_from_timestamps(monkeypatch):
    assert webgpu_context().info().renderer  # skips where there is none
    monkeypatch.setattr("shadergen.runtime_glue.python.webgpu.context.UNTIMED", ())
    asked: list[int] = []
    monkeypatch.setattr(
        trials, "believable", lambda times, whole: asked.append(len(times)) or bool(times)
    )
    node, target = node_of(two(), X, WEBGPU), WEBGPU.target()
    choice = KernelFamilies(target).choices(node)[0]
    with HeadlessContext() as context:
        if TIMESTAMPS not in context.info().features:
            pytest.skip("the adapter has no timestamps")
        (trial,) = measure(node, [choice], target, context, QUICK, lambda step: None)
    assert (len(asked), trial.wrong) == (QUICK.frames, "")
    assert asked[0] >= 1  # the node, as often as its time allows


def test_wgsl_and_its_16_bits_are_part_of_the_signature():
    keys = {
        tuning_key(node_of(two(), X, options), options.target())
        for device in ("gles31-min", "webgpu", "webgpu-f16")
        for precision in ("highp", "mediump")
        if (options := Options(device=device, precision=precision))
    }
    assert len(keys) == 5  # webgpu-f16 computes highp as webgpu does


def test_a_session_on_webgpu_is_for_its_profile(tmp_path, monkeypatch, capsys):
    renderer = webgpu_context().info().renderer
    monkeypatch.setattr(session, "MOST", 2)
    path = tmp_path / "t.json"
    arguments = ["tune", ESPCN, "--tuning", path, "--input-size", "16x24", "--runtime", "webgpu"]
    arguments += ["--frames", 1, "--warm-up", 0, "--adapter", renderer[:6]]
    cli.main(list(map(str, arguments)), standalone_mode=False)
    assert f"use it with --device webgpu --tuning {path}" in capsys.readouterr().out
    assert read_tuning(path).renderer == renderer
    options = Options(device="webgpu", input_size={"": (16, 24)}, tuning=path)
    tuned = compile_model(ESPCN, tmp_path / "b", options)
    whys = [d.why for d in tuned.decisions if d.step == "choose kernels"]
    assert all(why.startswith("measured") for why in whys)
    assert tuned.notes == ()
    other = compile_model(ESPCN, tmp_path / "b", replace(options, device="gles31-min"))
    assert other.notes[0].startswith(f"{path} has times for none of")


def test_a_device_of_the_other_runtime_is_not_tuned(tmp_path):
    options, path = Options(device="gles31-min"), tmp_path / "t.json"
    with pytest.raises(ShadergenError) as refused:
        tune_model(ESPCN, options, path, QUICK, None, True, lambda *a: None, "webgpu")
    what = "--runtime webgpu cannot run a build for --device gles31-min"
    assert (refused.value.code, refused.value.what) == ("SG0301", what)
