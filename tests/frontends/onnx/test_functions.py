"""Functions of models, those by which ONNX defines operators, and folding of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

pytest.importorskip("onnxruntime")

import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from support.onnx_models import compare, model, node, normal, refusal, small, write

from shadergen.compiler.compilation import import_model
from shadergen.compiler.frontends import Request, load
from shadergen.compiler.frontends.onnx.folding.by_onnx_reference import EVALUATED
from shadergen.compiler.frontends.onnx.importing import functions
from shadergen.compiler.frontends.onnx.ops.table import DOMAINS
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]


def function(
    name: str, inputs: list[str], outputs: list[str], nodes: list[Any], *names: str, **defaults: Any
) -> Any:
    attributes = [helper.make_attribute(k, v) for k, v in defaults.items()]
    return helper.make_function("my", name, inputs, outputs, nodes, OPSETS, list(names), attributes)


def referring(made: Any, **references: str) -> Any:
    """Return a node whose attributes are those of the function that it is in."""
    for name, reference in references.items():
        kind = onnx.AttributeProto.FLOAT
        made.attribute.add(name=name, ref_attr_name=reference, type=kind)
    return made


def with_functions(nodes: Any, *made: Any, inits: Any = None, **more: Any) -> Any:
    proto = small(nodes, inits or {}, **more)
    proto.opset_import.append(OPSETS[1])
    proto.functions.extend(made)
    return proto


def call(op: str, *inputs: str, **more: Any) -> Any:
    return node(op, *inputs, domain="my", **more)


LEAKY = function(
    "Leaky",
    ["a"],
    ["b"],
    [referring(node("LeakyRelu", "a", outputs=("b",), name="inner"), alpha="slope")],
    slope=0.25,
)
TWICE = function(
    "Twice",
    ["x", "bias"],
    ["y", "h"],
    [
        referring(call("Leaky", "x", outputs=("h",)), slope="first"),
        node("Add", "h", "bias", outputs=("g",)),
        call("Leaky", "g", outputs=("y",)),
    ],
    "first",
)


def check(tmp_path: Path, proto: Any) -> None:
    x = normal(1, 3, 6, 5)
    expected = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    graph = load(write(tmp_path, proto), Request())
    got = evaluate_graph(graph, {"x": x})
    for output, theirs in zip(graph.outputs, expected, strict=True):
        np.testing.assert_allclose(got[output.name], theirs, atol=1e-6)


def test_functions_call_functions_with_attributes_and_names_of_their_own(tmp_path: Path) -> None:
    nodes = [
        node("Neg", "x", outputs=("h",)),
        call("Twice", "h", "b", outputs=("g", "k"), first=0.5),
        node("Sub", "g", "k"),
    ]
    check(tmp_path, with_functions(nodes, LEAKY, TWICE, inits={"b": normal(5)}))


def test_a_result_that_nothing_reads_is_not_computed(tmp_path: Path) -> None:
    both = function(
        "Both",
        ["a"],
        ["b", "c"],
        [node("Relu", "a", outputs=("b",)), node("Relo", "a", outputs=("c",))],
    )
    graph = load(write(tmp_path, with_functions(call("Both", "x"), both)), Request())
    x = normal(1, 3, 6, 5)
    np.testing.assert_array_equal(evaluate_graph(graph, {"x": x})["y"], np.maximum(x, 0))


def test_a_function_of_the_model_wins_over_the_operator_of_its_name(tmp_path: Path) -> None:
    mine = helper.make_function(
        "", "Relu", ["a"], ["b"], [node("Neg", "a", outputs=("b",))], OPSETS
    )
    graph = load(write(tmp_path, with_functions(node("Relu"), mine)), Request())
    x = normal(1, 3, 6, 5)
    np.testing.assert_array_equal(evaluate_graph(graph, {"x": x})["y"], -x)


def test_layers_of_a_function_are_named_after_its_call(tmp_path: Path) -> None:
    proto = with_functions(call("Leaky", "x", name="activation"), LEAKY)
    (made,) = load(write(tmp_path, proto), Request()).nodes
    assert made.layers == ("activation/inner",)


def chain(depth: int) -> list[Any]:
    """Return functions each of which calls the one before twice."""
    made = [function("F0", ["a"], ["b"], [node("Relu", "a", outputs=("b",))])]
    for i in range(1, depth):
        nodes = [call(f"F{i - 1}", "a", outputs=("h",)), call(f"F{i - 1}", "h", outputs=("b",))]
        made.append(function(f"F{i}", ["a"], ["b"], nodes))
    return made


ENDLESS = function("Endless", ["a"], ["b"], [call("Endless", "a", outputs=("b",))])
REFUSED = {
    "calls itself": (
        with_functions(call("Endless", "x"), ENDLESS),
        "error[SG0105]: functions and graphs are nested deeper than 48",
    ),
    "too many calls": (
        with_functions(call("F19", "x"), *chain(20)),
        "error[SG0401]: the loops and functions of the model give too many nodes",
    ),
    "too many inputs": (
        with_functions(call("Leaky", "x", "x"), LEAKY),
        "error[SG0105]: function Leaky has 1 input and 1 result, "
        "the call has 2 inputs and 1 result\n"
        "  --> model.onnx: node y (Leaky), inputs 1x3x6x5, 1x3x6x5",
    ),
    "defined twice": (
        with_functions(call("Leaky", "x"), LEAKY, LEAKY),
        "error[SG0105]: function 'my::Leaky' is defined twice",
    ),
    "an operator within that is not implemented": (
        with_functions(
            call("G", "x", name="outer"),
            function("G", ["a"], ["b"], [node("Relo", "a", outputs=("b",), name="inner")]),
        ),
        "error[SG0201]: operator Relo is not implemented\n"
        "  --> model.onnx: node outer (G), inputs 1x3x6x5: node outer/inner (Relo), inputs "
        "1x3x6x5\n",
    ),
    "an undefined name within": (
        with_functions(
            call("G", "x"), function("G", ["a"], ["b"], [node("Relu", "c", outputs=("b",))])
        ),
        "error[SG0105]: 'c' is not defined",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_function_is_refused_by_name(tmp_path: Path, case: str) -> None:
    proto, expected = REFUSED[case]
    assert refusal(write(tmp_path, proto)).startswith(expected)


BY_DEFINITION: dict[str, tuple[Any, Any, int]] = {
    "Elu-22": (node("Elu", alpha=0.7), {}, 22),
    "Softsign-22": (node("Softsign"), {}, 22),
    "HardSwish-22": (node("HardSwish"), {}, 22),
    "Mish-22": (node("Mish"), {}, 22),
    "Shrink-9": (node("Shrink", lambd=0.3, bias=0.1), {}, 17),
    "Clip-13": (
        node("Clip", "x", "low", "high"),
        {"low": np.float32(-0.5), "high": np.float32(0.5)},
        17,
    ),
    "Softmax-13": (node("Softmax", axis=1), {}, 17),
    "LogSoftmax-13": (node("LogSoftmax", axis=-1), {}, 17),
    "CenterCropPad-18": (
        node("CenterCropPad", "x", "s", axes=[1, 3]),
        {"s": np.array([2, 8])},
        18,
    ),
    "LayerNormalization-17": (
        node("LayerNormalization", "x", "s", "b", axis=-1),
        {"s": normal(6), "b": normal(6)},
        17,
    ),
    "Range-11": (
        [node("Range", "a", "b", "c", outputs=("r",)), node("Add", "x", "r")],
        {"a": np.float32(0), "b": np.float32(3), "c": np.float32(0.5)},
        17,
    ),
}


@pytest.mark.parametrize("case", BY_DEFINITION)
def test_an_operator_without_a_handler_is_carried_out_as_onnx_defines_it(
    tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, inits, opset = BY_DEFINITION[case]
    monkeypatch.delitem(DOMAINS[""], case.split("-")[0], raising=False)
    called = []

    def noted(*args: Any) -> Any:
        called.append(args)
        return functions.schema_function(*args)

    monkeypatch.setattr(
        "shadergen.compiler.frontends.onnx.importing.importer.schema_function", noted
    )
    compare(tmp_path, nodes, inits, opset)
    assert called or case.startswith("Range")


def test_nodes_of_a_definition_are_named_after_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(DOMAINS[""], "Mish")
    graph = load(write(tmp_path, small(node("Mish", name="act"), opset=18)), Request())
    assert {n.layers for n in graph.nodes} == {("act",)}


NP = np.array
INDICES = np.array([[0, 2], [1, 1]])
FOLDED: dict[str, tuple[Any, dict[str, Any], int]] = {
    "ArgMax": (node("ArgMax", "c", axis=1, keepdims=0), {"c": normal(3, 4)}, 13),
    "ArgMin of the last": (node("ArgMin", "c", select_last_index=1), {"c": NP([3, 1, 1])}, 13),
    "BitShift": (
        node("BitShift", "c", "d", direction="LEFT"),
        {"c": NP([1, 2], np.uint8), "d": NP([3, 1], np.uint8)},
        13,
    ),
    "BitwiseAnd": (node("BitwiseAnd", "c", "d"), {"c": NP([6, 7]), "d": NP([3])}, 18),
    "Compress": (
        node("Compress", "c", "d", axis=0),
        {"c": NP([5, 6, 7]), "d": NP([1, 0, 1], bool)},
        11,
    ),
    "Compress of all": (
        node("Compress", "c", "d"),
        {"c": normal(2, 3), "d": NP([1, 0, 1], bool)},
        11,
    ),
    "CumSum": (
        node("CumSum", "c", "d", reverse=1, exclusive=1),
        {"c": NP([5, 6, 7]), "d": NP(0)},
        14,
    ),
    "EyeLike": (node("EyeLike", "c", k=1, dtype=7), {"c": normal(3, 4)}, 9),
    "Gather": (node("Gather", "c", "d", axis=1), {"c": normal(2, 3), "d": NP([[2, -1]])}, 13),
    "GatherElements": (
        node("GatherElements", "c", "d"),
        {"c": normal(2, 2), "d": NP([[0, 1], [1, 0]])},
        13,
    ),
    "GatherND": (node("GatherND", "c", "d"), {"c": normal(3, 4, 2), "d": INDICES}, 13),
    "IsInf": (node("IsInf", "c"), {"c": NP([1, np.inf], np.float32)}, 10),
    "IsNaN": (node("IsNaN", "c"), {"c": NP([1, np.nan], np.float32)}, 13),
    "NonZero": (node("NonZero", "c"), {"c": NP([[1, 0], [2, 3]])}, 13),
    "OneHot": (
        node("OneHot", "c", "d", "e", axis=-1),
        {"c": NP([1, 0, 2]), "d": NP(4), "e": NP([2, 5])},
        11,
    ),
    "ReduceMean of integers": (node("ReduceMean", "c", axes=[1]), {"c": NP([[1, 2], [4, 6]])}, 13),
    "ReduceSumSquare": (
        node("ReduceSumSquare", "c", "d", keepdims=0),
        {"c": normal(3, 4), "d": NP([1])},
        18,
    ),
    "ReduceL2": (node("ReduceL2", "c", axes=[0]), {"c": normal(3, 4)}, 13),
    "ReduceLogSumExp": (node("ReduceLogSumExp", "c"), {"c": normal(3, 4)}, 18),
    "ReverseSequence": (
        node("ReverseSequence", "c", "d", batch_axis=0, time_axis=1),
        {"c": normal(2, 4), "d": NP([3, 1])},
        10,
    ),
    "ScatterElements": (
        node("ScatterElements", "c", "d", "e", axis=1),
        {"c": normal(1, 5), "d": NP([[1, 3]]), "e": normal(1, 2, seed=1)},
        13,
    ),
    "ScatterND": (
        node("ScatterND", "c", "d", "e", reduction="add"),
        {"c": NP([1, 2, 3, 4]), "d": NP([[1], [1]]), "e": NP([10, 20])},
        16,
    ),
    "TopK": (
        helper.make_node("TopK", ["c", "d"], ["unused", "y"], axis=0),
        {"c": NP([3, 9, 5]), "d": NP([2])},
        11,
    ),
    "TopK-1": (
        helper.make_node("TopK", ["c"], ["unused", "y"], axis=0, k=2),
        {"c": NP([3, 9, 5], np.float32)},
        9,
    ),
    "Trilu": (node("Trilu", "c", "d", upper=0), {"c": normal(3, 4), "d": NP(1)}, 14),
    "Unique": (node("Unique", "c"), {"c": NP([3, 1, 3])}, 11),
}


MOVING = {"Compress", "EyeLike", "Gather", "GatherElements", "GatherND", "ReverseSequence"}
MOVING |= {"ScatterElements", "ScatterND", "Trilu"}


def folded(nodes: Any, inits: dict[str, Any], opset: int) -> Any:
    """Return a model that computes with constants only, and adds the input times zero."""
    last = nodes if isinstance(nodes, list) else [nodes]
    for made in last:
        made.output[:] = [o.replace("y", "k") for o in made.output]
    tail = [node("Cast", "k", outputs=("f",), to=TensorProto.FLOAT), node("Add", "f", "x")]
    return model([*last, *tail], inits, {"x": ()}, opset)


@pytest.mark.parametrize("case", FOLDED)
def test_constants_are_folded_as_onnx_runtime_computes_them(tmp_path: Path, case: str) -> None:
    proto = folded(*FOLDED[case])
    x = np.zeros((), np.float32)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    (expected,) = ort.InferenceSession(proto.SerializeToString(), options).run(None, {"x": x})
    graph = load(write(tmp_path, proto), Request())
    assert len(graph.nodes) == 1
    got = evaluate_graph(graph, {"x": x})["y"]
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_every_operator_that_is_evaluated_is_tried() -> None:
    tried = {case.split()[0].split("-")[0] for case in FOLDED}
    alike = {"ReduceL1", "ReduceLogSum", "BitwiseNot", "BitwiseOr", "BitwiseXor"}
    assert tried | alike >= EVALUATED
    assert tried - EVALUATED == MOVING


@pytest.mark.parametrize("op", sorted(MOVING - {"EyeLike"}))
def test_integers_beyond_24_bits_are_moved_exactly(tmp_path: Path, op: str) -> None:
    made, inits, opset = FOLDED[op]
    large = {**inits, "c": np.arange(inits["c"].size).reshape(inits["c"].shape) + 2**60}
    if "e" in inits:
        large["e"] = np.arange(inits["e"].size).reshape(inits["e"].shape)
    less = node("Sub", "k", "base", outputs=("less",))
    proto = folded([made, less], {**large, "base": NP(2**60)}, opset)
    proto.graph.node[2].input[0] = "less"
    x = np.zeros((), np.float32)
    (expected,) = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    graph = load(write(tmp_path, proto), Request())
    np.testing.assert_array_equal(evaluate_graph(graph, {"x": x})["y"], expected)


def test_dynamic_sizes_are_moved_as_known_ones_are() -> None:
    """(1, 3, H, W) becomes (2, 3, H, W), then (3, H, W)."""
    nodes = [
        node("Shape", "x", outputs=("shape",)),
        node("ScatterND", "shape", "first", "two", outputs=("scattered",)),
        node("GatherND", "scattered", "last", outputs=("gathered",)),
        node("ConstantOfShape", "gathered", outputs=("zeros",)),
        node("Add", "x", "zeros"),
    ]
    inits = {"first": NP([[0]]), "two": NP([2]), "last": NP([[1], [2], [3]])}
    proto = model(nodes, inits, {"x": (1, 3, "H", "W")}, 18)
    graph = import_model(proto, Options(dynamic=True))
    assert graph.outputs[0].value.shape == graph.inputs[0].shape


def test_operands_that_numpy_would_broadcast_are_refused(tmp_path: Path) -> None:
    inits = {"c": NP([1, 2, 3]), "d": NP([0, 0]), "e": NP([5])}
    with pytest.raises(ShadergenError, match="differ in shape") as caught:
        load(write(tmp_path, folded(node("ScatterElements", "c", "d", "e"), inits, 13)), Request())
    assert caught.value.code == "SG0205"


@pytest.mark.parametrize("indices", [[2, 9, 14], [[0, 2], [1, 4], [2, 4]]])
def test_sparse_weights_are_filled_with_zeros(tmp_path: Path, indices: Any) -> None:
    values = numpy_helper.from_array(normal(3), "w")
    places = numpy_helper.from_array(np.array(indices), "places")
    sparse = helper.make_sparse_tensor(values, places, [3, 5])
    x = normal(4, 3)
    flat = np.array(indices) if np.ndim(indices) == 1 else np.array(indices) @ [5, 1]
    dense = np.zeros(15, np.float32)
    dense[flat] = normal(3)
    constant = helper.make_node("Constant", [], ["v"], sparse_value=sparse)
    nodes = [
        constant,
        node("MatMul", "x", "w", outputs=("h",)),
        node("Add", "h", "s"),
    ]
    proto = model(
        [*nodes[:2], node("ReduceSum", "v", outputs=("s",)), nodes[2]], {}, {"x": (4, 3)}, 13
    )
    proto.graph.sparse_initializer.append(sparse)
    (got,) = evaluate_graph(load(write(tmp_path, proto), Request()), {"x": x}).values()
    np.testing.assert_allclose(got, x @ dense.reshape(3, 5) + dense.sum(), rtol=1e-5)


def test_a_constant_may_be_infinite(tmp_path: Path) -> None:
    low = node("Constant", outputs=("low",), value_float=-np.inf)
    low.ClearField("input")
    compare(tmp_path, [low, node("Max", "x", "low")])


def test_what_is_folded_must_fit(tmp_path: Path) -> None:
    nodes = node("OneHot", "c", "d", "e", name="wide")
    inits = {"c": np.arange(100), "d": np.array(1 << 40), "e": np.array([0, 1])}
    text = refusal(write(tmp_path, folded(nodes, inits, 13)))
    assert text.startswith("error[SG0401]: the constants that the model computes are too large")


def test_operands_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    nodes = node("GatherND", "c", "d", name="pick")
    proto = folded(nodes, {"c": normal(2, 2), "d": np.array([[7, 7]])}, 13)
    text = refusal(write(tmp_path, proto))
    assert text.startswith(
        "error[SG0205]: the operands do not fit GatherND\n"
        "  --> model.onnx: node pick (GatherND), inputs 2x2, 1x2"
    )
