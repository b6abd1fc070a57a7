"""Whole networks, compiled and run on GL, against Keras and onnxruntime."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import ESPCN, play, third_party

from shadergen.compiler.driver import compile_model
from shadergen.compiler.face import verify
from shadergen.compiler.keywords import make_options

pytestmark = pytest.mark.gl


def as_onnx(path: Path) -> Path:
    """Export the shipped ESPCN to ONNX, from its weights alone."""
    with h5py.File(ESPCN) as file:
        weights: dict[str, np.ndarray] = {}
        file["model_weights"].visititems(
            lambda name, item: (
                weights.update({name: np.array(item)}) if isinstance(item, h5py.Dataset) else None
            )
        )
    nodes, initialisers, x = [], [], "low"
    for layer in ("conv1", "conv2", "conv3"):
        kernel, bias = (
            next(v for k, v in weights.items() if k.startswith(f"{layer}/") and word in k)
            for word in ("kernel", "bias")
        )
        initialisers.append(numpy_helper.from_array(kernel.transpose(3, 2, 0, 1), f"{layer}.w"))
        initialisers.append(numpy_helper.from_array(bias, f"{layer}.b"))
        pads = f"{layer}.pads"
        around = kernel.shape[0] // 2
        initialisers.append(numpy_helper.from_array(np.array([0, 0, around, around] * 2), pads))
        nodes.append(helper.make_node("Pad", [x, pads], [f"{layer}.pad"], mode="edge"))
        operands = [f"{layer}.pad", f"{layer}.w", f"{layer}.b"]
        nodes.append(helper.make_node("Conv", operands, [layer]))
        x = layer
        if layer != "conv3":
            nodes.append(helper.make_node("Tanh", [x], [f"{layer}.tanh"]))
            x = f"{layer}.tanh"
    nodes.append(helper.make_node("DepthToSpace", [x], ["high"], blocksize=2, mode="DCR"))
    graph = helper.make_graph(
        nodes,
        "espcn",
        [helper.make_tensor_value_info("low", TensorProto.FLOAT, [1, 1, "h", "w"])],
        [helper.make_tensor_value_info("high", TensorProto.FLOAT, [1, 1, "H", "W"])],
        initialisers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("precision", ("highp", "mediump"))
@pytest.mark.parametrize("size", ("36x64", "17x23"))
def test_shipped_network_matches_keras(precision, size):
    report = verify(ESPCN, input_size=size, precision=precision)
    assert report.reference == "keras", report.note
    assert report.ok


@pytest.mark.parametrize("precision", ("highp", "mediump"))
def test_shipped_network_as_onnx_matches_onnxruntime(tmp_path, precision):
    model = as_onnx(tmp_path / "espcn.onnx")
    report = verify(model, input_size="36x64", precision=precision)
    assert report.reference == "onnxruntime", report.note
    assert report.ok


def test_keras_and_onnx_forms_of_one_network_become_the_same_passes(tmp_path):
    options = make_options(input_size="36x64")
    keras = compile_model(ESPCN, tmp_path / "a", options)
    other = compile_model(as_onnx(tmp_path / "espcn.onnx"), tmp_path / "b", options)
    work = [
        [(p["kernel"], p["macs"], p["viewport"]) for p in c.files.schedule["passes"]]
        for c in (keras, other)
    ]
    assert work[0] == work[1]


@pytest.mark.third_party
@pytest.mark.parametrize("precision", ("highp", "mediump"))
@pytest.mark.parametrize(
    ("name", "size"),
    (
        ("qonnx_espcn_x3.onnx", None),
        ("acnet_gan_x2.onnx", "30x44"),
        ("nnaa.keras", "31x44"),
        ("cntk_mnist.onnx", None),
        ("fer2013_mini_xception.hdf5", None),
        ("mlperf_tiny_resnet8.h5", None),
    ),
)
def test_third_party_network_matches_its_reference(name, size, precision):
    options = {"input_size": size} if size else {}
    report = verify(third_party(name), precision=precision, **options)
    assert report.reference in ("keras", "onnxruntime"), report.note
    assert report.ok


@pytest.mark.parametrize(
    "preprocess",
    (
        "input=unorm8",
        "scale=255,mean=127.5,std=127.5",
        "order=bgr,scale=255,mean=103.9/116.8/123.7,std=57/58/59,input=unorm8",
    ),
)
@pytest.mark.parametrize("pads", (0, 1))
def test_preprocessing_is_compiled_in_without_a_pass_of_its_own(tmp_path, preprocess, pads):
    rng = np.random.default_rng(0)
    w = numpy_helper.from_array(rng.normal(size=(6, 3, 3, 3)).astype(np.float32) * 0.2, "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[pads] * 4)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 9, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [w],
    )
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    report = verify(path, preprocess=preprocess)
    assert report.reference == "onnxruntime", report.note
    assert report.ok
    assert report.passes == 1


def test_preprocessing_reorders_the_channels_of_a_model_that_keeps_nhwc(tmp_path):
    rng = np.random.default_rng(0)
    w = numpy_helper.from_array(rng.normal(size=(4, 3, 3, 3)).astype(np.float32) * 0.2, "w")
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t", "w"], ["c"]),
        helper.make_node("Transpose", ["c"], ["y"], perm=[0, 2, 3, 1]),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, [1, 6, 7, 3])],
        [info("y", TensorProto.FLOAT, None)],
        [w],
    )
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    compiled = compile_model(path, tmp_path / "b", make_options(preprocess="order=bgr"))
    x = rng.random((1, 6, 7, 3), np.float32)
    session = onnxruntime.InferenceSession(str(path))
    (want,) = session.run(None, {"x": np.ascontiguousarray(x[..., ::-1])})
    got = play(compiled.files, {"x": x})["y"]
    assert len(compiled.files.schedule["passes"]) == 1
    assert np.abs(got - want).max() <= 1e-4


def test_espcn_at_360x640_takes_4_passes_with_mrt_and_10_without_and_shares_textures(tmp_path):
    from shadergen.compiler.inspection import inspect_build

    compile_model(ESPCN, tmp_path / "mrt", make_options(input_size="360x640", mrt=4))
    compile_model(ESPCN, tmp_path / "single", make_options(input_size="360x640", mrt=1))
    mrt, single = inspect_build(tmp_path / "mrt"), inspect_build(tmp_path / "single")
    assert (len(mrt.passes), len(single.passes)) == (4, 10)
    assert mrt.texture_bytes_peak < mrt.texture_bytes_total
