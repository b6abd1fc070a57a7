"""Small ONNX models for tests, and the comparison with ONNX Runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from shadergen.compiler.frontends import Request, load
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.compiler.judging import HUGE
from shadergen.errors import ShadergenError
from shadergen.ir.reference import evaluate_graph

if TYPE_CHECKING:
    from pathlib import Path

X = (2, 3, 7, 6)
Inits = dict[str, Any]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def node(op: str, *inputs: str, outputs: tuple[str, ...] = ("y",), **attributes: Any) -> Any:
    return helper.make_node(op, list(inputs or ("x",)), list(outputs), **attributes)


def model(
    nodes: Any,
    inits: Inits,
    inputs: dict[str, tuple[int, ...]],
    opset: int,
    outputs: tuple[str, ...] = ("y",),
) -> Any:
    graph = helper.make_graph(
        nodes if isinstance(nodes, list) else [nodes],
        "g",
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in inputs.items()],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in inits.items()],
    )
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=min(10, 3 + opset // 2))


def compare(
    tmp_path: Path,
    nodes: Any,
    inits: Inits | None = None,
    opset: int = 17,
    shape: tuple[int, ...] = X,
    x: np.ndarray | None = None,
    **more: Any,
) -> None:
    """Assert that the imported graph and ONNX Runtime agree."""
    x = normal(*shape) if x is None else x
    feeds = {"x": x, **more.pop("feeds", {})}
    proto = model(nodes, inits or {}, {k: v.shape for k, v in feeds.items()}, opset, **more)
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    graph = load_onnx(path, Request())
    ours = evaluate_graph(graph, feeds)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(proto.SerializeToString(), options)
    for output, theirs in zip(graph.outputs, session.run(None, feeds), strict=True):
        assert output.value.shape == theirs.shape
        size = np.abs(theirs)
        scale = max(1.0, float(size[size < HUGE].max(initial=0)))
        np.testing.assert_allclose(ours[output.name], theirs, atol=2e-6 * scale, rtol=1e-5)


def typed_model(
    nodes: Any, inits: Inits, feeds: Inits, outputs: dict[str, Any], opset: int = 21
) -> Any:
    """Return a model whose inputs have the types of ``feeds`` and whose outputs those named."""

    def declared(name: str, dtype: Any, shape: Any) -> Any:
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        nodes if isinstance(nodes, list) else [nodes],
        "g",
        [declared(k, v.dtype, v.shape) for k, v in feeds.items()],
        [declared(k, t, None) for k, t in outputs.items()],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in inits.items()],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=min(10, 3 + opset // 2))


def compare_typed(
    tmp_path: Path,
    nodes: Any,
    inits: Inits,
    feeds: Inits,
    outputs: dict[str, Any],
    opset: int = 21,
    steps: int = 0,
) -> None:
    """Assert that the graph and ONNX Runtime agree, in types too, integers up to ``steps``."""
    proto = typed_model(nodes, inits, feeds, outputs, opset)
    graph = load_onnx(write(tmp_path, proto), Request())
    ours = evaluate_graph(graph, feeds)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options)
    for output, theirs in zip(graph.outputs, session.run(None, feeds), strict=True):
        found = ours[output.name]
        assert output.value.shape == found.shape == theirs.shape
        if theirs.dtype.kind == "f":
            scale = np.abs(theirs).max(initial=1.0, where=np.isfinite(theirs))
            np.testing.assert_allclose(found, theirs, atol=2e-6 * scale, rtol=1e-5)
        else:
            assert output.value.type.dtype == found.dtype == theirs.dtype
            difference = np.abs(found.astype(np.int64) - theirs.astype(np.int64))
            assert difference.max(initial=0) <= steps


SMALL = (1, 3, 6, 5)


def write(tmp_path: Path, proto: Any) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def small(nodes: Any, inits: dict[str, Any] | None = None, opset: int = 17, **more: Any) -> Any:
    return model(nodes, inits or {}, {"x": SMALL}, opset, **more)


def refusal(path: Path, request: Request | None = None) -> str:
    """Return the text of the error that a file is refused with, its own name left out."""
    with pytest.raises(ShadergenError) as caught:
        load(path, request or Request())
    return caught.value.render().replace(str(path), "model.onnx")


CONV = node("Conv", "x", "w", name="first")
WEIGHTS = {"w": normal(4, 3, 3, 3, seed=1)}
