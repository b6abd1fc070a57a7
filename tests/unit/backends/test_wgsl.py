"""Builds of WGSL: what naga says of their shaders, and what they compute on software Vulkan."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from support.kernel_programs import TARGETS
from support.onnx_models import node, normal, typed_model
from support.runtime_models import MODELS
from support.webgpu import context as context_of

from shadergen.backends.writer import write_build
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.options import Options
from shadergen.runtime_glue.python import load
from shadergen.runtime_glue.python.webgpu import Runner

DEVICES = {"highp": "webgpu", "mediump": "webgpu-f16"}
# Of the largest number of a result; in 16 bits for networks of a few layers.
TOLERANCES = {"highp": 1e-4, "mediump": 2e-2}


@pytest.fixture(scope="module")
def context() -> Any:
    return context_of()


@cache
def model(name: str) -> tuple[Any, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return a model as bytes, its inputs, and what ONNX Runtime makes of them."""
    made = MODELS[name]()
    proto = typed_model(made.nodes, made.weights, made.feeds, made.outputs, opset=20)
    session = ort.InferenceSession(proto.SerializeToString())
    outputs = dict(zip(made.outputs, session.run(None, made.feeds), strict=True))
    return proto, made.feeds, outputs


def test_vectors_and_numbers_meet_in_bits(context, tmp_path):
    """IsInf clears the sign of four floats at once: WGSL has no & of a vector and a number."""
    options = Options(device="webgpu")
    x = np.array([[1.0, np.inf, -np.inf, np.nan, 0.0]], np.float32)
    proto = typed_model([node("IsInf", "x")], {}, {"x": x}, {"y": np.bool_}, opset=20)
    _, files, _ = compile_graph(import_model(proto, options), options)
    write_build(files, tmp_path / "build")
    with Runner(load(tmp_path / "build"), context) as runner:
        runner.upload("x", x)
        runner.run()
        np.testing.assert_array_equal(runner.read("y"), np.isinf(x))


def test_no_dispatch_reads_the_texture_that_it_stores_to(context, tmp_path):
    """In a dense block, each layer reads all before it, whose planes could share a texture."""
    x = normal(1, 8, 6, 7)
    nodes, weights, joined = [], {}, "x"
    for i in range(3):
        weights[f"w{i}"] = normal(8, 8 * (i + 1), 3, 3, seed=i) / 8
        nodes.append(node("Conv", joined, f"w{i}", outputs=(f"c{i}",), pads=[1] * 4))
        nodes.append(node("Concat", joined, f"c{i}", outputs=(f"j{i}",), axis=1))
        joined = f"j{i}"
    nodes.append(node("Relu", joined))
    proto = typed_model(nodes, weights, {"x": x}, {"y": np.float32}, opset=20)
    expected = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    options = Options(device="webgpu", stage="compute", textures="array")
    _, files, _ = compile_graph(import_model(proto, options), options)
    for p in files.schedule["passes"]:
        assert not {r["texture"] for r in p["reads"]} & {w["texture"] for w in p["writes"]}
    write_build(files, tmp_path / "build")
    with Runner(load(tmp_path / "build"), context) as runner:
        runner.upload("x", x)
        runner.run()
        np.testing.assert_allclose(runner.read("y"), expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("precision", DEVICES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_builds_compute_what_onnx_runtime_does(context, name, target, precision, tmp_path):
    proto, feeds, outputs = model(name)
    chosen = {k: v for k, v in TARGETS[target].items() if k not in ("device", "glsl")}
    options = Options(device=DEVICES[precision], precision=precision, **chosen)
    _, files, _ = compile_graph(import_model(proto, options), options)
    sixteen = any("enable f16;" in text for text in files.shaders.values())
    assert files.schedule["requires"]["wgsl"] == ("f16" if sixteen else "core")
    assert sixteen <= (precision == "mediump")
    write_build(files, tmp_path / "build")
    with Runner(load(tmp_path / "build"), context) as runner:
        for name, array in feeds.items():
            runner.upload(name, array)
        runner.run()
        for name, expected in outputs.items():
            bound = TOLERANCES[precision] * max(1.0, float(np.abs(expected).max()))
            found = runner.read(name)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
