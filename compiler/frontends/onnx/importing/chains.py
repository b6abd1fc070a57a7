"""Operators that were exported as chains of three nodes with the sizes of the example.

PixelShuffle and PixelUnshuffle become Reshape, Transpose and Reshape; GroupNorm becomes Reshape,
InstanceNormalization and Reshape. Exporters write the sizes of the example into the Reshapes. One
node in place of the chain holds a block size or a number of groups only, so that the network can be
read at other sizes: with ``--input-size``, and to prove that tiles give the network's result.
GroupNormalization also takes fewer GPU passes. ``passes.recognise_pixel_shuffle`` recognises moves
of blocks in any graph, at one size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

    Chain = tuple[NodeProto, NodeProto, NodeProto]

# By the permutation of the six axes: the operator, its mode, and the axes before the permutation.
# Height h and width w are those of the smaller picture, in blocks of height r and width s.
MOVES: dict[tuple[int, ...], tuple[str, str, str]] = {
    (0, 1, 4, 2, 5, 3): ("DepthToSpace", "CRD", "ncrshw"),
    (0, 3, 4, 1, 5, 2): ("DepthToSpace", "DCR", "nrschw"),
    (0, 1, 3, 5, 2, 4): ("SpaceToDepth", "CRD", "nchrws"),
    (0, 3, 5, 1, 2, 4): ("SpaceToDepth", "DCR", "nchrws"),
}
GROUPS = "GroupNormalization"
GROUPS_OF_CHANNELS = 21  # the operator set from which its scale and bias are those of channels


def with_whole_operators(model: Model, request: Request) -> Model:
    """Return the model with one node in place of each such chain.

    Nodes that the user or the model defines stay as they are.
    """
    chains = [c for c in _chains(model.body) if not _is_defined(c, model, request)]
    if not chains:
        return model
    types = {i.name: i.type for i in model.inputs} | infer_types(model.proto, {}, declared=False)
    whole: dict[str, NodeProto] = {}
    left_out: set[str] = set()
    for chain in chains:
        source = types.get(chain[0].input[0])
        shape = [] if source is None else dimensions(source.tensor_type.shape)
        become = _move if chain[1].op_type == "Transpose" else _groups
        if one := become(chain, shape, model):
            whole[chain[2].output[0]] = one
            left_out.update(node.output[0] for node in chain[:2])
            if request.dynamic is not None:
                name = f"the nodes from {layer_name(chain[0])} to {layer_name(chain[2])}"
                request.notes.append(
                    f"{name} are compiled as {one.op_type}, for all sizes of the input"
                )
    nodes = [
        whole.get(n.output[0] if n.output else "", n)
        for n in model.body.nodes
        if not n.output or n.output[0] not in left_out
    ]
    names = {output: name for output, name in model.body.names.items() if output not in whole}
    body = replace(model.body, names=names)
    return replace(model, body=with_nodes(body, nodes)) if whole else model


def _is_defined(chain: Chain, model: Model, request: Request) -> bool:
    ops = {*(node.op_type for node in chain), *(op for op, _, _ in MOVES.values()), GROUPS}
    names = {*ops, *(f"ai.onnx::{op}" for op in ops)}
    names.update(name for node in chain for name in (node.name, model.body.layer(node)))
    functions = {op for domain, op, _ in model.functions if not domain}
    return not names.isdisjoint(request.definitions) or not ops.isdisjoint(functions)


def _chains(body: Body) -> list[Chain]:
    """Return nodes between two Reshapes, all of which read only each other."""
    producers = {n.output[0]: n for n in body.nodes if len(n.output) == 1}
    found = []
    for last in body.nodes:
        inner = _producer(last, "Reshape", producers, body)
        if inner is None:
            continue
        first = _producer(inner, inner.op_type, producers, body)
        if first is None or not _is(first, "Reshape"):
            continue
        if _is(inner, "InstanceNormalization") or _perm(inner) in MOVES:
            found.append((first, inner, last))
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


def _move(chain: Chain, shape: Sequence[int | None], model: Model) -> NodeProto | None:
    """Return a chain as one node, if its Reshapes split and join blocks of height and width."""
    first, transpose, last = chain
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
    return _one(chain, model.body.layer(last), op, first.input[:1], blocksize=r, mode=mode)


def _groups(chain: Chain, shape: Sequence[int | None], model: Model) -> NodeProto | None:
    """Return a chain as one node, if its Reshapes join groups of channels and take them apart."""
    first, inner, last = chain
    split = _sizes(first, model)
    if len(split) != 3 or len(shape) < 3 or len(inner.input) != 3:
        return None
    batch, groups, rest = split
    channels = shape[1]
    if channels is None or groups < 1 or channels % groups:
        return None
    if model.body.opsets.get("", 0) >= GROUPS_OF_CHANNELS:
        return None
    same_batch = batch == shape[0] or (batch == 0 and not _allows_zero(first))
    if not same_batch or rest not in (-1, _size_of_group(shape, groups)):
        return None
    if not _restores(last, first.input[0], shape, model):
        return None
    numbers = {a.name: a.f for a in inner.attribute if a.name == "epsilon"}
    operands = [first.input[0], *inner.input[1:]]
    return _one(chain, model.body.layer(inner), GROUPS, operands, num_groups=groups, **numbers)


def _size_of_group(shape: Sequence[int | None], groups: int) -> int | None:
    """Return the number of elements of a group of channels; None if a size is unknown."""
    size = 1
    for s in shape[1:]:
        if s is None:
            return None
        size *= s
    return size // groups


def _restores(last: NodeProto, source: str, shape: Sequence[int | None], model: Model) -> bool:
    """Whether a Reshape gives the shape of a source, by numbers or by its Shape.

    A 0 is the size of the joined groups: only their batch is that of the source.
    """
    for node in model.body.nodes:
        if _is(node, "Shape") and list(node.output) == list(last.input[1:]):
            return list(node.input) == [source] and not node.attribute
    sizes = _sizes(last, model)
    free = sizes.count(-1)
    return (
        len(sizes) == len(shape)
        and free <= 1
        and all(
            size in (own, -1) or (size == axis == 0 and not _allows_zero(last))
            for axis, (size, own) in enumerate(zip(sizes, shape, strict=True))
        )
    )


def _one(
    chain: Chain,
    name: str,
    op: str,
    operands: Sequence[str],
    **attributes: Any,
) -> NodeProto:
    """Return a node in place of a chain."""
    return helper.make_node(op, operands, chain[2].output, name, **attributes)


def _allows_zero(reshape: NodeProto) -> bool:
    """Whether a size of 0 is 0 elements, not the size of the operand."""
    return any(a.name == "allowzero" and a.i for a in reshape.attribute)


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
