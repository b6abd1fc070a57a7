"""Bodies to import: the graph of a model, subgraphs of control flow, functions.

What a protobuf parser does not see is checked here: every name is defined once and before it is
used. A subgraph sees the names around it, and its own hide those; a function sees its own only.
Source: the ONNX IR specification, version 13 and earlier.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from .....errors import ShadergenError, did_you_mean
from .....records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from onnx.onnx_ml_pb2 import (
        FunctionProto,
        GraphProto,
        NodeProto,
        SparseTensorProto,
        TensorProto,
    )

    from ..operands import Narrow, Tensor

TRAINING = "ai.onnx.preview.training"
MAX_NESTING = 16  # of graphs in attributes of nodes


@dataclass(frozen=True, eq=False)
class Body:
    """Nodes in order, and the names that lead into and out of them.

    Attributes:
        inputs: names that the surroundings supply.
        outputs: names that they receive.
        initializers: the weights, by name, still encoded.
        sparse: those of which only some elements are stored.
        nodes: those that an output needs, operands before users.
        reads: how often each name is read: by these nodes, by graphs in them, and as an output.
        opsets: the version of each operator domain; "" is ONNX's own.
        names: of nodes, by their first result, where they are not the file's own.
        decoded: the weights that have been asked for so far.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    initializers: Mapping[str, TensorProto]
    sparse: Mapping[str, SparseTensorProto]
    nodes: tuple[NodeProto, ...]
    reads: Counter[str]
    opsets: Mapping[str, int]
    names: Mapping[str, str] = field(default_factory=dict)
    decoded: dict[str, Tensor | Narrow] = field(default_factory=dict)

    def layer(self, node: NodeProto) -> str:
        """Return what people call a node."""
        return self.names.get(next(iter(node.output), ""), "") or layer_name(node)


def plain_domain(domain: str) -> str:
    """Return "" for ONNX's own domain, however it is written."""
    return "" if domain == "ai.onnx" else domain


def layer_name(node: NodeProto) -> str:
    """Return what the file calls a node: its name or, without one, its first result's."""
    return node.name or next(filter(None, node.output), node.op_type)


def graph_body(
    graph: GraphProto, opsets: Mapping[str, int], around: Container[str] = (), depth: int = 0
) -> Body:
    """Check a graph and return what its outputs need.

    Args:
        graph: a model's, or one in an attribute of a node.
        opsets: the model's.
        around: the names that the graph sees besides its own.
        depth: in how many graphs it lies.

    Raises:
        ShadergenError: SG0105 when a name is undefined, defined twice or used too early.
    """
    if depth > MAX_NESTING:
        raise ShadergenError("SG0105", f"graphs are nested deeper than {MAX_NESTING}")
    sparse = {s.values.name: s for s in graph.sparse_initializer}
    initializers = {t.name: t for t in graph.initializer}
    stored = [t.name for t in graph.initializer]
    check_unique([*stored, *(s.values.name for s in graph.sparse_initializer)], "initialiser")
    check_unique([i.name for i in graph.input], "input")
    check_unique([*{o.name for o in graph.output}], "output")  # one may be listed twice
    weights = {*initializers, *sparse}
    inputs = tuple(i.name for i in graph.input if i.name not in weights)
    outputs = tuple(o.name for o in graph.output)
    _check_names(graph.node, outputs, {*weights, *inputs}, around)
    nodes = needed(graph.node, outputs)
    return Body(inputs, outputs, initializers, sparse, nodes, _reads(nodes, outputs), opsets)


def with_nodes(body: Body, nodes: Sequence[NodeProto]) -> Body:
    """Return a body with other nodes, without those that its outputs do not need."""
    nodes = needed(nodes, body.outputs)
    return replace(body, nodes=nodes, reads=_reads(nodes, body.outputs))


def function_body(function: FunctionProto, opsets: Mapping[str, int], used: Sequence[bool]) -> Body:
    """Check a function and return what those of its results need that are used.

    Raises:
        ShadergenError: as ``graph_body``.
    """
    inputs, outputs = tuple(function.input), tuple(function.output)
    check_unique(inputs, "input")
    check_unique(outputs, "output")
    wanted = tuple(name for name, use in zip(outputs, used, strict=False) if use)
    _check_names(function.node, wanted, set(inputs), ())
    nodes = needed(function.node, wanted)
    return Body(inputs, wanted, {}, {}, nodes, _reads(nodes, wanted), opsets)


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs in a node's attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def read_by(node: NodeProto) -> Iterator[str]:
    """Yield the names a node reads, those included that graphs in it take from around it."""
    yield from filter(None, node.input)
    if (node.domain, node.op_type) == (TRAINING, "Gradient"):  # which names tensors in attributes
        for a in node.attribute:
            yield from (text.decode("utf-8", "replace") for text in (*a.strings, a.s) if text)
    for graph in subgraphs(node):
        yield from _taken(graph)


def _taken(graph: GraphProto) -> Iterator[str]:
    known = {i.name for i in graph.input} | {t.name for t in graph.initializer}
    known.update(s.values.name for s in graph.sparse_initializer)
    for node in graph.node:
        yield from (name for name in read_by(node) if name not in known)
        known.update(node.output)
    yield from (o.name for o in graph.output if o.name not in known)


def needed(nodes: Sequence[NodeProto], outputs: Iterable[str]) -> tuple[NodeProto, ...]:
    """Return the nodes that an output depends on, in their order."""
    wanted = set(outputs)
    found = []
    for node in reversed(nodes):
        if not wanted.isdisjoint(filter(None, node.output)):
            wanted.update(read_by(node))
            found.append(node)
    return tuple(reversed(found))


def _reads(nodes: Iterable[NodeProto], outputs: Iterable[str]) -> Counter[str]:
    reads = Counter(name for node in nodes for name in read_by(node))
    reads.update(outputs)
    return reads


def check_unique(names: Sequence[str], kind: str) -> None:
    """Require that names are there and differ."""
    for name, count in Counter(names).items():
        if count > 1 or not name:
            raise ShadergenError(
                "SG0105",
                f"{kind} '{name}' is defined {count} times" if name else f"an {kind} has no name",
            )


def _check_names(
    nodes: Sequence[NodeProto], outputs: Sequence[str], defined: set[str], around: Container[str]
) -> None:
    """Require that names are defined once, and before they are used."""
    later = {name for node in nodes for name in node.output if name}
    for node in nodes:
        where = f"node {layer_name(node)} ({node.op_type})"
        for name in read_by(node):
            if name in defined or name in around:
                continue
            if name in later:
                raise ShadergenError(
                    "SG0105",
                    f"'{name}' is used before it is computed",
                    where=where,
                    why="in an ONNX graph, each node comes after the nodes that compute its inputs",
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
    if not outputs:
        raise ShadergenError("SG0105", "the graph has no outputs")
    for name in outputs:
        if name not in defined and name not in around:
            raise ShadergenError(
                "SG0105",
                f"output '{name}' is not defined",
                help=did_you_mean(name, defined),
            )
