"""Tensors without elements: known when compiling, whatever they are cut from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from support.onnx_models import (
    compare,
    compare_typed,
    model,
    node,
    normal,
    refusal,
    typed_model,
    write,
)

from shadergen.compiler import onnx_backend

if TYPE_CHECKING:
    from pathlib import Path

F = np.float32
SHAPE = (2, 3)
NOTHING: dict[str, Any] = {"s": np.array([0]), "e": np.array([0]), "a": np.array([1])}
CUT = node("Slice", "x", "s", "e", "a", outputs=("z",))
NO_ROWS = {"i": np.zeros((0, 1), np.int64), "u": np.zeros((0, 3), F)}
CASES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "concatenated": ([CUT, node("Concat", "z", "x", "z", axis=1)], {}),
    "among several": ([CUT, node("Concat", "x", "z", "x", axis=-1)], {}),
    "an initialiser": ([node("Concat", "x", "k", axis=0)], {"k": np.zeros((0, 3), F)}),
    "computed with": (
        [CUT, node("Mul", "z", "c", outputs=("w",)), node("Concat", "w", "x", axis=1)],
        {"c": np.ones((2, 1), F)},
    ),
    "parts of a Split": (
        [
            node("Split", "x", "n", outputs=("p", "q", "r"), axis=1),
            node("Concat", "r", "q", "p", axis=1),
        ],
        {"n": np.array([0, 3, 0])},
    ),
    "parts of a sequence": (
        [
            node("SplitToSequence", "x", "n", outputs=("p",), axis=1),
            node("ConcatFromSequence", "p", axis=1),
        ],
        {"n": np.array([0, 3, 0])},
    ),
    "counted": (
        [
            CUT,
            node("SplitToSequence", "z", "n", outputs=("p",), axis=1),
            node("SequenceLength", "p", outputs=("l",)),
            node("Cast", "l", outputs=("f",), to=1),
            node("Add", "x", "f"),
        ],
        {"n": np.array([0, 0, 0])},
    ),
    "summed": ([CUT, node("ReduceSum", "z", "a", keepdims=0)], {}),
    "padded": ([CUT, node("Pad", "z", "p")], {"p": np.array([0, 1, 0, 2])}),
    "gathered": (
        [node("Gather", "x", "i", outputs=("w",), axis=1), node("Concat", "x", "w", axis=1)],
        {"i": np.zeros(0, np.int64)},
    ),
    "no updates": ([node("ScatterND", "x", "i", "u")], NO_ROWS),
    "no updated elements": (
        [node("ScatterElements", "x", "i", "u")],
        {"i": np.zeros((0, 3), np.int64), "u": np.zeros((0, 3), F)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_operators_on_empty_tensors_agree(tmp_path: Path, case: str) -> None:
    nodes, inits = CASES[case]
    compare(tmp_path, nodes, {**NOTHING, **inits}, 17, SHAPE)


def test_an_empty_tensor_keeps_its_type(tmp_path: Path) -> None:
    nodes = [CUT, node("Concat", "z", "x", axis=1)]
    feeds = {"x": np.arange(6, dtype=np.int64).reshape(SHAPE)}
    compare_typed(tmp_path, nodes, NOTHING, feeds, {"y": np.int64}, 17)


@pytest.mark.gl
def test_concatenating_with_nothing_runs() -> None:
    x = normal(*SHAPE)
    proto = model(CASES["among several"][0], NOTHING, {"x": SHAPE}, 17)
    (y,) = onnx_backend.run_model(proto, [x])
    np.testing.assert_array_equal(y, np.concatenate([x, x], axis=1))


def test_an_output_without_elements_is_refused(tmp_path: Path) -> None:
    proto = typed_model(node("Slice", "x", "s", "e", "a"), NOTHING, {"x": normal(*SHAPE)}, {"y": F})
    text = refusal(write(tmp_path, proto))
    assert "error[SG0206]: output 'y' is empty" in text
