"""Keras models read by the frontend: run, compared with Keras, altered, refused."""

from __future__ import annotations

import json
import os
import shutil

import h5py
import numpy as np
import pytest

from shadergen.compiler.frontends import Request, load
from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse_definitions
from shadergen.ir.reference import evaluate_graph
from support import KERAS_FIXTURES as FIXTURES

SHUFFLE = {"up": 'up(x) = depth_to_space(x, block=2, order="dcr")'}


def defined(*lines):
    return parse_definitions("\n".join(lines))


def run(path, inputs, **request):
    """Load a model and run it in float64; arrays in the model's own axis order."""
    graph = load(path, Request(**request))
    feed = {
        i.name: x.transpose(np.argsort(i.port.axes))
        for i, x in zip(graph.inputs, inputs, strict=True)
    }
    results = evaluate_graph(graph, feed)
    return [results[o.name].transpose(o.port.axes) for o in graph.outputs]


def assert_close(got, wanted, tolerance=1e-5):
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted, strict=True):
        assert g.shape == w.shape
        assert np.abs(g - w).max() <= tolerance * max(1, np.abs(w).max())


def refusal(path, **request):
    """Return the error that loading raises."""
    with pytest.raises(ShadergenError) as caught:
        load(path, Request(**request))
    return caught.value


@pytest.fixture(scope="module")
def keras():
    """Keras, without its random initial weights: JAX compiles a program for each shape of those."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    module = pytest.importorskip("keras")
    with pytest.MonkeyPatch.context() as patch:
        initial = module.initializers
        patch.setattr(initial.GlorotUniform, "__call__", initial.Zeros.__call__)
        yield module


def config_of(path):
    with h5py.File(path) as file:
        return json.loads(file.attrs["model_config"])


def altered(tmp_path, change, name="espcn.h5"):
    """Copy a fixture with its configuration changed in place."""
    config = config_of(FIXTURES / name)
    change(config)
    path = tmp_path / name
    shutil.copy(FIXTURES / name, path)
    path.chmod(0o644)
    with h5py.File(path, "r+") as file:
        file.attrs["model_config"] = json.dumps(config)
    return path


def conv(config):
    return next(entry for entry in config["config"]["layers"] if entry["class_name"] == "Conv2D")
