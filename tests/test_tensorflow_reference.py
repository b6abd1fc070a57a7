"""Verifying against TensorFlow in an interpreter that the environment names."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from shadergen.compiler.frontends import Request, load
from shadergen.compiler.references import choose_reference
from shadergen.compiler.tensorflow_reference import VARIABLE
from shadergen.errors import ShadergenError

FIXTURES = Path(__file__).parent / "fixtures" / "keras"
FAKE = """
import numpy as np

class keras:
    class models:
        @staticmethod
        def load_model(path, custom_objects, compile):
            if "broken" in path:
                raise OSError("no such layer")
            return lambda x, training: [np.maximum(x, 0)]

class nest:
    flatten = list
"""


def saved(path, kind="TFOpLambda"):
    """Write a model of a class that Keras 3 does not know: the rectifier as a function."""
    layers = [
        ("InputLayer", "in", {"batch_input_shape": [None, 4]}, []),
        (kind, "relu", {"function": "nn.relu"}, [["in", 0, 0, {}]]),
    ]
    config = {
        "name": "m",
        "layers": [
            {"class_name": c, "name": n, "config": {"name": n, **e}, "inbound_nodes": nodes}
            for c, n, e, nodes in layers
        ],
        "input_layers": [["in", 0, 0]],
        "output_layers": [["relu", 0, 0]],
    }
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["model_config"] = json.dumps({"class_name": "Functional", "config": config})
        file.create_group("model_weights")
    return path


@pytest.fixture
def tensorflow(tmp_path, monkeypatch):
    """An interpreter whose TensorFlow knows one function."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "tensorflow.py").write_text(FAKE)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}/lib" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(python))


def chosen(path, wanted="auto"):
    pytest.importorskip("keras")
    return choose_reference(path, load(path, Request()), wanted, Request())


def test_tensorflow_runs_what_keras_3_cannot_load(tmp_path, tensorflow):
    reference, note = chosen(saved(tmp_path / "m.h5"))
    assert reference.name == "tensorflow"
    assert note.startswith("keras cannot run this model: ")
    x = np.array([[-1.0, 2.0, -3.0, 4.0]], np.float32)
    assert reference.run({"in": x})["relu"].tolist() == [[0, 2, 0, 4]]


def test_without_tensorflow_the_note_says_how_to_get_the_check(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    reference, note = chosen(saved(tmp_path / "m.h5"))
    assert reference.name == "numpy"
    assert f"set {VARIABLE} to a Python that has TensorFlow 2.15" in note


def test_what_tensorflow_cannot_load_falls_back_to_numpy(tmp_path, tensorflow):
    reference, note = chosen(saved(tmp_path / "broken.h5"))
    assert reference.name == "numpy"
    assert note.endswith("tensorflow cannot run this model: OSError: no such layer")


def test_a_lambda_layer_is_not_run_by_tensorflow_either(tmp_path, tensorflow):
    path = saved(tmp_path / "m.h5")
    graph = load(path, Request())
    saved(path, "Lambda")
    reference, note = choose_reference(path, graph, "auto", Request())
    assert reference.name == "numpy"
    assert note.endswith("it would run the Python code of a Lambda layer in the file")


def test_tensorflow_can_be_asked_for_and_must_be_there(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ShadergenError, match="the reference tensorflow cannot run") as caught:
        chosen(saved(tmp_path / "m.h5"), "tensorflow")
    assert caught.value.code == "SG0702"
    assert VARIABLE in caught.value.why


@pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} is not set")
def test_the_real_tensorflow_agrees_with_what_is_read():
    path = FIXTURES / "operations.h5"
    graph = load(path, Request())
    reference, _ = choose_reference(path, graph, "tensorflow", Request())
    rng = np.random.default_rng(0)
    inputs = {
        i.name: rng.random([i.shape[a] for a in i.port.axes], np.float32) for i in graph.inputs
    }
    numpy, _ = choose_reference(path, graph, "numpy", Request())
    wanted = numpy.run(inputs)
    for name, got in reference.run(inputs).items():
        np.testing.assert_allclose(got, wanted[name], atol=1e-4)
