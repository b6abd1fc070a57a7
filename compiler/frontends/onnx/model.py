"""The model file as tables: operator sets, initialisers, and the nodes that the outputs need.

What a protobuf parser does not see is checked here: every name is defined once and before it is
used. Sources: the ONNX IR specification, version 13 and earlier.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx.onnx_ml_pb2 import ModelProto

from ....errors import ShadergenError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from onnx.onnx_ml_pb2 import GraphProto, NodeProto, TensorProto, ValueInfoProto

FIRST_FIELDS = (b"\x08", b"\x3a")  # how a model's bytes begin: ir_version, or else graph
LATEST_OPSET = 28


@dataclass(frozen=True)
class Model:
    """An ONNX model whose parts are known to fit together.

    Attributes:
        name: the graph's name, or the file's.
        folder: where external data may lie.
        opsets: the version of each operator domain; "" is ONNX's own.
        functions: the operators, as "domain::Op", that the model defines itself.
        inputs: what the application supplies.
        outputs: what it receives.
        initializers: the weights, by name, still encoded.
        sparse: names of sparse weights.
        nodes: those that an output needs, operands before users.
        reads: how often each name is read, by these nodes and as an output.
    """

    name: str
    folder: Path
    opsets: Mapping[str, int]
    functions: frozenset[str]
    inputs: tuple[ValueInfoProto, ...]
    outputs: tuple[str, ...]
    initializers: Mapping[str, TensorProto]
    sparse: frozenset[str]
    nodes: tuple[NodeProto, ...]
    reads: Counter[str]


def plain_domain(domain: str) -> str:
    """Return "" for ONNX's own domain, however it is written."""
    return "" if domain == "ai.onnx" else domain


def layer_name(node: NodeProto) -> str:
    """Return what people call a node: its name or, without one, its first result's."""
    return node.name or next(filter(None, node.output), node.op_type)


def read_model(path: Path) -> Model:
    """Read and check a model.

    Raises:
        ShadergenError: SG0101 when it cannot be read, SG0102 when it is not an ONNX model, SG0103
            when it is damaged, SG0105 when its parts contradict each other, SG0202 when its
            operator set is too new.
    """
    proto = _parse(path)
    graph = proto.graph
    if not all(isinstance(text, str) for text in _texts(proto)):
        raise ShadergenError(
            "SG0103", f"'{path.name}' is damaged", why="a name in it is not UTF-8 text"
        )
    sparse = frozenset(s.values.name for s in graph.sparse_initializer)
    initializers = {t.name: t for t in graph.initializer}
    _check_unique([t.name for t in graph.initializer], "initialiser")
    _check_unique([i.name for i in graph.input], "input")
    inputs = tuple(i for i in graph.input if i.name not in initializers and i.name not in sparse)
    _check_names(graph, {*initializers, *sparse, *(i.name for i in inputs)})
    nodes = _needed(graph)
    reads = Counter(name for node in nodes for name in node.input if name)
    reads.update(o.name for o in graph.output)
    return Model(
        name=graph.name or path.stem,
        folder=path.parent,
        opsets=_opsets(proto),
        functions=frozenset(f"{plain_domain(f.domain)}::{f.name}" for f in proto.functions),
        inputs=inputs,
        outputs=tuple(o.name for o in graph.output),
        initializers=initializers,
        sparse=sparse,
        nodes=nodes,
        reads=reads,
    )


def _parse(path: Path) -> ModelProto:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ShadergenError(
            "SG0101", f"cannot open '{path}'", why=error.strerror or str(error)
        ) from None
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
        sound = True
    except DecodeError:
        sound = False
    if sound and proto.HasField("graph"):
        return proto
    if data.startswith(FIRST_FIELDS):
        raise ShadergenError(
            "SG0103",
            f"'{path.name}' is damaged or truncated",
            why="it begins like an ONNX model, but "
            + ("no graph follows" if sound else "its protobuf encoding breaks off"),
            help="export or download it again and compare the sizes",
        )
    raise ShadergenError(
        "SG0102",
        f"'{path.name}' is not an ONNX model" if data else f"'{path.name}' is empty",
        supported="Keras .h5, .hdf5, .keras; ONNX .onnx",
    )


def _texts(proto: ModelProto) -> Iterator[object]:
    """Yield every name in the model: protobuf returns bytes where one is not UTF-8."""
    graph = proto.graph
    tensors = [*graph.initializer, *(s.values for s in graph.sparse_initializer)]
    yield graph.name
    for entry in proto.opset_import:
        yield entry.domain
    for function in proto.functions:
        yield from (function.domain, function.name)
    for info in (*graph.input, *graph.output):
        yield info.name
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            tensors.append(attribute.t)
    for tensor in tensors:
        yield tensor.name
        for pair in tensor.external_data:
            yield from (pair.key, pair.value)


def _opsets(proto: ModelProto) -> dict[str, int]:
    opsets: dict[str, int] = {}
    for entry in proto.opset_import:
        domain = plain_domain(entry.domain)
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise ShadergenError(
                "SG0105", f"two versions of the operator set '{domain or 'ai.onnx'}' are imported"
            )
    if not opsets and proto.ir_version < 3:  # models older than operator sets
        opsets[""] = 1
    if opsets.get("", 1) > LATEST_OPSET:
        raise ShadergenError(
            "SG0202",
            f"operator set {opsets['']} of ai.onnx is not implemented",
            why="a later version may give an operator another meaning",
            supported=f"7 to {LATEST_OPSET}",
            help="export the model with opset_version=18",
        )
    return opsets


def _check_unique(names: list[str], kind: str) -> None:
    for name, count in Counter(names).items():
        if count > 1 or not name:
            raise ShadergenError(
                "SG0105",
                f"{kind} '{name}' is defined {count} times" if name else f"an {kind} has no name",
            )


def _check_names(graph: GraphProto, defined: set[str]) -> None:
    """Require that names are defined once, and before they are used."""
    later = {name for node in graph.node for name in node.output if name}
    for node in graph.node:
        where = f"node {layer_name(node)} ({node.op_type})"
        for name in node.input:
            if not name or name in defined:
                continue
            if name in later:
                raise ShadergenError(
                    "SG0105",
                    f"'{name}' is used before it is computed",
                    where=where,
                    why="the nodes of an ONNX graph are sorted, operands first",
                )
            raise ShadergenError(
                "SG0105",
                f"'{name}' is not defined",
                where=where,
                help=did_you_mean(name, defined | later),
            )
        for name in filter(None, node.output):
            if name in defined:
                raise ShadergenError("SG0105", f"'{name}' is defined twice", where=where)
            defined.add(name)
    if not graph.output:
        raise ShadergenError("SG0105", "the graph has no outputs")
    _check_unique([o.name for o in graph.output], "output")
    for output in graph.output:
        if output.name not in defined:
            raise ShadergenError(
                "SG0105",
                f"output '{output.name}' is not defined",
                help=did_you_mean(output.name, defined),
            )


def _needed(graph: GraphProto) -> tuple[NodeProto, ...]:
    """Return the nodes that an output depends on, in the model's order."""
    wanted = {o.name for o in graph.output}
    nodes = []
    for node in reversed(graph.node):
        if not wanted.isdisjoint(filter(None, node.output)):
            wanted.update(node.input)
            nodes.append(node)
    return tuple(reversed(nodes))
