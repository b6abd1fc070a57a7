"""LSTM, GRU and RNN against ONNX Runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from support.onnx_models import compare, model, node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx_proto
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path

T, B, F, H = 5, 3, 4, 2  # steps, batch, features, units
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
RESULTS = {"LSTM": ("y", "h", "c"), "GRU": ("y", "h"), "RNN": ("y", "h")}
DIRECTIONS = ("forward", "reverse", "bidirectional")


def operands(op: str, directions: int, optional: str) -> tuple[list[str], dict[str, Any]]:
    """Return the inputs of a node and its weights; ``optional`` has b, s, h, c, p."""
    n, seed = GATES[op] * H, 1
    shapes: dict[str, tuple[int, ...]] = {"w": (n, F), "r": (n, H), "b": (2 * n,)}
    shapes |= {"h0": (B, H), "c0": (B, H), "p": (3 * H,)}
    inits: dict[str, Any] = {}
    names = ["x", "w", "r", "b", "s", "h0", *(["c0", "p"] if op == "LSTM" else [])]
    for k, name in enumerate(names):
        if name[0] not in "xwr" + optional:
            names[k] = ""
        elif name == "s":
            inits["s"] = np.array([2, 5, 3], np.int32)
        elif name != "x":
            inits[name] = normal(directions, *shapes[name], seed=seed + k) * np.float32(0.7)
    return names, inits


def check(tmp_path: Path, op: str, optional: str = "bhc", opset: int = 14, **more: Any) -> None:
    directions = 2 if more.get("direction") == "bidirectional" else 1
    names, inits = operands(op, directions, optional)
    n = node(op, *names, outputs=RESULTS[op], hidden_size=H, **more)
    compare(tmp_path, n, inits, opset, shape=(T, B, F), outputs=RESULTS[op])


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("optional", ["", "b", "bhc", "bshc"])
@pytest.mark.parametrize("opset", [7, 14])
def test_a_layer_agrees(tmp_path: Path, op: str, direction: str, optional: str, opset: int) -> None:
    check(tmp_path, op, optional, opset, direction=direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("optional", ["b", "bs"])
def test_resetting_after_the_product_agrees(tmp_path: Path, direction: str, optional: str) -> None:
    check(tmp_path, "GRU", optional, linear_before_reset=1, direction=direction)


@pytest.mark.parametrize("optional", ["bp", "bshcp"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_peepholes_agree(tmp_path: Path, optional: str, direction: str) -> None:
    check(tmp_path, "LSTM", optional, direction=direction)


def test_coupled_gates_agree(tmp_path: Path) -> None:
    check(tmp_path, "LSTM", "bhc", input_forget=1)


ACTIVATIONS = {
    "Affine": {"activation_alpha": [0.5], "activation_beta": [0.3]},
    "Elu": {"activation_alpha": [0.7]},
    "HardSigmoid": {"activation_alpha": [0.4], "activation_beta": [0.6]},
    "LeakyRelu": {"activation_alpha": [0.3]},
    "Relu": {},
    "ScaledTanh": {"activation_alpha": [0.7], "activation_beta": [0.4]},
    "Sigmoid": {},
    "Softplus": {},
    "Softsign": {},
    "Tanh": {},
    "ThresholdedRelu": {"activation_alpha": [0.2]},
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_agrees(tmp_path: Path, name: str) -> None:
    check(tmp_path, "RNN", activations=[name], **ACTIVATIONS[name])


@pytest.mark.parametrize("name", ["LeakyRelu", "HardSigmoid", "Elu"])
def test_an_activation_has_the_operators_defaults(tmp_path: Path, name: str) -> None:
    check(tmp_path, "RNN", activations=[name])


def test_parameters_are_handed_out_in_order(tmp_path: Path) -> None:
    names = ["HardSigmoid", "LeakyRelu", "Tanh", "HardSigmoid", "Tanh", "Elu"]
    more = {"activation_alpha": [0.3, 0.1, 0.4, 0.6], "activation_beta": [0.45, 0.55]}
    check(tmp_path, "LSTM", direction="bidirectional", activations=names, **more)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_clipping_agrees(tmp_path: Path, op: str, direction: str) -> None:
    check(tmp_path, op, "bh", clip=0.4, direction=direction)


@pytest.mark.parametrize("op", GATES)
def test_a_batch_may_come_first(op: str) -> None:
    names, inits = operands(op, 2, "bh")
    x = normal(T, B, F)
    more = {"hidden_size": H, "direction": "bidirectional"}
    n = node(op, *names, outputs=RESULTS[op], **more)
    proto = model(n, inits, {"x": x.shape}, 14, outputs=RESULTS[op])
    expected = evaluate_graph(load_onnx_proto(proto, Request()), {"x": x})
    inits["h0"] = inits["h0"].transpose(1, 0, 2)
    n = node(op, *names, outputs=RESULTS[op], layout=1, **more)
    x = x.transpose(1, 0, 2)
    proto = model(n, inits, {"x": x.shape}, 14, outputs=RESULTS[op])
    found = evaluate_graph(load_onnx_proto(proto, Request()), {"x": x})
    np.testing.assert_allclose(found["y"], expected["y"].transpose(2, 0, 1, 3))
    for state in RESULTS[op][1:]:
        np.testing.assert_allclose(found[state], expected[state].transpose(1, 0, 2))


def test_lengths_may_be_computed(tmp_path: Path) -> None:
    names, inits = operands("GRU", 1, "b")
    names[4] = "lengths"
    nodes = [
        node("ReduceSum", "m", "axes", outputs=("s",), keepdims=0),
        node("Cast", "s", outputs=("lengths",), to=6),
        node("GRU", *names[:5], hidden_size=H),
    ]
    m = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]], np.float32)
    inits["axes"] = np.array([1])
    compare(tmp_path, nodes, inits, 14, shape=(T, B, F), feeds={"m": m})


def test_an_unknown_activation_is_refused_by_name(tmp_path: Path) -> None:
    names, inits = operands("RNN", 1, "")
    n = node("RNN", *names[:3], activations=["Tanhh"], hidden_size=H)
    text = refusal(write(tmp_path, model(n, inits, {"x": (T, B, F)}, 14)))
    assert "activation 'Tanhh' is not implemented" in text
    assert "did you mean 'Tanh'?" in text
