"""What the ONNX frontend accepts besides operators, and how it refuses everything else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnxruntime")

import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from support import SHARED_MODELS
from support.onnx_models import CONV, WEIGHTS, node, normal, refusal, small, write

from shadergen.compiler.frontends import Request, load
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse_definitions
from shadergen.ir.ops import Conv
from shadergen.ir.reference import evaluate_graph


def agrees(path: Path, request: Request | None = None) -> None:
    """Assert that a model with one input agrees with ONNX Runtime."""
    graph = load(path, request or Request())
    feeds = {i.name: normal(*i.shape) for i in graph.inputs}
    ours = evaluate_graph(graph, feeds)
    theirs = ort.InferenceSession(str(path)).run(None, feeds)
    for output, expected in zip(graph.outputs, theirs, strict=True):
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(ours[output.name], expected, atol=1e-5 * scale)


@pytest.mark.third_party
@pytest.mark.parametrize("name", ["qonnx_espcn_x3.onnx", "acnet_gan_x2.onnx"])
def test_a_trained_upscaler_agrees(name: str) -> None:
    path = SHARED_MODELS / name
    if not path.exists():
        pytest.skip(f"{name} is not beside this checkout")
    agrees(path, Request(sizes={"": (24, 32)} if name.startswith("acnet") else {}))


@pytest.mark.third_party
def test_a_trained_classifier_agrees() -> None:
    path = SHARED_MODELS / "cntk_mnist.onnx"
    if not path.exists():
        pytest.skip("cntk_mnist.onnx is not beside this checkout")
    agrees(path)


@pytest.mark.filterwarnings("ignore")
def test_a_network_exported_by_torch_agrees(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 5, padding=2),
        torch.nn.Tanh(),
        torch.nn.ReflectionPad2d(1),
        torch.nn.Conv2d(8, 9, 3),
        torch.nn.PixelShuffle(3),
        torch.nn.Upsample(scale_factor=2),
    )
    path = tmp_path / "model.onnx"
    example = torch.zeros(1, 1, 8, 9)
    options = {"dynamic_axes": {"x": {2: "h", 3: "w"}}, "input_names": ["x"], "dynamo": False}
    torch.onnx.export(net, (example,), str(path), opset_version=13, **options)
    agrees(path, Request(sizes={"": (10, 7)}))


def test_nodes_keep_their_names_and_values_theirs(tmp_path: Path) -> None:
    nodes = [CONV, node("Relu", "y", outputs=("z",))]
    graph = load_onnx(write(tmp_path, small(nodes, WEIGHTS, outputs=("z",))), Request())
    conv, relu = graph.nodes
    assert isinstance(conv.op, Conv)
    assert (conv.layers, relu.layers) == (("first",), ("z",))
    assert graph.constants[0].name == "w"
    assert [o.name for o in graph.outputs] == ["z"]


def test_what_no_output_needs_is_not_imported(tmp_path: Path) -> None:
    nodes = [node("MaxPool", "x", outputs=("m",), kernel_shape=[2, 2]), node("Relu")]
    assert len(load_onnx(write(tmp_path, small(nodes)), Request()).nodes) == 1


def test_initialisers_may_be_listed_as_inputs(tmp_path: Path) -> None:
    proto = small(CONV, WEIGHTS, 8)
    proto.ir_version = 3
    proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, (4, 3, 3, 3)))
    assert [i.name for i in load_onnx(write(tmp_path, proto), Request()).inputs] == ["x"]


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.DOUBLE])
def test_inputs_of_other_precision_are_computed_as_float32(tmp_path: Path, kind: int) -> None:
    numpy_kind = helper.tensor_dtype_to_np_dtype(kind)
    proto = small(CONV, {"w": WEIGHTS["w"].astype(numpy_kind)})
    proto.graph.input[0].type.tensor_type.elem_type = kind
    graph = load_onnx(write(tmp_path, proto), Request())
    assert graph.inputs[0].type.dtype == graph.constants[0].type.dtype == "float32"


def test_a_tensor_may_be_stored_element_by_element(tmp_path: Path) -> None:
    kinds = {"a": TensorProto.FLOAT, "b": TensorProto.FLOAT16, "c": TensorProto.DOUBLE}
    values = [0.5, -1.25, 3.0, 2.0, 7.0]
    proto = small([node("Cast", k, outputs=(f"{k}f",), to=1) for k in kinds], {})
    proto.graph.node.append(node("Sum", "x", *(f"{k}f" for k in kinds)))
    for name, kind in kinds.items():
        proto.graph.initializer.append(helper.make_tensor(name, kind, [5], values))
    agrees(write(tmp_path, proto))


def test_a_bfloat16_weight_is_converted(tmp_path: Path) -> None:
    raw = np.array([0x3FC0, 0xC000, 0x3F80, 0, 0x4120], "<u2").tobytes()  # 1.5 -2 1 0 10
    proto = small(node("Add", "x", "b"))
    bias = TensorProto(name="b", data_type=TensorProto.BFLOAT16, dims=[5], raw_data=raw)
    proto.graph.initializer.append(bias)
    (constant,) = load_onnx(write(tmp_path, proto), Request()).constants
    assert constant.data.tolist() == [1.5, -2.0, 1.0, 0.0, 10.0]


def dynamic(shape: list[Any] | None) -> Any:
    proto = small(node("Relu"))
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    proto.graph.input[0].CopyFrom(info)
    return proto


@pytest.mark.parametrize(
    ("shape", "sizes", "result"),
    [
        (["n", 3, "h", "w"], {"": (4, 5)}, (1, 3, 4, 5)),
        ([None, 3, None, 5], {"x": (4, 5)}, (1, 3, 4, 5)),
        ([-1, 3, 4, 5], {}, (1, 3, 4, 5)),
        (["n", "l", 7], {"x": (2, 9, 7)}, (2, 9, 7)),
        (None, {"": (1, 3, 4, 5)}, (1, 3, 4, 5)),
        (None, {"x": (3, 8)}, (3, 8)),
    ],
    ids=str,
)
def test_dynamic_sizes_come_from_the_request(
    tmp_path: Path, shape: Any, sizes: dict[str, tuple[int, ...]], result: tuple[int, ...]
) -> None:
    graph = load_onnx(write(tmp_path, dynamic(shape)), Request(sizes=sizes))
    assert graph.outputs[0].value.shape == result


@pytest.mark.parametrize("shape", [["n", 3, "h", "w"], ["a", "b"], None], ids=str)
def test_a_dynamic_size_that_nobody_gives_is_refused(tmp_path: Path, shape: Any) -> None:
    text = refusal(write(tmp_path, dynamic(shape)))
    assert text.startswith("error[SG0204]") and "--input-size" in text


def test_a_definition_stands_in_for_an_operator(tmp_path: Path) -> None:
    definitions = parse_definitions(
        """
        "my.domain::Twist"(x, w, gain=2) = gain * tanh(x) + w
        Upscale(x, block) = depth_to_space(relu(x), block=block)
        """
    )
    nodes = [
        node("Twist", "x", "b", outputs=("m",), domain="my.domain", gain=0.5),
        node("Upscale", "m", domain="other", block=2),
    ]
    proto = small(nodes, {"b": np.ones((4, 1, 1), np.float32)})
    proto.graph.input[0].CopyFrom(
        helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 2, 2))
    )
    graph = load_onnx(write(tmp_path, proto), Request(definitions=definitions))
    x = normal(1, 4, 2, 2)
    expected = np.maximum(0.5 * np.tanh(x) + 1, 0).reshape(1, 1, 2, 2, 2, 2)
    expected = expected.transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 4, 4)
    np.testing.assert_allclose(evaluate_graph(graph, {"x": x})["y"], expected, rtol=1e-6)


# External data


def external(tmp_path: Path, location: str = "weights.bin", **entries: Any) -> Path:
    (tmp_path / "model").mkdir(exist_ok=True)
    proto = small(CONV, WEIGHTS)
    tensor = proto.graph.initializer[0]
    data = b"skip" * 4 + tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": location, "offset": 16, "length": len(data) - 16, **entries}
    for key, value in entries.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    (tmp_path / "model" / "weights.bin").write_bytes(data)
    (tmp_path / "outside.bin").write_bytes(data)
    return write(tmp_path / "model", proto)


@pytest.mark.parametrize("length", [432, None])
def test_external_data_is_mapped(tmp_path: Path, length: int | None) -> None:
    path = external(tmp_path, length=length)
    (constant,) = load_onnx(path, Request()).constants
    assert np.array_equal(constant.data, WEIGHTS["w"])
    assert isinstance(constant.data.base, np.memmap) or isinstance(constant.data, np.memmap)
    agrees(path)


@pytest.mark.parametrize(
    ("location", "entries", "code"),
    [
        ("../outside.bin", {}, "SG0107"),
        ("/etc/passwd", {}, "SG0107"),
        ("link.bin", {}, "SG0107"),
        ("missing.bin", {}, "SG0107"),
        ("", {}, "SG0107"),
        ("a\0b", {}, "SG0107"),
        ("x" * 5000, {}, "SG0107"),
        ("weights.bin", {"offset": 17}, "SG0107"),
        ("weights.bin", {"offset": -4}, "SG0107"),
        ("weights.bin", {"offset": 10**30}, "SG0107"),
        ("weights.bin", {"length": 16}, "SG0106"),
        ("weights.bin", {"length": "many"}, "SG0105"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_external_data_elsewhere_or_too_short_is_refused(
    tmp_path: Path, location: str, entries: dict[str, Any], code: str
) -> None:
    path = external(tmp_path, location, **entries)
    os.symlink(tmp_path / "outside.bin", tmp_path / "model" / "link.bin")
    text = refusal(path)
    assert text.startswith(f"error[{code}]")
    assert "node first (Conv)" in text


# Hostile input


def _rich() -> bytes:
    """Return a model that touches most of the importer."""
    zeros = numpy_helper.from_array(np.zeros(1, np.int64))
    nodes = [
        CONV,
        node("Clip", "y", "low", "", outputs=("a",)),
        node("ConstantOfShape", "four", outputs=("z",), value=zeros),
        node("Concat", "z", "pads", outputs=("p",), axis=0),
        node("Pad", "a", "p", outputs=("b",), mode="reflect"),
        node("DepthToSpace", "b", outputs=("c",), blocksize=2, mode="CRD"),
        node("Shape", "c", outputs=("s",)),
        node("Mul", "s", "double", outputs=("t",)),
        node("Resize", "c", "", "", "t", outputs=("d",), nearest_mode="floor"),
        node("Slice", "d", "one", "end", "one", outputs=("e",)),
        node("ConvTranspose", "d", "v", outputs=("f",), strides=[2, 2], auto_pad="SAME_UPPER"),
        node("Greater", "f", "low", outputs=("g",)),
        node("Where", "g", "f", "low", outputs=("h",)),
    ]
    inits = {
        **WEIGHTS,
        "v": normal(1, 1, 3, 3),
        "low": np.float32(-0.5),
        "four": np.array([4]),
        "pads": np.array([0, 0, 1, 1]),
        "double": np.array([1, 1, 2, 2]),
        "one": np.array([-1]),
        "end": np.array([2**62]),
    }
    proto = small(nodes, inits, outputs=("h", "e"))
    data: bytes = proto.SerializeToString()
    return data


RICH = _rich()


def test_the_model_that_is_damaged_below_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(RICH)
    agrees(path)


@settings(max_examples=600, deadline=None, database=None, derandomize=True)
@given(
    cut=st.one_of(st.none(), st.integers(0, len(RICH))),
    edits=st.lists(st.tuples(st.integers(0, len(RICH) - 1), st.binary(max_size=4)), max_size=4),
)
def test_a_damaged_model_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, cut: int | None, edits: list[tuple[int, bytes]]
) -> None:
    data = bytearray(RICH)
    for at, new in edits:
        data[at : at + max(len(new), 1)] = new
    path = tmp_path_factory.getbasetemp() / "damaged.onnx"
    path.write_bytes(bytes(data[:cut]))
    try:
        load_onnx(path, Request())
    except ShadergenError as error:
        assert error.code.startswith(("SG01", "SG02", "SG03", "SG04"))


def test_onnx_agrees_that_the_latest_operator_set_is_the_latest() -> None:
    from shadergen.compiler.frontends.onnx.read.model import LATEST_OPSET

    assert onnx.defs.onnx_opset_version() <= LATEST_OPSET, "read what is new, then raise it"
