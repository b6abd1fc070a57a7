"""How the ONNX frontend refuses what it does not implement and what is malformed, by name."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto, ValueInfoProto, helper, numpy_helper
from support.memory import within_bounds
from support.onnx_models import CONV, WEIGHTS, node, normal, refusal, small, write

from shadergen.compiler.definitions import read
from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from pathlib import Path


def initializer(**fields: Any) -> Any:
    """Return a model whose weight has some fields replaced."""
    proto = small(CONV, WEIGHTS)
    tensor = proto.graph.initializer[0]
    for name, value in fields.items():
        tensor.ClearField(name)
        if isinstance(value, list):
            getattr(tensor, name).extend(value)
        else:
            setattr(tensor, name, value)
    return proto


def changed(change: Any, *arguments: Any, **more: Any) -> Any:
    proto = small(*arguments, **more)
    change(proto)
    return proto


def noted_by_pytorch(proto: Any) -> None:
    """Note where a node comes from, as PyTorch's exporter does."""
    for key, value in (
        ("pkg.torch.onnx.class_hierarchy", "['Net', 'Head', 'ReLU', 'aten.relu.default']"),
        ("pkg.torch.onnx.name_scopes", "['', 'head', 'head.act', 'relu']"),
    ):
        proto.graph.node[0].metadata_props.add(key=key, value=value)


NAN = {"w": np.full((4, 3, 3, 3), np.nan, np.float32)}
SPARSE = helper.make_sparse_tensor(
    numpy_helper.from_array(np.float32([1]), "b"), numpy_helper.from_array(np.array([4])), [2, 2]
)
REFUSED: dict[str, tuple[Any, str]] = {
    "unknown operator": (
        small(node("Relo", name="act")),
        "error[SG0201]: operator Relo is not implemented\n"
        "  --> model.onnx: node act (Relo), inputs 1x3x6x5\n"
        "  = why: domain ai.onnx, operator set 17\n"
        "  = help: did you mean 'Relu'?\n"
        "  = help: define the operator with --define FILE; FILE holds a line like: Relo(x) = ...",
    ),
    "unknown operator of PyTorch": (
        changed(noted_by_pytorch, node("Relo", name="act")),
        "error[SG0201]: operator Relo is not implemented\n"
        "  --> model.onnx: node head.act (Relo), PyTorch's aten.relu, inputs 1x3x6x5\n",
    ),
    "unknown domain": (
        small(node("Snake", domain="my.domain")),
        "error[SG0201]: operator my.domain::Snake is not implemented\n"
        "  --> model.onnx: node y (Snake), inputs 1x3x6x5\n"
        "  = why: domain my.domain is not ONNX's own\n"
        "  = supported: operators of ai.onnx, ai.onnx.ml, com.microsoft, "
        "qonnx.custom_op.general, onnx.brevitas, finn.custom_op.general, "
        "ai.onnx.preview.training\n"
        "  = help: define the operator with --define FILE; FILE holds a line like: "
        '"my.domain::Snake"(x) = ...',
    ),
    "unknown operator with weights": (
        small(
            [CONV, node("Quantizer", "y", "scale", "bits", outputs=("z",), domain="my")],
            {**WEIGHTS, "scale": np.float32([0.1]), "bits": np.float32([8])},
            outputs=("z",),
        ),
        "error[SG0201]: operator my::Quantizer is not implemented\n"
        "  --> model.onnx: node z (Quantizer), inputs 1x4x4x3, 1, 1\n"
        "  = why: domain my is not ONNX's own\n"
        "  = supported: operators of ai.onnx, ai.onnx.ml, com.microsoft, "
        "qonnx.custom_op.general, onnx.brevitas, finn.custom_op.general, "
        "ai.onnx.preview.training\n"
        "  = help: define the operator with --define FILE; FILE holds a line like: "
        '"my::Quantizer"(x, w1, w2) = ...\n'
        "  = help: w1, w2 stand for the operator's weights\n"
        "  = help: or end the model before the operator with --outputs y, and run the "
        "operator in the application",
    ),
    "computed only": (
        small(node("NonZero", name="find")),
        "error[SG0201]: operator NonZero is not implemented for tensors computed from the inputs\n"
        "  --> model.onnx: node find (NonZero), inputs 1x3x6x5\n"
        "  = why: the number of nonzero elements depends on the data, and textures have fixed "
        "sizes",
    ),
    "mode": (
        small(node("Resize", "x", "", "s", mode="spline"), {"s": np.ones(4, np.float32)}),
        "error[SG0202]: attribute mode=spline of Resize is not implemented\n"
        "  --> model.onnx: node y (Resize), inputs 1x3x6x5, 4\n"
        "  = supported: mode=nearest, mode=linear, mode=cubic",
    ),
    "unread attribute": (
        small(node("Relu", slope=0.5)),
        "error[SG0202]: attribute 'slope' of Relu is not implemented",
    ),
    "unread input": (
        small(node("MaxPool", "x", "x", kernel_shape=[2, 2])),
        "error[SG0202]: input 1 ('x') of MaxPool is not implemented",
    ),
    "unread result": (
        small(node("Relu", outputs=("y", "z")), outputs=("y", "z")),
        "error[SG0202]: output 2 of Relu, 'z', is not implemented",
    ),
    "training": (
        small(node("Dropout", "x", "", "t"), {"t": np.array(True)}),
        "error[SG0202]: Dropout with training_mode=1 is not implemented",
    ),
    "new operator set": (
        small(node("Relu"), opset=99),
        "error[SG0202]: operator set 99 of ai.onnx is not implemented",
    ),
    "rank": (
        small(node("Reshape", "x", "s"), {"s": np.array([1, 1, 1, 1, 1, 3, 2, 3, 5])}),
        "error[SG0206]: 'y' has rank 9\n"
        "  --> model.onnx: node y (Reshape), inputs 1x3x6x5, 9\n"
        "  = why: its shape is 1x1x1x1x1x3x2x3x5\n"
        "  = supported: rank 0 to 8",
    ),
    "types that differ": (
        small(node("Add", "x", "i"), {"i": np.array([1])}),
        "error[SG0105]: operands of Add differ in type: float32, int64",
    ),
    "sum of booleans": (
        small([node("Less", "x", "x", outputs=("m",)), node("Add", "m", "m")]),
        "error[SG0105]: input 0 of Add is a tensor of bool\n"
        "  --> model.onnx: node y (Add), inputs 1x3x6x5, 1x3x6x5\n"
        "  = supported: a tensor of numbers",
    ),
    "condition of numbers": (
        small(node("Where", "x", "x", "x")),
        "error[SG0105]: input 0 of Where is a tensor of float32\n"
        "  --> model.onnx: node y (Where), inputs 1x3x6x5, 1x3x6x5, 1x3x6x5\n"
        "  = supported: a tensor of type bool",
    ),
    "function of integers": (
        small([node("Cast", "x", outputs=("i",), to=6), node("Exp", "i")]),
        "error[SG0105]: input 0 of Exp is a tensor of int32",
    ),
    "large integers": (
        small(
            [node("Cast", "x", outputs=("i",), to=7), node("Add", "i", "big")],
            {"big": np.array([(1 << 24) + 1])},
        ),
        "error[SG0206]: 'big' holds the integer 16777217\n"
        "  --> model.onnx: node y (Add), inputs 1x3x6x5, 1\n"
        "  = why: integers are computed as float32, which is exact up to 2^24\n"
        "  = supported: integers from -16777216 to 16777216",
    ),
    "bits of wide integers": (
        small([node("Cast", "x", outputs=("i",), to=12), node("BitwiseNot", "i")], opset=18),
        "error[SG0206]: BitwiseNot of uint32 is not implemented",
    ),
    "bits": (
        small(node("BitCast", to=6), opset=26),
        "error[SG0202]: BitCast from float32 to int32 is not implemented\n"
        "  --> model.onnx: node y (BitCast), inputs 1x3x6x5\n"
        "  = why: tensors are stored as float32, which does not keep the bit patterns of "
        "other types\n"
        "  = supported: between int8 and uint8, or int16 and uint16, or bool and uint8",
    ),
    "text in": (
        changed(lambda p: setattr(p.graph.input[0].type.tensor_type, "elem_type", 8), node("Abs")),
        "error[SG0206]: input 'x' has element type string",
    ),
    "narrow floats": (
        changed(lambda p: setattr(p.graph.input[0].type.tensor_type, "elem_type", 17), node("Abs")),
        "error[SG0206]: Abs of float8e4m3fn is not implemented\n"
        "  --> model.onnx: node y (Abs), inputs 1x3x6x5\n"
        "  = help: cast or dequantise it first",
    ),
    "sequence in": (
        changed(lambda p: p.graph.input[0].type.sequence_type.SetInParent(), node("Relu")),
        "error[SG0206]: input 'x' is of type sequence",
    ),
    "sparse": (
        changed(lambda p: p.graph.sparse_initializer.append(SPARSE), node("Add", "x", "b")),
        "error[SG0106]: the indices of the sparse tensor 'b' do not fit the tensor's shape [2, 2]\n"
        "  --> model.onnx: node y (Add)\n"
        "  = why: the array of the indices has shape [1]\n"
        "  = supported: for each value, one index into the flat tensor, or an index for each axis",
    ),
    "element type": (
        initializer(data_type=TensorProto.STRING),
        "error[SG0206]: tensor 'w' has element type string",
    ),
    "not a number": (
        small(CONV, NAN),
        "error[SG0106]: 'w' holds NaN\n"
        "  --> model.onnx: node first (Conv), inputs 1x3x6x5, 4x3x3x3\n"
        "  = help: the training diverged; export an earlier checkpoint",
    ),
    "beyond float32": (
        small(node("Add", "x", "b"), {"b": np.array([1e39])}),
        "error[SG0106]: 'b' holds numbers beyond the range of float32",
    ),
    "too few bytes": (
        initializer(raw_data=b"1234"),
        "error[SG0106]: tensor 'w' has the wrong number of elements\n"
        "  --> model.onnx: node first (Conv)\n"
        "  = why: shape 4x3x3x3 needs 432 bytes, the file holds 4",
    ),
    "huge header": (
        initializer(dims=[1 << 40, 1 << 40]),
        "error[SG0106]: tensor 'w' has the wrong number of elements",
    ),
    "negative size": (
        initializer(dims=[-4, 27]),
        "error[SG0106]: tensor 'w' has the invalid shape",
    ),
    "undefined name": (
        small(node("Add", "x", "bias"), {"bias0": np.ones(1, np.float32)}),
        "error[SG0105]: 'bias' is not defined\n"
        "  --> model.onnx: node y (Add)\n"
        "  = help: did you mean 'bias0'?",
    ),
    "unsorted": (
        small([node("Relu", "m"), node("Relu", "x", outputs=("m",))]),
        "error[SG0105]: 'm' is used before it is computed",
    ),
    "defined twice": (small([node("Relu"), node("Abs")]), "error[SG0105]: 'y' is defined twice"),
    "undefined output": (
        small(node("Relu"), outputs=("z",)),
        "error[SG0105]: output 'z' is not defined",
    ),
    "no outputs": (
        changed(lambda p: p.graph.ClearField("output"), node("Relu")),
        "error[SG0105]: the graph has no outputs",
    ),
    "no operator set": (
        changed(lambda p: p.ClearField("opset_import"), node("Relu")),
        "error[SG0105]: the model does not say which version of ai.onnx it uses",
    ),
    "missing input": (small(node("Conv", "x")), "error[SG0105]: input 1 of Conv is missing"),
    "missing attribute": (
        small(node("Concat", "x", "x")),
        "error[SG0105]: attribute 'axis' of Concat is missing",
    ),
    "attribute type": (
        small(node("Flatten", axis="1")),
        "error[SG0105]: attribute 'axis' of Flatten is not",
    ),
    "channels": (
        small(CONV, {"w": normal(4, 2, 3, 3)}),
        "error[SG0205]: weights of 4x2x3x3 take 2 channels, the input has 3\n",
    ),
    "broadcast": (
        small(node("Add", "x", "b", name="/Add"), {"b": normal(4)}),
        "error[SG0205]: the operands' shapes do not broadcast\n"
        "  --> model.onnx: node /Add (Add), inputs 1x3x6x5, 4\n"
        "  = why: aligned at the right, sizes must be equal or 1",
    ),
    "computed shapes": (
        small(
            [node("Gather", "a", "b", outputs=("c",)), node("Reshape", "x", "c")],
            {"a": np.array([1, 2]), "b": np.array([5])},
        ),
        "error[SG0205]: the operands do not fit Gather",
    ),
    "endless padding": (
        small(
            [node("ConstantOfShape", "a", outputs=("c",)), node("Pad", "x", "c")],
            {"a": np.array([1 << 20])},
        ),
        "error[SG0105]: the padding of Pad must be a list of integers",
    ),
    "infinite scale": (
        small(node("Resize", "x", "", "s"), {"s": np.array([1, 1, 1, 3e38], np.float32)}),
        "error[SG0105]: scales [1.0, 1.0, 1.0,",
    ),
    "a tensor for no device": (
        small(node("Resize", "x", "", "", "s"), {"s": np.array([1, 1 << 15, 1 << 15, 1 << 15])}),
        "error[SG0401]: 'y' has 35184372088832 elements",
    ),
    "constants that fill memory": (
        small(
            [node("ConstantOfShape", "a", outputs=("c",)), node("Add", "x", "c")],
            {"a": np.array([1 << 20, 1 << 20])},
        ),
        "error[SG0401]: the constants that the model computes are too large",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_model_is_refused_by_name(tmp_path: Path, case: str) -> None:
    proto, expected = REFUSED[case]
    text = refusal(write(tmp_path, proto))
    assert text[: len(expected)] == expected


def test_the_definition_that_is_proposed_for_an_operator_with_weights_compiles(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, REFUSED["unknown operator with weights"][0])
    head = next(line for line in refusal(path).split(": ") if line.startswith('"my::'))
    written = tmp_path / "my.ops"
    written.write_text(head.split("=")[0] + "= floor(x / w1) * w1 + 0 * w2")
    graph = load_onnx(path, Request(definitions=read(written)))
    assert graph.outputs[0].value.shape == (1, 4, 4, 3)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for content in (b"\x00\x01\x02", b"not a model at all", b"\x89PNG\r\n\x1a\n" + bytes(100)):
        path.write_bytes(content)
        assert refusal(path).startswith("error[SG0102]: 'model.onnx' is not an ONNX model")
    path.write_bytes(b"")
    assert refusal(path).startswith("error[SG0102]")
    with pytest.raises(ShadergenError, match="SG0101"):
        load_onnx(tmp_path / "absent.onnx", Request())


def test_a_truncated_model_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, small(CONV, WEIGHTS))
    path.write_bytes(path.read_bytes()[:-40])
    assert refusal(path).startswith("error[SG0103]: 'model.onnx' is damaged or truncated")


@pytest.mark.parametrize("tags", [b"", b"\x0a"], ids=["nodes", "attributes"])
def test_a_file_of_millions_of_empty_parts_is_refused_in_little_memory(tmp_path, tags):
    """16 MiB of empty nodes took 1.3 GB and two minutes."""
    empty = b"\x2a\x00" if tags else b"\x0a\x00"
    data = empty * (8 << 20)
    for tag in [*(tags[k : k + 1] for k in range(len(tags))), b"\x3a"]:
        data = tag + _varint(len(data)) + data
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08" + data)
    text = within_bounds(tmp_path / "m.onnx")
    assert "error[SG0401]: the file has too many parts" in text
    assert "= help: simplify the model with onnxsim" in text


def test_a_file_of_many_empty_weights_is_read_in_little_memory(tmp_path):
    """500,000 sparse ones, which the limit let pass, took 500 MB."""
    data = b"\x7a\x00" * 490_000
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08\x3a" + _varint(len(data)) + data)
    assert "error[SG0105]: an initialiser has no name" in within_bounds(tmp_path / "m.onnx")


def test_20000_nodes_with_all_that_exporters_write_of_them_are_read(tmp_path):
    """They were refused as too many parts; torch.onnx.export(dynamo=True) writes such metadata."""
    names = ["x", *(f"v{k}" for k in range(19_999)), "y"]
    nodes = [node("Sin", a, outputs=(b,)) for a, b in pairwise(names)]
    for each in nodes:
        for key in ("namespace", "class_hierarchy", "fx_node", "name_scopes", "stack_trace"):
            each.metadata_props.add(key=f"pkg.torch.onnx.{key}", value="text" * 10)
    proto = small(nodes)
    shape = proto.graph.input[0].type
    proto.graph.value_info.extend(ValueInfoProto(name=n, type=shape) for n in names[1:-1])
    assert not within_bounds(write(tmp_path, proto))


def test_empty_parts_behind_a_group_are_counted(tmp_path):
    """Nothing behind the tags of a group was looked at; ONNX has none, but the parser reads on."""
    group = b"\xa3\x06\xa4\x06"
    path = tmp_path / "m.onnx"
    path.write_bytes(small([node("Relu")]).SerializeToString() + group + b"\x72\x00" * 3_000_000)
    assert "error[SG0401]: the file has too many parts" in within_bounds(path)


def test_an_endless_number_is_refused_at_once(tmp_path):
    """Reading 1.5 MB of it took over 90 s."""
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x07\x12\x00\x08" + b"\xff" * 1_500_000)
    assert refusal(path).startswith("error[SG0103]: 'model.onnx' is damaged or truncated")


def _varint(number):
    digits = [number >> shift & 127 for shift in range(0, 35, 7)]
    return bytes([*(d | 128 for d in digits[:-1]), digits[-1]])


@pytest.mark.parametrize(
    ("domain", "op"), [("ai.onnx.contrib", "DecodeImage"), ("", "ImageDecoder")]
)
def test_a_decoder_of_pictures_is_to_be_left_out(tmp_path: Path, domain: str, op: str) -> None:
    proto = small([node(op, "x", outputs=("pixels",), domain=domain), node("Relu", "pixels")], {})
    proto.opset_import[0].version = 20
    if domain:
        proto.opset_import.append(helper.make_opsetid(domain, 1))
    assert "--inputs pixels" in refusal(write(tmp_path, proto))
