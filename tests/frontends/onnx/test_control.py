"""If, Loop, Scan and sequences: carried out when compiling, against ONNX Runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper
from support.onnx_models import compare, node, normal, refusal, small, write

from shadergen.compiler.frontends import Request, load

if TYPE_CHECKING:
    from pathlib import Path

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = (2, 3, 4)


def body(
    nodes: list[Any],
    inputs: dict[str, tuple[int, Any]],
    outputs: dict[str, tuple[int, Any]],
    inits: dict[str, Any] | None = None,
) -> Any:
    """Return a subgraph; inputs and outputs have an element type and a shape."""
    return helper.make_graph(
        nodes,
        "body",
        [helper.make_tensor_value_info(k, *v) for k, v in inputs.items()],
        [helper.make_tensor_value_info(k, *v) for k, v in outputs.items()],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (inits or {}).items()],
    )


def branch(op: str, *inputs: str, out: str, inits: Any = None, **attributes: Any) -> Any:
    nodes = [node(op, *inputs, outputs=(out,), **attributes)]
    return body(nodes, {}, {out: (FLOAT, None)}, inits)


@pytest.mark.parametrize("opset", [9, 11, 13, 16, 21])
@pytest.mark.parametrize("condition", [True, False])
def test_if_takes_the_branch_of_a_constant_condition(
    tmp_path: Path, condition: bool, opset: int
) -> None:
    either = {
        "then_branch": branch("Relu", "x", out="a"),
        "else_branch": branch("Neg", "x", out="b"),
    }
    compare(tmp_path, node("If", "c", **either), {"c": np.array(condition)}, opset, shape=X)


def test_if_on_a_shape_with_nested_branches_and_weights_of_their_own(tmp_path: Path) -> None:
    inner = {
        "then_branch": branch("Add", "h", "w", out="a", inits={"w": normal(3, 4)}),
        "else_branch": branch("Sub", "h", "x", out="b"),
    }
    then = body(
        [
            node("Mul", "x", "x", outputs=("h",)),
            node("Greater", "n", "two", outputs=("more",)),
            node("If", "more", outputs=("t",), **inner),
        ],
        {},
        {"t": (FLOAT, None)},
        {"two": np.array(2)},
    )
    nodes = [
        node("Shape", "x", outputs=("shape",)),
        node("Gather", "shape", "one", outputs=("n",)),
        node("Equal", "n", "three", outputs=("c",)),
        node("If", "c", then_branch=then, else_branch=branch("Identity", "x", out="e")),
    ]
    inits = {"one": np.array(1), "three": np.array(3)}
    compare(tmp_path, nodes, inits, shape=X)


def test_names_of_a_subgraph_hide_those_around_it(tmp_path: Path) -> None:
    then = body(
        [node("Relu", "x", outputs=("h",)), node("Add", "h", "w", outputs=("t",))],
        {},
        {"t": (FLOAT, None)},
        {"w": np.float32(3)},
    )
    nodes = [
        node("Neg", "x", outputs=("h",)),
        node("If", "c", outputs=("i",), then_branch=then, else_branch=branch("Abs", "x", out="e")),
        node("Mul", "h", "i", outputs=("j",)),
        node("Mul", "j", "w"),
    ]
    graph = load(
        write(tmp_path, small(nodes, {"c": np.array(True), "w": np.float32(2)})), Request()
    )
    from shadergen.ir.reference import evaluate_graph

    x = normal(1, 3, 6, 5)
    expected = -x * (np.maximum(x, 0) + 3) * 2
    np.testing.assert_allclose(evaluate_graph(graph, {"x": x})["y"], expected, rtol=1e-6)


def test_branches_that_are_alike_may_depend_on_data(tmp_path: Path) -> None:
    either = {
        "then_branch": branch("Relu", "x", out="a"),
        "else_branch": branch("Neg", "x", out="b"),
    }
    nodes = [
        node("ReduceMax", "x", outputs=("m",), keepdims=0),
        node("Greater", "m", "limit", outputs=("c",)),
        node("If", "c", **either),
    ]
    for x in (normal(*X), -abs(normal(*X))):
        compare(tmp_path, nodes, {"limit": np.float32(0)}, x=x)


def loop_body(**more: Any) -> Any:
    """Return a body that multiplies what it carries and collects it."""
    nodes = [
        node("Cast", "i", outputs=("fi",), to=FLOAT),
        node("Add", "carried", "fi", outputs=("shifted",)),
        node("Mul", "shifted", "half", outputs=("next",)),
        node("Identity", "next", outputs=("row",)),
        *more.pop("nodes", [node("Identity", "c", outputs=("again",))]),
    ]
    inputs = {"i": (INT, []), "c": (BOOL, []), "carried": (FLOAT, None)}
    outputs = {"again": (BOOL, []), "next": (FLOAT, None), "row": (FLOAT, None)}
    return body(nodes, inputs, outputs, {"half": np.float32(0.5), **more})


STOP_AT_2 = [node("Less", "i", "two", outputs=("again",))]


@pytest.mark.parametrize(
    ("limit", "condition", "stop"),
    [("n", "c", False), ("n", "", False), ("", "c", True), ("n", "", True), ("most", "c", True)],
)
@pytest.mark.parametrize("opset", [10, 11, 13, 19])
def test_a_loop_is_unrolled(
    tmp_path: Path, limit: str, condition: str, stop: bool, opset: int
) -> None:
    more: dict[str, Any] = {"nodes": STOP_AT_2, "two": np.array(2)} if stop else {}
    loop = helper.make_node("Loop", [limit, condition, "x"], ["y", "z"], body=loop_body(**more))
    inits = {"n": np.array(3), "c": np.array(True), "most": np.array(2**63 - 1)}
    inits = {k: v for k, v in inits.items() if k in (limit, condition)}
    compare(tmp_path, loop, inits, opset, shape=X, outputs=("y", "z"))


def test_a_loop_may_change_the_shape_it_carries(tmp_path: Path) -> None:
    nodes = [
        node("Concat", "carried", "x", outputs=("next",), axis=0),
        node("Identity", "c", outputs=("again",)),
    ]
    inner = body(
        nodes,
        {"i": (INT, []), "c": (BOOL, []), "carried": (FLOAT, [None, 3, 4])},
        {"again": (BOOL, []), "next": (FLOAT, [None, 3, 4])},
    )
    compare(tmp_path, node("Loop", "n", "", "x", body=inner), {"n": np.array(3)}, shape=X)


def test_a_loop_that_never_runs_returns_what_it_is_given(tmp_path: Path) -> None:
    loop = helper.make_node("Loop", ["n", "", "x"], ["y", "z"], body=loop_body())
    compare(tmp_path, loop, {"n": np.array(0)}, shape=X)


def test_a_loop_that_appends_to_a_sequence(tmp_path: Path) -> None:
    nodes = [
        node("Gather", "x", "i", outputs=("row",), axis=0),
        node("SequenceInsert", "sofar", "row", outputs=("next",)),
        node("Identity", "c", outputs=("again",)),
    ]
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    inner = body(nodes, {"i": (INT, []), "c": (BOOL, [])}, {"again": (BOOL, [])})
    inner.input.append(helper.make_value_info("sofar", sequence))
    inner.output.append(helper.make_value_info("next", sequence))
    graph = [
        helper.make_node("SequenceEmpty", [], ["none"]),
        node("Loop", "n", "c", "none", outputs=("rows",), body=inner),
        node("ConcatFromSequence", "rows", axis=1, new_axis=1),
    ]
    compare(tmp_path, graph, {"n": np.array(2), "c": np.array(True)}, shape=X)


def scan_body() -> Any:
    nodes = [
        node("Add", "state", "row", outputs=("next",)),
        node("Mul", "next", "next", outputs=("square",)),
    ]
    inputs = {"state": (FLOAT, None), "row": (FLOAT, None)}
    return body(nodes, inputs, {"next": (FLOAT, None), "square": (FLOAT, None)})


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_directions": [1]},
        {"scan_output_directions": [1]},
        {"scan_input_axes": [1], "scan_output_axes": [1]},
        {"scan_input_axes": [-1], "scan_output_axes": [-1], "scan_input_directions": [1]},
    ],
)
@pytest.mark.parametrize("opset", [9, 11, 19])
def test_a_scan_is_unrolled(tmp_path: Path, attributes: Any, opset: int) -> None:
    if opset < 11 and -1 in attributes.get("scan_input_axes", ()):
        pytest.skip("axes could not be negative")
    axis = attributes.get("scan_input_axes", [0])[0]
    shape = tuple(np.delete(X, axis))
    scan = helper.make_node(
        "Scan", ["s", "x"], ["y", "z"], body=scan_body(), num_scan_inputs=1, **attributes
    )
    compare(tmp_path, scan, {"s": normal(*shape)}, opset, shape=X, outputs=("y", "z"))


@pytest.mark.parametrize("direction", [0, 1])
def test_a_scan_of_operator_set_8_has_a_batch(tmp_path: Path, direction: int) -> None:
    scan = helper.make_node(
        "Scan",
        ["", "s", "x"],
        ["y", "z"],
        body=scan_body(),
        num_scan_inputs=1,
        directions=[direction],
    )
    compare(tmp_path, scan, {"s": normal(2, 4)}, 8, shape=X, outputs=("y", "z"))


SEQUENCES = {
    "of parts": ([node("SplitToSequence", "x", "n", outputs=("s",), axis=2)], {"n": np.array(3)}),
    "of sizes": (
        [node("SplitToSequence", "x", "n", outputs=("s",), axis=2)],
        {"n": np.array([1, 1, 2])},
    ),
    "of elements": ([node("SplitToSequence", "x", outputs=("s",), axis=1, keepdims=0)], {}),
    "of elements with their axis": ([node("SplitToSequence", "x", outputs=("s",), axis=-1)], {}),
    "constructed": ([node("SequenceConstruct", "x", "x", outputs=("s",))], {}),
    "with one put in": (
        [
            node("SequenceConstruct", "x", "x", outputs=("t",)),
            node("Neg", "x", outputs=("m",)),
            node("SequenceInsert", "t", "m", "at", outputs=("s",)),
        ],
        {"at": np.array(-1)},
    ),
    "with one left out": (
        [
            node("Neg", "x", outputs=("m",)),
            node("SequenceConstruct", "x", "m", "x", outputs=("t",)),
            node("SequenceErase", "t", "at", outputs=("s",)),
        ],
        {"at": np.array(-1)},
    ),
}


@pytest.mark.parametrize("case", SEQUENCES)
def test_sequences_exist_when_compiling(tmp_path: Path, case: str) -> None:
    nodes, inits = SEQUENCES[case]
    tail = [
        node("SequenceAt", "s", "last", outputs=("y",)),
        node("SequenceLength", "s", outputs=("n_",)),
        node("Cast", "n_", outputs=("z",), to=FLOAT),
    ]
    inits = {**inits, "last": np.array(-1)}
    compare(tmp_path, [*nodes, *tail], inits, shape=X, outputs=("y", "z"))


def test_a_sequence_is_joined_along_an_axis_it_has(tmp_path: Path) -> None:
    nodes = [
        node("SplitToSequence", "x", outputs=("s",), axis=2),
        node("ConcatFromSequence", "s", axis=0),
    ]
    compare(tmp_path, nodes, shape=X)


def test_a_graph_runs_for_each_tensor_of_a_sequence(tmp_path: Path) -> None:
    row = helper.make_tensor_value_info("row", FLOAT, (2, 3, 1))
    doubled = helper.make_tensor_value_info("doubled", FLOAT, (2, 3, 1))
    add = node("Add", "row", "row", outputs=("doubled",))
    nodes = [
        node("SplitToSequence", "x", outputs=("s",), axis=2),
        node(
            "SequenceMap", "s", outputs=("t",), body=helper.make_graph([add], "b", [row], [doubled])
        ),
        node("ConcatFromSequence", "t", axis=2),
    ]
    compare(tmp_path, nodes, shape=X)


def test_the_element_of_an_optional_that_is_full(tmp_path: Path) -> None:
    nodes = [
        node("Optional", "x", outputs=("o",)),
        node("OptionalGetElement", "o", outputs=("y",)),
        node("OptionalHasElement", "o", outputs=("has",)),
        node("Cast", "has", outputs=("z",), to=FLOAT),
    ]
    compare(tmp_path, nodes, opset=18, shape=X, outputs=("y", "z"))


DATA_CONDITION = [
    node("ReduceMax", "x", outputs=("m",), name="largest", keepdims=0),
    node("Greater", "m", "zero", outputs=("c",), name="test"),
    node(
        "If",
        "c",
        name="choose",
        then_branch=branch("Relu", "x", out="a"),
        else_branch=branch("ReduceMax", "x", out="b", keepdims=1),
    ),
]
ENDLESS = {
    "nodes": [node("Constant", outputs=("again",), value=numpy_helper.from_array(np.array(True)))]
}
ENDLESS["nodes"][0].ClearField("input")
REFUSED = {
    "branch": (
        small(DATA_CONDITION, {"zero": np.float32(0)}),
        "error[SG0201]: the choice of the branch of If depends on data\n"
        "  --> model.onnx: node choose (If), inputs scalar\n"
        "  = why: it is computed from the model's inputs, which are unknown when compiling\n"
        "  = help: end the model before the operator with --outputs c, and run the "
        "operator in the application",
    ),
    "trip count": (
        small(
            [
                node("ReduceMax", "x", outputs=("m",), keepdims=0),
                node("Cast", "m", outputs=("n",), to=INT),
                helper.make_node("Loop", ["n", "", "x"], ["y", ""], "again", body=loop_body()),
            ]
        ),
        "error[SG0201]: the number of iterations of Loop depends on data",
    ),
    "endless": (
        small(helper.make_node("Loop", ["", "", "x"], ["y", ""], "on", body=loop_body(**ENDLESS))),
        "error[SG0401]: the loops and functions of the model give too many nodes",
    ),
    "within a loop": (
        small(
            helper.make_node(
                "Loop",
                ["n", "", "x"],
                ["y", ""],
                "outer",
                body=loop_body(nodes=[node("Relo", "c", outputs=("again",), name="inner")]),
            ),
            {"n": np.array(2)},
        ),
        "error[SG0201]: operator Relo is not implemented\n"
        "  --> model.onnx: node outer (Loop), inputs scalar, 1x3x6x5: "
        "node outer[0]/inner (Relo), inputs scalar\n",
    ),
    "carries too little": (
        small(
            helper.make_node("Loop", ["n", ""], ["y"], "l", body=loop_body()), {"n": np.array(2)}
        ),
        "error[SG0105]: the subgraph takes 3 inputs, the node gives 2",
    ),
    "undefined within": (
        small(
            node(
                "If",
                "c",
                then_branch=branch("Relu", "nothing", out="a"),
                else_branch=branch("Neg", "x", out="b"),
            ),
            {"c": np.array(True)},
        ),
        "error[SG0105]: 'nothing' is not defined",
    ),
    "condition of numbers": (
        small(
            node(
                "If",
                "c",
                then_branch=branch("Relu", "x", out="a"),
                else_branch=branch("Neg", "x", out="b"),
            ),
            {"c": np.array(1)},
        ),
        "error[SG0105]: the condition of If must be a single bool",
    ),
    "sequence out": (
        small(node("SequenceConstruct", "x")),
        "error[SG0206]: output 'y' is a sequence",
    ),
    "sequence as tensor": (
        small([node("SequenceConstruct", "x", outputs=("s",)), node("Relu", "s")]),
        "error[SG0105]: input 0 of Relu is not a tensor",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_control_flow_is_refused_by_name(tmp_path: Path, case: str) -> None:
    proto, expected = REFUSED[case]
    assert refusal(write(tmp_path, proto)).startswith(expected)


def test_a_graph_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    graph = branch("Relu", "x", out="a")
    for depth in range(20):
        inner = [node("If", "c", outputs=(f"o{depth}",), then_branch=graph, else_branch=graph)]
        if depth < 4:
            graph = body(inner, {}, {f"o{depth}": (FLOAT, None)})
        else:
            single = [node("If", "c", outputs=(f"o{depth}",), then_branch=graph)]
            graph = body(single, {}, {f"o{depth}": (FLOAT, None)})
    top = node("If", "c", then_branch=graph)
    top.attribute.add(name="else_branch", type=5).g.CopyFrom(branch("Relu", "x", out="z"))
    text = refusal(write(tmp_path, small(top, {"c": np.array(True)})))
    assert "error[SG0105]: " in text
