"""QONNX's quantisers, against their definitions written out in numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import helper
from support.onnx_models import model, node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path

ROUNDED: dict[str, Any] = {
    "ROUND": np.round,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": np.trunc,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - 0.5),
}
X = np.concatenate([np.arange(-40, 40) / 8, normal(80) * 3]).astype(np.float32).reshape(4, 40)


def quantised(made: Any, inits: dict[str, Any], domain: str = "qonnx.custom_op.general") -> Any:
    made.domain = domain
    proto = model(made, inits, {"x": X.shape}, 17)
    proto.opset_import.append(helper.make_opsetid(domain, 1))
    return proto


def computed(tmp_path: Path, proto: Any) -> np.ndarray:
    return evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": X})["y"]


def floats(**values: Any) -> dict[str, np.ndarray]:
    return {name: np.asarray(value, np.float32) for name, value in values.items()}


@pytest.mark.parametrize("mode", ROUNDED)
@pytest.mark.parametrize(
    ("signed", "narrow", "bits", "low", "high"),
    [(1, 0, 4, -8, 7), (1, 1, 4, -7, 7), (0, 0, 3, 0, 7), (0, 1, 3, 0, 6), (1, 0, 2, -2, 1)],
)
def test_quant_clamps_rounds_and_scales(
    tmp_path: Path, mode: str, signed: int, narrow: int, bits: int, low: int, high: int
) -> None:
    made = node(
        "Quant", "x", "s", "z", "b", signed=signed, narrow=narrow, rounding_mode=mode.lower()
    )
    scale = np.array([[0.25], [0.5], [1.0], [2.0]], np.float32)
    inits = {**floats(z=1, b=bits), "s": scale}
    wanted = (ROUNDED[mode](np.clip(X / scale + 1, low, high)) - 1) * scale
    np.testing.assert_allclose(computed(tmp_path, quantised(made, inits)), wanted, atol=1e-6)


def test_one_signed_bit_is_a_sign(tmp_path: Path) -> None:
    made = node("IntQuant", "x", "s", "z", "b", signed=1, narrow=1)
    got = computed(tmp_path, quantised(made, floats(s=0.5, z=0, b=1)))
    np.testing.assert_array_equal(got, np.where(X >= 0, 0.5, -0.5))


def test_a_bipolar_quantiser_gives_the_scale_its_sign(tmp_path: Path) -> None:
    got = computed(tmp_path, quantised(node("BipolarQuant", "x", "s"), floats(s=0.75)))
    np.testing.assert_array_equal(got, np.where(X >= 0, 0.75, -0.75).astype("f4"))


@pytest.mark.parametrize("mode", ["FLOOR", "ROUND", "CEIL"])
def test_trunc_drops_low_bits(tmp_path: Path, mode: str) -> None:
    made = node("Trunc", "x", "s", "z", "i", "o", rounding_mode=mode)
    got = computed(tmp_path, quantised(made, floats(s=0.25, z=0, i=8, o=6)))
    wanted = ROUNDED[mode](np.round(X / np.float32(0.25)) / 4) * 0.25
    np.testing.assert_allclose(got, wanted, atol=1e-6)


@pytest.mark.parametrize("domain", ["onnx.brevitas", "finn.custom_op.general"])
def test_older_names_of_the_domain_mean_the_same(tmp_path: Path, domain: str) -> None:
    made = node("BipolarQuant", "x", "s")
    got = computed(tmp_path, quantised(made, floats(s=1), domain))
    np.testing.assert_array_equal(got, np.where(X >= 0, 1, -1))


@pytest.mark.parametrize("bits", [[4, 5], 2.5, 0, 32])
def test_a_bit_width_that_is_not_one_integer_is_refused(tmp_path: Path, bits: Any) -> None:
    proto = quantised(node("Quant", "x", "s", "z", "b"), floats(s=1, z=0, b=bits))
    assert "bit width" in refusal(write(tmp_path, proto))


def test_an_unknown_rounding_is_refused(tmp_path: Path) -> None:
    made = node("Quant", "x", "s", "z", "b", rounding_mode="STOCHASTIC")
    assert "rounding_mode" in refusal(write(tmp_path, quantised(made, floats(s=1, z=0, b=4))))


def test_quantisers_of_floats_are_refused_by_name(tmp_path: Path) -> None:
    proto = quantised(node("FloatQuant", "x", "s"), floats(s=1))
    text = refusal(write(tmp_path, proto))
    assert "operator qonnx.custom_op.general::FloatQuant is not implemented" in text
