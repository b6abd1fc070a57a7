"""Cutting a model at any value: what is left, how it is checked, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from support.onnx_models import node, normal, refusal, write

from shadergen.compiler.cli import cli
from shadergen.compiler.frontends import Request, load
from shadergen.compiler.option_parsing import parse_cut
from shadergen.compiler.options import Options
from shadergen.compiler.verification import verify_model
from shadergen.errors import ShadergenError
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path


def detector(**tail: Any) -> Any:
    """Return two convolutions, a branch of sizes, and boxes picked by their scores."""
    nodes = [
        node("Conv", "x", "w1", outputs=("c1",), name="first", pads=[1] * 4),
        node("Relu", "c1", outputs=("r1",), name="act"),
        node("Conv", "r1", "w2", outputs=("c2",), name="second", pads=[1] * 4, strides=[2, 2]),
        node("Split", "c2", outputs=("left", "right"), name="halves", axis=1),
        node("Sigmoid", "left", outputs=("boxes",), name="to_boxes"),
        node("Sigmoid", "right", outputs=("scores",), name="to_scores"),
        node("Reshape", "boxes", "as_boxes", outputs=("b",)),
        node("Reshape", "scores", "as_scores", outputs=("s",)),
        node("NonMaxSuppression", "b", "s", "most", outputs=("kept",), name="nms", **tail),
    ]
    inits = {
        "w1": normal(4, 3, 3, 3, seed=1),
        "w2": normal(8, 4, 3, 3, seed=2),
        "as_boxes": np.array([1, -1, 4]),
        "as_scores": np.array([1, 4, -1]),
        "most": np.array([10]),
    }
    shape = ["batch", 3, "height", "width"]
    graph = helper.make_graph(
        nodes,
        "detector",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("kept", TensorProto.INT64, None)],
        [numpy_helper.from_array(v, k) for k, v in inits.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


SIZED = {"x": (1, 3, 8, 12)}


def cut(tmp_path: Path, inputs: Any = (), outputs: Any = (), sizes: Any = SIZED) -> Any:
    request = Request(sizes, inputs=tuple(inputs), outputs=tuple(outputs))
    return load(write(tmp_path, detector()), request)


def test_a_detection_tail_is_refused_with_the_names_to_cut_at(tmp_path: Path) -> None:
    assert refusal(write(tmp_path, detector()), Request(SIZED)) == (
        "error[SG0201]: operator NonMaxSuppression is not implemented for tensors computed from "
        "the inputs\n"
        "  --> model.onnx: node nms (NonMaxSuppression), inputs 1x24x4, 1x4x24, 1\n"
        "  = why: the number of boxes depends on their scores, and textures have fixed sizes\n"
        "  = help: end the model before the operator with --outputs b,s, and run "
        "the operator in the application"
    )


def test_what_the_refusal_proposes_is_possible(tmp_path: Path) -> None:
    graph = cut(tmp_path, outputs=["b", "s"])
    assert [(o.name, o.value.shape) for o in graph.outputs] == [
        ("b", (1, 24, 4)),
        ("s", (1, 4, 24)),
    ]


def test_a_value_becomes_an_output_and_the_rest_goes(tmp_path: Path) -> None:
    graph = cut(tmp_path, outputs=["boxes", "c1"])
    assert [o.name for o in graph.outputs] == ["boxes", "c1"]
    layers = {name for n in graph.nodes for name in n.layers}
    assert layers == {"first", "act", "second", "halves", "to_boxes"}


def test_a_value_becomes_an_input_of_the_size_that_follows(tmp_path: Path) -> None:
    graph = cut(tmp_path, inputs=["r1"], outputs=["boxes"])
    assert [(i.name, i.shape) for i in graph.inputs] == [("r1", (1, 4, 8, 12))]


def test_the_size_of_an_input_may_be_given_where_none_follows(tmp_path: Path) -> None:
    graph = cut(tmp_path, ["act"], ["boxes"], {"act": (1, 4, 6, 6)})
    assert [(i.name, i.shape) for i in graph.inputs] == [("r1", (1, 4, 6, 6))]
    text = refusal(write(tmp_path, detector()), Request(inputs=("r1",), outputs=("boxes",)))
    assert text.startswith("error[SG0204]: input 'r1' has an undeclared size")


def test_the_models_own_inputs_stay_where_they_are_needed(tmp_path: Path) -> None:
    graph = cut(tmp_path, ["left"], ["boxes", "scores"])
    assert [(i.name, i.shape) for i in graph.inputs] == [("left", (1, 4, 4, 6)), ("x", SIZED["x"])]


def test_a_weight_becomes_an_input(tmp_path: Path) -> None:
    proto = detector()
    proto.graph.node.insert(0, node("Mul", "x", "gain", outputs=("scaled",)))
    proto.graph.initializer.append(numpy_helper.from_array(normal(3, 1, 1), "gain"))
    graph = load(write(tmp_path, proto), Request(SIZED, inputs=("gain",), outputs=("scaled",)))
    assert [(i.name, i.shape) for i in graph.inputs] == [("gain", (3, 1, 1)), ("x", SIZED["x"])]


def test_the_part_computes_what_the_whole_does(tmp_path: Path) -> None:
    whole = detector()
    whole.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in ("r1", "boxes"))
    session = ort.InferenceSession(whole.SerializeToString())
    x = normal(*SIZED["x"])
    r1, boxes = session.run(["r1", "boxes"], {"x": x})
    graph = cut(tmp_path, inputs=["r1"], outputs=["boxes"])
    np.testing.assert_allclose(evaluate_graph(graph, {"r1": r1})["boxes"], boxes, atol=1e-6)


REFUSED = {
    "unknown output": (
        [],
        ["box"],
        "error[SG0301]: --outputs names 'box', which the model does not compute\n"
        "  --> model.onnx\n"
        "  = why: it is neither a value nor a node of the model's graph\n"
        "  = supported: boxes, to_boxes, x, b, second and 13 more\n"
        "  = help: did you mean 'boxes'?",
    ),
    "unknown input": (
        ["act2"],
        ["boxes"],
        "error[SG0301]: --inputs names 'act2', which the model does not compute\n"
        "  --> model.onnx\n"
        "  = why: it is neither a value nor a node of the model's graph\n"
        "  = supported: act, c2, c1, left, kept and 13 more\n"
        "  = help: did you mean 'act'?",
    ),
    "node with two results": (
        [],
        ["halves"],
        "error[SG0301]: --outputs names 'halves', which has 2 results\n"
        "  --> model.onnx\n"
        "  = supported: left, right",
    ),
    "input of no use": (
        ["scores"],
        ["boxes"],
        "error[SG0301]: --inputs names 'scores', which no output needs\n"
        "  --> model.onnx\n"
        "  = why: only these outputs are computed: 'boxes'",
    ),
    "one value twice": (
        [],
        ["act", "r1"],
        "error[SG0301]: --outputs names 'r1' twice\n  --> model.onnx",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_cut_is_refused_by_name(tmp_path: Path, case: str) -> None:
    inputs, outputs, expected = REFUSED[case]
    path = write(tmp_path, detector())
    assert refusal(path, Request(SIZED, inputs=tuple(inputs), outputs=tuple(outputs))) == expected


def test_a_size_for_an_input_that_was_cut_off_is_still_checked(tmp_path: Path) -> None:
    sizes = {"x": (1, 3, 8, 8), "y": (1, 3, 8, 8)}
    text = refusal(write(tmp_path, detector()), Request(sizes, inputs=("r1",), outputs=("boxes",)))
    assert "error[SG0301]: --input-size names 'y', which is not an input" in text
    assert "supported: x, r1" in text


def test_verify_cuts_the_reference_as_well(tmp_path: Path) -> None:
    options = Options(input_size=SIZED, inputs=("act",), outputs=("boxes", "scores"))
    report = verify_model(write(tmp_path, detector()), options)
    assert (report.reference, report.note, report.ok) == ("onnxruntime", "", True)
    assert [o.name for o in report.outputs] == ["boxes", "scores"]


def test_verify_finds_external_data_of_a_part(tmp_path: Path) -> None:
    import onnx

    path = tmp_path / "model.onnx"
    onnx.save(detector(), path, save_as_external_data=True, location="w.bin", size_threshold=64)
    assert (tmp_path / "w.bin").stat().st_size > 0
    report = verify_model(path, Options(input_size=SIZED, outputs=("boxes",)))
    assert (report.reference, report.note, report.ok) == ("onnxruntime", "", True)


def test_the_command_line_cuts(tmp_path: Path) -> None:
    model, build = write(tmp_path, detector()), tmp_path / "build"
    options = ["--inputs", "act=1x4x6x6", "--outputs", "boxes, scores", "--no-validate"]
    cli.main(["compile", str(model), "-o", str(build), *options], standalone_mode=False)
    schedule = json.loads((build / "schedule.json").read_text())
    assert [(p["name"], p["shape"]) for p in schedule["inputs"]] == [("r1", [1, 4, 6, 6])]
    assert [p["name"] for p in schedule["outputs"]] == ["boxes", "scores"]


def test_names_are_parsed() -> None:
    assert parse_cut(["a,b=1x64x9x16", "c=d"], ["x, y", '"p,q"']) == (
        ("a", "b", "c=d"),
        ("x", "y", "p,q"),
        {"b": (1, 64, 9, 16)},
    )
    for outputs, why in ((["a,,b"], "has an empty name"), (["a", "a"], "gives 'a' twice")):
        with pytest.raises(ShadergenError, match=why):
            parse_cut([], outputs)


def behind_a_decoder(*nodes: Any, dtype: int = TensorProto.FLOAT, **weights: Any) -> Any:
    """Return a model that begins with an operator nobody knows, of whose result no type is said."""
    decode = helper.make_node("Decode", ["x"], ["picture"], domain="my")
    graph = helper.make_graph(
        [decode, *nodes],
        "decoded",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [10])],
        [helper.make_tensor_value_info("y", dtype, None)],
        [numpy_helper.from_array(v, k) for k, v in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def picture(tmp_path: Path, model: Any) -> tuple[str, list[str]]:
    """Return the type of an input cut behind the decoder, and the notes."""
    request = Request({"picture": (1, 3, 4, 4)}, inputs=("picture",))
    graph = load(write(tmp_path, model), request)
    return graph.inputs[0].type.dtype, request.notes


def test_an_input_without_a_type_has_that_of_what_it_is_computed_with(tmp_path: Path) -> None:
    nodes = (
        node("Transpose", "picture", outputs=("t",), perm=[0, 1, 3, 2]),
        node("Div", "t", "w"),
    )
    model = behind_a_decoder(*nodes, dtype=TensorProto.UINT8, w=np.array([2], np.uint8))
    assert picture(tmp_path, model) == ("uint8", [])


def test_an_input_that_a_convolution_reads_is_float(tmp_path: Path) -> None:
    model = behind_a_decoder(node("Conv", "picture", "w"), w=normal(2, 3, 1, 1))
    assert picture(tmp_path, model) == ("float32", [])


def test_an_input_whose_type_nobody_knows_is_said_to_be_float(tmp_path: Path) -> None:
    model = behind_a_decoder(node("Cast", "picture", to=TensorProto.FLOAT))
    assert picture(tmp_path, model) == (
        "float32",
        [
            "input 'picture' is read as float32: the model does not state its type; for integers, "
            "declare the type in the model (value_info)"
        ],
    )
