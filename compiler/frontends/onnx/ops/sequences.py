"""Sequences and optionals, as lists that exist when compiling only.

How many tensors a sequence has and where one is put must be known then; the tensors need not be.
Exporters write loops with them: each iteration appends a result, and the end joins them.
Source: ONNX Sequence* and Optional*, versions 11 to 24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.ops import Reshape, Slice
from ..operands import Known, Narrow, TensorList
from .movement import cut, joined
from .parameters import parameters

if TYPE_CHECKING:
    from ..operands import Item, Tensor
    from .elementwise import Handler
    from .node import OnnxNode

NOTHING = TensorList(nothing=True)


def _sequence(node: OnnxNode) -> tuple[Tensor | Narrow, ...]:
    item = node.entry(0)
    if not isinstance(item, TensorList) or item.nothing:
        raise ShadergenError("SG0105", f"input 0 of {node.op} is not a sequence")
    return item.items


def _position(node: OnnxNode, index: int, count: int) -> int:
    """Return a position among ``count``; negative ones count from the end."""
    array = node.known(index, "the position")
    if array.size != 1 or array.dtype.kind not in "iu":
        raise ShadergenError("SG0105", f"the position in {node.op} is not one integer")
    position = int(array.reshape(()))
    if not -count <= position < count:
        raise ShadergenError(
            "SG0205", f"position {position} is out of range for a sequence of {count}"
        )
    return position % count


@parameters(1)
def at(node: OnnxNode) -> Tensor | Narrow:
    """SequenceAt: the tensor at a position."""
    items = _sequence(node)
    return items[_position(node, 1, len(items))]


def construct(node: OnnxNode) -> TensorList:
    """SequenceConstruct: a sequence of the inputs."""
    return TensorList(tuple(node.item(i) for i in range(len(node.inputs))))


def empty(node: OnnxNode) -> TensorList:
    """SequenceEmpty; dtype is ignored: the type follows from the tensors inserted later."""
    node.ignore("dtype")
    return TensorList()


@parameters(1)
def erase(node: OnnxNode) -> TensorList:
    """SequenceErase: removes the tensor at a position, by default the last."""
    items = _sequence(node)
    index = _position(node, 1, len(items)) if node.given(1) else len(items) - 1
    if not items:
        raise ShadergenError("SG0205", "SequenceErase needs a sequence that is not empty")
    return TensorList(items[:index] + items[index + 1 :])


@parameters(2)
def insert(node: OnnxNode) -> TensorList:
    """SequenceInsert: inserts a tensor before a position, or at the end."""
    items = _sequence(node)
    index = len(items)
    if node.given(2):
        array = node.known(2, "the position")
        index = int(array.reshape(-1)[0]) if array.size == 1 else len(items) + 1
        if not -len(items) <= index <= len(items):
            raise ShadergenError(
                "SG0205", f"position {array} is out of range for a sequence of {len(items)}"
            )
        index += len(items) if index < 0 else 0
    return TensorList((*items[:index], node.item(1), *items[index:]))


@parameters(0)
def length(node: OnnxNode) -> Known:
    """SequenceLength: how many tensors a sequence holds."""
    return Known(node.layer, np.array(len(_sequence(node)), np.int64))


def join(node: OnnxNode) -> Tensor:
    """ConcatFromSequence: joins the tensors along an axis, or along a new axis."""
    items = [node.plain(item, "an element") for item in _sequence(node)]
    if not items:
        raise ShadergenError("SG0205", "ConcatFromSequence needs a sequence that is not empty")
    new = node.choice("new_axis", (0, 1))
    rank = len(items[0].shape) + new
    axis = node.axis(node.integer("axis"), rank)
    if new and len({i.shape for i in items}) > 1:
        raise ShadergenError("SG0205", "the tensors to stack along a new axis differ in shape")
    if new:
        shape = items[0].shape
        wide = Reshape((*shape[:axis], 1, *shape[axis:]))
        items = [node.moved(wide, item) for item in items]
    return joined(node, items, axis)


@parameters(1)
def split(node: OnnxNode) -> TensorList:
    """SplitToSequence: splits a tensor into parts of given sizes, of one size, or of size 1."""
    x = node.item(0)
    shape = x.shape
    axis = node.axis(node.integer("axis", 0), len(shape))
    keep = bool(node.choice("keepdims", (1, 0)))
    total = shape[axis]
    sizes = [1] * total
    if node.given(1):
        array = node.known(1, "the sizes")
        sizes = list(node.known_integers(1, "the sizes"))
        if not array.ndim and sizes[0] > 0:
            part = sizes[0]
            sizes = [min(part, total - start) for start in range(0, total, part)]
    if sum(sizes) != total or min(sizes, default=0) < 0:
        raise ShadergenError("SG0205", f"parts of {sizes} do not fit axis {axis} of size {total}")
    items, start = [], 0
    for size in sizes:
        starts, lengths = [0] * len(shape), list(shape)
        starts[axis], lengths[axis] = start, size
        start += size
        item = cut(node, Slice(tuple(starts), (1,) * len(shape), tuple(lengths)), x)
        if not keep and not node.given(1):
            item = node.moved(Reshape(shape[:axis] + shape[axis + 1 :]), item)
        items.append(item)
    return TensorList(tuple(items))


def map_(node: OnnxNode) -> list[Item]:
    """SequenceMap: runs a graph for each tensor of a sequence, or of several of equal length.

    Each run also gets the inputs that are single tensors.
    """
    body = node.graph("body")
    count = len(_sequence(node))
    columns = []
    for i in range(len(node.inputs)):
        item = node.entry(i)
        items = item.items if isinstance(item, TensorList) else (item,) * count
        if len(items) != count:
            lengths = f"{count} and {len(items)}"
            raise ShadergenError(
                "SG0205", f"the sequences of SequenceMap differ in length: {lengths}"
            )
        columns.append(items)
    results: list[list[Tensor | Narrow]] = [[] for _ in body.body.outputs]
    for k, row in enumerate(zip(*columns, strict=True)):
        node.budget.step()
        for result, item in zip(results, body.run(row, f"[{k}]"), strict=True):
            if isinstance(item, TensorList):
                raise ShadergenError(
                    "SG0105",
                    "the body of SequenceMap returns a sequence; sequences of sequences are not "
                    "supported",
                )
            result.append(item)
    return [TensorList(tuple(result)) for result in results]


def optional(node: OnnxNode) -> Item:
    """Optional: a tensor or sequence, or an empty optional."""
    node.ignore("type")
    return node.entry(0) if node.given(0) else NOTHING


def _holds(node: OnnxNode) -> bool:
    if not node.given(0):
        return False
    item = node.entry(0)
    return not (isinstance(item, TensorList) and item.nothing)


@parameters(0)
def has_element(node: OnnxNode) -> Known:
    """OptionalHasElement: false for an empty optional."""
    return Known(node.layer, np.array(_holds(node)))


def get_element(node: OnnxNode) -> Item:
    """OptionalGetElement: the element."""
    if not _holds(node):
        raise ShadergenError("SG0205", "OptionalGetElement needs an optional that is not empty")
    return node.entry(0)


SEQUENCES: dict[str, Handler] = {
    "ConcatFromSequence": join,
    "Optional": optional,
    "OptionalGetElement": get_element,
    "OptionalHasElement": has_element,
    "SequenceAt": at,
    "SequenceConstruct": construct,
    "SequenceEmpty": empty,
    "SequenceErase": erase,
    "SequenceInsert": insert,
    "SequenceLength": length,
    "SequenceMap": map_,
    "SplitToSequence": split,
}
