"""Normalisations of ONNX and of com.microsoft, against ONNX Runtime or definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx.reference import ReferenceEvaluator
from support.onnx_models import X, compare, model, node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path

ROWS = (2, 5, 12)
Attributes = dict[str, Any]


def computed(tmp_path: Path, nodes: Any, opset: int, x: np.ndarray, **inits: Any) -> Any:
    """Return what the imported graph gives."""
    path = write(tmp_path, model(nodes, inits, {"x": x.shape}, opset))
    return evaluate_graph(load_onnx(path, Request()), {"x": x})["y"]


def per_channel(count: int = 3, channels: int = 3) -> dict[str, np.ndarray]:
    return {name: normal(channels, seed=k) for k, name in enumerate("sbmv"[:count], 1)}


@pytest.mark.parametrize("shape", [X, (2, 3, 5), (1, 3, 2, 3, 4)], ids=str)
@pytest.mark.parametrize("opset", [7, 22])
def test_instance_normalization_agrees(tmp_path: Path, shape: tuple[int, ...], opset: int) -> None:
    norm = node("InstanceNormalization", "x", "s", "b", epsilon=1e-2)
    compare(tmp_path, norm, per_channel(2), opset, shape)


def test_instance_normalization_takes_computed_parameters(tmp_path: Path) -> None:
    norm = node("InstanceNormalization", "x", "s", "b")
    compare(tmp_path, norm, {}, 13, feeds=per_channel(2))


@pytest.mark.parametrize("parameters", ["known", "computed"])
def test_group_normalization_agrees(tmp_path: Path, parameters: str) -> None:
    given = {"s": normal(6, seed=1), "b": normal(6, seed=2)}
    norm = node("GroupNormalization", "x", "s", "b", num_groups=3, epsilon=1e-2)
    inits, feeds = (given, {}) if parameters == "known" else ({}, given)
    compare(tmp_path, norm, inits, 21, (2, 6, 4, 5), feeds=feeds)


@pytest.mark.parametrize("parameters", ["known", "computed"])
def test_group_normalization_had_parameters_of_groups(tmp_path: Path, parameters: str) -> None:
    given = {"s": normal(3, seed=1), "b": normal(3, seed=2)}
    norm = node("GroupNormalization", "x", "s", "b", num_groups=3)
    inits, feeds = (given, {}) if parameters == "known" else ({}, given)
    compare(tmp_path, norm, inits, 18, (2, 6, 4, 5), feeds=feeds)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("bias", [False, True])
def test_layer_normalization_agrees(tmp_path: Path, axis: int, bias: bool) -> None:
    inits = {"s": normal(*ROWS[axis:], seed=1)} | (
        {"b": normal(*ROWS[axis:], seed=2)} if bias else {}
    )
    norm = node("LayerNormalization", "x", *inits, axis=axis, epsilon=1e-2, stash_type=1)
    compare(tmp_path, norm, inits, 17, ROWS)


@pytest.mark.parametrize("names", [("y", "m", "d"), ("y", "m"), ("y", "", "d")], ids=str)
def test_the_statistics_of_layer_normalization_agree(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    norm = node("LayerNormalization", "x", "s", outputs=names, axis=1)
    inits = {"s": normal(*ROWS[1:], seed=1)}
    compare(tmp_path, norm, inits, 17, ROWS, outputs=tuple(filter(None, names)))


@pytest.mark.parametrize("axis", [1, -1])
def test_rms_normalization_agrees(tmp_path: Path, axis: int) -> None:
    inits = {"s": normal(*ROWS[axis:], seed=1)}
    norm = node("RMSNormalization", "x", "s", axis=axis, epsilon=1e-2)
    x = normal(*ROWS)
    want = ReferenceEvaluator(model(norm, inits, {"x": ROWS}, 23)).run(None, {"x": x})[0]
    np.testing.assert_allclose(computed(tmp_path, norm, 23, x, **inits), want, atol=1e-6)


def test_simplified_layer_normalization_agrees(tmp_path: Path) -> None:
    norm = node("SimplifiedLayerNormalization", "x", "s", outputs=("y", "d"), axis=-1)
    compare(tmp_path, norm, {"s": normal(12, seed=1)}, 17, ROWS, outputs=("y", "d"))


@pytest.mark.parametrize("size", [1, 3, 5])
@pytest.mark.parametrize("opset", [7, 13])
def test_lrn_agrees(tmp_path: Path, size: int, opset: int) -> None:
    norm = node("LRN", size=size, alpha=0.5, beta=0.6, bias=2.0)
    compare(tmp_path, norm, opset=opset, shape=(2, 7, 4, 5))


def test_lrn_has_defaults(tmp_path: Path) -> None:
    compare(tmp_path, node("LRN", size=5), opset=13, x=normal(1, 7, 4, 5) * 100)


def test_an_even_lrn_agrees(tmp_path: Path) -> None:
    x = normal(1, 4, 3, 3)
    norm = node("LRN", size=4, alpha=1.0)
    near = np.stack([np.sum(x[:, max(c - 1, 0) : c + 3] ** 2, 1) for c in range(4)], 1)
    got = computed(tmp_path, norm, 13, x)
    np.testing.assert_allclose(got, x / (1 + near / 4) ** 0.75, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization_agrees(tmp_path: Path, axis: int, p: int) -> None:
    compare(tmp_path, node("LpNormalization", axis=axis, p=p), opset=13)


def test_what_has_no_norm_stays_zero(tmp_path: Path) -> None:
    x = np.zeros((2, 3), np.float32)
    x[1] = 3, 0, -4
    got = computed(tmp_path, node("LpNormalization"), 22, x)
    np.testing.assert_allclose(got, [[0, 0, 0], [0.6, 0, -0.8]], rtol=1e-6)


@pytest.mark.parametrize("axes", [None, [0, 2, 3], [1], [-1, -2]], ids=str)
def test_mean_variance_normalization_agrees(tmp_path: Path, axes: list[int] | None) -> None:
    attributes = {} if axes is None else {"axes": axes}
    compare(tmp_path, node("MeanVarianceNormalization", **attributes), opset=13)


@pytest.mark.parametrize("across_channels", [0, 1])
@pytest.mark.parametrize("normalize_variance", [0, 1])
def test_mean_variance_normalization_had_other_attributes(
    tmp_path: Path, across_channels: int, normalize_variance: int
) -> None:
    x = normal(*X) * 3 + 1
    norm = node(
        "MeanVarianceNormalization",
        across_channels=across_channels,
        normalize_variance=normalize_variance,
    )
    axes = (1, 2, 3) if across_channels else (2, 3)
    want = x - x.mean(axes, keepdims=True)
    want = want / x.std(axes, keepdims=True) if normalize_variance else want
    np.testing.assert_allclose(computed(tmp_path, norm, 7, x), want, atol=1e-5)


@pytest.mark.parametrize("shape", [X, (4, 3)], ids=str)
def test_batch_normalization_takes_computed_parameters(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    feeds = per_channel(4)
    feeds["v"] = np.abs(feeds["v"])
    compare(tmp_path, node("BatchNormalization", "x", *"sbmv"), {}, 15, shape, feeds=feeds)


@pytest.mark.parametrize("shape", [X, (4, 3), (2, 3, 5)], ids=str)
@pytest.mark.parametrize("results", [1, 3])
def test_batch_normalization_in_training_agrees(
    tmp_path: Path, shape: tuple[int, ...], results: int
) -> None:
    inits = per_channel(4)
    inits["v"] = np.abs(inits["v"])
    names = ("y", "rm", "rv")[:results]
    norm = node("BatchNormalization", "x", *"sbmv", outputs=names, training_mode=1, momentum=0.7)
    proto = model(norm, inits, {"x": shape}, 15, names)
    x = normal(*shape) * 2 + 1
    got = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": x})
    for name, want in zip(names, ReferenceEvaluator(proto).run(None, {"x": x}), strict=True):
        np.testing.assert_allclose(got[name], want, atol=1e-5)


def test_batch_normalization_had_parameters_of_elements(tmp_path: Path) -> None:
    inits = {k: np.abs(normal(3, 4, 5, seed=i)) + np.float32(0.1) for i, k in enumerate("sbmv")}
    norm = node("BatchNormalization", "x", *"sbmv", spatial=0, epsilon=1e-2)
    compare(tmp_path, norm, inits, 7, (2, 3, 4, 5))


def microsoft(tmp_path: Path, op: str, x: np.ndarray, outputs: int, **given: Any) -> None:
    """Assert that an operator of com.microsoft agrees with ONNX Runtime."""
    attributes = {k: v for k, v in given.items() if not isinstance(v, (np.ndarray, type(None)))}
    inputs = {k: v for k, v in given.items() if k not in attributes}
    names = tuple(f"y{k}" if k in (0, outputs - 1) else "" for k in range(outputs))
    norm = node(
        op,
        "x",
        *(k if v is not None else "" for k, v in inputs.items()),
        outputs=names,
        domain="com.microsoft",
        **attributes,
    )
    inits = {k: v for k, v in inputs.items() if v is not None}
    proto = model(norm, inits, {"x": x.shape}, 17, tuple(filter(None, names)))
    proto.opset_import.add(domain="com.microsoft", version=1)
    import onnxruntime as ort

    want = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    got = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": x})
    for name, expected in zip(filter(None, names), want, strict=True):
        np.testing.assert_allclose(got[name], expected, atol=1e-5)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("outputs", [1, 4])
def test_skip_layer_normalization_agrees(
    tmp_path: Path, bias: bool, shift: bool, outputs: int
) -> None:
    microsoft(
        tmp_path,
        "SkipLayerNormalization",
        normal(*ROWS),
        outputs,
        skip=normal(*ROWS, seed=1),
        gamma=normal(12, seed=2),
        beta=normal(12, seed=3) if shift else None,
        **({"bias": normal(12, seed=4)} if bias else {}),
        epsilon=1e-3,
    )


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("outputs", [1, 4])
def test_skip_simplified_layer_normalization_agrees(
    tmp_path: Path, bias: bool, outputs: int
) -> None:
    microsoft(
        tmp_path,
        "SkipSimplifiedLayerNormalization",
        normal(*ROWS),
        outputs,
        skip=normal(*ROWS, seed=1),
        gamma=normal(12, seed=2),
        **({"bias": normal(12, seed=4)} if bias else {}),
    )


def test_bias_add_is_a_sum(tmp_path: Path) -> None:
    norm = node("BiasAdd", "x", "b", "s", domain="com.microsoft")
    x, b, s = normal(*ROWS), normal(12, seed=1), normal(*ROWS, seed=2)
    proto = model(norm, {"b": b, "s": s}, {"x": ROWS}, 17)
    proto.opset_import.add(domain="com.microsoft", version=1)
    got = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": x})["y"]
    np.testing.assert_allclose(got, x + b + s, atol=1e-6)


REFUSED: dict[str, tuple[Any, int, tuple[int, ...], str]] = {
    "groups": (
        node("GroupNormalization", "x", "s", "b", num_groups=2),
        21,
        X,
        "does not divide into 2 groups",
    ),
    "parameters of groups": (
        node("GroupNormalization", "x", "s", "b", num_groups=1),
        18,
        X,
        "does not fit 1 groups",
    ),
    "scale": (
        node("LayerNormalization", "x", "s"),
        17,
        X,
        "a parameter of shape (3,) does not broadcast to (2, 3, 7, 6)",
    ),
    "order": (node("LpNormalization", p=3), 13, X, "attribute p=3 of LpNormalization"),
    "statistics": (
        node("BatchNormalization", "x", *"sbmv", outputs=("y", "rm")),
        9,
        X,
        "BatchNormalization without training_mode=1 has one output",
    ),
    "of elements": (
        node("BatchNormalization", "x", *"sbmv", spatial=0),
        7,
        X,
        "with spatial=0, parameters of shapes [3], [3], [3], [3] do not fit float32 2x3x7x6",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(tmp_path: Path, case: str) -> None:
    norm, opset, shape, text = REFUSED[case]
    proto = model(norm, per_channel(4), {"x": shape}, opset, tuple(norm.output))
    assert text in refusal(write(tmp_path, proto))
