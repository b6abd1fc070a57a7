"""The fuzzer finds what is planted, says so, and a handful of models are right."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from shadergen.compiler.frontends.onnx.ops.table import DOMAINS
from shadergen.errors import InternalError
from shadergen.passes import fuse_pads

from . import judging, reference
from .case import Arrays, Case, Verdict
from .draw import Draw
from .graphs import onnx_case
from .jobs import case_of
from .judging import judge
from .operators import LEFT_OUT
from .oracles import OnnxOracle
from .shrink import parts_of, shrink

MODELS = 20
KERAS_MODELS = 2


def case(*nodes: onnx.NodeProto, x: Any, **weights: Any) -> Case:
    """Return the case of nodes from "x" to "y"."""
    known = [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in weights.items()]
    x = np.asarray(x, np.float32)
    ends = [helper.make_tensor_value_info(n, 1, s) for n, s in (("x", x.shape), ("y", None))]
    graph = helper.make_graph([*nodes], "g", ends[:1], ends[1:], known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return Case(model.SerializeToString(), ".onnx", {"device": "gles31-min"}, ({"x": x},))


@pytest.mark.gl
@pytest.mark.slow
def test_a_handful_of_models_are_right_and_most_compile() -> None:
    verdicts = {k: judge(case_of(0, k, "onnx")) for k in range(MODELS)}
    assert not {k: v for k, v in verdicts.items() if v.failed}
    counts = Counter(v.status for v in verdicts.values())
    assert counts["right"] > 0.8 * MODELS, counts


@pytest.mark.gl
@pytest.mark.slow
def test_a_few_keras_models_are_right() -> None:
    verdicts = {k: judge(case_of(0, k, "keras")) for k in range(KERAS_MODELS)}
    assert {v.status for v in verdicts.values()} == {"right"}, verdicts


def test_a_keras_model_is_cut_down_to_the_layer_at_fault() -> None:
    import keras

    from .keras_oracle import loaded, saved

    def faulty(tried: Case) -> Verdict:
        model = loaded(tried.model, tried.suffix)
        bad = any(type(layer).__name__ == "Softmax" for layer in model.layers)
        return Verdict("wrong" if bad else "right")

    x = keras.Input((3, 2), name="x")
    y = keras.layers.ReLU()(keras.layers.Softmax()(keras.layers.Rescaling(2.0)(x)))
    feed = {"x": np.float32([[[0, 1], [1, 1], [2, 0]]])}
    tried = Case(saved(keras.Model(x, y), ".keras"), ".keras", {}, (feed,), True)
    small, _ = shrink(tried, faulty(tried), faulty, parts_of, 60)
    layers = [type(layer).__name__ for layer in loaded(small.model, ".keras").layers]
    assert layers == ["InputLayer", "Softmax"]
    assert np.array_equal(*(2 * feed["x"], *small.feeds[0].values()))


@pytest.mark.gl
@pytest.mark.slow
def test_paddings_of_two_kinds_that_a_pass_merges_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Zeros around repeated borders: 3,600 models did not show it before there were chains."""
    rule = fuse_pads.FUSE

    def check(found: Any, context: Any) -> str:
        pad = found.before.op
        alone = not any((*pad.before[:2], *pad.after[:2]))
        return "" if pad.mode == "edge" and alone else rule.check(found, context)

    monkeypatch.setattr(fuse_pads, "FUSE", replace(rule, check=check))
    cases = (case_of(0, k, "onnx") for k in range(200))
    chains = (c for c in cases if "pads before a window" in c.made_of)
    assert any(judge(c).status == "wrong" for c in chains)


def test_every_operator_that_the_compiler_has_is_in_the_table_or_left_out_for_a_reason() -> None:
    texts = [path.read_text("utf-8") for path in Path(__file__).parent.glob("ops_*.py")]
    drawn = set(re.findall(r'"(\w+)"', "\n".join(texts)))
    known = {name for table in DOMAINS.values() for name in table}
    assert known - drawn == LEFT_OUT.keys() & known
    assert not drawn & LEFT_OUT.keys()


def test_a_seed_and_a_number_always_give_the_same_case() -> None:
    first, again = (onnx_case(Draw(3, 1, 4)) for _ in range(2))
    assert (first.model, first.options) == (again.model, again.options)
    for a, b in zip(first.feeds, again.feeds, strict=True):
        assert all(np.array_equal(a[name], b[name]) for name in a)


@pytest.mark.gl
def test_a_planted_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = case(helper.make_node("Tanh", ["x"], ["y"]), x=np.linspace(-2, 2, 12).reshape(1, 3, 4))
    assert judge(tried).status == "right"
    play = judging.play

    def wrong(runner: Any, feed: Arrays) -> Arrays:
        found = play(runner, feed)
        found["y"].flat[5] += 2e-4
        return found

    monkeypatch.setattr(judging, "play", wrong)
    assert (judge(tried).status, judge(tried).code) == ("wrong", "value")


@pytest.mark.gl
def test_an_exception_that_is_no_refusal_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise InternalError("planted")

    monkeypatch.setattr(judging, "compile_graph", broken)
    tried = case(helper.make_node("Tanh", ["x"], ["y"]), x=np.zeros((1, 2)))
    verdict = judge(tried)
    assert (verdict.status, verdict.code) == ("crash", "InternalError")
    assert "planted" in verdict.text


@pytest.mark.gl
def test_what_rounding_decides_is_inconclusive_and_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """x / 3 * 3 is next to an integer, where floor has a step; 0.5 is far from one."""
    nodes = [
        helper.make_node("Div", ["x", "three"], ["a"]),
        helper.make_node("Mul", ["a", "three"], ["b"]),
        helper.make_node("Floor", ["b"], ["y"]),
    ]
    tried = case(*nodes, x=[[7.0, 0.5]], three=3.0)
    play = judging.play

    def changed(where: int) -> None:
        def off_by_one(runner: Any, feed: Arrays) -> Arrays:
            found = play(runner, feed)
            found["y"][0, where] = np.floor(feed["x"][0, where]) - 1
            return found

        monkeypatch.setattr(judging, "play", off_by_one)

    changed(0)
    assert judge(tried).status == "inconclusive"
    changed(1)
    assert judge(tried).status == "wrong"


@pytest.mark.gl
@pytest.mark.parametrize(("most", "status"), [(1.5, "inconclusive"), (1.1, "wrong")])
def test_a_product_that_may_leave_float32s_range_on_the_way_is_inconclusive(
    most: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """800 factors of 1.5 overflow, unless as many of 1 / 1.5 come in between."""
    factors = np.tile([most, 1 / most], 800).reshape(1, 1, 40, 40)
    tried = case(helper.make_node("ReduceProd", ["x"], ["y"]), x=factors)

    def overflown(runner: Any, feed: Arrays) -> Arrays:
        return {"y": np.full((1, 1, 1, 1), np.nan, np.float32)}

    monkeypatch.setattr(judging, "play", overflown)
    assert judge(tried).status == status


@pytest.mark.gl
@pytest.mark.parametrize(("away", "status"), [(2.5, "inconclusive"), (40.0, "wrong")])
def test_a_step_that_rounded_weights_seldom_cross_is_inconclusive(
    away: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum before the step is so many standard deviations of the weights' rounding from 0."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 1, 17, 5, 5))
    deviation = judging.WEIGHT_NOISE["int8"] * np.abs(w).max() * np.sqrt(np.square(x).sum() / 12)
    bias = [away * deviation - (x * w).sum()]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["a"]),
        helper.make_node("Sign", ["a"], ["y"]),
    ]
    tried = case(*nodes, x=x, w=w, b=bias)
    tried = replace(tried, options={**tried.options, "weight_format": "int8"})
    below = {"y": np.full((1, 1, 1, 1), -1, np.float32)}
    monkeypatch.setattr(judging, "play", lambda runner, feed: below)
    assert judge(tried).status == status


@pytest.mark.gl
@pytest.mark.parametrize(("zero_point", "status"), [(127, "inconclusive"), (120, "wrong")])
def test_a_tie_that_moves_many_elements_is_inconclusive(
    zero_point: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From -1 to 1 the zero point lies between 127 and 128; many elements are 1 and -1."""
    x = np.array([*[1.0, -1.0] * 8, 0.3, -0.7])
    nodes = [
        helper.make_node("Tanh", ["x"], ["a"]),
        helper.make_node("DynamicQuantizeLinear", ["a"], ["q", "scale", "zero"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    scale = 2 * np.tanh(1) / 255
    whole = np.clip(np.round(np.tanh(x) / scale) + zero_point, 0, 255) - zero_point
    found = {"y": np.float32(whole * scale)}
    monkeypatch.setattr(judging, "play", lambda runner, feed: found)
    assert judge(case(*nodes, x=x)).status == status


def test_rounding_is_measured_where_onnxruntime_infers_another_shape_than_it_computes() -> None:
    window = {"kernel_shape": [3, 3], "strides": [2, 3], "dilations": [2, 1], "pads": [1, 2, 0, 2]}
    node = helper.make_node("MaxPool", ["x"], ["y"], **window, ceil_mode=1)
    tried = case(node, x=np.random.default_rng(0).normal(size=(1, 1, 10, 9)))
    (moved,) = OnnxOracle(tried).movement(tried.feeds[0], 1e-3, 0.0)
    assert (moved > 0).all()


SHARE_OF_MOST = (
    helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
    helper.make_node("Div", ["x", "most"], ["y"]),
)


def test_rounding_of_values_without_axes_is_measured() -> None:
    tried = case(*SHARE_OF_MOST, x=np.linspace(1, 2, 8))
    (moved,) = OnnxOracle(tried).movement(tried.feeds[0], 1e-3, 0.0)
    assert (moved > 0).all() and (moved < 5e-3).all()


def test_rounding_of_float64_is_measured() -> None:
    x = np.array([0.9999, 0.5])
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, [2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Floor", ["x"], ["y"])], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    tried = Case(model.SerializeToString(), ".onnx", {}, ({"x": x},))
    (moved,) = OnnxOracle(tried).movement(tried.feeds[0], 1e-3, 0.0)
    assert moved[0] > 0.5 > moved[1]


@pytest.mark.gl
@pytest.mark.parametrize(("off", "status"), [(0.0, "right"), (0.03, "wrong")])
def test_a_wrong_result_of_16_bits_is_found_beside_values_without_axes(
    off: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = case(*SHARE_OF_MOST, x=np.linspace(1, 2, 8).reshape(1, 2, 4))
    tried = replace(tried, options={"device": "swiftshader", "precision": "mediump"})
    play = judging.play

    def wrong(runner: Any, feed: Arrays) -> Arrays:
        found = play(runner, feed)
        found["y"].flat[5] += off
        return found

    monkeypatch.setattr(judging, "play", wrong)
    assert judge(tried).status == status


def test_rounding_that_no_run_measures_is_a_fault_of_the_fuzzer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reference, "_noisy", lambda *arguments: (onnx.ModelProto(), {}))
    tried = case(helper.make_node("Tanh", ["x"], ["y"]), x=np.ones(4))
    with pytest.raises(ValueError, match="no run with rounding errors succeeded"):
        OnnxOracle(tried).movement(tried.feeds[0], 1e-3, 0.0)


def test_refusals_are_told_apart_by_operator_and_message_alone() -> None:
    text = "error[SG0207]: a resize by 2x3 of 'a' needs a size\n  --> layer Resize_12\n  = help: no"
    assert judging.head(text) == "Resize: a resize by N of '...' needs a size"
    assert judging.head("error[SG0301]: no") == "no"


def test_a_failure_is_cut_down_to_the_operator_at_fault() -> None:
    def faulty(tried: Case) -> Verdict:
        model = onnx.load_from_string(tried.model)
        bad = any(node.op_type == "Softmax" for node in model.graph.node)
        return Verdict("wrong" if bad else "right")

    nodes = [
        helper.make_node(op, [a], [b])
        for op, a, b in (("Abs", "x", "a"), ("Softmax", "a", "b"), ("Tanh", "b", "y"))
    ]
    tried = case(*nodes, x=np.ones((2, 3)))
    tried = replace(tried, options={"device": "llvmpipe", "mrt": 2}, feeds=tried.feeds * 2)
    small, verdict = shrink(tried, faulty(tried), faulty, parts_of, 60)
    graph = onnx.load_from_string(small.model).graph
    assert [node.op_type for node in graph.node] == ["Softmax"]
    assert (verdict.status, small.options, len(small.feeds)) == ("wrong", {}, 1)
    assert np.array_equal(small.feeds[0]["a"], np.ones((2, 3)))


def test_a_saved_case_is_read_as_it_was(tmp_path: Path) -> None:
    made = case_of(1, 7, "onnx")
    made.save(tmp_path)
    again = Case.load(tmp_path)
    assert (again.model, again.options) == (made.model, made.options)
    assert [*again.feeds[0]] == [*made.feeds[0]]
