"""Verifying against TensorFlow in an interpreter that the environment names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from support import KERAS_FIXTURES as FIXTURES

from shadergen.compiler import tensorflow_reference
from shadergen.compiler.frontends import Request, load
from shadergen.compiler.references import choose_reference
from shadergen.compiler.tensorflow_classes import check_classes
from shadergen.compiler.tensorflow_reference import VARIABLE, check_file
from shadergen.errors import ShadergenError

FAKE = """
import time
import numpy as np

class Model:
    '''As many results as the file's name says, each its own number of times the rectifier.'''

    def __init__(self, path):
        self.input_names = ["in"]
        self.output_names = path.split("/")[-1].split(".")[0].split("-")
        self.output = None
        self.slow = "slow" in path

    def __call__(self, x, training):
        time.sleep(60 * self.slow)
        return [(k + 1) * np.maximum(x, 0) for k in range(len(self.output_names))]

class keras:
    class models:
        @staticmethod
        def load_model(path, custom_objects, compile, safe_mode):
            if "broken" in path:
                raise OSError("no such layer")
            time.sleep(60 * ("stuck" in path))
            return Model(path)

class nest:
    flatten = list
"""


def saved(path, kind="TFOpLambda", outputs=("relu",), **changed):
    """Write a model of a class that Keras 3 does not know: the rectifier as a function."""
    relu = [(kind, n, {"function": "nn.relu"} | changed, [["in", 0, 0, {}]]) for n in outputs]
    layers = [("InputLayer", "in", {"batch_input_shape": [None, 4]}, []), *relu]
    config = {
        "name": "m",
        "layers": [
            {"class_name": c, "name": n, "config": {"name": n, **e}, "inbound_nodes": nodes}
            for c, n, e, nodes in layers
        ],
        "input_layers": [["in", 0, 0]],
        "output_layers": [[name, 0, 0] for name in outputs],
    }
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["model_config"] = json.dumps({"class_name": "Functional", "config": config})
        file.create_group("model_weights")
    return path


@pytest.fixture
def tensorflow(tmp_path, monkeypatch):
    """An interpreter whose TensorFlow knows one function, as a script."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "tensorflow.py").write_text(FAKE)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}/lib" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(python))
    return python


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


def refused(path, **changed):
    """Return why TensorFlow may not load a file: it changes after it was read here."""
    graph = load(saved(path), Request())
    saved(path, **changed)
    reference, note = choose_reference(path, graph, "auto", Request())
    assert reference.name == "numpy"
    return note.partition("tensorflow cannot run this model: ")[2]


def test_a_lambda_layer_is_not_run_by_tensorflow_either(tmp_path, tensorflow):
    why = refused(tmp_path / "m.h5", kind="Lambda")
    assert why == "it would run the Python code of a Lambda layer in the file"


OBJECT = {"class_name": "Zeros", "config": {}}
FUNCTION_LAYERS = "keras.src.layers.core.tf_op_layer"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"kind": "TFSMLayer"}, "the class 'TFSMLayer'"),
        ({"function": "io.write_file"}, "the function 'io.write_file'"),
        ({"function": "py_function"}, "the function 'py_function'"),
        ({"activation": "get_quantizer('x')"}, "the function \"get_quantizer('x')\""),
        ({"x": OBJECT | {"module": "antigravity"}}, "the module 'antigravity'"),
        ({"x": OBJECT | {"module": "kerassing.x"}}, "the module 'kerassing.x'"),
        ({"x": [{"a": {"class_name": "__lambda__", "config": {}}}]}, "the class '__lambda__'"),
        ({"x": {"class_name": "system", "config": {}}}, "the class 'system'"),
        ({"x": OBJECT | {"registered_name": "mine>Evil"}}, "the class 'mine>Evil'"),
        (
            {"x": {"class_name": "function", "config": "exec", "module": "builtins"}},
            "the function 'exec'",
        ),
        ({"x": {"class_name": ["Zeros"], "config": {}}}, "the class ['Zeros']"),
        ({"x": OBJECT | {"registered_name": "TFOpLambda"}}, "the class 'TFOpLambda'"),
        ({"x": OBJECT | {"registered_name": ""}}, "the class ''"),
        (
            {"x": OBJECT | {"module": FUNCTION_LAYERS}},
            f"the class 'Zeros' of the module '{FUNCTION_LAYERS}'",
        ),
        (
            {"x": {"class_name": "QDense", "config": {"function": "io.write_file"}}},
            "the function 'io.write_file'",
        ),
        (
            {"x": {"class_name": "function", "config": "relu", "registered_name": "exec"}},
            "the function 'exec'",
        ),
    ],
)
def test_nothing_but_what_keras_and_qkeras_have_is_loaded(tmp_path, tensorflow, changed, named):
    why = refused(tmp_path / "m.h5", **changed)
    assert why.startswith(f"it would load {named}, which is not among")


@pytest.mark.parametrize("name", ["nested.keras", "nested.h5", "qkeras.h5", "operations.h5"])
def test_models_of_keras_2_name_nothing_else(name):
    check_file(FIXTURES / name)


def test_the_names_that_keras_gives_one_class_are_allowed():
    function = {"module": FUNCTION_LAYERS, "registered_name": "TFOpLambda"}
    check_classes(function | {"class_name": "TFOpLambda", "config": {"function": "nn.relu"}})
    check_classes(OBJECT | {"module": "keras.initializers", "registered_name": "keras>Zeros"})
    relu = {"class_name": "function", "config": "relu", "module": "builtins"}
    check_classes(relu | {"registered_name": "relu"})


def test_how_a_model_was_trained_does_not_matter():
    adam = {"class_name": "Custom>Adam", "module": "mine", "config": {}}
    check_classes({"class_name": "Sequential", "config": {}, "compile_config": {"optimizer": adam}})


def test_a_file_is_not_checked_as_one_format_and_loaded_as_another(tmp_path):
    path = saved(tmp_path / "m.h5")
    with zipfile.ZipFile(path, "a") as made:
        made.writestr("config.json", "{}")
    path.rename(tmp_path / "m.keras")
    with pytest.raises(ValueError, match=r"rename the file to end in \.h5"):
        check_file(tmp_path / "m.keras")


@pytest.mark.parametrize("name", ["assets/vocabulary.txt", "config.json", "../x"])
def test_an_archive_that_tensorflow_would_unpack_to_disk_is_not_loaded(tmp_path, name):
    path = tmp_path / "m.keras"
    path.write_bytes((FIXTURES / "nested.keras").read_bytes())
    with zipfile.ZipFile(path, "a") as made:
        made.writestr("folder/", b"")
    check_file(path)
    with zipfile.ZipFile(path, "a") as made, warnings.catch_warnings(action="ignore"):
        made.writestr(name, made.read("config.json"))
    with pytest.raises(ValueError, match=f"would unpack '{name}' from the archive to disk"):
        check_file(path)


def running(script):
    """Whether any process was started by a script."""
    commands = (p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if p.exists())
    wanted = [str(tensorflow_reference.RUNNER).encode(), str(script).encode()]
    return any(c.split(b"\0")[1:3] == wanted for c in commands)


def eventually(found, wanted):
    """Whether a function returns what is wanted within 20 seconds."""
    end = time.monotonic() + 20
    while time.monotonic() < end and found() != wanted:
        time.sleep(0.1)
    return found() == wanted


def test_a_model_that_is_not_loaded_in_time_is_given_up(tmp_path, tensorflow, monkeypatch):
    monkeypatch.setattr(tensorflow_reference, "LOADING", 1.0)
    reference, note = chosen(saved(tmp_path / "stuck.h5"))
    assert reference.name == "numpy"
    assert "took more than 1 s to load the model and was stopped; give a smaller" in note
    assert not running(tmp_path / "stuck.h5")


def test_a_run_that_does_not_end_in_time_is_given_up(tmp_path, tensorflow, monkeypatch):
    reference, _ = chosen(saved(tmp_path / "slow.h5"))
    assert running(tmp_path / "slow.h5")
    monkeypatch.setattr(tensorflow_reference, "RUNNING", 1.0)
    with pytest.raises(TimeoutError, match="took more than 1 s to run the model"):
        reference.run({"in": np.zeros((1, 4), np.float32)})
    assert not running(tmp_path / "slow.h5")


def test_what_a_script_starts_ends_with_it(tmp_path, tensorflow, monkeypatch):
    tensorflow.write_text(tensorflow.read_text().replace("exec ", ""))
    monkeypatch.setattr(tensorflow_reference, "LOADING", 1.0)
    chosen(saved(tmp_path / "stuck.h5"))
    assert eventually(lambda: running(tmp_path / "stuck.h5"), False)


def test_what_leaves_the_process_group_is_not_waited_for(tmp_path, tensorflow, monkeypatch):
    """It holds the standard output open."""
    tensorflow.write_text(tensorflow.read_text().replace("\n", "\nsetsid sleep 30 &\n", 1))
    monkeypatch.setattr(tensorflow_reference, "LOADING", 1.0)
    began = time.monotonic()
    reference, note = chosen(saved(tmp_path / "stuck.h5"))
    assert reference.name == "numpy"
    assert "took more than 1 s to load the model" in note
    assert time.monotonic() - began < 25


STARTER = """
import subprocess, sys
subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, start_new_session=True).wait()
"""


@pytest.mark.parametrize("name", ["m.h5", "stuck.h5"])
def test_the_process_ends_with_the_one_that_started_it(tmp_path, tensorflow, name):
    """Whether it waits for inputs or loads the model."""
    path = saved(tmp_path / name)
    command = [sys.executable, "-c", STARTER, tensorflow, tensorflow_reference.RUNNER, path]
    starter = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert eventually(lambda: running(path), True)
    if name == "m.h5":
        assert starter.stdout.readline()
    starter.kill()
    starter.wait()
    assert eventually(lambda: running(path), False)


def test_a_reference_runs_any_number_of_times(tmp_path, tensorflow):
    reference, _ = chosen(saved(tmp_path / "m.h5"))
    for value in (1, -2, 3):
        x = np.full((1, 4), value, np.float32)
        assert reference.run({"in": x})["relu"].tolist() == np.maximum(x, 0).tolist()
    assert not running(tmp_path / "m.h5")


def test_outputs_are_paired_by_name(tmp_path, tensorflow):
    reference, _ = chosen(saved(tmp_path / "b-a.h5", outputs=("a", "b")))
    results = reference.run({"in": np.ones((1, 4), np.float32)})
    assert {name: y[0, 0] for name, y in results.items()} == {"b": 1, "a": 2}


def test_outputs_of_other_names_are_not_paired(tmp_path, tensorflow):
    reference, note = chosen(saved(tmp_path / "a-c.h5", outputs=("a", "b")))
    assert reference.name == "numpy"
    assert note.endswith(
        "the outputs are called a, c in TensorFlow but a, b in the build, so they cannot be matched"
    )


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
