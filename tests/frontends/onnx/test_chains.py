"""PixelShuffle, PixelUnshuffle and GroupNorm, exported as three nodes with numbers in Reshapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from support.onnx_models import compare, model, node, normal, write

from shadergen.compiler.compilation import larger_graph
from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse_definitions
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

C, B, H, W = 3, 2, 4, 5
DEEP, WIDE = (1, C * B * B, H, W), (1, C, H * B, W * B)
# Shape, split, permutation and the result's shape.
MOVES = {
    "PixelShuffle": (DEEP, (1, C, B, B, H, W), (0, 1, 4, 2, 5, 3), WIDE),
    "DepthToSpace": (DEEP, (1, B, B, C, H, W), (0, 3, 4, 1, 5, 2), WIDE),
    "PixelUnshuffle": (WIDE, (1, C, H, B, W, B), (0, 1, 3, 5, 2, 4), DEEP),
    "SpaceToDepth": (WIDE, (1, C, H, B, W, B), (0, 3, 5, 1, 2, 4), DEEP),
}


def triple(split: Sequence[int], perm: Sequence[int], result: Sequence[int]) -> tuple[Any, Any]:
    """Return the nodes, and the sizes that they read: the last as a Constant."""
    last = onnx.numpy_helper.from_array(np.array(result), "last")
    nodes = [
        node("Relu", outputs=("r",)),
        node("Reshape", "r", "split", outputs=("a",)),
        node("Transpose", "a", outputs=("b",), perm=list(perm)),
        node("Constant", outputs=("last",), value=last),
        node("Reshape", "b", "last"),
    ]
    nodes[3].ClearField("input")
    return nodes, {"split": np.array(split)}


def ops(path: Path) -> list[str]:
    return [type(n.op).__name__ for n in load_onnx(path, Request()).nodes]


@pytest.mark.parametrize("opset", [9, 13])
@pytest.mark.parametrize("batch", [1, -1])
@pytest.mark.parametrize("name", MOVES)
def test_it_is_one_layer_that_agrees(tmp_path: Path, name: str, batch: int, opset: int) -> None:
    shape, split, perm, result = MOVES[name]
    nodes, inits = triple((batch, *split[1:]), perm, (batch, *result[1:]))
    compare(tmp_path, nodes, inits, opset, shape)
    assert len(ops(tmp_path / "model.onnx")) == 2


@pytest.mark.parametrize("name", MOVES)
def test_the_model_can_be_read_at_a_larger_size(tmp_path: Path, name: str) -> None:
    shape, split, perm, result = MOVES[name]
    path = write(tmp_path, model(*triple(split, perm, result), {"x": shape}, 17))
    (h, w), factor = shape[2:], 3
    larger = (*shape[:2], h * factor, w * factor)
    graph = larger_graph(path, Options(), "x", larger, larger[2:])
    grown = [s * factor if s in (H, W) else s for s in split]
    wanted = (*result[:2], *(s * factor for s in result[2:]))
    proto = model(*triple(grown, perm, wanted), {"x": larger}, 17)
    session = ort.InferenceSession(proto.SerializeToString())
    x = normal(*larger)
    np.testing.assert_array_equal(
        evaluate_graph(graph, {"x": x})["y"], session.run(None, {"x": x})[0]
    )


@pytest.mark.parametrize(
    ("shape", "split", "perm", "result"),
    [
        ((1, 12, 4, 8), (1, 3, 2, 2, 8, 4), (0, 1, 4, 2, 5, 3), (1, 3, 16, 8)),  # other height
        ((1, 3, 8, 10), (1, 3, 4, 2, 5, 2), (0, 1, 3, 5, 2, 4), (1, 6, 8, 5)),  # other result
        ((1, 3, 8, 15), (1, 3, 4, 2, 5, 3), (0, 1, 3, 5, 2, 4), (1, 18, 4, 5)),  # blocks of 2x3
        ((1, 3, 8, 10), (1, 3, 4, 2, 5, 2), (0, 1, 5, 3, 2, 4), (1, 12, 4, 5)),  # columns first
        ((1, 240), (1, 3, 4, 2, 5, 2), (0, 1, 3, 5, 2, 4), (1, 12, 4, 5)),  # no picture
    ],
)
def test_what_only_resembles_it_keeps_its_steps(
    tmp_path: Path, shape: Any, split: Any, perm: Any, result: Any
) -> None:
    nodes, inits = triple(split, perm, result)
    compare(tmp_path, nodes, inits, 17, shape)
    assert len(ops(tmp_path / "model.onnx")) == 4


def test_a_step_that_is_an_output_remains(tmp_path: Path) -> None:
    shape, split, perm, result = MOVES["PixelUnshuffle"]
    nodes, inits = triple(split, perm, result)
    compare(tmp_path, nodes, inits, 17, shape, outputs=("y", "a"))


def test_a_stale_declared_shape_is_not_believed(tmp_path: Path) -> None:
    """The shape of r is not the declared one, for which the nodes would be a DepthToSpace."""
    nodes, inits = triple((1, 3, 2, 2, H, W), (0, 1, 4, 2, 5, 3), WIDE)
    proto = model(nodes, inits, {"x": (1, C * B * B, W, H)}, 17)
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("r", 1, DEEP))
    graph = load_onnx(write(tmp_path, proto), Request())
    x = normal(1, C * B * B, W, H)
    theirs = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_array_equal(evaluate_graph(graph, {"x": x})["y"], theirs)


def test_what_the_user_defines_keeps_its_steps(tmp_path: Path) -> None:
    shape, split, perm, result = MOVES["PixelShuffle"]
    path = write(tmp_path, model(*triple(split, perm, result), {"x": shape}, 17))
    x = normal(*shape)
    graph = load_onnx(path, Request(definitions=parse_definitions("Transpose(x) = 2 * x")))
    wanted = (2 * np.maximum(x, 0)).reshape(result)
    np.testing.assert_array_equal(evaluate_graph(graph, {"x": x})["y"], wanted)
    definition = parse_definitions("DepthToSpace(x) = 3 * x")  # which the file does not hold
    assert len(load_onnx(path, Request(definitions=definition)).nodes) == 4


def test_sizes_that_are_no_integers_are_refused(tmp_path: Path) -> None:
    shape, split, perm, result = MOVES["PixelShuffle"]
    nodes, inits = triple(split, perm, result)
    inits["split"] = np.array([1, np.nan, 2, 2, 4, 5], np.float32)
    path = write(tmp_path, model(nodes, inits, {"x": shape}, 17))
    with pytest.raises(ShadergenError, match="must be a list of integers"):
        load_onnx(path, Request())


G = 2  # groups of channels
MAP = (1, 6, 4, 5)


def groups(split: Sequence[int], result: Sequence[int] | None = MAP) -> tuple[Any, Any]:
    """Return the nodes of a GroupNorm; ``result`` None takes the shape of the input."""
    nodes = [
        node("Relu", outputs=("r",)),
        node("Reshape", "r", "split", outputs=("a",)),
        node("InstanceNormalization", "a", "scale", "bias", outputs=("b",), epsilon=1e-3),
        node("Reshape", "b", "whole", outputs=("c",)),
        node("Mul", "c", "weight"),
    ]
    inits = {
        "split": np.array(split),
        "scale": np.float32([1, 2]),
        "bias": np.float32([0, -1]),
        "weight": normal(6, 1, 1),
    }
    if result is None:
        nodes.insert(3, node("Shape", "r", outputs=("whole",)))
    else:
        inits["whole"] = np.array(result)
    return nodes, inits


@pytest.mark.parametrize("opset", [9, 17, 20])
@pytest.mark.parametrize("split", [(0, G, -1), (1, G, -1), (1, G, 60)])
@pytest.mark.parametrize("result", [MAP, (1, 6, -1, 5), (0, 6, 4, -1), None])
def test_a_group_norm_is_one_layer_that_agrees(
    tmp_path: Path, split: Any, result: Any, opset: int
) -> None:
    compare(tmp_path, *groups(split, result), opset, MAP)
    assert "GroupNormalization" in ops(tmp_path / "model.onnx")


@pytest.mark.parametrize("result", [MAP, None])
def test_a_group_norm_can_be_read_at_a_larger_size(tmp_path: Path, result: Any) -> None:
    path = write(tmp_path, model(*groups((0, G, -1), result), {"x": MAP}, 17))
    larger = (1, 6, 8, 15)
    graph = larger_graph(path, Options(), "x", larger, larger[2:])
    proto = model(*groups((0, G, -1), larger), {"x": larger}, 17)
    x = normal(*larger)
    theirs = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(evaluate_graph(graph, {"x": x})["y"], theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "split", "result"),
    [
        ((2, 6, 4, 5), (1, 2 * G, -1), (2, 6, 4, 5)),  # groups of both entries of the batch
        (MAP, (1, 4, 30), MAP),  # 6 channels do not divide into 4 groups
        (MAP, (1, G, -1), (1, 6, 5, 4)),  # another shape
        (MAP, (1, G, -1), (1, 3, 8, 5)),
        ((1, 4, 8, 8), (0, G, -1), (0, 0, -1, 8)),  # 0 is the number of groups, not of channels
        ((1, 4, 8), (0, G, -1), (0, 0, -1)),
    ],
)
def test_what_only_resembles_a_group_norm_keeps_its_steps(
    tmp_path: Path, shape: Any, split: Any, result: Any
) -> None:
    nodes, inits = groups(split, result)
    inits |= {"scale": normal(split[1]), "bias": normal(split[1]), "weight": np.float32([2])}
    compare(tmp_path, nodes, inits, 17, shape)
    assert "GroupNormalization" not in ops(tmp_path / "model.onnx")


def test_a_shape_of_something_else_is_not_the_inputs(tmp_path: Path) -> None:
    nodes, inits = groups((0, G, -1), None)
    nodes[3] = node("Shape", "other", outputs=("whole",))
    inits |= {"other": np.zeros((1, 3, 8, 5), np.float32), "weight": np.float32([2])}
    compare(tmp_path, nodes, inits, 17, MAP)
    assert "GroupNormalization" not in ops(tmp_path / "model.onnx")


def test_verify_falls_back_where_the_file_holds_numbers_for_its_own_size(
    shadergen: Any, tmp_path: Path
) -> None:
    nodes, inits = groups((0, G, -1))
    path = write(tmp_path, model(nodes, inits, {"x": MAP}, 17))
    ran = shadergen("verify", path, "--input-size", "8x15")
    assert ran.code == 0, ran.err
    assert "onnxruntime cannot run the model at this size" in ran.out
    assert "matches numpy" in ran.out
