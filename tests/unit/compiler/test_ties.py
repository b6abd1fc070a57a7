"""Indices that differ from the reference's only in ties, and those that differ in more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from support import image
from support.onnx_models import node, normal, typed_model, write

from shadergen.compiler import verification
from shadergen.compiler.options import Options
from shadergen.compiler.ties import find_pick
from shadergen.compiler.verification import verify_model
from shadergen.ir.graph import apply
from shadergen.ir.ops import ArgMax, Expand, Pad, Tile, Trilu

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shadergen.compiler.verification import Report

SHAPE = (1, 4, 40, 25)
TIED = {"w": normal(1, 4, 3, 3), "third": normal(1, 4, 3, 3) / 3, "k": np.array([2])}
BEHIND = {
    "argmax": [node("ArgMax", "s", axis=1, keepdims=0)],
    "argmin": [
        node("Neg", "s", outputs=("n",)),
        node("ArgMin", "n", outputs=("i",), axis=1),
        node("Cast", "i", outputs=("c",), to=6),
        node("Transpose", "c", perm=[0, 2, 3, 1]),
    ],
    "topk": [node("TopK", "s", "k", outputs=("v", "y"), axis=1)],
}


def nearly_equal(nodes: list[Any]) -> Any:
    """Return a model that compares two convolutions, equal but for rounding."""
    same = [
        node("Conv", "x", "w", outputs=("a",)),
        node("Add", "x", "x", outputs=("two",)),
        node("Add", "two", "x", outputs=("three",)),
        node("Conv", "three", "third", outputs=("b",)),
        node("Concat", "a", "b", outputs=("s",), axis=1, name="scores"),
    ]
    dtype = np.int32 if len(nodes) > 1 else np.int64
    inits = TIED if nodes[-1].op_type == "TopK" else {n: TIED[n] for n in ("w", "third")}
    return typed_model([*same, *nodes], inits, {"x": normal(*SHAPE)}, {"y": dtype})


def altered(monkeypatch: pytest.MonkeyPatch, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Have builds give other outputs than they do."""
    run = verification.run_build

    def changed(*arguments: Any) -> Any:
        outputs, renderer = run(*arguments)
        return {name: change(array) for name, array in outputs.items()}, renderer

    monkeypatch.setattr(verification, "run_build", changed)


def verified(tmp_path: Path, nodes: list[Any]) -> Report:
    return verify_model(write(tmp_path, nearly_equal(nodes)), Options(), reference="onnxruntime")


@pytest.mark.gl
@pytest.mark.parametrize("kind", BEHIND)
def test_indices_that_differ_only_in_ties_pass(tmp_path: Path, kind: str) -> None:
    report = verified(tmp_path, BEHIND[kind])
    assert report.outputs[0].differing > 0
    assert report.outputs[0].tied
    assert report.ok
    said = f"output 'y': {report.outputs[0].differing:,} of "
    assert report.note.startswith(said)
    assert report.note.endswith(" indices differ, but only where scores are equal within 0.0001")


@pytest.mark.gl
def test_one_choice_twice_is_no_tie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    altered(monkeypatch, lambda y: np.zeros_like(y))
    report = verified(tmp_path, BEHIND["topk"])
    assert not report.ok


@pytest.mark.gl
def test_indices_of_other_scores_fail_with_the_scores_to_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [
        node("Conv", "x", "w", outputs=("s",), name="scores"),
        node("ArgMax", "s", axis=1, keepdims=0),
    ]
    proto = typed_model(nodes, {"w": normal(5, 4, 1, 1)}, {"x": normal(*SHAPE)}, {"y": np.int64})
    assert verify_model(write(tmp_path, proto), Options()).note == ""
    altered(monkeypatch, lambda y: (y + 1) % 5)
    report = verify_model(write(tmp_path, proto), Options(precision="mediump"))
    assert not report.ok
    assert report.note.startswith("output 'y': 1,000 of 1,000 indices differ; near-equal scores")
    assert report.note.endswith("; compare the values before this output: --outputs scores")


@pytest.mark.gl
def test_other_integers_that_differ_name_what_they_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [
        node("Mul", "x", "x", outputs=("square",)),
        node("Floor", "square", outputs=("whole",)),
        node("Cast", "whole", to=7),
    ]
    proto = typed_model(nodes, {}, {"x": normal(*SHAPE)}, {"y": np.int64})
    altered(monkeypatch, lambda y: y + (y == y.flat[0]))
    report = verify_model(write(tmp_path, proto), Options())
    assert not report.ok
    assert "integers differ; rounding can decide" in report.note
    assert report.note.endswith("; compare the values before this output: --outputs whole")


def test_indices_are_followed_through_any_movement_but_not_into_what_it_fills() -> None:
    found = apply(ArgMax((1,)), image(1, 4, 2, 3))
    pick = find_pick(apply(Tile((1, 2, 1, 1)), apply(Expand((2, 1, 2, 3)), found)))
    assert pick is not None
    np.testing.assert_array_equal(pick.row, np.arange(6).reshape(2, 3) + np.zeros((2, 2, 1, 1)))
    assert find_pick(apply(Pad((0, 0, 0, 1), (0,) * 4, "edge"), found)) is not None
    for op in (Pad((0, 0, 0, 1), (0,) * 4, value=1.0), Trilu()):
        assert find_pick(apply(op, found)) is None
