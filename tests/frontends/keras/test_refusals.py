"""Keras models that are refused, and how."""

from __future__ import annotations

import zipfile

import h5py
import numpy as np
import pytest
from support.keras_reading import (
    altered,
    conv,
    refusal,
)

from shadergen.compiler.frontends import Request, load


def test_a_layer_that_is_not_implemented(tmp_path):
    def change(config):
        conv(config).update(class_name="StringLookup", config={"name": "feature"})

    error = refusal(altered(tmp_path, change))
    assert error.code == "SG0201"
    assert error.what == "layer class StringLookup is not implemented"
    assert error.where[-1] == "layer 'feature' (StringLookup)"
    assert "Conv2D" in error.supported


def test_a_layer_that_keras_does_not_have(tmp_path):
    error = refusal(altered(tmp_path, lambda c: conv(c).update(class_name="Conv2d")))
    assert error.code == "SG0203"
    assert "did you mean 'Conv2D'?" in error.help


def test_a_function_that_is_not_implemented(tmp_path):
    def change(config):
        config["config"]["layers"][-1]["config"]["function"] = "nn.dilation2d"

    error = refusal(altered(tmp_path, change))
    assert (error.code, error.what) == ("SG0201", "operation tf.nn.dilation2d is not implemented")
    assert "tf.nn.depth_to_space" in error.supported


@pytest.mark.parametrize(
    ("entries", "code", "what", "supported"),
    [
        ({"padding": "causal"}, "SG0202", "padding='causal' is not implemented", "valid, same"),
        ({"activation": "mine"}, "SG0203", "activation 'mine' has no definition", "relu"),
        ({"dtype": {"class_name": "QuantizedDTypePolicy"}}, "SG0202", "dtype=", "DTypePolicy"),
        ({"kernel_size": [3]}, "SG0105", "'kernel_size' must be two integers", ""),
        ({"kernel_size": [3, True]}, "SG0105", "'kernel_size' must be two integers", ""),
        ({"filters": None}, "SG0105", "'filters' must be an integer", ""),
        ({"strides": 0}, "SG0105", "'strides' must be two integers", ""),
        ({"data_format": "sideways"}, "SG0105", "'data_format' must be", ""),
        ({"groups": 3}, "SG0105", "'groups' must be a divisor", ""),
        ({"filters": 6}, "SG0106", "weight 'feature/kernel:0' has shape (3, 3, 2, 5)", ""),
        ({"use_bias": False}, "SG0106", "the layer needs 1 weight, the file has 2", ""),
        ({"kernel_size": 10**12}, "SG0105", "'kernel_size' must be two integers", ""),
    ],
)
def test_a_configuration_that_does_not_fit(tmp_path, entries, code, what, supported):
    error = refusal(altered(tmp_path, lambda c: conv(c)["config"].update(entries)))
    assert error.code == code
    assert error.what.startswith(what)
    assert "layer 'feature' (Conv2D)" in error.where
    assert supported in error.supported


def test_an_argument_that_is_not_implemented(tmp_path):
    def change(config):
        config["config"]["layers"][-1]["inbound_nodes"][0][3]["data_format"] = "NCHW_VECT_C"

    error = refusal(altered(tmp_path, change))
    assert (error.code, error.what) == ("SG0202", "data_format='NCHW_VECT_C' is not implemented")
    assert error.where[-1] == "layer 'tf.nn.depth_to_space' (tf.nn.depth_to_space)"


def test_an_argument_that_nobody_reads_is_refused(tmp_path):
    def change(config):
        config["config"]["layers"][-1]["inbound_nodes"][0][3]["surprise"] = 1

    assert refusal(altered(tmp_path, change)).what == "surprise=1 is not implemented"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda c: c["config"].update(layers=[]), "the model has no layers"),
        (lambda c: c["config"]["layers"].append(conv(c)), "two layers are called 'feature'"),
        (
            lambda c: conv(c).update(inbound_nodes=[[["nowhere", 0, 0, {}]]]),
            "it reads the result of",
        ),
        (lambda c: conv(c).update(inbound_nodes=[[["shuffle", 0, 0, {}]]]), "the layer depends on"),
        (lambda c: conv(c).update(inbound_nodes=[[["image", 0, 3, {}]]]), "the model reads result"),
        (
            lambda c: conv(c).update(inbound_nodes=[[["image", 7, 0, {}]]]),
            "the model reads result 0 of call 7 of layer 'image', which does not exist",
        ),
        (lambda c: conv(c).update(inbound_nodes=5), "'inbound_nodes' is not a list"),
        (lambda c: conv(c).update(name=None, config={}), "a layer of class 'Conv2D' has no name"),
        (lambda c: c["config"].update(output_layers=[["nowhere", 0, 0]]), "it reads the result of"),
        (lambda c: c["config"].update(output_layers=[]), "the model has no inputs or no outputs"),
        (
            lambda c: c["config"].update(input_layers=[["feature", 0, 0]]),
            "layer 'feature' (Conv2D)",
        ),
        (lambda c: c.pop("class_name"), "the configuration does not name the model's class"),
    ],
)
def test_a_model_that_contradicts_itself(tmp_path, change, what):
    error = refusal(altered(tmp_path, change))
    assert error.code == "SG0105"
    assert error.what.startswith(what)


def test_a_subclassed_model_has_no_architecture(tmp_path):
    path = altered(tmp_path, lambda c: c.update(class_name="Mine", config={"units": 3}))
    error = refusal(path)
    assert error.code == "SG0104"
    assert "Functional" in error.help


def test_an_input_type_that_is_not_implemented(tmp_path):
    path = altered(tmp_path, lambda c: c["config"]["layers"][0]["config"].update(dtype="string"))
    assert refusal(path).code == "SG0206"


def test_weights_without_architecture_say_what_to_do(tmp_path, keras):
    old = tmp_path / "old.h5"
    with h5py.File(old, "w") as file:
        file.attrs["layer_names"] = ["conv"]
    model = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.Conv2D(2, 1)])
    model.save_weights(tmp_path / "new.weights.h5")
    for path in (old, tmp_path / "new.weights.h5"):
        error = refusal(path)
        assert error.code == "SG0104"
        assert "save_weights()" in error.why
        assert "model.save(" in error.help


def test_files_that_are_no_models(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x"] = np.zeros(3)
    assert refusal(tmp_path / "data.h5").code == "SG0102"
    with zipfile.ZipFile(tmp_path / "data.keras", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    assert refusal(tmp_path / "data.keras").code == "SG0102"
    (tmp_path / "text.h5").write_text("not a model at all")
    assert refusal(tmp_path / "text.h5").code == "SG0102"
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "saved_model.pb").touch()
    error = refusal(saved)
    assert error.code == "SG0102"
    assert "SavedModel" in error.what and "tf2onnx.convert --saved-model 'saved'" in error.help


def test_keras_1_is_refused(tmp_path):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        file.attrs["keras_version"] = "1.2.0"
    assert refusal(path).what == "the model was saved by Keras 1.2.0"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite(tmp_path, value):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        file["model_weights/shuffle/shuffle/bias:0"][2] = value
    error = refusal(path)
    assert (error.code, error.what) == ("SG0106", "weight 'shuffle/bias:0' is not finite")
    assert error.where[-1] == "layer 'shuffle' (Conv2D)"
    assert error.why == "1 of 4 numbers are NaN or infinite"


def test_a_weight_that_is_missing(tmp_path):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        del file["model_weights/shuffle/shuffle/bias:0"]
    error = refusal(path)
    assert (error.code, error.what) == ("SG0106", "weight 'shuffle/bias:0' is missing")


def test_long_lists_of_names_come_in_parts(tmp_path):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        group = file["model_weights/shuffle"]
        names = list(group.attrs["weight_names"])
        del group.attrs["weight_names"]
        for k, name in enumerate(names):
            group.attrs[f"weight_names{k}"] = [name]
    assert len(load(path, Request()).constants) == 4


def test_a_file_of_keras_1_names_the_version_that_reads_it(tmp_path):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        file.attrs["keras_version"] = "1.2.2"
    error = refusal(path)
    assert error.code == "SG0102"
    assert "keras==2.3.1" in error.help
