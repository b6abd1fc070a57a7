"""The model file as tables: operator sets, functions, inputs, and the graph's body.

Source: the ONNX IR specification, version 13 and earlier.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx.onnx_ml_pb2 import ModelProto

from .....errors import ShadergenError
from .....records import dataclass, replace
from ...signatures import ONNX_FIRST_FIELDS
from .graph_body import graph_body, plain_domain, subgraphs
from .message_sizes import check_parts
from .pytorch_origin import module_names
from .types import dimensions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from onnx.onnx_ml_pb2 import (
        FunctionProto,
        GraphProto,
        NodeProto,
        OperatorSetIdProto,
        TensorProto,
        ValueInfoProto,
    )

    from .graph_body import Body

LATEST_OPSET = 28

# Names of graphs that PyTorch's exporters give to every network: the file's name says more.
UNNAMED = ("", "main_graph", "torch_jit", "torch-jit-export")


@dataclass(frozen=True)
class Model:
    """An ONNX model whose parts are known to fit together.

    Attributes:
        name: the graph's name, or the file's.
        folder: where external data may lie; None for a model that was never in a file.
        functions: the operators that the model defines itself, by domain, name and overload.
        inputs: what the application supplies.
        declared: the numbers of the outputs' element types by name, 0 where none is declared.
        shapes: of computed values, as declared, by name; None where an axis has no number.
        body: the graph.
        proto: what all this was read from.
    """

    name: str
    folder: Path | None
    functions: Mapping[tuple[str, str, str], FunctionProto]
    inputs: tuple[ValueInfoProto, ...]
    declared: Mapping[str, int]
    shapes: Mapping[str, Sequence[int | None]]
    body: Body
    proto: ModelProto


def check_model(
    proto: ModelProto, folder: Path | None, name: str, names: Mapping[str, str] | None = None
) -> Model:
    """Check a model.

    Args:
        proto: the model; its names are text.
        folder: where external data may lie.
        name: what to call a graph without a name.
        names: of the nodes, by their first results; by default those of PyTorch's modules.

    Raises:
        ShadergenError: SG0105 when its parts contradict each other, SG0202 when its operator set
            is too new.
    """
    opsets = read_opsets(proto.opset_import)
    if not opsets and proto.ir_version < 3:  # models older than operator sets
        opsets[""] = 1
    names = module_names(proto.graph.node) if names is None else names
    body = replace(graph_body(proto.graph, opsets), names=names)
    functions: dict[tuple[str, str, str], FunctionProto] = {}
    for f in proto.functions:
        key = plain_domain(f.domain), f.name, getattr(f, "overload", "")
        if key in functions:
            raise ShadergenError("SG0105", f"function '{f.domain}::{f.name}' is defined twice")
        functions[key] = f
    supplied = set(body.inputs)
    inputs = tuple(i for i in proto.graph.input if i.name in supplied)
    declared = {o.name: o.type.tensor_type.elem_type for o in proto.graph.output}
    shapes = {
        info.name: dimensions(info.type.tensor_type.shape)
        for info in (*proto.graph.value_info, *proto.graph.output)
        if info.type.HasField("tensor_type") and info.type.tensor_type.HasField("shape")
    }
    if proto.graph.name not in UNNAMED:
        name = proto.graph.name
    return Model(name, folder, functions, inputs, declared, shapes, body, proto)


def parse_model(path: Path) -> ModelProto:
    """Read a file as the message that it should be.

    Raises:
        ShadergenError: SG0101 when it cannot be read, SG0102 when it is not an ONNX model, SG0103
            when it is damaged, SG0401 when it has far too many parts.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ShadergenError(
            "SG0101", f"cannot open '{path}'", why=error.strerror or str(error)
        ) from None
    check_parts(data)
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
        sound = True
    except DecodeError:
        sound = False
    if sound and proto.HasField("graph"):
        if not all(isinstance(text, str) for text in _texts(proto)):
            raise ShadergenError(
                "SG0103", f"'{path.name}' is damaged", why="a name in it is not UTF-8 text"
            )
        return proto
    if data.startswith(ONNX_FIRST_FIELDS):
        raise ShadergenError(
            "SG0103",
            f"'{path.name}' is damaged or truncated",
            why="it starts like an ONNX model, but "
            + ("no graph follows" if sound else "its protobuf encoding is truncated"),
            help="export or download the file again, and compare the file sizes",
        )
    raise ShadergenError(
        "SG0102",
        f"'{path.name}' is not an ONNX model" if data else f"'{path.name}' is empty",
        supported="Keras .h5, .hdf5, .keras; ONNX .onnx",
    )


def _texts(proto: ModelProto) -> Iterator[object]:
    """Yield every name in the model: protobuf returns bytes where one is not UTF-8."""
    for entry in proto.opset_import:
        yield entry.domain
    for function in proto.functions:
        yield from (function.domain, function.name, *function.input, *function.output)
        yield from function.attribute
        yield from (e.domain for e in function.opset_import)
        yield from _texts_of_nodes(function.node)
    yield from _texts_of_graph(proto.graph)


def _texts_of_graph(graph: GraphProto) -> Iterator[object]:
    yield graph.name
    for info in chain(graph.input, graph.output, graph.value_info):
        yield info.name
    for tensor in chain(graph.initializer, (s.values for s in graph.sparse_initializer)):
        yield from _texts_of_tensor(tensor)
    yield from _texts_of_nodes(graph.node)


def _texts_of_nodes(nodes: Iterable[NodeProto]) -> Iterator[object]:
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            if attribute.HasField("t"):
                yield from _texts_of_tensor(attribute.t)
        for graph in subgraphs(node):
            yield from _texts_of_graph(graph)


def _texts_of_tensor(tensor: TensorProto) -> Iterator[object]:
    yield tensor.name
    for pair in tensor.external_data:
        yield from (pair.key, pair.value)


def read_opsets(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Return the version of each domain.

    Raises:
        ShadergenError: SG0105 when there are two, SG0202 when one is too new.
    """
    opsets: dict[str, int] = {}
    for entry in imports:
        domain = plain_domain(entry.domain)
        if not 0 <= entry.version < 1 << 31:
            raise ShadergenError("SG0105", f"operator set version {entry.version} is not valid")
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise ShadergenError(
                "SG0105", f"two versions of the operator set '{domain or 'ai.onnx'}' are imported"
            )
    if opsets.get("", 1) > LATEST_OPSET:
        raise ShadergenError(
            "SG0202",
            f"operator set {opsets['']} of ai.onnx is not implemented",
            why="later versions may change operators",
            supported=f"1 to {LATEST_OPSET}",
            help="export the model with opset_version=18",
        )
    return opsets
