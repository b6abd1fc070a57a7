"""Networks of QKeras, against what QKeras itself computed (files/make_qkeras.py)."""

from __future__ import annotations

import json
import shutil

import h5py
import numpy as np
import pytest
from support.keras_reading import FIXTURES, assert_close, refusal, run

from shadergen.compiler.frontends.keras.layers.qkeras import quantiser
from shadergen.errors import ShadergenError
from shadergen.ir.evaluation import evaluate_formula

STORED = dict(np.load(FIXTURES / "qkeras.npz"))
TEXTS = [name for name in STORED if "(" in name]


def test_a_quantised_network_computes_what_qkeras_does():
    assert_close(run(FIXTURES / "qkeras.h5", [STORED["x"]]), [STORED["y"]], 1e-6)


@pytest.mark.parametrize("text", TEXTS)
def test_a_quantiser_gives_the_numbers_of_qkeras(text):
    expr = quantiser(text, "layer")
    got = np.broadcast_to(evaluate_formula(expr, {"x0": STORED["numbers"]}), STORED[text].shape)
    np.testing.assert_allclose(got, STORED[text], atol=1e-6)


def altered(tmp_path, change):
    """Return the network with each layer's class and configuration as ``change`` leaves them."""
    path = tmp_path / "m.h5"
    shutil.copy(FIXTURES / "qkeras.h5", path)
    path.chmod(0o644)
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        for entry in config["config"]["layers"]:
            change(entry)
        file.attrs["model_config"] = json.dumps(config)
    return path


def with_quantiser(**entries):
    def change(entry):
        if entry["class_name"] == "QDense":
            entry["config"]["kernel_quantizer"]["config"].update(entries)

    return change


@pytest.mark.parametrize(
    ("key", "value"),
    [("alpha", "auto_po2"), ("use_stochastic_rounding", True), ("qnoise_factor", 0.5)],
)
def test_what_is_random_or_finds_its_own_scale_is_refused(tmp_path, key, value):
    error = refusal(altered(tmp_path, with_quantiser(**{key: value})))
    assert error.code == "SG0202"
    assert error.what == f"{key}={value!r} is not implemented"
    assert error.where[-1] == "layer 'last' (QDense), kernel_quantizer, quantized_bits"


def test_a_kernel_without_a_scale_finds_its_own_and_is_refused(tmp_path):
    error = refusal(altered(tmp_path, with_quantiser(alpha=None)))
    assert error.what == "alpha='auto_po2' is not implemented"
    assert "set alpha to a number" in error.help


def test_an_unknown_quantiser_of_weights_is_refused_by_name(tmp_path):
    def change(entry):
        if entry["class_name"] == "QDense":
            entry["config"]["kernel_quantizer"]["class_name"] = "quantized_po2"

    error = refusal(altered(tmp_path, change))
    assert error.what == "quantiser 'quantized_po2' is not implemented"
    assert "ternary" in error.supported


@pytest.mark.parametrize(
    ("name", "code"), [("QConv2DBatchnorm", "SG0203"), ("RandomFourierFeatures", "SG0201")]
)
def test_an_unknown_layer_with_weights_is_not_told_to_be_a_formula(tmp_path, name, code):
    def change(entry):
        if entry["class_name"] == "QDense":
            entry["class_name"] = name

    error = refusal(altered(tmp_path, change))
    assert error.code == code
    assert "--define cannot replace the layer: formulas cannot read a layer's weights" in error.why
    assert "--define" not in error.help


@pytest.mark.parametrize("text", ["quantized_bits(", "quantized_bits(1,2,3,4,5,6)", "binary(x=y)"])
def test_a_malformed_quantiser_is_refused(text):
    with pytest.raises(ShadergenError, match="is not a quantiser"):
        quantiser(text, "layer")


@pytest.mark.parametrize("entry", [None, "relu", 3, {"class_name": 3}, {"config": {}}, []])
def test_what_is_no_quantiser_is_left_to_others(entry):
    assert quantiser(entry, "layer") is None
