"""PixelShuffle and PixelUnshuffle that were exported as Reshape, Transpose and Reshape.

Exporters write the sizes of the example into both Reshapes. DepthToSpace and SpaceToDepth move the
same elements and hold a block size only, so that the network can be read at other sizes: with
``--input-size dynamic``, and to prove that tiles give the network's result. At the model's own
size, ``passes.recognise_pixel_shuffle`` recognises such chains in any graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper
from onnx.onnx_ml_pb2 import TensorProto

from .....ir.types import MAP_RANK
from .....records import replace
from ..read.graph_body import layer_name, plain_domain, with_nodes
from ..read.types import dimensions
from ..read.weights import read_tensor
from ..shapes.inference import infer_types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx.onnx_ml_pb2 import NodeProto

    from ...request import Request
    from ..read.graph_body import Body
    from ..read.model import Model

    Triple = tuple[NodeProto, NodeProto, NodeProto]

# By the permutation of the six axes: the operator, its mode, and the axes before the permutation.
# Height h and width w are those of the smaller picture, in blocks of height r and width s.
MOVES: dict[tuple[int, ...], tuple[str, str, str]] = {
    (0, 1, 4, 2, 5, 3): ("DepthToSpace", "CRD", "ncrshw"),
    (0, 3, 4, 1, 5, 2): ("DepthToSpace", "DCR", "nrschw"),
    (0, 1, 3, 5, 2, 4): ("SpaceToDepth", "CRD", "nchrws"),
    (0, 3, 5, 1, 2, 4): ("SpaceToDepth", "DCR", "nchrws"),
}


def with_block_moves(model: Model, request: Request) -> Model:
    """Return the model with such triples of nodes as DepthToSpace and SpaceToDepth.

    Nodes that the user or the model defines stay as they are.
    """
    triples = [t for t in _triples(model.body) if not _is_defined(t, model, request)]
    if not triples:
        return model
    types = {i.name: i.type for i in model.inputs} | infer_types(model.proto, {}, declared=False)
    moves: dict[str, NodeProto] = {}
    left_out: set[str] = set()
    for triple in triples:
        source = types.get(triple[0].input[0])
        shape = [] if source is None else dimensions(source.tensor_type.shape)
        if move := _move(triple, shape, model):
            moves[triple[2].output[0]] = move
            left_out.update(node.output[0] for node in triple[:2])
            if request.dynamic is not None:
                name = f"{layer_name(triple[0])} to {layer_name(triple[2])}"
                request.notes.append(f"{name}: taken as {move.op_type} at every size")
    nodes = [
        moves.get(n.output[0] if n.output else "", n)
        for n in model.body.nodes
        if not n.output or n.output[0] not in left_out
    ]
    return replace(model, body=with_nodes(model.body, nodes)) if moves else model


def _is_defined(triple: Triple, model: Model, request: Request) -> bool:
    ops = {"Reshape", "Transpose", *(op for op, _, _ in MOVES.values())}
    names = {*ops, *(f"ai.onnx::{op}" for op in ops)}
    names.update(name for node in triple for name in (node.name, model.body.layer(node)))
    functions = {op for domain, op, _ in model.functions if not domain}
    return not names.isdisjoint(request.definitions) or not ops.isdisjoint(functions)


def _triples(body: Body) -> list[Triple]:
    """Return Reshape, Transpose and Reshape that only read each other, permuted as in MOVES."""
    producers = {n.output[0]: n for n in body.nodes if len(n.output) == 1}
    found = []
    for last in body.nodes:
        transpose = _producer(last, "Reshape", producers, body)
        first = None if transpose is None else _producer(transpose, "Transpose", producers, body)
        if first is None or transpose is None or not _is(first, "Reshape"):
            continue
        if _perm(transpose) in MOVES:
            found.append((first, transpose, last))
    return found


def _producer(
    node: NodeProto, op: str, producers: Mapping[str, NodeProto], body: Body
) -> NodeProto | None:
    """Return what computes the first operand of a node of an operator, for this node alone."""
    if not _is(node, op) or not node.input or body.reads[node.input[0]] != 1:
        return None
    return producers.get(node.input[0])


def _is(node: NodeProto, op: str) -> bool:
    return node.op_type == op and not plain_domain(node.domain)


def _move(triple: Triple, shape: Sequence[int | None], model: Model) -> NodeProto | None:
    """Return a triple as one node, if its Reshapes split and join blocks of height and width."""
    first, transpose, last = triple
    op, mode, axes = MOVES[_perm(transpose)]
    split, joined = (_sizes(node, model) for node in (first, last))
    if len(shape) != MAP_RANK or len(split) != len(axes) or len(joined) != MAP_RANK:
        return None
    n, c, h, w, r, s = (split[axes.index(axis)] for axis in "nchwrs")
    deep, wide = (c * r * s, h, w), (c, h * r, w * s)
    before, after = (deep, wide) if op == "DepthToSpace" else (wide, deep)
    same_batch = {n, joined[0]} <= {-1, shape[0]}
    if not same_batch or tuple(shape[1:]) != before or tuple(joined[1:]) != after:
        return None
    if r != s or min(c, h, w, r) < 1:
        return None
    move = helper.make_node(op, first.input[:1], last.output, last.name, blocksize=r, mode=mode)
    move.metadata_props.extend(last.metadata_props)
    return move


def _perm(transpose: NodeProto) -> tuple[int, ...]:
    return next((tuple(a.ints) for a in transpose.attribute if a.name == "perm"), ())


def _sizes(reshape: NodeProto, model: Model) -> list[int]:
    """Return the numbers that a Reshape holds; none if they are computed."""
    name = reshape.input[1] if len(reshape.input) == 2 else ""
    tensor = model.body.initializers.get(name)
    for node in model.body.nodes:
        if _is(node, "Constant") and name in node.output:
            tensor = next((a.t for a in node.attribute if a.name == "value"), None)
    if tensor is None or len(tensor.dims) != 1 or tensor.data_type != TensorProto.INT64:
        return []
    return [int(size) for size in read_tensor(tensor, model.folder)]
