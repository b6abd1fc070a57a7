"""Flags and numbers of Keras layers, in all the ways that files write them."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
from support.keras_reading import assert_close, run

from shadergen.compiler.frontends import Request, load
from shadergen.errors import ShadergenError

NUMPY = {"class_name": "__numpy__", "config": {"value": 2, "dtype": "int64"}}
OLD = {"type": "ndarray", "value": 0.25}


def rewritten(path, changes):
    """Change entries of layers in an .h5 file."""
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        for entry in config["config"]["layers"]:
            entry["config"].update(changes.get(entry["class_name"], {}))
        file.attrs["model_config"] = json.dumps(config)


@pytest.fixture
def model(keras, tmp_path):
    """A network with flags of both values, its file, and what it makes of an input."""
    layers = keras.layers
    net = keras.Sequential(
        [
            keras.Input((8, 8, 2)),
            layers.Conv2D(4, 3, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(scale=False),
            layers.LeakyReLU(negative_slope=0.25),
            layers.GlobalAveragePooling2D(keepdims=True),
            layers.Reshape((2, 2)),
            layers.LSTM(3, return_sequences=True, go_backwards=True),
        ]
    )
    rng = np.random.default_rng(0)
    for weight in net.weights:
        weight.assign(rng.uniform(0.3, 0.9, weight.shape).astype("f4"))
    path = tmp_path / "m.h5"
    net.save(path)
    x = rng.uniform(-1, 1, (1, 8, 8, 2)).astype("f4")
    return path, x, np.asarray(keras.ops.convert_to_numpy(net(x)))


@pytest.mark.parametrize(
    "changes",
    [
        {"Conv2D": {"use_bias": 0}, "BatchNormalization": {"scale": 0, "center": 1}},
        {"BatchNormalization": {"scale": None}, "Conv2D": {"use_bias": None}},
        {"BatchNormalization": {"scale": 0.0, "center": 1.0}},
        {"GlobalAveragePooling2D": {"keepdims": 1}},
        {"LSTM": {"return_sequences": 1, "go_backwards": 1, "stateful": 0, "return_state": 0}},
        {"Conv2D": {"filters": 4.0, "strides": [2.0, 2.0], "groups": 1.0}},
        {"Conv2D": {"strides": NUMPY, "groups": True}},
        {"Conv2D": {"strides": {"class_name": "__tuple__", "items": [2, NUMPY]}}},
        {"BatchNormalization": {"axis": [3.0]}, "Reshape": {"target_shape": [2.0, -1.0]}},
        {"LeakyReLU": {"negative_slope": OLD}},
        {"LSTM": {"use_bias": {"class_name": "__numpy__", "config": {"value": True}}}},
    ],
)
def test_attributes_are_read_as_keras_means_them(model, changes):
    path, x, wanted = model
    rewritten(path, changes)
    assert_close(run(path, [x]), [wanted])


@pytest.mark.parametrize("value", ["yes", 2, [1], {"class_name": "__numpy__"}, 0.5])
def test_what_is_no_truth_value_is_refused(model, value):
    path, *_ = model
    rewritten(path, {"BatchNormalization": {"center": value}})
    with pytest.raises(ShadergenError, match="'center' must be true or false, or 1 or 0"):
        load(path, Request())
