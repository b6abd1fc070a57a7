"""Nodes are called by the modules that PyTorch's exporter notes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.onnx_models import node, refusal, small, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.compiler.frontends.onnx.read.pytorch_origin import module_names

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = "torch.nn.modules"


def noted(proto: Any, scopes: str, kind: str = "Block") -> Any:
    """Note a node's modules, as PyTorch's exporter does; the last scope is the operator's call."""
    *modules, call = scopes.split(" ")
    operator = re.sub(r"_\d+$", "", call)
    for key, value in (
        ("name_scopes", ["", *modules, call]),
        ("class_hierarchy", ["Net", *[kind for _ in modules], f"aten.{operator}.default"]),
    ):
        proto.metadata_props.add(key=f"pkg.torch.onnx.{key}", value=repr(value))
    return proto


def chain(*nodes: tuple[str, str] | tuple[str, str, str]) -> list[Any]:
    """Return nodes in a row: the operator, its scopes, and the class of its module."""
    values = ["x", *(f"v{k}" for k in range(1, len(nodes))), "y"]
    return [
        noted(node(op, a, outputs=(b,), name=f"node_{b}"), *rest)
        for (op, *rest), (a, b) in zip(nodes, pairwise(values), strict=True)
    ]


def names(*nodes: tuple[str, str] | tuple[str, str, str]) -> list[str]:
    return [*module_names(chain(*nodes)).values()]


def layers(folder: Path, nodes: list[Any], **options: Any) -> list[tuple[str, ...]]:
    graph = load_onnx(write(folder, small(nodes, {})), Request(**options))
    return [n.layers for n in graph.nodes]


def test_operators_of_modules_have_the_names_of_modules(tmp_path):
    nodes = chain(("Relu", "features features.0 relu"), ("Abs", "head abs"), ("Sin", "sin"))
    assert layers(tmp_path, nodes) == [("features.0",), ("head",), ("sin",)]


def test_later_calls_have_numbers():
    nodes = [("Relu", f"act relu{suffix}") for suffix in ("", "_1", "_7")]
    assert names(*nodes) == ["act", "act@1", "act@2"]


def test_several_operators_of_a_module_have_its_name_as_prefix():
    nodes = ("Sigmoid", "act sigmoid"), ("Abs", "act abs"), ("Abs", "act abs_1")
    assert names(*nodes) == ["act/sigmoid", "act/abs", "act/abs@1"]


def test_the_operator_of_a_modules_class_has_its_name_alone():
    nodes = [("Pad", "features.0 pad"), ("Conv", "features.0 conv2d")]
    wanted = ["features.0/pad", "features.0"]
    assert names(*((*n, f"{LIBRARY}.conv.Conv2d") for n in nodes)) == wanted
    assert names(*nodes) == ["features.0/pad", "features.0/conv2d"]


def test_a_module_around_others_does_not_give_its_name_to_one_operator():
    assert names(("Abs", "body abs"), ("Relu", "body body.act relu")) == ["body/abs", "body.act"]


def test_the_last_node_of_an_operator_has_its_name():
    nodes = [("MatMul", "head linear"), ("Add", "head linear")]
    again = [("MatMul", "head linear_1"), ("Add", "head linear_1")]
    found = module_names(chain(*nodes, *again))
    assert found == {"v1": "head/MatMul", "v2": "head", "v3": "head/MatMul@1", "y": "head@1"}


@pytest.mark.parametrize(
    ("norm", "name"),
    [("body.bn", "body.conv+bn"), ("bn", "body.conv+bn"), ("a.bn", "body.conv+a.bn")],
)
def test_a_convolution_with_a_folded_normalisation_has_both_names(norm, name):
    conv = node("Conv", "p", "body.conv.weight", outputs=("v",))
    noted(conv, f"{norm} _native_batch_norm_legit_no_training_1")
    pad = noted(node("Pad", "x", outputs=("p",)), "body.conv pad")
    assert module_names([pad, conv]) == {"p": "body.conv/pad", "v": name}


def test_nodes_without_notes_keep_their_names(tmp_path):
    others = node("Relu", "x", outputs=("v",), name="act"), node("Abs", "w", outputs=("z",))
    act = noted(node("Sin", "v", outputs=("w",)), "act sin")
    last = noted(node("Sin", "z", outputs=("y",)), "act sin_1")
    found = layers(tmp_path, [others[0], act, others[1], last])
    assert found == [("act",), ("act@1",), ("z",), ("act@2",)]


def test_models_are_cut_at_modules_and_at_names_of_the_file(tmp_path):
    nodes = chain(("Relu", "body body.0 relu"), ("Abs", "head abs"), ("Sin", "head.act sin"))
    for name in ("head/abs", "node_v2", "v2"):
        assert layers(tmp_path, nodes, outputs=(name,)) == [("body.0",), ("head/abs",)]
    assert layers(tmp_path, nodes, inputs=("body.0",)) == [("head/abs",), ("head.act",)]


def test_a_part_of_a_model_has_the_names_of_the_whole(tmp_path):
    nodes = chain(("Relu", "act relu"), ("Relu", "act relu_1"), ("Abs", "act abs"))
    assert layers(tmp_path, nodes, inputs=("v1",), outputs=("v2",)) == [("act/relu@1",)]


def test_an_unknown_module_has_a_suggestion(tmp_path):
    nodes = chain(("Relu", "features.0 relu"), ("Abs", "head abs"))
    text = refusal(write(tmp_path, small(nodes, {})), Request(outputs=("features.1",)))
    assert "did you mean 'features.0'?" in text


@pytest.mark.parametrize(
    "text",
    ["", "[", "['a, b', 'relu']", "['', 'a/b', 'relu']", "['', 'a', 're lu']", "['a\\n', 'x']"],
)
def test_notes_of_other_forms_give_nothing(text):
    relu = node("Relu", "x", name="act")
    relu.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=text)
    assert module_names([relu]) == {}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "a", "a.b", "a@1", "relu"]),
            st.sampled_from(["relu", "relu_1", "relu_2", "abs", "a", "Relu"]),
            st.sampled_from(["", "a", "a@1", "a/relu", "a@1@1", "a/Relu"]),
        ),
        max_size=12,
    )
)
def test_no_two_nodes_get_one_name(nodes):
    made = []
    for number, (module, call, own) in enumerate(nodes):
        proto = node("Relu", "x", outputs=(f"v{number}",), name=own or f"node_{number}")
        made.append(proto if own else noted(proto, f"{module} {call}"))
    found = module_names(made)
    kept = {p.name for p in made if p.output[0] not in found}
    assert len({*found.values()} - kept) == len(found)


def test_many_equal_names_take_no_time():
    nodes = chain(*[("Relu", "a gelu")] * 20_000)
    found = module_names(nodes)
    assert len(set(found.values())) == len(nodes)
    assert {"a", "a/Relu", "a/Relu@19998"} <= set(found.values())
