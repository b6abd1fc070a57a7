"""Shapes that a file declares and that contradict what is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper, shape_inference
from support.onnx_models import refusal, write

from shadergen.compiler.driver import compile_model
from shadergen.compiler.frontends import Request, load
from shadergen.compiler.options import Options

if TYPE_CHECKING:
    from pathlib import Path

Shape = tuple["int | str", ...]
POOL = {"kernel_shape": [2, 2], "strides": [2, 2]}


def declaring(x: Shape, y: Shape, between: Shape | None = None, domain: str = "") -> Any:
    """Return y = relu(half(x)), half being of a ``domain``, whose result is called p."""
    op = helper.make_node("Gelu", ["x"], ["p"], "gelu", domain=domain)
    if not domain:
        op = helper.make_node("MaxPool", ["x"], ["p"], "half", **POOL)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [op, helper.make_node("Relu", ["p"], ["y"], "relu")],
        "g",
        [info("x", TensorProto.FLOAT, x)],
        [info("y", TensorProto.FLOAT, y)],
        value_info=[] if between is None else [info("p", TensorProto.FLOAT, between)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def test_an_output_that_contradicts_its_declared_shape_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, declaring((1, 3, 8, 8), (1, 3, 5, 4)))
    assert refusal(path) == (
        "error[SG0105]: 'y' has shape 1x3x4x4 where the model declares 1x3x5x4\n"
        "  --> model.onnx: node relu (Relu), inputs 1x3x4x4\n"
        "  = why: ONNX's shape inference gives 1x3x4x4, too: the declared shape is stale\n"
        "  = help: to ignore the declared shape, name this output: --outputs y"
    )


def test_an_output_of_another_rank_than_declared_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, declaring((1, 3, 8, 8), (1, 3, 16)))
    assert "'y' has shape 1x3x4x4 where the model declares 1x3x16" in refusal(path)


def test_an_output_asked_for_by_name_is_taken_as_computed(tmp_path: Path) -> None:
    path = write(tmp_path, declaring((1, 3, 8, 8), (1, 3, 5, 4)))
    found = compile_model(path, tmp_path / "build", Options(outputs=("y",), validate=False))
    assert found.graph.outputs[0].value.shape == (1, 3, 4, 4)
    assert found.notes == (
        "stale shapes in the file: 'y' has shape 1x3x4x4 where the model declares 1x3x5x4",
    )


def test_a_stale_shape_in_between_is_noted(tmp_path: Path) -> None:
    path = write(tmp_path, declaring((1, 3, 8, 8), (1, 3, 4, 4), between=(4, 3, 4, 4)))
    request = Request()
    load(path, request)
    assert request.notes == [
        "stale shapes in the file: 'p' has shape 1x3x4x4 where the model declares 4x3x4x4"
    ]


def test_a_shape_in_between_that_onnx_cannot_infer_is_refused(tmp_path: Path) -> None:
    proto = declaring((1, 3, 8, 8), (1, 3, 8, 8), between=(1, 3, 4, 4), domain="com.microsoft")
    path = write(tmp_path, proto)
    assert refusal(path) == (
        "error[SG0105]: 'p' has shape 1x3x8x8 where the model declares 1x3x4x4\n"
        "  --> model.onnx: node gelu (Gelu), inputs 1x3x8x8\n"
        "  = why: either the declared shape is stale, or shadergen misreads the operator\n"
        "  = help: if declared shapes are stale, delete them: del model.graph.value_info[:]"
    )


def test_a_part_of_a_model_keeps_the_shapes_that_are_declared_in_it(tmp_path: Path) -> None:
    proto = declaring((1, 3, 8, 8), (1, 3, 8, 8), between=(1, 3, 4, 4), domain="com.microsoft")
    text = refusal(write(tmp_path, proto), Request(outputs=("y",)))
    assert "'p' has shape 1x3x8x8 where the model declares 1x3x4x4" in text


@pytest.mark.parametrize("domain", ["", "com.microsoft"], ids=["inferred", "not inferred"])
def test_an_example_batch_in_declared_shapes_is_noted_where_the_batch_is_open(
    tmp_path: Path, domain: str
) -> None:
    shape: Shape = (4, 3, 8, 8) if domain else (4, 3, 4, 4)
    path = write(tmp_path, declaring(("N", 3, 8, 8), shape, between=shape, domain=domain))
    request = Request()
    load(path, request)
    assert "has shape 1x3" in request.notes[0] and "declares 4x3" in request.notes[0]


def test_with_an_undeclared_batch_other_contradictions_are_refused(tmp_path: Path) -> None:
    y: Shape = (4, 3, 5, 8)
    text = refusal(write(tmp_path, declaring(("N", 3, 8, 8), y, domain="com.microsoft")))
    assert "'y' has shape 1x3x8x8 where the model declares 4x3x5x8" in text


def test_shape_inference_is_given_no_large_constant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of nodes were copied: beyond 2 GB inference failed, and a stale shape was refused."""
    infer, given = shape_inference.infer_shapes, []

    def counted(proto: Any, **options: Any) -> Any:
        given.append(proto.ByteSize())
        return infer(proto, **options)

    proto = declaring((1, 3, 64, 64), (1, 3, 32, 32), between=(4, 3, 32, 32))
    value = numpy_helper.from_array(np.ones((1, 3, 64, 64), np.float32))
    proto.graph.node[0].input[0] = "sum"
    proto.graph.node.insert(0, helper.make_node("Add", ["x", "c"], ["sum"]))
    proto.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value=value))
    monkeypatch.setattr(shape_inference, "infer_shapes", counted)
    request = Request()
    load(write(tmp_path, proto), request)
    assert "'p' has shape 1x3x32x32 where the model declares 4x3x32x32" in request.notes[0]
    assert max(given) < 1000


@pytest.mark.parametrize("size", [{"": (16, 16)}, {"": (1, 3, 16, 16)}])
def test_where_sizes_are_chosen_those_of_the_exporter_are_noted(
    tmp_path: Path, size: dict[str, tuple[int, ...]]
) -> None:
    declared: Shape = (1, 3, 4, 4)
    path = write(tmp_path, declaring((1, 3, "h", "w"), declared, between=declared))
    request = Request(size)
    assert load(path, request).outputs[0].value.shape == (1, 3, 8, 8)
    assert request.notes == [
        "stale shapes in the file: 'y' has shape 1x3x8x8 where the model declares 1x3x4x4"
    ]


def test_declared_numbers_fix_no_dynamic_dimension(tmp_path: Path) -> None:
    declared: Shape = (1, 3, 4, 4)
    path = write(tmp_path, declaring((1, 3, 8, 8), declared, between=declared))
    options = Options(dynamic=True, validate=False)
    found = compile_model(path, tmp_path / "build", options)
    height, width = found.files.schedule["sizes"]["parameters"]
    assert height["max"] > 1000
    assert width["max"] > 1000


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((1, 3, "h", "w"), (1, 3, "h", "w")),  # one name for two sizes, as exporters write
        (("n", 3, "h", "w"), (1, 3, 0, 0)),  # old exporters, for unknown
        (("n", 3, "h", "w"), ("n", 3, 4, 4)),
    ],
)
def test_what_is_no_contradiction_of_numbers_is_taken(tmp_path: Path, x: Shape, y: Shape) -> None:
    request = Request({"": (8, 8)})
    assert load(write(tmp_path, declaring(x, y)), request).outputs[0].value.shape == (1, 3, 4, 4)
    assert request.notes == []
