"""Programs as WGSL: what wgpu's compiler says of them, and what they compute on Vulkan."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from support.kernel_programs import TARGETS
from support.onnx_models import typed_model
from support.runtime_models import MODELS
from support.wgsl_frames import Frame, device

from shadergen.backends.dialects.wgsl import print_program
from shadergen.backends.kernels import lower
from shadergen.backends.schedule import schedule
from shadergen.compiler.driver import context_for, import_model
from shadergen.compiler.options import Options
from shadergen.passes.pipeline import optimise


@pytest.fixture(scope="module")
def gpu() -> Any:
    found = device()
    if found is None:
        pytest.skip("no WebGPU adapter")
    return found


@cache
def model(name: str) -> tuple[Any, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return a model as bytes, its inputs, and what ONNX Runtime makes of them."""
    made = MODELS[name]()
    proto = typed_model(made.nodes, made.weights, made.feeds, made.outputs, opset=20)
    session = ort.InferenceSession(proto.SerializeToString())
    outputs = dict(zip(made.outputs, session.run(None, made.feeds), strict=True))
    return proto, made.feeds, outputs


# Of the largest number of a result; in 16 bits for networks of a few layers.
TOLERANCES = {"highp": 1e-4, "mediump": 2e-2}


@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_programs_as_wgsl_compute_what_onnx_runtime_does(gpu, name, target, precision):
    """Results of other than four dimensions are compiled, and not compared."""
    f16 = precision == "mediump"
    if f16 and "shader-f16" not in gpu.features:
        pytest.skip("the adapter has no 16-bit floats")
    proto, feeds, outputs = model(name)
    options = Options(**TARGETS[target], fetch="texel", precision=precision)
    graph = import_model(proto, options)
    context = context_for(graph, options)
    graph = optimise(graph, context)
    passes = lower(graph, context.target)
    for gpu_pass in passes:
        code = print_program(gpu_pass.program, f16)
        assert ("enable f16;" in code) == (gpu_pass.program.precision == "mediump")
        gpu.create_shader_module(code=code)
    files = schedule(graph, passes, context.target, "test")
    ports = [*files.schedule["inputs"], *files.schedule["outputs"]]
    textures = {t["name"]: t for t in files.schedule["textures"]}
    if any(
        textures[p["texture"]]["packing"] != "planes" or p["axes"] != [0, 1, 2, 3] for p in ports
    ):
        return
    found = Frame(gpu, files, passes, f16).run(feeds)
    for name, expected in outputs.items():
        bound = TOLERANCES[precision] * max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=bound)
